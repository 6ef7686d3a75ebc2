// conv2d / register
//
// What     out[row][col] = sum over i, j of weight(i, j) * image[row + i - up][col + j - left]; shapes, forms and modes
//          as in conv2d/naive.
// Idea     A thread makes ROWS x 16 bytes of pixels, whose sums stay in registers. It walks down the tile and reads of
//          each row a window: 16 bytes and what the filter reaches beyond. Every weight then meets the whole window,
//          and every window serves ROWS rows of pixels: 16 bytes read from shared memory serve dozens of products,
//          where conv2d/shared reads two numbers for each.
//          Registers have no index, so the filter's columns are compiled in: there is code for 1 to 12 of them, and
//          for 5 x 5 whole; wider filters are taken by eights. Filters beyond 16 x 16 are cut into pieces, each with
//          its own tile: any size fits. Two tables, which the modes fill, say where a tile's rows and columns lie.
//          Where weights of zero meet infinities or NaN, the tile is done weight by weight, without the zeros.
// Differs  from conv2d/shared: the window and the sums in registers, the weights in shared memory, the pieces.
// Claims   shared.store.conflicts = 0                always
//          shared.load.conflicts = 0                 float32; q a multiple of 8: whole vectors of 16 bytes
//          global.store.sectors_per_request = 16     w a multiple of 128: 512 bytes in a row
// Length   it is the fast one.
// Source   sliding windows: any text on filters; register tiles: V. Volkov, Better performance at lower occupancy, 2010

struct alignas(16) conv2d_register_vector {
    T item[16 / sizeof(T)];
};

// Adds to the sums what Q columns of the filter make, p rows of it (P, where that is compiled in too: not 0). `window`
// begins at the thread's first pixel, moved on to the first of the columns; `weights` at the first of these. Pitches
// count vectors. It takes two rows of the tile at a time, so that a weight serves both.
template <int Q, int P, int WEIGHTS_PITCH, int ROWS, int LANE>
static __device__ __forceinline__ void
conv2d_register_add(const conv2d_register_vector *window, int window_pitch, const conv2d_register_vector *weights,
                    int p, T (&sum)[ROWS][LANE])
{
    constexpr int REACH = (Q - 1 + LANE - 1) / LANE + 1, DEEP = (Q + LANE - 1) / LANE;
    const int high = P > 0 ? P : p;
#pragma unroll(P > 0 ? ROWS + P : 1)
    for (int row = 0; row < ROWS + high - 1; row += 2, window += 2 * window_pitch, weights += 2 * WEIGHTS_PITCH) {
        conv2d_register_vector pixel[2][REACH] = {};
#pragma unroll
        for (int a = 0; a < REACH; ++a)
            pixel[0][a] = window[a];
        if (row + 1 < ROWS + high - 1)
#pragma unroll
            for (int a = 0; a < REACH; ++a)
                pixel[1][a] = window[window_pitch + a];
#pragma unroll
        for (int r = 0; r <= ROWS; ++r) {
            const int i = row + 1 - r; // the filter's row that lies on the second row, for row r of the pixels
            if (unsigned(i) < unsigned(high)) {
                conv2d_register_vector weight[DEEP];
#pragma unroll
                for (int d = 0; d < DEEP; ++d)
                    weight[d] = weights[(1 - r) * WEIGHTS_PITCH + d];
#pragma unroll
                for (int k = 0; k < Q * LANE; ++k) {
                    const int j = k / LANE, x = k % LANE, a = (x + j) / LANE, b = (x + j) % LANE;
                    if (r > 0)
                        sum[r > 0 ? r - 1 : 0][x] += weight[j / LANE].item[j % LANE] * pixel[0][a].item[b];
                    if (r < ROWS)
                        sum[r < ROWS ? r : 0][x] += weight[j / LANE].item[j % LANE] * pixel[1][a].item[b];
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 3)
conv2d_register(const T *image, const T *weights, T *out, long long h, long long w, long long p, long long q,
                long long mode, long long form)
{
    constexpr int LANE = 16 / sizeof(T), ROWS = 32 / sizeof(T), WARPS = 8, THREADS = 32 * WARPS;
    constexpr int HIGH = WARPS * ROWS, WIDE = 32 * LANE, PIECE = 16, SLOTS = (HIGH + PIECE - 1 + WARPS - 1) / WARPS;
    constexpr long long OUTSIDE = -(1ll << 60); // what is added to it stays negative
    extern __shared__ conv2d_register_vector conv2d_register_tile[];
    __shared__ long long source_row[SLOTS * WARPS], source_col[WIDE + PIECE];
    __shared__ conv2d_register_vector pieces[PIECE * PIECE / LANE];
    __shared__ unsigned odd; // 1: a weight of zero was seen, 2: a pixel that is infinite or no number

    // Where a row (or column) of the image begins that stands at place `at` of `size`; they are `step` apart.
    const auto source = [mode](long long at, long long size, long long step) {
        const long long period = mode == 1 ? 2 * size : size;
        if (at < 0 || at >= size) {
            if (mode == 0)
                return OUTSIDE;
            at = mode == 2 ? (at < 0 ? 0 : size - 1) : (at % period + period) % period;
            at = at < size ? at : period - 1 - at;
        }
        return at * step;
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
    T *const tile = conv2d_register_tile->item, *const piece = pieces->item;
    const T *const first = tile + warp * ROWS * pitch + lane * LANE; // of the thread's pixels
    const auto *const window = conv2d_register_tile + (warp * ROWS * pitch / LANE + lane);

    if (thread == 0)
        odd = 0;
    T sum[ROWS][LANE] = {};
#pragma unroll 1
    for (long long first_i = 0; first_i < p; first_i += piece_p) {
#pragma unroll 1
        for (long long first_j = 0; first_j < q; first_j += piece_q) {
            const int here_p = (int)(p - first_i < piece_p ? p - first_i : piece_p);
            const int here_q = (int)(q - first_j < piece_q ? q - first_j : piece_q);

            // Read and stage: where rows and columns of the tile come from.
#pragma unroll 1
            for (int r = thread; r < SLOTS * WARPS; r += THREADS)
                source_row[r] = r < high ? source(first_row + r + first_i - up, h, w) : OUTSIDE;
#pragma unroll 1
            for (int c = thread; c < pitch; c += THREADS)
                source_col[c] = source(first_col + c + first_j - left, w, 1);

            // Both tables were written by all threads: none may read them before the last has written. And no thread
            // may overwrite tile and weights of the former piece before the last has read them.
            __syncthreads();

            // Read and stage: the weights of the piece, turned as the form says; one a thread.
            const int i = thread / PIECE, j = thread % PIECE;
            const long long at = (first_i + i) * q + first_j + j;
            const T weight = i < here_p && j < here_q ? weights[form ? at : p * q - 1 - at] : T(1);
            piece[thread] = weight;

            // Read and stage: the tile. A warp keeps to its rows, whose beginnings are in registers; of a column all
            // are read before the first is stored, so that many loads are under way. Zeros stand for what is outside.
            long long begin[SLOTS];
#pragma unroll
            for (int k = 0; k < SLOTS; ++k)
                begin[k] = source_row[warp + k * WARPS];
            T *place = tile + warp * pitch + lane;
            T finite = 0; // zero times anything finite is zero
#pragma unroll 1
            for (int c = lane; c < pitch; c += 32, place += 32) {
                const long long from_col = source_col[c];
                T pixel[SLOTS];
#pragma unroll
                for (int k = 0; k < SLOTS; ++k) {
                    const long long from = begin[k] + from_col;
                    pixel[k] = from < 0 ? T(0) : image[from];
                }
#pragma unroll
                for (int k = 0; k < SLOTS; ++k) {
                    finite += 0 * pixel[k];
                    if (warp + k * WARPS < high)
                        place[k * WARPS * pitch] = pixel[k];
                }
            }
            if (weight == 0 || finite != 0)
                atomicOr(&odd, (weight == 0 ? 1u : 0u) | (finite != 0 ? 2u : 0u));

            // Tile and weights were written by all threads: none may read them before the last has written.
            __syncthreads();

            // Compute. Weights of zero that meet infinities or NaN are left out one by one; else whole windows.
            if (odd == 3) {
#pragma unroll 1
                for (int k = 0; k < here_p * here_q; ++k) {
                    const int row = k / here_q, col = k % here_q;
                    if (piece[row * PIECE + col] != 0)
#pragma unroll
                        for (int r = 0; r < ROWS; ++r)
#pragma unroll
                            for (int x = 0; x < LANE; ++x)
                                sum[r][x] += piece[row * PIECE + col] * first[(r + row) * pitch + x + col];
                }
            } else {
                int taken = 0;
                for (int k = 0; k < here_q; k += taken) {
                    const conv2d_register_vector *const from = window + k / LANE, *const by = pieces + k / LANE;
                    taken = here_q - k <= 12 ? here_q - k : 8;
                    switch (here_p == 5 && here_q == 5 ? 0 : taken) {
                    case 0: conv2d_register_add<5, 5, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 1: conv2d_register_add<1, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 2: conv2d_register_add<2, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 3: conv2d_register_add<3, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 4: conv2d_register_add<4, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 5: conv2d_register_add<5, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 6: conv2d_register_add<6, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 7: conv2d_register_add<7, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 8: conv2d_register_add<8, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 9: conv2d_register_add<9, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 10: conv2d_register_add<10, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 11: conv2d_register_add<11, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    case 12: conv2d_register_add<12, 0, PIECE / LANE>(from, pitch / LANE, by, here_p, sum); break;
                    }
                }
            }
        }
    }

    // Write: 16 bytes where rows of out are made of them, else pixel by pixel.
    const long long col = first_col + lane * LANE;
    if (w % LANE == 0) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const long long row = first_row + warp * ROWS + r;
            conv2d_register_vector pixels;
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                pixels.item[x] = sum[r][x];
            if (row < h && col < w)
                reinterpret_cast<conv2d_register_vector *>(out + row * w)[col / LANE] = pixels;
        }
    } else {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const long long row = first_row + warp * ROWS + r;
#pragma unroll
            for (int x = 0; x < LANE; ++x)
                if (row < h && col + x < w)
                    out[row * w + col + x] = sum[r][x];
        }
    }
}
