// Product of bfloat16 matrices, the first one transposed, on tensor cores; 16-byte chunks of a row change places.
// Counts: ldmatrix.trans down columns of a tile in rows of 128 bytes, without a conflict thanks to the xor.
// Compile with: -arch=compute_80

extern "C" __global__ void __launch_bounds__(128)
    matrix_swizzled(const uint4 *a, const uint4 *b, float2 *c, int m, int n, int k)
{
    __shared__ uint4 tile_a[32][8], tile_b[32][8];
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16, chunk = threadIdx.x % 8;
    const int chunk_a = blockIdx.y * 8 + chunk, chunk_b = blockIdx.x * 8 + chunk;
    const uint4 zeros = make_uint4(0, 0, 0, 0);
    float sum[8][4] = {};
    for (int first = 0; first < k; first += 32) {
        for (int i = threadIdx.x / 8; i < 32; i += 16) {
            const bool there = first + i < k;
            tile_a[i][chunk ^ i % 8] = there && chunk_a < m / 8 ? a[(first + i) * (m / 8) + chunk_a] : zeros;
            tile_b[i][chunk ^ i % 8] = there && chunk_b < n / 8 ? b[(first + i) * (n / 8) + chunk_b] : zeros;
        }
        __syncthreads(); // both tiles are complete
        for (int step = 0; step < 32; step += 16) {
            const int k_a = step + lane % 8 + lane / 16 * 8, k_b = step + lane % 16;
            unsigned x[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"((unsigned)__cvta_generic_to_shared(&tile_a[k_a][(row / 8 + lane / 8 % 2) ^ k_a % 8]))
                         : "memory");
            for (int j = 0; j < 8; ++j) {
                unsigned y[2];
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                             : "=r"(y[0]), "=r"(y[1])
                             : "r"((unsigned)__cvta_generic_to_shared(&tile_b[k_b][j ^ k_b % 8]))
                             : "memory");
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
            }
        }
        __syncthreads(); // read before they are filled again
    }
    for (int i = 0; i < 16; ++i) {
        const int to_row = blockIdx.y * 64 + row + lane / 4 + i % 2 * 8;
        const int to_column = blockIdx.x * 64 + i / 2 * 8 + lane % 4 * 2;
        if (to_row < m && to_column < n) {
            c[(to_row * n + to_column) / 2] = make_float2(sum[i / 2][i % 2 * 2], sum[i / 2][i % 2 * 2 + 1]);
        }
    }
}
