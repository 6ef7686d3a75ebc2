// Between the lanes of one warp only __syncwarp orders memory; running in step does not.

extern "C" __global__ void warp_exchange(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];       // <- warp_hazard: first
    out[lane] = tile[31 - lane]; // <- warp_hazard: second
}

extern "C" __global__ void warp_exchange_synced(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];
    __syncwarp();
    out[lane] = tile[31 - lane];
}

extern "C" __global__ void warp_exchange_volatile(const int *in, int *out)
{
    __shared__ volatile int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];       // <- warp_hazard: first
    out[lane] = tile[31 - lane]; // <- warp_hazard: second
}

extern "C" __global__ void warp_exchange_barrier(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];
    __syncthreads();
    out[lane] = tile[31 - lane];
}

// A fence makes writes visible in order; it waits for nobody.
extern "C" __global__ void warp_fence(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];       // <- warp_hazard: first
    __threadfence_block();
    out[lane] = tile[31 - lane]; // <- warp_hazard: second
}

// Every warp has a row of its own.
extern "C" __global__ void warp_rows(const int *in, int *out)
{
    __shared__ int tile[4][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    tile[warp][lane] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[warp][31 - lane];
}

// The row of the next warp: __syncwarp is not enough.
extern "C" __global__ void warp_next_row(const int *in, int *out)
{
    __shared__ int tile[4][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    tile[warp][lane] = 0;
    __syncthreads();
    tile[warp][lane] = in[threadIdx.x]; // <- race: first
    __syncwarp();
    out[threadIdx.x] = tile[(warp + 1) % 4][lane]; // <- race: second
}

// The tree's last steps without barriers, "as a warp runs in step": barriers down to 32 sums, then volatile.
extern "C" __global__ void warp_tree_volatile(const int *in, int *out)
{
    __shared__ volatile int sum[128];
    int t = threadIdx.x;
    sum[t] = in[t];
    __syncthreads();
    if (t < 64) {
        sum[t] = sum[t] + sum[t + 64];
    }
    __syncthreads();
    if (t < 32) {
        sum[t] = sum[t] + sum[t + 32]; // <- warp_hazard 1: first
        sum[t] = sum[t] + sum[t + 16]; // <- warp_hazard 1: first, second
        sum[t] = sum[t] + sum[t + 8];  // <- warp_hazard 1: first, second
        sum[t] = sum[t] + sum[t + 4];  // <- warp_hazard 1: first, second
        sum[t] = sum[t] + sum[t + 2];  // <- warp_hazard 1: first, second
        sum[t] = sum[t] + sum[t + 1];  // <- warp_hazard 1: first, second
    }
    if (t == 0) {
        out[0] = sum[0];
    }
}

extern "C" __global__ void warp_tree_synced(const int *in, int *out)
{
    __shared__ int sum[128];
    int t = threadIdx.x;
    sum[t] = in[t];
    __syncthreads();
    if (t < 64) {
        sum[t] += sum[t + 64];
    }
    __syncthreads();
    if (t < 32) {
        for (int step = 32; step > 0; step /= 2) {
            int other = sum[t + step];
            __syncwarp();
            sum[t] += other;
            __syncwarp();
        }
    }
    if (t == 0) {
        out[0] = sum[0];
    }
}

// No barrier between the steps at all.
extern "C" __global__ void warp_tree_no_barrier(const int *in, int *out)
{
    __shared__ int sum[128];
    int t = threadIdx.x;
    sum[t] = in[t];
    __syncthreads();
    for (int step = 64; step >= 32; step /= 2) {
        if (t < step) {
            sum[t] += sum[t + step]; // <- race: first, second
        }
    }
    __syncthreads();
    if (t == 0) {
        int total = 0;
        for (int i = 0; i < 32; ++i) {
            total += sum[i];
        }
        out[0] = total;
    }
}

extern "C" __global__ void warp_tree_shuffle(const int *in, int *out)
{
    int sum = in[threadIdx.x];
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, step);
    }
    if (threadIdx.x == 0) {
        out[0] = sum;
    }
}

// A shuffle exchanges registers; it says nothing about memory.
extern "C" __global__ void warp_shuffle_no_order(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];                              // <- warp_hazard: first
    int next = __shfl_xor_sync(0xffffffff, in[lane], 1);
    out[lane] = next + tile[lane ^ 1];                  // <- warp_hazard: second
}

extern "C" __global__ void warp_vote_no_order(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];                                   // <- warp_hazard: first
    unsigned votes = __ballot_sync(0xffffffff, in[lane] > 3);
    out[lane] = (int)(votes & 1) + tile[lane ^ 1];           // <- warp_hazard: second
}

// Each half of the warp synchronises itself and stays within itself.
extern "C" __global__ void warp_halves(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    if (lane < 16) {
        tile[lane] = in[lane];
        __syncwarp(0x0000ffff);
        out[lane] = tile[lane ^ 1];
    } else {
        tile[lane] = -in[lane];
        __syncwarp(0xffff0000);
        out[lane] = tile[lane ^ 3];
    }
}

// The same, but one half reads what the other has written.
extern "C" __global__ void warp_halves_across(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = 0;
    __syncwarp();
    if (lane < 16) {
        tile[lane] = in[lane];       // <- warp_hazard: first
        __syncwarp(0x0000ffff);
        out[lane] = tile[lane ^ 1];
    } else {
        __syncwarp(0xffff0000);
        out[lane] = tile[lane - 16]; // <- warp_hazard: second
    }
}

// One lane writes for all.
extern "C" __global__ void warp_broadcast(const int *in, int *out)
{
    __shared__ int word;
    if (threadIdx.x == 0) {
        word = in[0]; // <- warp_hazard: first
    }
    out[threadIdx.x] = word; // <- warp_hazard: second
}

extern "C" __global__ void warp_broadcast_synced(const int *in, int *out)
{
    __shared__ int word;
    if (threadIdx.x == 0) {
        word = in[0];
    }
    __syncwarp();
    out[threadIdx.x] = word;
}

// Read, then overwritten by the neighbour: a warp in step has read all before it writes any.
extern "C" __global__ void warp_shift(const int *in, int *out)
{
    __shared__ int tile[33];
    int lane = threadIdx.x;
    tile[lane] = in[lane];
    if (lane == 0) {
        tile[32] = 5;
    }
    __syncwarp();
    int next = tile[lane + 1]; // <- warp_hazard: first
    tile[lane] = next;         // <- warp_hazard: second
    __syncwarp();
    out[lane] = tile[lane];
}

extern "C" __global__ void warp_shift_synced(const int *in, int *out)
{
    __shared__ int tile[33];
    int lane = threadIdx.x;
    tile[lane] = in[lane];
    if (lane == 0) {
        tile[32] = 5;
    }
    __syncwarp();
    int next = tile[lane + 1];
    __syncwarp();
    tile[lane] = next;
    __syncwarp();
    out[lane] = tile[lane];
}

// One instruction, two lanes, one word, two values.
extern "C" __global__ void warp_two_writers(const int *in, int *out)
{
    __shared__ int tile[16];
    int lane = threadIdx.x;
    tile[lane / 2] = in[lane]; // <- warp_hazard: first, second
    __syncwarp();
    out[lane] = tile[lane / 2] > 0;
}

// The two sides of a branch.
extern "C" __global__ void warp_branch(const int *in, int *out)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    tile[lane] = in[lane];
    __syncwarp();
    if (lane & 1) {
        tile[lane] = 2 * in[lane]; // <- warp_hazard 1: first
    } else {
        out[lane] = tile[lane + 1]; // <- warp_hazard 1: second
    }
}

// A loop's rounds, __syncwarp only at its end: what is read belongs to the round before.
extern "C" __global__ void warp_rounds(const int *in, int *out, int rounds)
{
    __shared__ int tile[2][32];
    int lane = threadIdx.x;
    tile[0][lane] = in[lane];
    __syncwarp();
    for (int round = 0; round < rounds; ++round) {
        tile[(round + 1) & 1][lane] = tile[round & 1][(lane + 1) % 32] + 1;
        __syncwarp();
    }
    out[lane] = tile[rounds & 1][lane];
}
