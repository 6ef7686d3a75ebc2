// Threads that leave before the barriers that the rest of the block still meets.
// Exercises barriers that count only the threads left, in part of a warp and in whole warps.

extern "C" __global__ void early_exit(const int *in, int *out, int stay)
{
    __shared__ int shared[256];
    int i = threadIdx.x;
    if (i >= stay) {
        out[i] = -1;
        return;
    }
    int value = in[i];
    for (int round = 0; round < 4; ++round) {
        shared[i] = value;
        __syncthreads(); // everyone who stays has written
        value += shared[(i + 1) % stay];
        __syncthreads(); // everyone has read before the next round writes
        if (round == 2 && i % 64 == 63) {
            out[i] = value;
            return; // single lanes leave; their last value stays in shared memory
        }
    }
    out[i] = value;
}
