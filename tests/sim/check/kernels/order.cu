// Locks, flags and counters between blocks: fences and atomics that order, and the same without them.

// A lock round a counter. The fences order the counter with the lock.
extern "C" __global__ void order_lock(int *lock, int *total, int rounds)
{
    if (threadIdx.x == 0) {
        for (int round = 0; round < rounds; ++round) {
            while (atomicCAS(lock, 0, 1) != 0) {
            }
            __threadfence();
            total[0] = total[0] + 1;
            __threadfence();
            atomicExch(lock, 0);
        }
    }
}

extern "C" __global__ void order_lock_no_fence(int *lock, int *total, int rounds)
{
    if (threadIdx.x == 0) {
        for (int round = 0; round < rounds; ++round) {
            while (atomicCAS(lock, 0, 1) != 0) {
            }
            total[0] = total[0] + 1; // <- global_race: first, second
            atomicExch(lock, 0);
        }
    }
}

// Fences for the block only.
extern "C" __global__ void order_lock_block_fence(int *lock, int *total, int rounds)
{
    if (threadIdx.x == 0) {
        for (int round = 0; round < rounds; ++round) {
            while (atomicCAS(lock, 0, 1) != 0) {
            }
            __threadfence_block();
            total[0] = total[0] + 1; // <- global_race: first, second
            __threadfence_block();
            atomicExch(lock, 0);
        }
    }
}

// Every block takes a lock of its own.
extern "C" __global__ void order_lock_another(int *lock, int *total)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock[blockIdx.x], 0, 1) != 0) {
        }
        __threadfence();
        total[0] = total[0] + 1; // <- global_race: first, second
        __threadfence();
        atomicExch(&lock[blockIdx.x], 0);
    }
}

// The last block to finish adds the parts of all.
extern "C" __global__ void order_last_block(const int *in, int *parts, unsigned *finished, int *sum)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = in[blockIdx.x] * 2;
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int i = 0; i < (int)gridDim.x; ++i) {
            total += parts[i];
        }
        *sum = total;
    }
}

extern "C" __global__ void order_last_block_no_fence(const int *in, int *parts, unsigned *finished, int *sum)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = in[blockIdx.x] * 2; // <- global_race: first
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int i = 0; i < (int)gridDim.x; ++i) {
            total += parts[i]; // <- global_race: second
        }
        *sum = total;
    }
}

// All threads of a block write, one counts for them all; all threads of the last block read.
extern "C" __global__ void order_last_block_all(const int *in, int *parts, unsigned *finished, int *out)
{
    __shared__ bool last;
    parts[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x] + (int)blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        int total = 0;
        for (int i = 0; i < (int)gridDim.x; ++i) {
            total += parts[i * 64 + threadIdx.x];
        }
        out[threadIdx.x] = total;
    }
}

// The same without the barrier before the count: other warps may not have written yet.
extern "C" __global__ void order_last_block_early(const int *in, int *parts, unsigned *finished, int *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
        __threadfence();
    }
    parts[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x] + (int)blockIdx.x; // <- global_race: first
    __syncthreads();
    if (last) {
        int total = 0;
        for (int i = 0; i < (int)gridDim.x; ++i) {
            total += parts[i * 64 + threadIdx.x]; // <- global_race: second
        }
        out[threadIdx.x] = total;
    }
}

// Block 0 makes data and raises a flag, block 1 waits for it.
extern "C" __global__ void order_flag(const int *in, int *data, volatile int *flag, int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t] * 3;
        __syncthreads();
        if (t == 0) {
            __threadfence();
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        out[t] = data[63 - t];
    }
}

extern "C" __global__ void order_flag_no_fence(const int *in, int *data, volatile int *flag, int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t] * 3; // <- global_race: first
        __syncthreads();
        if (t == 0) {
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {
            }
        }
        __syncthreads();
        out[t] = data[63 - t]; // <- global_race: second
    }
}

// The flag goes up before the data are there. In turn, as blocks run here, the output is right.
extern "C" __global__ void order_flag_first(const int *in, int *data, volatile int *flag, int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t == 0) {
            *flag = 1;
        }
        __threadfence();
        data[t] = in[t] * 3; // <- global_race: first
    } else {
        while (*flag == 0) {
        }
        __threadfence();
        out[t] = data[t]; // <- global_race: second
    }
}

// Acquire and release in words of PTX.
extern "C" __global__ void order_acquire(const int *in, int *data, int *flag, int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t] * 3;
        __syncthreads();
        if (t == 0) {
            asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(__cvta_generic_to_global(flag)) : "memory");
        }
    } else {
        if (t == 0) {
            int seen;
            do {
                asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
                             : "=r"(seen)
                             : "l"(__cvta_generic_to_global(flag))
                             : "memory");
            } while (seen == 0);
        }
        __syncthreads();
        out[t] = data[63 - t];
    }
}

// Relaxed: the flag itself is no race, the data are.
extern "C" __global__ void order_relaxed(const int *in, int *data, int *flag, int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t] * 3; // <- global_race: first
        __syncthreads();
        if (t == 0) {
            asm volatile("st.relaxed.gpu.global.s32 [%0], 1;" ::"l"(__cvta_generic_to_global(flag)) : "memory");
        }
    } else {
        if (t == 0) {
            int seen;
            do {
                asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];"
                             : "=r"(seen)
                             : "l"(__cvta_generic_to_global(flag))
                             : "memory");
            } while (seen == 0);
        }
        __syncthreads();
        out[t] = data[63 - t]; // <- global_race: second
    }
}

// A word that holds both flag and value needs no fence: a block looks back at its predecessors' sums.
extern "C" __global__ void order_look_back(const int *in, volatile unsigned long long *state, int *out)
{
    if (threadIdx.x == 0) {
        int own = in[blockIdx.x], before = 0;
        if (blockIdx.x > 0) {
            state[blockIdx.x] = (1ull << 32) | (unsigned)own;
        }
        for (int at = (int)blockIdx.x - 1; at >= 0; --at) {
            unsigned long long word;
            do {
                word = state[at];
            } while (word >> 32 == 0);
            before += (int)(unsigned)word;
            if (word >> 32 == 2) {
                break;
            }
        }
        state[blockIdx.x] = (2ull << 32) | (unsigned)(before + own);
        out[blockIdx.x] = before + own;
    }
}

// Tickets: each block takes the next part of the work.
extern "C" __global__ void order_tickets(const int *in, unsigned *ticket, int *out, int count)
{
    __shared__ unsigned part;
    for (;;) {
        if (threadIdx.x == 0) {
            part = atomicAdd(ticket, 1u);
        }
        __syncthreads();
        unsigned mine = part;
        __syncthreads();
        if (mine * 32 >= (unsigned)count) {
            return;
        }
        out[mine * 32 + threadIdx.x] = in[mine * 32 + threadIdx.x] + 1;
    }
}

// Without the second barrier the next ticket may be drawn before all have read the last.
extern "C" __global__ void order_tickets_race(const int *in, unsigned *ticket, int *out, int count)
{
    __shared__ unsigned part;
    for (;;) {
        if (threadIdx.x == 0) {
            part = atomicAdd(ticket, 1u); // <- race: second; warp_hazard: second
        }
        __syncthreads();
        unsigned mine = part; // <- race: first; warp_hazard: first
        if (mine * 64 >= (unsigned)count) {
            return;
        }
        out[mine * 64 + threadIdx.x] = in[mine * 64 + threadIdx.x] + 1;
    }
}

// Within a block: warp 0 makes data in shared memory, warp 1 waits at a flag in shared memory.
extern "C" __global__ void order_shared_flag(const int *in, int *out)
{
    __shared__ int data[32];
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0) {
        flag = 0;
    }
    __syncthreads();
    if (t < 32) {
        data[t] = in[t];
        __threadfence_block();
        __syncwarp();
        if (t == 0) {
            flag = 1;
        }
    } else {
        while (flag == 0) {
        }
        __threadfence_block();
        out[t - 32] = data[63 - t];
    }
}

extern "C" __global__ void order_shared_flag_no_fence(const int *in, int *out)
{
    __shared__ int data[32];
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0) {
        flag = 0;
    }
    __syncthreads();
    if (t < 32) {
        data[t] = in[t]; // <- race: first
        __syncwarp();
        if (t == 0) {
            flag = 1;
        }
    } else {
        while (flag == 0) {
        }
        out[t - 32] = data[63 - t]; // <- race: second
    }
}

// A plain flag.
extern "C" __global__ void order_shared_flag_plain(const int *in, int *out)
{
    __shared__ int flag;
    int t = threadIdx.x;
    if (t == 0) {
        flag = 0;
    }
    __syncthreads();
    if (t == 0) {
        flag = in[0]; // <- race: first
    } else if (t == 32) {
        out[0] = flag; // <- race: second
    }
}
