// probe / dynamic_shared
//
// What     y[i] = x[n - 1 - i]: one block turns n elements round in shared memory.
// Idea     The size comes with the launch: any, up to 48 KB without ado, and beyond, up to what the device has,
//          where the host opts in for this kernel (cudaFuncAttributeMaxDynamicSharedMemorySize; smemkit does).
// Differs  from probe/static_shared: extern, and no size.
// Claims   shared.store.conflicts = 0
//          shared.load.conflicts = 0
// Source   NVIDIA's CUDA C++ Programming Guide, Shared Memory

extern "C" __global__ void __launch_bounds__(256)
probe_dynamic_shared(const T *x, T *y, long long n)
{
    extern __shared__ T probe_dynamic_shared_tile[]; // n elements, says the launch
    T *tile = probe_dynamic_shared_tile;

    // Read and stage.
    for (long long i = threadIdx.x; i < n; i += 256)
        tile[i] = x[i];

    // Each thread will read what others wrote: none may read before the last has written.
    __syncthreads();

    // Write.
    for (long long i = threadIdx.x; i < n; i += 256)
        y[i] = tile[n - 1 - i];
}
