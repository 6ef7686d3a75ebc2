// What the thread that comes first does wrong: it meets nobody, unless blocks and warps begin with the last.

// The first block takes the lock without a fence.
extern "C" __global__ void reverse_lock(int *lock, int *total)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        if (blockIdx.x > 0) {
            __threadfence();
        }
        total[0] = total[0] + 1; // <- global_race: either
        __threadfence();
        atomicExch(lock, 0);
    }
}

extern "C" __global__ void reverse_lock_fenced(int *lock, int *total)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        total[0] = total[0] + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// The first warp does.
extern "C" __global__ void reverse_lock_warps(const int *in, int *out)
{
    __shared__ int lock, total;
    int t = threadIdx.x;
    if (t == 0) {
        lock = total = 0;
    }
    __syncthreads();
    if (t % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        if (t > 0) {
            __threadfence_block();
        }
        total += in[t]; // <- race: either
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    out[t] = total;
}

extern "C" __global__ void reverse_lock_warps_fenced(const int *in, int *out)
{
    __shared__ int lock, total;
    int t = threadIdx.x;
    if (t == 0) {
        lock = total = 0;
    }
    __syncthreads();
    if (t % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence_block();
        total += in[t];
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    out[t] = total;
}

// The last block adds what the others have left, and there are others only where it does not come first.
extern "C" __global__ void reverse_tally(const int *in, int *total)
{
    if (threadIdx.x == 0) {
        if (atomicAdd(&total[1], 1) > 0) {
            __threadfence();
        }
        atomicAdd(&total[0], in[blockIdx.x]);
    }
}
