// gemm / vectorized
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     Move 16 bytes by one instruction, wherever something moves: four float32 or two float64, from global to
//          shared memory, from there to registers, and back to c. A thread makes four neighbours of c for that.
//          Rows of global memory that do not start at multiples of 16 bytes are read element by element.
//          A warp holds four rows of tile_a now: V more elements a row keep these apart in the banks.
// Differs  from gemm/tiled: Vector, and with it the block of 8 x 32 threads.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 16      m, n, k multiples of 32: 512 bytes by one instruction
//          global.store.sectors_per_request = 16     m, n multiples of 32
// Source   16-byte accesses, as NVIDIA's programming guide describes them

extern "C" __global__ void __launch_bounds__(256)
gemm_vectorized(const T *a, const T *b, T *c, long long m, long long k, long long n)
{
    constexpr int TILE = 32, V = 16 / sizeof(T), ACROSS = 8, VECTORS = TILE / V / ACROSS;
    struct alignas(16) Vector {
        T at[V];
    };
    __shared__ alignas(16) T tile_a[TILE][TILE + V];
    __shared__ alignas(16) T tile_b[TILE][TILE];

    // Who am I: VECTORS vectors in one row of c, ACROSS vectors apart. The block makes a TILE x TILE tile of it.
    const long long first_col = (long long)blockIdx.x * TILE;
    const long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * TILE + threadIdx.y;

    // A vector of a matrix, zeros past its edges.
    const auto read = [](const T *from, long long rows, long long cols, long long at_row, long long at_col) {
        Vector vector = {};
        if (at_row < rows && at_col < cols) {
            if (cols % V == 0)
                vector = *(const Vector *)&from[at_row * cols + at_col];
            else
                for (int j = 0; j < V; ++j)
                    vector.at[j] = at_col + j < cols ? from[at_row * cols + at_col + j] : T(0);
        }
        return vector;
    };

    Vector sum[VECTORS] = {};
    for (long long first = 0; first < k; first += TILE) {
        // Read and stage: VECTORS vectors of each tile a thread.
        for (int j = 0; j < VECTORS; ++j) {
            const int x = (j * ACROSS + threadIdx.x) * V;
            *(Vector *)&tile_a[threadIdx.y][x] = read(a, m, k, row, first + x);
            *(Vector *)&tile_b[threadIdx.y][x] = read(b, k, n, first + threadIdx.y, first_col + x);
        }

        // The tiles were written by all threads: none may read them before the last has written.
        __syncthreads();

        // Compute: V elements of tile_a at once, each with VECTORS vectors of tile_b. i * V + v ascends over all of k.
        for (int i = 0; i < TILE / V; ++i) {
            const Vector from_a = *(const Vector *)&tile_a[threadIdx.y][i * V];
            for (int v = 0; v < V; ++v)
                for (int j = 0; j < VECTORS; ++j) {
                    const Vector from_b = *(const Vector *)&tile_b[i * V + v][(j * ACROSS + threadIdx.x) * V];
                    for (int e = 0; e < V; ++e)
                        sum[j].at[e] += from_a.at[v] * from_b.at[e];
                }
        }

        // The tiles are read by all threads: none may overwrite them in its next round before the last has read.
        __syncthreads();
    }

    // Write.
    for (int j = 0; j < VECTORS; ++j) {
        const long long col = first_col + (j * ACROSS + threadIdx.x) * V;
        if (row < m && col < n) {
            if (n % V == 0)
                *(Vector *)&c[row * n + col] = sum[j];
            else
                for (int e = 0; e < V; ++e)
                    if (col + e < n)
                        c[row * n + col + e] = sum[j].at[e];
        }
    }
}
