// gemm / async
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     cp.async copies from global to shared memory without a register between, and without anybody waiting. So
//          the tiles of two steps can be under way while a third is computed. A copy that is told to read no bytes
//          writes zeros: that fills the tiles past the edges of a and b.
// Differs  from gemm/double_buffered: cp.async in place of next_a and next_b, and STAGES slots.
// Claims   shared.load.conflicts = 0
//          shared.store.instructions = 0
//          global.load.requests = 0
// Source   asynchronous copies, as NVIDIA's programming guide and the PTX manual describe them

extern "C" __global__ void __launch_bounds__(256)
gemm_async(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int TILE = 128, TILE_K = 8, SIDE = 16, EACH = TILE / SIDE, COPIES = TILE * TILE_K / (SIDE * SIDE);
    constexpr int STAGES = 3;
    __shared__ T tile_a[STAGES][TILE][TILE_K];
    __shared__ T tile_b[STAGES][TILE_K][TILE];

    // Who am I: EACH x EACH elements of c, SIDE apart. The block makes a TILE x TILE tile of it.
    const long long first_row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const long long first_col = (long long)blockIdx.x * TILE;
    const int thread = threadIdx.y * SIDE + threadIdx.x;

    // Start a copy of one element, or of a zero.
    const auto copy = [](T *to, const T *from, long long index, bool inside) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                     "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from + index),
                     "n"(sizeof(T)), "r"(inside ? (unsigned)sizeof(T) : 0) : "memory");
    };

    // Read and stage: COPIES elements of each tile a thread. They are one group, to be waited for together.
    const auto stage = [&](int slot, long long first) {
        for (int j = 0; j < COPIES; ++j) {
            const int element = j * SIDE * SIDE + thread;
            const int a_y = element / TILE_K, a_x = element % TILE_K;
            const int b_y = element / TILE, b_x = element % TILE;
            const long long a_row = first_row + a_y, a_col = first + a_x;
            const long long b_row = first + b_y, b_col = first_col + b_x;
            copy(&tile_a[slot][a_y][a_x], a, a_row * k + a_col, a_row < m && a_col < k);
            copy(&tile_b[slot][b_y][b_x], b, b_row * n + b_col, b_row < k && b_col < n);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    T sum[EACH][EACH] = {};
    for (int slot = 0; slot < STAGES - 1; ++slot)
        stage(slot, (long long)slot * TILE_K);

    int slot = 0, free_slot = STAGES - 1;
    for (long long first = 0; first < k; first += TILE_K) {
        // Wait until no more than STAGES - 2 of my groups are under way: that of this step is not one of them.
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

        // The tiles were copied by all threads: none may read them before the last has waited for its part. And the
        // free slot was read by all threads in the step before: none may overwrite it before the last has read.
        __syncthreads();

        // Read and stage what is computed STAGES - 1 steps from now; behind the end that is zeros.
        stage(free_slot, first + (STAGES - 1) * TILE_K);
        free_slot = slot;

        // Compute. i ascends over all of k; the compiler fuses product and sum (fma).
        for (int i = 0; i < TILE_K; ++i)
            for (int r = 0; r < EACH; ++r)
                for (int q = 0; q < EACH; ++q)
                    sum[r][q] += tile_a[slot][threadIdx.y + r * SIDE][i] * tile_b[slot][i][threadIdx.x + q * SIDE];
        slot = slot + 1 == STAGES ? 0 : slot + 1;
    }

    // Write.
    for (int r = 0; r < EACH; ++r)
        for (int q = 0; q < EACH; ++q) {
            const long long row = first_row + threadIdx.y + r * SIDE, col = first_col + threadIdx.x + q * SIDE;
            if (row < m && col < n)
                c[row * n + col] = sum[r][q];
        }
}
