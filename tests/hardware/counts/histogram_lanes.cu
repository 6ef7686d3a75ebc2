// Histogram with a copy for each lane, bank = lane, and one warp a block: no atomics, no conflicts.
// Counts: loads and stores of one wavefront each; the sum over copies walks around the rows.

extern "C" __global__ void __launch_bounds__(32) histogram_lanes(const unsigned char *in, int *out, int count)
{
    __shared__ int bins[64][32];
    const int lane = threadIdx.x;
    for (int bin = 0; bin < 64; ++bin) {
        bins[bin][lane] = 0;
    }
    for (int i = blockIdx.x * 32 + lane; i < count; i += gridDim.x * 32) {
        bins[in[i] / 4][lane] += 1;
    }
    __syncwarp(); // the copies of all lanes are complete
    for (int bin = lane; bin < 64; bin += 32) {
        int sum = 0;
        for (int copy = 0; copy < 32; ++copy) {
            sum += bins[bin][(copy + lane) % 32];
        }
        atomicAdd(&out[bin], sum);
    }
}
