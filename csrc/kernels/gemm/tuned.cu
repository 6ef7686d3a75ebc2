// gemm / tuned
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     Tensor cores: one instruction of a warp (mma) multiplies two small matrices that lie spread over its lanes.
//          - float64 has such an instruction (8 x 4 times 4 x 8). float32 has none, but bfloat16 has (16 x 16 times
//            16 x 8, summed as float32). So a float32 is cut into three bfloat16, of 8 bits each, that lose nothing of
//            it, and of the nine products of parts the six larger are taken: on an H200 these six take less time than
//            one fma. Numbers are scaled by 2^17 before: the last parts of small ones would fall below what bfloat16
//            holds. Sums are scaled back, by 2^-34.
//          - Infinities, NaN and numbers of about 2^111 or more have no parts: they are taken as 0, marked,
//            and their products are added by fma at the end (mend), where a row or a column has few of them. Where it
//            has many, and where a sum overflows, the tile is made again as gemm/register_2d does it.
//          - The six begin at zero and are added to the sum as float32: tensor cores cut off what does not fit, an
//            addition rounds it. So a sum is nearer to the truth than a chain of fma's, from some 16 terms on; a single
//            product is not: it may be off by one bit, where fma rounds right.
//          - A launch before this one lays out both operands (arrange): in parts, and in fragments of 16 rows (columns)
//            that give each lane 16 bytes as mma wants them. What is left for the main loop is to copy fragments into
//            shared memory (cp.async, STAGES), to read them without a conflict, and mma.
//          - A block makes a tile of 128 x 64, or of 64 x 64 (narrow) where there are few; and where that is not
//            enough, a part of k, whose sums are added at the end (add; gemm/split_k).
//          - One launch makes a stack of products, as many tiles more. An operand that all of them share is laid out
//            once.
//          - Blocks go through c in bands of GROUP tiles, so that those that run together share rows and columns.
// Differs  from gemm/warp_tiled: tensor cores make the products, from operands that were laid out for them.
// Claims   shared.load.conflicts = 0
//          shared.store.instructions = 0
// Length   more than an exhibit has: it chases the last percent, and a third of it is for numbers without parts.
// Source   G. Henry, P. T. P. Tang and A. Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for
//          higher-precision computations", ARITH 2019, for the parts; the rest is measured on an H200

struct gemm_tuned_fragment {
    static constexpr int PARTS = sizeof(T) == 4 ? 3 : 1;   // of a number
    static constexpr int TILE_K = sizeof(T) == 4 ? 16 : 4; // beside 16 rows or columns
    static constexpr int WORDS = PARTS * 32;               // of 16 bytes, all parts
    static constexpr int MARKS = 8;                        // words, behind the words of all fragments
    static constexpr float SCALE = 0x1p17f;                // of numbers, and SCALE * SCALE of sums
    static constexpr float MOST = 0x1.fep110f;             // the largest bfloat16, over SCALE
};

extern __shared__ uint4 gemm_tuned_tiles[];

// Cuts SCALE * x and SCALE * y into parts, and packs them in pairs.
template <int PARTS> static __device__ __forceinline__ void gemm_tuned_cut(float x, float y, unsigned (&pair)[PARTS])
{
    x *= gemm_tuned_fragment::SCALE;
    y *= gemm_tuned_fragment::SCALE;
    for (int p = 0; p < PARTS; ++p) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair[p]) : "f"(y), "f"(x));
        x -= __uint_as_float(pair[p] << 16);
        y -= __uint_as_float(pair[p] & 0xffff0000);
    }
}

// Lays out both operands: rows of a, or columns of b, and all k. A warp makes a fragment.
extern "C" __global__ void __launch_bounds__(128)
gemm_tuned_arrange(const T *__restrict__ a, const T *__restrict__ b, uint4 *__restrict__ to_a,
                   uint4 *__restrict__ to_b, long long m, long long k, long long n, long long a_row,
                   long long a_col, long long b_row, long long b_col, long long tiles_of_a, long long tiles_of_b,
                   long long depth, long long stack, long long a_stack, long long b_stack, long long to_a_stack,
                   long long to_b_stack)
{
    constexpr int PARTS = gemm_tuned_fragment::PARTS, TILE_K = gemm_tuned_fragment::TILE_K, EACH = TILE_K / 4;

    // Who am I: neighbours among the warps read neighbours in memory.
    const int lane = threadIdx.x % 32;
    const unsigned tiles_a = unsigned(tiles_of_a), tiles_b = unsigned(tiles_of_b), tiles_k = unsigned(depth);
    const unsigned warp = blockIdx.x * 4 + threadIdx.x / 32;
    const bool is_b = warp >= tiles_a * tiles_k;
    const unsigned index = is_b ? warp - tiles_a * tiles_k : warp, tiles = is_b ? tiles_b : tiles_a;
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
    const T *const from = is_b ? b + item * b_stack : a + item * a_stack;
    uint4 *const to = is_b ? to_b + item * to_b_stack : to_a + item * to_a_stack;
    const long long size = is_b ? n : m, step_k = is_b ? b_row : a_col, step = is_b ? b_col : a_row;
    const unsigned tile = step == 1 ? index % tiles : index / tiles_k;
    const unsigned tile_k = step == 1 ? index / tiles : index % tiles_k;
    const bool is_shared = item > 0 && (is_b ? to_b_stack : to_a_stack) == 0;
    if (tile >= tiles || tile_k >= tiles_k || item >= stack || is_shared)
        return;

    // Read EACH neighbours along k of two rows, 8 apart. Zeros stand for what is outside.
    T number[2][EACH];
    for (int h = 0; h < 2; ++h) {
        const long long row = tile * 16ll + h * 8 + lane / 4, first = tile_k * (long long)TILE_K + lane % 4 * EACH;
        const T *const at = from + row * step + first * step_k;
        for (int e = 0; e < EACH; ++e)
            number[h][e] = row < size && first + e < k ? at[e * step_k] : T(0);
    }

    // Write. mma wants side by side: of a, the two rows of one k; of b, all k of one column.
    const long long fragment = tile_k * (long long)tiles + tile, fragments = (long long)tiles * tiles_k;
    uint4 *const out = to + fragment * gemm_tuned_fragment::WORDS + lane;
    if constexpr (PARTS == 1) {
        *reinterpret_cast<double2 *>(out) = make_double2(double(number[0][0]), double(number[1][0]));
    } else {
        // Behind all fragments lie their marks: a word of the lanes for each number of a lane, then a byte: any at all?
        unsigned *const words = reinterpret_cast<unsigned *>(to + fragments * gemm_tuned_fragment::WORDS);
        unsigned odd = 0;
        for (int e = 0; e < 2 * EACH; ++e)
            if (!(fabsf(number[e / EACH][e % EACH]) <= gemm_tuned_fragment::MOST)) {
                odd |= 1u << e;
                number[e / EACH][e % EACH] = 0;
            }
        const bool any = __any_sync(~0u, odd != 0);
        for (int e = 0; any && e < 2 * EACH; ++e)
            words[fragment * 2 * EACH + e] = __ballot_sync(~0u, odd >> e & 1);
        if (lane == 0)
            reinterpret_cast<unsigned char *>(words + fragments * 2 * EACH)[fragment] = any;
        unsigned pair[2][2][PARTS];
        for (int h = 0; h < 2; ++h)
            for (int e = 0; e < EACH; e += 2)
                gemm_tuned_cut(number[h][e], number[h][e + 1], pair[h][e / 2]);
        for (int p = 0; p < PARTS; ++p) {
            const unsigned second = is_b ? pair[0][1][p] : pair[1][0][p], third = is_b ? pair[1][0][p] : pair[0][1][p];
            out[p * 32] = make_uint4(pair[0][0][p], second, third, pair[1][1][p]);
        }
    }
}

// Adds to the sums what TILE_K of k make: TM fragments of a, and b's fragment, whose halves of 8 columns take turns.
template <int TM, int PARTS>
static __device__ __forceinline__ void gemm_tuned_multiply(float (&sum)[2][TM][4], const uint4 (&a)[TM][PARTS],
                                                           const uint4 (&b)[PARTS])
{
    float part[2][TM][4] = {};
#pragma unroll
    for (int order = PARTS - 1; order >= 0; --order) { // the small products first
#pragma unroll
        for (int p = 0; p <= order; ++p)
#pragma unroll
            for (int i = 0; i < 2 * TM; ++i) {
                float(&to)[4] = part[i / TM][i % TM];
                const uint4 &x = a[i % TM][p], &y = b[order - p];
                asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
                    : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(i < TM ? y.x : y.z), "r"(i < TM ? y.y : y.w));
            }
    }
#pragma unroll
    for (int e = 0; e < 2 * TM * 4; ++e)
        sum[e / TM / 4][e / 4 % TM][e % 4] += part[e / TM / 4][e / 4 % TM][e % 4];
}

template <int TM, int PARTS>
static __device__ __forceinline__ void gemm_tuned_multiply(double (&sum)[2][TM][4], const uint4 (&a)[TM][PARTS],
                                                           const uint4 (&b)[PARTS])
{
#pragma unroll
    for (int i = 0; i < 2 * TM * 2; ++i) {
        double(&to)[4] = sum[i / TM / 2][i / 2 % TM];
        const double row = reinterpret_cast<const double *>(a[i / 2 % TM])[i % 2];
        const double column = reinterpret_cast<const double *>(b)[i / TM / 2];
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(to[i % 2 * 2]), "+d"(to[i % 2 * 2 + 1])
            : "d"(row), "d"(column));
    }
}

template <typename U> static __device__ __forceinline__ void gemm_tuned_store(U *to, U x, U y)
{
    if constexpr (sizeof(U) == 4)
        __stcs(reinterpret_cast<float2 *>(to), make_float2(x, y));
    else
        __stcs(reinterpret_cast<double2 *>(to), make_double2(x, y));
}

// What a launch works on: a stack of products; c is (m, n) for each, and for several parts of k a stack for each.
struct gemm_tuned_call {
    const T *a, *b;
    T *c;
    long long m, k, n, a_row, a_col, b_row, b_col;
    const uint4 *arranged_a, *arranged_b;
    unsigned part_steps; // of 16 k
    long long stack, a_stack, b_stack, arranged_a_stack, arranged_b_stack;
};

static __device__ __forceinline__ long long gemm_tuned_item()
{
    return (long long)blockIdx.z * gridDim.y + blockIdx.y;
}

// What a block makes: a tile of c of BM x BN, in order down the columns of a band of GROUP tiles; and a part of k.
template <int BM, int BN> struct gemm_tuned_place {
    unsigned tiles_m, tiles_n, tile_m, tile_n, first_step, end_step;
    T *c;

    __device__ __forceinline__ explicit gemm_tuned_place(const gemm_tuned_call &g)
        : tiles_m(unsigned((g.m + BM - 1) / BM)), tiles_n(unsigned((g.n + BN - 1) / BN))
    {
        constexpr unsigned GROUP = 1024 / BM;
        const unsigned part = blockIdx.x / (tiles_m * tiles_n), order = blockIdx.x % (tiles_m * tiles_n);
        const unsigned band = order / (GROUP * tiles_n) * GROUP, in_band = order % (GROUP * tiles_n);
        const unsigned band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP, steps = unsigned((g.k + 15) / 16);
        tile_m = band + in_band % band_tiles;
        tile_n = in_band / band_tiles;
        first_step = part * g.part_steps;
        end_step = first_step + g.part_steps < steps ? first_step + g.part_steps : steps;
        c = g.c + (part * g.stack + gemm_tuned_item()) * g.m * g.n;
    }
};

// Adds the products of the numbers without parts to the block's tile, which its threads have written; and makes again
// by fma what that cannot give, as where sums overflow. `whole`: what the thread wrote is finite. No part of the kernel
// itself, so that it takes no register from the main loop.
template <int BM, int BN>
static __device__ __noinline__ void gemm_tuned_mend(const gemm_tuned_call &call, const gemm_tuned_place<BM, BN> &place,
                                                    bool whole)
{
    gemm_tuned_call g = call;
    g.a += gemm_tuned_item() * g.a_stack;
    g.b += gemm_tuned_item() * g.b_stack;
    g.arranged_a += gemm_tuned_item() * g.arranged_a_stack;
    g.arranged_b += gemm_tuned_item() * g.arranged_b_stack;

    constexpr int SIDE = BM > BN ? BM : BN, THREADS = 128, FEW = 8, DEPTH = 16, TURN = 4, NAN_THERE = -1;
    constexpr int WORDS = gemm_tuned_fragment::WORDS, MARKS = gemm_tuned_fragment::MARKS;
    auto *const where = reinterpret_cast<long long(*)[FEW][SIDE]>(gemm_tuned_tiles); // of row and column: the first k's
    auto *const count = reinterpret_cast<int(*)[SIDE]>(where + 2);                   // and how many there are
    auto *const again = reinterpret_cast<unsigned(*)[BN / 32]>(count + 2);           // of a row: bits of columns
    auto *const tile_a = reinterpret_cast<T(*)[BM + 4]>(again + BM);
    auto *const tile_b = reinterpret_cast<T(*)[BN + 4]>(tile_a + DEPTH);
    T *const c = place.c;
    const int thread = threadIdx.x, lane = thread % 32;
    const long long m = g.m, n = g.n, end_k = place.end_step * 16ll < g.k ? place.end_step * 16ll : g.k;
    const long long first_row = place.tile_m * (long long)BM, first_col = place.tile_n * (long long)BN;
    const long long steps = (g.k + 15) / 16, col = first_col + thread;
    const long long tiles_a = place.tiles_m * (long long)(BM / 16), tiles_b = place.tiles_n * (long long)(BN / 16);
    const unsigned *const marks_a = reinterpret_cast<const unsigned *>(g.arranged_a + tiles_a * steps * WORDS);
    const unsigned *const marks_b = reinterpret_cast<const unsigned *>(g.arranged_b + tiles_b * steps * WORDS);

    // Is there anything to do? The last marks, a byte a fragment, say whether any of its numbers has no parts.
    const unsigned *const any_a = marks_a + tiles_a * steps * MARKS + place.tile_m * (BM / 64);
    const unsigned *const any_b = marks_b + tiles_b * steps * MARKS + place.tile_n * (BN / 64);
    bool odd[2] = {};
    for (long long q = place.first_step + thread; q < place.end_step; q += THREADS) {
        for (int f = 0; f < BM / 64; ++f)
            odd[0] = odd[0] || any_a[q * (tiles_a / 4) + f] != 0;
        for (int f = 0; f < BN / 64; ++f)
            odd[1] = odd[1] || any_b[q * (tiles_b / 4) + f] != 0;
    }

    // All of the tile is written, and what is staged was read: none may go on before the last has come here.
    if (!__syncthreads_or(odd[0] || odd[1] || !whole))
        return;

    // Find them: a thread looks along a row, and a column, where any has some.
    for (int side = 0; side < 2; ++side) {
        const long long line = (side ? first_col : first_row) + thread, tiles = side ? tiles_b : tiles_a;
        const uint4 *const marks = reinterpret_cast<const uint4 *>(side ? marks_b : marks_a) + line % 16 / 8;
        const unsigned char *const any = reinterpret_cast<const unsigned char *>(side ? any_b : any_a) + thread / 16;
        int found = 0;
        // Neither a row nor a column has any where no thread has seen a mark: all must have looked.
        const bool look = __syncthreads_or(side ? odd[1] : odd[0]) && thread < (side ? BN : BM);
        const long long end = look ? place.end_step : 0;
        for (long long from = place.first_step; from < end && found != NAN_THERE; from += 32) {
            unsigned some = 0; // of 32 fragments those that have any
#pragma unroll
            for (int q = 0; q < 32; ++q)
                some |= from + q < end && any[(from + q) * tiles] ? 1u << q : 0;
            for (; some != 0 && found != NAN_THERE; some &= some - 1) {
                const long long q = from + __ffs(some) - 1;
                const uint4 lanes = marks[(q * tiles + line / 16) * 2];
                const unsigned word[4] = {lanes.x, lanes.y, lanes.z, lanes.w};
                unsigned here = 0; // of its 16 numbers on the line
#pragma unroll
                for (int i = 0; i < DEPTH; ++i)
                    here |= (word[i % 4] >> (line % 8 * 4 + i / 4) & 1) << i;
                for (; here != 0 && found != NAN_THERE; here &= here - 1) {
                    const long long at = q * DEPTH + __ffs(here) - 1;
                    const T value = side ? g.b[at * g.b_row + line * g.b_col] : g.a[line * g.a_row + at * g.a_col];
                    if (found < FEW)
                        where[side][found][thread] = at;
                    found = value == value ? found + 1 : NAN_THERE;
                }
            }
        }
        if (thread < SIDE)
            count[side][thread] = found;
    }

    // Each thread reads what all have found; and of c what others have written.
    __syncthreads();
    bool redone = false;
#pragma unroll 1
    for (int r = 0; r < BM; r += TURN) {
        const long long row = first_row + r;
        const int in_col = thread < BN ? count[1][thread] : 0;
        T sum[TURN];
        int in_row[TURN], i[TURN] = {}, j[TURN] = {};
        bool redo[TURN], more = true;
#pragma unroll
        for (int t = 0; t < TURN; ++t) {
            const bool inside = row + t < m && col < n && thread < BN;
            sum[t] = inside ? c[(row + t) * n + col] : T(0);
            in_row[t] = inside ? count[0][r + t] : 0;
            redo[t] = inside && (in_row[t] > FEW || in_col > FEW || 0 * sum[t] != 0);
            if (!inside || redo[t] || in_row[t] == NAN_THERE || in_col == NAN_THERE)
                i[t] = j[t] = 1 << 30; // there is nothing to add
        }
#pragma unroll 1
        while (more) { // of each row the next, in the order of k
            more = false;
#pragma unroll
            for (int t = 0; t < TURN; ++t) {
                const long long by_row = i[t] < in_row[t] ? where[0][i[t]][r + t] : end_k;
                const long long by_col = j[t] < in_col ? where[1][j[t]][thread] : end_k;
                const long long at = by_row < by_col ? by_row : by_col;
                if (at < end_k)
                    sum[t] += g.a[(row + t) * g.a_row + at * g.a_col] * g.b[at * g.b_row + col * g.b_col];
                i[t] += by_row == at;
                j[t] += by_col == at;
                more = more || at < end_k;
            }
        }
#pragma unroll
        for (int t = 0; t < TURN; ++t) {
            const bool inside = row + t < m && col < n && thread < BN;
            const bool is_nan = in_row[t] == NAN_THERE || in_col == NAN_THERE;
            redo[t] = redo[t] && !is_nan;
            if (inside && !redo[t])
                c[(row + t) * n + col] = is_nan ? nanf("") : sum[t];
            const unsigned bits = __ballot_sync(~0u, redo[t]);
            if (lane == 0 && thread < BN)
                again[r + t][thread / 32] = bits;
            redone = redone || redo[t];
        }
    }

    // All lists are read, all bits are there; and tiles are not read before they are staged.
    if (!__syncthreads_or(redone))
        return;
    constexpr int ROWS = BM / 8, COLS = BN / 16; // of a thread: neighbours, and groups of four
    const int tile_row = thread / 16 * ROWS, tile_col = thread % 16 * 4;
    T sum[ROWS][COLS] = {};
#pragma unroll 1
    for (long long from = place.first_step * 16ll; from < end_k; from += DEPTH) {
#pragma unroll
        for (int i = 0; i < BM * DEPTH / THREADS; ++i) {
            const int r = (i * THREADS + thread) / DEPTH, s = thread % DEPTH; // 16 neighbours of a row
            const bool inside = first_row + r < m && from + s < end_k;
            tile_a[s][r] = inside ? g.a[(first_row + r) * g.a_row + (from + s) * g.a_col] : T(0);
        }
#pragma unroll
        for (int i = 0; i < BN * DEPTH / THREADS; ++i) {
            const int r = (i * THREADS + thread) / BN, s = thread % BN;
            const bool inside = from + r < end_k && first_col + s < n;
            tile_b[r][s] = inside ? g.b[(from + r) * g.b_row + (first_col + s) * g.b_col] : T(0);
        }

        // All threads have staged the tiles: none may read them before the last has written.
        __syncthreads();
#pragma unroll 1
        for (int i = 0; i < DEPTH; ++i)
#pragma unroll
            for (int e = 0; e < ROWS * COLS; ++e)
                sum[e / COLS][e % COLS] +=
                    tile_a[i][tile_row + e / COLS] * tile_b[i][tile_col + e % COLS / 4 * 64 + e % 4];

        // The next step's tiles must not take the place of these before all threads have read them.
        __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < ROWS * COLS; ++e) {
        const int r = tile_row + e / COLS, s = tile_col + e % COLS / 4 * 64 + e % 4;
        if (again[r][s / 32] >> s % 32 & 1)
            c[(first_row + r) * n + first_col + s] = sum[e / COLS][e % COLS];
    }
}

// A block of four warps makes 2 TM x 2 TN fragments of c.
template <int TM, int TN> static __device__ __forceinline__ void gemm_tuned_make(const gemm_tuned_call &g)
{
    constexpr int THREADS = 128, STAGES = 3, PARTS = gemm_tuned_fragment::PARTS, WORDS = gemm_tuned_fragment::WORDS;
    constexpr int STEP_K = 16, DEPTH = STEP_K / gemm_tuned_fragment::TILE_K; // of a step, and its fragments
    constexpr int WORDS_A = 2 * TM * WORDS, WORDS_B = 2 * TN * WORDS;        // of a block's fragments of one TILE_K

    // Who am I: the block's product, its tile of c, and part of k.
    if (gemm_tuned_item() >= g.stack)
        return;
    const gemm_tuned_place<32 * TM, 32 * TN> place(g);
    const int lane = threadIdx.x % 32, warp_m = threadIdx.x / 64, warp_n = threadIdx.x / 32 % 2;
    const long long step_a = place.tiles_m * (long long)WORDS_A, step_b = place.tiles_n * (long long)WORDS_B;

    // Read and stage a step. The block's fragments of one TILE_K lie side by side, those of a and those of b.
    const long long first = (long long)place.first_step * DEPTH;
    const uint4 *from_a = g.arranged_a + gemm_tuned_item() * g.arranged_a_stack + first * step_a +
                          place.tile_m * (long long)WORDS_A + threadIdx.x;
    const uint4 *from_b = g.arranged_b + gemm_tuned_item() * g.arranged_b_stack + first * step_b +
                          place.tile_n * (long long)WORDS_B + threadIdx.x;
    const unsigned to = (unsigned)__cvta_generic_to_shared(gemm_tuned_tiles + threadIdx.x);
    const auto copy = [](unsigned at, const uint4 *from) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    };
    const auto stage = [&](int slot) {
#pragma unroll
        for (int q = slot * DEPTH; q < (slot + 1) * DEPTH; ++q) {
#pragma unroll
            for (int j = 0; j < WORDS_A; j += THREADS)
                if (WORDS_A % THREADS == 0 || j + threadIdx.x < WORDS_A)
                    copy(to + (q * (WORDS_A + WORDS_B) + j) * 16, from_a + j);
#pragma unroll
            for (int j = 0; j < WORDS_B; j += THREADS)
                if (WORDS_B % THREADS == 0 || j + threadIdx.x < WORDS_B)
                    copy(to + (q * (WORDS_A + WORDS_B) + WORDS_A + j) * 16, from_b + j);
            from_a += step_a;
            from_b += step_b;
        }
    };
    const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

    // The first steps. One group each, so that counting groups counts steps; some may be empty.
    const int steps = int(place.end_step) - int(place.first_step);
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps)
            stage(step);
        commit();
    }

    T sum[TN][2][TM][4] = {};
    int slot = 0, free_slot = STAGES - 1;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

        // The step's tiles were copied by all threads: none may read them before the last has waited for its part. And
        // those of the step before were read by all: none may overwrite them before the last has read.
        __syncthreads();
        if (step + STAGES - 1 < steps)
            stage(free_slot);
        commit();

        // Compute.
#pragma unroll
        for (int q = 0; q < DEPTH; ++q) {
            const uint4 *const tile_a = gemm_tuned_tiles + (slot * DEPTH + q) * (WORDS_A + WORDS_B) + lane;
            const uint4 *const tile_b = tile_a + WORDS_A;
            uint4 part_a[TM][PARTS], part_b[PARTS];
#pragma unroll
            for (int i = 0; i < TM * PARTS; ++i)
                part_a[i / PARTS][i % PARTS] = tile_a[warp_m * TM * WORDS + i * 32];
#pragma unroll
            for (int j = 0; j < TN; ++j) {
#pragma unroll
                for (int p = 0; p < PARTS; ++p)
                    part_b[p] = tile_b[(warp_n * TN + j) * WORDS + p * 32];
                gemm_tuned_multiply(sum[j], part_a, part_b);
            }
        }
        free_slot = slot;
        slot = slot + 1 == STAGES ? 0 : slot + 1;
    }

    // Write: two neighbours at once, where rows of c are made of them.
    constexpr T UNSCALE = PARTS > 1 ? 1 / (gemm_tuned_fragment::SCALE * gemm_tuned_fragment::SCALE) : 1;
    bool whole = true;
    const long long first_row = (place.tile_m * 2ll + warp_m) * TM * 16 + lane / 4;
    const long long first_col = (place.tile_n * 2ll + warp_n) * TN * 16 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < TM * 2; ++i) {
        const bool inside = first_row + i * 8 < g.m;
        T *const row_c = place.c + (first_row + i * 8) * g.n + first_col;
#pragma unroll
        for (int j = 0; j < TN * 2; ++j) {
            const T x = sum[j / 2][j % 2][i / 2][i % 2 * 2] * UNSCALE;
            const T y = sum[j / 2][j % 2][i / 2][i % 2 * 2 + 1] * UNSCALE;
            whole = whole && 0 * x + 0 * y == 0;
            if (inside && first_col + j * 8 < g.n && g.n % 2 == 0)
                gemm_tuned_store(row_c + j * 8, x, y);
            if (inside && first_col + j * 8 < g.n && g.n % 2 != 0)
                row_c[j * 8] = x;
            if (inside && first_col + j * 8 + 1 < g.n && g.n % 2 != 0)
                row_c[j * 8 + 1] = y;
        }
    }

    if constexpr (PARTS > 1)
        gemm_tuned_mend(g, place, whole);
}

// Adds the sums of all parts of k: a group of lanes makes one element, each lane every so many parts.
extern "C" __global__ void __launch_bounds__(128)
gemm_tuned_add(const T *__restrict__ sums, T *__restrict__ c, long long elements, long long parts, long long lanes)
{
    const long long i = (blockIdx.x * 128ll + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x % lanes);
    T sum = 0;
#pragma unroll 4
    for (long long part = lane; part < parts; part += lanes)
        sum += i < elements ? sums[part * elements + i] : T(0);
    for (int other = int(lanes) / 2; other > 0; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    if (lane == 0 && i < elements)
        c[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128, 4)
gemm_tuned_narrow(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
                  long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                  const uint4 *__restrict__ arranged_a, const uint4 *__restrict__ arranged_b, long long part_steps,
                  long long stack, long long a_stack, long long b_stack, long long arranged_a_stack,
                  long long arranged_b_stack)
{
    gemm_tuned_make<2, 2>({a, b, c, m, k, n, a_row, a_col, b_row, b_col, arranged_a, arranged_b, unsigned(part_steps),
                           stack, a_stack, b_stack, arranged_a_stack, arranged_b_stack});
}

extern "C" __global__ void __launch_bounds__(128, sizeof(T) == 4 ? 3 : 2)
gemm_tuned(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
           long long n, long long a_row, long long a_col, long long b_row, long long b_col,
           const uint4 *__restrict__ arranged_a, const uint4 *__restrict__ arranged_b, long long part_steps,
           long long stack, long long a_stack, long long b_stack, long long arranged_a_stack,
           long long arranged_b_stack)
{
    gemm_tuned_make<4, 2>({a, b, c, m, k, n, a_row, a_col, b_row, b_col, arranged_a, arranged_b, unsigned(part_steps),
                           stack, a_stack, b_stack, arranged_a_stack, arranged_b_stack});
}
