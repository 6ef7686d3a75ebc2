// Each lane walks along its own row of 10 doubles.
// Counts: rows of 80 bytes are aligned to 16: pairs of doubles are fused into 16-byte reads.

extern "C" __global__ void __launch_bounds__(64) walk_doubles(const double *in, double *out, int rows)
{
    __shared__ double tile[64][10];
    const int first = blockIdx.x * 64, size = min(64, rows - first);
    for (int i = threadIdx.x; i < size * 10; i += 64) {
        tile[i / 10][i % 10] = in[first * 10 + i];
    }
    __syncthreads(); // the tile is complete
    if (threadIdx.x < size) {
        double sum = 0.0, product = 1.0;
        for (int i = 0; i < 10; ++i) {
            sum += tile[threadIdx.x][i];
        }
        for (int i = 0; i < 3; ++i) {
            product *= tile[threadIdx.x][2 * i + 1];
        }
        out[first + threadIdx.x] = sum + product;
    }
}
