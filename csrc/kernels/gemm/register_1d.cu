// gemm / register_1d
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     gemm/tiled reads shared memory twice for one product, and that is what it waits for. Here a thread makes
//          eight elements of one column of c: each element of tile_b that it reads serves eight products out of a
//          register. Larger tiles come with it: every element read from global memory serves 64 products.
// Differs  from gemm/tiled: EACH, and a tile of 64 x 64 that goes over k in steps of TILE_K = 8.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 4       float32; m, n, k multiples of 64
//          global.load.sectors_per_request = 8       float64; m, n, k multiples of 64
// Source   register blocking, as in every fast matrix product

extern "C" __global__ void __launch_bounds__(512)
gemm_register_1d(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int TILE = 64, TILE_K = 8, EACH = 8;
    __shared__ T tile_a[TILE][TILE_K];
    __shared__ T tile_b[TILE_K][TILE];

    // Who am I: EACH elements of one column of c. The block makes a TILE x TILE tile of it.
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const long long col = (long long)blockIdx.x * TILE + threadIdx.x;

    // Which element of tile_a do I stage: its rows are shorter than those of the block.
    const int thread = threadIdx.y * TILE + threadIdx.x;
    const int a_x = thread % TILE_K, a_y = thread / TILE_K;

    T sum[EACH] = {};
    for (long long first = 0; first < k; first += TILE_K) {
        // Read and stage: one element of each tile a thread, zeros past the edges of a and b.
        const long long a_row = first_row + a_y, a_col = first + a_x;
        const long long b_row = first + threadIdx.y;
        tile_a[a_y][a_x] = a_row < m && a_col < k ? a[a_row * k + a_col] : T(0);
        tile_b[threadIdx.y][threadIdx.x] = b_row < k && col < n ? b[b_row * n + col] : T(0);

        // The tiles were written by all threads: none may read them before the last has written.
        __syncthreads();

        // Compute. i ascends over all of k; the compiler fuses product and sum (fma).
        for (int i = 0; i < TILE_K; ++i) {
            const T from_b = tile_b[i][threadIdx.x];
            for (int r = 0; r < EACH; ++r)
                sum[r] += tile_a[threadIdx.y * EACH + r][i] * from_b;
        }

        // The tiles are read by all threads: none may overwrite them in its next round before the last has read.
        __syncthreads();
    }

    // Write.
    for (int r = 0; r < EACH; ++r) {
        const long long row = first_row + threadIdx.y * EACH + r;
        if (row < m && col < n)
            c[row * n + col] = sum[r];
    }
}
