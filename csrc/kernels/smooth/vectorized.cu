// smooth / vectorized
//
// What     out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3 for all n elements; beyond an end its element counts twice.
// Idea     A thread reads, makes and writes 16 bytes at once (four float32, two float64): a warp's access is 512
//          bytes, so fewer instructions keep more bytes under way. The neighbours inside are in registers; the one
//          before and the one behind are single reads, which the L1 cache serves. A last piece that is shorter
//          than 16 bytes is made element by element.
// Differs  from smooth/naive: 16 bytes a thread (float64: twice).
// Claims   global.store.sectors_per_request = 16     n a multiple of 128: 512 bytes in a row
//          barrier.count = 0                         always
// Source   CUDA C++ Best Practices Guide, on coalescing; 16 bytes are the widest access a thread has

extern "C" __global__ void __launch_bounds__(256)
smooth_vectorized(const T *__restrict__ x, T *__restrict__ out, long long n)
{
    constexpr int LANE = 16 / sizeof(T), THREADS = 256, TILE = 1024, VECTORS = TILE / (THREADS * LANE);
    constexpr T THIRD = T(1) / T(3);
    struct alignas(16) Vector {
        T item[LANE];
    };

    // Who am I: VECTORS pieces of LANE elements, one in each part of the tile.
    const long long first = (long long)blockIdx.x * TILE + threadIdx.x * LANE;

    // Read: all pieces with their neighbours before the first is needed. At an end of x the element there stands for
    // the missing one.
    Vector mine[VECTORS];
    T before[VECTORS], behind[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        const long long at = first + v * THREADS * LANE;
        if (at + LANE <= n) {
            mine[v] = *reinterpret_cast<const Vector *>(x + at);
            before[v] = x[at > 0 ? at - 1 : 0];
            behind[v] = x[at + LANE < n ? at + LANE : n - 1];
        }
    }

    // Compute, write.
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        const long long at = first + v * THREADS * LANE;
        if (at + LANE <= n) {
            Vector mean;
#pragma unroll
            for (int i = 0; i < LANE; ++i) {
                const T left = i > 0 ? mine[v].item[i > 0 ? i - 1 : 0] : before[v];
                const T right = i < LANE - 1 ? mine[v].item[i < LANE - 1 ? i + 1 : 0] : behind[v];
                mean.item[i] = (left + mine[v].item[i] + right) * THIRD;
            }
            *reinterpret_cast<Vector *>(out + at) = mean;
        } else {
#pragma unroll 1
            for (long long i = at; i < n; ++i)
                out[i] = (x[i > 0 ? i - 1 : 0] + x[i] + x[i < n - 1 ? i + 1 : n - 1]) * THIRD;
        }
    }
}
