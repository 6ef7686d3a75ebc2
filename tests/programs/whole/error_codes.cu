// The codes of calls that fail, and how long an error stays. FAULT: the last kernel writes through a null pointer.
#include "checked.h"

__global__ void __launch_bounds__(128) touch(int *data)
{
    data[threadIdx.x] = 1;
}

static void show(const char *what, cudaError_t code)
{
    printf("%s: %s, %s\n", what, cudaGetErrorName(code), cudaGetErrorString(code));
}

int main()
{
    int *data, host;
    show("malloc", cudaMalloc(&data, 128 * sizeof(int)));
    touch<<<1, 2048>>>(data);
    show("2048 threads", cudaGetLastError());
    show("again", cudaGetLastError());
    touch<<<0, 32>>>(data);
    show("no block", cudaPeekAtLastError());
    show("still", cudaGetLastError());
    touch<<<1, 32, 1 << 20>>>(data);
    show("too much shared memory", cudaGetLastError());
    show("copy of a null pointer", cudaMemcpy(&host, nullptr, 4, cudaMemcpyDeviceToHost));
    show("wrong direction", cudaMemcpy(&host, data, 4, static_cast<cudaMemcpyKind>(9)));
    show("free of the host's memory", cudaFree(&host));
    show("device 99", cudaSetDevice(99));
    (void)cudaGetLastError();
    touch<<<1, 128>>>(data);
    show("launch", cudaGetLastError());
    show("synchronize", cudaDeviceSynchronize());
#ifdef FAULT
    touch<<<1, 32>>>(nullptr);
    show("fault", cudaDeviceSynchronize());
    show("it stays", cudaMalloc(&data, 4));
#endif
    return verdict(true);
}
