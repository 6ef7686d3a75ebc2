// transpose / vectorized
//
// What     b[j][i] = a[i][j]; a is (m, n), b is (n, m), both row-major.
// Idea     All accesses are vectors: a thread reads a small square of a by rows, turns it in registers, where that
//          costs nothing but names, and stages its columns as vectors. So shared memory is passed once a vector, not
//          once an element, each thread has many bytes under way, and a row of the tile is twice as long.
//          Places in a row of the tile are swizzled by vectors: the place of a square is its row ^ its column.
//          Blocks follow each other down the columns of a: those that run together write long runs of b.
// Differs  from transpose/swizzled: VECTOR, and with it the tile; the order of the blocks; and paths by element, for
//          tiles that an edge cuts and for rows that are no multiple of a vector.
// Claims   shared.load.conflicts = 0                m, n multiples of 128
//          shared.store.conflicts = 0               m, n multiples of 128
//          global.load.sectors_per_request = 16     bits32; m, n multiples of 128: 32 lanes of 16 bytes
//          global.store.sectors_per_request = 16    bits32; m, n multiples of 128
//          global.load.sectors_per_request = 16     bits64; m, n multiples of 128
//          global.store.sectors_per_request = 16    bits64; m, n multiples of 128
//          global.store.sectors_per_request = 8     bits16; m, n multiples of 128: 32 lanes of 8 bytes
//          global.store.sectors_per_request = 4     bits8; m, n multiples of 128: 32 lanes of 4 bytes
// Source   vector loads: NVIDIA's Pro Tip on vectorized memory access; turning small squares in registers is common

extern "C" __global__ void __launch_bounds__(256)
transpose_vectorized(const T *a, T *b, long long m, long long n)
{
    constexpr int THREADS = 256;
    constexpr int TILE = sizeof(T) == 1 ? 128 : sizeof(T) == 16 ? 32 : 64; // a row fills the 32 banks at least once
    constexpr int VECTOR = sizeof(T) < 8 ? 4 : 16 / sizeof(T);             // elements: 4, 8 or 16 bytes
    constexpr int SIDE = TILE / VECTOR;             // squares of VECTOR x VECTOR along a side of the tile
    constexpr int SQUARES = SIDE * SIDE / THREADS;  // of a thread
    struct alignas(VECTOR * sizeof(T)) Vector {
        T item[VECTOR];
    };
    __shared__ Vector tile[TILE][SIDE]; // as b has it: rows of b, vectors along them

    // Who am I: a thread of the block, which turns one tile. The next block has the tile below.
    const int thread = threadIdx.x;
    const long long first_row = (long long)blockIdx.x * TILE;
    const long long first_col = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const bool whole = first_row + TILE <= m && first_col + TILE <= n;

    if (whole && n % VECTOR == 0) {
        // Read: VECTOR rows of each of my squares, all under way together.
        Vector square[SQUARES][VECTOR];
        for (int k = 0; k < SQUARES; ++k) {
            const int down = (thread + k * THREADS) / SIDE, right = (thread + k * THREADS) % SIDE;
            const T *from = a + (first_row + down * VECTOR) * n + first_col + right * VECTOR;
            for (int i = 0; i < VECTOR; ++i)
                square[k][i] = *(const Vector *)(from + i * n);
        }

        // Turn and stage: column j of a square is a vector of row j of the turned one.
        for (int k = 0; k < SQUARES; ++k) {
            const int down = (thread + k * THREADS) / SIDE, right = (thread + k * THREADS) % SIDE;
            for (int j = 0; j < VECTOR; ++j) {
                Vector turned;
                for (int i = 0; i < VECTOR; ++i)
                    turned.item[i] = square[k][i].item[j];
                tile[right * VECTOR + j][down ^ right] = turned;
            }
        }
    } else {
        // Read and stage by element, to the same places.
        for (int k = 0; k < TILE * TILE / THREADS; ++k) {
            const int row = (thread + k * THREADS) / TILE, col = (thread + k * THREADS) % TILE;
            if (first_row + row < m && first_col + col < n)
                tile[col][row / VECTOR ^ col / VECTOR].item[row % VECTOR] = a[(first_row + row) * n + first_col + col];
        }
    }

    // Each thread will read what others wrote: none may read the tile before the last has written.
    __syncthreads();

    if (whole && m % VECTOR == 0) {
        // Write: along rows of b.
        for (int k = 0; k < TILE * SIDE / THREADS; ++k) {
            const int row = (thread + k * THREADS) / SIDE, right = (thread + k * THREADS) % SIDE;
            *(Vector *)(b + (first_col + row) * m + first_row + right * VECTOR) = tile[row][right ^ row / VECTOR];
        }
    } else {
        // Write by element.
        for (int k = 0; k < TILE * TILE / THREADS; ++k) {
            const int row = (thread + k * THREADS) / TILE, col = (thread + k * THREADS) % TILE;
            if (first_col + row < n && first_row + col < m)
                b[(first_col + row) * m + first_row + col] = tile[row][col / VECTOR ^ row / VECTOR].item[col % VECTOR];
        }
    }
}
