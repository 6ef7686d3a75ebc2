// histogram_weighted / global
//
// What     sums[bin] += weights[i] for each x[i] in that bin. sums is 0 beforehand. Bytes are their own bin; others
//          lie in bin i where edges[i] <= x < edges[i + 1], and at the last edge in the last bin.
// Idea     Every element is an atomic addition in global memory, of float64.
//          The hardware orders the additions as they come: their rounding can differ from call to call.
// Differs  from histogram/global: a weight is read and added, in place of 1; the bin is found by bisection alone.
// Claims   shared.atomic.instructions = 0
//          global.load.sectors_per_request = 4.5     uint8; n a multiple of 256: 32 bytes in a row, and 32 weights
// Source   the obvious first attempt; what a bin is: numpy.histogram

extern "C" __global__ void __launch_bounds__(256)
histogram_weighted_global(const T *x, const double *weights, const double *edges, double *sums, long long n, long long,
                          long long b)
{
    constexpr int THREADS = 256;

    // Who am I: one element of x.
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;

    // Read, and find the bin: the last one whose left edge is not above. What is not a number is in none.
    const T value = x[i];
    long long bin = 0;
    if (sizeof(T) == 1) {
        bin = (long long)value;
    } else {
        if (!(value >= edges[0] && value <= edges[b]))
            return;
        for (long long right = b; right - bin > 1;) {
            const long long middle = bin + (right - bin) / 2;
            if (value >= edges[middle])
                bin = middle;
            else
                right = middle;
        }
    }

    // Compute and write.
    atomicAdd(&sums[bin], weights[i]);
}
