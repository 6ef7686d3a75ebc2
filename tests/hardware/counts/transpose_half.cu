// Transpose of 16-bit elements with a pad of two.
// Counts: two lanes read one word of a row; down a column of 34 half-words the banks are 17 apart.

extern "C" __global__ void transpose_half(const unsigned short *in, unsigned short *out, int rows, int columns)
{
    __shared__ unsigned short tile[32][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 16) {
        if (x < columns && y + j < rows) {
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
        }
    }
    __syncthreads(); // rows were written by other warps than those that read the columns
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 16) {
        if (x < rows && y + j < columns) {
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}
