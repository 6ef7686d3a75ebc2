// Each lane walks along its own row of a 32 x 32 tile.
// Counts: four reads become one of 16 bytes, and all lanes meet in the same banks.

extern "C" __global__ void __launch_bounds__(32) walk_rows_32(const float *in, float *out, int rows)
{
    __shared__ float tile[32][32];
    const int first = blockIdx.x * 32, size = min(32, rows - first), lane = threadIdx.x;
    for (int row = 0; row < size; ++row) {
        tile[row][lane] = in[(first + row) * 32 + lane];
    }
    __syncwarp(); // the tile is complete
    if (lane < size) {
        float sum = 0.0f;
        for (int i = 0; i < 32; ++i) {
            sum = sum * 0.5f + tile[lane][i];
        }
        out[first + lane] = sum;
    }
}
