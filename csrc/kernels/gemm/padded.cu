// gemm / padded
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     One more column in both tiles, as many tutorials advise. Here it cures nothing: a warp reads rows,
//          which have no conflicts to begin with. And it costs: rows of 33 elements are not aligned to
//          16 bytes, so the compiler reads tile_a element by element. gemm/column_padded shows where it pays.
// Differs  from gemm/tiled: PAD.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 4       float32; n, k multiples of 32: one row of 128 bytes
//          global.load.sectors_per_request = 8       float64; n, k multiples of 32: one row of 256 bytes
// Source   common advice, tested

extern "C" __global__ void __launch_bounds__(1024)
gemm_padded(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int TILE = 32, PAD = 1;
    __shared__ T tile_a[TILE][TILE + PAD];
    __shared__ T tile_b[TILE][TILE + PAD];

    // Who am I: one element of c. The block makes a TILE x TILE tile of it.
    const long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE + threadIdx.y;
    const long long col = (long long)blockIdx.x * TILE + threadIdx.x;

    T sum = 0;
    for (long long first = 0; first < k; first += TILE) {
        // Read and stage: one element of each tile a thread, zeros past the edges of a and b.
        const long long a_col = first + threadIdx.x;
        const long long b_row = first + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && a_col < k ? a[row * k + a_col] : T(0);
        tile_b[threadIdx.y][threadIdx.x] = b_row < k && col < n ? b[b_row * n + col] : T(0);

        // The tiles were written by all threads: none may read them before the last has written.
        __syncthreads();

        // Compute. i ascends over all of k; the compiler fuses product and sum (fma).
        for (int i = 0; i < TILE; ++i)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];

        // The tiles are read by all threads: none may overwrite them in its next round before the last has read.
        __syncthreads();
    }

    // Write.
    if (row < m && col < n)
        c[row * n + col] = sum;
}
