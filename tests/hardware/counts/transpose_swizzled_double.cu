// Transpose of doubles, columns exchanged by xor with the row.
// Counts: two wavefronts a request both ways, which for 8 bytes a lane is the least there can be.

extern "C" __global__ void transpose_swizzled_double(const double *in, double *out, int rows, int columns)
{
    __shared__ double tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        if (x < columns && y + j < rows) {
            tile[threadIdx.y + j][threadIdx.x ^ (threadIdx.y + j)] = in[(y + j) * columns + x];
        }
    }
    __syncthreads(); // rows were written by other warps than those that read the columns
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        if (x < rows && y + j < columns) {
            out[(y + j) * rows + x] = tile[threadIdx.x][(threadIdx.y + j) ^ threadIdx.x];
        }
    }
}
