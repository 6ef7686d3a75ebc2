// gemm / naive_uncoalesced
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     The same product with the thread axes exchanged, an easy slip: x walks down a column.
//          Slow because the 32 threads of a warp read 32 rows of a: each fetches a sector of its own (32 bytes)
//          and uses one element of it. They write c in the same way.
// Differs  from gemm/naive: row takes x, col takes y.
// Claims   global.load.sectors_per_request = 16.5    m a multiple of 32; k at least 8:
//                                                    32 for a, one for b
//          global.store.sectors_per_request = 32     m a multiple of 32; n at least 8
// Source   the commonest mistake in first kernels

extern "C" __global__ void __launch_bounds__(1024)
gemm_naive_uncoalesced(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int ROWS = 32, COLS = 32;

    // Who am I: one element of c.
    const long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * ROWS + threadIdx.x;
    const long long col = (long long)blockIdx.x * COLS + threadIdx.y;
    if (row >= m || col >= n)
        return;

    // Read and compute: a row of a, a column of b. i ascends; the compiler fuses product and sum (fma).
    T sum = 0;
    for (long long i = 0; i < k; ++i)
        sum += a[row * k + i] * b[i * n + col];

    // Write.
    c[row * n + col] = sum;
}
