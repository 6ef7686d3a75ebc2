// Sixteen reads in a row that begin one, two and three floats past an aligned address.
// Counts: what is fused depends on where the run begins, not on how long it is.

extern "C" __global__ void __launch_bounds__(32) misaligned_base(const float *in, float *out, int rows)
{
    __shared__ float tile[32][20];
    const int first = blockIdx.x * 32, size = min(32, rows - first), lane = threadIdx.x;
    for (int i = lane; i < size * 20; i += 32) {
        tile[i / 20][i % 20] = in[first * 20 + i];
    }
    __syncwarp(); // the tile is complete
    if (lane < size) {
        float one = 0.0f, two = 0.0f, three = 0.0f;
        for (int i = 0; i < 8; ++i) {
            one = one * 0.5f + tile[lane][1 + i];
        }
        for (int i = 0; i < 6; ++i) {
            two = two * 0.5f + tile[lane][10 + i];
        }
        for (int i = 0; i < 4; ++i) {
            three = three * 0.5f + tile[31 - lane < size ? 31 - lane : lane][3 + i];
        }
        out[(first + lane) * 3] = one;
        out[(first + lane) * 3 + 1] = two;
        out[(first + lane) * 3 + 2] = three;
    }
}
