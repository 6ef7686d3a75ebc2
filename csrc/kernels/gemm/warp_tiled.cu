// gemm / warp_tiled
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     All ideas of the ladder at once, so that of the instructions of the main loop nine in ten are fma.
//          - A thread makes 8 x 16 elements (float64: 8 x 8), a warp 64 x 64, a block 128 x 256 (float64: two halves
//            of it, one after the other). The larger the tile of a thread, the fewer reads for a product.
//          - All reads of shared memory take 16 bytes. A lane's elements are groups of V, a warp's breadth apart, and
//            neighbours among the lanes read one group in common: so one pass through the banks serves 16 lanes.
//          - tile_a is stored transposed, by cp.async of single elements: its columns lie side by side for those
//            reads. V more elements a row keep these copies, eight rows by four columns, from meeting in a bank there.
//          - The operands of the next fma step are read while this one computes (part_a, part_b), and those of the
//            next tiles travel meanwhile (STAGES).
//          - Rows and columns past the edges of c need no zeros: a copy of the last row or column serves, for what it
//            makes is not written. Only k must end exactly: the first step takes the odd ones, zeros before them.
//          - Blocks go through c in bands of GROUP tiles, so that those that run together share rows and columns.
// Differs  from gemm/async: in all of these.
// Claims   shared.load.conflicts = 0
//          shared.store.instructions = 0
//          global.store.sectors_per_request = 16     m a multiple of 128; n a multiple of 256
// Length   more than an exhibit has: it chases the last percent.
// Source   V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear algebra", 2008, for large register tiles;
//          the rest is measured on an H200

extern "C" __global__ void __launch_bounds__(256, 1)
gemm_warp_tiled(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
                long long n)
{
    constexpr int THREADS = 256, TILE_M = 128, TILE_COLS = 256, TILE_K = 8, STAGES = sizeof(T) == 4 ? 3 : 2, GROUP = 8;
    constexpr int WARPS_M = 2, LANES_M = 8;
    constexpr int WARPS_N = THREADS / 32 / WARPS_M, LANES_N = 32 / LANES_M;
    constexpr int V = 16 / sizeof(T);                                     // elements of a 16-byte access
    constexpr int PASSES = sizeof(T) / 4, TILE_N = TILE_COLS / PASSES;    // columns of the block, and of one pass
    constexpr int STEP_M = LANES_M * V, STEP_N = LANES_N * V;             // between the groups of a thread
    constexpr int GROUPS_M = TILE_M / (WARPS_M * STEP_M), GROUPS_N = TILE_N / (WARPS_N * STEP_N);
    constexpr int ROW_A = TILE_M + V;
    struct alignas(16) Vector {
        T at[V];
    };
    __shared__ alignas(16) T tile_a[STAGES][TILE_K][ROW_A];
    __shared__ alignas(16) T tile_b[STAGES][TILE_K][TILE_N];

    // Who am I: the block's tile of c, in order down the columns of a band of GROUP tiles.
    const long long tiles_m = (m + TILE_M - 1) / TILE_M;
    const long long order = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const long long band = order / (GROUP * (long long)gridDim.x) * GROUP;
    const long long in_band = order % (GROUP * (long long)gridDim.x);
    const long long band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
    if (band_tiles <= 0 || in_band >= band_tiles * gridDim.x)
        return;
    const long long first_row = (band + in_band % band_tiles) * TILE_M;
    const long long block_col = in_band / band_tiles * TILE_COLS;

    // And the thread's groups in it. Lanes 0 and 1 share rows, 0 and 2 share columns.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int my_row = warp / WARPS_N * (TILE_M / WARPS_M) + lane / 2 % LANES_M * V;
    const int my_col = warp % WARPS_N * (TILE_N / WARPS_N) + (lane % 2 + lane / (2 * LANES_M) * 2) * V;

    // What do I stage: A_COPIES elements of a column of tile_a, B_COPIES elements or vectors of a column of tile_b:
    // vectors where rows of b start at multiples of 16 bytes.
    constexpr int A_STEP = THREADS / TILE_K, A_COPIES = TILE_M / A_STEP;
    constexpr int B_STEP = THREADS / (TILE_N / V), B_COPIES = TILE_K / B_STEP;
    constexpr int B_STEP_ONE = THREADS / TILE_N, B_COPIES_ONE = TILE_K / B_STEP_ONE;
    const bool whole = n % V == 0;
    const int a_x = threadIdx.x % TILE_K, a_y = threadIdx.x / TILE_K;
    const int b_x = whole ? threadIdx.x % (TILE_N / V) * V : threadIdx.x % TILE_N;
    const int b_y = whole ? threadIdx.x / (TILE_N / V) : threadIdx.x / TILE_N;
    const unsigned to_a = (unsigned)__cvta_generic_to_shared(&tile_a[0][a_x][a_y]);
    const unsigned to_b = (unsigned)__cvta_generic_to_shared(&tile_b[0][b_y][b_x]);

    // Steps over k. The first has TILE_K - missing of its own, and `missing` zeros before them.
    const long long steps = (k + TILE_K - 1) / TILE_K;
    const unsigned missing = (unsigned)(steps * TILE_K - k);

#pragma unroll 1
    for (int pass = 0; pass < PASSES && block_col + pass * TILE_N < n; ++pass) {
        // Read from here, clamped to the last row or column.
        const long long first_col = block_col + pass * TILE_N, b_col = first_col + b_x;
        // (The empty assembler keeps the compiler from working out addresses of all passes here, or those of c below,
        // ahead of time, where they cost registers.)
        const T *from_a[A_COPIES];
        long long a_row = first_row + a_y;
        asm volatile("" : "+l"(a_row));
        for (int j = 0; j < A_COPIES; ++j) {
            const long long row = a_row + j * A_STEP;
            from_a[j] = a + (row < m ? row : m - 1) * k + a_x - missing;
        }
        const T *from_b = b + (b_y - (long long)missing) * n + (b_col < n ? b_col : n - (whole ? V : 1));

        // Read and stage one step; the rows of both tiles before the first `zeros` are zeros.
        const auto stage = [&](int slot, unsigned zeros) {
            const unsigned slot_a = to_a + slot * (unsigned)sizeof(tile_a[0]);
            const unsigned slot_b = to_b + slot * (unsigned)sizeof(tile_b[0]);
            for (int j = 0; j < A_COPIES; ++j) {
                asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                             "r"(slot_a + j * A_STEP * (unsigned)sizeof(T)), "l"(from_a[j]), "n"(sizeof(T)),
                             "r"((unsigned)a_x < zeros ? 0 : (int)sizeof(T)) : "memory");
                from_a[j] += TILE_K;
            }
            if (whole)
                for (int j = 0; j < B_COPIES; ++j)
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::
                                 "r"(slot_b + j * B_STEP * (unsigned)sizeof(tile_b[0][0])),
                                 "l"(from_b + (long long)j * B_STEP * n),
                                 "r"((unsigned)(b_y + j * B_STEP) < zeros ? 0 : 16) : "memory");
            else
                for (int j = 0; j < B_COPIES_ONE; ++j)
                    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                                 "r"(slot_b + j * B_STEP_ONE * (unsigned)sizeof(tile_b[0][0])),
                                 "l"(from_b + (long long)j * B_STEP_ONE * n), "n"(sizeof(T)),
                                 "r"((unsigned)(b_y + j * B_STEP_ONE) < zeros ? 0 : (int)sizeof(T)) : "memory");
            from_b += TILE_K * n;
        };
        const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
        const auto wait = [] { asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory"); };

        // Read the operands of one fma step into registers.
        Vector part_a[2][GROUPS_M], part_b[2][GROUPS_N];
        const auto fetch = [&](int half, int slot, int i) {
            for (int g = 0; g < GROUPS_M; ++g)
                part_a[half][g] = *(const Vector *)&tile_a[slot][i][my_row + g * STEP_M];
            for (int g = 0; g < GROUPS_N; ++g)
                part_b[half][g] = *(const Vector *)&tile_b[slot][i][my_col + g * STEP_N];
        };

        // The first steps. One group each, so that counting groups counts steps; some may be empty.
        for (int step = 0; step < STAGES - 1; ++step) {
            if (step < steps)
                stage(step, step == 0 ? missing : 0);
            commit();
        }
        wait();

        // The first tiles were copied by all threads: none may read them before the last has waited for its part.
        __syncthreads();
        if (steps > 0)
            fetch(0, 0, 0);

        T sum[GROUPS_M * V][GROUPS_N * V] = {};
        int slot = 0, free_slot = STAGES - 1;
#pragma unroll 1
        for (long long step = 0; step < steps; ++step) {
            if (step + STAGES - 1 < steps)
                stage(free_slot, 0);
            commit();
            free_slot = slot;
#pragma unroll
            for (int i = 0; i < TILE_K; ++i) {
                if (i < TILE_K - 1) {
                    fetch((i + 1) % 2, slot, i + 1);
                } else {
                    slot = slot + 1 == STAGES ? 0 : slot + 1;
                    wait();

                    // The next tiles were copied by all threads: none may read them before the last has waited for its
                    // part. And these were read by all: none may overwrite them before the last has its last operands.
                    __syncthreads();
                    if (step + 1 < steps)
                        fetch(0, slot, 0);
                }

                // Compute. i ascends over all of k; the compiler fuses product and sum (fma).
                for (int r = 0; r < GROUPS_M * V; ++r)
                    for (int q = 0; q < GROUPS_N * V; ++q)
                        sum[r][q] += part_a[i % 2][r / V].at[r % V] * part_b[i % 2][q / V].at[q % V];
            }
        }

        // Write.
        long long c_row = first_row + my_row;
        asm volatile("" : "+l"(c_row));
        for (int r = 0; r < GROUPS_M * V; ++r) {
            const long long row = c_row + r / V * STEP_M + r % V;
            for (int g = 0; g < GROUPS_N; ++g) {
                const long long col = first_col + my_col + g * STEP_N;
                Vector out;
                for (int e = 0; e < V; ++e)
                    out.at[e] = sum[r][g * V + e];
                if (whole && row < m && col < n)
                    *(Vector *)&c[row * n + col] = out;
                for (int e = 0; e < V && !whole; ++e)
                    if (row < m && col + e < n)
                        c[row * n + col + e] = out.at[e];
            }
        }
    }
}
