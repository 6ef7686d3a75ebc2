// conv2d / constant
//
// What     out[row][col] = sum over i, j of weight(i, j) * image[row + i - up][col + j - left]; shapes, forms and modes
//          as in conv2d/naive.
// Idea     The weights lie in constant memory, copied there before the launch. All lanes of a warp want the same weight
//          at a time: that is what the constant cache serves at once, and the global loads are left to the image.
//          Constant memory holds 64 KB for both element types together: 8192 float32 weights, 4096 float64.
// Differs  from conv2d/naive: where the weights are read.
// Claims   global.store.sectors_per_request = 4      float32; w a multiple of 32: one row of 128 bytes
//          global.store.sectors_per_request = 8      float64; w a multiple of 32: one row of 256 bytes
//          barrier.count = 0                         always
// Source   V. Podlozhnyuk, Image Convolution with CUDA, 2007

__constant__ T conv2d_constant_weights[32768 / sizeof(T)];

extern "C" __global__ void __launch_bounds__(256)
conv2d_constant(const T *image, const T *, T *out, long long h, long long w, long long p, long long q,
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
            const T weight = conv2d_constant_weights[form ? i * q + j : (p - 1 - i) * q + q - 1 - j];
            const bool inside = from_row >= 0 && from_col >= 0;
            const T pixel = image[inside ? from_row * w + from_col : 0];
            if (weight != 0)
                sum += weight * (inside ? pixel : T(0));
        }
    }

    // Write.
    out[row * w + col] = sum;
}
