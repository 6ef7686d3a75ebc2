// transpose / naive
//
// What     b[j][i] = a[i][j]; a is (m, n), b is (n, m), both row-major.
// Idea     Each element straight from its place to its place. A warp reads 32 neighbours of a row, whole sectors, but
//          writes down a column: its 32 elements lie in 32 rows of b, and each touches a sector of 32 bytes for
//          itself alone. It is slow by the sectors of its stores.
// Differs  from transpose/copy: the two indices change places on the way out; so elements go one by one, by tiles.
// Claims   global.load.sectors_per_request = 1       bits8; n a multiple of 32
//          global.load.sectors_per_request = 2       bits16; n a multiple of 32
//          global.load.sectors_per_request = 4       bits32; n a multiple of 32: a row of 128 bytes
//          global.load.sectors_per_request = 8       bits64; n a multiple of 32
//          global.store.sectors_per_request = 32     n a multiple of 32; m at least 32: one for each lane
//          shared.store.instructions = 0
// Source   Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA

extern "C" __global__ void __launch_bounds__(256)
transpose_naive(const T *a, T *b, long long m, long long n)
{
    constexpr int TILE = 32, ROWS = 8; // a tile of a is read by ROWS rows of threads, in TILE / ROWS steps

    // Who am I: a column of a, and one of every ROWS rows of the tile.
    const long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE + threadIdx.y;
    const long long col = (long long)blockIdx.x * TILE + threadIdx.x;

    // Read and write. Neighbouring lanes write m elements apart.
    for (int i = 0; i < TILE; i += ROWS)
        if (row + i < m && col < n)
            b[col * m + row + i] = a[(row + i) * n + col];
}
