// Static and dynamic shared memory. FAULT: no barrier between writing and reading.
#include "checked.h"

template <int size> __global__ void reverse_static(int *data)
{
    __shared__ int tile[size];
    tile[threadIdx.x] = data[threadIdx.x];
#ifndef FAULT
    __syncthreads();
#endif
    data[threadIdx.x] = tile[size - 1 - threadIdx.x];
}

__global__ void reverse_dynamic(int *data)
{
    extern __shared__ int tile[];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main()
{
    const int n = 128;
    int host[n], *device;
    for (int i = 0; i < n; i++) {
        host[i] = i * i;
    }
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    reverse_static<n><<<1, n>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    bool right = host[0] == (n - 1) * (n - 1) && host[n - 1] == 0;
    reverse_dynamic<<<1, n, n * sizeof(int)>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        right = right && host[i] == i * i;
    }
    return verdict(right);
}
