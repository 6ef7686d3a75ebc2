// gemm / lean
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major, or any
//          arrays of these shapes: their strides are parameters.
// Idea     Where k or c is small, what stands beside the multiply-adds takes as long as they do: to find addresses, to
//          look for edges, to wait for the first operands. So here is the loop of gemm/fma with less around it.
//          - A thread finds once which rows of a and which columns of b it copies, and only moves pointers on. Behind
//            the last row it copies the last one again, and so with columns: what that gives is not written. A step
//            looks only where k ends.
//          - How the operands lie is part of the tile, so that no step asks: rows that lie along memory (ALONG), and
//            rows of b of which V elements are copied at once. a goes element by element, to rows along memory.
//          - Several steps are on their way before the first is multiplied. The copies of the next one stand between
//            the multiply-adds, a few for each k: in one piece they would hold up the reads of shared memory behind
//            them. Those are one k ahead.
//          - Where c has a few rows, b is read once, by warps that take every so many k, and a lies staged as a whole
//            (gemm_lean_rows).
//          - A lane makes groups of four neighbours of c, which are written as they are where rows of c are aligned.
//            Others pass through shared memory, from where a warp writes whole rows.
//          - Where there are few tiles, k is cut into parts. The block that draws the last ticket of a tile adds the
//            sums of all parts, always in their order, each thread those of its own elements; and leaves tickets and
//            sums 0, as the next call wants them.
//          - One launch makes a stack of products, as many tiles more. The next launch may begin at once: each finds
//            its addresses first, and then waits for those before it.
// Differs  from gemm/fma: addresses are found once, no step looks at how the operands lie, copies stand between the
//          multiply-adds, and no slices of k.
// Claims   shared.load.conflicts = 0
// Length   more than an exhibit has: it is the fast one for many products, and has tiles of several shapes.
// Source   as gemm/warp_tiled; measured on an H200

extern __shared__ float4 gemm_lean_staged[];

// What a launch works on: a stack of products; c is (m, n) for each.
struct gemm_lean_call {
    const float *a, *b;
    float *c, *sums;
    unsigned *tickets;
    long long m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack;
};

// Whether this block is the last of a tile's parts that has put its sums: then it sees those of all.
static __device__ __forceinline__ bool gemm_lean_is_last(const gemm_lean_call &g, long long tile)
{
    __shared__ bool is_last;

    // Whoever sees the block's ticket sees its sums.
    __threadfence();

    // All threads' sums are in memory before the ticket is drawn.
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicInc(g.tickets + tile, unsigned(g.parts) - 1) == unsigned(g.parts) - 1; // and makes it 0

    // All threads must know whether it is the last one.
    __syncthreads();
    if (is_last)
        __threadfence();
    return is_last;
}

// A warp's lanes stand in rows of LANES_N, each makes TM x TN elements; WARPS_M x WARPS_N warps make a tile. BESIDE
// threads copy neighbouring k of a row of a.
template <int TM, int TN, int LANES_N, int WARPS_M, int WARPS_N, int DEPTH, int STAGES, int BESIDE, int V, bool ALONG>
struct gemm_lean_tile {
    static constexpr int LANES_M = 32 / LANES_N, BM = LANES_M * TM * WARPS_M, BN = LANES_N * TN * WARPS_N;
    static constexpr int WARPS = WARPS_M * WARPS_N, THREADS = 32 * WARPS;

    // Rows of the staged operands are longer by 16 bytes: neighbouring k then lie in different banks.
    static constexpr int PITCH_A = BM + 4, PITCH_B = BN + 4, WORDS_A = DEPTH * PITCH_A;
    static constexpr int WORDS = WORDS_A + DEPTH * PITCH_B;

    // A thread copies ROWS rows of a, TIMES k of each; of b, ACROSS threads copy neighbouring columns of a row.
    static constexpr int DOWN = THREADS / BESIDE, ROWS = BM / DOWN, TIMES = DEPTH / BESIDE;
    static constexpr int ACROSS = THREADS % (BN / V) == 0 ? BN / V : 32, COLS = BN / V / ACROSS;
    static constexpr int DOWN_B = THREADS / ACROSS, COPIES = ROWS * TIMES + COLS * DEPTH / DOWN_B;
    static_assert(BM % DOWN == 0 && DEPTH % BESIDE == 0 && COLS * ACROSS * V == BN && DEPTH % DOWN_B == 0);

    // Of 16 neighbouring k the last 8 lie in pairs of rows that are exchanged: 8 rows of banks have room for no more.
    static constexpr int TURNED = BESIDE == 16 ? 2 : 0;
    static_assert(DEPTH % 2 == 0 && (BESIDE == 8 || (BESIDE == 16 && DOWN % 4 == 0)));

    // What a block makes: a tile of a product, whose first element is c[0], and a part of k.
    struct place {
        int rows, cols, depth;
        float *c;
    };

    // Tiles go down the columns of a band of GROUP tiles. Moves the operands on to what the block needs of them.
    static __device__ __forceinline__ place find_place(gemm_lean_call &g, long long item)
    {
        constexpr unsigned GROUP = BM < 512 ? 512 / BM : 1;
        const unsigned tiles_m = unsigned((g.m + BM - 1) / BM), tiles_n = unsigned((g.n + BN - 1) / BN);
        const unsigned part = g.parts > 1 ? blockIdx.x / (tiles_m * tiles_n) : 0;
        const unsigned order = blockIdx.x - part * tiles_m * tiles_n;
        const unsigned band = tiles_m > GROUP ? order / (GROUP * tiles_n) * GROUP : 0;
        const unsigned band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
        const unsigned in_band = order - band * tiles_n, across = in_band / band_tiles;
        const long long row = (long long)(band + in_band - across * band_tiles) * BM, col = (long long)across * BN;
        const long long first = part * g.part_k, left = g.k - first;
        g.a += item * g.a_stack + row * g.a_row + first * g.a_col;
        g.b += item * g.b_stack + first * g.b_row + col * g.b_col;
        return {g.m - row < BM ? int(g.m - row) : BM, g.n - col < BN ? int(g.n - col) : BN,
                int(left < g.part_k ? left : g.part_k), g.c + (item * g.m + row) * g.n + col};
    }

    // Copies COUNT elements, or sets them 0 where they lie behind the last k. Four are set by a store: a copy of no
    // bytes would write zeros too, but reads, and where all blocks read one address behind b they wait for each other.
    template <int COUNT>
    static __device__ __forceinline__ void copy(bool is_wanted, unsigned to, const float *from, bool is_there)
    {
        if constexpr (COUNT == 4)
            asm volatile("{\n\t.reg .pred copies, clears;\n\t"
                         "setp.ne.s32 copies, %2, 0;\n\tsetp.ne.s32 clears, %3, 0;\n\t"
                         "@copies cp.async.cg.shared.global [%0], [%1], 16;\n\t"
                         "@clears st.shared.v4.f32 [%0], {%4, %4, %4, %4};\n\t}" ::"r"(to),
                         "l"(from), "r"(int(is_wanted && is_there)), "r"(int(is_wanted && !is_there)), "f"(0.0f)
                         : "memory");
        else
            asm volatile("{\n\t.reg .pred copies;\n\tsetp.ne.s32 copies, %3, 0;\n\t"
                         "@copies cp.async.ca.shared.global [%0], [%1], 4, %2;\n\t}" ::"r"(to),
                         "l"(from), "r"(is_there ? 4 : 0), "r"(int(is_wanted))
                         : "memory");
    }

    // Of the lane's rows and columns the ones with index r and j, from its first.
    static __device__ __forceinline__ constexpr int find_row(int r)
    {
        return r / 4 * (4 * LANES_M) + r % 4;
    }
    static __device__ __forceinline__ constexpr int find_col(int j)
    {
        return j / 4 * (4 * LANES_N) + j % 4;
    }

    // Four of a lane's numbers.
    static __device__ __forceinline__ float4 &four(float *numbers, int index)
    {
        return *reinterpret_cast<float4 *>(numbers + index * 4);
    }

    // Reads what a lane needs of a staged k, from its first row and column. Rows come as they lie: see find_x.
    static __device__ __forceinline__ void read(float (&x)[TM], float (&y)[TN], const float *staged, int k, int my_row,
                                                int my_col)
    {
        const float *const a = staged + k * PITCH_A + my_row, *const b = staged + WORDS_A + k * PITCH_B + my_col;
#pragma unroll
        for (int r = 0; r < TM; r += 4)
            four(x, r / 4) = *reinterpret_cast<const float4 *>(a + find_row(r));
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            four(y, j / 4) = *reinterpret_cast<const float4 *>(b + find_col(j));
    }

    // Where x has a row's number.
    static __device__ __forceinline__ constexpr int find_x(int r, int k)
    {
        return k / 8 % 2 * TURNED ^ r;
    }

    // Where k has parts: puts the sums where the last block of the tile adds all of them. Returns whether this one is
    // it; its sums are then those of all parts.
    static __device__ __forceinline__ bool add_parts(const gemm_lean_call &g, long long item, float *sum)
    {
        constexpr int EACH = TM * TN / 4;
        const unsigned tiles = gridDim.x / unsigned(g.parts), parts = unsigned(g.parts);
        const long long tile = item * tiles + blockIdx.x % tiles;
        float4 *const sums = reinterpret_cast<float4 *>(g.sums) + tile * parts * (BM * BN / 4) + threadIdx.x;
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            sums[(blockIdx.x / tiles * EACH + e) * THREADS] = four(sum, e);
        if (!gemm_lean_is_last(g, tile))
            return false;
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            four(sum, e) = float4{};
#pragma unroll 2
        for (unsigned part = 0; part < parts; ++part)
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                const float4 x = __ldcg(sums + (part * EACH + e) * THREADS), y = four(sum, e);
                four(sum, e) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
            }
#pragma unroll 2
        for (unsigned part = 0; part < parts; ++part)
#pragma unroll
            for (int e = 0; e < EACH; ++e)
                sums[(part * EACH + e) * THREADS] = float4{};
        return true;
    }

    // Writes the tile.
    static __device__ __forceinline__ void write(const place &at, long long n, int my_row, int my_col, float *sum)
    {
        const auto row_of = [&](int e) { return my_row + find_row(e * 4 / TN); };
        const auto col_of = [&](int e) { return my_col + find_col(e * 4 % TN); };
        const bool is_aligned = n % 4 == 0 && (size_t)at.c % 16 == 0;
        if (V == 4 || is_aligned) {
#pragma unroll
            for (int e = 0; e < TM * TN / 4; ++e) {
                float *const to = at.c + row_of(e) * n + col_of(e);
                if (row_of(e) < at.rows && col_of(e) < at.cols && is_aligned)
                    *reinterpret_cast<float4 *>(to) = four(sum, e);
                else if (row_of(e) < at.rows && col_of(e) < at.cols)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        to[i] = sum[e * 4 + i];
            }
            return;
        }

        // What is staged was read by all before they met at the end of the last step: the sums may take its place.
        float *const sums = reinterpret_cast<float *>(gemm_lean_staged);
#pragma unroll
        for (int e = 0; e < TM * TN / 4; ++e)
            *reinterpret_cast<float4 *>(sums + row_of(e) * PITCH_B + col_of(e)) = four(sum, e);

        // All sums must be there before any is read.
        __syncthreads();
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const float *from = sums + warp * PITCH_B + lane;
        float *to = at.c + warp * n + lane;
#pragma unroll 8
        for (int row = warp; row < at.rows; row += WARPS) {
#pragma unroll
            for (int j = 0; j < BN; j += 32)
                if (lane + j < at.cols)
                    to[j] = from[j];
            from += WARPS * PITCH_B;
            to += WARPS * n;
        }
    }

    static __device__ __forceinline__ void make(const gemm_lean_call &g, const place &at, long long item)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

        // Lanes 0 and 1 share rows, and 0 and 2 share columns: one pass through the banks then serves 16 lanes.
        constexpr int PAIRS = LANES_N / 2;
        const int my_row = warp % WARPS_M * (LANES_M * TM) + (lane / 4 / PAIRS * 2 + lane / 2 % 2) * 4;
        const int my_col = warp / WARPS_M * (LANES_N * TN) + (lane / 4 % PAIRS * 2 + lane % 2) * 4;

        // What the thread copies, and where to.
        const long long next_a = ALONG ? 1 : g.a_col, next_b = ALONG ? 1 : g.b_col, down_b = DOWN_B * g.b_row;
        const int first_a = threadIdx.x % BESIDE, row = threadIdx.x / BESIDE;
        const int first_b = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * V;
        const float *from_a[ROWS], *from_b[COLS];
#pragma unroll
        for (int j = 0; j < ROWS; ++j)
            from_a[j] = g.a + (row + j * DOWN < at.rows ? row + j * DOWN : at.rows - 1) * g.a_row + first_a * next_a;
#pragma unroll
        for (int j = 0; j < COLS; ++j) {
            const int x = col + j * ACROSS * V;
            from_b[j] = g.b + first_b * g.b_row + (x < at.cols ? x : at.cols - V) * next_b;
        }
        const unsigned to = (unsigned)__cvta_generic_to_shared(gemm_lean_staged);
        const unsigned to_a = to + (first_a * PITCH_A + (first_a / 8 * TURNED ^ row)) * 4;
        const unsigned to_b = to + (WORDS_A + first_b * PITCH_B + col) * 4;

        // A copy of a step: of a row of a after the other all k, then of a row of b after the other all columns.
        const auto stage = [&](int index, bool is_wanted, int slot, int depth) {
            const int j = index / TIMES, i = index % TIMES * BESIDE;
            const int b = index - ROWS * TIMES, down = b / COLS * DOWN_B;
            if (b < 0) {
                copy<1>(is_wanted, to_a + (slot * WORDS + i * PITCH_A + j * DOWN) * 4, from_a[j] + i * next_a,
                        first_a + i < depth);
                if (i + BESIDE == DEPTH)
                    from_a[j] += DEPTH * next_a;
            } else {
                copy<V>(is_wanted, to_b + (slot * WORDS + down * PITCH_B + b % COLS * ACROSS * V) * 4, from_b[b % COLS],
                        first_b + down < depth);
                from_b[b % COLS] += down_b;
            }
        };

        // The launches before have ended, whose results may be the operands, and who read what is written here.
        cudaGridDependencySynchronize();
        const int steps = (at.depth + DEPTH - 1) / DEPTH;
#pragma unroll 1
        for (int step = 0; step < STAGES - 1; ++step) {
#pragma unroll
            for (int index = 0; index < COPIES; ++index)
                stage(index, step < steps, step, at.depth - step * DEPTH);
            asm volatile("cp.async.commit_group;" ::: "memory"); // a group each; behind the last step they are empty
        }
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

        // The first step was copied by all threads: none may read it before the last has waited for its part.
        __syncthreads();
        float sum[TM * TN] = {}, x[2][TM], y[2][TN];
        const float *const staged = reinterpret_cast<const float *>(gemm_lean_staged);
        int slot = 0, free_slot = STAGES - 1;
        read(x[0], y[0], staged, 0, my_row, my_col);
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            const int next = step + STAGES - 1, next_slot = slot + 1 == STAGES ? 0 : slot + 1;
#pragma unroll
            for (int k = 0; k < DEPTH; ++k) {
                if (k + 1 == DEPTH) {
                    asm volatile("cp.async.commit_group;" ::: "memory");
                    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

                    // The next step was copied by all threads: none may read it before the last has waited for its
                    // part. And all have read this one: none may overwrite it before.
                    __syncthreads();
                }
                if (k + 1 < DEPTH)
                    read(x[(k + 1) % 2], y[(k + 1) % 2], staged + slot * WORDS, k + 1, my_row, my_col);
                else if (step + 1 < steps)
                    read(x[0], y[0], staged + next_slot * WORDS, 0, my_row, my_col);
#pragma unroll
                for (int index = 0; index < COPIES; ++index)
                    if (index * (DEPTH - 1) / COPIES == k)
                        stage(index, next < steps, free_slot, at.depth - next * DEPTH);
#pragma unroll
                for (int e = 0; e < TM * TN; ++e)
                    sum[e] += x[k % 2][find_x(e / TN, k)] * y[k % 2][e % TN];
            }
            free_slot = slot;
            slot = next_slot;
        }
        if (g.parts > 1 && !add_parts(g, item, sum))
            return;
        write(at, g.n, my_row, my_col, sum);
    }

    static __device__ __forceinline__ void run(gemm_lean_call g)
    {
        cudaTriggerProgrammaticLaunchCompletion(); // the next launch may come: it waits for this one
        const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
        if (item >= g.stack)
            return;
        const place at = find_place(g, item);
        make(g, at, item);
    }
};

// Few rows of a: a lane has COLS columns of each, 32 apart, and a block's warps take every WARPS-th k, READS of them
// at a time. A block has all its k of a in shared memory.
template <int ROWS, int COLS, int WARPS, int READS> struct gemm_lean_rows {
    static constexpr int BN = 32 * COLS, THREADS = 32 * WARPS, WORDS = ROWS * BN;

    // Reads what a warp takes next: zeros behind the last k.
    static __device__ __forceinline__ void read(float (&next)[READS][COLS], const float *from, long long step,
                                                const int (&col)[COLS], int left)
    {
#pragma unroll
        for (int u = 0; u < READS; ++u)
#pragma unroll
            for (int j = 0; j < COLS; ++j)
                next[u][j] = u * WARPS < left ? __ldg(from + u * WARPS * step + col[j]) : 0.0f;
    }

    // The sum of all warps of an element, and that of all parts of k.
    static __device__ __forceinline__ float add_warps(const float *sums, int element)
    {
        float sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS; ++w)
            sum += sums[w * WORDS + element];
        return sum;
    }
    static __device__ __forceinline__ float add_parts(float *sums, int parts)
    {
        float sum = 0;
#pragma unroll 8
        for (int part = 0; part < parts; ++part)
            sum += __ldcg(sums + part * WORDS);
#pragma unroll 8
        for (int part = 0; part < parts; ++part)
            sums[part * WORDS] = 0;
        return sum;
    }

    static __device__ __forceinline__ void run(gemm_lean_call g)
    {
        cudaTriggerProgrammaticLaunchCompletion(); // the next launch may come: it waits for this one
        const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
        if (item >= g.stack)
            return;
        const unsigned tiles_n = unsigned((g.n + BN - 1) / BN), tiles = unsigned((g.m + ROWS - 1) / ROWS) * tiles_n;
        const unsigned tile = blockIdx.x % tiles, part = blockIdx.x / tiles;
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const long long row = (long long)(tile / tiles_n) * ROWS, column = (long long)(tile % tiles_n) * BN;
        const long long first = part * g.part_k, rest = g.k - first;
        const int depth = int(rest < g.part_k ? rest : g.part_k);
        const int rows = g.m - row < ROWS ? int(g.m - row) : ROWS, cols = g.n - column < BN ? int(g.n - column) : BN;
        const float *const a = g.a + item * g.a_stack + row * g.a_row + first;
        const float *b = g.b + item * g.b_stack + (first + warp) * g.b_row + column;
        float *const staged = reinterpret_cast<float *>(gemm_lean_staged);
        int col[COLS];
#pragma unroll
        for (int j = 0; j < COLS; ++j)
            col[j] = lane + 32 * j < cols ? lane + 32 * j : cols - 1;

        // The launches before have ended, whose results may be the operands, and who read what is written here.
        cudaGridDependencySynchronize();

        // b is on its way while a is staged.
        float next[READS][COLS], sum[ROWS][COLS] = {};
        read(next, b, g.b_row, col, depth - warp);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            for (int i = threadIdx.x; i < depth; i += THREADS)
                staged[i * ROWS + r] = r < rows ? a[r * g.a_row + i] : 0.0f;

        // All of a must be there before any is read.
        __syncthreads();
#pragma unroll 1
        for (int i = warp; i < depth; i += WARPS * READS) {
            float now[READS][COLS];
#pragma unroll
            for (int e = 0; e < READS * COLS; ++e)
                now[e / COLS][e % COLS] = next[e / COLS][e % COLS];
            b += WARPS * READS * g.b_row;
            read(next, b, g.b_row, col, depth - i - WARPS * READS);
#pragma unroll
            for (int u = 0; u < READS; ++u) {
                const float *const x = staged + (i + u * WARPS < depth ? i + u * WARPS : 0) * ROWS;
#pragma unroll
                for (int e = 0; e < ROWS * COLS; ++e)
                    sum[e / COLS][e % COLS] += x[e / COLS] * now[u][e % COLS];
            }
        }

        // All have read a: its place is that of the sums.
        __syncthreads();
#pragma unroll
        for (int e = 0; e < ROWS * COLS; ++e)
            staged[warp * WORDS + e / COLS * BN + e % COLS * 32 + lane] = sum[e / COLS][e % COLS];

        // All sums must be there before any is read.
        __syncthreads();
        float *const to = g.c + (item * g.m + row) * g.n + column;
        const auto write = [&](int e, float x) {
            if (e / BN < rows && e % BN < cols)
                to[e / BN * g.n + e % BN] = x;
        };
        if (g.parts == 1) {
            for (int e = threadIdx.x; e < WORDS; e += THREADS)
                write(e, add_warps(staged, e));
            return;
        }
        float *const sums = g.sums + (item * tiles + tile) * g.parts * WORDS;
        for (int e = threadIdx.x; e < WORDS; e += THREADS)
            sums[part * WORDS + e] = add_warps(staged, e);
        if (gemm_lean_is_last(g, item * tiles + tile))
            for (int e = threadIdx.x; e < WORDS; e += THREADS)
                write(e, add_parts(sums + e, int(g.parts)));
    }
};

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_lean_tall(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                   long long a_stack, long long b_stack)
{
    gemm_lean_tile<8, 4, 8, 4, 1, 16, 3, 16, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_lean_upright(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                      long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                      unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                      long long a_stack, long long b_stack)
{
    gemm_lean_tile<8, 4, 8, 4, 1, 8, 5, 8, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_lean_broad(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                    long long a_stack, long long b_stack)
{
    gemm_lean_tile<12, 4, 8, 2, 2, 8, 5, 8, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_lean_square(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                     long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                     unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                     long long a_stack, long long b_stack)
{
    gemm_lean_tile<8, 4, 8, 2, 2, 16, 3, 8, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(64, 8)
    gemm_lean_odd(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                  long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                  unsigned *tickets, float *sums, long long part_k, long long parts, long long stack, long long a_stack,
                  long long b_stack)
{
    gemm_lean_tile<4, 8, 8, 2, 1, 8, 5, 8, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_lean_wide(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                   long long a_stack, long long b_stack)
{
    gemm_lean_tile<8, 4, 8, 2, 2, 16, 3, 16, 4, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_lean_panel(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                    long long a_stack, long long b_stack)
{
    gemm_lean_tile<4, 8, 8, 2, 2, 16, 3, 16, 4, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_lean_rows2(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                    long long a_stack, long long b_stack)
{
    gemm_lean_rows<2, 2, 8, 4>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_lean_rows4(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                    long long a_stack, long long b_stack)
{
    gemm_lean_rows<4, 1, 8, 4>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_lean_rows8_wide(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                         long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                         unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                         long long a_stack, long long b_stack)
{
    gemm_lean_rows<8, 2, 8, 4>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(64, 10)
    gemm_lean(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m, long long k,
              long long n, long long a_row, long long a_col, long long b_row, long long b_col, unsigned *tickets,
              float *sums, long long part_k, long long parts, long long stack, long long a_stack, long long b_stack)
{
    gemm_lean_tile<4, 4, 8, 2, 1, 16, 3, 8, 1, false>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}
