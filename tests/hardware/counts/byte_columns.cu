// Column sums of a byte tile of 64 x 64, read down and summed across.
// Counts: a byte each 64 bytes: two banks for 32 rows.

extern "C" __global__ void byte_columns(const signed char *in, int *out, int rows)
{
    __shared__ signed char tile[64][64];
    const int first = blockIdx.x * 64, size = min(64, rows - first);
    for (int i = threadIdx.x; i < size * 64; i += 64) {
        tile[i / 64][i % 64] = in[first * 64 + i];
    }
    __syncthreads(); // rows are complete
    int across = 0;
    if (threadIdx.x < size) {
#pragma unroll 1
        for (int i = 0; i < 64; ++i) {
            across += tile[threadIdx.x][i];
        }
        out[first + threadIdx.x] = across;
    }
}
