/* Kernels of other patterns than ours, for predictions that are made before they are timed (unseen.py).
 *
 * nvcc -ptx -arch=sm_75 -O3 unseen_others.cu
 */
#include <cuda_fp16.h>

/* Newton's steps for cube roots, and lengths, in double precision. */
extern "C" __global__ void double_roots(const double *__restrict__ in, double *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double a = in[i] + 1, x = a;
        for (int k = 0; k < 6; k++) {
            x = (2 * x + a / (x * x)) / 3;
        }
        out[i] = sqrt(x * x + a * a);
    }
}

/* A sum of waves for each sample: sines and cosines of full precision. */
extern "C" __global__ void waves(const float *__restrict__ amplitude, float *__restrict__ out, int waves, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float t = i * 1e-5f, sum = 0;
    for (int k = 0; k < waves; k++) {
        sum += amplitude[k] * sinf(t * k) + amplitude[k + waves] * cosf(t * k);
    }
    if (i < n) {
        out[i] = sum;
    }
}

/* Each warp sorts 32 numbers, by exchange between lanes. */
extern "C" __global__ void sort_lanes(float *__restrict__ data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    if (i >= n) {
        return;
    }
    float mine = data[i];
    for (int size = 2; size <= 32; size *= 2) {
        for (int step = size / 2; step; step /= 2) {
            float other = __shfl_xor_sync(~0u, mine, step);
            bool low = ((lane & step) == 0) == ((lane & size) == 0);
            mine = low ? fminf(mine, other) : fmaxf(mine, other);
        }
    }
    data[i] = mine;
}

/* Votes for 1,024 candidates, in shared memory first. */
extern "C" __global__ void shared_votes(const unsigned *__restrict__ data, unsigned *__restrict__ votes, int n)
{
    __shared__ unsigned mine[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) {
        mine[k] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&mine[data[i] % 1024], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) {
        atomicAdd(&votes[k], mine[k]);
    }
}

/* Every fifth number becomes every third. */
extern "C" __global__ void restride(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[3 * (size_t)i] = in[5 * (size_t)i + 2];
    }
}

/* Steps until a point of the plane escapes. */
extern "C" __global__ void escape(unsigned char *__restrict__ steps, int width, int height, int most)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = px * 3.0f / width - 2.2f, cy = py * 2.4f / height - 1.2f, x = 0, y = 0;
    int k = 0;
    while (k < most && x * x + y * y < 4) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy, x = next, k++;
    }
    steps[py * width + px] = k;
}

/* A table of constants that all lanes read at one place, and one that each reads at a place of its own. */
__constant__ float uniform_table[256];
__constant__ float own_table[16];
extern "C" __global__ void constants(const unsigned *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned value = in[i];
        float x = value * 1e-9f, sum = 0;
        for (int k = 0; k < 256; k++) {
            sum = sum * x + uniform_table[k];
        }
        for (int k = 0; k < 4; k++) {
            sum += own_table[value >> 4 * k & 15];
        }
        out[i] = sum;
    }
}

/* Random numbers of 64 bits, sixteen steps for each. */
extern "C" __global__ void mix64(unsigned long long *__restrict__ state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned long long s = state[i], sum = 0;
        for (int k = 0; k < 16; k++) {
            s += 0x9e3779b97f4a7c15ull;
            unsigned long long z = s;
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
            z = (z ^ z >> 27) * 0x94d049bb133111ebull;
            sum ^= z ^ z >> 31;
        }
        state[i] = sum;
    }
}

/* Pairs of halves, mixed and clamped. */
extern "C" __global__ void blend_halves(const __half2 *__restrict__ a, const __half2 *__restrict__ b,
                                        __half2 *__restrict__ out, float share, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 weight = __float2half2_rn(share), one = __float2half2_rn(1);
    if (i < n) {
        __half2 x = a[i], y = b[i];
        for (int k = 0; k < 8; k++) {
            x = __hfma2(weight, __hsub2(y, x), x);
            y = __hfma2(__hsub2(one, weight), __hsub2(x, y), y);
        }
        out[i] = __hadd2(x, y);
    }
}

/* A large part of a signal lies in shared memory, and is smoothed there sixteen times: one block a multiprocessor. */
extern "C" __global__ void smooth_often(float *__restrict__ signal, int each)
{
    extern __shared__ float part[];
    float *from = part, *to = part + each;
    for (int k = threadIdx.x; k < each; k += blockDim.x) {
        from[k] = signal[blockIdx.x * each + k];
    }
    __syncthreads();
    for (int turn = 0; turn < 16; turn++) {
        for (int k = threadIdx.x; k < each; k += blockDim.x) {
            to[k] = 0.25f * from[max(k - 1, 0)] + 0.5f * from[k] + 0.25f * from[min(k + 1, each - 1)];
        }
        __syncthreads();
        float *other = from;
        from = to, to = other;
    }
    for (int k = threadIdx.x; k < each; k += blockDim.x) {
        signal[blockIdx.x * each + k] = from[k];
    }
}

/* Eight blocks sum a row of numbers each, over and over with other weights. */
extern "C" __global__ void few_blocks(const float *__restrict__ rows, float *__restrict__ sums, int columns, int turns)
{
    __shared__ float part[256];
    const float *mine = rows + blockIdx.x * columns;
    float weight = 1;
    for (int turn = 0; turn < turns; turn++) {
        float sum = 0;
        for (int k = threadIdx.x; k < columns; k += 256) {
            sum += weight * mine[k];
        }
        part[threadIdx.x] = sum;
        __syncthreads();
        for (int half = 128; half; half /= 2) {
            if (threadIdx.x < half) {
                part[threadIdx.x] += part[threadIdx.x + half];
            }
            __syncthreads();
        }
        weight = part[0] / columns;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = weight;
    }
}

/* The mean of 27 neighbours in space. */
extern "C" __global__ void mean27(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int z = blockIdx.z + 1;
    if (x < n - 1 && y < n - 1) {
        float sum = 0;
        for (int dz = -1; dz <= 1; dz++) {
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    sum += in[((z + dz) * n + y + dy) * n + x + dx];
                }
            }
        }
        out[(z * n + y) * n + x] = sum / 27;
    }
}

/* The place of each key in a sorted list, by halves. */
extern "C" __global__ void find_places(const unsigned *__restrict__ sorted, const unsigned *__restrict__ keys,
                                       unsigned *__restrict__ places, int length, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned key = keys[i], low = 0, high = length;
        while (low < high) {
            unsigned middle = (low + high) / 2;
            if (sorted[middle] < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        places[i] = low;
    }
}

/* Small blocks: two warps find the largest of 256 numbers. */
extern "C" __global__ void small_maxima(const float4 *__restrict__ in, float *__restrict__ out)
{
    __shared__ float other;
    float4 v = in[blockIdx.x * 64 + threadIdx.x];
    float most = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
    for (int step = 16; step; step /= 2) {
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    }
    if (threadIdx.x == 32) {
        other = most;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockIdx.x] = fmaxf(most, other);
    }
}

/* The sums of the digits of numbers, in a base that is given. */
extern "C" __global__ void digit_sums(const unsigned *__restrict__ in, unsigned *__restrict__ out, unsigned base, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned rest = in[i], sum = 0;
        while (rest) {
            sum += rest % base;
            rest /= base;
        }
        out[i] = sum;
    }
}

/* Each thread keeps the eight least of its numbers, in order. */
extern "C" __global__ void eight_least(const float *__restrict__ in, float *__restrict__ out, int rows, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float best[8];
    for (int k = 0; k < 8; k++) {
        best[k] = 1e30f;
    }
    for (int row = 0; row < rows; row++) {
        float value = in[(size_t)row * n + i];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float low = fminf(best[k], value);
            value = fmaxf(best[k], value), best[k] = low;
        }
    }
    for (int k = 0; k < 8; k++) {
        out[(size_t)k * n + i] = best[k];
    }
}
