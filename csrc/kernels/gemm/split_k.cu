// gemm / split_k
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     A product with few tiles leaves most multiprocessors without a block, however long k is. So k is cut into
//          parts: a block makes the sum over one part of k of one tile, and a second launch (add) adds the partial sums
//          of each element, always in the order of the parts. The result is the same at each run: no atomic addition
//          decides about the order.
//          The price is memory for parts * m * n partial sums, which are written and read once. One part needs neither.
// Differs  from gemm/register_2d: the part of k that a block goes over, and where its sums go.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 4       float32; m, n multiples of 128; k a multiple of 8
//          global.load.sectors_per_request = 8       float64; m, n multiples of 128; k a multiple of 8
// Source   known as split-K in NVIDIA's CUTLASS

// Adds the partial sums of each element: a thread makes one.
extern "C" __global__ void __launch_bounds__(256)
gemm_split_k_add(const T *sums, T *c, long long elements, long long parts)
{
    const long long i = (long long)blockIdx.x * 256 + threadIdx.y * 16 + threadIdx.x;
    if (i >= elements)
        return;
    T sum = 0;
    for (long long part = 0; part < parts; ++part)
        sum += sums[part * elements + i];
    c[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
gemm_split_k(const T *a, const T *b, T *sums, long long m, long long k, long long n, long long part_k)
{
    constexpr int TILE = 128, TILE_K = 8, SIDE = 16, EACH = TILE / SIDE, COPIES = TILE * TILE_K / (SIDE * SIDE);
    __shared__ T tile_a[TILE][TILE_K];
    __shared__ T tile_b[TILE_K][TILE];

    // Who am I: EACH x EACH elements of a tile, SIDE apart, and a part of k.
    const long long tiles_n = (n + TILE - 1) / TILE, part = blockIdx.x / tiles_n;
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const long long first_col = blockIdx.x % tiles_n * TILE;
    const long long first_k = part * part_k, end_k = first_k + part_k < k ? first_k + part_k : k;
    const int thread = threadIdx.y * SIDE + threadIdx.x;

    T sum[EACH][EACH] = {};
    for (long long first = first_k; first < end_k; first += TILE_K) {
        // Read and stage: COPIES elements of each tile a thread, zeros past the edges of a and b, and of the part.
        for (int j = 0; j < COPIES; ++j) {
            const int element = j * SIDE * SIDE + thread;
            const int a_y = element / TILE_K, a_x = element % TILE_K;
            const int b_y = element / TILE, b_x = element % TILE;
            const long long a_row = first_row + a_y, a_col = first + a_x;
            const long long b_row = first + b_y, b_col = first_col + b_x;
            tile_a[a_y][a_x] = a_row < m && a_col < end_k ? a[a_row * k + a_col] : T(0);
            tile_b[b_y][b_x] = b_row < end_k && b_col < n ? b[b_row * n + b_col] : T(0);
        }

        // The tiles were written by all threads: none may read them before the last has written.
        __syncthreads();

        // Compute. i ascends over the part of k; the compiler fuses product and sum (fma).
        for (int i = 0; i < TILE_K; ++i)
            for (int r = 0; r < EACH; ++r)
                for (int q = 0; q < EACH; ++q)
                    sum[r][q] += tile_a[threadIdx.y + r * SIDE][i] * tile_b[i][threadIdx.x + q * SIDE];

        // The tiles are read by all threads: none may overwrite them in its next round before the last has read.
        __syncthreads();
    }

    // Write: each part has an array of its own.
    for (int r = 0; r < EACH; ++r)
        for (int q = 0; q < EACH; ++q) {
            const long long row = first_row + threadIdx.y + r * SIDE, col = first_col + threadIdx.x + q * SIDE;
            if (row < m && col < n)
                sums[(part * m + row) * n + col] = sum[r][q];
        }
}
