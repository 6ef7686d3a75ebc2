// sort / bitonic
//
// What     Each row of x in ascending order; NaN behind all else, as NumPy has it. Rows have n elements; `size` is the
//          next power of two.
// Idea     A sorting network: which elements meet does not depend on their values, so no warp diverges. Sorted runs
//          of width / 2 elements merge to runs of `width`: each element of the first half meets its mirror image in the
//          second, and the smaller one goes to the front; then elements reach, reach / 2 ... 1 places apart meet.
//          Places from n on count as larger than all: they would never move, so nobody touches them.
//          A block sorts a row in shared memory. Where elements meet that are less than 32 places apart, a warp reads
//          two rows of banks of which it needs every other element: two lanes meet in a bank.
// Differs  the first of its kind.
// Claims   shared.load.conflicts = 40     float32; n at least 64; n at most 64: 20 of 21 steps, twice
//          shared.store.conflicts = 40    float32; n at least 64; n at most 64
// Source   K. E. Batcher, Sorting networks and their applications, AFIPS Spring Joint Computer Conference, 1968

extern "C" __global__ void __launch_bounds__(512)
sort_bitonic(const T *x, T *out, long long n, long long size, long long rows, long long x_step)
{
    constexpr int THREADS = 512;
    extern __shared__ T sort_bitonic_row[]; // size elements
    T *const row = sort_bitonic_row;

    // Who am I: a thread of a block, which sorts one row.
    const int thread = threadIdx.x;
    x += blockIdx.x * x_step;
    out += blockIdx.x * n;
    const auto before = [](T a, T b) { return a < b || (b != b && a == a); };

    // Read and stage.
    for (int i = thread; i < n; i += THREADS)
        row[i] = x[i];

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
                    const T a = row[low], b = row[high];
                    const bool turns = before(b, a);
                    row[low] = turns ? b : a;
                    row[high] = turns ? a : b;
                }
            }
        }

    // The row was sorted by all threads: none may read it before the last has written.
    __syncthreads();

    // Write.
    for (int i = thread; i < n; i += THREADS)
        out[i] = row[i];
}
