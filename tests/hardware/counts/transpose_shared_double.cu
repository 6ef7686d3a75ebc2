// Transpose by way of a 32 x 32 tile of doubles, read by column.
// Counts: 8-byte accesses go in two phases of 16 lanes; a column of doubles meets two banks in each.

extern "C" __global__ void transpose_shared_double(const double *in, double *out, int rows, int columns)
{
    __shared__ double tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        if (x < columns && y + j < rows) {
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
        }
    }
    __syncthreads(); // rows were written by other warps than those that read the columns
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        if (x < rows && y + j < columns) {
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}
