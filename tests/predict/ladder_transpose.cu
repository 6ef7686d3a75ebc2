// Transposes of a square matrix of float32 as a published ladder describes them. Options of the compiler:
//
//     TILE  side of the tile of a block
//     ROWS  rows of the block's threads: a thread makes TILE / ROWS parts of a column
//     EACH  neighbouring elements that a thread reads and writes at once: 1, 2 or 4
//     PAD   unused elements behind each row of the tile

extern "C" __global__ void naive(const float *in, float *out, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n)
        out[x * n + y] = in[y * n + x];
}

extern "C" __global__ void tiled(const float *in, float *out, int n)
{
    struct __align__(4 * EACH) Part
    {
        float of[EACH];
    };
    __shared__ float tile[TILE][TILE + PAD];
    const int width = n / EACH;
    int x = blockIdx.x * (TILE / EACH) + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int r = 0; r < TILE; r += ROWS) {
        const Part part = ((const Part *)in)[(y + r) * width + x];
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            tile[threadIdx.y + r][threadIdx.x * EACH + e] = part.of[e];
    }
    __syncthreads();
    x = blockIdx.y * (TILE / EACH) + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int r = 0; r < TILE; r += ROWS) {
        Part part;
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            part.of[e] = tile[threadIdx.x * EACH + e][threadIdx.y + r];
        ((Part *)out)[(y + r) * width + x] = part;
    }
}
