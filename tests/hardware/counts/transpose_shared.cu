// Transpose by way of a 32 x 32 tile of floats that is read by column.
// Counts: 31 conflicts for each full load of a column; the stores have none.

extern "C" __global__ void transpose_shared(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[32][32];
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
