// transpose / padded
//
// What     b[j][i] = a[i][j]; a is (m, n), b is (n, m), both row-major.
// Idea     One more column shifts each row of the tile by one bank: a column of the tile now meets 32 banks, and the
//          conflicts are gone. A bank is 4 bytes wide, so the shift must be 4 bytes at least: four columns of bytes,
//          two of 2-byte elements. (With a single one a few conflicts stay where words are split by rows.)
// Differs  from transpose/shared: PAD.
// Claims   global.load.sectors_per_request = 4       bits32; n a multiple of 32
//          global.store.sectors_per_request = 4      bits32; m, n multiples of 32
//          shared.store.conflicts = 0
//          shared.load.conflicts = 0
// Source   Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA

extern "C" __global__ void __launch_bounds__(256)
transpose_padded(const T *a, T *b, long long m, long long n)
{
    constexpr int TILE = 32, ROWS = 8; // a tile is moved by ROWS rows of threads, in TILE / ROWS steps
    constexpr int PAD = sizeof(T) < 4 ? 4 / sizeof(T) : 1; // one bank
    __shared__ T tile[TILE][TILE + PAD];

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
