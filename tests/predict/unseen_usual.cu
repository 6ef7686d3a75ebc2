/* Kernels as people time them first, for predictions that are made before they are timed (unseen.py).
 *
 * nvcc -ptx -arch=sm_75 -O3 unseen_usual.cu
 */
#include <cuda_fp16.h>

/* A sum of each block of 1,024 threads, by a tree in shared memory. */
extern "C" __global__ void sum_large_blocks(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float tree[1024];
    unsigned t = threadIdx.x;
    tree[t] = in[blockIdx.x * 1024 + t];
    __syncthreads();
    for (unsigned step = 512; step; step /= 2) {
        if (t < step) {
            tree[t] += tree[t + step];
        }
        __syncthreads();
    }
    if (t == 0) {
        out[blockIdx.x] = tree[0];
    }
}

/* The mean of 17 neighbours, from global memory. */
extern "C" __global__ void mean17(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 8 && i < n - 8) {
        float sum = 0;
        for (int k = -8; k <= 8; k++) {
            sum += in[i + k];
        }
        out[i] = sum / 17;
    }
}

/* A step of heat in three dimensions: planes of a tile in shared memory, columns in registers. */
extern "C" __global__ void heat_planes(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz)
{
    __shared__ float plane[10][34];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    size_t at = (size_t)y * nx + x, step = (size_t)nx * ny;
    float below = in[at], here = in[at + step];
    for (int z = 1; z < nz - 1; z++) {
        float above = in[at + (z + 1) * step];
        plane[ty][tx] = here;
        if (tx == 1) {
            plane[ty][0] = in[at + z * step - 1];
        }
        if (tx == 32) {
            plane[ty][33] = in[at + z * step + 1];
        }
        if (ty == 1) {
            plane[0][tx] = in[at + z * step - nx];
        }
        if (ty == 8) {
            plane[9][tx] = in[at + z * step + nx];
        }
        __syncthreads();
        out[at + z * step] = here + 0.1f * (below + above + plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] +
                                            plane[ty + 1][tx] - 6 * here);
        __syncthreads();
        below = here;
        here = above;
    }
}

/* A transpose of odd sizes, by padded tiles. */
extern "C" __global__ void turn_odd(const float *__restrict__ in, float *__restrict__ out, int rows, int columns)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        if (x < columns && y + k < rows) {
            tile[threadIdx.y + k][threadIdx.x] = in[(size_t)(y + k) * columns + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        if (x < rows && y + k < columns) {
            out[(size_t)(y + k) * rows + x] = tile[threadIdx.x][threadIdx.y + k];
        }
    }
}

/* How often each of 256 bytes occurs: counters in shared memory, words read. */
extern "C" __global__ void count_bytes(const unsigned *__restrict__ in, unsigned *__restrict__ out, int words)
{
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        unsigned word = in[i];
        atomicAdd(&bins[word & 255], 1);
        atomicAdd(&bins[word >> 8 & 255], 1);
        atomicAdd(&bins[word >> 16 & 255], 1);
        atomicAdd(&bins[word >> 24], 1);
    }
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

/* A product of matrices of odd shapes, by tiles of 16 x 16. */
extern "C" __global__ void matmul_odd(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                      int m, int n, int k)
{
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int first = 0; first < k; first += 16) {
        as[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;
        bs[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            sum += as[y][i] * bs[i][x];
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}

/* Every seventh number is read, and every fifth written. */
extern "C" __global__ void stride_both(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[5 * i] = 2 * in[7 * i];
    }
}

/* Few blocks sum much: three of 512 threads. */
extern "C" __global__ void three_blocks(const float *__restrict__ in, float *__restrict__ out, int each)
{
    __shared__ float sums[16];
    const float *mine = in + (size_t)blockIdx.x * each;
    float sum = 0;
    for (int i = threadIdx.x; i < each; i += 512) {
        sum += mine[i];
    }
    for (int step = 16; step; step /= 2) {
        sum += __shfl_down_sync(~0u, sum, step);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 16; i++) {
            sum += sums[i];
        }
        out[blockIdx.x] = sum;
    }
}

/* Chains of one kind of operation, each on the result of the one before. */
extern "C" __global__ void chain_int(int *data, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = data[i];
    for (int k = 0; k < times; k++) {
        x = x * 1664525 + k;
        x ^= x >> 13;
    }
    data[i] = x;
}

extern "C" __global__ void chain_special(float *data, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[i];
    for (int k = 0; k < times; k++) {
        x = __expf(-x) + rsqrtf(x + 1.5f);
    }
    data[i] = x;
}

extern "C" __global__ void chain_quotients(double *data, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = data[i];
    for (int k = 0; k < times; k++) {
        x = 1.0 + 1.0 / x;
    }
    data[i] = x;
}

/* Four chains beside each other in every thread. */
extern "C" __global__ void chains4(float *data, float a, float b, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w = data[i], x = w + 1, y = w + 2, z = w + 3;
    for (int k = 0; k < times; k++) {
        w = w * a + b;
        x = x * a + b;
        y = y * a + b;
        z = z * a + b;
    }
    data[i] = w + x + y + z;
}

/* All threads count in one place, with the answer asked for. */
extern "C" __global__ void tickets(unsigned *counter, unsigned *__restrict__ out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1);
}

/* Sums of floats in a million random places. */
extern "C" __global__ void spread_sums(const unsigned *__restrict__ place, const float *__restrict__ in,
                                       float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&out[place[i] & 0xfffff], in[i]);
    }
}

/* Eight ways, by the lane. */
extern "C" __global__ void eight_ways(float *__restrict__ data, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[i];
    for (int k = 0; k < times; k++) {
        switch (threadIdx.x & 7) {
        case 0: x = x * 0.99f + 0.1f; break;
        case 1: x = sqrtf(x + 1); break;
        case 2: x = x * x * 0.5f; break;
        case 3: x = fabsf(x - 0.5f); break;
        case 4: x = x > 0.5f ? x * 0.5f : x + 0.25f; break;
        case 5: x = fminf(x + 0.3f, 1.0f); break;
        case 6: x = __sinf(x); break;
        default: x = 1 / (1 + x); break;
        }
    }
    data[i] = x;
}

/* Polynomials of pairs of halves. */
extern "C" __global__ void half_polynomials(const __half2 *__restrict__ in, __half2 *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        __half2 x = in[i], sum = __float2half2_rn(0.5f);
        for (int k = 0; k < 32; k++) {
            sum = __hfma2(sum, x, __float2half2_rn(0.25f));
        }
        out[i] = sum;
    }
}

__constant__ float TAPS[1024];

/* A filter whose 33 taps all lanes read at once from constant memory. */
extern "C" __global__ void filter33(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float tile[256 + 32];
    int first = blockIdx.x * 256, t = threadIdx.x;
    tile[t] = in[first + t];
    if (t < 32) {
        tile[256 + t] = first + 256 + t < n ? in[first + 256 + t] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 33; k++) {
        sum += TAPS[k] * tile[t + k];
    }
    out[first + t] = sum;
}

/* A table in constant memory, of which each lane reads another word. */
extern "C" __global__ void parted_constants(const unsigned *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned v = in[i];
        float sum = 0;
        for (int k = 0; k < 4; k++) {
            sum += TAPS[(v >> 5 * k & 31) * 32];
        }
        out[i] = sum;
    }
}

/* A sort of 24 numbers in each thread, in local memory. */
extern "C" __global__ void sort_local(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float mine[24];
        for (int k = 0; k < 24; k++) {
            mine[k] = in[k * n + i];
        }
        for (int k = 1; k < 24; k++) {
            float x = mine[k];
            int at = k;
            while (at > 0 && mine[at - 1] > x) {
                mine[at] = mine[at - 1];
                at--;
            }
            mine[at] = x;
        }
        out[i] = mine[12];
    }
}

/* A walk through a ring of four MiB, by one thread of each block. */
extern "C" __global__ void walk_ring(const unsigned *__restrict__ next, unsigned *__restrict__ out, int steps)
{
    unsigned at = blockIdx.x * 7919;
    for (int k = 0; k < steps; k++) {
        at = next[at];
    }
    out[blockIdx.x] = at;
}

/* A thousand small steps between barriers. */
extern "C" __global__ void many_barriers(float *__restrict__ data, int steps)
{
    __shared__ float row[2][258];
    int t = threadIdx.x;
    row[0][t + 1] = data[blockIdx.x * 256 + t];
    if (t < 2) {
        row[0][t * 257] = row[1][t * 257] = 0;
    }
    __syncthreads();
    for (int k = 0; k < steps; k++) {
        row[1 - k % 2][t + 1] = 0.5f * row[k % 2][t + 1] + 0.25f * (row[k % 2][t] + row[k % 2][t + 2]);
        __syncthreads();
    }
    data[blockIdx.x * 256 + t] = row[steps % 2][t + 1];
}

/* One block more than the multiprocessors hold, of much arithmetic. */
extern "C" __global__ void last_wave(float *__restrict__ data, int times)
{
    extern __shared__ float room[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[i];
    room[threadIdx.x] = x;
    for (int k = 0; k < times; k++) {
        x = x * room[threadIdx.x] + 0.5f;
    }
    data[i] = x;
}

/* The sums of columns, a thread each. */
extern "C" __global__ void column_sums(const float *__restrict__ in, float *__restrict__ out, int rows, int columns)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < columns) {
        float sum = 0;
        for (int y = 0; y < rows; y++) {
            sum += in[(size_t)y * columns + x];
        }
        out[x] = sum;
    }
}

/* A step of Life on bytes. */
extern "C" __global__ void life(const unsigned char *__restrict__ in, unsigned char *__restrict__ out, int width,
                                int height)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        int alive = 0;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                alive += in[(y + dy) * width + x + dx] & 1;
            }
        }
        int me = in[y * width + x] & 1;
        out[y * width + x] = alive == 3 || (me && alive == 4);
    }
}

/* Numbers in the order of their bits turned round. */
extern "C" __global__ void reverse_bits(const float2 *__restrict__ in, float2 *__restrict__ out, int bits)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[__brev(i) >> (32 - bits)] = in[i];
}

/* The nearest of 16 centres in eight dimensions. */
extern "C" __global__ void nearest_centre(const float *__restrict__ points, const float *__restrict__ centres,
                                          int *__restrict__ out, int n)
{
    __shared__ float near[16 * 8];
    if (threadIdx.x < 128) {
        near[threadIdx.x] = centres[threadIdx.x];
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float mine[8], least = 1e30f;
        int best = 0;
        for (int k = 0; k < 8; k++) {
            mine[k] = points[k * n + i];
        }
        for (int c = 0; c < 16; c++) {
            float sum = 0;
            for (int k = 0; k < 8; k++) {
                float d = mine[k] - near[c * 8 + k];
                sum += d * d;
            }
            if (sum < least) {
                least = sum;
                best = c;
            }
        }
        out[i] = best;
    }
}

/* Blocks that take turns: each waits until the one before it has counted up. The last one starts again. */
extern "C" __global__ void take_turns(unsigned *turn, float *data)
{
    if (threadIdx.x == 0) {
        while (atomicAdd(turn, 0) != blockIdx.x) {
        }
        *data += 1;
        __threadfence();
        atomicInc(turn, gridDim.x - 1);
    }
}

/* The same, by a load that watches, and sums that each block makes of what the one before it left. */
extern "C" __global__ void pass_on(volatile unsigned *flags, volatile float *sums, const float *__restrict__ in)
{
    unsigned t = threadIdx.x, run = flags[gridDim.x];
    float mine = in[blockIdx.x * blockDim.x + t];
    for (int step = 16; step; step /= 2) {
        mine += __shfl_down_sync(~0u, mine, step);
    }
    if (t == 0) {
        float before = 0;
        if (blockIdx.x) {
            while (flags[blockIdx.x - 1] != run + 1) {
            }
            __threadfence();
            before = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = before + mine;
        __threadfence();
        flags[blockIdx.x] = run + 1;
        if (blockIdx.x == gridDim.x - 1) {
            flags[gridDim.x] = run + 1;
        }
    }
}
