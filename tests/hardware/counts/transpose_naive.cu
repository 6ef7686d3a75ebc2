// Transpose straight through global memory: reads along rows, writes down columns.
// Counts: 4 sectors a load request, up to 32 a store request; no shared memory at all.

extern "C" __global__ void transpose_naive(const float *in, float *out, int rows, int columns)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    for (int row = blockIdx.y * 32 + threadIdx.y; row < min(rows, (int)(blockIdx.y + 1) * 32); row += 8) {
        if (column < columns) {
            out[column * rows + row] = in[row * columns + column];
        }
    }
}
