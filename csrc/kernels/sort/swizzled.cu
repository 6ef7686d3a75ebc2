// sort / swizzled
//
// What     Each row of x in ascending order; NaN behind all else, as NumPy has it. Rows have n elements; `size` is the
//          next power of two.
// Idea     The elements of every second row of banks lie in reverse order. In a step of reach 1, 2, 4, 8 or 16 the
//          lanes of a warp want elements of two rows of banks, of each those whose place has a bit that is 0: reversed,
//          these are just the banks that the other row leaves free. One unused place after each row, as in
//          scan/blelloch_padded, would do so for reach 1 alone.
// Differs  from sort/bitonic: the place of element i is i with its lower bits inverted in every second row.
// Claims   shared.load.conflicts = 0     always
//          shared.store.conflicts = 0    always
// Source   K. E. Batcher, Sorting networks and their applications, AFIPS Spring Joint Computer Conference, 1968;
//          swizzled layouts, as CUTLASS describes them for tiles of operands

template <int BYTES> struct sort_swizzled_integer {
    typedef int type;
};
template <> struct sort_swizzled_integer<8> {
    typedef long long type;
};
typedef sort_swizzled_integer<sizeof(T)>::type sort_swizzled_key;

// The element as an integer of the same order, and back: the same change of bits.
static __device__ __forceinline__ sort_swizzled_key sort_swizzled_turn(sort_swizzled_key bits)
{
    const bool is_real = (T)0.5 != (T)0;
    return is_real && bits < 0 ? bits ^ ~(sort_swizzled_key(1) << (8 * sizeof(T) - 1)) : bits;
}

extern "C" __global__ void __launch_bounds__(512)
sort_swizzled(const T *x, T *out, long long n, long long size, long long rows, long long x_step)
{
    constexpr int THREADS = 512, BANKS = 128 / sizeof(T); // elements of a row of banks
    constexpr sort_swizzled_key LAST = ~(sort_swizzled_key(1) << (8 * sizeof(T) - 1));
    extern __shared__ sort_swizzled_key sort_swizzled_row[]; // size elements
    const auto row = [](int i) -> sort_swizzled_key & {
        const int inverted = -(i / BANKS & 1) & (BANKS - 1); // the lower bits, in every second row
        return sort_swizzled_row[i ^ inverted];
    };

    // Who am I: a thread of a block, which sorts one row.
    const int thread = threadIdx.x;
    x += blockIdx.x * x_step;
    out += blockIdx.x * n;

    // Read and stage.
    for (int i = thread; i < size; i += THREADS) {
        const T value = i < n ? x[i] : (T)0;
        const bool is_last = i >= n || value != value;
        row(i) = is_last ? LAST : sort_swizzled_turn(reinterpret_cast<const sort_swizzled_key &>(value));
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
                const sort_swizzled_key a = row(low), b = row(high);
                row(low) = a < b ? a : b;
                row(high) = a < b ? b : a;
            }
        }

    // The row was sorted by all threads: none may read it before the last has written.
    __syncthreads();

    // Write.
    for (int i = thread; i < n; i += THREADS) {
        const sort_swizzled_key bits = sort_swizzled_turn(row(i));
        out[i] = reinterpret_cast<const T &>(bits);
    }
}
