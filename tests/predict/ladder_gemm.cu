// Matrix products as published ladders describe them: c = alpha * a @ b + beta * c; a is (m, k), b is (k, n), c is
// (m, n), all row-major float32. Options of the compiler choose a rung:
//
//     INDEX      type of indices
//     CHECKED    1: accesses past an edge are left out
//     DOWN       1: blocks with neighbouring blockIdx.x lie below each other in c
//     BM BN BK   tile of c of a block, and how far it goes along k at a time; a multiple of them fits m, n and k
//     TM TN      rows and columns of c of a thread
//     WM WN      of a warp
//     TURNED     1: the tile of a lies transposed in shared memory
//     WIDE       1: float4 between global and shared memory
//     SPREAD     1: the tile of b is permuted so that the threads of a row read different banks
//     PAD        unused elements behind each row of the tile of b

#ifndef BM
#define BM 32
#define BN 32
#define BK 32
#endif
#ifndef TM
#define TM 1
#define TN 1
#endif
#ifndef WM
#define WM BM
#define WN BN
#define WARP_STEP_N 1
#endif
#ifndef TURNED
#define TURNED 0
#endif
#ifndef WIDE
#define WIDE 0
#endif
#ifndef SPREAD
#define SPREAD 0
#endif
#ifndef PAD
#define PAD 0
#endif

constexpr int THREADS = (WM == BM && WN == BN) ? BM / TM * (BN / TN) : BM / WM * (BN / WN) * 32;
constexpr int PITCH_A = TURNED ? BM : BK, PITCH_B = BN + PAD;

__device__ bool inside(INDEX i, INDEX n)
{
    return !CHECKED || i < n;
}

// One element of c for each thread, straight from global memory. BY_ROW: neighbours in a warp make neighbours of a
// row, else of a column.
template <bool BY_ROW>
__device__ void make_element(INDEX m, INDEX n, INDEX k, float alpha, const float *a, const float *b, float beta,
                             float *c, INDEX x, INDEX y)
{
    const INDEX row = BY_ROW ? y : x, col = BY_ROW ? x : y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (INDEX i = 0; i < k; ++i)
            sum += a[row * k + i] * b[i * n + col];
        c[row * n + col] = alpha * sum + beta * c[row * n + col];
    }
}

extern "C" __global__ void strided(INDEX m, INDEX n, INDEX k, float alpha, const float *a, const float *b, float beta,
                                   float *c)
{
    make_element<false>(m, n, k, alpha, a, b, beta, c, blockIdx.x * blockDim.x + threadIdx.x,
                        blockIdx.y * blockDim.y + threadIdx.y);
}

extern "C" __global__ void coalesced(INDEX m, INDEX n, INDEX k, float alpha, const float *a, const float *b, float beta,
                                     float *c)
{
    const INDEX x = threadIdx.x % 32, y = threadIdx.x / 32 + threadIdx.y;
    if (DOWN)
        make_element<true>(m, n, k, alpha, a, b, beta, c, blockIdx.y * 32 + x, blockIdx.x * 32 + y);
    else
        make_element<true>(m, n, k, alpha, a, b, beta, c, blockIdx.x * 32 + x, blockIdx.y * 32 + y);
}

// Where an element of the tiles lies in shared memory.
__device__ int place_a(int row, int i)
{
    return TURNED ? i * PITCH_A + row : row * PITCH_A + i;
}
__device__ int place_b(int i, int col)
{
    if (SPREAD) // the TN columns of a thread, each as a row of the block's threads
        return (i * TN + col % TN) * (BN / TN) + col / TN;
    return i * PITCH_B + col;
}

// Copies the tiles of one step along k.
__device__ void stage(float *tile_a, float *tile_b, const float *a, const float *b, INDEX m, INDEX n, INDEX k,
                      INDEX first_row, INDEX first_col, INDEX first)
{
    constexpr int EACH = WIDE ? 4 : 1;
#pragma unroll
    for (int e = 0; e < BM * BK; e += THREADS * EACH) {
        const int at = e + threadIdx.x * EACH, row = at / BK, i = at % BK;
        if (WIDE) {
            float4 four = {};
            if (inside(first_row + row, m) && inside(first + i, k))
                four = *(const float4 *)&a[(first_row + row) * k + first + i];
            tile_a[place_a(row, i)] = four.x;
            tile_a[place_a(row, i + 1)] = four.y;
            tile_a[place_a(row, i + 2)] = four.z;
            tile_a[place_a(row, i + 3)] = four.w;
        } else {
            const bool known = inside(first_row + row, m) && inside(first + i, k);
            tile_a[place_a(row, i)] = known ? a[(first_row + row) * k + first + i] : 0.0f;
        }
    }
#pragma unroll
    for (int e = 0; e < BK * BN; e += THREADS * EACH) {
        const int at = e + threadIdx.x * EACH, i = at / BN, col = at % BN;
        if (WIDE) {
            float4 four = {};
            if (inside(first + i, k) && inside(first_col + col, n))
                four = *(const float4 *)&b[(first + i) * n + first_col + col];
            if (SPREAD || PAD) {
                tile_b[place_b(i, col)] = four.x;
                tile_b[place_b(i, col + 1)] = four.y;
                tile_b[place_b(i, col + 2)] = four.z;
                tile_b[place_b(i, col + 3)] = four.w;
            } else {
                *(float4 *)&tile_b[place_b(i, col)] = four;
            }
        } else {
            const bool known = inside(first + i, k) && inside(first_col + col, n);
            tile_b[place_b(i, col)] = known ? b[(first + i) * n + first_col + col] : 0.0f;
        }
    }
}

// A tile of c in a block, TM x TN elements of it in a thread; a warp makes a part of WM x WN in steps.
extern "C" __global__ void __launch_bounds__(THREADS)
    tiled(INDEX m, INDEX n, INDEX k, float alpha, const float *a, const float *b, float beta, float *c)
{
    constexpr bool WARPS = WM != BM || WN != BN;
    constexpr int STEPS_N = WARPS ? WARP_STEP_N : 1;
    constexpr int STEPS_M = WARPS ? WM * WN / (32 * TM * TN * STEPS_N) : 1;
    constexpr int PART_M = WM / STEPS_M, PART_N = WN / STEPS_N;
    __shared__ __align__(16) float tile_a[BM * BK];
    __shared__ __align__(16) float tile_b[BK * PITCH_B];
    const INDEX first_row = (DOWN ? blockIdx.x : blockIdx.y) * BM, first_col = (DOWN ? blockIdx.y : blockIdx.x) * BN;
    const int thread = threadIdx.x, warp = WARPS ? thread / 32 : 0, lane = WARPS ? thread % 32 : thread;
    const int row = warp / (BN / WN) * WM + lane / (PART_N / TN) * TM;
    const int col = warp % (BN / WN) * WN + lane % (PART_N / TN) * TN;

    float sum[STEPS_M * TM][STEPS_N * TN] = {};
    for (INDEX first = 0; first < k; first += BK) {
        stage(tile_a, tile_b, a, b, m, n, k, first_row, first_col, first);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < BK; ++i) {
            float from_a[STEPS_M * TM], from_b[STEPS_N * TN];
#pragma unroll
            for (int r = 0; r < STEPS_M * TM; ++r)
                from_a[r] = tile_a[place_a(row + r / TM * PART_M + r % TM, i)];
#pragma unroll
            for (int q = 0; q < STEPS_N * TN; ++q)
                from_b[q] = tile_b[place_b(i, col + q / TN * PART_N + q % TN)];
#pragma unroll
            for (int r = 0; r < STEPS_M * TM; ++r)
#pragma unroll
                for (int q = 0; q < STEPS_N * TN; ++q)
                    sum[r][q] += from_a[r] * from_b[q];
        }
        __syncthreads();
    }

#pragma unroll
    for (int r = 0; r < STEPS_M * TM; ++r) {
        const INDEX y = first_row + row + r / TM * PART_M + r % TM;
#pragma unroll
        for (int q = 0; q < STEPS_N * TN; q += WIDE ? 4 : 1) {
            const INDEX x = first_col + col + q / TN * PART_N + q % TN;
            if (!inside(y, m) || !inside(x, n))
                continue;
            if (WIDE) {
                float4 four = *(float4 *)&c[y * n + x];
                four.x = alpha * sum[r][q] + beta * four.x;
                four.y = alpha * sum[r][q + 1] + beta * four.y;
                four.z = alpha * sum[r][q + 2] + beta * four.z;
                four.w = alpha * sum[r][q + 3] + beta * four.w;
                *(float4 *)&c[y * n + x] = four;
            } else {
                c[y * n + x] = alpha * sum[r][q] + beta * c[y * n + x];
            }
        }
    }
}
