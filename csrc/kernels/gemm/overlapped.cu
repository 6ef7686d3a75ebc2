// gemm / overlapped
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), row-major, of float16, bfloat16
//          or int8, or of float32 that is rounded to TF32: 11 significant bits, the nearest number, ties away from
//          zero; c is (m, n), of float32, or of int32 for int8.
// Idea     Of few tiles what takes time is to begin, to fill the pipeline, and to add parts of k.
//          - A launch begins while the one before it ends, and waits by itself before it touches memory: as in
//            reduce/overlapped. So does the one that adds, which is on the multiprocessors when the products are made.
//          - A block has two groups of warps for one tile of c: each goes over a half of every step. So a warp's tile
//            stays large, of whose reads each number serves many products, while eight warps hide each other's waits.
//            At the end one group gives the other its sums, through shared memory.
//          - float32 is rounded as it is read, behind the products before: no launch comes first. ldmatrix, which
//            moves pairs of bytes, cannot transpose b then: a lane reads 16 bytes of a row for four mma. So columns
//            of an mma lie four apart, and a lane has eight neighbours of c at the end.
//          - All else is as in gemm/tensor.
// Differs  from gemm/tensor: launches overlap, two groups of warps halve the steps, and TF32 is rounded as it is read.
// Claims   shared.load.conflicts = 0        n a multiple of 256; m, k multiples of 128
//          shared.store.conflicts = 0       n a multiple of 256; m, k multiples of 128
// Length   more than an exhibit has: it serves four types and every shape.
// Source   CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"; tiles measured on an H200

extern __shared__ uint4 gemm_overlapped_staged[];

struct gemm_overlapped_call {
    const T *a, *b;
    A *c;
    long long m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack;
};

// d += a * b, of 16 x 32 bytes and 32 bytes x 8 columns.
static __device__ __forceinline__ void gemm_overlapped_mma(float16, float (&d)[4], const unsigned (&a)[4],
                                                           const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void gemm_overlapped_mma(bfloat16, float (&d)[4], const unsigned (&a)[4],
                                                           const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void gemm_overlapped_mma(float, float (&d)[4], const unsigned (&a)[4],
                                                           const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void gemm_overlapped_mma(signed char, int (&d)[4], const unsigned (&a)[4],
                                                           const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The nearest number of TF32.
static __device__ __forceinline__ void gemm_overlapped_round(unsigned &x)
{
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x) : "f"(__uint_as_float(x)));
}

static __device__ __forceinline__ unsigned gemm_overlapped_bits(float x)
{
    return __float_as_uint(x);
}

static __device__ __forceinline__ unsigned gemm_overlapped_bits(int x)
{
    return (unsigned)x;
}

// Writes neighbours of a row at once; one by one where rows of c do not begin at multiples of their bytes.
template <int COUNT>
static __device__ __forceinline__ void gemm_overlapped_write(A *to, const A (&x)[COUNT], long long left, bool whole)
{
    if (whole && left > 0 && COUNT == 4)
        *reinterpret_cast<uint4 *>(to) =
            make_uint4(gemm_overlapped_bits(x[0]), gemm_overlapped_bits(x[1]), gemm_overlapped_bits(x[2 % COUNT]),
                       gemm_overlapped_bits(x[3 % COUNT]));
    if (whole && left > 0 && COUNT == 2)
        *reinterpret_cast<uint2 *>(to) = make_uint2(gemm_overlapped_bits(x[0]), gemm_overlapped_bits(x[1]));
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        if (!whole && i < left)
            to[i] = x[i];
}

// A block makes BM x BN elements, each of two groups of warps over a half of each step; a warp WM x WN.
template <int BM, int BN, int WM, int WN, int ROW_A, int STAGES>
static __device__ __forceinline__ void gemm_overlapped_make(const gemm_overlapped_call &g)
{
    using Element = T;
    constexpr int E = sizeof(T), V = 16 / E, STEP_K = ROW_A / E; // of a row of a, which has ROW_A bytes, the elements
    constexpr int WARPS = BM / WM * (BN / WN), THREADS = 2 * WARPS * 32;
    constexpr int CHUNKS_A = ROW_A / 16, TURN_A = THREADS / CHUNKS_A; // rows of a that all threads copy at once
    constexpr int ROW_B = BN * E, TURN_B = THREADS / (ROW_B / 16); // the same of b
    constexpr int BYTES_A = BM * ROW_A, BYTES = BYTES_A + STEP_K * ROW_B, GROUP = 8;
    constexpr int TM = WM / 16, TN = WN / 8, MMAS = ROW_A / 32 / 2, MMA_K = 32 / E;

    // Who am I: the block's product of a stack, part of k, and tile of c, in order down the columns of a band of GROUP
    // tiles; the warp's part of the tile, and of a step.
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
    if (item >= g.stack)
        return;
    const long long tiles_m = (g.m + BM - 1) / BM, tiles_n = (g.n + BN - 1) / BN;
    const long long part = blockIdx.x / (tiles_m * tiles_n), order = blockIdx.x % (tiles_m * tiles_n);
    const long long band = order / (GROUP * tiles_n) * GROUP, in_band = order % (GROUP * tiles_n);
    const long long band_tiles = tiles_m - band < GROUP ? tiles_m - band : GROUP;
    const long long first_row = (band + in_band % band_tiles) * BM, first_col = in_band / band_tiles * BN;
    const long long first_k = part * g.part_k, end_k = first_k + g.part_k < g.k ? first_k + g.part_k : g.k;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % WARPS, half = threadIdx.x / 32 / WARPS;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN, first_mma = half * MMAS;

    // What do I stage: of every TURN-th row 16 bytes; zeros stand for what is outside. Rows are xored so that those
    // differ that are read at once: eight by ldmatrix, four of TF32's b.
    const auto spread = [](int i) {
        return E == 4 ? i % 4 * 2 : E == 2 ? i % 8 : ROW_B == 64 ? i / 4 % 4 : i / 4 % 4 * 2 + i % 2;
    };
    const int row_a = threadIdx.x / CHUNKS_A, chunk_a = threadIdx.x % CHUNKS_A;
    const int row_b = threadIdx.x / (ROW_B / 16), chunk_b = threadIdx.x % (ROW_B / 16);
    const T *from_a = g.a + item * g.a_stack + (first_row + row_a) * g.pitch_a + first_k + chunk_a * V;
    const T *from_b = g.b + item * g.b_stack + (first_k + row_b) * g.pitch_b + first_col + chunk_b * V;
    const int rows_a = int(g.m - first_row < BM ? g.m - first_row : BM) - row_a;
    const bool in_row = first_col + chunk_b * V < g.n;
    long long left_k = end_k - first_k;
    const unsigned base = (unsigned)__cvta_generic_to_shared(gemm_overlapped_staged);
    const unsigned to_a = base + row_a * ROW_A + (chunk_a ^ row_a % 8) * 16;
    const unsigned to_b = base + BYTES_A + row_b * ROW_B + (chunk_b ^ spread(row_b)) * 16;
    const auto copy = [](unsigned to, const T *from, bool inside) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0)
                     : "memory");
    };
    const auto stage = [&](int slot) {
        const int left = left_k < STEP_K ? int(left_k) : STEP_K;
#pragma unroll
        for (int i = 0; i < BM; i += TURN_A)
            if (BM >= TURN_A || row_a < BM)
                copy(to_a + slot * BYTES + i * ROW_A, from_a + i * g.pitch_a, chunk_a * V < left && i < rows_a);
#pragma unroll
        for (int i = 0; i < STEP_K; i += TURN_B)
            copy(to_b + slot * BYTES + i * ROW_B, from_b + i * g.pitch_b, row_b + i < left && in_row);
        from_a += STEP_K;
        from_b += STEP_K * g.pitch_b;
        left_k -= STEP_K;
    };
    const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

    // What do I read: a row of 16 bytes, for each of four blocks of 8 rows. Those of int8 are k of four in turn: two
    // for a block, two for the next, so that a lane gets four neighbours of a column in two registers. Of TF32's b, for
    // two k that lie four apart, four neighbours of each 32 columns.
    const int in_block = lane % 8, block = lane / 8, t = lane % 4;
    const int my_k = E == 4   ? t
                     : E == 2 ? lane % 16
                              : in_block / 2 * 4 + in_block % 2 + block % 2 * 2 + block / 2 * 16;
    const int my_chunk = warp_col * E / 16 + (E == 4 ? lane / 4 : E == 2 ? lane / 16 : 0);
    const unsigned my_a = (warp_row + lane % 16) * ROW_A + (lane / 16 ^ lane % 8) * 16;
    const unsigned my_b = BYTES_A + my_k * ROW_B + (my_chunk ^ spread(my_k)) * 16;
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
            if constexpr (E == 4) { // the first k of 32 columns, then the second
                const int to = j / 4 * 4, at = j / 2 % 2;
                asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(y[to][at]), "=r"(y[to + 1][at]), "=r"(y[to + 2][at]), "=r"(y[to + 3][at])
                             : "r"(from + my_b + (step * MMA_K + at * 4) * ROW_B + j / 4 * 128)
                             : "memory");
            } else {
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
        }
    };

    const auto round = [&](int at) {
        if constexpr (E == 4) {
#pragma unroll
            for (int e = 0; e < TM * 4; ++e)
                gemm_overlapped_round(part_a[at][e / 4][e % 4]);
#pragma unroll
            for (int e = 0; e < TN * 2; ++e)
                gemm_overlapped_round(part_b[at][e / 2][e % 2]);
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
    if (steps > 0) {
        read(slot, first_mma, part_a[0], part_b[0]);
        round(0);
    }
#pragma unroll 1
    for (long long step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < MMAS; ++i) {
            if (i == MMAS - 1) { // behind the last step there is none to read: its own serves, and is not used
                slot = step + 1 == steps ? slot : slot + 1 == STAGES ? 0 : slot + 1;
                await();
            }
            read(slot, first_mma + (i + 1) % MMAS, part_a[(i + 1) % 2], part_b[(i + 1) % 2]);
            if (i == 0) {
                if (step + STAGES - 1 < steps)
                    stage(free_slot);
                commit();
                free_slot = free_slot + 1 == STAGES ? 0 : free_slot + 1;
            }
#pragma unroll
            for (int j = 0; j < TN * TM; ++j) { // up and down, so that each mma shares an operand with the last
                const int col = j / TM, at = col % 2 ? TM - 1 - j % TM : j % TM;
                gemm_overlapped_mma(Element{}, sum[at][col], part_a[i % 2][at], part_b[i % 2][col]);
            }
            round((i + 1) % 2);
        }
    }

    // What is staged was read by all: none may put sums there before the last has read.
    __syncthreads();
    A *const sums = reinterpret_cast<A *>(gemm_overlapped_staged) + warp * (WM * WN) + lane;
    if (half == 1)
#pragma unroll
        for (int e = 0; e < TM * TN * 4; ++e)
            sums[e * 32] = sum[e / 4 / TN][e / 4 % TN][e % 4];

    // The first group adds what the second has put there.
    __syncthreads();
    if (half == 1)
        return;
#pragma unroll
    for (int e = 0; e < TM * TN * 4; ++e)
        sum[e / 4 / TN][e / 4 % TN][e % 4] += sums[e * 32];

    // Write what a lane has side by side: two elements; of int8 four, since its columns came in pairs; of TF32
    // twice four, of four tiles.
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
            const long long col =
                first_col + warp_col + (E == 4 ? j / 4 * 32 + t * 8 + j / 2 % 2 * 4 : j * 8 + t * COUNT);
            A side[COUNT];
#pragma unroll
            for (int e = 0; e < COUNT; ++e)
                side[e] = E == 4   ? sum[i / 2][j / 4 * 4 + e][i % 2 * 2 + j / 2 % 2]
                          : E == 2 ? sum[i / 2][j][i % 2 * 2 + e]
                                   : sum[i / 2][j + e % 2][i % 2 * 2 + e / 2];
            gemm_overlapped_write(to + at * g.n + col, side, g.n - col, whole);
        }
    }
}

// Copies both operands into rows of pitch_a and pitch_b elements; zeros fill them up. A block of 256 threads copies
// tiles of 64 x 64, through shared memory, so that reads and writes are of neighbours, whichever way the operand lies.
extern "C" __global__ void __launch_bounds__(256)
gemm_overlapped_lay_out(const T *a, const T *b, T *to_a, T *to_b, long long m, long long k, long long n,
                        long long a_row, long long a_col, long long b_row, long long b_col, long long pitch_a,
                        long long pitch_b, long long tiles_a, long long stack, long long a_stack, long long b_stack)
{
    using Element = T;
    constexpr int SIDE = 64, TURN = 256 / SIDE;
    __shared__ T tile[SIDE][SIDE + 4 / sizeof(T)];

    // The launches before have ended, whose results may be the operands, and who read what is written here.
    cudaGridDependencySynchronize();
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
gemm_overlapped_add(const A *sums, A *c, long long elements, long long parts, long long lanes)
{
    // The products have ended.
    cudaGridDependencySynchronize();
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

// All wait for the launches before, whose results may be the operands, and who may still read what is written here.
extern "C" __global__ void __launch_bounds__(256, 2)
gemm_overlapped_low(const T *a, const T *b, A *c, long long m, long long k, long long n, long long pitch_a,
                    long long pitch_b, long long part_k, long long stack, long long a_stack, long long b_stack)
{
    cudaGridDependencySynchronize();
    const gemm_overlapped_call g = {a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack};
    gemm_overlapped_make<16, 128, 16, 32, 128, 6>(g);
}

extern "C" __global__ void __launch_bounds__(256, 2)
gemm_overlapped_small(const T *a, const T *b, A *c, long long m, long long k, long long n, long long pitch_a,
                      long long pitch_b, long long part_k, long long stack, long long a_stack, long long b_stack)
{
    cudaGridDependencySynchronize();
    const gemm_overlapped_call g = {a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack};
    gemm_overlapped_make<32, 64, 16, 32, 128, 4>(g);
}

extern "C" __global__ void __launch_bounds__(256, 2)
gemm_overlapped_square(const T *a, const T *b, A *c, long long m, long long k, long long n, long long pitch_a,
                       long long pitch_b, long long part_k, long long stack, long long a_stack, long long b_stack)
{
    cudaGridDependencySynchronize();
    const gemm_overlapped_call g = {a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack};
    gemm_overlapped_make<64, 64, 32, 32, 256, 3>(g);
}

extern "C" __global__ void __launch_bounds__(256, 1)
gemm_overlapped(const T *a, const T *b, A *c, long long m, long long k, long long n, long long pitch_a,
                long long pitch_b, long long part_k, long long stack, long long a_stack, long long b_stack)
{
    cudaGridDependencySynchronize();
    const gemm_overlapped_call g = {a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack};
    gemm_overlapped_make<64, 128, 32, 64, 256, 4>(g);
}
