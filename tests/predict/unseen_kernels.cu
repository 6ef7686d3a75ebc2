/* Kernels that no family of the package has: predictions of them are compared with an H200's times (unseen.py).
 *
 * Each has one trait that decides its time, which its first comment names.
 */
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>

/* A stencil in three dimensions: loads that neighbours share, and rows of x in one line. */
extern "C" __global__ void stencil7(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) {
        return;
    }
    int plane = nx * ny, at = y * nx + x + plane;
    float below = in[at - plane], here = in[at];
    for (int z = 1; z < nz - 1; z++, at += plane) {
        float above = in[at + plane];
        out[at] = 0.4f * here + 0.1f * (below + above + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx]);
        below = here;
        here = above;
    }
}

/* A matrix times a vector, a warp a row: streams the matrix once. */
extern "C" __global__ void matvec_warp(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y,
                                       int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    float sum = 0;
    for (int k = lane; k < columns; k += 32) {
        sum += a[(size_t)row * columns + k] * x[k];
    }
    for (int step = 16; step; step /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, step);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

/* The same, a thread a row: 32 lines a request. */
extern "C" __global__ void matvec_thread(const float *__restrict__ a, const float *__restrict__ x,
                                         float *__restrict__ y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0;
    for (int k = 0; k < columns; k++) {
        sum += a[(size_t)row * columns + k] * x[k];
    }
    y[row] = sum;
}

/* Counts of 64 values in shared memory, added to global memory at the end. */
extern "C" __global__ void count64(const unsigned *__restrict__ data, unsigned *__restrict__ counts, int n)
{
    __shared__ unsigned mine[64];
    if (threadIdx.x < 64) {
        mine[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&mine[data[i] & 63], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
    }
}

/* Softmax of rows, a block a row: shuffles, barriers, exponentials. */
extern "C" __global__ void softmax_rows(const float *__restrict__ in, float *__restrict__ out, int columns)
{
    __shared__ float part[32];
    const float *row = in + (size_t)blockIdx.x * columns;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    float most = -1e30f, sum = 0;
    for (int k = threadIdx.x; k < columns; k += blockDim.x) {
        most = fmaxf(most, row[k]);
    }
    for (int step = 16; step; step /= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    }
    if (lane == 0) {
        part[warp] = most;
    }
    __syncthreads();
    for (int i = 0; i < warps; i++) {
        most = fmaxf(most, part[i]);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < columns; k += blockDim.x) {
        sum += __expf(row[k] - most);
    }
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    if (lane == 0) {
        part[warp] = sum;
    }
    __syncthreads();
    sum = 0;
    for (int i = 0; i < warps; i++) {
        sum += part[i];
    }
    for (int k = threadIdx.x; k < columns; k += blockDim.x) {
        out[(size_t)blockIdx.x * columns + k] = __expf(row[k] - most) / sum;
    }
}

/* Rows of a table by random numbers: gathers of 256 bytes. */
extern "C" __global__ void embed(const int *__restrict__ index, const float2 *__restrict__ table,
                                 float2 *__restrict__ out, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row < n) {
        out[(size_t)row * 32 + lane] = table[(size_t)index[row] * 32 + lane];
    }
}

/* Steps until a number is 1: lanes that leave a loop at different times. */
extern "C" __global__ void collatz(const unsigned *__restrict__ start, unsigned *__restrict__ steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned value = start[i], count = 0;
    while (value != 1) {
        value = value & 1 ? 3 * value + 1 : value >> 1;
        count++;
    }
    steps[i] = count;
}

/* A polynomial of degree 64 in float64: a chain of dependent multiply-adds. */
extern "C" __global__ void double_chain(const double *__restrict__ in, double *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    double x = in[i], sum = 1;
#pragma unroll
    for (int k = 0; k < 64; k++) {
        sum = sum * x + 0.5;
    }
    out[i] = sum;
}

/* Sines and roots: the unit of special functions. */
extern "C" __global__ void special(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float x = in[i];
#pragma unroll 8
    for (int k = 0; k < 64; k++) {
        x = __sinf(x) + rsqrtf(x + 2.0f);
    }
    out[i] = x;
}

/* Eight chains of multiply-adds in each thread: float32 at its peak. */
extern "C" __global__ void chains8(float *__restrict__ out, float x, int trips)
{
    float sum[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        sum[k] = threadIdx.x + k;
    }
    for (int i = 0; i < trips; i++) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            sum[k] = sum[k] * x + 0.25f;
            sum[k] = sum[k] * x + 0.75f;
        }
    }
    float all = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        all += sum[k];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

/* A walk through a table, a block of two warps on each multiprocessor: nothing but latency. */
extern "C" __global__ void chase(const int *__restrict__ next, int *__restrict__ out, int trips)
{
    extern __shared__ int room[];
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
    for (int i = 0; i < trips; i++) {
        at = next[at];
    }
    room[threadIdx.x] = at;
    out[blockIdx.x * blockDim.x + threadIdx.x] = room[threadIdx.x];
}

/* Every ninth number: 32 sectors for each 32 numbers. */
extern "C" __global__ void stride9(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2.0f * in[(size_t)i * 9];
    }
}

/* Reads of shared memory of which four meet in each bank. */
extern "C" __global__ void banks4(float *__restrict__ out, int trips)
{
    __shared__ float tile[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        tile[i] = i;
    }
    __syncthreads();
    float sum = 0;
    int at = threadIdx.x * 4 & 1023;
#pragma unroll 4
    for (int i = 0; i < trips; i++) {
        sum += tile[at];
        at = (at + 1) & 1023;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Pairs of float16: the pipe of packed halves. */
extern "C" __global__ void half_pairs_chain(__half2 *__restrict__ out, float x, int trips)
{
    __half2 sum[8], factor = __float2half2_rn(x), more = __float2half2_rn(0.25f);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        sum[k] = __float2half2_rn(threadIdx.x * 0.001f + k);
    }
    for (int i = 0; i < trips; i++) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            sum[k] = __hfma2(sum[k], factor, more);
            sum[k] = __hfma2(sum[k], factor, more);
        }
    }
    __half2 all = more;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        all = __hadd2(all, sum[k]);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

/* A hash of integers: products, shifts and exclusive ors. */
extern "C" __global__ void hash(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned h = in[i];
#pragma unroll
    for (int k = 0; k < 24; k++) {
        h = (h ^ (h >> 16)) * 0x85ebca6bu;
        h ^= h >> 13;
    }
    out[i] = h;
}

/* A box of 9 x 9 numbers from shared memory: many reads of a tile, and a halo. */
extern "C" __global__ void box9(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    __shared__ float tile[24][40];
    int x0 = blockIdx.x * 32 - 4, y0 = blockIdx.y * 16 - 4;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 24 * 40; i += 512) {
        int x = min(max(x0 + i % 40, 0), width - 1), y = min(max(y0 + i / 40, 0), height - 1);
        tile[i / 40][i % 40] = in[(size_t)y * width + x];
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 9; dy++) {
#pragma unroll
        for (int dx = 0; dx < 9; dx++) {
            sum += tile[threadIdx.y + dy][threadIdx.x + dx];
        }
    }
    out[(size_t)(blockIdx.y * 16 + threadIdx.y) * width + blockIdx.x * 32 + threadIdx.x] = sum * (1.0f / 81);
}

/* A scaled sum: one number a thread, nothing but memory. */
extern "C" __global__ void saxpy(const float *__restrict__ x, float *__restrict__ y, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = scale * x[i] + y[i];
    }
}

/* The same for a few numbers: the start of a launch. */
extern "C" __global__ void saxpy_small(const float *__restrict__ x, float *__restrict__ y, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = scale * x[i] + y[i];
    }
}

/* Two million blocks of one warp: the starts of blocks. */
extern "C" __global__ void many_blocks(const unsigned *__restrict__ in, unsigned *__restrict__ out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] ^ blockIdx.x;
    }
}

/* A running sum by one block of 1,024 threads: barriers and shared memory, on one multiprocessor. */
extern "C" __global__ void one_block_scan(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float sums[2][1024];
    float before = 0;
    for (int base = 0; base < n; base += 1024) {
        int i = base + threadIdx.x, turn = 0;
        sums[0][threadIdx.x] = i < n ? in[i] : 0;
        __syncthreads();
        for (int step = 1; step < 1024; step *= 2) {
            float sum = sums[turn][threadIdx.x];
            if (threadIdx.x >= step) {
                sum += sums[turn][threadIdx.x - step];
            }
            turn ^= 1;
            sums[turn][threadIdx.x] = sum;
            __syncthreads();
        }
        if (i < n) {
            out[i] = before + sums[turn][threadIdx.x];
        }
        before += sums[turn][1023];
        __syncthreads();
    }
}

/* The greatest number of each block of 1,024 threads: a tree with a barrier a step. */
extern "C" __global__ void tree_max(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float most[1024];
    most[threadIdx.x] = in[(size_t)blockIdx.x * 1024 + threadIdx.x];
    __syncthreads();
    for (int step = 512; step; step /= 2) {
        if (threadIdx.x < step) {
            most[threadIdx.x] = fmaxf(most[threadIdx.x], most[threadIdx.x + step]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = most[0];
    }
}

/* A sparse matrix times a vector, a thread a row: gathers whose addresses are data. */
extern "C" __global__ void sparse_rows(const int *__restrict__ first, const int *__restrict__ column,
                                       const float *__restrict__ value, const float *__restrict__ x,
                                       float *__restrict__ y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0;
    for (int k = first[row]; k < first[row + 1]; k++) {
        sum += value[k] * x[column[k]];
    }
    y[row] = sum;
}

/* Gravity between bodies, tiles of them in shared memory: roots and multiply-adds. */
extern "C" __global__ void bodies(const float4 *__restrict__ body, float4 *__restrict__ pull, int n)
{
    __shared__ float4 tile[256];
    float4 mine = body[blockIdx.x * 256 + threadIdx.x];
    float x = 0, y = 0, z = 0;
    for (int base = 0; base < n; base += 256) {
        tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 256; k++) {
            float4 other = tile[k];
            float dx = other.x - mine.x, dy = other.y - mine.y, dz = other.z - mine.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
            float force = other.w * inverse * inverse * inverse;
            x += dx * force;
            y += dy * force;
            z += dz * force;
        }
        __syncthreads();
    }
    pull[blockIdx.x * 256 + threadIdx.x] = make_float4(x, y, z, 0);
}

/* A product of matrices with the second tile turned: 32 rows of it in one bank. */
extern "C" __global__ void matmul_banks(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                        int n)
{
    __shared__ float left[32][32], right[32][32];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int base = 0; base < n; base += 32) {
        left[threadIdx.y][threadIdx.x] = a[row * n + base + threadIdx.x];
        right[threadIdx.x][threadIdx.y] = b[(base + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k++) {
            sum += left[threadIdx.y][k] * right[threadIdx.x][k];
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}

/* One step of Jacobi's iteration in float64: a stencil of five numbers. */
extern "C" __global__ void jacobi_double(const double *__restrict__ in, double *__restrict__ out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        int at = y * width + x;
        out[at] = 0.25 * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
    }
}

/* A product of matrices of float16 on tensor cores, a warp a tile of 32 x 32, straight from memory. */
extern "C" __global__ void wmma_tiles(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c,
                                      int n)
{
    using namespace nvcuda::wmma;
    int warp = threadIdx.x / 32, row = (blockIdx.y * 2 + warp / 2) * 32, column = (blockIdx.x * 2 + warp % 2) * 32;
    fragment<accumulator, 16, 16, 16, float> sum[2][2];
    for (int i = 0; i < 4; i++) {
        fill_fragment(sum[i / 2][i % 2], 0.0f);
    }
    for (int k = 0; k < n; k += 16) {
        fragment<matrix_a, 16, 16, 16, __half, row_major> left[2];
        fragment<matrix_b, 16, 16, 16, __half, row_major> right[2];
        for (int i = 0; i < 2; i++) {
            load_matrix_sync(left[i], a + (size_t)(row + 16 * i) * n + k, n);
            load_matrix_sync(right[i], b + (size_t)k * n + column + 16 * i, n);
        }
        for (int i = 0; i < 4; i++) {
            mma_sync(sum[i / 2][i % 2], left[i / 2], right[i % 2], sum[i / 2][i % 2]);
        }
    }
    for (int i = 0; i < 4; i++) {
        store_matrix_sync(c + (size_t)(row + 16 * (i / 2)) * n + column + 16 * (i % 2), sum[i / 2][i % 2], n,
                          mem_row_major);
    }
}

/* An image turned by an angle: reads of the texture unit between texels. */
extern "C" __global__ void turned_image(cudaTextureObject_t image, float *__restrict__ out, int width, int height,
                                        float cosine, float sine)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = x - 0.5f * width, v = y - 0.5f * height;
    out[(size_t)y * width + x] =
        tex2D<float>(image, cosine * u - sine * v + 0.5f * width + 0.5f, sine * u + cosine * v + 0.5f * height + 0.5f);
}

/* A kernel that can print, and prints nothing of the data that it gets: calls and their stack. */
extern "C" __global__ void printing(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float value = in[i];
        if (value < 0) {
            printf("number %d is %f\n", i, value);
        }
        out[i] = sqrtf(value);
    }
}

/* Counts of skewed values by atomics on global memory. */
extern "C" __global__ void count_skewed(const unsigned *__restrict__ data, unsigned *__restrict__ counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned value = data[i] & 4095;
        atomicAdd(&counts[value * value >> 12], 1u);
    }
}

/* An array of each thread that is indexed by data: local memory. */
extern "C" __global__ void local_tables(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned table[64], seed = in[i];
    for (int k = 0; k < 64; k++) {
        table[k] = seed >> (k & 31) ^ k;
    }
    for (int k = 0; k < 64; k++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned other = seed >> 26, kept = table[k];
        table[k] = table[other];
        table[other] = kept;
    }
    out[i] = table[seed & 63] + table[5];
}

/* Rows of 1,024 numbers sorted by blocks of 512 threads: barriers, and lanes that differ. */
extern "C" __global__ void sort_rows(float *__restrict__ data)
{
    __shared__ float row[1024];
    float *mine = data + (size_t)blockIdx.x * 1024;
    row[threadIdx.x] = mine[threadIdx.x];
    row[threadIdx.x + 512] = mine[threadIdx.x + 512];
    for (int size = 2; size <= 1024; size *= 2) {
        for (int step = size / 2; step; step /= 2) {
            __syncthreads();
            int low = 2 * threadIdx.x - (threadIdx.x & (step - 1)), high = low + step;
            bool up = (low & size) == 0;
            float first = row[low], second = row[high];
            if ((first > second) == up) {
                row[low] = second;
                row[high] = first;
            }
        }
    }
    __syncthreads();
    mine[threadIdx.x] = row[threadIdx.x];
    mine[threadIdx.x + 512] = row[threadIdx.x + 512];
}

/* A product of integers modulo a number, in a loop: division by a number that is not known. */
extern "C" __global__ void remainders(const unsigned *__restrict__ in, unsigned *__restrict__ out, unsigned modulus,
                                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned power = in[i] % modulus, result = 1;
    for (unsigned exponent = 65537; exponent; exponent >>= 1) {
        if (exponent & 1) {
            result = (unsigned long long)result * power % modulus;
        }
        power = (unsigned long long)power * power % modulus;
    }
    out[i] = result;
}
