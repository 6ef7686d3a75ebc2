// Prefix sum over many blocks in one pass: a block waits for its predecessors' sums by looking back at their flags.
// Exercises waiting between blocks, order of blocks by an atomic ticket, volatile 64-bit words that carry flag and value.

__device__ unsigned int ticket = 0;

extern "C" __global__ void __launch_bounds__(64) lookback(const int *in, int *out, int count, volatile unsigned long long *state)
{
    __shared__ int shared[64];
    __shared__ unsigned int block;
    __shared__ int before;
    if (threadIdx.x == 0) {
        block = atomicAdd(&ticket, 1u);
    }
    __syncthreads(); // all know their block's place
    int i = (int)block * 64 + (int)threadIdx.x;
    shared[threadIdx.x] = i < count ? in[i] : 0;
    for (int step = 1; step < 64; step *= 2) {
        __syncthreads(); // the last step's sums are there
        int other = (int)threadIdx.x >= step ? shared[threadIdx.x - step] : 0;
        __syncthreads(); // all have read before any writes
        shared[threadIdx.x] += other;
    }
    if (threadIdx.x == 63) {
        unsigned long long total = (unsigned int)shared[63];
        int sum = 0;
        if (block == 0) {
            state[0] = total | 2ull << 32; // 2: the sum of all blocks up to here
        } else {
            state[block] = total | 1ull << 32; // 1: this block's own sum
            __threadfence();
            for (int at = (int)block - 1; at >= 0; --at) {
                unsigned long long word;
                do {
                    word = state[at];
                } while (word >> 32 == 0);
                sum += (int)(unsigned int)word;
                if (word >> 32 == 2) {
                    break;
                }
            }
            state[block] = (unsigned int)(sum + shared[63]) | 2ull << 32;
        }
        before = sum;
        if (block == gridDim.x - 1) {
            atomicExch(&ticket, 0u); // for the next launch; all others have theirs
        }
    }
    __syncthreads(); // the sum of the predecessors is known
    if (i < count) {
        out[i] = before + shared[threadIdx.x];
    }
}
