// Transpose of doubles with blocks of 16 x 16 and tiles of 17 columns.
// Counts: two rows of the tile in one warp; a pad of one double is two banks.

extern "C" __global__ void transpose_padded_double(const double *in, double *out, int rows, int columns)
{
    __shared__ double tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads(); // rows were written by other warps than those that read the columns
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows && y < columns) {
        out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
    }
}
