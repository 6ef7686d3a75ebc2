// gemm / tensor
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), row-major, of float16, bfloat16
//          or int8; c is (m, n), of float32, or of int32 for int8.
// Idea     Tensor cores take numbers of these types as they are, so what is left is to bring them in time.
//          - A block of eight warps makes 128 x 256 elements, a warp 64 x 64 in 128 registers a thread: each number
//            that a warp reads of shared memory serves 64 products.
//          - Copies of 16 bytes go past the registers (cp.async), three steps of 128 bytes along k ahead.
//          - ldmatrix hands out 8 x 16 bytes to the lanes that mma wants them in, for b transposed. It moves pairs of
//            bytes: int8 is sorted afterwards (prmt), and the k of a fragment are chosen so that this suffices.
//          - Chunks of 16 bytes lie in an order that depends on their row (xor), so that eight of one column are in
//            different banks.
//          - The fragments of the next mma are read while this one computes, across the barrier of a step.
//          - Operands whose rows begin anywhere, or that are transposed, are laid out first in rows that begin at
//            multiples of 16 bytes (lay_out): a copy of n^2 elements beside n^3 products.
//          - Where there are few tiles, k is cut into parts, whose sums are added in order (add; gemm/split_k).
// Differs  from gemm/async: mma instead of fma, and fragments by ldmatrix; from gemm/tuned: numbers that need no parts.
// Claims   shared.load.conflicts = 0        n a multiple of 256; m, k multiples of 128
//          shared.store.instructions = 0    n a multiple of 256; m, k multiples of 128
// Length   more than an exhibit has: it serves three types and every shape.
// Source   CUTLASS, "Efficient GEMM in CUDA", for tiles of warps and steps ahead; tiles are measured on an H200

extern __shared__ uint4 gemm_tensor_staged[];

struct gemm_tensor_call {
    const T *a, *b;
    A *c;
    long long m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack;
};

// d += a * b, of 16 x 32 bytes and 32 bytes x 8 columns.
static __device__ __forceinline__ void gemm_tensor_mma(float16, float (&d)[4], const unsigned (&a)[4],
                                                       const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void gemm_tensor_mma(bfloat16, float (&d)[4], const unsigned (&a)[4],
                                                       const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void gemm_tensor_mma(signed char, int (&d)[4], const unsigned (&a)[4],
                                                       const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Writes neighbours of a row at once; one by one where rows of c do not begin at multiples of their bytes.
static __device__ __forceinline__ void gemm_tensor_write(float *to, const float (&x)[2], long long left, bool whole)
{
    if (whole && left > 0)
        *reinterpret_cast<float2 *>(to) = make_float2(x[0], x[1]);
#pragma unroll
    for (int i = 0; i < 2; ++i)
        if (!whole && i < left)
            to[i] = x[i];
}

static __device__ __forceinline__ void gemm_tensor_write(int *to, const int (&x)[4], long long left, bool whole)
{
    if (whole && left > 0)
        *reinterpret_cast<int4 *>(to) = make_int4(x[0], x[1], x[2], x[3]);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (!whole && i < left)
            to[i] = x[i];
}

// A block makes BM x BN elements, each warp WM x WN.
template <int BM, int BN, int WM, int WN, int STAGES>
static __device__ __forceinline__ void gemm_tensor_make(const gemm_tensor_call &g)
{
    using Element = T;
    constexpr int E = sizeof(T), V = 16 / E, ROW_A = 128, STEP_K = ROW_A / E; // bytes of a row of a, and its elements
    constexpr int THREADS = BM / WM * (BN / WN) * 32, TURN = THREADS / 8;     // eight copies make 128 bytes of a row
    constexpr int ROW_B = BN * E, BYTES_A = BM * ROW_A, BYTES = BYTES_A + STEP_K * ROW_B, GROUP = 8;
    constexpr int TM = WM / 16, TN = WN / 8, MMAS = ROW_A / 32, MMA_K = 32 / E;

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

    // What do I stage: of every TURN-th row 16 bytes; zeros stand for what is outside. Rows of b are xored so that the
    // eight that ldmatrix reads at once differ.
    const auto spread = [](int i) { return E == 2 ? i % 8 : i / 4 % 4 * 2 + i % 2; };
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    const T *from_a = g.a + item * g.a_stack + (first_row + row) * g.pitch_a + first_k + chunk * V;
    const T *from_b = g.b + item * g.b_stack + (first_k + row) * g.pitch_b + first_col + chunk * V;
    const int rows_a = int(g.m - first_row < BM ? g.m - first_row : BM) - row;
    const int cols_b = int(g.n - first_col < BN ? g.n - first_col : BN) - chunk * V;
    long long left_k = end_k - first_k;
    const unsigned base = (unsigned)__cvta_generic_to_shared(gemm_tensor_staged);
    const unsigned to_a = base + row * ROW_A + (chunk ^ row % 8) * 16;
    const unsigned to_b = base + BYTES_A + row * ROW_B + (chunk ^ spread(row)) * 16;
    const auto copy = [](unsigned to, const T *from, bool inside) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0)
                     : "memory");
    };
    const auto stage = [&](int slot) {
        const int left = left_k < STEP_K ? int(left_k) : STEP_K;
#pragma unroll
        for (int i = 0; i < BM; i += TURN)
            copy(to_a + slot * BYTES + i * ROW_A, from_a + i * g.pitch_a, chunk * V < left && i < rows_a);
#pragma unroll
        for (int i = 0; i < STEP_K * ROW_B / 128; i += TURN) {
            const int r = i % STEP_K, across = i / STEP_K * 128;
            copy(to_b + slot * BYTES + r * ROW_B + across, from_b + r * g.pitch_b + across / E,
                 row + r < left && across / E < cols_b);
        }
        from_a += STEP_K;
        from_b += STEP_K * g.pitch_b;
        left_k -= STEP_K;
    };
    const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

    // What do I read: a row of 16 bytes, for each of four blocks of 8 rows. Those of int8 are k of four in turn: two
    // for a block, two for the next, so that a lane gets four neighbours of a column in two registers.
    const int in_block = lane % 8, block = lane / 8;
    const int my_k = E == 2 ? lane % 16 : in_block / 2 * 4 + in_block % 2 + block % 2 * 2 + block / 2 * 16;
    const unsigned my_a = (warp_row + lane % 16) * ROW_A + (lane / 16 ^ lane % 8) * 16;
    const unsigned my_b = BYTES_A + my_k * ROW_B + ((warp_col * E / 16 + (E == 2 ? lane / 16 : 0)) ^ spread(my_k)) * 16;
    unsigned part_a[2][TM][4], part_b[2][TN][2];
    const auto read = [&](int slot, int step, unsigned(&x)[TM][4], unsigned(&y)[TN][2]) {
        const unsigned from = base + slot * BYTES;
#pragma unroll
        for (int i = 0; i < TM; ++i)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                         : "r"(from + (my_a ^ step * 32) + i * 16 * ROW_A)
                         : "memory");
#pragma unroll
        for (int j = 0; j < TN; j += 2) {
            unsigned w[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                         : "r"(from + (my_b ^ j * 8 * E) + step * MMA_K * ROW_B)
                         : "memory");
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                y[j][h] = E == 2 ? w[h] : __byte_perm(w[2 * h], w[2 * h + 1], 0x6420);
                y[j + 1][h] = E == 2 ? w[2 + h] : __byte_perm(w[2 * h], w[2 * h + 1], 0x7531);
            }
        }
    };

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
    A sum[TM][TN][4] = {};
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
#pragma unroll
            for (int j = 0; j < TN * TM; ++j) { // up and down, so that each mma shares an operand with the last
                const int col = j / TM, at = col % 2 ? TM - 1 - j % TM : j % TM;
                gemm_tensor_mma(Element{}, sum[at][col], part_a[i % 2][at], part_b[i % 2][col]);
            }
        }
    }

    // Write what a lane has side by side: two elements; of int8 four, since its columns were handed out by pairs.
    constexpr int COUNT = E == 2 ? 2 : 4;
    A *const to = g.c + (part * g.stack + item) * g.m * g.n;
    const bool whole = g.n % COUNT == 0;
#pragma unroll
    for (int i = 0; i < TM * 2; ++i) {
        const long long at = first_row + warp_row + i * 8 + lane / 4;
        if (at >= g.m)
            continue;
#pragma unroll
        for (int j = 0; j < TN; j += COUNT / 2) {
            const long long col = first_col + warp_col + j * 8 + lane % 4 * COUNT;
            A side[COUNT];
#pragma unroll
            for (int e = 0; e < COUNT; ++e)
                side[e] = E == 2 ? sum[i / 2][j][i % 2 * 2 + e] : sum[i / 2][j + e % 2][i % 2 * 2 + e / 2];
            gemm_tensor_write(to + at * g.n + col, side, g.n - col, whole);
        }
    }
}

// Copies both operands into rows of pitch_a and pitch_b elements; zeros fill them up. A block of 256 threads copies
// tiles of 64 x 64, through shared memory, so that reads and writes are of neighbours, whichever way the operand lies.
extern "C" __global__ void __launch_bounds__(256)
gemm_tensor_lay_out(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ to_a, T *__restrict__ to_b,
                    long long m, long long k, long long n, long long a_row, long long a_col, long long b_row,
                    long long b_col, long long pitch_a, long long pitch_b, long long tiles_a, long long stack,
                    long long a_stack, long long b_stack)
{
    using Element = T;
    constexpr int SIDE = 64, TURN = 256 / SIDE;
    __shared__ T tile[SIDE][SIDE + 4 / sizeof(T)];
    const bool is_a = blockIdx.x < tiles_a;
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y, by_item = is_a ? a_stack : b_stack;
    if (item >= stack || (item > 0 && by_item == 0)) // one that all products share is laid out once
        return;
    const long long rows = is_a ? m : k, cols = is_a ? k : n, pitch = is_a ? pitch_a : pitch_b;
    const long long by_row = is_a ? a_row : b_row, by_col = is_a ? a_col : b_col;
    const long long order = is_a ? blockIdx.x : blockIdx.x - tiles_a, across = (pitch + SIDE - 1) / SIDE;
    const long long first_row = order / across * SIDE, first_col = order % across * SIDE;
    const T *const from = (is_a ? a : b) + item * by_item;
    T *const to = (is_a ? to_a : to_b) + item * rows * pitch;
    const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
#pragma unroll 4
    for (int i = y; i < SIDE; i += TURN) {
        const int r = by_col == 1 ? i : x, s = by_col == 1 ? x : i; // neighbours in memory to neighbouring threads
        const bool inside = first_row + r < rows && first_col + s < cols;
        tile[r][s] = inside ? from[(first_row + r) * by_row + (first_col + s) * by_col] : Element{};
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
gemm_tensor_add(const A *__restrict__ sums, A *__restrict__ c, long long elements, long long parts, long long lanes)
{
    const long long i = (blockIdx.x * 256ll + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x % lanes);
    A sum = 0;
#pragma unroll 4
    for (long long part = lane; part < parts; part += lanes)
        sum += i < elements ? sums[part * elements + i] : A(0);
    for (int other = int(lanes) / 2; other > 0; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    if (lane == 0 && i < elements)
        c[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 2)
gemm_tensor_small(const T *__restrict__ a, const T *__restrict__ b, A *__restrict__ c, long long m, long long k,
                  long long n, long long pitch_a, long long pitch_b, long long part_k, long long stack,
                  long long a_stack, long long b_stack)
{
    gemm_tensor_make<64, 128, 32, 32, 4>({a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack});
}

extern "C" __global__ void __launch_bounds__(256, 1)
gemm_tensor(const T *__restrict__ a, const T *__restrict__ b, A *__restrict__ c, long long m, long long k,
            long long n, long long pitch_a, long long pitch_b, long long part_k, long long stack, long long a_stack,
            long long b_stack)
{
    gemm_tensor_make<128, 256, 64, 64, 4>({a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack});
}
