// Matrix times vector, a warp a row, the row read as float4 where it is whole.
// Counts: coalesced wide reads, a loop for the rest, one lane that stores.

extern "C" __global__ void matvec_warp(const float *matrix, const float *vector, float *out, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) {
        return;
    }
    const float *mine = matrix + row * columns;
    float sum = 0.0f;
    for (int i = lane; i < columns / 4 && columns % 4 == 0; i += 32) {
        const float4 a = ((const float4 *)mine)[i], x = ((const float4 *)vector)[i];
        sum += a.x * x.x + a.y * x.y + a.z * x.z + a.w * x.w;
    }
    for (int i = lane; i < columns && columns % 4 != 0; i += 32) {
        sum += mine[i] * vector[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    if (lane == 0) {
        out[row] = sum;
    }
}
