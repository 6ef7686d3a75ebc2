// gemm / double_buffered
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     gemm/register_2d computes, then waits for global memory, then computes. Here the elements of the next step
//          are asked for before this step computes, and are put into a second pair of tiles after it: they travel
//          meanwhile. As one pair is read while the other is written, one barrier a step is enough.
//          next_a and next_b cost registers; float32 is held to those that leave room for two blocks a multiprocessor.
// Differs  from gemm/register_2d: two slots for the tiles, next_a and next_b, and one barrier less.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 4       float32; m, n multiples of 128; k a multiple of 8
//          global.load.sectors_per_request = 8       float64; m, n multiples of 128; k a multiple of 8
// Source   software pipelining, as in every fast matrix product

extern "C" __global__ void __launch_bounds__(256, sizeof(T) == 4 ? 2 : 1)
gemm_double_buffered(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int TILE = 128, TILE_K = 8, SIDE = 16, EACH = TILE / SIDE, COPIES = TILE * TILE_K / (SIDE * SIDE);
    __shared__ T tile_a[2][TILE][TILE_K];
    __shared__ T tile_b[2][TILE_K][TILE];

    // Who am I: EACH x EACH elements of c, SIDE apart. The block makes a TILE x TILE tile of it.
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const long long first_col = (long long)blockIdx.x * TILE;
    const int thread = threadIdx.y * SIDE + threadIdx.x;

    // Read: COPIES elements of each tile a thread, zeros past the edges of a and b.
    T next_a[COPIES], next_b[COPIES];
    const auto read = [&](long long first) {
        for (int j = 0; j < COPIES; ++j) {
            const int element = j * SIDE * SIDE + thread;
            const long long a_row = first_row + element / TILE_K, a_col = first + element % TILE_K;
            const long long b_row = first + element / TILE, b_col = first_col + element % TILE;
            next_a[j] = a_row < m && a_col < k ? a[a_row * k + a_col] : T(0);
            next_b[j] = b_row < k && b_col < n ? b[b_row * n + b_col] : T(0);
        }
    };

    // Stage what was read.
    const auto stage = [&](int slot) {
        for (int j = 0; j < COPIES; ++j) {
            const int element = j * SIDE * SIDE + thread;
            tile_a[slot][element / TILE_K][element % TILE_K] = next_a[j];
            tile_b[slot][element / TILE][element % TILE] = next_b[j];
        }
    };

    T sum[EACH][EACH] = {};
    int slot = 0;
    read(0);
    stage(slot);

    // The first tiles were written by all threads: none may read them before the last has written.
    __syncthreads();

    for (long long first = 0; first < k; first += TILE_K) {
        // Read for the next step; behind the last one there is nothing, and nothing is read.
        read(first + TILE_K);

        // Compute. i ascends over all of k; the compiler fuses product and sum (fma).
        for (int i = 0; i < TILE_K; ++i)
            for (int r = 0; r < EACH; ++r)
                for (int q = 0; q < EACH; ++q)
                    sum[r][q] += tile_a[slot][threadIdx.y + r * SIDE][i] * tile_b[slot][i][threadIdx.x + q * SIDE];

        // Stage for the next step.
        slot ^= 1;
        stage(slot);

        // This slot is written: none may read it before the last has written. The other was read: none may overwrite
        // it, in its next round, before the last has read.
        __syncthreads();
    }

    // Write.
    for (int r = 0; r < EACH; ++r)
        for (int q = 0; q < EACH; ++q) {
            const long long row = first_row + threadIdx.y + r * SIDE, col = first_col + threadIdx.x + q * SIDE;
            if (row < m && col < n)
                c[row * n + col] = sum[r][q];
        }
}
