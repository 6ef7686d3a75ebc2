// gemm / fma
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major, or any
//          arrays of these shapes: their strides are parameters.
// Idea     Tensor cores want each float32 cut into parts, which takes instructions for each element that is read. Where
//          tiles are small, k is short, or rows are odd, that takes longer than the multiply-adds that it saves. So
//          here are the ideas of gemm/warp_tiled and gemm/async for small tiles of many shapes, in one launch.
//          - A lane makes TM x TN elements, in rows and columns that lie apart by the lanes, so that a warp reads
//            neighbours. It reads four k of a row at once, and four columns of a row of b. Large tiles have a
//            transposed: a lane then holds only what the present k needs, and has room to read the next.
//          - Groups of warps (SLICES) go over parts of each staged step, and add their sums at the end, in order: a
//            small tile has as many warps as a large one.
//          - Copies have 16 bytes where the operand's rows allow it, else 8 or 4. Each loop over stages has one place
//            that copies: the first pass of a launch over its code takes longer than the products of a small tile.
//          - Where k is short, all of it or half is staged at once (gemm_fma_short_tile). The lanes of a row of c make
//            neighbours of it, so that it is written in whole lines, whatever its length; and reads of b want no
//            alignment then, so that 16 bytes at once are copied from odd rows too.
//          - Where there are few tiles, k is cut into parts. The block that draws the last ticket of a tile adds the
//            sums of all parts, always in their order, and leaves tickets and sums 0, as the next call wants them.
//          - One launch makes a stack of products, as many tiles more.
// Differs  from gemm/direct: multiply-adds instead of tensor cores, and no second launch.
// Claims   shared.load.conflicts = 0
// Length   more than an exhibit has: it is the fast one for products of middle size, and has tiles of many shapes.
// Source   as gemm/warp_tiled; slices as in NVIDIA's CUTLASS; measured on an H200

extern __shared__ float4 gemm_fma_staged[];

// What a launch works on: a stack of products; c is (m, n) for each.
struct gemm_fma_call {
    const float *a, *b;
    float *c, *sums;
    unsigned *tickets;
    long long m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack;
};

// How many neighbours can be copied at once: 0 where they do not lie side by side.
static __device__ __forceinline__ int gemm_fma_measure_width(const float *from, long long step, long long step_along)
{
    const long long odd = (long long)((size_t)from / 4) | step;
    return step_along != 1 ? 0 : odd % 4 == 0 ? 4 : odd % 2 == 0 ? 2 : 1;
}

// The first row and column of a tile.
struct gemm_fma_corner {
    long long row, col;
};

// Finds those of the tile with index `order`: they go down the columns of a band of tiles.
template <int BM, int BN>
static __device__ __forceinline__ gemm_fma_corner gemm_fma_find_corner(const gemm_fma_call &g, unsigned order)
{
    constexpr unsigned GROUP = BM < 512 ? 512 / BM : 1;
    const unsigned tiles_m = unsigned((g.m + BM - 1) / BM), tiles_n = unsigned((g.n + BN - 1) / BN);
    const unsigned band = order / (GROUP * tiles_n) * GROUP, in_band = order % (GROUP * tiles_n);
    const unsigned band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
    return {(long long)(band + in_band % band_tiles) * BM, (long long)(in_band / band_tiles) * BN};
}

// A warp's lanes stand in LANES_M rows, each makes TM x TN elements; WARPS_M x WARPS_N warps make a block's tile, and
// there are so many of them for each of SLICES parts of a staged step of DEPTH k.
template <int DEPTH, int LANES_M, int TM, int TN, int WARPS_M, int WARPS_N, int SLICES, int STAGES>
struct gemm_fma_tile {
    static constexpr bool TURNED = SLICES == 1; // a is staged with its rows along memory
    static constexpr int LANES_N = 32 / LANES_M, BM = LANES_M * TM * WARPS_M, BN = LANES_N * TN * WARPS_N;
    static constexpr int THREADS = 32 * WARPS_M * WARPS_N * SLICES, SLICE = DEPTH / SLICES;

    // Rows of the staged operands are longer by 16 bytes: reads of neighbouring rows then take different banks.
    static constexpr int PITCH_A = (TURNED ? BM : DEPTH) + 4, PITCH_B = BN + 4;
    static constexpr int WORDS_A = (TURNED ? DEPTH : BM) * PITCH_A, WORDS = WORDS_A + DEPTH * PITCH_B;
    static constexpr int PITCH = BN + 4; // of sums

    // Sums of a lane for an element, where several pay: shorter chains of roundings, and of waits.
    static constexpr int SUMS = SLICES == 1 ? 1 : TM == 1 ? 4 : TM * TN >= 32 ? 2 : 1;

    // Where the reads of shared memory are the limit, lanes 0 and 1 share rows, and 0 and 2 share columns: one pass
    // through the banks then serves 16 lanes.
    static constexpr bool SHARES = LANES_M > 1 && TM * TN >= 32;

    // Copies LINES lines of LENGTH elements, V at a time, and zeros behind the first `lines` and `length`. Element x of
    // line y lies at from[y * step + x * step_along], and goes to word y * to_step + x * to_along.
    template <int LINES, int LENGTH, int ACROSS, int V>
    static __device__ __forceinline__ void copy(unsigned to, int to_step, int to_along, const float *from,
                                                long long step, long long step_along, int lines, int length)
    {
        constexpr int DOWN = THREADS / ACROSS;
#pragma unroll
        for (int first = 0; first < LENGTH; first += ACROSS * V) {
            const int x = first + threadIdx.x % ACROSS * V, y = threadIdx.x / ACROSS;
            const int bytes = length - x >= V ? 4 * V : length > x ? 4 * (length - x) : 0;
            const float *at = from + y * step + x * step_along;
            const unsigned to_at = to + (y * to_step + x * to_along) * 4;
#pragma unroll 8
            for (int j = 0; j < LINES; j += DOWN) {
                if (LINES % DOWN != 0 && y + j >= LINES)
                    break;
                const int here = y + j < lines ? bytes : 0;
                if constexpr (V == 4)
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_at + j * to_step * 4),
                                 "l"(at), "r"(here)
                                 : "memory");
                else
                    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to_at + j * to_step * 4),
                                 "l"(at), "r"(here), "n"(4 * V)
                                 : "memory");
                at += DOWN * step;
            }
        }
    }

    // Copies LINES lines of LENGTH elements of an operand by the widest copies that it allows; and where its lines lie
    // across memory, elements of 8 neighbouring lines.
    template <int LINES, int LENGTH>
    static __device__ __forceinline__ void stage(unsigned to, int pitch, const float *from, long long step,
                                                 long long step_along, int lines, int length)
    {
        switch (gemm_fma_measure_width(from, step, step_along)) {
        case 4:
            copy<LINES, LENGTH, LENGTH / 4, 4>(to, pitch, 1, from, step, 1, lines, length);
            break;
        case 2:
            copy<LINES, LENGTH, LENGTH / 2, 2>(to, pitch, 1, from, step, 1, lines, length);
            break;
        case 1:
            copy<LINES, LENGTH, LENGTH, 1>(to, pitch, 1, from, step, 1, lines, length);
            break;
        default:
            copy<LENGTH, LINES, (LINES < 8 ? LINES : 8), 1>(to, 1, pitch, from, step_along, step, length, lines);
        }
    }

    // Copies a step of both operands.
    static __device__ __forceinline__ void stage_both(unsigned to, const gemm_fma_call &g, const float *from_a,
                                                      const float *from_b, int rows, int depth, int cols)
    {
        if constexpr (TURNED)
            copy<BM, DEPTH, 8, 1>(to, 1, PITCH_A, from_a, g.a_row, g.a_col, rows, depth);
        else
            stage<BM, DEPTH>(to, PITCH_A, from_a, g.a_row, g.a_col, rows, depth);
        stage<DEPTH, BN>(to + WORDS_A * 4, PITCH_B, from_b, g.b_row, g.b_col, depth, cols);
    }

    // Of the rows of a lane the one with index r, from its first.
    static __device__ __forceinline__ constexpr int find_row(int r)
    {
        return TURNED ? r / 4 * (LANES_M * 4) + r % 4 : r * LANES_M;
    }

    // What a block makes: a tile of a product, whose first element is (row, col), and a part of k.
    struct place {
        long long row, col, first_k, end_k, tile;
        float *c;
    };

    // Finds the block's tile and its part of k.
    static __device__ __forceinline__ place find_place(gemm_fma_call &g, long long item)
    {
        const unsigned tiles = unsigned((g.m + BM - 1) / BM * ((g.n + BN - 1) / BN));
        const unsigned part = blockIdx.x / tiles, order = blockIdx.x % tiles;
        const gemm_fma_corner corner = gemm_fma_find_corner<BM, BN>(g, order);
        const long long first = part * g.part_k;
        g.a += item * g.a_stack;
        g.b += item * g.b_stack;
        g.tickets += item * tiles + order;
        g.sums += (item * tiles + order) * g.parts * (BM * BN);
        return {corner.row, corner.col, first, first + g.part_k < g.k ? first + g.part_k : g.k, part,
                g.c + item * g.m * g.n};
    }

    // Adds to the sums what a slice of a staged step makes.
    static __device__ __forceinline__ void multiply(float (&sum)[SUMS][TM][TN], const float *a, const float *b)
    {
#pragma unroll
        for (int q = 0; q < SLICE; q += 4) {
            float4 x[TM];
#pragma unroll
            for (int r = 0; r < TM; ++r)
                x[r] = *reinterpret_cast<const float4 *>(a + r * LANES_M * PITCH_A + q);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float4 y[TN / 4];
#pragma unroll
                for (int j = 0; j < TN / 4; ++j)
                    y[j] = *reinterpret_cast<const float4 *>(b + (q + i) * PITCH_B + j * 4 * LANES_N);
#pragma unroll
                for (int e = 0; e < TM * TN; ++e)
                    sum[i % SUMS][e / TN][e % TN] += reinterpret_cast<const float *>(&x[e / TN])[i] *
                                                     reinterpret_cast<const float *>(&y[e % TN / 4])[e % 4];
            }
        }
    }

    // The same for a that is transposed. The next k is read while one computes.
    static __device__ __forceinline__ void multiply_turned(float (&sum)[TM][TN], const float *a, const float *b)
    {
        float4 x[2][TM / 4], y[2][TN / 4];
#pragma unroll
        for (int i = -1; i < DEPTH; ++i) {
            const int next = i + 1, half = next % 2;
#pragma unroll
            for (int j = 0; j < TM / 4 && next < DEPTH; ++j)
                x[half][j] = *reinterpret_cast<const float4 *>(a + next * PITCH_A + j * 4 * LANES_M);
#pragma unroll
            for (int j = 0; j < TN / 4 && next < DEPTH; ++j)
                y[half][j] = *reinterpret_cast<const float4 *>(b + next * PITCH_B + j * 4 * LANES_N);
#pragma unroll
            for (int e = 0; e < TM * TN && i >= 0; ++e)
                sum[e / TN][e % TN] += reinterpret_cast<const float *>(&x[1 - half][e / TN / 4])[e / TN % 4] *
                                       reinterpret_cast<const float *>(&y[1 - half][e % TN / 4])[e % 4];
        }
    }

    // Where k has parts: the last block that has put its sums of a tile adds those of all parts.
    static __device__ __forceinline__ void finish(const gemm_fma_call &g, const place &at)
    {
        __shared__ bool is_last;

        // Whoever sees the block's ticket sees its sums.
        __threadfence();

        // All threads' sums are in memory before the ticket is drawn.
        __syncthreads();
        if (threadIdx.x == 0)
            is_last = atomicInc(g.tickets, unsigned(g.parts) - 1) == unsigned(g.parts) - 1; // and makes it 0

        // All threads must know whether it is the last one.
        __syncthreads();
        if (!is_last)
            return;
        __threadfence();
        float4 *const sums = reinterpret_cast<float4 *>(g.sums);
#pragma unroll 1
        for (int e = threadIdx.x; e < BM * BN / 4; e += THREADS) {
            float4 sum = {};
#pragma unroll 8
            for (int part = 0; part < g.parts; ++part) {
                const float4 x = __ldcg(sums + part * (BM * BN / 4) + e);
                sum = make_float4(sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w);
            }
#pragma unroll 8
            for (int part = 0; part < g.parts; ++part)
                sums[part * (BM * BN / 4) + e] = float4{};
            const long long row = at.row + e * 4 / BN, col = at.col + e * 4 % BN;
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (row < g.m && col + i < g.n)
                    at.c[row * g.n + col + i] = reinterpret_cast<const float *>(&sum)[i];
        }
    }

    // Writes what a lane has, four neighbours at once: rows of c are made of them.
    static __device__ __forceinline__ void write(float *c, long long n, int rows, int cols, int my_row, int my_col,
                                                 const float (&sum)[TM][TN])
    {
#pragma unroll
        for (int e = 0; e < TM * TN; e += 4) {
            const int row = my_row + find_row(e / TN), col = my_col + e % TN * LANES_N;
            if (row < rows && col < cols)
                *reinterpret_cast<float4 *>(c + row * n + col) = make_float4(
                    sum[e / TN][e % TN], sum[e / TN][e % TN + 1], sum[e / TN][e % TN + 2], sum[e / TN][e % TN + 3]);
        }
    }

    static __device__ __forceinline__ void run(gemm_fma_call g)
    {
        const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
        if (item >= g.stack)
            return;
        const place at = find_place(g, item);
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, slice = warp / (WARPS_M * WARPS_N);
        constexpr int PAIRS = SHARES ? LANES_N / 2 : 1;
        const int in_row = SHARES ? lane / 4 / PAIRS * 2 + lane / 2 % 2 : lane / LANES_N;
        const int in_col = SHARES ? lane / 4 % PAIRS * 2 + lane % 2 : lane % LANES_N;
        const int my_row = warp % WARPS_M * (LANES_M * TM) + in_row * (TURNED ? 4 : 1);
        const int my_col = warp / WARPS_M % WARPS_N * (LANES_N * TN) + in_col * 4;
        const int rows = g.m - at.row < BM ? int(g.m - at.row) : BM, cols = g.n - at.col < BN ? int(g.n - at.col) : BN;
        const int depth = int(at.end_k - at.first_k), steps = (depth + DEPTH - 1) / DEPTH;
        const unsigned to = (unsigned)__cvta_generic_to_shared(gemm_fma_staged);
        const float *from_a = g.a + at.row * g.a_row + at.first_k * g.a_col;
        const float *from_b = g.b + at.first_k * g.b_row + at.col * g.b_col;
        float sums_of[SUMS][TM][TN] = {};
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
                stage_both(to + free_slot * (WORDS * 4), g, from_a, from_b, rows, depth - next * DEPTH, cols);
                from_a += DEPTH * g.a_col;
                from_b += DEPTH * g.b_row;
                free_slot = free_slot + 1 == STAGES ? 0 : free_slot + 1;
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            if (step < 0)
                continue;
            const float *const staged = reinterpret_cast<const float *>(gemm_fma_staged) + slot * WORDS;
            const float *const staged_b = staged + WORDS_A + slice * SLICE * PITCH_B + my_col;
            if constexpr (TURNED)
                multiply_turned(sums_of[0], staged + my_row, staged_b);
            else
                multiply(sums_of, staged + my_row * PITCH_A + slice * SLICE, staged_b);
            slot = slot + 1 == STAGES ? 0 : slot + 1;
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        float(&sum)[TM][TN] = sums_of[0];
#pragma unroll
        for (int e = TM * TN; e < SUMS * TM * TN; ++e)
            sum[e / TN % TM][e % TN] += sums_of[e / (TM * TN)][e / TN % TM][e % TN];
        if constexpr (SLICES == 1) {
            if (g.parts == 1 && g.n % 4 == 0 && (size_t)at.c % 16 == 0) {
                write(at.c + at.row * g.n + at.col, g.n, rows, cols, my_row, my_col, sum);
                return;
            }
        }

        // What is staged was read by all: none may put sums there before the last has read.
        __syncthreads();
        float *const sums = reinterpret_cast<float *>(gemm_fma_staged);
#pragma unroll
        for (int e = 0; e < TM * TN; e += 4)
            *reinterpret_cast<float4 *>(sums + (slice * BM + my_row + find_row(e / TN)) * PITCH + my_col +
                                        e % TN * LANES_N) =
                make_float4(sum[e / TN][e % TN], sum[e / TN][e % TN + 1], sum[e / TN][e % TN + 2],
                            sum[e / TN][e % TN + 3]);

        // All sums must be there before any is read.
        __syncthreads();
        const bool is_part = g.parts > 1;
        float *const partial = g.sums + at.tile * (BM * BN);
#pragma unroll 4
        for (int e = threadIdx.x; e < BM * BN; e += THREADS) {
            const int row = e / BN, col = e % BN;
            float x = sums[row * PITCH + col];
#pragma unroll
            for (int other = 1; other < SLICES; ++other)
                x += sums[(other * BM + row) * PITCH + col];
            if (is_part)
                partial[e] = x;
            else if (row < rows && col < cols)
                at.c[(at.row + row) * g.n + at.col + col] = x;
        }
        if (is_part)
            finish(g, at);
    }
};

// Where k is short. A warp's lanes stand in rows of LANES_N; each makes TM rows and TN columns that lie LANES_N apart.
// WARPS warps, one below the other, make a tile. A step of g.part_k of k, a multiple of 4, is staged at once.
template <int TM, int TN, int LANES_N, int WARPS> struct gemm_fma_short_tile {
    static constexpr int LANES_M = 32 / LANES_N, BM = LANES_M * TM * WARPS, BN = LANES_N * TN, THREADS = 32 * WARPS;
    static constexpr int PITCH_A = BM + 4, PITCH_B = BN + 4; // a is staged with its rows along memory

    // How many words before a row of b the 16 bytes begin that hold its first element.
    static __device__ __forceinline__ int find_shift(const float *row)
    {
        return int((size_t)row / 4 % 4);
    }

    static __device__ __forceinline__ unsigned find_address(const float *staged)
    {
        return (unsigned)__cvta_generic_to_shared(staged);
    }

    // Copies `depth` k of LINES lines (rows of a, or columns of b), element by element, and writes zeros from there to
    // all_depth, and behind the last line. k x of line y lies at from[y * step + x * step_k].
    template <int LINES, int PITCH>
    static __device__ __forceinline__ void copy(float *to, const float *from, long long step, long long step_k,
                                                int lines, int depth, int all_depth)
    {
        constexpr int ALONG = 8, DOWN = THREADS / ALONG;
        const int y = threadIdx.x / ALONG;
#pragma unroll 1
        for (int x = threadIdx.x % ALONG; x < all_depth; x += ALONG) {
            const float *at = from + y * step + x * step_k;
            const unsigned to_at = find_address(to + x * PITCH + y);
            const int left = x < depth ? lines - y : 0;
#pragma unroll
            for (int j = 0; j < LINES; j += DOWN) {
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to_at + j * 4), "l"(at),
                             "r"(j < left ? 4 : 0)
                             : "memory");
                at += DOWN * step;
            }
        }
    }

    // Copies `depth` rows of b, 16 bytes at a time from an aligned address at or before each row, and writes zeros from
    // there to all_depth, and behind the last column. A copy of no bytes would write zeros too, but reads: where all
    // blocks copy none from one address, they wait for each other. What lies before the first column is never used.
    static __device__ __forceinline__ void copy_rows(float *to, const float *from, long long step, int depth,
                                                     int all_depth, int cols)
    {
        constexpr int ACROSS = PITCH_B / 4;
#pragma unroll 4
        for (int e = threadIdx.x; e < all_depth * ACROSS; e += THREADS) {
            const int y = e / ACROSS, x = e % ACROSS * 4;
            const float *const row = from + y * step, *const at = row - find_shift(row) + x;
            const int words = y < depth ? find_shift(row) + cols - x : 0;
            float *const to_at = to + y * PITCH_B + x;
            if (words > 0)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(find_address(to_at)), "l"(at),
                             "r"(words > 4 ? 16 : words * 4)
                             : "memory");
            else
                *reinterpret_cast<float4 *>(to_at) = float4{};
        }
    }

    // Copies `depth` k of both operands, and zeros up to a multiple of 4.
    static __device__ __forceinline__ void stage(const gemm_fma_call &g, const float *from_a, const float *from_b,
                                                 bool is_packed, int rows, int cols, int depth)
    {
        float *const to_a = reinterpret_cast<float *>(gemm_fma_staged), *const to_b = to_a + int(g.part_k) * PITCH_A;
        const int all_depth = (depth + 3) / 4 * 4;
        if (is_packed)
            copy_rows(to_b, from_b, g.b_row, depth, all_depth, cols);
        else
            copy<BN, PITCH_B>(to_b, from_b, g.b_col, g.b_row, cols, depth, all_depth);
        copy<BM, PITCH_A>(to_a, from_a, g.a_row, g.a_col, rows, depth, all_depth);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    }

    // Adds to the sums what `depth` staged k make. `shift`: of four rows of b, which repeats.
    static __device__ __forceinline__ void multiply(float (&sum)[TM][TN], const float *a, const float *b,
                                                    const int (&shift)[4], int depth)
    {
#pragma unroll 1
        for (int first = 0; first < depth; first += 4) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float4 x[TM / 4];
                float y[TN];
#pragma unroll
                for (int r = 0; r < TM / 4; ++r)
                    x[r] = *reinterpret_cast<const float4 *>(a + i * PITCH_A + r * 4 * LANES_M);
#pragma unroll
                for (int j = 0; j < TN; ++j)
                    y[j] = b[i * PITCH_B + shift[i] + j * LANES_N];
#pragma unroll
                for (int e = 0; e < TM * TN; ++e)
                    sum[e / TN][e % TN] += reinterpret_cast<const float *>(&x[e / TN / 4])[e / TN % 4] * y[e % TN];
            }
            a += 4 * PITCH_A;
            b += 4 * PITCH_B;
        }
    }

    static __device__ __forceinline__ void run(gemm_fma_call g)
    {
        const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
        if (item >= g.stack)
            return;

        // 16 bytes from an aligned address before a row are b's own where its rows lie end to end, or are aligned.
        const bool is_aligned = (size_t)g.b % 16 == 0 && (g.b_stack % 4 == 0 || g.b_stack == g.k * g.n);
        const bool is_packed = g.b_col == 1 && is_aligned && (g.b_row == g.n || (g.b_row | g.b_stack) % 4 == 0);
        const gemm_fma_corner corner = gemm_fma_find_corner<BM, BN>(g, blockIdx.x);
        const int rows = g.m - corner.row < BM ? int(g.m - corner.row) : BM;
        const int cols = g.n - corner.col < BN ? int(g.n - corner.col) : BN, k = int(g.k), step = int(g.part_k);
        const int lane = threadIdx.x % 32, my_col = lane % LANES_N;
        const int my_row = threadIdx.x / 32 * (LANES_M * TM) + lane / LANES_N * 4;
        const float *from_a = g.a + item * g.a_stack + corner.row * g.a_row;
        const float *from_b = g.b + item * g.b_stack + corner.col * g.b_col;
        const float *const staged_a = reinterpret_cast<const float *>(gemm_fma_staged) + my_row;
        const float *const staged_b = reinterpret_cast<const float *>(gemm_fma_staged) + step * PITCH_A + my_col;
        int shift[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            shift[i] = is_packed ? find_shift(from_b + i * g.b_row) : 0;
        float sum[TM][TN] = {};
#pragma unroll 1
        for (int done = 0; done < k; done += step) {
            if (done > 0)
                // What is staged was read by all: none may overwrite it before the last has read.
                __syncthreads();
            const int depth = k - done < step ? k - done : step;
            stage(g, from_a, from_b, is_packed, rows, cols, depth);

            // The step was copied by all threads: none may read it before the last has waited for its part.
            __syncthreads();
            multiply(sum, staged_a, staged_b, shift, depth);
            from_a += step * g.a_col;
            from_b += step * g.b_row;
        }

        // Write.
        float *const to = g.c + item * g.m * g.n + (corner.row + my_row) * g.n + corner.col + my_col;
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const int row = r / 4 * (4 * LANES_M) + r % 4;
#pragma unroll
            for (int j = 0; j < TN; ++j)
                if (my_row + row < rows && my_col + j * LANES_N < cols)
                    to[row * g.n + j * LANES_N] = sum[r][j];
        }
    }
};

extern "C" __global__ void __launch_bounds__(128, 4)
gemm_fma_low(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
             long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
             unsigned *tickets, float *sums, long long part_k, long long parts, long long stack, long long a_stack,
             long long b_stack)
{
    gemm_fma_tile<64, 4, 4, 4, 1, 1, 4, 3>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 5)
gemm_fma_thin(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
              long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
              unsigned *tickets, float *sums, long long part_k, long long parts, long long stack, long long a_stack,
              long long b_stack)
{
    gemm_fma_tile<32, 8, 4, 4, 1, 1, 4, 3>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
gemm_fma_column(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
                long long a_stack, long long b_stack)
{
    gemm_fma_tile<32, 32, 4, 4, 1, 1, 4, 3>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 3)
gemm_fma_row(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
             long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
             unsigned *tickets, float *sums, long long part_k, long long parts, long long stack, long long a_stack,
             long long b_stack)
{
    gemm_fma_tile<32, 1, 1, 4, 1, 1, 8, 4>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 3)
gemm_fma_rows4(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
               long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
               unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
               long long a_stack, long long b_stack)
{
    gemm_fma_tile<64, 1, 4, 4, 1, 1, 8, 2>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 2)
gemm_fma_rows8(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
               long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
               unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
               long long a_stack, long long b_stack)
{
    gemm_fma_tile<32, 1, 8, 4, 1, 1, 8, 3>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
gemm_fma_wide(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
              long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
              unsigned *tickets, float *sums, long long part_k, long long parts, long long stack, long long a_stack,
              long long b_stack)
{
    gemm_fma_tile<32, 8, 4, 8, 1, 2, 2, 3>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
gemm_fma_broad(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
               long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
               unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
               long long a_stack, long long b_stack)
{
    gemm_fma_tile<16, 4, 8, 8, 2, 2, 1, 3>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 5)
gemm_fma_large(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
               long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
               unsigned *tickets, float *sums, long long part_k, long long parts, long long stack,
               long long a_stack, long long b_stack)
{
    gemm_fma_tile<16, 4, 8, 4, 2, 2, 1, 3>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 5)
gemm_fma_short(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
               long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
               long long step, long long stack, long long a_stack, long long b_stack)
{
    gemm_fma_short_tile<8, 4, 16, 4>::run(
        {a, b, c, nullptr, nullptr, m, k, n, a_row, a_col, b_row, b_col, step, 1, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
gemm_fma_short_broad(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                     long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                     long long step, long long stack, long long a_stack, long long b_stack)
{
    gemm_fma_short_tile<8, 8, 16, 4>::run(
        {a, b, c, nullptr, nullptr, m, k, n, a_row, a_col, b_row, b_col, step, 1, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 8)
gemm_fma_short_wide(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    long long step, long long stack, long long a_stack, long long b_stack)
{
    gemm_fma_short_tile<4, 4, 16, 4>::run(
        {a, b, c, nullptr, nullptr, m, k, n, a_row, a_col, b_row, b_col, step, 1, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 8)
gemm_fma_short_tall(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    long long step, long long stack, long long a_stack, long long b_stack)
{
    gemm_fma_short_tile<4, 4, 8, 4>::run(
        {a, b, c, nullptr, nullptr, m, k, n, a_row, a_col, b_row, b_col, step, 1, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
gemm_fma(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m, long long k,
         long long n, long long a_row, long long a_col, long long b_row, long long b_col, unsigned *tickets,
         float *sums, long long part_k, long long parts, long long stack, long long a_stack, long long b_stack)
{
    gemm_fma_tile<64, 8, 4, 8, 1, 1, 4, 2>::run(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, parts, stack, a_stack, b_stack});
}
