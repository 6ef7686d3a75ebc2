// Transpose by way of a tile of 33 columns, the conflicts cured by the pad.
// Counts: no conflicts on either side; the same requests and sectors as without the pad.

extern "C" __global__ void transpose_padded(const int *in, int *out, int rows, int columns)
{
    __shared__ int tile[32][33];
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
