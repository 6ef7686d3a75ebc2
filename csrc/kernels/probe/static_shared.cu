// probe / static_shared
//
// What     y[i] = x[n - 1 - i]: one block turns n elements round in shared memory.
// Idea     The size stands in the source: 48 KB, the most that a static declaration may have on any GPU. The
//          compiler refuses more. The launch says nothing about it.
// Differs  the first of its kind.
// Claims   shared.store.conflicts = 0
//          shared.load.conflicts = 0
// Source   NVIDIA's CUDA C++ Programming Guide, Shared Memory

extern "C" __global__ void __launch_bounds__(256)
probe_static_shared(const T *x, T *y, long long n)
{
    constexpr int SIZE = 48 * 1024 / sizeof(T);
    __shared__ T tile[SIZE]; // n is at most SIZE

    // Read and stage.
    for (long long i = threadIdx.x; i < n; i += 256)
        tile[i] = x[i];

    // Each thread will read what others wrote: none may read before the last has written.
    __syncthreads();

    // Write.
    for (long long i = threadIdx.x; i < n; i += 256)
        y[i] = tile[n - 1 - i];
}
