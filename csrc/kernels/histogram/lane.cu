// histogram / lane
//
// What     counts[bin] += 1 for each element of x in that bin. counts is 0 beforehand. Bytes are their own bin; others
//          lie in bin i where edges[i] <= x < edges[i + 1], and at the last edge in the last bin.
// Idea     A copy of the bins for each lane, interleaved: bin i of all copies is a row of 32 words, so that the bank
//          is the lane. The lanes of a warp never meet, whatever the elements are.
//          32 copies of 256 bins fit into 32 KB. For more bins there are fewer copies (16 of 512, 8 of 1024, 4 of
//          2048, at last one), which lanes share; more than 8192 are counted a window at a time.
// Differs  from histogram/shared: the copies, interleaved; wider reads, a larger block.
// Claims   shared.atomic.conflicts = 0               uint8: whatever the elements are
//          shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Length   it is the fast one for bytes: a thread has four reads of 16 bytes on their way at once.
// Source   private copies as in V. Podlozhnyuk, Histogram Calculation in CUDA (2007); what a bin is: numpy.histogram

extern "C" __global__ void __launch_bounds__(1024)
histogram_lane(const T *x, const double *edges, unsigned long long *counts, long long n, long long, long long b)
{
    constexpr bool IS_BYTE = sizeof(T) == 1;
    constexpr int THREADS = 1024, WORDS = 8192, ITEMS = 16 / sizeof(T), PACKS = IS_BYTE ? 4 : 1;
    __shared__ unsigned int copy[WORDS];

    // Who am I: a thread of the grid, which takes every `step`-th pack of elements of x; and a lane of a copy.
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x, step = (long long)gridDim.x * THREADS;
    const uint4 *packs = reinterpret_cast<const uint4 *>(x);
    int copies = 32, levels = 5; // copies is 1 << levels
    for (; !IS_BYTE && copies > 1 && copies * b > WORDS; copies /= 2)
        --levels;
    const int lane = threadIdx.x % copies, width = WORDS / copies;

    // And which words of the copies a warp clears and reads, in each window: so many rows of 32, side by side.
    const int most = b < width ? int(b) : width;
    const int turns = IS_BYTE ? WORDS / THREADS : (most * copies + THREADS - 1) / THREADS;
    const int my_lane = threadIdx.x % 32, my_words = threadIdx.x / 32 * 32 * turns;
    char *mine = reinterpret_cast<char *>(&copy[lane]);

    for (long long window = 0; window < (IS_BYTE ? 1 : b); window += width) {
        // Which bin of the window: by even spacing a guess, then ever larger steps past it, and bisection. What lies at
        // the last edge is in the last bin; what is not a number, and what other windows hold, is in none.
        const int top = (b - window < width ? int(b - window) : width) - 1;
        const double *edge = edges + window, low = edge[0], high = edge[top + 1], scale = (top + 1) / (high - low);
        auto count = [&](T value) {
            const double guess = (value - low) * scale;
            int bin = IS_BYTE ? (int)value : guess < top ? (int)guess : top, reach = 1;
            if (!IS_BYTE && !(value >= low && (window + width < b ? value < high : value <= high)))
                return;
            for (; !IS_BYTE && bin > 0 && value < edge[bin]; reach *= 2)
                bin = bin > reach ? bin - reach : 0;
            for (; !IS_BYTE && bin + reach <= top && value >= edge[bin + reach]; reach *= 2)
                bin += reach;
            while (!IS_BYTE && reach > 1) {
                reach /= 2;
                bin += bin + reach <= top && value >= edge[bin + reach] ? reach : 0;
            }
            atomicAdd(&copy[bin * copies + lane], 1u);
        };
        auto count_pack = [&](uint4 pack) {
            const unsigned int word[4] = {pack.x, pack.y, pack.z, pack.w};
            for (int k = 0; k < ITEMS; ++k)
                if constexpr (IS_BYTE) { // a row has 128 bytes: a byte times 128 is a shift and a mask
                    const int shift = 8 * (k % 4) - 7;
                    const unsigned int row = shift < 0 ? word[k / 4] << -shift : word[k / 4] >> shift;
                    atomicAdd(reinterpret_cast<unsigned int *>(mine + (row & 255 * 128)), 1u);
                } else
                    count(reinterpret_cast<const T &>(word[k]));
        };
#pragma unroll 1
        for (int word = my_words + my_lane; word < my_words + 32 * turns; word += 32)
            copy[word] = 0;

        // Any thread may count in any row: all must be 0 before the first does.
        __syncthreads();

        // Read and compute: PACKS packs at a time, then one by one, then what no pack holds.
        long long i = first;
#pragma unroll 1
        for (; i + (PACKS - 1) * step < n / ITEMS; i += PACKS * step) {
            uint4 read[PACKS];
            for (int j = 0; j < PACKS; ++j)
                read[j] = packs[i + j * step];
            for (int j = 0; j < PACKS; ++j)
                count_pack(read[j]);
        }
#pragma unroll 1
        for (; PACKS > 1 && i < n / ITEMS; i += step)
            count_pack(packs[i]);
        if (first < n % ITEMS)
            count(x[n - n % ITEMS + first]);

        // A row is complete when all threads have counted.
        __syncthreads();

        // Write: lanes add up a row, and pass the sums on, so that neighbours add to neighbouring bins, of as many rows
        // at once as there are. Each thread reads the words that it clears: the next window needs no barrier.
        unsigned int kept = 0;
#pragma unroll 1
        for (int k = 0; k < turns; ++k) {
            unsigned int sum = copy[my_words + k * 32 + my_lane];
            for (int reach = copies / 2; reach > 0; reach /= 2)
                sum += __shfl_xor_sync(0xffffffff, sum, reach);
            const int rows = 32 >> levels; // of this turn: their sums are what the next `rows` lanes keep
            sum = __shfl_sync(0xffffffff, sum, (my_lane & (rows - 1)) << levels);
            if (my_lane >> (5 - levels) == (k & (copies - 1)))
                kept = sum;
            if ((k & (copies - 1)) == copies - 1 || k + 1 == turns) {
                if (kept != 0)
                    atomicAdd(&counts[window + (my_words >> levels) + (k >> levels) * 32 + my_lane],
                              (unsigned long long)kept);
                kept = 0;
            }
        }
    }
}
