// Keep the positive elements: a vote counts them, one lane a warp reserves room; and groups of equal keys in a warp.
// Exercises vote.ballot/any/all, activemask, popc, match.any and match.all, shfl.idx, atomics by a leader.

extern "C" __global__ void compact(const int *in, int count, int *out, int *kept)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int value = i < count ? in[i] : 0;
    bool keep = value > 0;
    unsigned int votes = __ballot_sync(0xffffffffu, keep);
    int leader = __ffs((int)votes) - 1;
    int base = 0;
    if (lane == leader) {
        base = atomicAdd(kept, __popc(votes));
    }
    base = __shfl_sync(0xffffffffu, base, leader & 31);
    if (keep) {
        out[base + __popc(votes & ((1u << lane) - 1))] = value;
    }
}

extern "C" __global__ void compact_groups(const int *keys, unsigned int *peers, int *facts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int key = keys[i];
    peers[i] = __match_any_sync(0xffffffffu, key);
    int same;
    unsigned int all = __match_all_sync(0xffffffffu, (long long)key * 0x100000001ll, &same);
    facts[i] = (same != 0) | (all != 0) << 1 | (__any_sync(0xffffffffu, key == 3) != 0) << 2 |
               (__all_sync(0xffffffffu, key < 8) != 0) << 3;
    if (key & 1) {
        facts[i] |= __popc(__activemask()) << 8;
    }
}
