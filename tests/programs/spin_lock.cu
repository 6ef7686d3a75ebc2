// A lock taken by one thread a block, held while a plain sum in global memory is changed.
// Exercises atomicCAS and atomicExch as lock and unlock between blocks, __nanosleep while waiting, volatile.

__device__ int lock = 0;

extern "C" __global__ void spin_lock(volatile int *sum, volatile int *log, int rounds)
{
    if (threadIdx.x != 0) {
        return;
    }
    for (int round = 0; round < rounds; ++round) {
        unsigned int wait = 8;
        while (atomicCAS(&lock, 0, 1) != 0) {
            __nanosleep(wait);
            wait = wait < 256 ? wait * 2 : wait;
        }
        __threadfence(); // what the last owner wrote is seen
        int at = *sum;
        log[at] = (int)blockIdx.x;
        *sum = at + 1;
        __threadfence(); // written before the lock is free
        atomicExch(&lock, 0);
    }
}
