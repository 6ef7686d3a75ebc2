// gemm / register_2d
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     A thread makes 8 x 8 elements of c: 16 elements read from shared memory serve 64 products, out of registers.
//          They lie 16 apart in c, so that the threads of a half-warp read 16 neighbours of tile_b: no conflicts.
//          Again larger tiles: every element read from global memory serves 128 products.
// Differs  from gemm/register_1d: EACH in both directions, and a tile of 128 x 128 by 16 x 16 threads.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 4       float32; m, n multiples of 128; k a multiple of 8
//          global.load.sectors_per_request = 8       float64; m, n multiples of 128; k a multiple of 8
// Source   register blocking, as in every fast matrix product

extern "C" __global__ void __launch_bounds__(256)
gemm_register_2d(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int TILE = 128, TILE_K = 8, SIDE = 16, EACH = TILE / SIDE, COPIES = TILE * TILE_K / (SIDE * SIDE);
    __shared__ T tile_a[TILE][TILE_K];
    __shared__ T tile_b[TILE_K][TILE];

    // Who am I: EACH x EACH elements of c, SIDE apart. The block makes a TILE x TILE tile of it.
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const long long first_col = (long long)blockIdx.x * TILE;
    const int thread = threadIdx.y * SIDE + threadIdx.x;

    T sum[EACH][EACH] = {};
    for (long long first = 0; first < k; first += TILE_K) {
        // Read and stage: COPIES elements of each tile a thread, zeros past the edges of a and b.
        for (int j = 0; j < COPIES; ++j) {
            const int element = j * SIDE * SIDE + thread;
            const int a_y = element / TILE_K, a_x = element % TILE_K;
            const int b_y = element / TILE, b_x = element % TILE;
            const long long a_row = first_row + a_y, a_col = first + a_x;
            const long long b_row = first + b_y, b_col = first_col + b_x;
            tile_a[a_y][a_x] = a_row < m && a_col < k ? a[a_row * k + a_col] : T(0);
            tile_b[b_y][b_x] = b_row < k && b_col < n ? b[b_row * n + b_col] : T(0);
        }

        // The tiles were written by all threads: none may read them before the last has written.
        __syncthreads();

        // Compute. i ascends over all of k; the compiler fuses product and sum (fma).
        for (int i = 0; i < TILE_K; ++i)
            for (int r = 0; r < EACH; ++r)
                for (int q = 0; q < EACH; ++q)
                    sum[r][q] += tile_a[threadIdx.y + r * SIDE][i] * tile_b[i][threadIdx.x + q * SIDE];

        // The tiles are read by all threads: none may overwrite them in its next round before the last has read.
        __syncthreads();
    }

    // Write.
    for (int r = 0; r < EACH; ++r)
        for (int q = 0; q < EACH; ++q) {
            const long long row = first_row + threadIdx.y + r * SIDE, col = first_col + threadIdx.x + q * SIDE;
            if (row < m && col < n)
                c[row * n + col] = sum[r][q];
        }
}
