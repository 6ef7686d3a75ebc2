// histogram_weighted / shared
//
// What     sums[bin] += weights[i] for each x[i] in that bin. sums is 0 beforehand. Bytes are their own bin; others
//          lie in bin i where edges[i] <= x < edges[i + 1], and at the last edge in the last bin.
// Idea     Each block adds up in a copy of the bins of its own, in shared memory, and adds it to the result once.
//          Shared memory has no addition of float64: an atomic one is a loop that tries again when another lane was
//          faster.
//          More bins than WIDTH are filled WIDTH at a time, and x is read again for each such window.
// Differs  from histogram_weighted/global: the block's own copy; and a fixed number of blocks, so that it pays.
// Claims   shared.store.conflicts = 0
//          global.load.sectors_per_request = 4.5     uint8; n a multiple of 256: 32 bytes in a row, and 32 weights
// Source   the textbook cure, as in histogram/shared; what a bin is: numpy.histogram

extern "C" __global__ void __launch_bounds__(256)
histogram_weighted_shared(const T *x, const double *weights, const double *edges, double *sums, long long n, long long,
                          long long b)
{
    constexpr int THREADS = 256, WIDTH = 2048;
    __shared__ double copy[WIDTH];

    // Who am I: a thread of the grid, which takes every `step`-th element of x.
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long step = (long long)gridDim.x * THREADS;

    for (long long window = 0; window < b; window += WIDTH) {
        const int width = b - window < WIDTH ? int(b - window) : WIDTH;
        const double *edge = edges + window;
        const double low = edge[0], high = edge[width];
        const bool is_last = b - window == width;

#pragma unroll 1
        for (int bin = threadIdx.x; bin < width; bin += THREADS)
            copy[bin] = 0;

        // Any thread may add to any bin: all must be 0 before the first does.
        __syncthreads();

        // Read and compute. The bin is the last one whose left edge is not above. What is not a number is in none.
#pragma unroll 1
        for (long long i = first; i < n; i += step) {
            const T value = x[i];
            int bin = 0;
            if (sizeof(T) == 1) {
                bin = (int)value;
            } else {
                if (!(value >= low && (is_last ? value <= high : value < high)))
                    continue;
#pragma unroll 1
                for (int right = width; right - bin > 1;) {
                    const int middle = (bin + right) / 2;
                    if (value >= edge[middle])
                        bin = middle;
                    else
                        right = middle;
                }
            }
            atomicAdd(&copy[bin], weights[i]);
        }

        // A bin is complete when all threads have added.
        __syncthreads();

        // Write. Each thread adds the bins that it clears: the next window needs no barrier here.
#pragma unroll 1
        for (int bin = threadIdx.x; bin < width; bin += THREADS)
            if (copy[bin] != 0)
                atomicAdd(&sums[window + bin], copy[bin]);
    }
}
