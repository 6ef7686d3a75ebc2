// The 32-bit atomics of shared memory: min, max, and, or, xor, exchange, inc, compare-and-swap.
// Counts: each is one instruction; wavefronts by lanes on one bank.

extern "C" __global__ void atomic_kinds(const int *in, int *out, int spread)
{
    __shared__ int cell[8][32];
    const int at = threadIdx.x / spread % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 8; ++i) {
            cell[i][threadIdx.x] = i == 2 ? -1 : 0;
        }
    }
    __syncthreads(); // cells are set before anyone changes them
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicMin(&cell[0][at], value);
    atomicMax(&cell[1][at], value);
    atomicAnd(&cell[2][at], value);
    atomicOr(&cell[3][at], value);
    atomicXor(&cell[4][at], value);
    atomicInc((unsigned *)&cell[5][at], 5u);
    atomicCAS(&cell[6][at], 0, 7);
    atomicExch(&cell[7][at], 9);
    __syncthreads(); // all have changed them
    if (threadIdx.x < 32) {
        for (int i = 0; i < 8; ++i) {
            out[(blockIdx.x * 8 + i) * 32 + threadIdx.x] = cell[i][threadIdx.x];
        }
    }
}
