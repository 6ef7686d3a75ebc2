// A histogram, timed by events. FAULT: counts are added without atomics.
#include "checked.h"
#include <vector>

__global__ void count(const unsigned char *in, int n, unsigned *bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#ifdef FAULT
        bins[in[i]]++;
#else
        atomicAdd(&bins[in[i]], 1u);
#endif
    }
}

int main()
{
    const int n = 4096;
    std::vector<unsigned char> in(n);
    unsigned bins[256] = {0}, *d_bins;
    unsigned char *d_in;
    for (int i = 0; i < n; i++) {
        in[i] = static_cast<unsigned char>(i * 7);
    }
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaMalloc(&d_in, n));
    CHECK(cudaMalloc(&d_bins, sizeof bins));
    CHECK(cudaMemset(d_bins, 0, sizeof bins));
    CHECK(cudaMemcpy(d_in, in.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaEventRecord(start));
    count<<<4, 256>>>(d_in, n, d_bins);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(cudaMemcpy(bins, d_bins, sizeof bins, cudaMemcpyDeviceToHost));
    bool right = milliseconds > 0;
    for (unsigned bin : bins) {
        right = right && bin == n / 256;
    }
    return verdict(right);
}
