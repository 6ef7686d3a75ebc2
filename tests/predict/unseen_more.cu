/* Kernels of other patterns than ours, for predictions that are made before they are timed (unseen.py).
 *
 * nvcc -ptx -arch=sm_75 -O3 unseen_more.cu
 */

/* Lanes with one value add once, for all of them. */
extern "C" __global__ void count_aggregated(const unsigned *__restrict__ data, unsigned *__restrict__ counts, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = data[i] % 100 * (data[i] % 3) % 64;
        unsigned same = __match_any_sync(__activemask(), bin);
        if (__ffs(same) - 1 == threadIdx.x % 32) {
            atomicAdd(&counts[bin], __popc(same));
        }
    }
}

/* A step of a wave on a plane: a tile with a rim of two. */
extern "C" __global__ void wave_step(const float *__restrict__ now, float *__restrict__ before, int rows, int columns)
{
    __shared__ float tile[20][36];
    int left = blockIdx.x * 32 - 2, top = blockIdx.y * 16 - 2;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 20 * 36; k += 256) {
        int y = top + k / 36, x = left + k % 36;
        tile[k / 36][k % 36] = x >= 0 && y >= 0 && x < columns && y < rows ? now[y * columns + x] : 0;
    }
    __syncthreads();
    for (int turn = 0; turn < 2; turn++) {
        int y = threadIdx.y + 8 * turn + 2, x = threadIdx.x + 2, at = (top + y) * columns + left + x;
        float far = tile[y - 2][x] + tile[y + 2][x] + tile[y][x - 2] + tile[y][x + 2];
        float near = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        before[at] = 2 * tile[y][x] - before[at] + 0.1f * (16 * near - far - 60 * tile[y][x]);
    }
}

/* The inverse of a small matrix in each thread, by elimination without pivots. */
extern "C" __global__ void invert4(const float4 *__restrict__ in, float4 *__restrict__ out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) {
        return;
    }
    float a[4][4], b[4][4];
    for (int i = 0; i < 4; i++) {
        float4 row = in[at * 4 + i];
        a[i][0] = row.x, a[i][1] = row.y, a[i][2] = row.z, a[i][3] = row.w;
        for (int j = 0; j < 4; j++) {
            b[i][j] = i == j;
            a[i][j] += 4 * b[i][j];
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float scale = 1 / a[k][k];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            a[k][j] *= scale, b[k][j] *= scale;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float factor = a[i][k];
            if (i != k) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    a[i][j] -= factor * a[k][j], b[i][j] -= factor * b[k][j];
                }
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        out[at * 4 + i] = make_float4(b[i][0], b[i][1], b[i][2], b[i][3]);
    }
}

/* Sums from the left, of each row by a block: four numbers a thread, then the warps. */
extern "C" __global__ void row_prefix(const float4 *__restrict__ in, float4 *__restrict__ out)
{
    __shared__ float warps[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, at = blockIdx.x * 256 + threadIdx.x;
    float4 v = in[at];
    v.y += v.x, v.z += v.y, v.w += v.z;
    float sum = v.w;
    for (int step = 1; step < 32; step *= 2) {
        float left = __shfl_up_sync(~0u, sum, step);
        sum += lane >= step ? left : 0;
    }
    if (lane == 31) {
        warps[warp] = sum;
    }
    __syncthreads();
    float before = sum - v.w;
    for (int k = 0; k < warp; k++) {
        before += warps[k];
    }
    out[at] = make_float4(v.x + before, v.y + before, v.z + before, v.w + before);
}

/* Structures of seven words become seven arrays. */
extern "C" __global__ void split_structs(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float room[256 * 7];
    int first = blockIdx.x * 256;
    for (int k = threadIdx.x; k < 256 * 7; k += 256) {
        room[k] = in[first * 7 + k];
    }
    __syncthreads();
    for (int k = 0; k < 7; k++) {
        out[k * n + first + threadIdx.x] = room[threadIdx.x * 7 + k];
    }
}

/* Where a word of twelve letters begins in a text: by letters, until one differs. */
__constant__ unsigned char word[16] = "abcabdabcabc";
extern "C" __global__ void find_word(const unsigned char *__restrict__ text, unsigned *__restrict__ found, int n)
{
    __shared__ unsigned char part[1024 + 16];
    int first = blockIdx.x * 1024, hits = 0;
    for (int k = threadIdx.x; k < 1024 + 12; k += 256) {
        part[k] = first + k < n ? text[first + k] : 0;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 256) {
        int same = 0;
        while (same < 12 && part[k + same] % 4 == word[same] % 4) {
            same++;
        }
        hits += same > 5;
    }
    if (hits) {
        atomicAdd(found, hits);
    }
}

/* Forces between near ones of many particles, tiles of which lie in shared memory. */
extern "C" __global__ void near_forces(const float4 *__restrict__ at, float4 *__restrict__ force, int n)
{
    __shared__ float4 tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 mine = at[i], sum = make_float4(0, 0, 0, 0);
    for (int base = 0; base < n; base += 128) {
        tile[threadIdx.x] = at[base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            float x = tile[k].x - mine.x, y = tile[k].y - mine.y, z = tile[k].z - mine.z;
            float square = x * x + y * y + z * z + 1e-3f;
            if (square < 0.04f) {
                float other = 1 / square, six = other * other * other;
                float strength = (six * six - six) * other;
                sum.x += strength * x, sum.y += strength * y, sum.z += strength * z;
            }
        }
        __syncthreads();
    }
    force[i] = sum;
}

/* Rows of a sparse matrix, a warp each. */
extern "C" __global__ void sparse_warps(const int *__restrict__ first, const int *__restrict__ column,
                                        const float *__restrict__ value, const float *__restrict__ x,
                                        float *__restrict__ y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    float sum = 0;
    for (int k = first[row] + lane; k < first[row + 1]; k += 32) {
        sum += value[k] * x[column[k]];
    }
    for (int step = 16; step; step /= 2) {
        sum += __shfl_down_sync(~0u, sum, step);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

/* The least distance in bits of each key from 512 others, which a block keeps. */
extern "C" __global__ void nearest_bits(const uint2 *__restrict__ keys, const uint2 *__restrict__ known,
                                        int *__restrict__ least)
{
    __shared__ uint2 others[512];
    for (int k = threadIdx.x; k < 512; k += 256) {
        others[k] = known[k];
    }
    __syncthreads();
    uint2 mine = keys[blockIdx.x * 256 + threadIdx.x];
    int best = 64;
    for (int k = 0; k < 512; k++) {
        best = min(best, __popc(mine.x ^ others[k].x) + __popc(mine.y ^ others[k].y));
    }
    least[blockIdx.x * 256 + threadIdx.x] = best;
}

/* Sums of sixteen kinds, each lane on its own. */
extern "C" __global__ void few_sums(const float *__restrict__ data, float *__restrict__ sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&sums[(i * 7 + (i >> 5)) % 16], data[i]);
    }
}

/* One warp a block walks through lists, a list a lane. */
extern "C" __global__ void walk_lists(const int *__restrict__ next, int *__restrict__ ends, int steps)
{
    int at = (blockIdx.x * 32 + threadIdx.x) * 61;
    for (int k = 0; k < steps; k++) {
        at = next[at];
    }
    ends[blockIdx.x * 32 + threadIdx.x] = at;
}

/* Numbers of single precision, sums of double, with what each addition loses. */
extern "C" __global__ void mixed_sums(const float *__restrict__ a, const float *__restrict__ b,
                                      double *__restrict__ sums, int n)
{
    double sum = 0, lost = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double term = (double)a[i] * b[i] - lost, next = sum + term;
        lost = next - sum - term;
        sum = next;
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
