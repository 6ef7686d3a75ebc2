// gemm / tf32
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col], of a and b rounded to TF32: 11 significant bits of the 24
//          of float32, the nearest number, ties away from zero. a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     Tensor cores multiply TF32 faster than gemm/tuned multiplies float32 by its parts. What is lost: an element
//          differs from the exact one by at most 2^-10 of the sum of its products' sizes, and the roundings of sums.
//          - Operands are rounded once, by a launch that copies them (lay_out), and not where each warp reads them: the
//            instructions of the main loop are then those of gemm/tensor, and rows begin at multiples of 16 bytes.
//          - ldmatrix moves pairs of bytes, and cannot transpose b here. So lay_out does: columns of b become rows.
//          - Of few rows or columns lay_out would take longer than the products. There each warp rounds what it reads
//            (raw), and reads 16 bytes of a row of b instead of ldmatrix: four neighbours, which go to four mma. So the
//            columns of an mma lie four apart, and a lane has eight neighbours of c at the end.
//          - All else is as in gemm/tensor.
// Differs  from gemm/tensor: operands are rounded and laid out before, b transposed; so both are read alike.
// Claims   shared.load.conflicts = 0        n a multiple of 256; m, k multiples of 128
//          shared.store.conflicts = 0       n a multiple of 256; m, k multiples of 128
// Length   more than an exhibit has: it serves every shape.
// Source   NVIDIA, "CUDA C++ Programming Guide", alternate floating point; tiles are measured on an H200

extern __shared__ uint4 gemm_tf32_staged[];

struct gemm_tf32_call {
    const T *a, *b;
    T *c;
    long long m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack;
};

// The nearest number of TF32.
static __device__ __forceinline__ T gemm_tf32_round(T x)
{
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return __uint_as_float(rounded);
}

// d += a * b, of 16 x 8 and 8 x 8 elements.
static __device__ __forceinline__ void gemm_tf32_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A block makes BM x BN elements, each warp WM x WN, of what lay_out made, or of raw operands.
template <int BM, int BN, int WM, int WN, int STAGES, bool IS_RAW>
static __device__ __forceinline__ void gemm_tf32_make(const gemm_tf32_call &g)
{
    constexpr int V = 4, ROW = 128, STEP_K = 32; // elements of a copy; of a row bytes, elements
    constexpr int THREADS = BM / WM * (BN / WN) * 32, TURN = THREADS / 8; // eight copies make a row
    constexpr int BYTES_A = BM * ROW, BYTES = BYTES_A + BN * ROW, GROUP = 8;
    constexpr int TM = WM / 16, TN = WN / 8, MMAS = ROW / 32, ROW_B = BN * 4; // bytes of a row of raw b

    // Who am I: the block's product of a stack, part of k, and tile of c, in order down the columns of a band of GROUP
    // tiles.
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
    if (item >= g.stack)
        return;
    const long long tiles_m = (g.m + BM - 1) / BM, tiles_n = (g.n + BN - 1) / BN;
    const long long part = blockIdx.x / (tiles_m * tiles_n), order = blockIdx.x % (tiles_m * tiles_n);
    const long long band = order / (GROUP * tiles_n) * GROUP, in_band = order % (GROUP * tiles_n);
    const long long band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
    const long long first_row = (band + in_band % band_tiles) * BM, first_col = in_band / band_tiles * BN;
    const long long first_k = part * g.part_k, end_k = first_k + g.part_k < g.k ? first_k + g.part_k : g.k;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    // What do I stage: 16 bytes of every TURN-th row of a, and of what lay_out made of b; of raw b, 16 bytes of each 32
    // columns of a row. Zeros stand for what is outside. Rows are xored so that those differ that are read at once:
    // eight by ldmatrix, and four of raw b.
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    const T *from_a = g.a + item * g.a_stack + (first_row + row) * g.pitch_a + first_k + chunk * V;
    const long long row_b = IS_RAW ? first_k : first_col, col_b = IS_RAW ? first_col : first_k;
    const T *from_b = g.b + item * g.b_stack + (row_b + row) * g.pitch_b + col_b + chunk * V;
    const int rows_a = int(g.m - first_row < BM ? g.m - first_row : BM) - row;
    const int cols = int(g.n - first_col < BN ? g.n - first_col : BN), rows_b = cols - row;
    long long left_k = end_k - first_k;
    const unsigned base = (unsigned)__cvta_generic_to_shared(gemm_tf32_staged);
    const unsigned mine = base + row * ROW + (chunk ^ row % 8) * 16;
    const unsigned mine_b = base + BYTES_A + row * ROW_B + (chunk ^ row % 4 * 2) * 16;
    const auto copy = [](unsigned to, const T *from, bool inside) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0)
                     : "memory");
    };
    const auto stage = [&](int slot) {
        const bool inside = chunk * V < left_k;
#pragma unroll
        for (int i = 0; i < BM; i += TURN)
            copy(mine + slot * BYTES + i * ROW, from_a + i * g.pitch_a, inside && i < rows_a);
#pragma unroll
        for (int i = 0; i < BN; i += TURN)
            if constexpr (IS_RAW)
                copy(mine_b + slot * BYTES + i * 4, from_b + i, row < left_k && i + chunk * V < cols);
            else
                copy(mine + slot * BYTES + BYTES_A + i * ROW, from_b + i * g.pitch_b, inside && i < rows_b);
        from_a += STEP_K;
        from_b += IS_RAW ? STEP_K * g.pitch_b : STEP_K;
        left_k -= STEP_K;
    };
    const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

    // What do I read: of a row 16 bytes, for each of four blocks of 8 rows and 4 k. Of a these are rows, then k; of b
    // k, then rows, which are two tiles. Of raw b, for two k that lie four apart, four neighbours of each 32 columns.
    const int t = lane % 4;
    const unsigned my_a = (warp_row + lane % 16) * ROW + (lane / 16 ^ lane % 8) * 16;
    const unsigned my_b =
        BYTES_A + (IS_RAW ? t * ROW_B + ((warp_col / V + lane / 4) ^ t * 2) * 16
                          : (warp_col + lane / 16 * 8 + lane % 8) * ROW + (lane / 8 % 2 ^ lane % 8) * 16);
    unsigned part_a[2][TM][4], part_b[2][TN][2];
    const auto load = [](unsigned from, unsigned &x, unsigned &y, unsigned &z, unsigned &w) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                     : "r"(from)
                     : "memory");
    };
    const auto read = [&](int slot, int step, unsigned(&x)[TM][4], unsigned(&y)[TN][2]) {
        const unsigned from = base + slot * BYTES;
#pragma unroll
        for (int i = 0; i < TM; ++i)
            load(from + (my_a ^ step * 32) + i * 16 * ROW, x[i][0], x[i][1], x[i][2], x[i][3]);
        if constexpr (IS_RAW) {
#pragma unroll
            for (int j = 0; j < TN * 2; j += 4) // the first k of 32 columns, then the second
                asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(y[j / 8 * 4][j / 4 % 2]), "=r"(y[j / 8 * 4 + 1][j / 4 % 2]),
                               "=r"(y[j / 8 * 4 + 2][j / 4 % 2]), "=r"(y[j / 8 * 4 + 3][j / 4 % 2])
                             : "r"(from + my_b + (step * 8 + j / 4 % 2 * 4) * ROW_B + j / 8 * 128)
                             : "memory");
        } else {
#pragma unroll
            for (int j = 0; j < TN; j += 2)
                load(from + (my_b ^ step * 32) + j * 8 * ROW, y[j][0], y[j][1], y[j + 1][0], y[j + 1][1]);
        }
    };
    const auto round = [](unsigned &x) { x = __float_as_uint(gemm_tf32_round(__uint_as_float(x))); };

    // The first steps. One group each, so that counting groups counts steps; some may be empty.
    const long long steps = (end_k - first_k + STEP_K - 1) / STEP_K;
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps)
            stage(step);
        commit();
    }
    const auto await = [] {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

        // A step's tiles were copied by all threads: none may read them before the last has waited for its part. And
        // those of the step before were read by all: none may overwrite them before the last has read.
        __syncthreads();
    };
    T sum[TM][TN][4] = {};
    int slot = 0, free_slot = STAGES - 1;
    await();
    if (steps > 0)
        read(slot, 0, part_a[0], part_b[0]);
#pragma unroll 1
    for (long long step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < MMAS; ++i) {
            if (i == MMAS - 1) { // behind the last step there is none to read: its own serves, and is not used
                slot = step + 1 == steps ? slot : slot + 1 == STAGES ? 0 : slot + 1;
                await();
            }
            read(slot, (i + 1) % MMAS, part_a[(i + 1) % 2], part_b[(i + 1) % 2]);
            if (i == 0) {
                if (step + STAGES - 1 < steps)
                    stage(free_slot);
                commit();
                free_slot = free_slot + 1 == STAGES ? 0 : free_slot + 1;
            }
            if constexpr (IS_RAW) {
#pragma unroll
                for (int e = 0; e < TM * 4; ++e)
                    round(part_a[i % 2][e / 4][e % 4]);
#pragma unroll
                for (int e = 0; e < TN * 2; ++e)
                    round(part_b[i % 2][e / 2][e % 2]);
            }
#pragma unroll
            for (int j = 0; j < TN * TM; ++j) { // up and down, so that each mma shares an operand with the last
                const int col = j / TM, at = col % 2 ? TM - 1 - j % TM : j % TM;
                gemm_tf32_mma(sum[at][col], part_a[i % 2][at], part_b[i % 2][col]);
            }
        }
    }

    // Write two neighbours at once, where rows of c are made of them.
    T *const to = g.c + (part * g.stack + item) * g.m * g.n;
    const bool whole = g.n % 2 == 0;
#pragma unroll
    for (int i = 0; i < TM * 2; ++i) {
        const long long at = first_row + warp_row + i * 8 + lane / 4;
        if (at >= g.m)
            continue;
#pragma unroll
        for (int j = 0; j < TN; ++j) { // of raw b a lane has columns e of j / 4 * 32 + t * 8 + e, in tiles of e % 4
            const long long col = first_col + warp_col + (IS_RAW ? j / 4 * 32 + t * 8 + j % 4 * 2 : j * 8 + t * 2);
            const int tile = IS_RAW ? j / 4 * 4 + j % 2 * 2 : j, half = i % 2 * 2;
            const T x = sum[i / 2][tile][half + (IS_RAW ? j % 4 / 2 : 0)];
            const T y = sum[i / 2][IS_RAW ? tile + 1 : tile][half + (IS_RAW ? j % 4 / 2 : 1)];
            if (whole && col < g.n)
                *reinterpret_cast<float2 *>(to + at * g.n + col) = make_float2(x, y);
            if (!whole && col < g.n)
                to[at * g.n + col] = x;
            if (!whole && col + 1 < g.n)
                to[at * g.n + col + 1] = y;
        }
    }
}

// Copies rows of a and columns of b, rounded, into rows of pitch_a and pitch_b elements; zeros fill them up. A block
// copies a tile of 64 x 64: 16 bytes a thread where the operand allows it, else through shared memory, so that reads
// and writes are of neighbours, whichever way the operand lies.
extern "C" __global__ void __launch_bounds__(256)
    gemm_tf32_lay_out(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ to_a, T *__restrict__ to_b,
                      long long m, long long k, long long n, long long a_row, long long a_col, long long b_row,
                      long long b_col, long long pitch_a, long long pitch_b, long long tiles_a, long long stack,
                      long long a_stack, long long b_stack)
{
    constexpr int SIDE = 64, TURN = 256 / SIDE;
    __shared__ T tile[SIDE][SIDE + 1];
    const bool is_a = blockIdx.x < tiles_a;
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y, by_item = is_a ? a_stack : b_stack;
    if (item >= stack || (item > 0 && by_item == 0)) // one that all products share is laid out once
        return;
    const long long rows = is_a ? m : n, cols = k, pitch = is_a ? pitch_a : pitch_b;
    const long long by_row = is_a ? a_row : b_col, by_col = is_a ? a_col : b_row;
    const long long order = is_a ? blockIdx.x : blockIdx.x - tiles_a, across = (pitch + SIDE - 1) / SIDE;
    const long long first_row = order / across * SIDE, first_col = order % across * SIDE;
    const T *const from = (is_a ? a : b) + item * by_item;
    T *const to = (is_a ? to_a : to_b) + item * rows * pitch;
    if (by_col == 1 && by_row % 4 == 0 && cols % 4 == 0 && (size_t)from % 16 == 0) {
        const long long col = first_col + threadIdx.x % 16 * 4;
#pragma unroll
        for (int i = threadIdx.x / 16; i < SIDE; i += 16)
            if (first_row + i < rows && col < cols) {
                const float4 x = *reinterpret_cast<const float4 *>(from + (first_row + i) * by_row + col);
                *reinterpret_cast<float4 *>(to + (first_row + i) * pitch + col) =
                    make_float4(gemm_tf32_round(x.x), gemm_tf32_round(x.y), gemm_tf32_round(x.z), gemm_tf32_round(x.w));
            }
        return;
    }
    const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
#pragma unroll 4
    for (int i = y; i < SIDE; i += TURN) {
        const int r = by_col == 1 ? i : x, s = by_col == 1 ? x : i; // neighbours in memory to neighbouring threads
        const bool inside = first_row + r < rows && first_col + s < cols;
        tile[r][s] = inside ? gemm_tf32_round(from[(first_row + r) * by_row + (first_col + s) * by_col]) : T(0);
    }

    // A thread writes what others have read.
    __syncthreads();
#pragma unroll 4
    for (int i = y; i < SIDE; i += TURN)
        if (first_row + i < rows && first_col + x < pitch)
            to[(first_row + i) * pitch + first_col + x] = tile[i][x];
}

// Adds the sums of all parts of k: a group of lanes makes one element, each lane every so many parts.
extern "C" __global__ void __launch_bounds__(256)
    gemm_tf32_add(const T *__restrict__ sums, T *__restrict__ c, long long elements, long long parts, long long lanes)
{
    const long long i = (blockIdx.x * 256ll + threadIdx.x) / lanes;
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

extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_tf32_small(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
                    long long n, long long pitch_a, long long pitch_b, long long part_k, long long stack,
                    long long a_stack, long long b_stack)
{
    gemm_tf32_make<64, 128, 32, 32, 4, false>({a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_tf32_raw(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
                  long long n, long long pitch_a, long long pitch_b, long long part_k, long long stack,
                  long long a_stack, long long b_stack)
{
    gemm_tf32_make<64, 128, 32, 32, 4, true>({a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_tf32(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, long long m, long long k,
              long long n, long long pitch_a, long long pitch_b, long long part_k, long long stack, long long a_stack,
              long long b_stack)
{
    gemm_tf32_make<128, 256, 64, 64, 4, false>({a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack});
}
