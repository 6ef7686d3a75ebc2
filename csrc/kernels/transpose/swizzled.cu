// transpose / swizzled
//
// What     b[j][i] = a[i][j]; a is (m, n), b is (n, m), both row-major.
// Idea     No room is wasted: row r of the tile keeps its elements in another order, column c at place c ^ r. Down a
//          column the places are all different, as r is, so 32 lanes meet 32 banks; along a row they are a
//          permutation, which never conflicts. The tile stays a power of two, and its rows stay aligned.
// Differs  from transpose/padded: an exclusive or in the index instead of PAD.
// Claims   global.load.sectors_per_request = 4       bits32; n a multiple of 32
//          global.store.sectors_per_request = 4      bits32; m, n multiples of 32
//          shared.store.conflicts = 0
//          shared.load.conflicts = 0
// Source   swizzled layouts, as CUTLASS describes them for tiles of operands

extern "C" __global__ void __launch_bounds__(256)
transpose_swizzled(const T *a, T *b, long long m, long long n)
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
            tile[threadIdx.y + i][threadIdx.x ^ (threadIdx.y + i)] = a[(row + i) * n + col];

    // Each thread will read what others wrote: none may read the tile before the last has written.
    __syncthreads();

    // Write: along rows of b, which are columns of the tile.
    const long long b_row = first_col + threadIdx.y;
    const long long b_col = first_row + threadIdx.x;
    for (int i = 0; i < TILE; i += ROWS)
        if (b_row + i < n && b_col < m)
            b[(b_row + i) * m + b_col] = tile[threadIdx.x][(threadIdx.y + i) ^ threadIdx.x];
}
