// gemm / naive
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     One thread makes one element of c and reads both operands straight from global memory.
//          x walks along a row, so the 32 threads of a warp read 32 neighbours of b and one element of a.
//          All gemm exhibits add in the same order, so all give the same bits; float32 by gemm/tuned alone does not.
// Differs  from nothing: the ladder starts here.
// Claims   global.load.sectors_per_request = 2.5     float32; n a multiple of 32: one for a, four for b
//          global.load.sectors_per_request = 4.5     float64; n a multiple of 32: one for a, eight for b
// Source   the definition of the matrix product

extern "C" __global__ void __launch_bounds__(1024)
gemm_naive(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int ROWS = 32, COLS = 32;

    // Who am I: one element of c.
    const long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * ROWS + threadIdx.y;
    const long long col = (long long)blockIdx.x * COLS + threadIdx.x;
    if (row >= m || col >= n)
        return;

    // Read and compute: a row of a, a column of b. i ascends; the compiler fuses product and sum (fma).
    T sum = 0;
    for (long long i = 0; i < k; ++i)
        sum += a[row * k + i] * b[i * n + col];

    // Write.
    c[row * n + col] = sum;
}
