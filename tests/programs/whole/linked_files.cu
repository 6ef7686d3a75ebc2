// Device code in two files that the device linker joins; the function is in linked_files_part.inc.cu. FAULT: the function
// reads behind its table.
// Compile with: -rdc=true -arch=sm_75
// Link with: linked_files_part.inc.cu
#include "checked.h"

extern __device__ int weigh(int i);
extern __device__ int offset;

__global__ void apply(int *out)
{
    out[threadIdx.x] = weigh(threadIdx.x) + offset;
}

int main()
{
    int *out, host[32], base = 100;
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMemcpyToSymbol(offset, &base, sizeof base));
    apply<<<1, 32>>>(out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    return verdict(host[0] == 101 && host[31] == 101 + 31 % 8);
}
