// gemm / tuned
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     Tensor cores: one instruction of a warp (mma) multiplies two small matrices that lie spread over its lanes.
//          - float64 has such an instruction (8 x 4 times 4 x 8). float32 has none, but bfloat16 has (16 x 16 times
//            16 x 8, summed as float32). So a float32 is cut into three bfloat16, of 8 bits each, that lose nothing of
//            it, and of the nine products of parts the six larger are taken: on an H200 these six take less time than
//            one fma. Parts are scaled, by 2^8 and 2^16: those of small numbers fell below what bfloat16 holds.
//            (Of a number below 2^-126 the first part is short or 0, so what is left out weighs more: its products
//            err as if it were off by half of the smallest number, 2^-149.)
//          - Infinities, NaN and numbers that bfloat16 rounds to infinity have no parts: they are taken as 0, marked,
//            and their products are added by fma at the end (mend), where a row or a column has few of them. Where it
//            has many, and where a sum overflows, the tile is made again as gemm/register_2d does it.
//          - The six begin at zero and are added to the sum as float32: tensor cores cut off what does not fit, an
//            addition rounds it. So a sum is nearer to the truth than a chain of fma's, from some 16 terms on; a single
//            product is not: it may be off by one bit, where fma rounds right.
//          - A launch before this one lays out each operand (arrange): in parts, and in fragments of 16 rows (columns)
//            that give each lane 16 bytes as mma wants them. What is left for the main loop is to copy fragments into
//            shared memory (cp.async, STAGES), to read them without a conflict, and mma.
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
    static constexpr float MOST = 0x1.fep127f;             // the largest bfloat16
};

extern __shared__ uint4 gemm_tuned_tiles[];

// Cuts x and y into parts, each scaled by 2^8 against the one before, and packs them in pairs.
template <int PARTS>
static __device__ __forceinline__ void gemm_tuned_cut(float x, float y, unsigned (&pair)[PARTS])
{
    for (int p = 0; p < PARTS; ++p) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair[p]) : "f"(y), "f"(x));
        x = (x - __uint_as_float(pair[p] << 16)) * 256;
        y = (y - __uint_as_float(pair[p] & 0xffff0000)) * 256;
    }
}

// Lays out an operand: `size` rows of a, or columns of b, and all k. A warp makes a fragment.
extern "C" __global__ void __launch_bounds__(128)
gemm_tuned_arrange(const T *__restrict__ from, uint4 *__restrict__ to, long long size, long long k, long long is_b,
                   long long tiles, long long tiles_k)
{
    constexpr int PARTS = gemm_tuned_fragment::PARTS, TILE_K = gemm_tuned_fragment::TILE_K, EACH = TILE_K / 4;

    // Who am I: neighbours among the warps read neighbours in memory.
    const int lane = threadIdx.x % 32;
    const long long warp = blockIdx.x * 4ll + threadIdx.x / 32;
    const long long tile = is_b ? warp % tiles : warp / tiles_k;
    const long long tile_k = is_b ? warp / tiles : warp % tiles_k;
    if (tile >= tiles || tile_k >= tiles_k)
        return;

    // Read EACH neighbours along k of two rows, 8 apart. Zeros stand for what is outside.
    T number[2][EACH];
    for (int h = 0; h < 2; ++h)
        for (int e = 0; e < EACH; ++e) {
            const long long row = tile * 16 + h * 8 + lane / 4, i = tile_k * TILE_K + lane % 4 * EACH + e;
            number[h][e] = row < size && i < k ? from[is_b ? i * size + row : row * k + i] : T(0);
        }

    // Write. mma wants side by side: of a, the two rows of one k; of b, all k of one column.
    const long long fragment = tile_k * tiles + tile;
    uint4 *const out = to + fragment * gemm_tuned_fragment::WORDS + lane;
    if constexpr (PARTS == 1) {
        *reinterpret_cast<double2 *>(out) = make_double2(double(number[0][0]), double(number[1][0]));
    } else {
        // Behind all fragments lie their marks: a word of the lanes for each number of a lane, then a byte: any at all?
        unsigned *const words = reinterpret_cast<unsigned *>(to + tiles * tiles_k * gemm_tuned_fragment::WORDS);
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
            reinterpret_cast<unsigned char *>(words + tiles * tiles_k * 2 * EACH)[fragment] = any;
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

// Adds to the sums what TILE_K of k make: TM fragments of a, and of b's fragment the 8 columns of half h.
template <int TM, int PARTS>
static __device__ __forceinline__ void gemm_tuned_multiply(float (&sum)[TM][4], const uint4 (&a)[TM][PARTS],
                                                           const uint4 (&b)[PARTS], int h)
{
    float part[TM][4] = {};
#pragma unroll
    for (int order = PARTS - 1; order >= 0; --order) { // the small products first
#pragma unroll
        for (int p = 0; p <= order; ++p)
#pragma unroll
            for (int i = 0; i < TM; ++i)
                asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(part[i][0]), "+f"(part[i][1]), "+f"(part[i][2]), "+f"(part[i][3])
                    : "r"(a[i][p].x), "r"(a[i][p].y), "r"(a[i][p].z), "r"(a[i][p].w),
                      "r"(h ? b[order - p].z : b[order - p].x), "r"(h ? b[order - p].w : b[order - p].y));
#pragma unroll
        for (int e = 0; e < TM * 4; ++e)
            if (order > 0)
                part[e / 4][e % 4] *= 1.0f / 256;
            else
                sum[e / 4][e % 4] += part[e / 4][e % 4];
    }
}

template <int TM, int PARTS>
static __device__ __forceinline__ void gemm_tuned_multiply(double (&sum)[TM][4], const uint4 (&a)[TM][PARTS],
                                                           const uint4 (&b)[PARTS], int h)
{
    const double column = reinterpret_cast<const double *>(b)[h];
#pragma unroll
    for (int i = 0; i < TM * 2; ++i) {
        const double row = reinterpret_cast<const double *>(a[i / 2])[i % 2];
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[i / 2][i % 2 * 2]), "+d"(sum[i / 2][i % 2 * 2 + 1])
            : "d"(row), "d"(column));
    }
}

template <typename U>
static __device__ __forceinline__ void gemm_tuned_store(U *to, U x, U y)
{
    if constexpr (sizeof(U) == 4)
        __stcs(reinterpret_cast<float2 *>(to), make_float2(x, y));
    else
        __stcs(reinterpret_cast<double2 *>(to), make_double2(x, y));
}

// The block's tile of c, in order down the columns of a band of GROUP tiles; tile_m is tiles_m where there is none.
struct gemm_tuned_place {
    long long tiles_m, tile_m, tile_n;
};

static __device__ __forceinline__ gemm_tuned_place gemm_tuned_find(long long tiles_m)
{
    constexpr int GROUP = 8;
    const long long order = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const long long band = order / (GROUP * (long long)gridDim.x) * GROUP;
    const long long in_band = order % (GROUP * (long long)gridDim.x);
    const long long band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
    if (band_tiles <= 0 || in_band >= band_tiles * gridDim.x)
        return {tiles_m, tiles_m, 0};
    return {tiles_m, band + in_band % band_tiles, in_band / band_tiles};
}

// Adds the products of the numbers without parts to the block's tile, which its threads have written; and makes again
// by fma what that cannot give, as where sums overflow. `whole`: what the thread wrote is finite. No part of the kernel
// itself, so that it takes no register from the main loop.
template <typename U>
static __device__ __noinline__ void gemm_tuned_mend(const U *a, const U *b, U *c, long long m, long long k, long long n,
                                                    const uint4 *arranged_a, const uint4 *arranged_b, bool whole)
{
    constexpr int SIZE = 128, FEW = 8, DEPTH = 16, TURN = 4, PITCH = SIZE + 4, NAN_THERE = -1;
    constexpr int WORDS = gemm_tuned_fragment::WORDS, MARKS = gemm_tuned_fragment::MARKS;
    auto *const where = reinterpret_cast<long long(*)[FEW][SIZE]>(gemm_tuned_tiles); // of row and column: the first k's
    auto *const count = reinterpret_cast<int(*)[SIZE]>(where + 2);                   // and how many there are
    auto *const again = reinterpret_cast<unsigned(*)[SIZE / 32]>(count + 2);         // of a row: bits of columns
    auto *const tile_a = reinterpret_cast<U(*)[PITCH]>(again + SIZE);
    auto *const tile_b = tile_a + DEPTH;
    const int thread = threadIdx.x, lane = thread % 32;
    const gemm_tuned_place place = gemm_tuned_find((m + SIZE - 1) / SIZE);
    const long long first_row = place.tile_m * SIZE, first_col = place.tile_n * SIZE, col = first_col + thread;
    const long long steps = (k + DEPTH - 1) / DEPTH, tiles_a = place.tiles_m * (SIZE / 16);
    const long long tiles_b = (long long)gridDim.x * (SIZE / 16);
    const unsigned *const marks_a = reinterpret_cast<const unsigned *>(arranged_a + tiles_a * steps * WORDS);
    const unsigned *const marks_b = reinterpret_cast<const unsigned *>(arranged_b + tiles_b * steps * WORDS);

    // Is there anything to do? Of 8 fragments at once say their last marks whether any of their numbers has no parts.
    const uint2 *const any_a = reinterpret_cast<const uint2 *>(marks_a + tiles_a * steps * MARKS) + place.tile_m;
    const uint2 *const any_b = reinterpret_cast<const uint2 *>(marks_b + tiles_b * steps * MARKS) + place.tile_n;
    bool odd[2] = {};
    for (long long q = thread; q < steps; q += SIZE) {
        const uint2 x = any_a[q * place.tiles_m], y = any_b[q * gridDim.x];
        odd[0] = odd[0] || (x.x | x.y) != 0;
        odd[1] = odd[1] || (y.x | y.y) != 0;
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
        const long long end = __syncthreads_or(side ? odd[1] : odd[0]) ? steps : 0;
        for (long long from = 0; from < end && found != NAN_THERE; from += 32) {
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
                    const U value = side ? b[at * n + line] : a[line * k + at];
                    if (found < FEW)
                        where[side][found][thread] = at;
                    found = value == value ? found + 1 : NAN_THERE;
                }
            }
        }
        count[side][thread] = found;
    }

    // Each thread reads what all have found; and of c what others have written.
    __syncthreads();
    bool redone = false;
#pragma unroll 1
    for (int r = 0; r < SIZE; r += TURN) {
        const long long row = first_row + r;
        const int in_col = count[1][thread];
        U sum[TURN];
        int in_row[TURN], i[TURN] = {}, j[TURN] = {};
        bool redo[TURN], more = true;
#pragma unroll
        for (int t = 0; t < TURN; ++t) {
            const bool inside = row + t < m && col < n;
            sum[t] = inside ? c[(row + t) * n + col] : U(0);
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
                const long long by_row = i[t] < in_row[t] ? where[0][i[t]][r + t] : k;
                const long long by_col = j[t] < in_col ? where[1][j[t]][thread] : k;
                const long long at = by_row < by_col ? by_row : by_col;
                if (at < k)
                    sum[t] += a[(row + t) * k + at] * b[at * n + col];
                i[t] += by_row == at;
                j[t] += by_col == at;
                more = more || at < k;
            }
        }
#pragma unroll
        for (int t = 0; t < TURN; ++t) {
            const bool inside = row + t < m && col < n, is_nan = in_row[t] == NAN_THERE || in_col == NAN_THERE;
            redo[t] = redo[t] && !is_nan;
            if (inside && !redo[t])
                c[(row + t) * n + col] = is_nan ? nanf("") : sum[t];
            const unsigned bits = __ballot_sync(~0u, redo[t]);
            if (lane == 0)
                again[r + t][thread / 32] = bits;
            redone = redone || redo[t];
        }
    }

    // All lists are read, all bits are there; and tiles are not read before they are staged.
    if (!__syncthreads_or(redone))
        return;
    const int tile_row = thread / 16 * 16, tile_col = thread % 16 * 4;
    U sum[16][8] = {};
#pragma unroll 1
    for (long long from = 0; from < k; from += DEPTH) {
#pragma unroll
        for (int i = 0; i < DEPTH; ++i) {
            const int r = thread / DEPTH + i * (SIZE / DEPTH), s = thread % DEPTH; // 16 neighbours of a row
            tile_a[s][r] = first_row + r < m && from + s < k ? a[(first_row + r) * k + from + s] : U(0);
            tile_b[i][thread] = col < n && from + i < k ? b[(from + i) * n + col] : U(0);
        }

        // All threads have staged the tiles: none may read them before the last has written.
        __syncthreads();
#pragma unroll 1
        for (int i = 0; i < DEPTH; ++i)
#pragma unroll
            for (int e = 0; e < 16 * 8; ++e)
                sum[e / 8][e % 8] += tile_a[i][tile_row + e / 8] * tile_b[i][tile_col + e % 8 / 4 * 64 + e % 4];

        // The next step's tiles must not take the place of these before all threads have read them.
        __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < 16 * 8; ++e) {
        const int r = tile_row + e / 8, s = tile_col + e % 8 / 4 * 64 + e % 4;
        if (again[r][s / 32] >> s % 32 & 1)
            c[(first_row + r) * n + first_col + s] = sum[e / 8][e % 8];
    }
}

extern "C" __global__ void __launch_bounds__(128, 2)
gemm_tuned(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k, long long n,
           const uint4 *__restrict__ arranged_a, const uint4 *__restrict__ arranged_b)
{
    constexpr int THREADS = 128, STAGES = 3;
    constexpr int PARTS = gemm_tuned_fragment::PARTS, WORDS = gemm_tuned_fragment::WORDS;
    constexpr int STEP_K = 16, DEPTH = STEP_K / gemm_tuned_fragment::TILE_K; // of a step, and its fragments
    constexpr int TM = 4, TN = sizeof(T) == 4 ? 4 : 2;                       // fragments of a warp; a block has 2 x 2
    constexpr int WORDS_A = 2 * TM * WORDS, WORDS_B = 2 * TN * WORDS;        // of a block's fragments of one TILE_K

    // Who am I: the block's tile of c.
    const gemm_tuned_place place = gemm_tuned_find((m + 2 * TM * 16 - 1) / (2 * TM * 16));
    const long long tiles_m = place.tiles_m, tile_m = place.tile_m, tile_n = place.tile_n;
    if (tile_m >= tiles_m)
        return;
    const int lane = threadIdx.x % 32, warp_m = threadIdx.x / 64, warp_n = threadIdx.x / 32 % 2;

    // Read and stage a step. The block's fragments of one TILE_K lie side by side, those of a and those of b.
    const uint4 *from_a = arranged_a + tile_m * WORDS_A + threadIdx.x;
    const uint4 *from_b = arranged_b + tile_n * WORDS_B + threadIdx.x;
    const unsigned to = (unsigned)__cvta_generic_to_shared(gemm_tuned_tiles + threadIdx.x);
    const auto copy = [](unsigned at, const uint4 *from) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    };
    const auto stage = [&](int slot) {
#pragma unroll
        for (int q = slot * DEPTH; q < (slot + 1) * DEPTH; ++q) {
#pragma unroll
            for (int j = 0; j < WORDS_A; j += THREADS)
                copy(to + (q * (WORDS_A + WORDS_B) + j) * 16, from_a + j);
#pragma unroll
            for (int j = 0; j < WORDS_B; j += THREADS)
                copy(to + (q * (WORDS_A + WORDS_B) + WORDS_A + j) * 16, from_b + j);
            from_a += tiles_m * WORDS_A;
            from_b += (long long)gridDim.x * WORDS_B;
        }
    };
    const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

    // The first steps. One group each, so that counting groups counts steps; some may be empty.
    const int steps = (int)((k + STEP_K - 1) / STEP_K);
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps)
            stage(step);
        commit();
    }

    T sum[2 * TN][TM][4] = {};
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
                gemm_tuned_multiply(sum[2 * j], part_a, part_b, 0);
                gemm_tuned_multiply(sum[2 * j + 1], part_a, part_b, 1);
            }
        }
        free_slot = slot;
        slot = slot + 1 == STAGES ? 0 : slot + 1;
    }

    // Write: two neighbours at once, where rows of c are made of them.
    bool whole = true;
    const long long first_row = (tile_m * 2 + warp_m) * TM * 16 + lane / 4;
    const long long first_col = (tile_n * 2 + warp_n) * TN * 16 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < TM * 2; ++i) {
        const bool inside = first_row + i * 8 < m;
        T *const row_c = c + (first_row + i * 8) * n + first_col;
#pragma unroll
        for (int j = 0; j < TN * 2; ++j) {
            const T x = sum[j][i / 2][i % 2 * 2], y = sum[j][i / 2][i % 2 * 2 + 1];
            whole = whole && 0 * x + 0 * y == 0;
            if (inside && first_col + j * 8 < n && n % 2 == 0)
                gemm_tuned_store(row_c + j * 8, x, y);
            if (inside && first_col + j * 8 < n && n % 2 != 0)
                row_c[j * 8] = x;
            if (inside && first_col + j * 8 + 1 < n && n % 2 != 0)
                row_c[j * 8 + 1] = y;
        }
    }

    if constexpr (PARTS > 1)
        gemm_tuned_mend(a, b, c, m, k, n, arranged_a, arranged_b, whole);
}
