/* Kernels that no family of the package has: predictions of them are compared with an H200's times (unseen.py).
 *
 * Each has one trait that decides its time, which its first comment names.
 */
#include <cuda_fp16.h>

/* A stencil in three dimensions: loads that neighbours share, and rows of x in one line. */
extern "C" __global__ void stencil7(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
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
extern "C" __global__ void matvec_warp(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y,
                                       int rows, int columns) {
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
extern "C" __global__ void matvec_thread(const float* __restrict__ a, const float* __restrict__ x,
                                         float* __restrict__ y, int rows, int columns) {
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
extern "C" __global__ void count64(const unsigned* __restrict__ data, unsigned* __restrict__ counts, int n) {
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
extern "C" __global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out, int columns) {
    __shared__ float part[32];
    const float* row = in + (size_t)blockIdx.x * columns;
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
extern "C" __global__ void embed(const int* __restrict__ index, const float2* __restrict__ table,
                                 float2* __restrict__ out, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row < n) {
        out[(size_t)row * 32 + lane] = table[(size_t)index[row] * 32 + lane];
    }
}

/* Steps until a number is 1: lanes that leave a loop at different times. */
extern "C" __global__ void collatz(const unsigned* __restrict__ start, unsigned* __restrict__ steps, int n) {
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
extern "C" __global__ void double_chain(const double* __restrict__ in, double* __restrict__ out, int n) {
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
extern "C" __global__ void special(const float* __restrict__ in, float* __restrict__ out, int n) {
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
extern "C" __global__ void chains8(float* __restrict__ out, float x, int trips) {
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
extern "C" __global__ void chase(const int* __restrict__ next, int* __restrict__ out, int trips) {
    extern __shared__ int room[];
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
    for (int i = 0; i < trips; i++) {
        at = next[at];
    }
    room[threadIdx.x] = at;
    out[blockIdx.x * blockDim.x + threadIdx.x] = room[threadIdx.x];
}

/* Every ninth number: 32 sectors for each 32 numbers. */
extern "C" __global__ void stride9(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2.0f * in[(size_t)i * 9];
    }
}

/* Reads of shared memory of which four meet in each bank. */
extern "C" __global__ void banks4(float* __restrict__ out, int trips) {
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
extern "C" __global__ void half_pairs_chain(__half2* __restrict__ out, float x, int trips) {
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
extern "C" __global__ void hash(const unsigned* __restrict__ in, unsigned* __restrict__ out, int n) {
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
extern "C" __global__ void box9(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
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
