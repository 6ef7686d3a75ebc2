// Global atomics whose results are used: the third to come sets a flag.
// Counts: ATOM requests; a 64-bit one beside a 32-bit one.

extern "C" __global__ void atomic_returning(const int *where, unsigned *counts, unsigned long long *wide, int *flags,
                                            int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int at = where[i];
    if (atomicAdd(&counts[at], 1u) == 2) {
        flags[at] = 1;
    }
    if (atomicAdd(&wide[at], 1ull << 40) == 1ull << 40) {
        flags[at + 64] = 1;
    }
}
