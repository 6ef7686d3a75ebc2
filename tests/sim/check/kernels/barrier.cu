// Barriers that not all threads reach, or not the same one; numbered barriers.

#define BARRIER(number, threads) asm volatile("bar.sync " #number ", " #threads ";" ::: "memory")
#define ARRIVE(number, threads) asm volatile("bar.arrive " #number ", " #threads ";" ::: "memory")

// Odd lanes only.
extern "C" __global__ void barrier_odd_lanes(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t & 1) {
        out[t] = in[t];
        __syncthreads(); // <- barrier: first
    }
    out[t] += 1;
}

// Warp 0 waits here, warp 1 at the next one. Hardware lets both pass.
extern "C" __global__ void barrier_one_warp_more(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = in[t];
        __syncthreads(); // <- barrier: either
        out[t] += 1;
    }
    __syncthreads(); // <- barrier: either
    out[64 + t] = in[t];
}

extern "C" __global__ void barrier_all_warps(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = in[t];
    }
    __syncthreads();
    if (t < 32) {
        out[t] += 1;
    }
    __syncthreads();
    out[64 + t] = in[t];
}

// Both sides of a branch wait, each at a barrier of its own.
extern "C" __global__ void barrier_two_sides(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 32) {
        tile[t] = in[t];
        __syncthreads(); // <- barrier: either
        out[t] = tile[t + 32] * 3;
    } else {
        tile[t] = -in[t];
        __syncthreads(); // <- barrier: either
        out[t] = tile[t - 32] + 5;
    }
}

extern "C" __global__ void barrier_after_sides(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 32) {
        tile[t] = in[t];
    } else {
        tile[t] = -in[t];
    }
    __syncthreads();
    if (t < 32) {
        out[t] = tile[t + 32] * 3;
    } else {
        out[t] = tile[t - 32] + 5;
    }
}

// Each warp has a number of rounds of its own: warp 0 leaves the loop when warp 1 goes round again.
extern "C" __global__ void barrier_uneven_rounds(const int *in, int *out)
{
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round <= t / 32; ++round) {
        sum += in[round];
        __syncthreads(); // <- barrier: either
    }
    out[t] = sum;
    __syncthreads(); // <- barrier: either
    out[64 + t] = in[t];
}

extern "C" __global__ void barrier_even_rounds(const int *in, int *out)
{
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < 2; ++round) {
        if (round <= t / 32) {
            sum += in[round];
        }
        __syncthreads();
    }
    out[t] = sum;
    __syncthreads();
    out[64 + t] = in[t];
}

// Threads that have ended are not waited for: whole warps and a part of one.
extern "C" __global__ void barrier_exited(const int *in, int *out, int stay)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t >= stay) {
        return;
    }
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[stay - 1 - t];
}

// They end between two barriers.
extern "C" __global__ void barrier_exited_later(const int *in, int *out, int stay)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    if (t >= stay) {
        return;
    }
    int other = tile[127 - t];
    __syncthreads();
    tile[t] = other;
    __syncthreads();
    out[t] = tile[stay - 1 - t];
}

// Two warps hand a tile to two others over two numbered barriers.
extern "C" __global__ void barrier_hand_over(const int *in, int *out, int rounds)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int round = 0; round < rounds; ++round) {
            BARRIER(2, 128); // the tile is free
            tile[t] = in[round * 64 + t];
            ARRIVE(1, 128); // the tile is full
        }
    } else {
        ARRIVE(2, 128);
        for (int round = 0; round < rounds; ++round) {
            BARRIER(1, 128);
            out[round * 64 + t - 64] = tile[127 - t];
            if (round + 1 < rounds) {
                ARRIVE(2, 128);
            }
        }
    }
}

// The readers say that the tile is free before they have read it.
extern "C" __global__ void barrier_hand_over_early(const int *in, int *out, int rounds)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int round = 0; round < rounds; ++round) {
            BARRIER(2, 128);
            tile[t] = in[round * 64 + t]; // <- race: second
            ARRIVE(1, 128);
        }
    } else {
        ARRIVE(2, 128);
        for (int round = 0; round < rounds; ++round) {
            BARRIER(1, 128);
            if (round + 1 < rounds) {
                ARRIVE(2, 128);
            }
            out[round * 64 + t - 64] = tile[127 - t]; // <- race: first
        }
    }
}

// The writers never wait for the tile to be free.
extern "C" __global__ void barrier_hand_over_unasked(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 64) {
        tile[t] = in[t];
        ARRIVE(1, 128);
        tile[t] = in[64 + t]; // <- race: second
        ARRIVE(2, 128);
    } else {
        BARRIER(1, 128);
        out[t - 64] = tile[127 - t]; // <- race: first
        BARRIER(2, 128);
        out[t] = tile[127 - t];
    }
}

// An arrival is no wait: what the arriving warps read next may be written at the same time.
extern "C" __global__ void barrier_arrive_only(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    if (t < 32) {
        ARRIVE(1, 64);
        out[t] = tile[t + 32] + 1; // <- race: first
    } else {
        tile[t] = in[t]; // <- race: second
        BARRIER(1, 64);
        out[t] = tile[t];
    }
}

// Pairs of warps (0 and 2, 1 and 3), a barrier for each pair.
extern "C" __global__ void barrier_pairs(const int *in, int *out)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = in[t];
    if (t / 32 % 2 == 0) {
        BARRIER(1, 64);
    } else {
        BARRIER(2, 64);
    }
    out[t] = tile[(t + 64) % 128];
}

// The pairs share one barrier: any two warps make it up.
extern "C" __global__ void barrier_pairs_mixed(const int *in, int *out)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    tile[t] = in[t]; // <- race: first
    BARRIER(1, 64);
    out[t] = tile[(t + 64) % 128]; // <- race: second
}

// Two warps wait for four.
extern "C" __global__ void barrier_too_many(const int *in, int *out)
{
    int t = threadIdx.x;
    out[t] = in[t];
    BARRIER(1, 128); // <- barrier: first
    out[t] += 1;
}

// Each waits at a barrier where the other never comes.
extern "C" __global__ void barrier_wrong_number(const int *in, int *out)
{
    int t = threadIdx.x;
    out[t] = in[t];
    if (t < 32) {
        BARRIER(1, 64); // <- barrier: either
    } else {
        BARRIER(2, 64); // <- barrier: either
    }
    out[t] += 1;
}

// A barrier that counts votes orders memory like any other.
extern "C" __global__ void barrier_vote(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    int count = __syncthreads_count(in[t] > 3);
    out[t] = tile[63 - t] + count;
}

// Half of a warp ends early, the rest goes to the barrier.
extern "C" __global__ void barrier_half_warp_exits(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t % 32 >= 16) {
        return;
    }
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t ^ 32];
}

// Two barriers on one line.
extern "C" __global__ void barrier_one_line(const int *in, int *out)
{
    int t = threadIdx.x;
    // clang-format off
    if (t < 32) { __syncthreads(); out[t] = in[t]; } else { __syncthreads(); out[t] = in[t ^ 1]; } // <- barrier: either
    // clang-format on
}

#define MEET_EITHER_WAY(condition, out, value)                                                                         \
    if (condition) {                                                                                                   \
        out = value;                                                                                                   \
        __syncthreads();                                                                                               \
    } else {                                                                                                           \
        out = value + 1;                                                                                               \
        __syncthreads();                                                                                               \
    }

// The same by a macro, for which one place stands.
extern "C" __global__ void barrier_in_macro(const int *in, int *out)
{
    int t = threadIdx.x;
    MEET_EITHER_WAY(t < 32, out[t], in[t]) // <- barrier: either
}

// One barrier, reached by two calls.
extern "C" __global__ void barrier_inlined_twice(const int *in, int *out)
{
    int t = threadIdx.x;
    auto meet = [&](int value) {
        out[t] = value;
        __syncthreads(); // <- barrier: either
        out[t] += 1;
    };
    // clang-format off
    if (t < 32) { meet(in[t]); } else { meet(in[t] + 2); } // <- barrier: either
    // clang-format on
}

// A macro of which all threads take the same side.
extern "C" __global__ void barrier_in_macro_all(const int *in, int *out, int side)
{
    int t = threadIdx.x;
    MEET_EITHER_WAY(side > 0, out[t], in[t])
    MEET_EITHER_WAY(in[0] > 0, out[t], in[t])
}

// The two calls stand before and behind the branch: each is made by all.
extern "C" __global__ void barrier_called_by_all(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    auto meet = [&](int value) {
        tile[t] = value;
        __syncthreads();
        out[t] += tile[63 - t];
        __syncthreads();
    };
    // clang-format off
    meet(in[t]); if (t < 32) { out[t] += 1; } else { out[t] += 2; } meet(in[t] + 2);
    // clang-format on
}

// One barrier in the source, several in the machine code: the loop is unrolled, with a rest behind it.
extern "C" __global__ void barrier_unrolled(const int *in, int *out, int rounds)
{
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    // clang-format off
    for (int i = 0; i < rounds; i++) { tile[t] = in[t + i]; __syncthreads(); sum += tile[t ^ 32]; __syncthreads(); }
    // clang-format on
    out[t] = sum;
}

// Each warp begins with another round; all go as many.
extern "C" __global__ void barrier_unrolled_apart(const int *in, int *out, int rounds)
{
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0, from = t / 32;
    // clang-format off
    for (int i = from; i < from + rounds; i++) { if (i % 2) { sum += in[i]; } else { sum -= in[i]; } tile[t] = i; __syncthreads(); sum += tile[t ^ 32]; __syncthreads(); }
    // clang-format on
    out[t] = sum;
}

// The branch has nothing to do with the barrier that follows it on the next line.
extern "C" __global__ void barrier_behind_branch(const int *in, int *out, int rounds)
{
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < rounds; i++) {
        if (in[t] > 3 + i) {
            sum += in[i];
        }
        __syncthreads();
    }
    out[t] = sum;
}
