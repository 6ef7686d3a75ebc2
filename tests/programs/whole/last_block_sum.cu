// The last block to finish adds what the others have left. FAULT: no fence comes before the ticket is drawn.
#include "checked.h"

__device__ unsigned tickets;

__global__ void sum(const int *in, volatile int *parts, int *total)
{
    __shared__ bool is_last;
    atomicAdd(const_cast<int *>(&parts[blockIdx.x]), in[blockIdx.x * blockDim.x + threadIdx.x]);
#ifndef FAULT
    __threadfence();
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(&tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        __threadfence();
        int all = 0;
        for (unsigned i = 0; i < gridDim.x; i++) {
            all += parts[i];
        }
        *total = all;
    }
#ifdef FAULT
    parts[blockIdx.x] = *total;
#endif
}

int main()
{
    const int blocks = 8, threads = 64;
    int host[blocks * threads], *in, *parts, *total, all;
    for (int i = 0; i < blocks * threads; i++) {
        host[i] = i;
    }
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&parts, blocks * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(parts, 0, blocks * sizeof(int)));
    sum<<<blocks, threads>>>(in, parts, total);
    CHECK(cudaMemcpy(&all, total, sizeof all, cudaMemcpyDeviceToHost));
    return verdict(all == 512 * 511 / 2);
}
