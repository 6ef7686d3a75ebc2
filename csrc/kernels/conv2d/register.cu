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
//          shared.load.conflicts = 0                 p, q multiples of 9: the windows are whole vectors
//          global.store.sectors_per_request = 16     w a multiple of 128: 512 bytes in a row
// Length   it is the fast one.
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

// Which row (or column) of the image stands at place `at` of `size`; -1: none.
static __device__ __forceinline__ long long conv2d_register_source(long long at, long long size, long long mode)
{
    if (at >= 0 && at < size)
        return at;
    if (mode == 0)
        return -1;
    if (mode == 2)
        return at < 0 ? 0 : size - 1;
    const long long period = mode == 1 ? 2 * size : size;
    at = (at % period + period) % period;
    return at < size ? at : period - 1 - at;
}

// Filters of P rows and Q columns, whose weights lie PITCH apart. True: one of this thread's sums is no number.
template <int P, int Q, int PITCH, int SLOTS, int STEP>
static __device__ __forceinline__ bool conv2d_register_walk(const conv2d_register_strip &my)
{
    constexpr int LANE = 16 / sizeof(T), SKIP = (LANE - (Q - 1) / 2 % LANE) % LANE;
    constexpr int REACH = (SKIP + LANE + Q - 1 + LANE - 1) / LANE, DEEP = (Q + LANE - 1) / LANE;
    constexpr int WIDE = 31 + REACH, COPIES = (WIDE * LANE + 31) / 32;
    const int lane = threadIdx.x, ends = my.rows + P - 1;

    // The ring begins SKIP columns early: where the image's rows are made of whole vectors, so is it then, but for the
    // strips at the border that take other pixels than zeros from beyond it.
    const long long first = my.col - my.left - SKIP;
    const bool whole = my.w % LANE == 0 && first % LANE == 0 &&
                       (my.mode == 0 || (first >= 0 && first + WIDE * LANE <= my.w));

    // Where the vectors (or elements) of a row come from that this lane copies, every 32nd; for none come zeros.
    const T *from[COPIES];
    bool inside[COPIES];
#pragma unroll
    for (int k = 0; k < COPIES; ++k) {
        const long long col = conv2d_register_source(first + (lane + k * 32) * (whole ? LANE : 1), my.w, my.mode);
        inside[k] = col >= 0;
        from[k] = my.image + (inside[k] ? col : 0);
    }
    const unsigned ring = (unsigned)__cvta_generic_to_shared(my.ring);

    // Start the copies of STEP rows; they are one group. Behind the end the group is empty.
    const auto start = [&](int next) {
#pragma unroll
        for (int t = 0; t < STEP; ++t) {
            if (next + t >= ends)
                break;
            const long long row = conv2d_register_source(my.row - my.up + next + t, my.h, my.mode);
            const long long begin = row < 0 ? 0 : row * my.w;
            const unsigned slot = ring + (next + t) % SLOTS * WIDE * 16;
            if (whole) {
#pragma unroll
                for (int k = 0; k * 32 < WIDE; ++k)
                    if (k * 32 + 32 <= WIDE || lane + k * 32 < WIDE)
                        asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::
                                     "r"(slot + (lane + k * 32) * 16), "l"(from[k] + begin),
                                     "r"(row >= 0 && inside[k] ? 16 : 0) : "memory");
            } else {
#pragma unroll
                for (int k = 0; k < COPIES; ++k)
                    if (k * 32 + 32 <= WIDE * LANE || lane + k * 32 < WIDE * LANE)
                        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                                     "r"(slot + (lane + k * 32) * (unsigned)sizeof(T)), "l"(from[k] + begin),
                                     "n"(sizeof(T)), "r"(row >= 0 && inside[k] ? (int)sizeof(T) : 0) : "memory");
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    T sum[P - 1 + STEP][LANE] = {};
    bool odd = false;
    const long long col = my.col + lane * LANE;
#pragma unroll 1
    for (int row = STEP - SLOTS; row < ends; row += STEP) {
        // Wait until no more than SLOTS / STEP - 2 of my groups are under way: that of these rows is not one of them.
        asm volatile("cp.async.wait_group %0;" ::"n"(SLOTS / STEP - 2) : "memory");

        // The rows were copied by the whole warp: no lane may read before the last has waited for its part. And the
        // rows before were read by all: none may start to overwrite them before the last has read.
        __syncwarp();
        start(row + SLOTS - STEP);
        if (row < 0)
            continue;

        // Read: the windows. (The compiler reads no more of a vector than is needed, 8 bytes of 16 perhaps: these count
        // as conflicts, but take as long as the whole vector would.)
        conv2d_register_vector window[STEP][REACH];
#pragma unroll
        for (int t = 0; t < STEP; ++t)
#pragma unroll
            for (int a = 0; a < REACH; ++a)
                window[t][a] = my.ring[(row + t) % SLOTS * WIDE + lane + a];

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
            const int done = row + t - (P - 1);
            if (done >= 0 && done < my.rows) {
                T *const to = my.out + (my.row + done) * my.w + col;
                if (my.w % LANE != 0) {
#pragma unroll
                    for (int x = 0; x < LANE; ++x)
                        if (col + x < my.w) {
                            const T pixel = sum[t][x] + (my.adds ? to[x] : T(0));
                            odd |= pixel != pixel;
                            to[x] = pixel;
                        }
                } else if (col < my.w) {
                    conv2d_register_vector pixels = {};
                    if (my.adds)
                        pixels = *reinterpret_cast<conv2d_register_vector *>(to);
#pragma unroll
                    for (int x = 0; x < LANE; ++x) {
                        pixels.item[x] += sum[t][x];
                        odd |= pixels.item[x] != pixels.item[x];
                    }
                    *reinterpret_cast<conv2d_register_vector *>(to) = pixels;
                }
            }
        }

        // All sums move up.
#pragma unroll
        for (int k = 0; k < P - 1 + STEP; ++k)
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                sum[k][x] = k < P - 1 ? sum[k < P - 1 ? k + STEP : 0][x] : T(0);
    }
    return odd;
}

extern "C" __global__ void __launch_bounds__(128, 3)
conv2d_register(const T *image, const T *weights, T *out, long long h, long long w, long long p, long long q,
                long long mode, long long form)
{
    constexpr int LANE = 16 / sizeof(T), WARPS = 4, PIECE = 11, PITCH = 12, SLOTS = 8, STEP = 2;
    constexpr int WIDE = 31 + (LANE + LANE + PIECE - 1 + LANE - 1) / LANE;
    __shared__ conv2d_register_vector rings[WARPS][SLOTS * WIDE];
    __shared__ conv2d_register_vector pieces[2][PIECE * PITCH / LANE];

    // Who am I: of a strip LANE columns. The strips are as high as the grid makes them.
    const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * 32 + lane;
    const long long strips = (long long)gridDim.y * gridDim.z * WARPS, high = (h + strips - 1) / strips;
    const long long first = (((long long)blockIdx.z * gridDim.y + blockIdx.y) * WARPS + warp) * high;
    const long long up = form ? p / 2 : (p - 1) / 2, left = form ? q / 2 : (q - 1) / 2;
    const int rows = (int)(first >= h ? 0 : h - first < high ? h - first : high);
    const long long first_col = (long long)blockIdx.x * 32 * LANE;

    // Pieces of the filter, all of one size but the last, at most PIECE each way.
    const int piece_p = (int)((p + (p + PIECE - 1) / PIECE - 1) / ((p + PIECE - 1) / PIECE));
    const int piece_q = (int)((q + (q + PIECE - 1) / PIECE - 1) / ((q + PIECE - 1) / PIECE));
    bool odd = false;
    int turn = 0;
#pragma unroll 1
    for (long long first_i = 0; first_i < p; first_i += piece_p) {
#pragma unroll 1
        for (long long first_j = 0; first_j < q; first_j += piece_q, turn ^= 1) {
            // Read and stage: the weights of the piece, turned as the form says; zeros beside them.
#pragma unroll 1
            for (int k = thread; k < PIECE * PITCH; k += 32 * WARPS) {
                const int i = k / PITCH, j = k % PITCH;
                const long long at = (first_i + i) * q + first_j + j;
                const bool inside = i < piece_p && first_i + i < p && j < piece_q && first_j + j < q;
                pieces[turn]->item[k] = inside ? weights[form ? at : p * q - 1 - at] : T(0);
            }

            // The weights were written by all threads: none may read them before the last has written. And who is here
            // has done with the piece before, the weights of which the next one overwrites.
            __syncthreads();

            const conv2d_register_strip my = {image, out, h, w, mode, first, first_col, up - first_i, left - first_j,
                                              rows, first_i + first_j > 0, rings[warp], pieces[turn]};
            if (rows == 0)
                continue;
            if (piece_p <= 3 && piece_q <= 3)
                odd = conv2d_register_walk<3, 3, PITCH, SLOTS, STEP>(my);
            else if (piece_p <= 5 && piece_q <= 5)
                odd = conv2d_register_walk<5, 5, PITCH, SLOTS, STEP>(my);
            else if (piece_p <= 3)
                odd = conv2d_register_walk<3, 11, PITCH, SLOTS, STEP>(my);
            else if (piece_q <= 3)
                odd = conv2d_register_walk<11, 3, PITCH, SLOTS, STEP>(my);
            else if (piece_p <= 7 && piece_q <= 7)
                odd = conv2d_register_walk<7, 7, PITCH, SLOTS, STEP>(my);
            else if (piece_p <= 9 && piece_q <= 9)
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
