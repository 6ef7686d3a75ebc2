// Butterflies over 64 complex numbers of a row: a Walsh transform, pairs of float2.
// Counts: 8-byte loads and stores at distances that are powers of two.

extern "C" __global__ void butterfly(const float2 *in, float2 *out, int rows)
{
    __shared__ float2 line[4][64];
    const int row = blockIdx.x * 4 + threadIdx.y, k = threadIdx.x;
    if (row < rows) {
        line[threadIdx.y][k] = in[row * 64 + k];
        line[threadIdx.y][k + 32] = in[row * 64 + k + 32];
    }
#pragma unroll
    for (int step = 1; step < 64; step *= 2) {
        __syncwarp(); // a row belongs to one warp
        if (row < rows) {
            const int at = (k / step) * 2 * step + k % step;
            const float2 a = line[threadIdx.y][at], b = line[threadIdx.y][at + step];
            line[threadIdx.y][at] = make_float2(a.x + b.x, a.y + b.y);
            line[threadIdx.y][at + step] = make_float2(a.x - b.x, a.y - b.y);
        }
    }
    __syncwarp(); // the transform is complete
    if (row < rows) {
        out[row * 64 + k] = line[threadIdx.y][k];
        out[row * 64 + k + 32] = line[threadIdx.y][k + 32];
    }
}
