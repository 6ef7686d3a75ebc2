// Product of half-precision matrices on tensor cores, from tiles in rows of 24 and 40 halves.
// Counts: ldmatrix is one load and takes a wavefront for each of its 4 matrices; 2-byte stores fill the tiles.
// Compile with: -arch=compute_80

extern "C" __global__ void __launch_bounds__(128)
    matrix_padded(const unsigned short *a, const unsigned short *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) unsigned short tile_a[32][16 + 8], tile_b[16][32 + 8];
    const int lane = threadIdx.x % 32, row = threadIdx.x / 64 * 16, column = threadIdx.x / 32 % 2 * 16;
    const unsigned from_a = __cvta_generic_to_shared(&tile_a[row + lane % 16][lane / 16 * 8]);
    const unsigned from_b = __cvta_generic_to_shared(&tile_b[lane % 16][column + lane / 16 * 8]);
    float sum[2][4] = {};
    for (int first = 0; first < k; first += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += 128) {
            const int row_a = blockIdx.y * 32 + i / 16, k_a = first + i % 16;
            const int k_b = first + i / 32, column_b = blockIdx.x * 32 + i % 32;
            tile_a[i / 16][i % 16] = row_a < m && k_a < k ? a[row_a * k + k_a] : 0;
            tile_b[i / 32][i % 32] = k_b < k && column_b < n ? b[k_b * n + column_b] : 0;
        }
        __syncthreads(); // both tiles are complete
        unsigned x[4], y[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(from_a)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(from_b)
                     : "memory");
        for (int j = 0; j < 2; ++j) {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * j]), "r"(y[2 * j + 1]));
        }
        __syncthreads(); // read before they are filled again
    }
    for (int i = 0; i < 8; ++i) {
        const int to_row = blockIdx.y * 32 + row + lane / 4 + i % 4 / 2 * 8;
        const int to_column = blockIdx.x * 32 + column + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (to_row < m && to_column < n) {
            c[to_row * n + to_column] = sum[i / 4][i % 4];
        }
    }
}
