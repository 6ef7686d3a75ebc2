// Atomic operations race with plain accesses, not with each other.

extern "C" __global__ void atomic_bins(const int *in, int *out)
{
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) {
        bins[t] = 0;
    }
    __syncthreads();
    atomicAdd(&bins[in[t] & 7], 1);
    __syncthreads();
    if (t < 8) {
        out[t] = bins[t];
    }
}

extern "C" __global__ void atomic_bins_plain(const int *in, int *out)
{
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) {
        bins[t] = 0;
    }
    __syncthreads();
    bins[in[t] & 7] += 1; // <- race: first, second; warp_hazard: first, second
    __syncthreads();
    if (t < 8) {
        out[t] = bins[t];
    }
}

// The counts are cleared by 8 threads of the first warp; the others do not wait for them.
extern "C" __global__ void atomic_bins_cleared_late(const int *in, int *out)
{
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) {
        bins[t] = 0; // <- race: first; warp_hazard: first
    }
    atomicAdd(&bins[in[t] & 7], 1); // <- race: second; warp_hazard: second
    __syncthreads();
    if (t < 8) {
        out[t] = bins[t];
    }
}

// Plain reads beside atomic adds.
extern "C" __global__ void atomic_read_early(const int *in, int *out)
{
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0) {
        count = 0;
    }
    __syncthreads();
    if (t < 32) {
        atomicAdd(&count, in[t]); // <- race: first
    } else {
        out[t - 32] = count; // <- race: second
    }
}

extern "C" __global__ void atomic_read_late(const int *in, int *out)
{
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0) {
        count = 0;
    }
    __syncthreads();
    if (t < 32) {
        atomicAdd(&count, in[t]);
    }
    __syncthreads();
    if (t >= 32) {
        out[t - 32] = count;
    }
}

// Different atomic operations on one word, within a warp and between warps.
extern "C" __global__ void atomic_mixed(const int *in, int *out)
{
    __shared__ int word;
    int t = threadIdx.x;
    if (t == 0) {
        word = 0;
    }
    __syncthreads();
    if (t & 1) {
        atomicMax(&word, in[t]);
    } else {
        atomicOr(&word, 1);
    }
    int seen = atomicAdd(&word, 0);
    __syncthreads();
    out[t] = seen >= 0 ? word & 1 : 0;
}

// Lanes of one warp: the plain read may come before a neighbour's add.
extern "C" __global__ void atomic_warp_read(const int *in, int *out)
{
    __shared__ int count;
    int lane = threadIdx.x;
    if (lane == 0) {
        count = 0;
    }
    __syncwarp();
    atomicAdd(&count, in[lane]); // <- warp_hazard: first
    out[lane] = count;           // <- warp_hazard: second
}

// Slots handed out by an atomic counter: every thread gets its own.
extern "C" __global__ void atomic_slots(const int *in, int *out)
{
    __shared__ int count;
    __shared__ int list[128];
    int t = threadIdx.x;
    if (t == 0) {
        count = 0;
    }
    __syncthreads();
    list[atomicAdd(&count, 1)] = in[t];
    __syncthreads();
    out[t] = list[t];
}

// Global memory: a histogram of many blocks.
extern "C" __global__ void atomic_grid_bins(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[in[i] & 7], 1);
}

extern "C" __global__ void atomic_grid_bins_plain(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[in[i] & 7] += 1; // <- global_race: first, second
}

// One thread a block, so no two of a block meet: only blocks race.
extern "C" __global__ void atomic_grid_total_plain(const int *in, int *out)
{
    if (threadIdx.x == 0) {
        *out += in[blockIdx.x]; // <- global_race: first, second
    }
}

extern "C" __global__ void atomic_grid_total(const int *in, int *out)
{
    if (threadIdx.x == 0) {
        atomicAdd(out, in[blockIdx.x]);
    }
}

// Some blocks add atomically, one reads plainly.
extern "C" __global__ void atomic_grid_read(const int *in, int *out)
{
    if (blockIdx.x > 0) {
        atomicAdd(&out[0], in[threadIdx.x]); // <- global_race: first
    } else if (threadIdx.x == 0) {
        out[1] = out[0]; // <- global_race: second
    }
}

// Atomic within each block only: additions of two blocks may be lost.
extern "C" __global__ void atomic_grid_total_block(const int *in, int *out)
{
    if (threadIdx.x == 0) {
        atomicAdd_block(out, in[blockIdx.x]); // <- global_race: first, second
    }
}
