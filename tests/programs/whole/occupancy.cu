// Attributes of a kernel, its occupancy, and more than 48 KB of shared memory. FAULT: the shared memory asked for is too small.
#include "checked.h"

__global__ void fill(int *out, int n)
{
    extern __shared__ int space[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        space[i] = 3 * i;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[i] = space[n - 1 - i];
    }
}

int main()
{
    const int n = 15000;
    size_t bytes = n * sizeof(int);
#ifdef FAULT
    bytes -= sizeof(int);
#endif
    int *out, last;
    cudaFuncAttributes facts;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaFuncGetAttributes(&facts, fill));
    int optin, blocks, grid, block;
    CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaMalloc(&out, n * sizeof(int)));
    fill<<<1, 256, bytes>>>(out, n);
    bool right = cudaGetLastError() == cudaErrorInvalidValue;
    CHECK(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    fill<<<1, 256, bytes>>>(out, n);
    CHECK(cudaMemcpy(&last, out + n - 1, sizeof last, cudaMemcpyDeviceToHost));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, bytes));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
    right = right && last == 0 && device.warpSize == 32 && optin == static_cast<int>(device.sharedMemPerBlockOptin) &&
            facts.maxThreadsPerBlock == 1024 && blocks >= 1 && block == 1024 && grid >= device.multiProcessorCount;
    return verdict(right);
}
