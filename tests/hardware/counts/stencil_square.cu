// 3 x 3 sum over an image, from a tile of 16 x 16 with a halo of 1: rows of 18.
// Counts: a warp holds two rows of the block, so bank and sector patterns are split in the middle.

extern "C" __global__ void stencil_square(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[18][18];
    const int first_row = blockIdx.y * 16 - 1, first_column = blockIdx.x * 16 - 1;
    for (int j = threadIdx.y; j < 18; j += 16) {
        for (int i = threadIdx.x; i < 18; i += 16) {
            const int row = first_row + j, column = first_column + i;
            const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
            tile[j][i] = inside ? in[row * columns + column] : 0.0f;
        }
    }
    __syncthreads(); // the halo comes from other threads
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < rows && column < columns) {
        float sum = 0.0f;
        for (int j = 0; j < 3; ++j) {
            for (int i = 0; i < 3; ++i) {
                sum += tile[threadIdx.y + j][threadIdx.x + i];
            }
        }
        out[row * columns + column] = sum;
    }
}
