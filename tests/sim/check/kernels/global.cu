// Global memory: what blocks and threads do to each other's data.

// A block's chunk is one element longer than the distance between blocks.
extern "C" __global__ void global_overlap(const int *in, int *out)
{
    int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
    out[i] = in[i] + (int)blockIdx.x; // <- global_race: first, second
}

extern "C" __global__ void global_disjoint(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + (int)blockIdx.x;
}

// Every block writes the same: right all the same, and a race.
extern "C" __global__ void global_same_value(const int *in, int *out)
{
    if (in[blockIdx.x * blockDim.x + threadIdx.x] >= 0 && threadIdx.x == 0) {
        *out = 1; // <- global_race: first, second
    }
}

// A stencil in place: neighbours read what this thread writes, in the same block and in the next.
extern "C" __global__ void global_in_place(int *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < count - 1) {
        int sum = data[i - 1] + data[i] + data[i + 1]; // <- global_race: first
        data[i] = sum;                                 // <- global_race: second
    }
}

// The same with a barrier between: right within a block, wrong at its edges.
extern "C" __global__ void global_in_place_barrier(int *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    if (i > 0 && i < count - 1) {
        sum = data[i - 1] + data[i] + data[i + 1]; // <- global_race: first
    }
    __syncthreads();
    if (i > 0 && i < count - 1) {
        data[i] = sum; // <- global_race: second
    }
}

// Without the block's edges.
extern "C" __global__ void global_in_place_inside(int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool inside = threadIdx.x > 0 && threadIdx.x < blockDim.x - 1;
    int sum = 0;
    if (inside) {
        sum = data[i - 1] + data[i] + data[i + 1];
    }
    __syncthreads();
    if (inside) {
        data[i] = sum;
    }
}

extern "C" __global__ void global_own_element(int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] * 2;
    data[i] += 1;
}

// Threads of one block exchange through global memory: warps, then lanes.
extern "C" __global__ void global_exchange(const int *in, int *out, int *scratch)
{
    int t = threadIdx.x;
    scratch[t] = in[t];        // <- global_race: first
    out[t] = scratch[t ^ 32];  // <- global_race: second
}

extern "C" __global__ void global_exchange_barrier(const int *in, int *out, int *scratch)
{
    int t = threadIdx.x;
    scratch[t] = in[t];
    __syncthreads();
    out[t] = scratch[t ^ 32];
}

extern "C" __global__ void global_exchange_lanes(const int *in, int *out, int *scratch)
{
    int t = threadIdx.x;
    scratch[t] = in[t];      // <- global_race: first
    out[t] = scratch[t ^ 1]; // <- global_race: second
}

extern "C" __global__ void global_exchange_lanes_synced(const int *in, int *out, int *scratch)
{
    int t = threadIdx.x;
    scratch[t] = in[t];
    __syncwarp();
    out[t] = scratch[t ^ 1];
}

// Block 1 reads what block 0 writes: no barrier reaches from block to block.
extern "C" __global__ void global_next_block(const int *in, int *out, int *scratch)
{
    int t = threadIdx.x;
    scratch[blockIdx.x * 32 + t] = in[t]; // <- global_race: first
    __syncthreads();
    if (blockIdx.x > 0) {
        out[blockIdx.x * 32 + t] = scratch[(blockIdx.x - 1) * 32 + t]; // <- global_race: second
    }
}

// A variable of the module.
__device__ int global_word;

extern "C" __global__ void global_variable(const int *in, int *out)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        global_word = in[0]; // <- global_race: first
    }
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = global_word; // <- global_race: second
}

extern "C" __global__ void global_variable_read(int *out)
{
    out[blockIdx.x * 32 + threadIdx.x] = global_word;
}

// All read the same input; a grid-stride loop writes each element once.
extern "C" __global__ void global_strides(const int *in, int *out, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        out[i] = in[i] + in[0] + in[count - 1 - i];
    }
}

// The stride forgets the number of blocks.
extern "C" __global__ void global_strides_wrong(const int *in, int *out, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x) {
        out[i] = in[i] + in[0]; // <- global_race: first, second
    }
}

// A transpose in place: the two threads of a pair swap the same two elements.
extern "C" __global__ void global_swap_twice(int *data)
{
    int row = threadIdx.y, col = threadIdx.x;
    if (row != col) {
        int value = data[col * 32 + row]; // <- global_race: first
        data[row * 32 + col] = value;     // <- global_race: second
    }
}

extern "C" __global__ void global_swap_once(int *data)
{
    int row = threadIdx.y, col = threadIdx.x;
    if (row < col) {
        int value = data[col * 32 + row];
        data[col * 32 + row] = data[row * 32 + col];
        data[row * 32 + col] = value;
    }
}
