// gemm / stream_k
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     One tile more than the multiprocessors have room for costs a whole round of blocks, in which nearly all of
//          them wait. gemm/split_k cuts each tile into equal parts, which need not fill the rounds either. So here all
//          steps of all tiles stand in one line, tile after tile, and each block takes the same number of them
//          (part_steps): it goes from tile to tile, and may begin and end inside one.
//          The block that begins a tile writes its sum to c. A block that goes on with a tile writes what it has to an
//          array of its own, and a second launch (add) adds these to c, in the order of the blocks. So the result is
//          the same at each run. There is one such array a block, however long k is.
// Differs  from gemm/split_k: where a block's steps begin and end, so one block may make parts of several tiles.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 4       float32; m, n multiples of 128; k a multiple of 8
//          global.load.sectors_per_request = 8       float64; m, n multiples of 128; k a multiple of 8
// Source   M. Osama, D. Merrill, C. Cecka, M. Garland and J. D. Owens, "Stream-K: work-centric parallel decomposition
//          for dense matrix-matrix multiplication on the GPU", PPoPP 2023

// Adds to a tile what the blocks have that go on with it: a thread makes one element, and blockIdx.x is the tile.
extern "C" __global__ void __launch_bounds__(256)
gemm_stream_k_add(const T *sums, T *c, long long m, long long n, long long tile_steps, long long part_steps)
{
    constexpr int TILE = 128;
    const long long tiles_n = (n + TILE - 1) / TILE, first_step = blockIdx.x * tile_steps;
    const int element = blockIdx.y * 256 + threadIdx.y * 16 + threadIdx.x;
    const long long row = blockIdx.x / tiles_n * TILE + element / TILE;
    const long long col = blockIdx.x % tiles_n * TILE + element % TILE;
    const long long next = first_step / part_steps + 1, end = (first_step + tile_steps - 1) / part_steps + 1;
    if (row >= m || col >= n || next == end)
        return;
    T sum = c[row * n + col];
    for (long long block = next; block < end; ++block)
        sum += sums[block * TILE * TILE + element];
    c[row * n + col] = sum;
}

extern "C" __global__ void __launch_bounds__(256, sizeof(T) == 4 ? 2 : 1)
gemm_stream_k(const T *a, const T *b, T *c, T *sums, long long m, long long k, long long n, long long steps,
              long long tile_steps, long long part_steps)
{
    constexpr int TILE = 128, TILE_K = 8, SIDE = 16, EACH = TILE / SIDE, COPIES = TILE * TILE_K / (SIDE * SIDE);
    __shared__ T tile_a[TILE][TILE_K];
    __shared__ T tile_b[TILE_K][TILE];

    // Who am I: some of the steps of all tiles, and EACH x EACH elements of each tile, SIDE apart.
    const long long tiles_n = (n + TILE - 1) / TILE;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    long long step = blockIdx.x * part_steps;
    const long long end_step = step + part_steps < steps ? step + part_steps : steps;
    while (step < end_step) {
        const long long tile = step / tile_steps, begin = tile * tile_steps;
        const long long end = begin + tile_steps < end_step ? begin + tile_steps : end_step;
        const long long first_row = tile / tiles_n * TILE, first_col = tile % tiles_n * TILE;
        const long long end_k = (end - begin) * TILE_K;
        const bool begins = step == begin;

        T sum[EACH][EACH] = {};
        for (long long first = (step - begin) * TILE_K; first < end_k; first += TILE_K) {
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

            // Compute. i ascends over the steps of the tile; the compiler fuses product and sum (fma).
            for (int i = 0; i < TILE_K; ++i)
                for (int r = 0; r < EACH; ++r)
                    for (int q = 0; q < EACH; ++q)
                        sum[r][q] += tile_a[threadIdx.y + r * SIDE][i] * tile_b[i][threadIdx.x + q * SIDE];

            // The tiles are read by all threads: none may overwrite them in its next round before the last has read.
            __syncthreads();
        }

        // Write: to c from the block that begins the tile, else to the block's own array.
        for (int r = 0; r < EACH; ++r)
            for (int q = 0; q < EACH; ++q) {
                const int y = threadIdx.y + r * SIDE, x = threadIdx.x + q * SIDE;
                if (!begins)
                    sums[(blockIdx.x * (long long)TILE + y) * TILE + x] = sum[r][q];
                else if (first_row + y < m && first_col + x < n)
                    c[(first_row + y) * n + first_col + x] = sum[r][q];
            }
        step = end;
    }
}
