// histogram / even
//
// What     counts[bin] += 1 for each element of x in that bin. counts is 0 beforehand. Bytes are their own bin; others
//          lie in bin i where edges[i] <= x < edges[i + 1], and at the last edge in the last bin.
// Idea     Bins of equal width need no search: a multiplication in float32 places an element. It rounds, but never
//          turns the order of two elements round. So it is enough to try it at the edges: where each of them comes
//          to lie within `slack` of its place, it is right for all elements that lie farther than that from an edge.
//          Only those nearer are compared with edges, and all elements where edges are uneven.
//          In shared memory an edge is the least element that is not below it, so that comparisons are exact.
// Differs  from histogram/lane: how the bin of an element is found, and where the edges are; the copies are the same.
// Claims   shared.atomic.conflicts = 0               b at most 256: whatever the elements are
// Length   it is the fast one for numbers.
// Source   private copies as in histogram/lane; what a bin is: numpy.histogram

extern "C" __global__ void __launch_bounds__(1024)
histogram_even(const T *x, const double *edges, unsigned long long *counts, long long n, long long, long long b)
{
    constexpr bool IS_BYTE = sizeof(T) == 1, IS_FLOAT = (T)0.5 != 0;
    constexpr int THREADS = 1024, WORDS = 8192, WIDTH_MOST = 8000, ITEMS = 16 / sizeof(T), PACKS = 4;
    constexpr float LARGE = 12582912; // 1.5 * 2^23: the sum with a small number is a whole one
    extern __shared__ uint4 shared[];
    unsigned int *copy = reinterpret_cast<unsigned int *>(shared);
    T *edge = reinterpret_cast<T *>(copy + WORDS);
    struct alignas(16) pack {
        T item[ITEMS];
    };

    // Who am I: a thread of the grid, which takes every `step`-th pack of elements of x; and a lane of a copy.
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x, step = (long long)gridDim.x * THREADS;
    const pack *packs = reinterpret_cast<const pack *>(x);
    int copies = 32, levels = 5; // copies is 1 << levels
    for (; copies > 1 && copies * b > WORDS; copies /= 2)
        --levels;
    const int lane = threadIdx.x % copies, width = WORDS / copies < WIDTH_MOST ? WORDS / copies : WIDTH_MOST;

    // And which words of the copies a warp clears and reads, in each window: so many rows of 32, side by side.
    const int most = b < width ? int(b) : width, turns = (most * copies + THREADS - 1) / THREADS;
    const int my_lane = threadIdx.x % 32, my_words = threadIdx.x / 32 * 32 * turns;

    for (long long window = 0; window < b; window += width) {
        const int bins = b - window < width ? int(b - window) : width;
        const double low = edges[window], high = edges[window + bins], scale = bins / (high - low);
        const float factor = (float)scale, shift = (float)((IS_FLOAT ? -low : 0.5 - low) * scale - 0.5);
        const float slack = bins * 0x1p-20f;
        auto place = [&](T value) { return fmaf((float)value, factor, shift); };
#pragma unroll 1
        for (int word = my_words + my_lane; word < my_words + 32 * turns; word += 32)
            copy[word] = 0;
        bool is_even = true;
#pragma unroll 1
        for (int i = threadIdx.x; !IS_BYTE && i <= bins; i += THREADS) {
            const double exact = edges[window + i];
            T least, below;
            if constexpr (IS_FLOAT) {
                least = __double2float_ru(exact);
                below = nextafterf(least, -__builtin_inff());
            } else {
                least = __double2int_ru(exact); // or the nearest that there is
                below = exact > -2147483648.0 ? least - 1 : least;
            }
            edge[i] = least;
            const float at = i - 0.5f; // differences are exact; a sum with slack would round
            is_even = is_even && place(least) - at >= -slack && place(below) - at <= slack;
        }

        // Any thread may count in any bin and look at any edge: all must be there.
        is_even = __syncthreads_and(is_even) && slack < 0.25f;

        const float near = is_even ? 0.5f - slack : -1;
        const bool is_last = window + bins == b;

        // Counts an element; false where it lies close to an edge.
        auto count = [&](T value) {
            if constexpr (IS_BYTE) {
                atomicAdd(&copy[(int)value * 32 + lane], 1u);
                return true;
            }
            const float at = place(value), whole = at + LARGE;
            const int bin = __float_as_int(whole) - __float_as_int(LARGE);
            const bool is_sure = fabsf(at - (whole - LARGE)) < near && (unsigned)bin < (unsigned)bins;
            if (is_sure)
                atomicAdd(&copy[bin * copies + lane], 1u);
            return is_sure;
        };

        // Counts one that does: of even bins that edge alone counts, of others all. No element reaches an edge that T
        // does not hold.
        auto reaches = [&](T value, int i) {
            return value >= edge[i] && (IS_FLOAT || (double)value < 2147483647.0 || edges[window + i] <= 2147483647.0);
        };
        auto compare = [&](T value) {
            if (!((double)value >= low && (is_last ? (double)value <= high : (double)value < high)))
                return;
            int bin = 0;
            if (is_even) {
                const int right = (int)rintf(place(value) + 0.5f);
                bin = right <= 0 ? 0 : right >= bins ? bins - 1 : reaches(value, right) ? right : right - 1;
            } else
#pragma unroll 1
                for (int reach = 1 << (31 - __clz(bins)); reach > 0; reach /= 2)
                    bin += bin + reach < bins && reaches(value, bin + reach) ? reach : 0;
            atomicAdd(&copy[bin * copies + lane], 1u);
        };

        // Packs from the i-th on, `step` apart. The few elements that are left are read again.
        auto count_packs = [&](const auto &read, long long i) {
            unsigned long long left = 0;
#pragma unroll
            for (int k = 0; k < sizeof(read) / sizeof(T); ++k)
                if (!count(read[k / ITEMS].item[k % ITEMS]))
                    left |= 1ull << k;
#pragma unroll 1
            for (; !IS_BYTE && left != 0; left &= left - 1) {
                const int k = __ffsll(left) - 1;
                compare(x[(i + k / ITEMS * step) * ITEMS + k % ITEMS]);
            }
        };

        // Read and compute: PACKS packs at a time, then one by one, then what no pack holds.
        long long i = first;
#pragma unroll 1
        for (; i + (PACKS - 1) * step < n / ITEMS; i += PACKS * step) {
            pack read[PACKS];
#pragma unroll
            for (int j = 0; j < PACKS; ++j)
                read[j] = packs[i + j * step];
            count_packs(read, i);
        }
#pragma unroll 1
        for (; i < n / ITEMS; i += step) {
            const pack read[1] = {packs[i]};
            count_packs(read, i);
        }
        if (first < n % ITEMS && !count(x[n - n % ITEMS + first]))
            compare(x[n - n % ITEMS + first]);

        // A row is complete when all threads have counted.
        __syncthreads();

        // Write: lanes add up a row, and pass the sums on, so that neighbours add to neighbouring bins, of as many rows
        // at once as there are. Each thread reads the words that it clears, and edges are read no more: the next window
        // needs no barrier.
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
