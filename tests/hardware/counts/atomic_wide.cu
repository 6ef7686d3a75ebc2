// 64-bit integer atomics in shared memory: add, max, exchange.
// Counts: which of them is one machine instruction and which is a loop; two banks a lane.

extern "C" __global__ void __launch_bounds__(32)
    atomic_wide(const unsigned long long *in, unsigned long long *out, int spread)
{
    __shared__ unsigned long long sums[32], greatest[32], last[32];
    const int lane = threadIdx.x;
    sums[lane] = greatest[lane] = last[lane] = 0;
    __syncwarp(); // cleared before anyone adds
    const unsigned long long value = in[blockIdx.x * 32 + lane];
    atomicAdd(&sums[lane / spread], value);
    atomicMax(&greatest[lane / spread], value);
    atomicExch(&last[lane], value + 1);
    __syncwarp(); // all are done
    out[(blockIdx.x * 3 + 0) * 32 + lane] = sums[lane];
    out[(blockIdx.x * 3 + 1) * 32 + lane] = greatest[lane];
    out[(blockIdx.x * 3 + 2) * 32 + lane] = last[lane];
}
