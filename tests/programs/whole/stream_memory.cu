// Memory in the order of a stream, from the device's pool. FAULT: memory is read that a stream has just been given.
#include "checked.h"

__global__ void add(const int *in, int *out)
{
    out[threadIdx.x] = in[threadIdx.x] + 1;
}

int main()
{
    cudaMemPool_t pool;
    cudaStream_t stream;
    int *in, *out, host[64];
    unsigned long long threshold = ~0ull, used = 0;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaStreamCreate(&stream));
    bool right = true;
    for (int round = 0; round < 3; round++) {
        CHECK(cudaMallocAsync(&in, sizeof host, stream));
        CHECK(cudaMallocAsync(&out, sizeof host, stream));
#ifndef FAULT
        CHECK(cudaMemsetAsync(in, round, sizeof host, stream));
#endif
        add<<<1, 64, 0, stream>>>(in, out);
        CHECK(cudaMemcpyAsync(host, out, sizeof host, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(in, stream));
        CHECK(cudaFreeAsync(out, stream));
        CHECK(cudaStreamSynchronize(stream));
        right = right && host[63] == 0x01010101 * round + 1;
    }
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    return verdict(right && used == 0);
}
