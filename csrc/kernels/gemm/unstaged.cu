// gemm / unstaged
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major, or any
//          arrays of these shapes: their strides are parameters.
// Idea     Where k is short, or the product small, what takes time is the launch, a trip to memory, and to write c.
//          Tiles in shared memory and their barriers are a detour then (gemm/short_k). Tensor cores multiply all the
//          same: the mma of 16 x 4 and 4 x 8 float64 wants of a lane two elements of a and one of b, and lanes read
//          these where they lie: of each row of a four neighbours, a sector, and of each of b eight. What READS mma
//          want is read at once, before the first of them.
//          A warp writes 8 neighbours of each of its rows. Where a row of c is no multiple of a sector long, these
//          would lie across sectors, each in its own way. So a warp takes every fourth row there: these begin alike,
//          and its columns begin where a sector does (apart). Of few rows it takes neighbours all the same, and four
//          lanes write four of a row where two at once do not fit. The next launch may begin at once: each waits for
//          those before it.
// Differs  from gemm/short_k: tensor cores, which take an element of b for 16 rows at once.
// Claims   shared.load.instructions = 0
//          global.store.sectors_per_request = 16       m a multiple of 64; n a multiple of 32
// Length   more than an exhibit has: blocks of three shapes, and rows of any length.
// Source   the fragments of mma, from NVIDIA's PTX ISA; the rest is measured on an H200

// AM x AN warps, each of which makes 16 rows by 8 BLOCKS columns.
template <bool APART, int AM, int AN, int BLOCKS, int READS>
static __device__ __forceinline__ void gemm_unstaged_make(const double *a, const double *b, double *c, long long m,
                                                          long long k, long long n, long long a_row, long long a_col,
                                                          long long b_row, long long b_col, long long stack,
                                                          long long a_stack, long long b_stack)
{
    constexpr int STEP = 4 * READS, COLS = 8 * BLOCKS;
    constexpr int SECTOR = 4, NEXT = APART ? SECTOR : 1; // elements; from a row of a warp to the next
    static_assert(!APART || AM == SECTOR);

    // The launches before have ended, whose results may be the operands, and who read what is written here.
    cudaGridDependencySynchronize();

    // Who am I: a product of the stack; the rows and columns of my warp, which may begin left of c; of each mma a row
    // of a, a column of b and an element along k.
    const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
    if (item >= stack)
        return;
    c += item * m * n;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const unsigned across = unsigned((n + (APART ? SECTOR - 1 : 0) + AN * COLS - 1) / (AN * COLS));
    const long long first_row = blockIdx.x / across * (16ll * AM) + warp % AM * (APART ? 1 : 16);
    const long long shift = APART ? ((size_t)c / sizeof(double) + first_row * n) % SECTOR : 0;
    const long long row = first_row + group * NEXT;
    const long long col = (blockIdx.x % across * (long long)AN + warp / AM) * COLS - shift;
    const bool pairs = APART || (n % 2 == 0 && (size_t)c % 16 == 0);
    const int my_col = pairs ? group : group / 2 + group % 2 * 4;

    // Past the edges of c the last row, and the first or last column, are taken again.
    const double *from_a[2], *from_b[BLOCKS];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const long long at = row + h * 8 * NEXT;
        from_a[h] = a + item * a_stack + (at < m ? at : m - 1) * a_row + t * a_col;
    }
#pragma unroll
    for (int j = 0; j < BLOCKS; ++j) {
        const long long at = col + j * 8 + my_col;
        from_b[j] = b + item * b_stack + (APART && at < 0 ? 0 : at < n ? at : n - 1) * b_col + t * b_row;
    }

    // Read and compute. Behind the end of k lanes have zeros of both operands.
    double sum[BLOCKS][4] = {};
#pragma unroll 1
    for (long long first = 0; first < k; first += STEP) {
        const int left = k - first < STEP ? int(k - first) : STEP;
        double x[READS][2], y[READS][BLOCKS];
#pragma unroll
        for (int u = 0; u < READS; ++u) {
            const bool inside = u * 4 + t < left;
#pragma unroll
            for (int h = 0; h < 2; ++h)
                x[u][h] = inside ? from_a[h][u * 4 * a_col] : 0;
#pragma unroll
            for (int j = 0; j < BLOCKS; ++j)
                y[u][j] = inside ? from_b[j][u * 4 * b_row] : 0;
        }
#pragma unroll
        for (int u = 0; u < READS; ++u)
            if (u * 4 < left)
#pragma unroll
                for (int j = 0; j < BLOCKS; ++j)
                    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
                        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                        : "+d"(sum[j][0]), "+d"(sum[j][1]), "+d"(sum[j][2]), "+d"(sum[j][3])
                        : "d"(x[u][0]), "d"(x[u][1]), "d"(y[u][j]));
#pragma unroll
        for (int h = 0; h < 2; ++h)
            from_a[h] += STEP * a_col;
#pragma unroll
        for (int j = 0; j < BLOCKS; ++j)
            from_b[j] += STEP * b_row;
    }

    // Write: two neighbours at once, or four lanes four neighbours. At an edge of c one of two may lie inside.
#pragma unroll
    for (int e = 0; e < 2 * BLOCKS; ++e) {
        const long long to_row = row + e / BLOCKS * 8 * NEXT;
        const long long to_col = col + e % BLOCKS * 8 + (pairs ? 2 * t : t), other = to_col + (pairs ? 1 : 4);
        const double u = sum[e % BLOCKS][e / BLOCKS * 2], v = sum[e % BLOCKS][e / BLOCKS * 2 + 1];
        double *const to = c + to_row * n;
        const bool has_u = to_row < m && to_col < n && (!APART || to_col >= 0);
        const bool has_v = to_row < m && other < n && (!APART || other >= 0);
        if (pairs && has_u && has_v) {
            asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to + to_col)), "d"(u), "d"(v)
                         : "memory");
        } else if (APART || !pairs) {
            if (has_u)
                to[to_col] = u;
            if (has_v)
                to[other] = v;
        }
    }
}

// With five blocks on a multiprocessor the compiler has registers for all reads of a step. Left to itself it saves
// some, and has most of the reads wait for the mma before them.
extern "C" __global__ void __launch_bounds__(128, 5)
    gemm_unstaged_large(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                        long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                        long long stack, long long a_stack, long long b_stack)
{
    gemm_unstaged_make<false, 4, 1, 4, 2>(a, b, c, m, k, n, a_row, a_col, b_row, b_col, stack, a_stack, b_stack);
}

extern "C" __global__ void __launch_bounds__(128, 5)
    gemm_unstaged_apart(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                        long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                        long long stack, long long a_stack, long long b_stack)
{
    gemm_unstaged_make<true, 4, 1, 2, 4>(a, b, c, m, k, n, a_row, a_col, b_row, b_col, stack, a_stack, b_stack);
}

extern "C" __global__ void __launch_bounds__(128, 5)
    gemm_unstaged_apart_large(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c,
                              long long m, long long k, long long n, long long a_row, long long a_col, long long b_row,
                              long long b_col, long long stack, long long a_stack, long long b_stack)
{
    gemm_unstaged_make<true, 4, 1, 4, 2>(a, b, c, m, k, n, a_row, a_col, b_row, b_col, stack, a_stack, b_stack);
}

extern "C" __global__ void __launch_bounds__(128, 5)
    gemm_unstaged(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, long long m,
                  long long k, long long n, long long a_row, long long a_col, long long b_row, long long b_col,
                  long long stack, long long a_stack, long long b_stack)
{
    gemm_unstaged_make<false, 2, 2, 1, 8>(a, b, c, m, k, n, a_row, a_col, b_row, b_col, stack, a_stack, b_stack);
}
