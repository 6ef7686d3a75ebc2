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
//          - Several steps are on their way before the first is multiplied: a short k as a whole.
//          - Where c has a few rows, b is read once, by warps that take every so many k, and a lies staged as a whole
//            (gemm_lean_rows).
//          - In tiles for a short k (APART) the lanes of a row of c make neighbours of it, so that it is written in
//            whole lines, whatever its length. In the others a lane reads four neighbours of b at once, and rows of c
//            that are not aligned pass through shared memory.
//          - Where there are few tiles, k is cut into parts. The block that draws the last ticket of a tile adds the
//            sums of all parts, always in their order, each thread those of its own elements; and leaves tickets and
//            sums 0, as the next call wants them.
//          - One launch makes a stack of products, as many tiles more.
// Differs  from gemm/fma: addresses are found once, no step looks at how the operands lie, and no slices of k.
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

// A warp's lanes stand in rows of LANES_N, each makes TM x TN elements; WARPS_M x WARPS_N warps make a tile.
template <int TM, int TN, int LANES_N, int WARPS_M, int WARPS_N, int DEPTH, int STAGES, bool APART, int V, bool ALONG>
struct gemm_lean_tile {
    static constexpr int LANES_M = 32 / LANES_N, BM = LANES_M * TM * WARPS_M, BN = LANES_N * TN * WARPS_N;
    static constexpr int THREADS = 32 * WARPS_M * WARPS_N;

    // Rows of the staged operands are longer by 16 bytes: neighbouring k then lie in different banks.
    static constexpr int PITCH_A = BM + 4, PITCH_B = BN + 4, WORDS_A = DEPTH * PITCH_A;
    static constexpr int WORDS = WORDS_A + DEPTH * PITCH_B;

    // Of a, EIGHT threads copy neighbouring k of a row; of b, ACROSS threads neighbouring columns.
    static constexpr int EIGHT = 8, DOWN = THREADS / EIGHT, ROWS = BM / DOWN;
    static constexpr int ACROSS = BN / V, DOWN_B = THREADS / ACROSS;
    static_assert(BM % DOWN == 0 && DEPTH % EIGHT == 0 && THREADS % ACROSS == 0 && DEPTH % DOWN_B == 0);

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
        const unsigned part = blockIdx.x / (tiles_m * tiles_n), order = blockIdx.x % (tiles_m * tiles_n);
        const unsigned band = order / (GROUP * tiles_n) * GROUP, in_band = order % (GROUP * tiles_n);
        const unsigned band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
        const long long row = (long long)(band + in_band % band_tiles) * BM;
        const long long col = (long long)(in_band / band_tiles) * BN, first = part * g.part_k, left = g.k - first;
        g.a += item * g.a_stack + row * g.a_row + first * g.a_col;
        g.b += item * g.b_stack + first * g.b_row + col * g.b_col;
        return {g.m - row < BM ? int(g.m - row) : BM, g.n - col < BN ? int(g.n - col) : BN,
                int(left < g.part_k ? left : g.part_k), g.c + (item * g.m + row) * g.n + col};
    }

    // Copies so many elements.
    template <int COUNT> static __device__ __forceinline__ void copy(unsigned to, const float *from, int bytes)
    {
        if constexpr (COUNT == 4)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
    }

    // Instead of a copy of no bytes, which would write zeros too, but reads: where all blocks read one address behind
    // b, they wait for each other.
    static __device__ __forceinline__ void set_zero(unsigned to)
    {
        asm volatile("st.shared.v4.f32 [%0], {%1, %1, %1, %1};" ::"r"(to), "f"(0.0f) : "memory");
    }

    // Of the lane's rows and columns the ones with index r and j, from its first.
    static __device__ __forceinline__ constexpr int find_row(int r)
    {
        return r / 4 * (4 * LANES_M) + r % 4;
    }
    static __device__ __forceinline__ constexpr int find_col(int j)
    {
        return APART ? j * LANES_N : j / 4 * (4 * LANES_N) + j % 4;
    }

    // Adds to the sums what a staged step makes.
    static __device__ __forceinline__ void multiply(float (&sum)[TM][TN], const float *a, const float *b)
    {
#pragma unroll
        for (int i = 0; i < DEPTH; ++i) {
            float4 x[TM / 4], y[TN / 4];
#pragma unroll
            for (int r = 0; r < TM; r += 4)
                x[r / 4] = *reinterpret_cast<const float4 *>(a + i * PITCH_A + find_row(r));
#pragma unroll
            for (int j = 0; j < TN; ++j)
                if (APART)
                    reinterpret_cast<float *>(y)[j] = b[i * PITCH_B + find_col(j)];
                else if (j % 4 == 0)
                    y[j / 4] = *reinterpret_cast<const float4 *>(b + i * PITCH_B + find_col(j));
#pragma unroll
            for (int e = 0; e < TM * TN; ++e)
                sum[e / TN][e % TN] +=
                    reinterpret_cast<const float *>(x)[e / TN] * reinterpret_cast<const float *>(y)[e % TN];
        }
    }

    // Four of a lane's sums.
    static __device__ __forceinline__ float4 &four(float (&sum)[TM][TN], int index)
    {
        return *reinterpret_cast<float4 *>(&sum[0][0] + index * 4);
    }

    // Where k has parts: puts the sums where the last block of the tile adds all of them. Returns whether this one is
    // it; its sums are then those of all parts.
    static __device__ __forceinline__ bool add_parts(const gemm_lean_call &g, long long item, float (&sum)[TM][TN])
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

    // Writes the tile. What is staged is not needed any more.
    static __device__ __forceinline__ void write(const place &at, int n, int my_row, int my_col, float (&sum)[TM][TN])
    {
        const bool is_aligned = n % 4 == 0 && (size_t)at.c % 16 == 0;
        if (APART || (V == 4 && !is_aligned)) {
#pragma unroll
            for (int r = 0; r < TM; ++r) {
                float *const to = at.c + (long long)(my_row + find_row(r)) * n + my_col;
#pragma unroll
                for (int j = 0; j < TN; ++j)
                    if (my_row + find_row(r) < at.rows && my_col + find_col(j) < at.cols)
                        to[find_col(j)] = sum[r][j];
            }
            return;
        }
        const auto row_of = [&](int e) { return my_row + find_row(e * 4 / TN); };
        const auto col_of = [&](int e) { return my_col + find_col(e * 4 % TN); };
        if (V == 4 || is_aligned) {
#pragma unroll
            for (int e = 0; e < TM * TN / 4; ++e)
                if (row_of(e) < at.rows && col_of(e) < at.cols)
                    *reinterpret_cast<float4 *>(at.c + (long long)row_of(e) * n + col_of(e)) = four(sum, e);
            return;
        }

        // What is staged was read by all: none may put sums there before the last has read.
        __syncthreads();
        float *const sums = reinterpret_cast<float *>(gemm_lean_staged);
#pragma unroll
        for (int e = 0; e < TM * TN / 4; ++e)
            *reinterpret_cast<float4 *>(sums + row_of(e) * PITCH_B + col_of(e)) = four(sum, e);

        // All sums must be there before any is read.
        __syncthreads();
#pragma unroll 8
        for (int e = threadIdx.x; e < BM * BN; e += THREADS)
            if (e / BN < at.rows && e % BN < at.cols)
                at.c[(long long)(e / BN) * n + e % BN] = sums[e / BN * PITCH_B + e % BN];
    }

    static __device__ __forceinline__ void make(const gemm_lean_call &g, const place &at, long long item)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

        // Where four columns are read at once, lanes 0 and 1 share rows, and 0 and 2 share columns: one pass through
        // the banks then serves 16 lanes.
        constexpr int PAIRS = LANES_N / 2;
        const int in_row = APART ? lane / LANES_N : lane / 4 / PAIRS * 2 + lane / 2 % 2;
        const int in_col = APART ? lane % LANES_N : (lane / 4 % PAIRS * 2 + lane % 2) * 4;
        const int my_row = warp % WARPS_M * (LANES_M * TM) + in_row * 4;
        const int my_col = warp / WARPS_M * (LANES_N * TN) + in_col;

        // What the thread copies, and where to.
        const long long next_a = ALONG ? 1 : g.a_col, next_b = ALONG ? 1 : g.b_col;
        const int first_a = threadIdx.x % EIGHT, row = threadIdx.x / EIGHT;
        const int first_b = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * V;
        const float *from_a[ROWS];
#pragma unroll
        for (int j = 0; j < ROWS; ++j)
            from_a[j] = g.a + (row + j * DOWN < at.rows ? row + j * DOWN : at.rows - 1) * g.a_row + first_a * next_a;
        const float *from_b = g.b + first_b * g.b_row + (col < at.cols ? col : at.cols - V) * next_b;
        const long long step_b = DOWN_B * g.b_row;
        const unsigned to = (unsigned)__cvta_generic_to_shared(gemm_lean_staged);
        const unsigned to_a = to + (first_a * PITCH_A + row) * 4, to_b = to + (WORDS_A + first_b * PITCH_B + col) * 4;
        const auto stage = [&](int slot, int depth) {
            const unsigned slot_a = to_a + slot * (WORDS * 4), slot_b = to_b + slot * (WORDS * 4);
#pragma unroll
            for (int i = 0; i < DEPTH; i += EIGHT) {
                const int bytes = first_a + i < depth ? 4 : 0;
#pragma unroll
                for (int j = 0; j < ROWS; ++j)
                    copy<1>(slot_a + (i * PITCH_A + j * DOWN) * 4, from_a[j] + i * next_a, bytes);
            }
#pragma unroll
            for (int j = 0; j < ROWS; ++j)
                from_a[j] += DEPTH * next_a;
#pragma unroll
            for (int i = 0; i < DEPTH; i += DOWN_B) {
                if (V == 1 || first_b + i < depth)
                    copy<V>(slot_b + i * PITCH_B * 4, from_b, first_b + i < depth ? 4 * V : 0);
                else
                    set_zero(slot_b + i * PITCH_B * 4);
                from_b += step_b;
            }
        };
        float sum[TM][TN] = {};
        const int steps = (at.depth + DEPTH - 1) / DEPTH;
        int slot = 0, free_slot = 0;
#pragma unroll 1
        for (int step = 1 - STAGES; step < steps; ++step) {
            if (step >= 0) {
                asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

                // The step was copied by all threads: none may read it before the last has waited for its part. And
                // that before it was read by all: none may overwrite it before the last has read.
                __syncthreads();
            }
            const int next = step + STAGES - 1; // a group each; behind the last step they are empty
            if (next < steps) {
                stage(free_slot, at.depth - next * DEPTH);
                free_slot = free_slot + 1 == STAGES ? 0 : free_slot + 1;
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            if (step < 0)
                continue;
            const float *const staged = reinterpret_cast<const float *>(gemm_lean_staged) + slot * WORDS;
            multiply(sum, staged + my_row, staged + WORDS_A + my_col);
            slot = slot + 1 == STAGES ? 0 : slot + 1;
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        if (g.parts > 1 && !add_parts(g, item, sum))
            return;
        write(at, int(g.n), my_row, my_col, sum);
    }

    static __device__ __forceinline__ void run(gemm_lean_call g)
    {
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

extern "C" __global__ void __launch_bounds__(128, 6)
    gemm_lean_tall(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                   long long a_stack, long long b_stack)
{
    gemm_lean_tile<4, 4, 8, 4, 1, 16, 4, true, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_lean_flat(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                   long long a_stack, long long b_stack)
{
    gemm_lean_tile<8, 4, 16, 4, 1, 8, 5, true, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_lean_broad(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                    long long a_stack, long long b_stack)
{
    gemm_lean_tile<8, 8, 8, 2, 2, 16, 3, true, 1, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 5)
    gemm_lean_square(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                     long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                     unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                     long long a_stack, long long b_stack)
{
    gemm_lean_tile<8, 4, 16, 4, 1, 16, 3, false, 4, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_lean_panel(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                    long long a_stack, long long b_stack)
{
    gemm_lean_tile<4, 8, 8, 2, 2, 16, 3, false, 4, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(64, 8)
    gemm_lean_narrow(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                     long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                     unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                     long long a_stack, long long b_stack)
{
    gemm_lean_tile<4, 8, 8, 2, 1, 16, 3, false, 4, true>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(64, 8)
    gemm_lean_odd(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                  long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                  unsigned *tickets, float *sums, long long part_k, long long parts, long long stack, long long a_stack,
                  long long b_stack)
{
    gemm_lean_tile<4, 8, 8, 2, 1, 16, 3, false, 1, true>::run(
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
    gemm_lean_tile<4, 4, 8, 2, 1, 8, 5, true, 1, false>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}
