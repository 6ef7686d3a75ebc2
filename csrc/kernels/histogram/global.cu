// histogram / global
//
// What     counts[bin] += 1 for each element of x in that bin. counts is 0 beforehand. Bytes are their own bin; others
//          lie in bin i where edges[i] <= x < edges[i + 1], and at the last edge in the last bin.
// Idea     Every element is an atomic addition in global memory.
//          Slow because all threads of the device meet in few words; the slower, the more elements are alike.
// Differs  from nothing: the ladder starts here.
// Claims   shared.atomic.instructions = 0
//          global.load.sectors_per_request = 1       uint8; n a multiple of 256: 32 bytes in a row
// Source   the obvious first attempt; what a bin is: numpy.histogram

extern "C" __global__ void __launch_bounds__(256)
histogram_global(const T *x, const double *edges, unsigned long long *counts, long long n, long long, long long b)
{
    constexpr int THREADS = 256;

    // Which bin: by even spacing a guess, then ever larger steps past it, and bisection. -1: none; so for what is not a
    // number.
    const double low = edges[0], high = edges[b], scale = b / (high - low);
    auto find_bin = [&](T value) {
        if (sizeof(T) == 1)
            return (long long)value;
        if (!(value >= low && value <= high))
            return -1ll;
        const double guess = (value - low) * scale;
        long long bin = guess < b ? (long long)guess : b - 1, reach = 1;
        for (; bin > 0 && value < edges[bin]; reach *= 2)
            bin = bin > reach ? bin - reach : 0;
        for (; bin + reach < b && value >= edges[bin + reach]; reach *= 2)
            bin += reach;
        while (reach > 1) {
            reach /= 2;
            if (bin + reach < b && value >= edges[bin + reach])
                bin += reach;
        }
        return bin;
    };

    // Who am I: one element of x.
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;

    // Read, compute and write.
    const long long bin = find_bin(x[i]);
    if (bin >= 0)
        atomicAdd(&counts[bin], 1ull);
}
