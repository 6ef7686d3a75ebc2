// sort / bitonic
//
// What     Each row of x in ascending order; NaN behind all else, as NumPy has it. Rows have n elements; `size` is the
//          next power of two.
// Idea     A sorting network: which elements meet does not depend on their values, so no warp diverges. Sorted runs
//          of width / 2 elements merge to runs of `width`: each element of the first half meets its mirror image in the
//          second, and the smaller one goes to the front; then elements reach, reach / 2 ... 1 places apart meet.
//          Elements are compared as integers, which takes the least and the greatest of two in an instruction each: the
//          bits of a float are in the order of its value when those of a negative one are inverted, but for its sign.
//          NaN and the places from n on are the largest integer.
//          A block sorts a row in shared memory. Where elements meet that are less than 32 places apart, a warp reads
//          two rows of banks of which it needs every other element: two lanes meet in a bank.
// Differs  the first of its kind.
// Claims   shared.load.conflicts = 40     float32; n at least 64; n at most 64: 20 of 21 steps, twice
//          shared.store.conflicts = 40    float32; n at least 64; n at most 64
// Source   K. E. Batcher, Sorting networks and their applications, AFIPS Spring Joint Computer Conference, 1968

template <int BYTES> struct sort_bitonic_integer {
    typedef int type;
};
template <> struct sort_bitonic_integer<8> {
    typedef long long type;
};
typedef sort_bitonic_integer<sizeof(T)>::type sort_bitonic_key;

// The element as an integer of the same order, and back: the same change of bits.
static __device__ __forceinline__ sort_bitonic_key sort_bitonic_turn(sort_bitonic_key bits)
{
    const bool is_real = (T)0.5 != (T)0;
    return is_real && bits < 0 ? bits ^ ~(sort_bitonic_key(1) << (8 * sizeof(T) - 1)) : bits;
}

extern "C" __global__ void __launch_bounds__(512)
sort_bitonic(const T *x, T *out, long long n, long long size, long long rows, long long x_step)
{
    constexpr int THREADS = 512;
    constexpr sort_bitonic_key LAST = ~(sort_bitonic_key(1) << (8 * sizeof(T) - 1));
    extern __shared__ sort_bitonic_key sort_bitonic_row[]; // size elements
    sort_bitonic_key *const row = sort_bitonic_row;

    // Who am I: a thread of a block, which sorts one row.
    const int thread = threadIdx.x;
    x += blockIdx.x * x_step;
    out += blockIdx.x * n;

    // Read and stage.
    for (int i = thread; i < size; i += THREADS) {
        const T value = i < n ? x[i] : (T)0;
        const bool is_last = i >= n || value != value;
        row[i] = is_last ? LAST : sort_bitonic_turn(reinterpret_cast<const sort_bitonic_key &>(value));
    }

#pragma unroll 1
    for (int width = 2; width <= size; width *= 2)
#pragma unroll 1
        for (int reach = width / 2; reach > 0; reach /= 2) {
            // Elements were written by other threads, in the step before or above: all must be done.
            __syncthreads();

            // Compute: the pairs of this step.
            for (int pair = thread; pair < size / 2; pair += THREADS) {
                const int in = pair & (reach - 1), low = 2 * pair - in;
                const int high = reach == width / 2 ? low + 2 * (reach - in) - 1 : low + reach;
                const sort_bitonic_key a = row[low], b = row[high];
                row[low] = a < b ? a : b;
                row[high] = a < b ? b : a;
            }
        }

    // The row was sorted by all threads: none may read it before the last has written.
    __syncthreads();

    // Write.
    for (int i = thread; i < n; i += THREADS) {
        const sort_bitonic_key bits = sort_bitonic_turn(row[i]);
        out[i] = reinterpret_cast<const T &>(bits);
    }
}
