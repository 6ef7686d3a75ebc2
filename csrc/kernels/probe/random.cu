// probe / random
//
// What     y[i] = x[at(i)], n elements; at(i) is a scrambled number in [0, n), without any order.
// Idea     No two lanes are neighbours any more: each takes a sector of 32 bytes for its 4, and of a row of memory that
//          was opened for it nothing else is used. (In a small array some lanes still meet by chance.)
// Differs  from probe/strided: where i * stride + offset stood there is a hash of i.
// Claims   global.store.sectors_per_request = 4     bits32: the results lie side by side
//          global.store.sectors_per_request = 8     bits64
// Source   the hash: the finaliser of Stafford's Mix13, as in SplitMix64

extern "C" __global__ void __launch_bounds__(256)
probe_random(const T *x, T *y, long long n, long long seed)
{
    constexpr int EACH = 4, THREADS = 256; // elements of a thread, so that many reads are under way

    // Who am I: EACH elements, THREADS apart, so that a warp's lie side by side.
    const long long first = (long long)blockIdx.x * EACH * THREADS + threadIdx.x;

    // Read.
    T element[EACH];
    for (int k = 0; k < EACH; ++k) {
        const long long i = first + k * THREADS;
        unsigned long long hash = (unsigned long long)(i + seed) * 0x9e3779b97f4a7c15ull;
        hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
        hash ^= hash >> 31;
        const long long at = (long long)__umul64hi(hash, (unsigned long long)n); // hash / 2^64 of n
        element[k] = i < n ? x[at] : (T)0;
    }

    // Write.
    for (int k = 0; k < EACH; ++k)
        if (first + k * THREADS < n)
            y[first + k * THREADS] = element[k];
}
