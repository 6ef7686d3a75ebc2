// transpose / copy
//
// What     b = a, byte for byte: no transpose, but the same bytes read and written. Its time is the least that a
//          transpose of this size can take.
// Idea     Order does not matter here, so the array is taken as one run of 16-byte vectors, one a thread. More of them
//          a thread would be slower: blocks that run together would then be spread over more pages of memory.
// Differs  from every transpose: nothing is turned. Compare their times with this one's.
// Claims   shared.load.instructions = 0
//          global.load.sectors_per_request = 16    m, n multiples of 64: 32 lanes of 16 bytes in a row
//          global.store.sectors_per_request = 16   m, n multiples of 64
// Source   a copy of the same size as the yardstick: Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA

extern "C" __global__ void __launch_bounds__(256)
transpose_copy(const T *a, T *b, long long m, long long n)
{
    constexpr int WIDTH = 16 / sizeof(T);
    struct alignas(16) Vector {
        T item[WIDTH];
    };

    // Who am I: one vector of the m * n elements.
    const long long first = ((long long)blockIdx.x * 256 + threadIdx.x) * WIDTH;

    // Read and write; the last elements may be less than a vector.
    if (first + WIDTH <= m * n)
        *(Vector *)(b + first) = *(const Vector *)(a + first);
    else
#pragma unroll 1
        for (long long i = first; i < m * n; ++i)
            b[i] = a[i];
}
