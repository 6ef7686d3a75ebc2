// Product of float matrices on tensor cores as tf32, whose operands lie in shared memory as 4-byte words.
// Counts: fragments read by plain 4-byte loads: rows of 8 words meet in banks by twos, rows of 40 words do not.
// Compile with: -arch=compute_80

extern "C" __global__ void __launch_bounds__(64)
    matrix_words(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ unsigned tile_a[32][8], tile_b[8][32 + 8];
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    float sum[4][4] = {};
    for (int first = 0; first < k; first += 8) {
        for (int i = threadIdx.x; i < 32 * 8; i += 64) {
            const int row_a = blockIdx.y * 32 + i / 8, k_a = first + i % 8;
            const int k_b = first + i / 32, column_b = blockIdx.x * 32 + i % 32;
            const float of_a = row_a < m && k_a < k ? a[row_a * k + k_a] : 0.0f;
            const float of_b = k_b < k && column_b < n ? b[k_b * n + column_b] : 0.0f;
            asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(tile_a[i / 8][i % 8]) : "f"(of_a));
            asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(tile_b[i / 32][i % 32]) : "f"(of_b));
        }
        __syncthreads(); // both tiles are complete
        const unsigned *x = &tile_a[row][lane % 4];
        for (int j = 0; j < 4; ++j) {
            const unsigned *y = &tile_b[lane % 4][j * 8 + lane / 4];
            asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                : "r"(x[0]), "r"(x[8 * 8]), "r"(x[4]), "r"(x[8 * 8 + 4]), "r"(y[0]), "r"(y[4 * 40]));
        }
        __syncthreads(); // read before they are filled again
    }
    for (int i = 0; i < 16; ++i) {
        const int to_row = blockIdx.y * 32 + row + i % 4 / 2 * 8;
        const int to_column = blockIdx.x * 32 + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (to_row < m && to_column < n) {
            c[to_row * n + to_column] = sum[i / 4][i % 4];
        }
    }
}
