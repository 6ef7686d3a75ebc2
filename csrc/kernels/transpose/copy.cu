// transpose / copy
//
// What     b = a, byte for byte: no transpose, but the same bytes read and written. Its time is the least that a
//          transpose of this size can take.
// Idea     Order does not matter here, so the array is taken as one run of 16-byte vectors: a block moves as many
//          elements as a tile of 64 x 64 has, and a thread has several loads under way before its first store.
// Differs  from every transpose: nothing is turned. Compare their times with this one's.
// Claims   shared.load.instructions = 0
//          global.load.sectors_per_request = 16    m, n multiples of 64: 32 lanes of 16 bytes in a row
//          global.store.sectors_per_request = 16   m, n multiples of 64
// Source   a copy of the same size as the yardstick: Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA

extern "C" __global__ void __launch_bounds__(256)
transpose_copy(const T *a, T *b, long long m, long long n)
{
    constexpr int TILE = 64, THREADS = 256, WIDTH = 16 / sizeof(T);
    constexpr int VECTORS = TILE * TILE / WIDTH / THREADS;
    struct alignas(16) Vector {
        T item[WIDTH];
    };

    // Who am I: a thread of a block; the block moves TILE * TILE elements that lie side by side. A grid of tiles has
    // more blocks than that needs where tiles are cut by an edge: the last ones find nothing left.
    const int thread = threadIdx.y * 16 + threadIdx.x;
    const long long block = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const long long first = block * TILE * TILE, count = m * n;

    if (first + TILE * TILE <= count) {
        // Read, then write.
        const Vector *from = (const Vector *)(a + first);
        Vector *to = (Vector *)(b + first);
        Vector moved[VECTORS];
        for (int i = 0; i < VECTORS; ++i)
            moved[i] = from[i * THREADS + thread];
        for (int i = 0; i < VECTORS; ++i)
            to[i * THREADS + thread] = moved[i];
    } else {
        // The end, element by element.
        for (long long i = first + thread; i < count; i += THREADS)
            b[i] = a[i];
    }
}
