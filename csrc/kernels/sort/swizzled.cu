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

extern "C" __global__ void __launch_bounds__(512)
sort_swizzled(const T *x, T *out, long long n, long long size, long long rows, long long x_step)
{
    constexpr int THREADS = 512, BANKS = 128 / sizeof(T); // elements of a row of banks
    extern __shared__ T sort_swizzled_row[]; // size elements
    const auto row = [](int i) -> T & { return sort_swizzled_row[i / BANKS & 1 ? i ^ (BANKS - 1) : i]; };

    // Who am I: a thread of a block, which sorts one row.
    const int thread = threadIdx.x;
    x += blockIdx.x * x_step;
    out += blockIdx.x * n;
    const auto before = [](T a, T b) { return a < b || (b != b && a == a); };

    // Read and stage.
    for (int i = thread; i < n; i += THREADS)
        row(i) = x[i];

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
                if (high < n) {
                    const T a = row(low), b = row(high);
                    const bool turns = before(b, a);
                    row(low) = turns ? b : a;
                    row(high) = turns ? a : b;
                }
            }
        }

    // The row was sorted by all threads: none may read it before the last has written.
    __syncthreads();

    // Write.
    for (int i = thread; i < n; i += THREADS)
        out[i] = row(i);
}
