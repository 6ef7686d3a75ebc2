// Transpose with the tile's columns exchanged by xor with the row: no pad, no conflicts.
// Counts: a permutation of the banks within every row, so stores stay free of conflicts too.

extern "C" __global__ void transpose_swizzled(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[32 * 32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = threadIdx.y; j < 32; j += 8, y += 8) {
        if (x < columns && y < rows) {
            tile[j * 32 + (threadIdx.x ^ j)] = in[y * columns + x];
        }
    }
    __syncthreads(); // rows were written by other warps than those that read the columns
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = threadIdx.y; j < 32; j += 8, y += 8) {
        if (x < rows && y < columns) {
            out[y * rows + x] = tile[threadIdx.x * 32 + (j ^ threadIdx.x)];
        }
    }
}
