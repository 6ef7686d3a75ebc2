// conv2d / register
//
// What     out[row][col] = sum over i, j of weight(i, j) * image[row + i - up][col + j - left]; shapes, forms and modes
//          as in conv2d/naive.
// Idea     A warp walks down a strip of the image and reads each row once. A thread makes 16 bytes of pixels of a row;
//          the sums of all rows of pixels that a row of the image reaches are in registers. Each row of the filter
//          meets the window of the thread, for another row of sums; the uppermost is done then, and all move up: that
//          costs nothing, for the first product of the next row is added from one register into another.
//          It takes STEP rows at a time, so that a weight that was read serves STEP windows. The rows to come are on
//          their way meanwhile: a ring of SLOTS rows in shared memory, the warp's own, filled by cp.async.
//          Registers have no index, so sizes of filters are compiled in, up to 11 x 11; others are filled up with
//          weights of zero, larger ones cut into pieces, each added to what the former left in out.
//          A weight of zero must not meet infinities: pixels that end as NaN are made again, without the zeros.
// Differs  from conv2d/shared: the window and the sums in registers; the image staged by cp.async, a warp for itself.
// Claims   shared.store.conflicts = 0                always
//          global.store.sectors_per_request = 16     w a multiple of 128: 512 bytes in a row
// Length   it is the fast one, in 7 sizes and two ways to copy.
// Source   sliding windows: any text on filters; register tiles: V. Volkov, Better performance at lower occupancy, 2010

struct alignas(16) conv2d_register_vector {
    T item[16 / sizeof(T)];
};

// What a warp walks over: `rows` rows of out from `row`, whose first column is `col`; the first pixel that the filter
// reaches for them is `up` rows and `left` columns before. `ring` is the warp's, `weights` the block's.
struct conv2d_register_strip {
    const T *image;
    T *out;
    long long h, w, mode, row, col, up, left;
    int rows;
    bool adds; // to what is in out
    conv2d_register_vector *ring;
    const conv2d_register_vector *weights;
};

// Which row (or column) of the image stands at place `at` of `size`, which is not far outside; -1: none. No division
// here: the loop over rows calls this, and a 64-bit division is a call that would take registers from it.
static __device__ __forceinline__ long long conv2d_register_fold(long long at, long long size, long long mode)
{
    if (mode == 2)
        return at < 0 ? 0 : at < size ? at : size - 1;
    while (at < 0 || at >= size) {
        if (mode == 0)
            return -1;
        at = mode == 3 ? (at < 0 ? at + size : at - size) : (at < 0 ? 0 : 2 * size) - 1 - at;
    }
    return at;
}

// A place not far outside where the same stands.
static __device__ __forceinline__ long long conv2d_register_near(long long at, long long size, long long mode)
{
    return mode == 0 || mode == 2 ? at : at % (2 * size);
}

static __device__ __forceinline__ long long conv2d_register_source(long long at, long long size, long long mode)
{
    return conv2d_register_fold(conv2d_register_near(at, size, mode), size, mode);
}

// Filters of P rows and Q columns, whose weights lie PITCH apart. WHOLE: rows of the ring are whole vectors of the
// image's, and are copied so. True: one of this thread's sums is no number, or infinite.
template <int P, int Q, int PITCH, int SLOTS, int STEP, bool WHOLE>
static __device__ __forceinline__ bool conv2d_register_walk(const conv2d_register_strip &my)
{
    constexpr int LANE = 16 / sizeof(T), SKIP = (LANE - (Q - 1) / 2 % LANE) % LANE;
    constexpr int REACH = (SKIP + LANE + Q - 1 + LANE - 1) / LANE, DEEP = (Q + LANE - 1) / LANE, WIDE = 31 + REACH;
    constexpr int UNIT = WHOLE ? LANE : 1, BYTES = UNIT * sizeof(T), UNITS = WIDE * LANE / UNIT;
    constexpr int COPIES = (UNITS + 31) / 32;
    const int lane = threadIdx.x, ends = my.rows + P - 1;
    const long long w = my.w;

    // The vectors (or elements) of a row that this lane copies, every 32nd: where they begin. For none come zeros.
    const T *from[COPIES];
    bool inside[COPIES];
#pragma unroll
    for (int k = 0; k < COPIES; ++k) {
        const long long col = conv2d_register_source(my.col - my.left - SKIP + (lane + k * 32) * UNIT, w, my.mode);
        inside[k] = col >= 0;
        from[k] = my.image + (col >= 0 ? col : 0);
    }
    const unsigned ring = (unsigned)__cvta_generic_to_shared(my.ring) + lane * BYTES;

    // The rows to read begin at place `begin` of the image; the first `above` of them, and those from `below` on, lie
    // outside.
    const long long begin = conv2d_register_near(my.row - my.up, my.h, my.mode);
    const int above = begin >= 0 ? 0 : -begin < ends ? (int)-begin : ends;
    const int below = begin >= my.h ? 0 : my.h - begin < ends ? (int)(my.h - begin) : ends;

    // Start the copies of the next STEP rows (the last may lie behind the end), one group; after the end an empty one.
    int next = 0;
    long long next_at = begin * w;
    const auto start = [&]() {
        if (next < ends) {
            long long at[STEP];
            bool there[STEP];
#pragma unroll
            for (int t = 0; t < STEP; ++t)
                at[t] = next_at + t * w, there[t] = true;
            if (next < above || next + STEP > below)
#pragma unroll
                for (int t = 0; t < STEP; ++t) {
                    const long long row = conv2d_register_fold(begin + next + t, my.h, my.mode);
                    there[t] = row >= 0, at[t] = there[t] ? row * w : 0;
                }
            const unsigned slot = ring + (unsigned)next % SLOTS * (WIDE * 16);
#pragma unroll
            for (int k = 0; k < COPIES; ++k)
                if (k * 32 + 32 <= UNITS || lane + k * 32 < UNITS)
#pragma unroll
                    for (int t = 0; t < STEP; ++t) {
                        if (WHOLE)
                            asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::
                                         "r"(slot + k * 32 * BYTES + t * WIDE * 16), "l"(from[k] + at[t]),
                                         "r"(there[t] && inside[k] ? 16 : 0) : "memory");
                        else
                            asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                                         "r"(slot + k * 32 * BYTES + t * WIDE * 16), "l"(from[k] + at[t]),
                                         "n"(sizeof(T)), "r"(there[t] && inside[k] ? (int)sizeof(T) : 0) : "memory");
                    }
        }
        next += STEP;
        next_at += STEP * w;
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
#pragma unroll 1
    for (int k = 0; k < SLOTS / STEP - 1; ++k)
        start();

    T sum[P - 1 + STEP][LANE] = {};
    T odd = 0; // no number any more, once a sum was none (or infinite): that takes no branch
    const long long col = my.col + lane * LANE;
    T *to = my.out + (my.row - (P - 1)) * w + col;
#pragma unroll 1
    for (int row = 0; row < ends; row += STEP) {
        // Wait until no more than SLOTS / STEP - 2 of my groups are under way: that of these rows is not one of them.
        asm volatile("cp.async.wait_group %0;" ::"n"(SLOTS / STEP - 2) : "memory");

        // The rows were copied by the whole warp: no lane may read before the last has waited for its part. And the
        // rows before were read by all: none may start to overwrite them before the last has read.
        __syncwarp();
        start();

        // Read: the windows. (The compiler reads no more of a vector than is needed, 8 bytes of 16 perhaps: these count
        // as conflicts, but take as long as the whole vector would.)
        const conv2d_register_vector *const slot = my.ring + (unsigned)row % SLOTS * WIDE + lane;
        conv2d_register_vector window[STEP][REACH];
#pragma unroll
        for (int t = 0; t < STEP; ++t)
#pragma unroll
            for (int a = 0; a < REACH; ++a)
                window[t][a] = slot[t * WIDE + a];

        // Compute: a row of the filter meets each of the windows, and lies there for another row of sums.
#pragma unroll
        for (int i = P - 1; i >= 0; --i) {
            conv2d_register_vector weight[DEEP];
#pragma unroll
            for (int d = 0; d < DEEP; ++d)
                weight[d] = my.weights[i * (PITCH / LANE) + d];
#pragma unroll
            for (int k = 0; k < STEP * Q * LANE; ++k) {
                const int t = k / (Q * LANE), j = k / LANE % Q, x = k % LANE, from_x = SKIP + x + j;
                sum[P - 1 - i + t][x] += weight[j / LANE].item[j % LANE] * window[t][from_x / LANE].item[from_x % LANE];
            }
        }

        // Write the STEP rows that are done: 16 bytes where rows of out are made of them, else pixel by pixel.
#pragma unroll
        for (int t = 0; t < STEP; ++t) {
            if (col < w && (unsigned)(row + t - (P - 1)) < (unsigned)my.rows) {
                conv2d_register_vector pixels = {}, *const whole = reinterpret_cast<conv2d_register_vector *>(to);
                if (my.adds && WHOLE)
                    pixels = *whole;
#pragma unroll
                for (int x = 0; x < LANE; ++x) {
                    if (my.adds && !WHOLE && col + x < w)
                        pixels.item[x] = to[x];
                    pixels.item[x] += sum[t][x];
                    odd += pixels.item[x] * T(0);
                }
                if (WHOLE || w % LANE == 0)
                    *whole = pixels;
                else
#pragma unroll
                    for (int x = 0; x < LANE; ++x)
                        if (col + x < w)
                            to[x] = pixels.item[x];
            }
            to += w;
        }

        // All sums move up.
#pragma unroll
        for (int k = 0; k < P - 1 + STEP; ++k)
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                sum[k][x] = k < P - 1 ? sum[k < P - 1 ? k + STEP : 0][x] : T(0);
    }
    return odd != odd;
}

// The same: are the rows of the ring whole vectors? It begins SKIP columns early: where the image's rows are made of
// whole vectors, so is it then, but for the strips at the border that take other pixels than zeros from beyond it.
template <int P, int Q, int PITCH, int SLOTS, int STEP>
static __device__ __forceinline__ bool conv2d_register_walk(const conv2d_register_strip &my)
{
    constexpr int LANE = 16 / sizeof(T), SKIP = (LANE - (Q - 1) / 2 % LANE) % LANE;
    constexpr int WIDE = 31 + (SKIP + LANE + Q - 1 + LANE - 1) / LANE;
    const long long first = my.col - my.left - SKIP;
    if (my.w % LANE == 0 && first % LANE == 0 && (my.mode == 0 || (first >= 0 && first + WIDE * LANE <= my.w)))
        return conv2d_register_walk<P, Q, PITCH, SLOTS, STEP, true>(my);
    return conv2d_register_walk<P, Q, PITCH, SLOTS, STEP, false>(my);
}

extern "C" __global__ void __launch_bounds__(128, 3)
conv2d_register(const T *image, const T *weights, T *out, long long h, long long w, long long p, long long q,
                long long mode, long long form, long long items, long long image_step, long long weights_step)
{
    constexpr int LANE = 16 / sizeof(T), WARPS = 4, PIECE = 11, PITCH = 12, SLOTS = 8, STEP = 2;
    constexpr int WIDE = 31 + (LANE + LANE + PIECE - 1 + LANE - 1) / LANE;
    __shared__ conv2d_register_vector rings[WARPS][SLOTS * WIDE];
    __shared__ conv2d_register_vector pieces[2][PIECE * PITCH / LANE];

    // Who am I: of a strip LANE columns. The strips are as high as the grid makes them. z counts the items of a stack,
    // or more rows.
    const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * 32 + lane;
    const bool stacked = items > 1;
    const long long strips = (long long)gridDim.y * (stacked ? 1 : gridDim.z) * WARPS, high = (h + strips - 1) / strips;
    const long long block = (stacked ? 0ll : (long long)blockIdx.z * gridDim.y) + blockIdx.y;
    const long long first = (block * WARPS + warp) * high;
    if (stacked) {
        image += blockIdx.z * image_step;
        weights += blockIdx.z * weights_step;
        out += blockIdx.z * h * w;
    }
    const long long up = form ? p / 2 : (p - 1) / 2, left = form ? q / 2 : (q - 1) / 2;
    const int rows = (int)(first >= h ? 0 : h - first < high ? h - first : high);
    const long long first_col = (long long)blockIdx.x * 32 * LANE;
    // Pieces of the filter, all of one size but the last, at most PIECE each way.
    const int piece_p = (int)((p + (p + PIECE - 1) / PIECE - 1) / ((p + PIECE - 1) / PIECE));
    const int piece_q = (int)((q + (q + PIECE - 1) / PIECE - 1) / ((q + PIECE - 1) / PIECE));
    const int larger = piece_p > piece_q ? piece_p : piece_q;
    const int wide = larger <= 3 ? 3 : larger <= 5 ? 5 : piece_p <= 3 ? 11 : piece_q <= 3 ? 3 : larger | 1;
    int odd = 0, turn = 0;
#pragma unroll 1
    for (long long first_i = 0; first_i < p; first_i += piece_p) {
#pragma unroll 1
        for (long long first_j = 0; first_j < q; first_j += piece_q, turn ^= 1) {
            // Read and stage: the weights of the piece, turned as the form says; zeros beside them, and so many before
            // them that its windows begin where those of an odd filter in the middle do, if there is room: WHOLE then.
            const int before = (int)(((wide - 1) / 2 - left + first_j) & (LANE - 1));
            const int skip = before + piece_q <= wide ? before : 0;
#pragma unroll 1
            for (int k = thread; k < PIECE * PITCH; k += 32 * WARPS) {
                const int i = k / PITCH, j = k % PITCH - skip;
                const long long at = (first_i + i) * q + first_j + j;
                const bool is_in = i < piece_p && first_i + i < p && j >= 0 && j < piece_q && first_j + j < q;
                pieces[turn]->item[k] = is_in ? weights[form ? at : p * q - 1 - at] : T(0);
            }

            // The weights were written by all threads: none may read them before the last has written. And who is here
            // has done with the piece before, the weights of which the next one overwrites.
            __syncthreads();

            const conv2d_register_strip my = {image, out, h, w, mode, first, first_col, up - first_i,
                left - first_j + skip, rows, first_i + first_j > 0, rings[warp], pieces[turn]};
            if (rows == 0)
                continue;
            if (larger <= 3)
                odd = conv2d_register_walk<3, 3, PITCH, SLOTS, STEP>(my);
            else if (larger <= 5)
                odd = conv2d_register_walk<5, 5, PITCH, SLOTS, STEP>(my);
            else if (piece_p <= 3)
                odd = conv2d_register_walk<3, 11, PITCH, SLOTS, STEP>(my);
            else if (piece_q <= 3)
                odd = conv2d_register_walk<11, 3, PITCH, SLOTS, STEP>(my);
            else if (larger <= 7)
                odd = conv2d_register_walk<7, 7, PITCH, SLOTS, STEP>(my);
            else if (larger <= 9)
                odd = conv2d_register_walk<9, 9, PITCH, SLOTS, STEP>(my);
            else
                odd = conv2d_register_walk<11, 11, PITCH, SLOTS, STEP>(my);
        }
    }

    // Again, weight by weight, the pixels that are no numbers: those that a zero made so become what they are.
    if (odd)
#pragma unroll 1
        for (int r = 0; r < rows; ++r)
#pragma unroll 1
            for (long long col = first_col + lane * LANE; col < w && col < first_col + lane * LANE + LANE; ++col) {
                T *const to = out + (first + r) * w + col;
                if (*to == *to)
                    continue;
                T sum = 0;
#pragma unroll 1
                for (long long k = 0; k < p * q; ++k) {
                    const long long from_row = conv2d_register_source(first + r + k / q - up, h, mode);
                    const long long from_col = conv2d_register_source(col + k % q - left, w, mode);
                    const T weight = weights[form ? k : p * q - 1 - k];
                    if (weight != 0)
                        sum += weight * (from_row < 0 || from_col < 0 ? T(0) : image[from_row * w + from_col]);
                }
                *to = sum;
            }
}
