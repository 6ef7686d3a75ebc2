// probe / mixed_shared
//
// What     y[i] = x[n - 1 - i]: one block turns n elements round in shared memory.
// Idea     Both kinds in one kernel: the dynamic part begins behind the static one, and the limit holds for their sum.
// Differs  from probe/dynamic_shared: the first SIZE elements lie in a static array.
// Claims   shared.store.conflicts = 0
//          shared.load.conflicts = 0
// Source   NVIDIA's CUDA C++ Programming Guide, Shared Memory

extern "C" __global__ void __launch_bounds__(256)
probe_mixed_shared(const T *x, T *y, long long n)
{
    constexpr int SIZE = 1024;
    __shared__ T head[SIZE];
    extern __shared__ T probe_mixed_shared_tail[]; // n - SIZE elements, says the launch, where n is larger
    T *tail = probe_mixed_shared_tail;

    // Read and stage.
    for (long long i = threadIdx.x; i < n; i += 256) {
        const T element = x[i];
        if (i < SIZE)
            head[i] = element;
        else
            tail[i - SIZE] = element;
    }

    // Each thread will read what others wrote: none may read before the last has written.
    __syncthreads();

    // Write.
    for (long long i = threadIdx.x; i < n; i += 256)
        y[i] = n - 1 - i < SIZE ? head[n - 1 - i] : tail[n - 1 - i - SIZE];
}
