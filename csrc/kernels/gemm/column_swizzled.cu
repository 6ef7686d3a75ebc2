// gemm / column_swizzled
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     No padding: element i of the column for col stands at i ^ col of row col. The rows stay 32 elements long,
//          and a warp that walks down a column meets every bank once, for i ^ col differs wherever col does
//          (float64: half a warp, 16 elements of two banks each). The cure costs an xor an access, no memory.
// Differs  from gemm/column: the xor in the indices of tile_b, where it is written and where it is read.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   the swizzle, as matrix transposes use it

extern "C" __global__ void __launch_bounds__(1024)
gemm_column_swizzled(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int TILE = 32;
    __shared__ T tile_a[TILE][TILE];
    __shared__ T tile_b[TILE][TILE];

    // Who am I: one element of c. The block makes a TILE x TILE tile of it.
    const long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE + threadIdx.y;
    const long long col = (long long)blockIdx.x * TILE + threadIdx.x;

    T sum = 0;
    for (long long first = 0; first < k; first += TILE) {
        // Read and stage: one element of each tile a thread, zeros past the edges of a and b.
        const long long a_col = first + threadIdx.x;
        const long long b_row = first + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && a_col < k ? a[row * k + a_col] : T(0);
        tile_b[threadIdx.x][threadIdx.y ^ threadIdx.x] = b_row < k && col < n ? b[b_row * n + col] : T(0);

        // The tiles were written by all threads: none may read them before the last has written.
        __syncthreads();

        // Compute. i ascends over all of k; the compiler fuses product and sum (fma).
        for (int i = 0; i < TILE; ++i)
            sum += tile_a[threadIdx.y][i] * tile_b[threadIdx.x][i ^ threadIdx.x];

        // The tiles are read by all threads: none may overwrite them in its next round before the last has read.
        __syncthreads();
    }

    // Write.
    if (row < m && col < n)
        c[row * n + col] = sum;
}
