// Mean of three bytes in a row, tile of bytes with a halo.
// Counts: four lanes share a word, so a warp's bytes lie in 8 words; sectors of one or two.

extern "C" __global__ void byte_blur(const unsigned char *in, unsigned char *out, int width)
{
    __shared__ unsigned char tile[130];
    const int first = blockIdx.x * 128, row = blockIdx.y;
    for (int i = threadIdx.x; i < 130; i += 128) {
        const int at = min(max(first + i - 1, 0), width - 1);
        tile[i] = in[row * width + at];
    }
    __syncthreads(); // the halo comes from other threads
    if (first + threadIdx.x < width) {
        const int sum = tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2];
        out[row * width + first + threadIdx.x] = (unsigned char)(sum / 3);
    }
}
