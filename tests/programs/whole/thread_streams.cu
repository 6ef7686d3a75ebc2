// Default streams of their own for host threads. FAULT: a thread's last launch is too long.
// Compile with: --default-stream per-thread -std=c++17
#include "checked.h"
#include <thread>
#include <vector>

__global__ void add(int *data, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] += value;
    }
}

static void work(int number, bool *right)
{
    const int n = 500;
    int *device, host[n], length = n, value = number;
    void *arguments[] = {&device, &length, &value};
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMemsetAsync(device, 0, n * sizeof(int)));
    add<<<4, 128>>>(device, n, 1);
    CHECK(cudaLaunchKernel((const void *)add, dim3(4), dim3(128), arguments, 0, 0));
    CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
#ifdef FAULT
    length += number == 3 ? 1 : 0;
#endif
    add<<<4, 128>>>(device, length, 10);
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphLaunch(ready, 0));
    CHECK(cudaStreamSynchronize(0));
    *right = true;
    for (int i = 0; i < n; i++) {
        *right = *right && host[i] == 11 + number;
    }
    CHECK(cudaFree(device));
}

int main()
{
    const int threads = 4;
    bool right[threads] = {};
    size_t unused = 0, total = 0;
    std::vector<std::thread> working;
    for (int t = 0; t < threads; t++) {
        working.emplace_back(work, t, &right[t]);
    }
    for (std::thread &one : working) {
        one.join();
    }
    CHECK(cudaMemGetInfo(&unused, &total));
    return verdict(right[0] && right[1] && right[2] && right[3] && unused > 0 && unused < total);
}
