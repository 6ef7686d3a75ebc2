// A look-up in a shared table of 16-bit values by random bytes.
// Counts: random half-words: conflicts by the data, and lanes that happen to share a word do not conflict.

extern "C" __global__ void gather_short(const short *table, const unsigned char *in, short *out, int count)
{
    __shared__ short values[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        values[i] = table[i];
    }
    __syncthreads(); // the table is complete
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        out[i] = values[in[i]];
    }
}
