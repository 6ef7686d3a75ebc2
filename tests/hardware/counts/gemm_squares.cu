// Matrix product with 4 x 4 results a thread; one tile is stored transposed.
// Counts: fours of neighbours from both tiles, each one 16-byte load; the transposed store conflicts.

extern "C" __global__ void __launch_bounds__(256)
    gemm_squares(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[8][64], tile_b[8][64];
    const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int first = 0; first < k; first += 8) {
        for (int i = threadIdx.x; i < 64 * 8; i += 256) {
            const bool a_there = row + i / 8 < m && first + i % 8 < k;
            tile_a[i % 8][i / 8] = a_there ? a[(row + i / 8) * k + first + i % 8] : 0.0f;
            const bool b_there = first + i / 64 < k && column + i % 64 < n;
            tile_b[i / 64][i % 64] = b_there ? b[(first + i / 64) * n + column + i % 64] : 0.0f;
        }
        __syncthreads(); // both tiles are complete
        for (int i = 0; i < 8; ++i) {
            for (int j = 0; j < 16; ++j) {
                sum[j / 4][j % 4] += tile_a[i][y + j / 4] * tile_b[i][x + j % 4];
            }
        }
        __syncthreads(); // read before they are filled again
    }
    for (int j = 0; j < 16; ++j) {
        if (row + y + j / 4 < m && column + x + j % 4 < n) {
            c[(row + y + j / 4) * n + column + x + j % 4] = sum[j / 4][j % 4];
        }
    }
}
