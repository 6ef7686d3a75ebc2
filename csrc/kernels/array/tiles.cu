// array / tiles
//
// What     to[...] = from[...] for arrays of one shape that are contiguous along different axes: the source along the
//          last but one of the layout, the target along the last.
// Idea     A block moves a square through shared memory: it reads along the source's axis and writes along the
//          target's, so that both accesses are coalesced. The place of the square along the other axes is found once a
//          block.
// Differs  from array/copy: the tile, as in transpose/padded.
// Claims   global.load.sectors_per_request = 4       bits32; a transposed copy
//          global.store.sectors_per_request = 4      bits32; a transposed copy
//          shared.store.conflicts = 0                bits32; a transposed copy
//          shared.load.conflicts = 0                 bits32; a transposed copy
// Source   Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA

constexpr int array_tiles_axes = 8; // as many as py/arrays/strided_copy.c passes

struct array_tiles_layout {
    long long length[array_tiles_axes], to[array_tiles_axes], from[array_tiles_axes]; // lengths; strides in elements
    int rank;
};

// `across` tiles lie along the source's axis, `down` along the target's.
extern "C" __global__ void __launch_bounds__(512)
array_tiles(T *to, const T *from, unsigned across, unsigned down, const array_tiles_layout layout)
{
    constexpr int TILE = sizeof(T) == 16 ? 32 : 64, LANES = 32, ROWS = 16; // a tile is moved by ROWS rows of threads
    constexpr int PAD = sizeof(T) < 4 ? 4 / sizeof(T) : 1;                 // one bank
    __shared__ T tile[TILE][TILE + PAD];

    // Which tile: the number of the block is divided by the numbers of tiles, then by the lengths of the other axes.
    const unsigned column = blockIdx.x / across;
    const long long x = (long long)(blockIdx.x - column * across) * TILE;
    unsigned rest = column / down;
    const long long y = (long long)(column - rest * down) * TILE;
    long long target = 0, source = 0;
#pragma unroll
    for (int k = 2; k < array_tiles_axes; ++k) {
        const int axis = layout.rank - 1 - k;
        if (axis >= 0) {
            const unsigned length = (unsigned)layout.length[axis], next = rest / length, place = rest - next * length;
            target += (long long)place * layout.to[axis];
            source += (long long)place * layout.from[axis];
            rest = next;
        }
    }

    // Read and stage: along the source's axis.
    const int wide = layout.rank - 2, high = layout.rank - 1;
    const long long width = layout.length[wide], height = layout.length[high];
    const long long source_x = layout.from[wide], source_y = layout.from[high];
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS)
#pragma unroll
        for (int i = 0; i < TILE; i += LANES) {
            const long long row = y + j + threadIdx.y, place = x + i + threadIdx.x;
            if (row < height && place < width)
                tile[j + threadIdx.y][i + threadIdx.x] = from[source + row * source_y + place * source_x];
        }

    // Each thread will read what others wrote: none may read the tile before the last has written.
    __syncthreads();

    // Write: along the target's axis, down the columns of the tile.
    const long long target_x = layout.to[wide], target_y = layout.to[high];
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS)
#pragma unroll
        for (int i = 0; i < TILE; i += LANES) {
            const long long row = y + i + threadIdx.x, place = x + j + threadIdx.y;
            if (row < height && place < width)
                to[target + row * target_y + place * target_x] = tile[i + threadIdx.x][j + threadIdx.y];
        }
}
