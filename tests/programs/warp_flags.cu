// One warp produces into a ring in shared memory, another consumes, a flag between them.
// Exercises volatile shared accesses, spinning warps that need their neighbour to go on, __syncwarp, __threadfence_block.

extern "C" __global__ void __launch_bounds__(64) warp_flags(const int *in, int *out, int rounds)
{
    __shared__ int ring[2][32];
    __shared__ int filled[2];
    volatile int *flag = filled;
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 2) {
        filled[threadIdx.x] = 0;
    }
    __syncthreads(); // both slots are empty
    for (int round = 0; round < rounds; ++round) {
        int slot = round & 1;
        if (threadIdx.x < 32) {
            while (flag[slot] != 0) {
            }
            __threadfence_block(); // emptied before it is filled again
            ring[slot][lane] = in[round * 32 + lane] * 2;
            __threadfence_block();
            __syncwarp();
            if (lane == 0) {
                flag[slot] = 1;
            }
        } else {
            while (flag[slot] == 0) {
            }
            __threadfence_block();
            out[round * 32 + lane] = ring[slot][31 - lane] + round;
            __threadfence_block(); // read before it is given back
            __syncwarp();
            if (lane == 0) {
                flag[slot] = 0;
            }
        }
        __syncwarp();
    }
}
