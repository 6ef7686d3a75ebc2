// gemm / dmma
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major, or any
//          arrays of these shapes: their strides are parameters.
// Idea     Tensor cores multiply float64 as it is: one instruction of a warp (mma) adds the product of 16 x 8 and 8 x 8
//          elements to 16 x 8 sums, with one rounding for each product, as fma does.
//          - The operands are copied to shared memory as they lie (cp.async, STAGES), 16 bytes at once where rows allow
//            it, else 8: no element is laid out anew before. A transposed operand is copied along the side on which
//            neighbours lie in memory.
//          - mma wants of each lane single elements of a and b, four neighbours along k of each row and column. An xor
//            of row and column spreads these reads over all banks, and the copies, whichever way they go.
//          - Where neighbours of a row of both operands lie side by side, the fragments of the next mma are read, and
//            the copies of a later step begun, while this one computes. What k leaves over is the first step, so that
//            all others are whole, and what lies outside is 0 from the beginning (make_ahead).
//          - The warps of a block share a tile of c, or each goes over a part of the staged k, and their sums are added
//            at the end, in order. Where there are few tiles, k is cut into parts (add; gemm/split_k).
//          - Blocks go through c in bands of tiles, so that those that run together share rows and columns. One launch
//            makes a stack of products, as many tiles more. The next launch may begin at once: each waits for those
//            before it.
// Differs  from gemm/direct: float64, which mma takes as it is.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          async.conflicts = 0           k, n multiples of 2
// Length   more than an exhibit has: it is the fast one for float64 and has tiles of several shapes.
// Source   the fragments of mma, from NVIDIA's PTX ISA; the rest is measured on an H200

extern __shared__ double2 gemm_dmma_staged[];

// What a launch works on: a stack of products; c is (m, n) for each, and for several parts of k a stack for each.
struct gemm_dmma_call {
    const double *a, *b;
    double *c, *sums;
    unsigned *tickets;
    long long m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack;
};

// What a block makes: a tile whose first element is this, and a part of k. Where the last block of a tile adds the sums
// of all parts: how many there are, which it is, the tile's ticket, and the place of the sums of its first part; else
// parts is 1.
struct gemm_dmma_place {
    long long row, col, first_k, end_k;
    double *c;
    unsigned parts, part, ticket, sums;
};

// A block of AM x AN x AK warps: rows, columns, and parts of the staged k. A warp makes 16 TM x 16 TN elements.
template <int TM, int TN, int AM, int AN, int AK, int DEPTH, int STAGES> struct gemm_dmma_tile {
    static constexpr int BM = 16 * TM * AM, BN = 16 * TN * AN, THREADS = 32 * AM * AN * AK, SIZE = (BM + BN) * DEPTH;
    static constexpr bool JOINS = BM * BN <= 1024; // larger tiles leave it to a launch to add sums of parts
    static constexpr int SUMS = TM * TN * 8;       // of a lane

    // Where in a stage an element of a lies, and one of b. Two neighbours along k of a, or in a row of b, stay side by
    // side; of four neighbouring rows lanes that read four elements each find these in different banks.
    static __device__ __forceinline__ int place_a(int row, int i)
    {
        return row * DEPTH + (i / 2 ^ (row % 4 * 2 + row / 4 % 2)) * 2 + i % 2;
    }
    static __device__ __forceinline__ int place_b(int col, int i)
    {
        return BM * DEPTH + i * BN + (col / 2 ^ (i % 4 * 2 + i / 4 % 2)) * 2 + col % 2;
    }

    // Copies LINES x DEPTH elements, V at a time: lines are rows of a or columns of b, and lie `step` apart, neighbours
    // along k `step_k`. Zeros stand for what is outside.
    template <int LINES, int V, bool ALONG_K, typename Place>
    static __device__ __forceinline__ void copy(const double *from, long long step, long long step_k, int lines,
                                                int depth, Place place)
    {
        constexpr int ACROSS = (ALONG_K ? DEPTH : LINES) / V, ROUND = THREADS / ACROSS,
                      HEIGHT = ALONG_K ? LINES : DEPTH;
        const int x = threadIdx.x % ACROSS * V, y = threadIdx.x / ACROSS, line = ALONG_K ? y : x, i = ALONG_K ? x : y;
        const int left = (ALONG_K ? depth : lines) - x, high = (ALONG_K ? lines : depth) - y;
        const int most = left >= V ? 8 * V : left > 0 ? 8 : 0;
        from += line * step + i * step_k;
#pragma unroll(V == 2 ? 16 : 4)
        for (int j = 0; j < HEIGHT; j += ROUND) {
            const unsigned to = place(line + (ALONG_K ? j : 0), i + (ALONG_K ? 0 : j));
            const int bytes = j < high ? most : 0;
            if (HEIGHT % ROUND == 0 || y + j < HEIGHT) {
                if constexpr (V == 2)
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                                 : "memory");
                else
                    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes)
                                 : "memory");
            }
            from += ROUND * (ALONG_K ? step : step_k);
        }
    }

    // How many elements of a row of the operand can be copied at once: 0 where they do not lie side by side.
    static __device__ __forceinline__ int measure_width(const double *from, long long step, long long step_along)
    {
        return step_along != 1 ? 0 : step % 2 == 0 && (size_t)from % 16 == 0 ? 2 : 1;
    }

    static __device__ __forceinline__ void stage(const gemm_dmma_call &g, const gemm_dmma_place &place, int step,
                                                 int slot)
    {
        const unsigned to = (unsigned)__cvta_generic_to_shared(gemm_dmma_staged) + slot * SIZE * 8;
        const auto to_a = [&](int row, int i) { return to + place_a(row, i) * 8; };
        const auto to_b = [&](int col, int i) { return to + place_b(col, i) * 8; };
        const long long first = place.first_k + step * (long long)DEPTH, left = place.end_k - first;
        const int depth = left < DEPTH ? int(left) : DEPTH;
        const int rows = g.m - place.row < BM ? int(g.m - place.row) : BM;
        const int cols = g.n - place.col < BN ? int(g.n - place.col) : BN;
        const double *const from_a = g.a + place.row * g.a_row + first * g.a_col;
        const double *const from_b = g.b + first * g.b_row + place.col * g.b_col;
        const int width_a = measure_width(from_a, g.a_row, g.a_col), width_b = measure_width(from_b, g.b_row, g.b_col);
        if (width_a == 2)
            copy<BM, 2, true>(from_a, g.a_row, 1, rows, depth, to_a);
        else if (width_a == 1)
            copy<BM, 1, true>(from_a, g.a_row, 1, rows, depth, to_a);
        else
            copy<BM, 1, false>(from_a, g.a_row, g.a_col, rows, depth, to_a);
        if (width_b == 2)
            copy<BN, 2, false>(from_b, 1, g.b_row, cols, depth, to_b);
        else if (width_b == 1)
            copy<BN, 1, false>(from_b, 1, g.b_row, cols, depth, to_b);
        else
            copy<BN, 1, true>(from_b, g.b_col, g.b_row, cols, depth, to_b);
    }

    // Adds to the warp's sums what 8 staged k make, from `first` on.
    static __device__ __forceinline__ void multiply(double (&sum)[TM * TN * 8], const double *staged, int row, int col,
                                                    int first)
    {
        const int g = threadIdx.x % 32 / 4, i = first + threadIdx.x % 4;
        double x[TM][4], y[TN * 2][2];
#pragma unroll
        for (int h = 0; h < 4; ++h) { // of b: columns 8 apart, and k 4 apart
            const double *const from = staged + place_b(col + h / 2 * 8 + g, i + h % 2 * 4);
#pragma unroll
            for (int j = 0; j < TN; ++j)
                y[j * 2 + h / 2][h % 2] = from[j * 16];
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) { // of a: k 4 apart
            const double *const from = staged + place_a(row + g, i + h * 4);
#pragma unroll
            for (int j = 0; j < TM * 2; ++j)
                x[j / 2][h * 2 + j % 2] = from[j * 8 * DEPTH];
        }
#pragma unroll
        for (int e = 0; e < TN * 2 * TM; ++e) {
            const double(&p)[4] = x[e % TM], (&q)[2] = y[e / TM];
            double *const to = sum + (e % TM * TN * 2 + e / TM) * 4;
            asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+d"(to[0]), "+d"(to[1]), "+d"(to[2]), "+d"(to[3])
                : "d"(p[0]), "d"(p[1]), "d"(p[2]), "d"(p[3]), "d"(q[0]), "d"(q[1]));
        }
    }

    // Writes a lane's sums of 16 x 16 elements: two neighbours at once, where rows of c are made of them; else lanes
    // exchange them, so that four lanes write four neighbours.
    static __device__ __forceinline__ void write(const gemm_dmma_call &g, const gemm_dmma_place &place, int row,
                                                 int col, const double *sum)
    {
        const bool whole = g.n % 2 == 0 && (size_t)place.c % 16 == 0;
        const int lane = threadIdx.x % 32, t = lane % 4;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const long long to_row = place.row + row + lane / 4 + e / 2 * 8, to_col = place.col + col + e % 2 * 8;
            const double u = sum[e % 2 * 4 + e / 2 * 2], v = sum[e % 2 * 4 + e / 2 * 2 + 1];
            double *const to = place.c + to_row * g.n + to_col;
            if (whole) {
                if (to_row < g.m && to_col + 2 * t < g.n)
                    *reinterpret_cast<double2 *>(to + 2 * t) = make_double2(u, v);
                continue;
            }
#pragma unroll
            for (int h = 0; h < 8; h += 4) {
                const int from = lane - t + h / 2 + t / 2;
                const double x = __shfl_sync(~0u, u, from), y = __shfl_sync(~0u, v, from);
                if (to_row < g.m && to_col + h + t < g.n)
                    to[h + t] = t % 2 == 0 ? x : y;
            }
        }
    }

    // Puts a lane's sums of a part of k where those of all parts of the tile lie. True for the last block of the tile:
    // it has the sums of all parts then, added in their order, and leaves 0 there, as the next call wants it.
    template <int COUNT>
    static __device__ __forceinline__ bool join(const gemm_dmma_call &g, const gemm_dmma_place &place,
                                                double (&sum)[COUNT])
    {
        constexpr int PART = BM * BN / 2, MAKERS = BM * BN / COUNT; // threads that have sums
        const bool makes = MAKERS == THREADS || threadIdx.x < MAKERS;
        double2 *const sums = reinterpret_cast<double2 *>(g.sums) + place.sums * (long long)PART + threadIdx.x;
#pragma unroll
        for (int e = 0; e < COUNT / 2; ++e)
            if (makes)
                sums[place.part * PART + e * MAKERS] = make_double2(sum[e * 2], sum[e * 2 + 1]);

        // Whoever sees the block's ticket sees its sums.
        __threadfence();

        // All threads' sums are in memory before the ticket is drawn.
        __syncthreads();
        const bool is_last =
            threadIdx.x == 0 && atomicInc(g.tickets + place.ticket, place.parts - 1) == place.parts - 1; // makes it 0

        // All threads must know whether it is the last one.
        if (!__syncthreads_or(is_last))
            return false;
        __threadfence();
#pragma unroll
        for (int e = 0; e < COUNT; ++e)
            sum[e] = 0;
#pragma unroll(32 / COUNT > 1 ? 32 / COUNT : 1)
        for (unsigned part = 0; part < place.parts; ++part) {
#pragma unroll
            for (int e = 0; e < COUNT / 2; ++e) {
                const double2 one = makes ? __ldcg(sums + part * PART + e * MAKERS) : make_double2(0, 0);
                sum[e * 2] += one.x;
                sum[e * 2 + 1] += one.y;
            }
        }
#pragma unroll 1
        for (unsigned part = 0; part < place.parts; ++part) {
#pragma unroll
            for (int e = 0; e < COUNT / 2; ++e)
                if (makes)
                    sums[part * PART + e * MAKERS] = make_double2(0, 0);
        }
        return true;
    }

    // Of an mma of make_ahead: m16n8k4 where a warp has many sums, since it keeps two sets of fragments.
    static constexpr int K = TM * TN < 8 ? 8 : 4, QUARTERS = K / 4;

    static __device__ __forceinline__ void multiply_whole(double *to, const double (&p)[K / 2],
                                                          const double (&q)[QUARTERS])
    {
        if constexpr (K == 8)
            asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+d"(to[0]), "+d"(to[1]), "+d"(to[2]), "+d"(to[3])
                : "d"(p[0]), "d"(p[1]), "d"(p[2]), "d"(p[3]), "d"(q[0]), "d"(q[1]));
        else
            asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
                "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+d"(to[0]), "+d"(to[1]), "+d"(to[2]), "+d"(to[3])
                : "d"(p[0]), "d"(p[1]), "d"(q[0]));
    }

    // Begins a copy of V elements where `on` is not 0.
    template <int V> static __device__ __forceinline__ void copy_ahead(unsigned to, const double *from, unsigned on)
    {
        if constexpr (V == 2)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; "
                         "@p cp.async.cg.shared.global.L2::128B [%0], [%1], 16; }" ::"r"(to),
                         "l"(from), "r"(on)
                         : "memory");
        else
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; "
                         "@p cp.async.ca.shared.global.L2::128B [%0], [%1], 8; }" ::"r"(to),
                         "l"(from), "r"(on)
                         : "memory");
    }

    // What make does, for operands whose rows are copied VA and VB elements at a time, by warps that share staged k.
    template <int VA, int VB>
    static __device__ __forceinline__ void make_ahead(const gemm_dmma_call &g, const gemm_dmma_place &place)
    {
        constexpr int TURNS = DEPTH / K,
                      PARTS = TURNS - 1; // mma along the k of a step; copies go beside all but the last
        constexpr int ROW_A = DEPTH / VA, ROW_B = BN / VB; // threads that copy a row
        constexpr int DOWN_A = THREADS / ROW_A, DOWN_B = THREADS / ROW_B, COPIES_A = BM / DOWN_A,
                      COPIES_B = DEPTH / DOWN_B;
        constexpr int CYCLE_A = DOWN_A >= 8             ? 1
                                : 8 / DOWN_A < COPIES_A ? 8 / DOWN_A
                                                        : COPIES_A,
                      CYCLE_B = DOWN_B >= 8             ? 1
                                : 8 / DOWN_B < COPIES_B ? 8 / DOWN_B
                                                        : COPIES_B;
        static_assert(COPIES_A % CYCLE_A == 0 && COPIES_B % CYCLE_B == 0 && PARTS > 0 && TURNS % 2 == 0);

        // Who am I: the warp's part of the tile; the rows of a and of b of which I copy some elements.
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
        const int my_row = warp % AM * 16 * TM, my_col = warp / AM % AN * 16 * TN;
        const int row_a = threadIdx.x / ROW_A, col_a = threadIdx.x % ROW_A * VA;
        const int row_b = threadIdx.x / ROW_B, col_b = threadIdx.x % ROW_B * VB;
        const double *from_a = g.a + (place.row + row_a) * g.a_row + place.first_k + col_a;
        const double *from_b = g.b + (place.first_k + row_b) * g.b_row + place.col + col_b;
        const unsigned base = (unsigned)__cvta_generic_to_shared(gemm_dmma_staged);
        unsigned to_a[CYCLE_A], to_b[CYCLE_B], rows = 0; // a bit for each row of a that is inside
#pragma unroll
        for (int j = 0; j < CYCLE_A; ++j)
            to_a[j] = base + place_a(row_a + j * DOWN_A, col_a) * 8;
#pragma unroll
        for (int j = 0; j < CYCLE_B; ++j)
            to_b[j] = base + place_b(col_b, row_b + j * DOWN_B) * 8;
#pragma unroll
        for (int j = 0; j < COPIES_A; ++j)
            rows |= (place.row + row_a + j * DOWN_A < g.m ? 1u : 0u) << j;
        const unsigned cols = place.col + col_b < g.n ? 1 : 0;
        const long long depth = place.end_k - place.first_k;
        const int steps = int((depth + DEPTH - 1) / DEPTH), first = int(depth - (steps - 1ll) * DEPTH);
        const auto stage_a = [&](int slot, int j, unsigned on) {
            copy_ahead<VA>(to_a[j % CYCLE_A] + (slot * SIZE + j / CYCLE_A * CYCLE_A * DOWN_A * DEPTH) * 8,
                           from_a + j * DOWN_A * g.a_row, on >> j & 1);
        };
        const auto stage_b = [&](int slot, int j, unsigned on) {
            copy_ahead<VB>(to_b[j % CYCLE_B] + (slot * SIZE + j / CYCLE_B * CYCLE_B * DOWN_B * BN) * 8,
                           from_b + j * DOWN_B * g.b_row, on);
        };
        const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
        const auto await = [] {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

            // A step was copied by all threads: none may read it before the last has waited for its part. And the one
            // before it was read by all: none may overwrite it before the last has read.
            __syncthreads();
        };

        // 0 for all that is outside.
        if (place.row + BM > g.m || place.col + BN > g.n || first < DEPTH) {
#pragma unroll 1
            for (int i = threadIdx.x; i < SIZE * STAGES / 2; i += THREADS)
                gemm_dmma_staged[i] = make_double2(0, 0);

            // Copies of other threads go there: it must be 0 before.
            __syncthreads();
        }

        // The first steps. One group of copies each, so that counting groups counts steps; some may be empty.
        for (int step = 0; step < STAGES - 1; ++step) {
            if (step < steps) {
                const int left = step == 0 ? first : DEPTH;
#pragma unroll
                for (int j = 0; j < COPIES_A; ++j)
                    stage_a(step, j, col_a < left ? rows : 0);
#pragma unroll
                for (int j = 0; j < COPIES_B; ++j)
                    stage_b(step, j, row_b + j * DOWN_B < left ? cols : 0);
                from_a += left;
                from_b += left * g.b_row;
            }
            commit();
        }

        // Where a lane's elements lie: of a for each four k of a step; of b for two fours of k and both halves of 16.
        int at_a[DEPTH / 4], at_b[2][2];
#pragma unroll
        for (int h = 0; h < DEPTH / 4; ++h)
            at_a[h] = place_a(my_row + group, h * 4 + t);
#pragma unroll
        for (int h = 0; h < 4; ++h)
            at_b[h / 2][h % 2] = place_b(my_col + h % 2 * 8 + group, h / 2 * 4 + t);
        double x[2][TM][K / 2], y[2][TN * 2][QUARTERS], sum[TM * TN * 8] = {};
        const auto read = [&](int slot, int turn) {
            const double *const staged = reinterpret_cast<const double *>(gemm_dmma_staged) + slot * SIZE;
#pragma unroll
            for (int h = turn * QUARTERS; h < (turn + 1) * QUARTERS; ++h) {
#pragma unroll
                for (int j = 0; j < TN * 2; ++j)
                    y[turn % 2][j][h % QUARTERS] = staged[at_b[h % 2][j % 2] + h / 2 * 8 * BN + j / 2 * 16];
#pragma unroll
                for (int j = 0; j < TM * 2; ++j)
                    x[turn % 2][j / 2][h % QUARTERS * 2 + j % 2] = staged[at_a[h] + j * 8 * DEPTH];
            }
        };

        int slot = 0, free_slot = STAGES - 1;
        await();
        read(0, 0);
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            const unsigned on = step + STAGES - 1 < steps ? ~0u : 0;
#pragma unroll
            for (int turn = 0; turn < TURNS; ++turn) {
                if (turn < PARTS) {
#pragma unroll
                    for (int j = turn * COPIES_A / PARTS; j < (turn + 1) * COPIES_A / PARTS; ++j)
                        stage_a(free_slot, j, rows & on);
#pragma unroll
                    for (int j = turn * COPIES_B / PARTS; j < (turn + 1) * COPIES_B / PARTS; ++j)
                        stage_b(free_slot, j, cols & on);
                } else { // behind the last step there is none to read: its own serves, and is not used
                    commit();
                    from_a += DEPTH;
                    from_b += DEPTH * g.b_row;
                    free_slot = slot;
                    slot = step + 1 == steps ? slot : slot + 1 == STAGES ? 0 : slot + 1;
                    await();
                }
                read(slot, (turn + 1) % TURNS);
#pragma unroll
                for (int e = 0; e < TM * TN * 2; ++e) { // to and fro, so that each mma shares an operand with the last
                    const int at = e / (TN * 2), col = at % 2 ? TN * 2 - 1 - e % (TN * 2) : e % (TN * 2);
                    multiply_whole(sum + (at * TN * 2 + col) * 4, x[turn % 2][at], y[turn % 2][col]);
                }
            }
        }
        finish(g, place, my_row, my_col, sum);
    }

    // Writes a warp's sums, where they are those of the whole k.
    static __device__ __forceinline__ void finish(const gemm_dmma_call &g, const gemm_dmma_place &place, int row,
                                                  int col, double (&sum)[TM * TN * 8])
    {
        if constexpr (JOINS)
            if (place.parts > 1 && !join(g, place, sum))
                return;
#pragma unroll
        for (int f = 0; f < TM * TN; ++f)
            write(g, place, row + f / TN * 16, col + f % TN * 16, sum + f * 8);
    }

    static __device__ __forceinline__ void make(const gemm_dmma_call &g, const gemm_dmma_place &place)
    {
        // Who am I: the warp's part of the tile, and of the k of a stage.
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warp_k = warp / (AM * AN);
        const int my_row = warp % AM * 16 * TM, my_col = warp / AM % AN * 16 * TN;

        // The first steps. One group of copies each, so that counting groups counts steps; some may be empty.
        const int steps = int((place.end_k - place.first_k + DEPTH - 1) / DEPTH);
        for (int step = 0; step < STAGES - 1; ++step) {
            if (step < steps)
                stage(g, place, step, step);
            asm volatile("cp.async.commit_group;" ::: "memory");
        }

        double sum[TM * TN * 8] = {};
        int slot = 0, free_slot = STAGES - 1;
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

            // The step was copied by all threads: none may read it before the last has waited for its part. And that
            // before it was read by all: none may overwrite it before the last has read.
            __syncthreads();
            if (step + STAGES - 1 < steps)
                stage(g, place, step + STAGES - 1, free_slot);
            asm volatile("cp.async.commit_group;" ::: "memory");

            // Compute.
            const double *const staged = reinterpret_cast<const double *>(gemm_dmma_staged) + slot * SIZE;
#pragma unroll
            for (int q = 0; q < DEPTH / AK; q += 8)
                multiply(sum, staged, my_row, my_col, warp_k * (DEPTH / AK) + q);
            free_slot = slot;
            slot = slot + 1 == STAGES ? 0 : slot + 1;
        }

        // Write.
        if constexpr (AK == 1) {
            finish(g, place, my_row, my_col, sum);
        } else {
            static_assert(TM * TN <= AK);

            // What is staged was read by all: none may use its place before the last has read.
            __syncthreads();
            double *const sums = reinterpret_cast<double *>(gemm_dmma_staged) + lane;
#pragma unroll
            for (int e = 0; e < SUMS; ++e)
                sums[(warp * SUMS + e) * 32] = sum[e];

            // All sums must be there before any is read.
            __syncthreads();
            double all[8] = {};
            if (warp_k < TM * TN) {
#pragma unroll
                for (int e = 0; e < AK * 8; ++e)
                    all[e % 8] += sums[((warp % (AM * AN) + e / 8 * (AM * AN)) * SUMS + warp_k * 8 + e % 8) * 32];
            }
            if ((place.parts == 1 || join(g, place, all)) && warp_k < TM * TN)
                write(g, place, my_row + warp_k / TN * 16, my_col + warp_k % TN * 16, all);
        }
    }

    // Finds the block's product, its tile, in order down the columns of a band of tiles, and its part of k. Tiles that
    // look ahead take rows of neighbours only.
    template <bool AHEAD> static __device__ __forceinline__ void run(gemm_dmma_call g)
    {
        // The launches before have ended, whose results may be the operands, and who read what is written here.
        cudaGridDependencySynchronize();
        const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
        if (item >= g.stack)
            return;
        g.a += item * g.a_stack;
        g.b += item * g.b_stack;
        constexpr unsigned GROUP = 1024 / BM;
        const unsigned tiles_m = unsigned((g.m + BM - 1) / BM), tiles_n = unsigned((g.n + BN - 1) / BN);
        const unsigned tiles = tiles_m * tiles_n, parts = gridDim.x / tiles;
        const unsigned part = blockIdx.x / tiles, order = blockIdx.x % tiles;
        const unsigned band = order / (GROUP * tiles_n) * GROUP, in_band = order % (GROUP * tiles_n);
        const unsigned band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
        const long long first = part * g.part_k, end = first + g.part_k < g.k ? first + g.part_k : g.k;
        const bool joined = JOINS && g.tickets != nullptr;
        const unsigned tile = unsigned(item) * tiles + order;
        const gemm_dmma_place place = {(long long)(band + in_band % band_tiles) * BM,
                                       (long long)(in_band / band_tiles) * BN,
                                       first,
                                       end,
                                       g.c + (joined ? item : part * g.stack + item) * g.m * g.n,
                                       joined ? parts : 1,
                                       part,
                                       tile,
                                       tile * parts};
        if constexpr (AHEAD) {
            const bool two_a = measure_width(g.a, g.a_row, g.a_col) == 2 && g.k % 2 == 0;
            const bool two_b = measure_width(g.b, g.b_row, g.b_col) == 2 && g.n % 2 == 0;
            if (two_a && two_b)
                make_ahead<2, 2>(g, place);
            else if (two_a)
                make_ahead<2, 1>(g, place);
            else if (two_b)
                make_ahead<1, 2>(g, place);
            else
                make_ahead<1, 1>(g, place);
        } else {
            make(g, place);
        }
    }
};

// Adds the sums of all parts of k: a group of lanes makes one element, each lane every so many parts.
extern "C" __global__ void __launch_bounds__(128) gemm_dmma_add(const double *__restrict__ sums, double *__restrict__ c,
                                                                long long elements, long long parts, long long lanes)
{
    // The products have ended.
    cudaGridDependencySynchronize();
    const long long i = (blockIdx.x * 128ll + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x % lanes);
    double sum = 0;
#pragma unroll 4
    for (long long part = lane; part < parts; part += lanes)
        sum += i < elements ? sums[part * elements + i] : 0.0;
    for (int other = int(lanes) / 2; other > 0; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    if (lane == 0 && i < elements)
        c[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_dmma_low(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                  long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                  unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                  long long b_stack)
{
    gemm_dmma_tile<1, 2, 1, 1, 4, 64, 3>::run<false>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_dmma_thin(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                   long long b_stack)
{
    gemm_dmma_tile<2, 1, 1, 1, 4, 64, 3>::run<false>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 2)
    gemm_dmma_small(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                    long long b_stack)
{
    gemm_dmma_tile<2, 2, 1, 1, 4, 64, 3>::run<false>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_dmma_turned_square(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c,
                            long long m, long long k, long long n, long long a_row, long long a_col, long long b_row,
                            long long b_col, unsigned *tickets, double *sums, long long part_k, long long stack,
                            long long a_stack, long long b_stack)
{
    gemm_dmma_tile<2, 2, 2, 2, 1, 16, 4>::run<false>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 2)
    gemm_dmma_turned(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                     long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                     unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                     long long b_stack)
{
    gemm_dmma_tile<4, 2, 2, 2, 1, 16, 4>::run<false>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_dmma_joint(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                    long long b_stack)
{
    gemm_dmma_tile<1, 1, 2, 2, 1, 32, 4>::run<true>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_dmma_flat(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                   long long b_stack)
{
    gemm_dmma_tile<1, 2, 2, 2, 1, 16, 6>::run<true>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
    gemm_dmma_square(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                     long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                     unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                     long long b_stack)
{
    gemm_dmma_tile<2, 2, 2, 2, 1, 16, 4>::run<true>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 2)
    gemm_dmma_wide(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                   long long b_stack)
{
    gemm_dmma_tile<4, 2, 1, 4, 1, 16, 4>::run<true>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_dmma_large(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                    long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                    unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack,
                    long long b_stack)
{
    gemm_dmma_tile<4, 2, 2, 4, 1, 32, 3>::run<true>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 2)
    gemm_dmma(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
              long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
              unsigned *tickets, double *sums, long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_dmma_tile<4, 2, 2, 2, 1, 16, 4>::run<true>(
        {a, b, c, sums, tickets, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}
