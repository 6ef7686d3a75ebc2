// Each lane walks along its own row; rows of 33 floats.
// Counts: rows start at any multiple of 4 bytes, so nothing is fused; no conflicts.

extern "C" __global__ void __launch_bounds__(32) walk_rows_33(const float *in, float *out, int rows)
{
    __shared__ float tile[32][33];
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
