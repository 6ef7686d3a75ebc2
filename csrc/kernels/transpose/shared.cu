// transpose / shared
//
// What     b[j][i] = a[i][j]; a is (m, n), b is (n, m), both row-major.
// Idea     Stage a 32 x 32 tile in shared memory, so that both global accesses walk along rows: the tile is written by
//          row and read by column, and the turn happens where it costs no sectors.
//          It costs bank conflicts instead: a column of the tile is 32 words that all lie in one bank (of 8-byte
//          elements 16, twice; of 2-byte elements they lie in 2 banks, of bytes in 4).
// Differs  from transpose/naive: the tile, and a barrier.
// Claims   global.load.sectors_per_request = 4       bits32; n a multiple of 32
//          global.store.sectors_per_request = 4      bits32; m, n multiples of 32: a row of 128 bytes
//          shared.store.conflicts = 0
//          shared.load.conflicts_per_request = 7     bits8; m, n multiples of 32
//          shared.load.conflicts_per_request = 15    bits16; m, n multiples of 32
//          shared.load.conflicts_per_request = 31    bits32; m, n multiples of 32
//          shared.load.conflicts_per_request = 30    bits64; m, n multiples of 32: 15 for each half of a warp
// Source   Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA

extern "C" __global__ void __launch_bounds__(256)
transpose_shared(const T *a, T *b, long long m, long long n)
{
    constexpr int TILE = 32, ROWS = 8; // a tile is moved by ROWS rows of threads, in TILE / ROWS steps
    __shared__ T tile[TILE][TILE];

    // Who am I: a place in the tile, and in every ROWS-th row below it.
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const long long first_col = (long long)blockIdx.x * TILE;

    // Read and stage: along rows of a.
    const long long row = first_row + threadIdx.y;
    const long long col = first_col + threadIdx.x;
    for (int i = 0; i < TILE; i += ROWS)
        if (row + i < m && col < n)
            tile[threadIdx.y + i][threadIdx.x] = a[(row + i) * n + col];

    // Each thread will read what others wrote: none may read the tile before the last has written.
    __syncthreads();

    // Write: along rows of b, which are columns of the tile.
    const long long b_row = first_col + threadIdx.y;
    const long long b_col = first_row + threadIdx.x;
    for (int i = 0; i < TILE; i += ROWS)
        if (b_row + i < n && b_col < m)
            b[(b_row + i) * m + b_col] = tile[threadIdx.x][threadIdx.y + i];
}
