// gather / naive
//
// What     out[j] = x[index[j]], m elements out of n. A negative index counts from the end, as in NumPy; where one
//          lies outside of [-n, n), out[j] is 0.
// Idea     One thread an element. The indices and the results lie side by side, but what the indices say decides how
//          the memory is used: 32 lanes may find their elements in 4 sectors or in 32. A warp waits for its indices,
//          and then for its elements: two latencies, one after the other.
// Differs  the first of its family.
// Claims   global.store.sectors_per_request = 4     bits32; m a multiple of 32: the results lie side by side
//          global.store.sectors_per_request = 8     bits64; m a multiple of 32
//          shared.load.instructions = 0
// Source   none

extern "C" __global__ void __launch_bounds__(256)
gather_naive(const T *x, const long long *index, T *out, long long n, long long m)
{
    // Who am I: one element of the result.
    const long long j = (long long)blockIdx.x * 256 + threadIdx.x;
    if (j >= m)
        return;

    // Read where, then what; write.
    const long long asked = index[j];
    const long long i = asked < 0 ? asked + n : asked;
    out[j] = 0 <= i && i < n ? x[i] : (T)0;
}
