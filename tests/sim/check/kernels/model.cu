// What the memory model of PTX says where common habits say otherwise.

// A loop round a compare-and-swap begins with a look at the word: a plain one races with the swaps.
extern "C" __global__ void model_swap_plain(const int *in, int *out)
{
    __shared__ int largest;
    int t = threadIdx.x;
    if (t == 0) {
        largest = 0;
    }
    __syncthreads();
    int seen = largest; // <- race: first; warp_hazard: first
    while (seen < in[t]) {
        int before = atomicCAS(&largest, seen, in[t]); // <- race: second; warp_hazard: second
        if (before == seen) {
            break;
        }
        seen = before;
    }
    __syncthreads();
    if (t == 0) {
        out[0] = largest;
    }
}

// A volatile one does not: it is relaxed, and strong.
extern "C" __global__ void model_swap_volatile(const int *in, int *out)
{
    __shared__ int largest;
    int t = threadIdx.x;
    if (t == 0) {
        largest = 0;
    }
    __syncthreads();
    int seen = *(volatile int *)&largest;
    while (seen < in[t]) {
        int before = atomicCAS(&largest, seen, in[t]);
        if (before == seen) {
            break;
        }
        seen = before;
    }
    __syncthreads();
    if (t == 0) {
        out[0] = largest;
    }
}

// Labels in global memory are read and written by neighbours, all of it volatile: any order is allowed.
extern "C" __global__ void model_labels_volatile(const int *in, volatile int *out)
{
    int t = threadIdx.x;
    out[t] = in[t];
    __syncthreads();
    int neighbour = out[(t + 1) % 64];
    if (neighbour < out[t]) {
        out[t] = neighbour;
    }
}

// The same without volatile.
extern "C" __global__ void model_labels_plain(const int *in, int *out)
{
    int t = threadIdx.x;
    out[t] = in[t];
    __syncthreads();
    int neighbour = out[(t + 1) % 64]; // <- global_race: first
    if (neighbour < out[t]) {
        out[t] = neighbour; // <- global_race: second
    }
}

// The last block puts the counter back: who has counted last knows that all have, but a plain store is not an atomic one.
extern "C" __global__ void model_ticket_plain(unsigned *ticket, int *out)
{
    unsigned mine = atomicAdd(ticket, 1u); // <- global_race: first
    out[mine] = 1;
    if (mine == gridDim.x - 1) {
        *ticket = 0; // <- global_race: second
    }
}

extern "C" __global__ void model_ticket_atomic(unsigned *ticket, int *out)
{
    unsigned mine = atomicAdd(ticket, 1u);
    out[mine] = 1;
    if (mine == gridDim.x - 1) {
        atomicExch(ticket, 0u);
    }
}

// One lane waits for the other warp's data; that lane alone knows then that they are there.
extern "C" __global__ void model_one_lane_waits(const int *in, int *out)
{
    __shared__ int data[32];
    __shared__ int flag;
    int t = threadIdx.x, lane = t % 32;
    if (t == 0) {
        flag = 0;
    }
    __syncthreads();
    if (t < 32) {
        data[lane] = in[lane]; // <- race: first
        __syncwarp();
        __threadfence_block();
        if (lane == 0) {
            *(volatile int *)&flag = 1;
        }
    } else {
        if (lane == 0) {
            while (*(volatile int *)&flag == 0) {
            }
            __threadfence_block();
        }
        out[lane] = data[31 - lane]; // <- race: second
    }
}

extern "C" __global__ void model_one_lane_waits_for_all(const int *in, int *out)
{
    __shared__ int data[32];
    __shared__ int flag;
    int t = threadIdx.x, lane = t % 32;
    if (t == 0) {
        flag = 0;
    }
    __syncthreads();
    if (t < 32) {
        data[lane] = in[lane];
        __syncwarp();
        __threadfence_block();
        if (lane == 0) {
            *(volatile int *)&flag = 1;
        }
    } else {
        if (lane == 0) {
            while (*(volatile int *)&flag == 0) {
            }
            __threadfence_block();
        }
        __syncwarp();
        out[lane] = data[31 - lane];
    }
}

// One byte, read on two lines by two lanes, and written by a third: the line of each lane is told.
extern "C" __global__ void model_two_readers(const int *in, int *out)
{
    __shared__ int word[2];
    int t = threadIdx.x;
    if (t < 2) {
        word[t] = in[t];
    }
    __syncwarp();
    if (t == 1) {
        out[1] = word[0]; // <- warp_hazard 1: first
    }
    if (t == 2) {
        out[2] = word[0]; // <- warp_hazard 2: first
    }
    if (t == 0) {
        word[0] = 5; // <- warp_hazard 1: second; warp_hazard 2: second
    }
    __syncwarp();
    if (t == 1) {
        out[0] = word[0];
    }
}

extern "C" __global__ void model_two_readers_then_sync(const int *in, int *out)
{
    __shared__ int word[2];
    int t = threadIdx.x;
    if (t < 2) {
        word[t] = in[t];
    }
    __syncwarp();
    if (t == 1) {
        out[1] = word[0];
    }
    if (t == 2) {
        out[2] = word[0];
    }
    __syncwarp();
    if (t == 0) {
        word[0] = 5;
    }
    __syncwarp();
    if (t == 1) {
        out[0] = word[0];
    }
}
