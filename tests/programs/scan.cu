// Inclusive prefix sum of one block: shuffles inside a warp, shared memory between warps.
// Exercises shfl.sync.up with its predicate, barriers, a second level by the first warp.

__device__ __forceinline__ int scan_warp(int value)
{
    int lane = threadIdx.x & 31;
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) {
            value += other;
        }
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(1024) scan(const int *in, int *out, int count)
{
    __shared__ int totals[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    int value = scan_warp(i < count ? in[i] : 0);
    if (lane == 31) {
        totals[warp] = value;
    }
    __syncthreads(); // every warp's total is there before the first warp reads them
    if (warp == 0) {
        int warps = (blockDim.x + 31) >> 5;
        int total = lane < warps ? totals[lane] : 0;
        totals[lane] = scan_warp(total);
    }
    __syncthreads(); // the scanned totals are there before all warps read them
    if (warp > 0) {
        value += totals[warp - 1];
    }
    if (i < count) {
        out[i] = value;
    }
}
