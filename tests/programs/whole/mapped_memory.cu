// Pinned memory that kernels reach, registered memory, and what pointers are. FAULT: a kernel writes behind the end.
#include "checked.h"
#include <vector>

__global__ void increase(int *data, int n)
{
#ifdef FAULT
    n++;
#endif
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        data[i]++;
    }
}

int main()
{
    const int n = 300;
    int *pinned, *device;
    CHECK(cudaHostAlloc(&pinned, n * sizeof(int), cudaHostAllocMapped));
    for (int i = 0; i < n; i++) {
        pinned[i] = i;
    }
    CHECK(cudaHostGetDevicePointer(&device, pinned, 0));
    increase<<<1, 64>>>(device, n);
    CHECK(cudaDeviceSynchronize());
    bool right = pinned[0] == 1 && pinned[n - 1] == n;
    cudaPointerAttributes facts;
    CHECK(cudaPointerGetAttributes(&facts, pinned));
    right = right && facts.type == cudaMemoryTypeHost;
    std::vector<int> own(n, 5);
    CHECK(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&device, own.data(), 0));
    increase<<<1, 64>>>(device, n);
    CHECK(cudaDeviceSynchronize());
    right = right && own[0] == 6 && own[n - 1] == 6;
    CHECK(cudaHostUnregister(own.data()));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaPointerGetAttributes(&facts, own.data()));
    return verdict(right && facts.type == cudaMemoryTypeUnregistered);
}
