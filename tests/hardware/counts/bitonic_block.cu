// Bitonic sort of 256 keys in shared memory.
// Counts: partners at every power of two; a branch by lane whose two sides store or do not.

extern "C" __global__ void __launch_bounds__(256) bitonic_block(const unsigned *in, unsigned *out, int count)
{
    __shared__ unsigned key[256];
    const int i = blockIdx.x * 256 + threadIdx.x, me = threadIdx.x;
    key[me] = i < count ? in[i] : 0xffffffffu;
    for (int size = 2; size <= 256; size *= 2) {
        for (int distance = size / 2; distance > 0; distance /= 2) {
            __syncthreads(); // the last round's exchanges are complete
            const int other = me ^ distance;
            if (other > me) {
                const unsigned low = key[me], high = key[other];
                if ((low > high) == ((me & size) == 0)) {
                    key[me] = high;
                    key[other] = low;
                }
            }
        }
    }
    __syncthreads(); // sorted
    if (i < count) {
        out[i] = key[me];
    }
}
