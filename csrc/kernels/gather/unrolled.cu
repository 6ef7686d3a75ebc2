// gather / unrolled
//
// What     out[j] = x[index[j]], m elements out of n. A negative index counts from the end, as in NumPy; where one
//          lies outside of [-n, n), out[j] is 0.
// Idea     Several elements a thread, each step for all of them before the next: their indices are read together, then
//          their elements. A thread still waits twice, but for EACH elements instead of one, so more of the slow
//          reads are under way at a time. No request becomes better: the sectors are those of gather/naive.
// Differs  from gather/naive: EACH.
// Claims   global.store.sectors_per_request = 4     bits32; m a multiple of 32
//          global.store.sectors_per_request = 8     bits64; m a multiple of 32
//          shared.load.instructions = 0
// Source   Volkov, Better Performance at Lower Occupancy

extern "C" __global__ void __launch_bounds__(256)
gather_unrolled(const T *x, const long long *index, T *out, long long n, long long m)
{
    constexpr int EACH = 4, THREADS = 256;

    // Who am I: EACH elements of the result, THREADS apart, so that a warp's lie side by side.
    const long long first = (long long)blockIdx.x * EACH * THREADS + threadIdx.x;

    // Read where.
    long long asked[EACH];
    for (int k = 0; k < EACH; ++k)
        asked[k] = first + k * THREADS < m ? index[first + k * THREADS] : n; // n: outside

    // Read what.
    T element[EACH];
    for (int k = 0; k < EACH; ++k) {
        const long long i = asked[k] < 0 ? asked[k] + n : asked[k];
        element[k] = 0 <= i && i < n ? x[i] : (T)0;
    }

    // Write.
    for (int k = 0; k < EACH; ++k)
        if (first + k * THREADS < m)
            out[first + k * THREADS] = element[k];
}
