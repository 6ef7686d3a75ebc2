// Product of double matrices on tensor cores, 8 x 8 results a warp and step.
// Counts: 8-byte loads of fragments go by half warps: rows of 4 doubles lie right, those of 16 conflict by fours.
// Compile with: -arch=compute_80

extern "C" __global__ void __launch_bounds__(128)
    matrix_doubles(const double *a, const double *b, double *c, int m, int n, int k)
{
    __shared__ double tile_a[16][4], tile_b[4][16];
    const int lane = threadIdx.x % 32, row = threadIdx.x / 64 * 8 + lane / 4, column = threadIdx.x / 32 % 2 * 8;
    double sum[2] = {};
    for (int first = 0; first < k; first += 4) {
        const int i = threadIdx.x % 64;
        if (threadIdx.x < 64) {
            const int row_a = blockIdx.y * 16 + i / 4, k_a = first + i % 4;
            tile_a[i / 4][i % 4] = row_a < m && k_a < k ? a[row_a * k + k_a] : 0.0;
        } else {
            const int k_b = first + i / 16, column_b = blockIdx.x * 16 + i % 16;
            tile_b[i / 16][i % 16] = k_b < k && column_b < n ? b[k_b * n + column_b] : 0.0;
        }
        __syncthreads(); // both tiles are complete
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[0]), "+d"(sum[1])
            : "d"(tile_a[row][lane % 4]), "d"(tile_b[lane % 4][column + lane / 4]));
        __syncthreads(); // read before they are filled again
    }
    const int to_row = blockIdx.y * 16 + row;
    for (int i = 0; i < 2; ++i) {
        const int to_column = blockIdx.x * 16 + column + lane % 4 * 2 + i;
        if (to_row < m && to_column < n) {
            c[to_row * n + to_column] = sum[i];
        }
    }
}
