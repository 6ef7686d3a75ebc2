// What kernels print comes at the next synchronization. FAULT: a kernel prints what was never written.
#include "checked.h"

__global__ void say(const int *values, int n)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < n; i++) {
            printf("value %d is %d, %.2f, %s\n", i, values[i], values[i] / 4.0, "text");
        }
    }
}

int main()
{
    int host[3] = {4, 5, 6}, *device;
    CHECK(cudaMalloc(&device, sizeof host));
    int count = 3;
#ifdef FAULT
    count = 2;
#endif
    CHECK(cudaMemcpy(device, host, count * sizeof(int), cudaMemcpyHostToDevice));
    say<<<1, 32>>>(device, 3);
    printf("before\n");
    CHECK(cudaDeviceSynchronize());
    printf("after\n");
    return verdict(true);
}
