// gemm / short_k
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major, or any
//          arrays of these shapes: their strides are parameters.
// Idea     Where k is short, what takes time is to write c, or, for a small c, the launch itself. Tiles in shared
//          memory and their barriers are a detour then. A warp makes ROWS rows by 128 columns in registers: each lane
//          four columns, 32 apart, so that a warp reads b and writes c in whole lines of 128 bytes; and all lanes read
//          the same element of a, which is one read. A narrow c would leave lanes idle: there each thread makes one
//          element, wherever it lies (flat).
// Differs  from gemm/naive: a thread makes several elements of c.
// Claims   shared.load.instructions = 0
//          global.store.sectors_per_request = 4       float32; m a multiple of 64; n a multiple of 128
// Source   register blocking, without the tiles

// One element a thread: of every row of c, one behind the other.
extern "C" __global__ void __launch_bounds__(256)
gemm_short_k_flat(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
                  long long n, long long a_row, long long a_col, long long b_row, long long b_col, long long stack,
                  long long a_stack, long long b_stack)
{
    const unsigned element = blockIdx.x * 256 + threadIdx.x, row = element / unsigned(n), col = element % unsigned(n);
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
    if (item >= stack || row >= m)
        return;
    const T *const from_a = a + item * a_stack + row * a_row;
    const T *const from_b = b + item * b_stack + col * b_col;
    T sum = 0;
#pragma unroll 8
    for (int i = 0; i < k; ++i)
        sum += from_a[i * a_col] * from_b[i * b_row];
    c[item * m * n + element] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
gemm_short_k(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
             long long n, long long a_row, long long a_col, long long b_row, long long b_col, long long stack,
             long long a_stack, long long b_stack)
{
    constexpr int ROWS = 8, WARPS = 8, COLS = 4;

    // Who am I: a product of the stack, ROWS rows and COLS columns. Past the edges of c the last row or column is taken
    // again.
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
    if (item >= stack)
        return;
    const long long stripes = (n + 32 * COLS - 1) / (32 * COLS);
    const long long row = (blockIdx.x / stripes * WARPS + threadIdx.x / 32) * ROWS;
    const long long col = blockIdx.x % stripes * (32 * COLS) + threadIdx.x % 32;
    const T *from_a[ROWS], *from_b[COLS];
    for (int r = 0; r < ROWS; ++r)
        from_a[r] = a + item * a_stack + (row + r < m ? row + r : m - 1) * a_row;
    for (int q = 0; q < COLS; ++q)
        from_b[q] = b + item * b_stack + (col + q * 32 < n ? col + q * 32 : n - 1) * b_col;

    // Read and compute. i ascends over all of k; the compiler fuses product and sum (fma).
    T sum[ROWS][COLS] = {};
#pragma unroll 4
    for (int i = 0; i < k; ++i) {
        T with[COLS];
        for (int q = 0; q < COLS; ++q)
            with[q] = from_b[q][i * b_row];
        for (int r = 0; r < ROWS; ++r)
            for (int q = 0; q < COLS; ++q)
                sum[r][q] += from_a[r][i * a_col] * with[q];
    }

    // Write.
    for (int r = 0; r < ROWS; ++r)
        for (int q = 0; q < COLS; ++q)
            if (row + r < m && col + q * 32 < n)
                c[(item * m + row + r) * n + col + q * 32] = sum[r][q];
}
