// Compile with: -arch=compute_80
// cp.async: a copy has landed when its thread has waited for it; the others need a barrier after that.

#define COPY(to, from) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
#define COPY16(to, from, bytes) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")
#define WAIT_ALL() asm volatile("cp.async.wait_all;" ::: "memory")

extern "C" __global__ void async_no_wait(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]); // <- async_read: second
    COMMIT();
    out[t] = tile[t]; // <- async_read: first
}

// The thread's own copy needs no barrier.
extern "C" __global__ void async_own(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]);
    COMMIT();
    WAIT(0);
    out[t] = tile[t];
}

extern "C" __global__ void async_wait_all(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]);
    WAIT_ALL();
    __syncthreads();
    out[t] = tile[63 - t];
}

// A barrier is no wait.
extern "C" __global__ void async_barrier_only(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]); // <- async_read: second
    COMMIT();
    __syncthreads();
    out[t] = tile[63 - t]; // <- async_read: first
    WAIT(0);
}

// A wait is no barrier: another warp's copies.
extern "C" __global__ void async_wait_only(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    COPY(&tile[t], &in[t]); // <- race: first
    COMMIT();
    WAIT(0);
    out[t] = tile[63 - t]; // <- race: second
}

// A wait is no __syncwarp either.
extern "C" __global__ void async_wait_only_lanes(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]); // <- warp_hazard: first
    COMMIT();
    WAIT(0);
    out[t] = tile[31 - t]; // <- warp_hazard: second
}

extern "C" __global__ void async_wait_lanes(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]);
    COMMIT();
    WAIT(0);
    __syncwarp();
    out[t] = tile[31 - t];
}

// Overwritten while the copy is under way.
extern "C" __global__ void async_overwrite(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]); // <- async_read: second
    COMMIT();
    tile[t] = 5; // <- async_read: first
    WAIT(0);
    out[t] = tile[t];
}

// Two stages: the next tile is under way while this one is read.
extern "C" __global__ void async_two_stages(const int *in, int *out, int rounds)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, sum = 0;
    COPY(&tile[0][t], &in[t]);
    COMMIT();
    for (int round = 0; round < rounds; ++round) {
        if (round + 1 < rounds) {
            COPY(&tile[(round + 1) & 1][t], &in[(round + 1) * 64 + t]);
        }
        COMMIT();
        WAIT(1);
        __syncthreads();
        sum += tile[round & 1][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

// Waits for one group too few.
extern "C" __global__ void async_wait_short(const int *in, int *out, int rounds)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, sum = 0;
    COPY(&tile[0][t], &in[t]); // <- async_read 1: second
    COMMIT();
    for (int round = 0; round < rounds; ++round) {
        if (round + 1 < rounds) {
            COPY(&tile[(round + 1) & 1][t], &in[(round + 1) * 64 + t]); // <- async_read 1: second
        }
        COMMIT();
        WAIT(2);
        __syncthreads();
        sum += tile[round & 1][63 - t]; // <- async_read 1: first
        __syncthreads();
    }
    WAIT(0);
    out[t] = sum;
}

// A group short: the copies of the last round are in the group before.
extern "C" __global__ void async_commit_short(const int *in, int *out, int rounds)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, sum = 0;
    COPY(&tile[0][t], &in[t]);
    COMMIT();
    for (int round = 0; round < rounds; ++round) {
        if (round + 1 < rounds) {
            COPY(&tile[(round + 1) & 1][t], &in[(round + 1) * 64 + t]); // <- async_read: second
            COMMIT();
        }
        WAIT(1);
        __syncthreads();
        sum += tile[round & 1][63 - t]; // <- async_read: first
        __syncthreads();
    }
    out[t] = sum;
}

// The barrier after reading is missing: the next copy lands in the tile that others still read.
extern "C" __global__ void async_reused(const int *in, int *out, int rounds)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, sum = 0;
    COPY(&tile[0][t], &in[t]);
    COMMIT();
    for (int round = 0; round < rounds; ++round) {
        if (round + 1 < rounds) {
            COPY(&tile[(round + 1) & 1][t], &in[(round + 1) * 64 + t]); // <- race/async_read: second
        }
        COMMIT();
        WAIT(1);
        __syncthreads();
        sum += tile[round & 1][63 - t]; // <- race/async_read: first
    }
    out[t] = sum;
}

// Three stages need one barrier a round: it stands between a tile's last reader and its next copy.
extern "C" __global__ void async_three_stages(const int *in, int *out, int rounds)
{
    __shared__ int tile[3][64];
    int t = threadIdx.x, sum = 0;
    for (int stage = 0; stage < 2; ++stage) {
        if (stage < rounds) {
            COPY(&tile[stage][t], &in[stage * 64 + t]);
        }
        COMMIT();
    }
    for (int round = 0; round < rounds; ++round) {
        WAIT(1);
        __syncthreads();
        if (round + 2 < rounds) {
            COPY(&tile[(round + 2) % 3][t], &in[(round + 2) * 64 + t]);
        }
        COMMIT();
        sum += tile[round % 3][63 - t];
    }
    out[t] = sum;
}

// The copy is started before the barrier: its tile may still be read.
extern "C" __global__ void async_three_stages_early(const int *in, int *out, int rounds)
{
    __shared__ int tile[3][64];
    int t = threadIdx.x, sum = 0;
    for (int stage = 0; stage < 2; ++stage) {
        if (stage < rounds) {
            COPY(&tile[stage][t], &in[stage * 64 + t]);
        }
        COMMIT();
    }
    for (int round = 0; round < rounds; ++round) {
        WAIT(1);
        if (round + 2 < rounds) {
            COPY(&tile[(round + 2) % 3][t], &in[(round + 2) * 64 + t]); // <- race/async_read: second
        }
        COMMIT();
        __syncthreads();
        sum += tile[round % 3][63 - t]; // <- race/async_read: first
    }
    out[t] = sum;
}

// 16 bytes each, zeros past the end.
extern "C" __global__ void async_zeros(const int *in, int *out, int count)
{
    __shared__ __align__(16) int tile[256];
    int t = threadIdx.x;
    int left = count - 4 * t;
    int bytes = left >= 4 ? 16 : left > 0 ? 4 * left : 0;
    COPY16(&tile[4 * t], bytes ? &in[4 * t] : in, bytes);
    COMMIT();
    WAIT(0);
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        out[i * 64 + t] = tile[255 - (i * 64 + t)];
    }
}

// The source ends before the last copy does.
extern "C" __global__ void async_past_end(const int *in, int *out)
{
    __shared__ __align__(16) int tile[256];
    int t = threadIdx.x;
    COPY16(&tile[4 * t], &in[4 * t], 16); // <- out_of_bounds: first
    COMMIT();
    WAIT(0);
    out[t] = tile[4 * t];
}

// Two threads copy to one place.
extern "C" __global__ void async_same_target(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    COPY(&tile[t % 32], &in[t]); // <- race: first, second
    COMMIT();
    WAIT(0);
    __syncthreads();
    out[t] = tile[t % 32];
}
