// gemm / direct
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major, or any
//          arrays of these shapes: their strides are parameters.
// Idea     gemm/tuned lays out both operands before it multiplies, which pays where each is used often. Small products,
//          and those with few rows or columns, wait longer for that launch and its bytes than for the products. So
//          here the operands are copied to shared memory as they are, and each warp cuts what it reads into parts.
//          - In small tiles the warps share the tile, or each goes over a part of the staged k, so that no number is
//            cut twice, and their sums are added at the end, in order.
//          - In larger ones lanes read a step of k from memory into registers, and write its parts to shared memory
//            as mma wants them: each number is cut once, and not by every warp that reads it (gemm_direct_once). The
//            cuts of the next step stand between the products of this one, which leave room for them.
//          - A lane reads four neighbours at once, along k or along a row of b, and takes them for the rows, columns
//            and k that mma wants: in which order these are numbered changes no sum. An xor of row and column spreads
//            the reads over all banks.
//          - Copies have 16 bytes where the operand's rows allow it, else 8 or 4, along the side on which neighbours
//            lie in memory: a transposed operand needs no copy of its own.
//          - Infinities, NaN and numbers of 2^110 or more have no parts: what they meet becomes NaN. So a tile with
//            such an element is made again by fma, and takes those elements from there.
//          - Where there are few tiles, k is cut into parts, whose sums are added in order (add; gemm/split_k).
//          - One launch makes a stack of products, as many tiles more.
// Differs  from gemm/tuned: the operands are cut where they are used, by one launch.
// Claims   shared.load.conflicts = 0     k, n multiples of 4
// Length   more than an exhibit has: it is the fast one for small products and has tiles of ten kinds.
// Source   as gemm/tuned; measured on an H200

extern __shared__ float4 gemm_direct_staged[];

// What a launch works on: a stack of products; c is (m, n) for each, and for several parts of k a stack for each.
struct gemm_direct_call {
    const float *a, *b;
    float *c;
    long long m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack;
};

// What a block makes: a tile whose first element is this, and a part of k.
struct gemm_direct_place {
    long long row, col, first_k, end_k;
    float *c;
};

// Cuts SCALE * x and SCALE * y into three parts, and packs them in pairs.
static __device__ __forceinline__ void gemm_direct_cut(float x, float y, unsigned (&pair)[3])
{
    constexpr float SCALE = 0x1p17f;
    x *= SCALE;
    y *= SCALE;
#pragma unroll
    for (int p = 0; p < 3; ++p) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair[p]) : "f"(y), "f"(x));
        x -= __uint_as_float(pair[p] << 16);
        y -= __uint_as_float(pair[p] & 0xffff0000);
    }
}

// Adds to the sums what 16 k make: TM fragments of a, and two of b, of 8 columns each.
template <int TM>
static __device__ __forceinline__ void gemm_direct_multiply(float (*sum)[TM][4], const unsigned (&a)[TM][3][4],
                                                            const unsigned (&b)[2][2][3])
{
    float part[2][TM][4] = {};
#pragma unroll
    for (int order = 2; order >= 0; --order) // the small products first
#pragma unroll
        for (int p = 0; p <= order; ++p)
#pragma unroll
            for (int i = 0; i < 2 * TM; ++i) {
                float(&to)[4] = part[i / TM][i % TM];
                const unsigned(&x)[4] = a[i % TM][p];
                asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
                    : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(b[i / TM][0][order - p]),
                      "r"(b[i / TM][1][order - p]));
            }
#pragma unroll
    for (int e = 0; e < 2 * TM * 4; ++e)
        sum[e / TM / 4][e / 4 % TM][e % 4] += part[e / TM / 4][e / 4 % TM][e % 4];
}

// A block of AM x AN x AK warps: rows, columns, and parts of the staged k. A warp makes 16 TM x 32 TN elements, and
// takes EACH panels of 16 k of a stage.
template <int TM, int TN, int AM, int AN, int AK, int EACH, int STAGES> struct gemm_direct_tile {
    static constexpr int BM = 16 * TM * AM, BN = 32 * TN * AN, DEPTH = 16 * AK * EACH, THREADS = 32 * AM * AN * AK;
    static constexpr int WORDS = (BM + BN) * DEPTH, PITCH = BN + 4, ELEMENTS = BM * BN / THREADS;

    // Where in a stage an element of a lies, and one of b. Four neighbours stay together.
    static __device__ __forceinline__ int place_a(int row, int i)
    {
        return (i / 16 * BM + row) * 16 + ((i / 4 ^ row / 2) % 4) * 4 + i % 4;
    }
    static __device__ __forceinline__ int place_b(int col, int i)
    {
        return BM * DEPTH + i * BN + (col / 4 ^ i / 4 % 4 * 2) * 4 + col % 4;
    }

    // Copies LINES x DEPTH elements, V at a time: lines are rows of a or columns of b, and lie `step` apart, neighbours
    // along k `step_k`. Zeros stand for what is outside.
    template <int LINES, int V, bool ALONG_K, typename Place>
    static __device__ __forceinline__ void copy(const float *from, long long step, long long step_k, int lines,
                                                int depth, Place place)
    {
        constexpr int ACROSS = ALONG_K ? DEPTH / V : LINES / V, TURNS = LINES * DEPTH / V / THREADS;
        const int x = threadIdx.x % ACROSS * V, y = threadIdx.x / ACROSS;
        const int line = ALONG_K ? y : x, i = ALONG_K ? x : y;
        from += line * step + i * step_k;
        const long long stride = THREADS / ACROSS * (ALONG_K ? step : step_k);
#pragma unroll 8
        for (int j = 0; j < TURNS; ++j) {
            const int here = line + (ALONG_K ? j * (THREADS / ACROSS) : 0);
            const int at = i + (ALONG_K ? 0 : j * (THREADS / ACROSS));
            const int left = ALONG_K ? (here < lines ? depth - at : 0) : (at < depth ? lines - here : 0);
            const int bytes = left >= V ? 4 * V : left > 0 ? 4 * left : 0;
            if constexpr (V == 4)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place(here, at)), "l"(from),
                             "r"(bytes)
                             : "memory");
            else
                asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(place(here, at)), "l"(from),
                             "r"(bytes), "n"(4 * V)
                             : "memory");
            from += stride;
        }
    }

    // How many elements of a row of the operand can be copied at once: 0 where they do not lie side by side.
    static __device__ __forceinline__ int measure_width(const float *from, long long step, long long step_along)
    {
        const long long odd = (long long)((size_t)from / 4) | step;
        return step_along != 1 ? 0 : odd % 4 == 0 ? 4 : odd % 2 == 0 ? 2 : 1;
    }

    static __device__ __forceinline__ void stage(const gemm_direct_call &g, const gemm_direct_place &place, int step,
                                                 int slot)
    {
        const unsigned to = (unsigned)__cvta_generic_to_shared(gemm_direct_staged) + slot * WORDS * 4;
        const auto to_a = [&](int row, int i) { return to + place_a(row, i) * 4; };
        const auto to_b = [&](int col, int i) { return to + place_b(col, i) * 4; };
        const long long first = place.first_k + step * (long long)DEPTH, left = place.end_k - first;
        const int depth = left < DEPTH ? int(left) : DEPTH;
        const int rows = g.m - place.row < BM ? int(g.m - place.row) : BM;
        const int cols = g.n - place.col < BN ? int(g.n - place.col) : BN;
        const float *const from_a = g.a + place.row * g.a_row + first * g.a_col;
        const float *const from_b = g.b + first * g.b_row + place.col * g.b_col;
        switch (measure_width(from_a, g.a_row, g.a_col)) {
        case 4:
            copy<BM, 4, true>(from_a, g.a_row, 1, rows, depth, to_a);
            break;
        case 2:
            copy<BM, 2, true>(from_a, g.a_row, 1, rows, depth, to_a);
            break;
        case 1:
            copy<BM, 1, true>(from_a, g.a_row, 1, rows, depth, to_a);
            break;
        default:
            copy<BM, 1, false>(from_a, g.a_row, g.a_col, rows, depth, to_a);
        }
        switch (measure_width(from_b, g.b_row, g.b_col)) {
        case 4:
            copy<BN, 4, false>(from_b, 1, g.b_row, cols, depth, to_b);
            break;
        case 2:
            copy<BN, 2, false>(from_b, 1, g.b_row, cols, depth, to_b);
            break;
        case 1:
            copy<BN, 1, false>(from_b, 1, g.b_row, cols, depth, to_b);
            break;
        default:
            copy<BN, 1, true>(from_b, g.b_col, g.b_row, cols, depth, to_b);
        }
    }

    // Stages step by step and calls `work` with what is staged, and whether the step is one of the block's.
    template <typename Work>
    static __device__ __forceinline__ void walk(const gemm_direct_call &g, const gemm_direct_place &place, Work work)
    {
        const int steps = int((place.end_k - place.first_k + DEPTH - 1) / DEPTH);
        for (int step = 0; step < STAGES - 1; ++step) { // one group each; some may be empty
            if (step < steps)
                stage(g, place, step, step);
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
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
            work(reinterpret_cast<const float *>(gemm_direct_staged) + slot * WORDS);
            free_slot = slot;
            slot = slot + 1 == STAGES ? 0 : slot + 1;
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");

        // What is staged was read by all: none may use its place before the last has read.
        __syncthreads();
    }

    // Makes the tile again by fma, and writes the elements that are not finite.
    static __device__ __noinline__ void make_again(const gemm_direct_call &g, const gemm_direct_place &place)
    {
        float sum[ELEMENTS] = {};
        walk(g, place, [&](const float *staged) {
#pragma unroll 1
            for (int i = 0; i < DEPTH; ++i)
#pragma unroll
                for (int e = 0; e < ELEMENTS; ++e) {
                    const int at = e * THREADS + threadIdx.x;
                    sum[e] += staged[place_a(at / BN, i)] * staged[place_b(at % BN, i)];
                }
        });
#pragma unroll
        for (int e = 0; e < ELEMENTS; ++e) {
            const long long row = place.row + (e * THREADS + threadIdx.x) / BN;
            const long long col = place.col + (e * THREADS + threadIdx.x) % BN;
            if (row < g.m && col < g.n && 0 * place.c[row * g.n + col] != 0)
                place.c[row * g.n + col] = sum[e];
        }
    }

    static __device__ __forceinline__ void make(const gemm_direct_call &g, const gemm_direct_place &place)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int warp_m = warp % AM, warp_n = warp / AM % AN, warp_k = warp / (AM * AN);
        const int my_row = warp_m * 16 * TM, my_col = warp_n * 32 * TN;

        // Compute.
        float sum[TN * 4][TM][4] = {};
        walk(g, place, [&](const float *staged) {
#pragma unroll
            for (int q = 0; q < EACH; ++q) {
                const int first = (warp_k * EACH + q) * 16 + lane % 4 * 4;
                unsigned part_a[TM][3][4], pair[3];
#pragma unroll
                for (int e = 0; e < TM * 4; ++e) { // rows 8 apart, and k of both halves of a fragment
                    const int i = e / 4, h = e % 2;
                    const float4 x =
                        *reinterpret_cast<const float4 *>(staged + place_a(my_row + i * 16 + h * 8 + lane / 4, first));
                    if (e % 4 < 2)
                        gemm_direct_cut(x.x, x.y, pair);
                    else
                        gemm_direct_cut(x.z, x.w, pair);
                    for (int p = 0; p < 3; ++p)
                        part_a[i][p][e % 4] = pair[p];
                }
#pragma unroll
                for (int j = 0; j < TN; ++j) {
                    float4 x[4];
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        x[e] = *reinterpret_cast<const float4 *>(staged +
                                                                 place_b(my_col + j * 32 + lane / 4 * 4, first + e));
                    const float(*const at)[4] = reinterpret_cast<const float(*)[4]>(x);
#pragma unroll
                    for (int s = 0; s < 4; s += 2) {
                        unsigned part_b[2][2][3];
#pragma unroll
                        for (int e = 0; e < 4; ++e)
                            gemm_direct_cut(at[e % 2 * 2][s + e / 2], at[e % 2 * 2 + 1][s + e / 2],
                                            part_b[e / 2][e % 2]);
                        gemm_direct_multiply<TM>(&sum[j * 4 + s], part_a, part_b);
                    }
                }
            }
        });

        // Add up the sums of all warps, where the stages were.
        constexpr float UNSCALE = 0x1p-34f;
        float *const sums = reinterpret_cast<float *>(gemm_direct_staged);
#pragma unroll
        for (int e = 0; e < TM * TN * 4; ++e) {
            const int i = e / (TN * 4), h = e / (TN * 2) % 2, j = e / 2 % TN * 4, s = h * 2 + e % 2;
            const int row = warp_k * BM + my_row + i * 16 + h * 8 + lane / 4,
                      col = my_col + j * 8 + lane % 4 * 8 + e % 2 * 4;
            *reinterpret_cast<float4 *>(sums + row * PITCH + col) =
                make_float4(sum[j][i][s], sum[j + 1][i][s], sum[j + 2][i][s], sum[j + 3][i][s]);
        }

        // All sums must be there before any is read.
        __syncthreads();
        bool whole = true;
#pragma unroll 8
        for (int e = 0; e < ELEMENTS; ++e) {
            const int row = (e * THREADS + threadIdx.x) / BN, col = (e * THREADS + threadIdx.x) % BN;
            float x = sums[row * PITCH + col];
#pragma unroll
            for (int w = 1; w < AK; ++w)
                x += sums[(w * BM + row) * PITCH + col];
            x *= UNSCALE;
            if (place.row + row < g.m && place.col + col < g.n) {
                place.c[(place.row + row) * g.n + place.col + col] = x;
                whole = whole && 0 * x == 0;
            }
        }

        // The sums are read by all, and c is written: none may stage there, or look at c, before the last is ready.
        if (__syncthreads_or(!whole))
            make_again(g, place);
    }
};

// The same for larger tiles, of WM x WN warps with 16 TM x 16 TN elements each, and GROUPS times as many warps: each
// group takes 16 k of a step. Each number is read from memory once by a block, and cut once. While a warp multiplies
// one step it cuts its share of the next one, and reads from memory that of the one after; and the first operands of
// the next step are read before the last products of this one. All meet before the 16 columns with index MEET: what is
// read behind that is of a third slot. QUADS: four neighbours along k of a, and two along a row of b, are read at once;
// else one number at a time, which suits every layout.
template <int TM, int TN, int WM, int WN, int GROUPS, int MEET, bool QUADS, typename Again> struct gemm_direct_once {
    static constexpr int BM = 16 * TM * WM, BN = 16 * TN * WN, EACH_GROUP = WM * WN, WARPS = EACH_GROUP * GROUPS;
    static constexpr int DEPTH = 16 * GROUPS, ALL_A = BM / 16 * GROUPS, FRAGMENTS = ALL_A + BN / 16 * GROUPS;
    static constexpr int FROM_A = ALL_A / WARPS, EACH = FRAGMENTS / WARPS; // fragments that a warp cuts in a step
    static constexpr int WORDS = 3 * 32, STEP = FRAGMENTS * WORDS;         // of 16 bytes, of a fragment and of a step
    static constexpr int SLOTS = MEET + 1 < TN ? 3 : 2, NEXT_K = QUADS ? 1 : 4; // the k of a lane lie so far apart
    static_assert(ALL_A % WARPS == 0 && FRAGMENTS % WARPS == 0 && TN % (2 * GROUPS) == 0);
    static_assert(BM == Again::BM && BN == Again::BN && 32 * WARPS == Again::THREADS);

    // What a lane reads of a fragment of 16 rows of a, or columns of b: of two lines four k.
    struct source {
        const float *at[2];
        int first_k;
    };

    // Behind the last row or column the last one is read again: what that gives is not written.
    static __device__ __forceinline__ source find(const gemm_direct_call &g, const gemm_direct_place &place, int f)
    {
        const int index = threadIdx.x / 32 + f * WARPS - (f < FROM_A ? 0 : ALL_A), t = threadIdx.x % 4;
        const int line = index / GROUPS * 16, q = threadIdx.x % 32 / 4;
        const int first_k = index % GROUPS * 16 + (QUADS ? 4 * t : t);
        const long long k = place.first_k + first_k;
        const long long left = f < FROM_A ? g.m - place.row : g.n - place.col;
        const int last = int(left < BM + BN ? left : BM + BN) - 1;
        if (f >= FROM_A && QUADS) {
            const int x = line + 2 * q < last ? line + 2 * q : last - 1;
            return {{g.b + k * g.b_row + place.col + x, nullptr}, first_k};
        }
        const long long along = f < FROM_A ? g.a_row : QUADS ? 1 : g.b_col;
        const float *const at = f < FROM_A ? g.a + place.row * along + k * (QUADS ? 1 : g.a_col)
                                           : g.b + place.col * along + k * g.b_row;
        const int x = line + q < last ? line + q : last, y = line + q + 8 < last ? line + q + 8 : last;
        return {{at + x * along, at + y * along}, first_k};
    }

    // Reads a lane's part of a step, 0 for k outside; not by __ldg, which ptxas moves past the barrier, where all wait.
    static __device__ __forceinline__ void load(const gemm_direct_call &g, source &from, float (&number)[2][4], int f,
                                                int depth)
    {
        const int left = depth - from.first_k;
        const long long step = f < FROM_A ? QUADS ? 1 : g.a_col : g.b_row;
        if (QUADS && f < FROM_A) {
#pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<float4 *>(number[h]) =
                    left > 0 ? *reinterpret_cast<const float4 *>(from.at[h]) : float4{};
        } else if (QUADS) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const float2 x = left > 0 ? *reinterpret_cast<const float2 *>(from.at[0] + e * step) : float2{};
                number[0][e] = x.x;
                number[1][e] = x.y;
            }
        } else {
#pragma unroll
            for (int e = 0; e < 8; ++e)
                number[e / 4][e % 4] = left > e % 4 * NEXT_K ? from.at[e / 4][e % 4 * NEXT_K * step] : 0.0f;
        }
        from.at[0] += DEPTH * step;
        from.at[1] += DEPTH * step;
    }

    // Cuts what was read, and writes it. mma wants side by side: of a, the two rows of two k; of b, all k of a column.
    static __device__ __forceinline__ void put(const float (&number)[2][4], int f, uint4 *to)
    {
        unsigned pair[2][2][3];
#pragma unroll
        for (int e = 0; e < 4; ++e)
            gemm_direct_cut(number[e / 2][e % 2 * 2], number[e / 2][e % 2 * 2 + 1], pair[e / 2][e % 2]);
        to += (threadIdx.x / 32 + f * WARPS) * WORDS + threadIdx.x % 32;
#pragma unroll
        for (int p = 0; p < 3; ++p) {
            const unsigned x = pair[0][1][p], y = pair[1][0][p];
            to[p * 32] = make_uint4(pair[0][0][p], f < FROM_A ? y : x, f < FROM_A ? x : y, pair[1][1][p]);
        }
    }

    static __device__ __forceinline__ void make(const gemm_direct_call &g, const gemm_direct_place &place)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, depth = int(place.end_k - place.first_k);
        const int group = warp / EACH_GROUP, first_m = warp % WM * TM, first_n = warp / WM % WN * TN;
        uint4 *const staged = reinterpret_cast<uint4 *>(gemm_direct_staged);
        source from[EACH];
        float number[EACH][2][4], sum[TN * 2][TM][4] = {};
#pragma unroll
        for (int f = 0; f < EACH; ++f) {
            from[f] = find(g, place, f);
            load(g, from[f], number[f], f, depth);
        }
#pragma unroll
        for (int f = 0; f < EACH; ++f) {
            put(number[f], f, staged);
            load(g, from[f], number[f], f, depth - DEPTH);
        }

        // What a warp multiplies: its rows of a; and of b 16 columns, and the next ones.
        unsigned next_a[TM][3][4], part_b[2][2][2][3];
        const auto read_a = [&](const uint4 *step) {
#pragma unroll
            for (int e = 0; e < TM * 3; ++e)
                *reinterpret_cast<uint4 *>(next_a[e / 3][e % 3]) =
                    step[((first_m + e / 3) * GROUPS + group) * WORDS + e % 3 * 32 + lane];
        };
        const auto read_b = [&](const uint4 *step, int j) {
#pragma unroll
            for (int e = 0; e < 12; ++e) {
                const uint4 &x = step[(ALL_A + (first_n + j) * GROUPS + group) * WORDS + e % 3 * 32 + lane];
                part_b[j % 2][e / 6][e / 3 % 2][e % 3] = reinterpret_cast<const unsigned *>(&x)[e / 3];
            }
        };

        // The first step was written by all threads: none may read it before the last has written.
        __syncthreads();
        read_a(staged);
        read_b(staged, 0);
        int slot = 0;
#pragma unroll 1
        for (int done = 0; done < depth; done += DEPTH) {
            const int next_slot = slot + 1 == SLOTS ? 0 : slot + 1;
            uint4 *const here = staged + slot * STEP, *const next = staged + next_slot * STEP;
            unsigned part_a[TM][3][4];
#pragma unroll
            for (int e = 0; e < TM * 12; ++e)
                part_a[e / 12][e / 4 % 3][e % 4] = next_a[e / 12][e / 4 % 3][e % 4];
#pragma unroll
            for (int j = 0; j < TN; ++j) {
                if (j == MEET)
                    // The next step was written by all threads: none may read it before the last has written. And of
                    // what was two steps before all have read: the step after the next may overwrite it.
                    __syncthreads();
                if (j + 1 < TN) {
                    read_b(here, j + 1);
                } else {
                    read_a(next);
                    read_b(next, 0);
                }
#pragma unroll
                for (int f = 0; f < EACH; ++f)
                    if (f * MEET / EACH == j) {
                        put(number[f], f, next);
                        load(g, from[f], number[f], f, depth - done - 2 * DEPTH);
                    }
                gemm_direct_multiply<TM>(&sum[j * 2], part_a, part_b[j % 2]);
            }
            slot = next_slot;
        }
        float *const mine = &sum[0][0][0];
        if (GROUPS == 2)
            exchange(mine, group, warp % EACH_GROUP * 32 + lane);
        const bool whole = write(g, place, mine, first_m, first_n + group * (TN / GROUPS));

        // What is staged was read by all, and c is written: none may stage there, or look at c, before that. What
        // make_again is called with is copied here: else all calls would write it to memory.
        if (__syncthreads_or(!whole)) {
            const gemm_direct_call again = g;
            const gemm_direct_place there = place;
            Again::make_again(again, there);
        }
    }

    // Of two groups, each gives away the sums of half of the columns and adds what it gets of the others to its own.
    static __device__ __forceinline__ void exchange(float *sum, int group, int thread)
    {
        constexpr int HALF = TN * TM * 8 / 2;
        float *const sums = reinterpret_cast<float *>(gemm_direct_staged) + thread;

        // What is staged was read by all: none may put sums there before the last has read.
        __syncthreads();
#pragma unroll
        for (int e = 0; e < HALF; ++e)
            sums[(group * HALF + e) * (EACH_GROUP * 32)] = group == 0 ? sum[HALF + e] : sum[e];

        // The other group's sums must be there before they are read.
        __syncthreads();
#pragma unroll
        for (int e = 0; e < HALF; ++e)
            sum[e] = (group == 0 ? sum[e] : sum[HALF + e]) + sums[((1 - group) * HALF + e) * (EACH_GROUP * 32)];
    }

    // Writes four neighbours at once; else two where rows of c are made of them. Returns whether all are finite.
    static __device__ __forceinline__ bool write(const gemm_direct_call &g, const gemm_direct_place &place,
                                                 const float *sum, int first_m, int first_n)
    {
        constexpr float UNSCALE = 0x1p-34f;
        const int lane = threadIdx.x % 32, t = lane % 4;
        bool whole = true, is_even = g.n % 2 == 0 && (size_t)place.c % 8 == 0;
#pragma unroll
        for (int e = 0; e < TN / GROUPS * TM * 2; ++e) {
            const int j = e / (TM * 2), i = e / 2 % TM, h = e % 2;
            const float *const at = sum + (j * 2 * TM + i) * 4 + h * 2, *const beside = at + TM * 4;
            const long long row = place.row + (first_m + i) * 16 + h * 8 + lane / 4;
            const long long col = place.col + (first_n + j) * 16;
            const float2 x = make_float2(at[0] * UNSCALE, at[1] * UNSCALE);
            const float2 y = make_float2(beside[0] * UNSCALE, beside[1] * UNSCALE);
            const int left = row < g.m ? int(g.n - col < 16 ? g.n - col : 16) : 0;
            float *const to = place.c + row * g.n + col;
            whole = whole && 0 * x.x == 0 && 0 * x.y == 0 && 0 * y.x == 0 && 0 * y.y == 0;
            if (QUADS) { // columns of b were read by twos, for two tiles of mma
                if (4 * t < left)
                    __stwb(reinterpret_cast<float4 *>(to + 4 * t), make_float4(x.x, y.x, x.y, y.y));
                continue;
            }
            if (is_even && 2 * t < left)
                __stwb(reinterpret_cast<float2 *>(to + 2 * t), x);
            if (is_even && 2 * t + 8 < left)
                __stwb(reinterpret_cast<float2 *>(to + 2 * t + 8), y);
#pragma unroll
            for (int s = 0; s < 4; ++s)
                if (!is_even && 2 * t + s / 2 * 8 + s % 2 < left)
                    to[2 * t + s / 2 * 8 + s % 2] = s == 0 ? x.x : s == 1 ? x.y : s == 2 ? y.x : y.y;
        }
        return whole;
    }
};

// Finds the block's product, its tile, in order down the columns of a band of tiles, and its part of k, and makes it.
template <typename Tile> static __device__ __forceinline__ void gemm_direct_run(gemm_direct_call g)
{
    constexpr unsigned BM = Tile::BM, BN = Tile::BN, GROUP = 512 / BM;
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
    if (item >= g.stack)
        return;
    g.a += item * g.a_stack;
    g.b += item * g.b_stack;
    const unsigned tiles_m = unsigned((g.m + BM - 1) / BM), tiles_n = unsigned((g.n + BN - 1) / BN);
    const unsigned part = blockIdx.x / (tiles_m * tiles_n), order = blockIdx.x % (tiles_m * tiles_n);
    const unsigned band = order / (GROUP * tiles_n) * GROUP, in_band = order % (GROUP * tiles_n);
    const unsigned band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
    const long long first = part * g.part_k, end = first + g.part_k < g.k ? first + g.part_k : g.k;
    Tile::make(g, {(long long)(band + in_band % band_tiles) * BM, (long long)(in_band / band_tiles) * BN, first, end,
                   g.c + (part * g.stack + item) * g.m * g.n});
}

// Adds the sums of all parts of k: a group of lanes makes one element, each lane every so many parts.
extern "C" __global__ void __launch_bounds__(128) gemm_direct_add(const float *__restrict__ sums, float *__restrict__ c,
                                                                  long long elements, long long parts, long long lanes)
{
    const long long i = (blockIdx.x * 128ll + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x % lanes);
    float sum = 0;
#pragma unroll 4
    for (long long part = lane; part < parts; part += lanes)
        sum += i < elements ? sums[part * elements + i] : float(0);
    for (int other = int(lanes) / 2; other > 0; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    if (lane == 0 && i < elements)
        c[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128, 5)
gemm_direct_low(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_tile<1, 1, 1, 1, 4, 1, 3>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
gemm_direct_wide(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                 long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                 long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_tile<1, 1, 1, 4, 1, 2, 3>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
gemm_direct_tall(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                 long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                 long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_tile<2, 1, 4, 1, 1, 2, 3>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 3)
gemm_direct_square(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                   long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                   long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_once<2, 2, 2, 2, 1, 1, false, gemm_direct_tile<2, 1, 2, 2, 1, 1, 2>>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256)
gemm_direct_broad(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                  long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                  long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_once<2, 4, 4, 2, 1, 2, false, gemm_direct_tile<4, 1, 2, 4, 1, 1, 2>>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256)
gemm_direct_joint(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                  long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                  long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_once<2, 4, 4, 1, 2, 2, false, gemm_direct_tile<2, 1, 4, 2, 1, 1, 2>>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256)
gemm_direct_broad_quads(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                        long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                        long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_once<2, 4, 4, 2, 1, 2, true, gemm_direct_tile<4, 1, 2, 4, 1, 1, 2>>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256)
gemm_direct_joint_quads(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                        long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                        long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_once<2, 4, 4, 1, 2, 2, true, gemm_direct_tile<2, 1, 4, 2, 1, 1, 2>>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 2)
gemm_direct_flat_quads(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
                       long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                       long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_once<2, 4, 2, 2, 1, 3, true, gemm_direct_tile<2, 2, 2, 2, 1, 1, 2>>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(128, 4)
gemm_direct(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, long long m,
            long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
            long long part_k, long long stack, long long a_stack, long long b_stack)
{
    gemm_direct_run<gemm_direct_tile<2, 1, 1, 1, 4, 1, 3>>(
        {a, b, c, m, k, n, a_row, a_col, b_row, b_col, part_k, stack, a_stack, b_stack});
}
