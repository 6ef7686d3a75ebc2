// conv2d / shared
//
// What     out[row][col] = sum over i, j of weight(i, j) * image[row + i - up][col + j - left]; shapes, forms and modes
//          as in conv2d/naive.
// Idea     Stage the part of the image that the block needs, its tile and a halo of p - 1 rows and q - 1 columns, in
//          dynamic shared memory: (ROWS + p - 1) * (COLS + q - 1) elements, as large as the filter makes it. Each is
//          read from global memory once a block, and where it comes from at a border is decided once, not p * q times.
//          A warp reads 32 neighbours of a row: no bank conflicts.
// Differs  from conv2d/naive: the tile, and blocks of 32 x 16 threads, which have less halo for their size.
// Claims   shared.load.conflicts = 0                 always
//          shared.store.conflicts = 0                always
//          global.store.sectors_per_request = 4      float32; w a multiple of 32: one row of 128 bytes
//          global.store.sectors_per_request = 8      float64; w a multiple of 32: one row of 256 bytes
// Source   V. Podlozhnyuk, Image Convolution with CUDA, 2007

extern "C" __global__ void __launch_bounds__(512, 2)
conv2d_shared(const T *image, const T *weights, T *out, long long h, long long w, long long p, long long q,
              long long mode, long long form)
{
    constexpr int ROWS = 16, COLS = 32;
    extern __shared__ T conv2d_shared_tile[];

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

    // Who am I: one pixel. The block makes ROWS x COLS of them, and its part of the image begins up and left of it.
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * ROWS;
    const long long first_col = (long long)blockIdx.x * COLS;
    const long long up = form ? p / 2 : (p - 1) / 2, left = form ? q / 2 : (q - 1) / 2;
    const int high = (int)(ROWS + p - 1), wide = (int)(COLS + q - 1);

    // Read and stage: the whole block walks over tile and halo.
    for (int r = threadIdx.y; r < high; r += ROWS) {
        const long long from_row = source(first_row + r - up, h);
#pragma unroll 1
        for (int c = threadIdx.x; c < wide; c += COLS) {
            const long long from_col = source(first_col + c - left, w);
            const bool inside = from_row >= 0 && from_col >= 0;
            const T pixel = image[inside ? from_row * w + from_col : 0];
            conv2d_shared_tile[r * wide + c] = inside ? pixel : T(0);
        }
    }

    // The tile was written by all threads: none may read it before the last has written.
    __syncthreads();

    const long long row = first_row + threadIdx.y, col = first_col + threadIdx.x;
    if (row >= h || col >= w)
        return;

    // Compute.
    T sum = 0;
    for (int i = 0; i < p; ++i)
#pragma unroll 1
        for (int j = 0; j < q; ++j) {
            const T weight = weights[form ? i * q + j : (p - 1 - i) * q + q - 1 - j];
            if (weight != 0)
                sum += weight * conv2d_shared_tile[(threadIdx.y + i) * wide + threadIdx.x + j];
        }

    // Write.
    out[row * w + col] = sum;
}
