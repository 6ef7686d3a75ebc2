// vector_add / vectorized
//
// What     z[i] = x[i] + y[i], n elements.
// Idea     Fewer and wider accesses: a thread takes vectors of 16 bytes and has all its loads under way before it adds.
//          No byte less moves, but each request brings 512 bytes, a quarter as many instructions ask for them, and
//          there are enough of them under way to keep the memory busy.
// Differs  from vector_add/naive: WIDTH and VECTORS; the last block goes element by element.
// Claims   global.load.sectors_per_request = 16     n a multiple of 2048: 32 lanes of 16 bytes
//          global.store.sectors_per_request = 16    n a multiple of 2048
//          shared.load.instructions = 0
// Source   NVIDIA's Pro Tip on vectorized memory access

extern "C" __global__ void __launch_bounds__(256)
vector_add_vectorized(const T *x, const T *y, T *z, long long n)
{
    constexpr int TILE = 2048, THREADS = 256;
    constexpr int WIDTH = 16 / sizeof(T), VECTORS = TILE / WIDTH / THREADS; // elements; of a thread
    struct alignas(16) Vector {
        T item[WIDTH];
    };

    // Who am I: VECTORS vectors of the block's TILE elements, THREADS apart, so that a warp's lie side by side.
    const long long first = (long long)blockIdx.x * TILE;

    if (first + TILE <= n) {
        // Read.
        Vector a[VECTORS], b[VECTORS];
        for (int k = 0; k < VECTORS; ++k) {
            a[k] = ((const Vector *)(x + first))[k * THREADS + threadIdx.x];
            b[k] = ((const Vector *)(y + first))[k * THREADS + threadIdx.x];
        }

        // Compute and write.
        for (int k = 0; k < VECTORS; ++k) {
            for (int j = 0; j < WIDTH; ++j)
                a[k].item[j] += b[k].item[j];
            ((Vector *)(z + first))[k * THREADS + threadIdx.x] = a[k];
        }
    } else {
        // The end, element by element.
        for (long long i = first + threadIdx.x; i < n; i += THREADS)
            z[i] = x[i] + y[i];
    }
}
