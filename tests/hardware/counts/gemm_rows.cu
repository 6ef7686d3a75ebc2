// Matrix product with 8 results a thread in a column of registers.
// Counts: one load of b serves 8 products; the reads of a are broadcasts along a row, fused.

extern "C" __global__ void __launch_bounds__(256)
    gemm_rows(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[32][16], tile_b[16][64];
    const int x = threadIdx.x % 64, y = threadIdx.x / 64 * 8;
    const int row = blockIdx.y * 32, column = blockIdx.x * 64;
    float sum[8] = {};
    for (int first = 0; first < k; first += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += 256) {
            const bool there = row + i / 16 < m && first + i % 16 < k;
            tile_a[i / 16][i % 16] = there ? a[(row + i / 16) * k + first + i % 16] : 0.0f;
        }
        for (int i = threadIdx.x; i < 16 * 64; i += 256) {
            const bool there = first + i / 64 < k && column + i % 64 < n;
            tile_b[i / 64][i % 64] = there ? b[(first + i / 64) * n + column + i % 64] : 0.0f;
        }
        __syncthreads(); // both tiles are complete
        for (int i = 0; i < 16; ++i) {
            const float factor = tile_b[i][x];
            for (int j = 0; j < 8; ++j) {
                sum[j] += tile_a[y + j][i] * factor;
            }
        }
        __syncthreads(); // read before they are filled again
    }
    for (int j = 0; j < 8; ++j) {
        if (row + y + j < m && column + x < n) {
            c[(row + y + j) * n + column + x] = sum[j];
        }
    }
}
