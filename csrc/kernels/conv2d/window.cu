// conv2d / window
//
// What     out[row][col] = sum over i, j of weight(i, j) * image[row + i - up][col + j - left]; shapes, forms and modes
//          as in conv2d/naive. For filters of up to 3 x 3: larger ones go weight by weight, as there.
// Idea     So small a filter needs no shared memory: a thread reads 16 bytes of each of its ROWS + 2 rows of the image,
//          all under way together, and its neighbours in the warp give the elements on either side by shuffles. The
//          window of each pixel then lies in registers, and the loops over the filter are unrolled: its nine weights
//          are registers too. What two blocks read of one row or column comes from L2 the second time.
//          Smaller filters are filled up with weights of zero. These must not meet infinities: pixels that end as NaN
//          are made again, without the zeros.
// Differs  from conv2d/register: no ring of rows in shared memory, and so no warp that walks.
// Claims   global.store.sectors_per_request = 16     float32; w a multiple of 128: 512 bytes in a row
//          shared.load.instructions = 0              always
//          barrier.count = 0                         always
// Length   two ways to read: by vectors inside of the image, and by elements at its edges.
// Source   sliding windows: any text on filters; shuffles: J. Luitjens, Faster Parallel Reductions on Kepler, 2014

struct alignas(16) conv2d_window_vector {
    T item[16 / sizeof(T)];
};

// Which row (or column) of the image stands at place `at` of `size`, which is not far outside; -1: none. No division.
static __device__ __forceinline__ long long conv2d_window_source(long long at, long long size, long long mode)
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

// A pixel weight by weight: of a large filter, or where a weight of zero may have met an infinity.
static __device__ __noinline__ T conv2d_window_again(const T *image, const T *weights, long long row, long long col,
                                                     long long h, long long w, long long p, long long q, long long mode,
                                                     long long form)
{
    const long long up = form ? p / 2 : (p - 1) / 2, left = form ? q / 2 : (q - 1) / 2;
    T sum = 0;
    for (long long i = 0; i < p; ++i) {
        const long long from_row = conv2d_window_source(row + i - up, h, mode);
        for (long long j = 0; j < q; ++j) {
            const long long from_col = conv2d_window_source(col + j - left, w, mode);
            const T weight = weights[form ? i * q + j : p * q - 1 - i * q - j];
            if (weight != 0)
                sum += weight * (from_row < 0 || from_col < 0 ? T(0) : image[from_row * w + from_col]);
        }
    }
    return sum;
}

// Writes the pixels of a row from `col` on that the image has, as one vector where rows are made of these.
static __device__ __forceinline__ void conv2d_window_write(const conv2d_window_vector &pixels, T *row, long long col,
                                                           long long w, bool whole)
{
    if (whole && col < w)
        *reinterpret_cast<conv2d_window_vector *>(row + col) = pixels;
    else if (!whole)
#pragma unroll
        for (int x = 0; x < (int)(16 / sizeof(T)); ++x)
            if (col + x < w)
                row[col + x] = pixels.item[x];
}

extern "C" __global__ void __launch_bounds__(128, 6)
conv2d_window(const T *image, const T *weights, T *out, long long h, long long w, long long p, long long q,
              long long mode, long long form, long long items, long long image_step, long long weights_step)
{
    constexpr int LANE = 16 / sizeof(T), ROWS = 4, WARPS = 4, SIDE = 3;

    // Who am I: LANE columns of ROWS rows. z counts the items of a stack, or more rows.
    const int lane = threadIdx.x;
    const bool stacked = items > 1;
    if (stacked) {
        image += blockIdx.z * image_step;
        weights += blockIdx.z * weights_step;
        out += blockIdx.z * h * w;
    }
    const long long block = (stacked ? 0ll : (long long)blockIdx.z * gridDim.y) + blockIdx.y;
    const long long first = (block * WARPS + threadIdx.y) * ROWS, col = ((long long)blockIdx.x * 32 + lane) * LANE;
    if (first >= h)
        return;

    // A large filter.
    const bool whole = w % LANE == 0;
    if (p > SIDE || q > SIDE) {
#pragma unroll 1
        for (long long row = first; row < first + ROWS && row < h; ++row) {
            conv2d_window_vector pixels;
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                pixels.item[x] =
                    col + x < w ? conv2d_window_again(image, weights, row, col + x, h, w, p, q, mode, form) : T(0);
            conv2d_window_write(pixels, out + row * w, col, w, whole);
        }
        return;
    }

    // Read: the weights, turned as the form says, with zeros so that the middle of the filter is that of 3 x 3.
    const int before_row = 1 - (int)(form ? p / 2 : (p - 1) / 2), before_col = 1 - (int)(form ? q / 2 : (q - 1) / 2);
    T weight[SIDE][SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; ++i)
#pragma unroll
        for (int j = 0; j < SIDE; ++j) {
            const int k = i - before_row, l = j - before_col;
            const bool is_in = k >= 0 && k < p && l >= 0 && l < q;
            const long long at = k * q + l;
            weight[i][j] = is_in ? weights[form ? at : p * q - 1 - at] : T(0);
        }

    // Read: my part of each row with a column on either side. Vectors where rows are made of them, away from the edges.
    T window[ROWS + SIDE - 1][LANE + 2];
    const long long last_col = ((long long)blockIdx.x + 1) * 32 * LANE;
    const bool inside = whole && first > 0 && first + ROWS < h && blockIdx.x > 0 && last_col < w;
    const T *const near = image + (first - 1) * w + col;
    const int side = lane == 0 ? -1 : LANE;
    if (inside) {
        // Nothing lies beyond an edge of the image: all reads follow from one address, and none waits for a test.
#pragma unroll
        for (int r = 0; r < ROWS + SIDE - 1; ++r) {
            const conv2d_window_vector read = *reinterpret_cast<const conv2d_window_vector *>(near + r * w);
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                window[r][x + 1] = read.item[x];
        }
#pragma unroll
        for (int r = 0; r < ROWS + SIDE - 1; ++r)
            window[r][0] = window[r][LANE + 1] = lane == 0 || lane == 31 ? near[r * w + side] : T(0);
    } else {
        long long place[LANE + 2]; // of the columns; -1: none
#pragma unroll
        for (int x = 0; x < LANE + 2; ++x)
            place[x] = col < w && col + x - 1 <= w ? conv2d_window_source(col + x - 1, w, mode) : -1;
#pragma unroll
        for (int r = 0; r < ROWS + SIDE - 1; ++r) {
            const long long row = first + r - 1 <= h ? conv2d_window_source(first + r - 1, h, mode) : -1;
            const T *const from = image + (row < 0 ? 0 : row * w);
#pragma unroll
            for (int x = 0; x < LANE + 2; ++x)
                window[r][x] = row >= 0 && place[x] >= 0 ? from[place[x]] : T(0);
        }
    }

    // Exchange: the columns on either side, where a neighbour has them.
    if (inside)
#pragma unroll
        for (int r = 0; r < ROWS + SIDE - 1; ++r) {
            const T left = __shfl_up_sync(0xffffffff, window[r][LANE], 1);
            const T right = __shfl_down_sync(0xffffffff, window[r][1], 1);
            window[r][0] = lane == 0 ? window[r][0] : left;
            window[r][LANE + 1] = lane == 31 ? window[r][LANE + 1] : right;
        }

    // Compute and write, row by row.
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        conv2d_window_vector pixels;
        T odd = 0; // no number any more, once a pixel is none (or infinite)
#pragma unroll
        for (int x = 0; x < LANE; ++x) {
            T sum = 0;
#pragma unroll
            for (int i = 0; i < SIDE; ++i)
#pragma unroll
                for (int j = 0; j < SIDE; ++j)
                    sum += weight[i][j] * window[r + i][x + j];
            pixels.item[x] = sum;
            odd += sum * T(0);
        }
        if (first + r >= h || col >= w)
            continue;
        if (odd != odd)
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                if (pixels.item[x] != pixels.item[x] && col + x < w)
                    pixels.item[x] = conv2d_window_again(image, weights, first + r, col + x, h, w, p, q, mode, form);
        conv2d_window_write(pixels, out + (first + r) * w, col, w, whole);
    }
}
