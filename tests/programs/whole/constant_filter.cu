// A filter in constant memory, set by cudaMemcpyToSymbol. FAULT: the halo is read outside of the row.
#include "checked.h"
#include <vector>

constexpr int taps = 5;
__constant__ float filter[taps];

__global__ void convolve(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float sum = 0;
    for (int k = 0; k < taps; k++) {
        int at = i + k - taps / 2;
#ifndef FAULT
        if (at >= 0 && at < n)
#endif
            sum += filter[k] * in[at];
    }
    out[i] = sum;
}

int main()
{
    const int n = 512;
    const float weights[taps] = {1, 2, 4, 2, 1};
    std::vector<float> in(n, 1.0f), out(n);
    float *d_in, *d_out;
    CHECK(cudaMemcpyToSymbol(filter, weights, sizeof weights));
    CHECK(cudaMalloc(&d_in, n * sizeof(float)));
    CHECK(cudaMalloc(&d_out, n * sizeof(float)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    convolve<<<4, 128>>>(d_in, d_out, n);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
    return verdict(out[0] == 7 && out[1] == 9 && out[2] == 10 && out[n - 1] == 7);
}
