// A program of two files; the kernels are in two_files_kernels.inc.cu. FAULT: one of them leaves its array.
// Link with: two_files_kernels.inc.cu
#include "checked.h"

void run_scale(float *data, float factor, int n);
void run_shift(float *data, float by, int n);

int main()
{
    const int n = 1000;
    float *data, host[n];
    CHECK(cudaMalloc(&data, sizeof host));
    for (float &value : host) {
        value = 1;
    }
    CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    run_scale(data, 3, n);
    run_shift(data, -1, n);
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    return verdict(host[0] == 2 && host[n - 1] == 2);
}
