// Each lane walks down its own column of doubles, unrolled by four.
// Counts: neighbouring reads are a row apart: never fused, never a conflict.

extern "C" __global__ void __launch_bounds__(64) walk_columns(const double *in, double *out, int rows)
{
    __shared__ double tile[16][64];
    double sum = 0.0;
    for (int first = 0; first < rows; first += 16) {
        for (int row = 0; row < 16; ++row) {
            tile[row][threadIdx.x] = first + row < rows ? in[(first + row) * 64 + threadIdx.x] : 0.0;
        }
        __syncthreads(); // the tile is complete
#pragma unroll 4
        for (int row = 0; row < 16; ++row) {
            sum = sum * 0.5 + tile[row][threadIdx.x ^ 1];
        }
        __syncthreads(); // read before it is filled again
    }
    out[threadIdx.x] = sum;
}
