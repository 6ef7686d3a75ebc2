// Memory that kernels get from malloc and new, and give back.

// One element more than was asked for: it fits into the piece that malloc took, but for full ones.
extern "C" __global__ void heap_one_past(const int *in, int *out, int count)
{
    int t = threadIdx.x;
    int *mine = new int[count];
    for (int i = 0; i <= count; i++) {
        mine[i] = in[t + i]; // <- out_of_bounds: first
    }
    out[t] = mine[count - 1];
    delete[] mine;
}

extern "C" __global__ void heap_guarded(const int *in, int *out, int count)
{
    int t = threadIdx.x;
    int *mine = new int[count];
    for (int i = 0; i < count; i++) {
        mine[i] = in[t + i];
    }
    out[t] = mine[count - 1];
    delete[] mine;
}

extern "C" __global__ void heap_before(const int *in, int *out, int count)
{
    int t = threadIdx.x;
    int *mine = new int[count];
    mine[in[t] % count - count] = 7; // <- out_of_bounds: first
    out[t] = in[t];
    delete[] mine;
}

// malloc counts bytes.
extern "C" __global__ void heap_too_short(const int *in, int *out, int count)
{
    int t = threadIdx.x;
    volatile int *mine = (volatile int *)malloc(count);
    for (int i = 0; i < count; i++) {
        mine[i] = in[t + i]; // <- out_of_bounds: first
    }
    out[t] = in[t];
    free((void *)mine);
}

// The first thread gives the memory of all back too early.
extern "C" __global__ void heap_freed(const int *in, int *out, int count)
{
    __shared__ int *all;
    int t = threadIdx.x;
    if (t == 0) {
        all = new int[count];
    }
    __syncthreads();
    all[t] = in[t];
    __syncthreads();
    if (t == 0) {
        delete[] all;
    }
    __syncthreads();
    out[t] = all[63 - t]; // <- out_of_bounds: first
}

extern "C" __global__ void heap_freed_last(const int *in, int *out, int count)
{
    __shared__ int *all;
    int t = threadIdx.x;
    if (t == 0) {
        all = new int[count];
    }
    __syncthreads();
    all[t] = in[t];
    __syncthreads();
    out[t] = all[63 - t];
    __syncthreads();
    if (t == 0) {
        delete[] all;
    }
}

// So much that the heap has room for a few threads at a time: those behind them get the memory that these gave back.
extern "C" __global__ void heap_in_turn(const int *in, int *out, int count)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int *mine = (int *)malloc(count * sizeof(int));
    if (mine != NULL) {
        mine[count - 1] = in[t];
        out[t] = mine[count - 1];
        free(mine);
    }
}
