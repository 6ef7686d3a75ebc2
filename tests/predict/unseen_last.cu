/* Kernels of other patterns than ours, for predictions that are made before they are timed (unseen.py).
 *
 * nvcc -ptx -arch=sm_75 -O3 unseen_last.cu
 */

/* Numbers go to random places. */
extern "C" __global__ void scatter_words(const unsigned *__restrict__ place, const float *__restrict__ in,
                                         float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[place[i]] = in[i];
    }
}

/* Each number through a table of 4,096 entries, and one of 16. */
extern "C" __global__ void two_tables(const unsigned *__restrict__ in, const float *__restrict__ large,
                                      const float *__restrict__ small, float *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned v = in[i];
        out[i] = large[v & 4095] * small[v >> 12 & 15] + large[v >> 16 & 4095];
    }
}

/* The mean and the deviation of each row, by a warp, in two passes. */
extern "C" __global__ void row_moments(const float *__restrict__ in, float2 *__restrict__ out, int columns, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    const float *mine = in + (size_t)row * columns;
    float sum = 0, square = 0;
    for (int k = lane; k < columns; k += 32) {
        sum += mine[k];
    }
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
    }
    float mean = sum / columns;
    for (int k = lane; k < columns; k += 32) {
        square += (mine[k] - mean) * (mine[k] - mean);
    }
    for (int step = 16; step; step /= 2) {
        square += __shfl_xor_sync(~0u, square, step);
    }
    if (lane == 0) {
        out[row] = make_float2(mean, sqrtf(square / columns));
    }
}

/* A blur along rows and then along columns, of a tile in shared memory. */
extern "C" __global__ void blur_tile(const float *__restrict__ in, float *__restrict__ out, int width)
{
    __shared__ float tile[24][72], half[24][64];
    int left = blockIdx.x * 64, top = blockIdx.y * 16;
    for (int k = threadIdx.x; k < 24 * 72; k += 256) {
        int y = min(max(top + k / 72 - 4, 0), width - 1), x = min(max(left + k % 72 - 4, 0), width - 1);
        tile[k / 72][k % 72] = in[y * width + x];
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 24 * 64; k += 256) {
        float sum = 0;
        for (int d = 0; d < 9; d++) {
            sum += tile[k / 64][k % 64 + d];
        }
        half[k / 64][k % 64] = sum;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 16 * 64; k += 256) {
        float sum = 0;
        for (int d = 0; d < 9; d++) {
            sum += half[k / 64 + d][k % 64];
        }
        out[(top + k / 64) * width + left + k % 64] = sum / 81;
    }
}

/* Words of text are counted: where a letter follows a blank. */
extern "C" __global__ void count_words(const uchar4 *__restrict__ text, unsigned *__restrict__ count, int n)
{
    unsigned mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 c = text[i];
        mine += (c.x < 64 && c.y >= 64) + (c.y < 64 && c.z >= 64) + (c.z < 64 && c.w >= 64);
    }
    for (int step = 16; step; step /= 2) {
        mine += __shfl_down_sync(~0u, mine, step);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(count, mine);
    }
}

/* Steps of an equation in each thread, of double precision. */
extern "C" __global__ void orbits(double4 *__restrict__ state, int steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double4 s = state[i];
        for (int k = 0; k < steps; k++) {
            double r = rsqrt(s.x * s.x + s.y * s.y + 1), a = -r * r * r;
            s.z += 0.01 * a * s.x, s.w += 0.01 * a * s.y;
            s.x += 0.01 * s.z, s.y += 0.01 * s.w;
        }
        state[i] = s;
    }
}

/* Votes of each warp for the most frequent of eight values, by ballots. */
extern "C" __global__ void majority(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = i < n ? in[i] % 8 : 0, most = 0, best = 0;
    for (unsigned k = 0; k < 8; k++) {
        unsigned votes = __popc(__ballot_sync(~0u, value == k));
        if (votes > most) {
            most = votes, best = k;
        }
    }
    if (threadIdx.x % 32 == 0 && i < n) {
        out[i / 32] = best;
    }
}

/* The longest common part of words of 32 bits and a pattern that differs for odd lanes. */
extern "C" __global__ void odd_even(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned v = in[i], sum = 0;
    if (i & 1) {
        for (int k = 0; k < 32; k++) {
            sum += (v * 2654435761u) >> (k & 15);
            v ^= v << 3;
        }
    } else {
        for (int k = 0; k < 32; k++) {
            sum ^= v + (v >> (k & 7));
            v = v * 69069u + 1;
        }
    }
    out[i] = sum;
}

/* Planes of colours become pixels of four bytes. */
extern "C" __global__ void join_planes(const unsigned char *__restrict__ planes, uchar4 *__restrict__ pixels, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        pixels[i] = make_uchar4(planes[i], planes[n + i], planes[2 * n + i], 255);
    }
}

/* A product of a tall matrix and a small one, which lies in shared memory; a row a thread. */
extern "C" __global__ void tall_small(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                      int rows)
{
    __shared__ float small[16][16];
    small[threadIdx.x / 16][threadIdx.x % 16] = b[threadIdx.x];
    __syncthreads();
    int row = blockIdx.x * 256 + threadIdx.x;
    float sums[16] = {};
    for (int k = 0; k < 16; k++) {
        float left = a[(size_t)row * 16 + k];
        for (int j = 0; j < 16; j++) {
            sums[j] += left * small[k][j];
        }
    }
    for (int j = 0; j < 16; j++) {
        c[(size_t)row * 16 + j] = sums[j];
    }
}
