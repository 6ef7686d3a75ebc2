// Product of bfloat16 matrices, the second one transposed, on tensor cores, from tiles in rows of 128 bytes.
// Counts: all 8 rows of a matrix lie in the same 4 banks, 8 wavefronts each; ldmatrix of 4, of 2 and of 1 matrix.
// Compile with: -arch=compute_80

extern "C" __global__ void __launch_bounds__(64)
    matrix_crowded(const unsigned *a, const unsigned *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) unsigned tile_a[32][32], tile_b[8][32]; // pairs of neighbours along k
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
    float sum[4] = {};
    for (int first = 0; first < k; first += 64) {
        for (int i = threadIdx.x; i < 40 * 32; i += 64) {
            const bool of_a = i < 32 * 32, there = first + i % 32 * 2 < k;
            const int at = of_a ? blockIdx.y * 32 + i / 32 : blockIdx.x * 8 + i / 32 - 32;
            const unsigned *from = of_a ? a : b;
            const unsigned pair = there && at < (of_a ? m : n) ? from[(at * k + first) / 2 + i % 32] : 0;
            (of_a ? tile_a[i / 32] : tile_b[i / 32 - 32])[i % 32] = pair;
        }
        __syncthreads(); // both tiles are complete
        for (int step = 0; step < 32; step += 8) {
            const unsigned from_a = __cvta_generic_to_shared(&tile_a[row + lane % 16][step + lane / 16 * 4]);
            const unsigned from_b = __cvta_generic_to_shared(&tile_b[lane % 8][step + lane / 8 % 2 * 4]);
            unsigned x[4], y[2];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(from_a)
                         : "memory");
            if (step < 16) {
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                             : "=r"(y[0]), "=r"(y[1])
                             : "r"(from_b)
                             : "memory");
            } else {
                asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%2];\n\t"
                             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%1}, [%2+16];"
                             : "=&r"(y[0]), "=r"(y[1])
                             : "r"((unsigned)__cvta_generic_to_shared(&tile_b[lane % 8][step]))
                             : "memory");
            }
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
        __syncthreads(); // read before they are filled again
    }
    for (int i = 0; i < 4; ++i) {
        const int to_row = blockIdx.y * 32 + row + lane / 4 + i / 2 * 8;
        const int to_column = blockIdx.x * 8 + lane % 4 * 2 + i % 2;
        if (to_row < m && to_column < n) {
            c[to_row * n + to_column] = sum[i];
        }
    }
}
