// Threads of the host, each with a stream of its own. FAULT: the threads' kernels add to one word without atomics.
// Compile with: -Xcompiler -pthread
#include "checked.h"
#include <thread>
#include <vector>

__global__ void add(int *total, int value)
{
#ifdef FAULT
    *total += value;
#else
    atomicAdd(total, value);
#endif
}

static void work(int *total, int number, int *failed)
{
    cudaStream_t stream;
    *failed = cudaStreamCreate(&stream) != cudaSuccess;
    for (int i = 0; i < 10; i++) {
        add<<<2, 32, 0, stream>>>(total, number);
    }
    *failed = *failed || cudaStreamSynchronize(stream) != cudaSuccess || cudaStreamDestroy(stream) != cudaSuccess;
}

int main()
{
    const int threads = 4;
    int *total, host = 0, failed[threads];
    CHECK(cudaMalloc(&total, sizeof host));
    CHECK(cudaMemset(total, 0, sizeof host));
    std::vector<std::thread> pool;
    for (int i = 0; i < threads; i++) {
        pool.emplace_back(work, total, i, &failed[i]);
    }
    bool right = true;
    for (int i = 0; i < threads; i++) {
        pool[i].join();
        right = right && !failed[i];
    }
    CHECK(cudaMemcpy(&host, total, sizeof host, cudaMemcpyDeviceToHost));
    return verdict(right && host == 10 * 64 * 6);
}
