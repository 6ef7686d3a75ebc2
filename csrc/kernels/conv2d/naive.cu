// conv2d / naive
//
// What     out[row][col] = sum over i, j of weight(i, j) * image[row + i - up][col + j - left]; image and out are
//          (h, w), weights (p, q), row-major. form 0 convolves: the weights are turned by 180 degrees,
//          up = (p - 1) / 2, left = (q - 1) / 2. form 1 correlates: they are as they are, up = p / 2, left = q / 2.
//          mode says what lies outside a row a b c: 0 constant 0 0|a b c|0 0, 1 reflect b a|a b c|c b,
//          2 nearest a a|a b c|c c, 3 wrap b c|a b c|a b; columns likewise.
//          A weight of zero is left out, so that it makes no NaN of an infinity. (SciPy leaves out all up to 2.2e-16.)
// Idea     One thread makes one pixel and reads its p * q neighbours straight from global memory. x walks along a row:
//          a warp reads 32 neighbours, and the L1 cache serves the p * q - 1 reads that meet the same pixels again.
// Differs  from nothing: the ladder starts here.
// Claims   global.store.sectors_per_request = 4      float32; w a multiple of 32: one row of 128 bytes
//          global.store.sectors_per_request = 8      float64; w a multiple of 32: one row of 256 bytes
//          barrier.count = 0                         always
// Source   the definition of the convolution; modes and centre as scipy.ndimage defines them

extern "C" __global__ void __launch_bounds__(256)
conv2d_naive(const T *image, const T *weights, T *out, long long h, long long w, long long p, long long q,
             long long mode, long long form)
{
    constexpr int ROWS = 8, COLS = 32;

    // Which row (or column) of the image stands at place `at` of `size`; -1: none.
    const auto source = [mode](long long at, long long size) {
        if (at >= 0 && at < size)
            return at;
        if (mode == 0)
            return -1ll;
        if (mode == 2)
            return at < 0 ? 0 : size - 1;
        const long long period = mode == 1 ? 2 * size : size;
        at = (at % period + period) % period;
        return at < size ? at : period - 1 - at;
    };

    // Who am I: one pixel.
    const long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * ROWS + threadIdx.y;
    const long long col = (long long)blockIdx.x * COLS + threadIdx.x;
    if (row >= h || col >= w)
        return;

    // Read and compute.
    const long long up = form ? p / 2 : (p - 1) / 2, left = form ? q / 2 : (q - 1) / 2;
    T sum = 0;
    for (long long i = 0; i < p; ++i) {
        const long long from_row = source(row + i - up, h);
#pragma unroll 1
        for (long long j = 0; j < q; ++j) {
            const long long from_col = source(col + j - left, w);
            const T weight = weights[form ? i * q + j : (p - 1 - i) * q + q - 1 - j];
            const bool inside = from_row >= 0 && from_col >= 0;
            const T pixel = image[inside ? from_row * w + from_col : 0];
            if (weight != 0)
                sum += weight * (inside ? pixel : T(0));
        }
    }

    // Write.
    out[row * w + col] = sum;
}
