// histogram / shared
//
// What     counts[bin] += 1 for each element of x in that bin. counts is 0 beforehand. Bytes are their own bin; others
//          lie in bin i where edges[i] <= x < edges[i + 1], and at the last edge in the last bin.
// Idea     Each block counts in a copy of the bins of its own, in shared memory, and adds it to the result once.
//          Still slow where elements are alike: then the lanes of a warp meet in one word of the copy.
//          More bins than WIDTH are counted WIDTH at a time, and x is read again for each such window.
// Differs  from histogram/global: the block's own copy; and a fixed number of blocks, so that it pays.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   the textbook cure; what a bin is: numpy.histogram

extern "C" __global__ void __launch_bounds__(256)
histogram_shared(const T *x, const double *edges, unsigned long long *counts, long long n, long long, long long b)
{
    constexpr int THREADS = 256, WIDTH = 4096;
    __shared__ unsigned int copy[WIDTH];

    // Who am I: a thread of the grid, which takes every `step`-th element of x.
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long step = (long long)gridDim.x * THREADS;

    for (long long window = 0; window < b; window += WIDTH) {
        const int width = b - window < WIDTH ? int(b - window) : WIDTH;

        // Which bin of the window: by even spacing a guess, then ever larger steps past it, and bisection. What lies at
        // the last edge is in the last bin. -1: none of them; so for what is not a number.
        const bool ends = b - window == width;
        const int top = width - 1;
        const double *edge = edges + window;
        const double low = edge[0], high = edge[top + 1], scale = (top + 1) / (high - low);
        auto find_bin = [&](T value) {
            if (sizeof(T) == 1)
                return (int)value;
            if (!(value >= low && (ends ? value <= high : value < high)))
                return -1;
            const double guess = (value - low) * scale;
            int bin = guess < top ? (int)guess : top, reach = 1;
            for (; bin > 0 && value < edge[bin]; reach *= 2)
                bin = bin > reach ? bin - reach : 0;
            for (; bin + reach <= top && value >= edge[bin + reach]; reach *= 2)
                bin += reach;
            while (reach > 1) {
                reach /= 2;
                if (bin + reach <= top && value >= edge[bin + reach])
                    bin += reach;
            }
            return bin;
        };

#pragma unroll 1
        for (int bin = threadIdx.x; bin < width; bin += THREADS)
            copy[bin] = 0;

        // Any thread may count in any bin: all must be 0 before the first does.
        __syncthreads();

        // Read and compute.
#pragma unroll 1
        for (long long i = first; i < n; i += step) {
            const int bin = find_bin(x[i]);
            if (bin >= 0)
                atomicAdd(&copy[bin], 1u);
        }

        // A bin is complete when all threads have counted.
        __syncthreads();

        // Write. Each thread adds the bins that it clears: the next window needs no barrier here.
#pragma unroll 1
        for (int bin = threadIdx.x; bin < width; bin += THREADS)
            if (copy[bin] != 0)
                atomicAdd(&counts[window + bin], (unsigned long long)copy[bin]);
    }
}
