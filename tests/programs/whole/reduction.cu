// A sum by shared memory, shuffles and one atomic a block, for two types. FAULT: the total is never set to zero.
#include "checked.h"
#include <vector>

template <typename T, int threads> __global__ void sum(const T *in, T *total, int n)
{
    __shared__ T parts[threads / 32];
    T mine = 0;
    for (int i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        mine += in[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        mine += __shfl_down_sync(0xffffffff, mine, step);
    }
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        T all = 0;
        for (T part : parts) {
            all += part;
        }
        atomicAdd(total, all);
    }
}

template <typename T> bool sums(int n)
{
    std::vector<T> in(n);
    T wanted = 0, total = 0, *d_in, *d_total;
    for (int i = 0; i < n; i++) {
        in[i] = static_cast<T>(i % 100);
        wanted += in[i];
    }
    CHECK(cudaMalloc(&d_in, n * sizeof(T)));
    CHECK(cudaMalloc(&d_total, sizeof(T)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(T), cudaMemcpyHostToDevice));
#ifndef FAULT
    CHECK(cudaMemset(d_total, 0, sizeof(T)));
#endif
    sum<T, 256><<<8, 256>>>(d_in, d_total, n);
    CHECK(cudaMemcpy(&total, d_total, sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_total));
    return total == wanted;
}

int main()
{
    return verdict(sums<int>(10000) && sums<float>(5000));
}
