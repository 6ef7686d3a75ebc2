// conv2d / register
//
// What     out[row][col] = sum over i, j of weight(i, j) * image[row + i - up][col + j - left]; shapes, forms and modes
//          as in conv2d/naive.
// Idea     A thread makes ROWS x 16 bytes of pixels, whose sums stay in registers. It walks down the tile and reads of
//          each row a window: 16 bytes and what the filter reaches beyond. Every weight then meets the whole window,
//          and every window serves ROWS rows of pixels: 16 bytes read from shared memory serve dozens of products,
//          where conv2d/shared reads two numbers for each.
//          Registers have no index, so the filter's columns are compiled in: there is code for 1 to 8 of them, and
//          wider filters are taken by eights. Filters beyond 16 x 16 are cut into pieces, each with its own tile:
//          any size fits. Two small tables, which the modes fill, say where a tile's rows and columns come from.
//          Where weights of zero meet infinities or NaN, the tile is done weight by weight, without the zeros.
// Differs  from conv2d/shared: the window and the sums in registers, the weights in shared memory, the pieces.
// Claims   shared.store.conflicts = 0                always
//          shared.load.conflicts = 0                 float32; q a multiple of 8: whole vectors of 16 bytes
//          global.store.sectors_per_request = 16     w a multiple of 128: 512 bytes in a row
// Length   it is the fast one.
// Source   sliding windows: any text on filters; register tiles: V. Volkov, Better performance at lower occupancy, 2010

// Adds to the sums what Q columns of the filter make of it. `window` begins at the thread's first pixel, moved to the
// first of the columns; `weights` at the first of them too. Rows of both are so far apart, and begin at 16 bytes.
template <int Q, int ROWS, int LANE>
static __device__ __forceinline__ void
conv2d_register_add(const T *window, int window_pitch, const T *weights, int weights_pitch, int p, T (&sum)[ROWS][LANE])
{
    struct alignas(16) Vector {
        T item[LANE];
    };
    constexpr int REACH = (Q - 1 + LANE - 1) / LANE + 1, DEEP = (Q + LANE - 1) / LANE;
#pragma unroll 1
    for (int row = 0; row < ROWS + p - 1; ++row, window += window_pitch, weights += weights_pitch) {
        Vector pixel[REACH];
#pragma unroll
        for (int a = 0; a < REACH; ++a)
            pixel[a] = *reinterpret_cast<const Vector *>(window + a * LANE);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = row - r; // the row of the filter that lies on this row, for row r of the pixels
            if (unsigned(i) < unsigned(p)) {
                Vector weight[DEEP];
#pragma unroll
                for (int d = 0; d < DEEP; ++d)
                    weight[d] = *reinterpret_cast<const Vector *>(weights - r * weights_pitch + d * LANE);
#pragma unroll
                for (int j = 0; j < Q; ++j)
#pragma unroll
                    for (int x = 0; x < LANE; ++x)
                        sum[r][x] += weight[j / LANE].item[j % LANE] * pixel[(x + j) / LANE].item[(x + j) % LANE];
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 3)
conv2d_register(const T *image, const T *weights, T *out, long long h, long long w, long long p, long long q,
                long long mode, long long form)
{
    constexpr int LANE = 16 / sizeof(T), ROWS = 32 / sizeof(T), WARPS = 8, THREADS = 32 * WARPS;
    constexpr int HIGH = WARPS * ROWS, WIDE = 32 * LANE, PIECE = 16;
    struct alignas(16) Vector {
        T item[LANE];
    };
    extern __shared__ Vector conv2d_register_memory[];
    __shared__ long long source_row[HIGH + PIECE - 1], source_col[WIDE + PIECE];
    __shared__ unsigned odd;

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

    // Who am I: LANE pixels of a row, and those of the ROWS - 1 rows below. The block makes HIGH x WIDE pixels.
    const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * 32 + lane;
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * HIGH;
    const long long first_col = (long long)blockIdx.x * WIDE;
    const long long up = form ? p / 2 : (p - 1) / 2, left = form ? q / 2 : (q - 1) / 2;

    // Pieces of the filter, all of one size but the last, at most PIECE each way. Rows of tiles begin at 16 bytes.
    const int piece_p = (int)((p + (p + PIECE - 1) / PIECE - 1) / ((p + PIECE - 1) / PIECE));
    const int piece_q = (int)((q + (q + PIECE - 1) / PIECE - 1) / ((q + PIECE - 1) / PIECE));
    const int high = HIGH + piece_p - 1, pitch = WIDE + (piece_q - 1 + LANE - 1) / LANE * LANE;
    const int weights_pitch = (piece_q + LANE - 1) / LANE * LANE;
    T *const tile = conv2d_register_memory->item, *const tile_weights = tile + high * pitch;
    const T *const window = tile + warp * ROWS * pitch + lane * LANE;

    T sum[ROWS][LANE] = {};
    for (long long first_i = 0; first_i < p; first_i += piece_p) {
        for (long long first_j = 0; first_j < q; first_j += piece_q) {
            const int here_p = (int)(p - first_i < piece_p ? p - first_i : piece_p);
            const int here_q = (int)(q - first_j < piece_q ? q - first_j : piece_q);

            // Read and stage: where rows and columns of the tile come from, and the weights, turned as the form says.
            unsigned seen = 0;
            if (thread == 0)
                odd = 0;
            for (int r = thread; r < high; r += THREADS) {
                const long long from = source(first_row + r + first_i - up, h);
                source_row[r] = from < 0 ? -1 : from * w;
            }
            for (int c = thread; c < pitch; c += THREADS)
                source_col[c] = source(first_col + c + first_j - left, w);
            for (int k = thread; k < piece_p * weights_pitch; k += THREADS) {
                const int i = k / weights_pitch, j = k % weights_pitch;
                const long long at = (first_i + i) * q + first_j + j;
                const bool inside = i < here_p && j < here_q;
                const T read = weights[inside ? (form ? at : p * q - 1 - at) : 0];
                const T weight = inside ? read : T(1);
                seen |= weight == 0 ? 1u : 0u;
                tile_weights[k] = weight;
            }

            // Both tables were written by all threads: none may read them before the last has written.
            __syncthreads();

            // Read and stage: the tile. A lane keeps to its columns, a warp to its rows.
            for (int c = lane; c < pitch; c += 32) {
                const long long from_col = source_col[c];
#pragma unroll 4
                for (int r = warp; r < high; r += WARPS) {
                    const long long from_row = source_row[r];
                    const bool inside = (from_row | from_col) >= 0;
                    const T read = image[inside ? from_row + from_col : 0];
                    const T pixel = inside ? read : T(0);
                    seen |= pixel - pixel != 0 ? 2u : 0u;
                    tile[r * pitch + c] = pixel;
                }
            }
            if (seen != 0)
                atomicOr(&odd, seen);

            // Tile and weights were written by all threads: none may read them before the last has written.
            __syncthreads();

            // Compute. Weights of zero that meet infinities or NaN are left out one by one; else whole windows.
            if (odd == 3) {
                for (int i = 0; i < here_p; ++i)
                    for (int j = 0; j < here_q; ++j)
                        if (const T weight = tile_weights[i * weights_pitch + j]; weight != 0)
#pragma unroll
                            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                                for (int x = 0; x < LANE; ++x)
                                    sum[r][x] += weight * window[(r + i) * pitch + x + j];
            } else {
                for (int j = 0; j < here_q; j += 8) {
                    const T *const from = window + j, *const by = tile_weights + j;
                    switch (here_q - j) {
                    case 1: conv2d_register_add<1>(from, pitch, by, weights_pitch, here_p, sum); break;
                    case 2: conv2d_register_add<2>(from, pitch, by, weights_pitch, here_p, sum); break;
                    case 3: conv2d_register_add<3>(from, pitch, by, weights_pitch, here_p, sum); break;
                    case 4: conv2d_register_add<4>(from, pitch, by, weights_pitch, here_p, sum); break;
                    case 5: conv2d_register_add<5>(from, pitch, by, weights_pitch, here_p, sum); break;
                    case 6: conv2d_register_add<6>(from, pitch, by, weights_pitch, here_p, sum); break;
                    case 7: conv2d_register_add<7>(from, pitch, by, weights_pitch, here_p, sum); break;
                    default: conv2d_register_add<8>(from, pitch, by, weights_pitch, here_p, sum);
                    }
                }
            }

            // Tile, tables and weights are read by all threads: none may overwrite them in the next piece before the
            // last has read.
            __syncthreads();
        }
    }

    // Write: 16 bytes where rows of out are made of them, else pixel by pixel.
    const long long col = first_col + lane * LANE;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const long long row = first_row + warp * ROWS + r;
        if (row < h && col < w && w % LANE == 0) {
            Vector pixels;
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                pixels.item[x] = sum[r][x];
            reinterpret_cast<Vector *>(out + row * w)[col / LANE] = pixels;
        } else if (row < h) {
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                if (col + x < w)
                    out[row * w + col + x] = sum[r][x];
        }
    }
}
