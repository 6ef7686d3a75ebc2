// Sum of 7 neighbours in a row, from a tile with a halo of 3 on either side.
// Counts: unrolled reads one element apart, none aligned to more than 4 bytes, so none are fused.

extern "C" __global__ void stencil_row(const float *in, float *out, int count)
{
    __shared__ float tile[128 + 6];
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int j = threadIdx.x; j < 134; j += 128) {
        const int at = blockIdx.x * 128 + j - 3;
        tile[j] = at >= 0 && at < count ? in[at] : 0.0f;
    }
    __syncthreads(); // the halo comes from other threads
    if (i < count) {
        float sum = 0.0f;
        for (int j = 0; j < 7; ++j) {
            sum += tile[threadIdx.x + j];
        }
        out[i] = sum;
    }
}
