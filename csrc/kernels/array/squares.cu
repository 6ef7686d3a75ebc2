// array / squares
//
// What     to[...] = from[...] for arrays of one shape that are contiguous along different axes: the source along the
//          last but one of the layout, the target along the last; other strides are multiples of a vector.
// Idea     All accesses are vectors: a thread reads a small square by rows of the source, turns it in registers, where
//          that costs nothing but names, and stages its columns as vectors. Places in a row of the tile are swizzled by
//          vectors. The place of the tile along the other axes is found once a block.
// Differs  from array/tiles: the squares and vectors of transpose/vectorized; and blocks follow each other along the
//          target's axis, so those that run together write long runs.
// Claims   global.load.sectors_per_request = 16      bits32; a copy of turned squares
//          global.store.sectors_per_request = 16     bits32; a copy of turned squares
//          shared.store.conflicts = 0                bits32; a copy of turned squares
//          shared.load.conflicts = 0                 bits32; a copy of turned squares
// Length   a path by element for tiles that an edge cuts, beside that by vectors.
// Source   vector loads: NVIDIA's Pro Tip on vectorized memory access; turning small squares in registers is common

constexpr int array_squares_axes = 8; // as many as py/arrays/strided_copy.c passes

struct array_squares_layout {
    long long length[array_squares_axes], to[array_squares_axes], from[array_squares_axes]; // strides in elements
    int rank;
};

// `across` tiles lie along the source's axis, `down` along the target's.
extern "C" __global__ void __launch_bounds__(256)
array_squares(T *to, const T *from, unsigned across, unsigned down, const array_squares_layout layout)
{
    constexpr int THREADS = 256;
    constexpr int TILE = sizeof(T) == 1 ? 128 : sizeof(T) == 16 ? 32 : 64; // a row fills the 32 banks at least once
    constexpr int VECTOR = sizeof(T) < 8 ? 4 : 16 / sizeof(T);             // elements: 4, 8 or 16 bytes
    constexpr int SIDE = TILE / VECTOR;            // squares of VECTOR x VECTOR along a side of the tile
    constexpr int SQUARES = SIDE * SIDE / THREADS; // of a thread
    struct alignas(VECTOR * sizeof(T)) Vector {
        T item[VECTOR];
    };
    __shared__ Vector tile[TILE][SIDE]; // as the target has it: a row for each place along the source's axis

    // Which tile: the number of the block is divided by the numbers of tiles, then by the lengths of the other axes.
    const int thread = threadIdx.x;
    const unsigned column = blockIdx.x / down;
    const long long first_row = (long long)(blockIdx.x - column * down) * TILE;
    unsigned rest = column / across;
    const long long first_col = (long long)(column - rest * across) * TILE;
    long long target = 0, source = 0;
#pragma unroll
    for (int k = 2; k < array_squares_axes; ++k) {
        const int axis = layout.rank - 1 - k;
        if (axis >= 0) {
            const unsigned length = (unsigned)layout.length[axis], next = rest / length, place = rest - next * length;
            target += (long long)place * layout.to[axis];
            source += (long long)place * layout.from[axis];
            rest = next;
        }
    }
    const int wide = layout.rank - 2, high = layout.rank - 1;
    const long long width = layout.length[wide], height = layout.length[high];
    const long long source_row = layout.from[high], target_row = layout.to[wide];
    from += source + first_row * source_row + first_col;
    to += target + first_col * target_row + first_row;
    const bool whole = first_row + TILE <= height && first_col + TILE <= width;

    if (whole) {
        // Read: VECTOR rows of each of my squares, all under way together.
        Vector square[SQUARES][VECTOR];
#pragma unroll
        for (int k = 0; k < SQUARES; ++k) {
            const int row = (thread + k * THREADS) / SIDE, right = (thread + k * THREADS) % SIDE;
#pragma unroll
            for (int i = 0; i < VECTOR; ++i)
                square[k][i] = *(const Vector *)(from + (row * VECTOR + i) * source_row + right * VECTOR);
        }

        // Turn and stage: column j of a square is a vector of row j of the turned one.
#pragma unroll
        for (int k = 0; k < SQUARES; ++k) {
            const int row = (thread + k * THREADS) / SIDE, right = (thread + k * THREADS) % SIDE;
#pragma unroll
            for (int j = 0; j < VECTOR; ++j) {
                Vector turned;
#pragma unroll
                for (int i = 0; i < VECTOR; ++i)
                    turned.item[i] = square[k][i].item[j];
                tile[right * VECTOR + j][row ^ right] = turned;
            }
        }
    } else {
        // Read and stage by element, to the same places.
        for (int k = 0; k < TILE * TILE / THREADS; ++k) {
            const int row = (thread + k * THREADS) / TILE, col = (thread + k * THREADS) % TILE;
            if (first_row + row < height && first_col + col < width)
                tile[col][row / VECTOR ^ col / VECTOR].item[row % VECTOR] = from[row * source_row + col];
        }
    }

    // Each thread will read what others wrote: none may read the tile before the last has written.
    __syncthreads();

    if (whole) {
        // Write: along the target's axis.
#pragma unroll
        for (int k = 0; k < TILE * SIDE / THREADS; ++k) {
            const int row = (thread + k * THREADS) / SIDE, right = (thread + k * THREADS) % SIDE;
            *(Vector *)(to + row * target_row + right * VECTOR) = tile[row][right ^ row / VECTOR];
        }
    } else {
        // Write by element.
        for (int k = 0; k < TILE * TILE / THREADS; ++k) {
            const int row = (thread + k * THREADS) / TILE, col = (thread + k * THREADS) % TILE;
            if (first_col + row < width && first_row + col < height)
                to[row * target_row + col] = tile[row][col / VECTOR ^ row / VECTOR].item[col % VECTOR];
        }
    }
}
