// Functions of the host in a stream, in their order. FAULT: a kernel reads behind the array that one of them has filled.
#include "checked.h"

static int order[3], called;

static void CUDART_CB note(void *context)
{
    order[called++] = *static_cast<int *>(context);
}

static void CUDART_CB note_as_callback(cudaStream_t, cudaError_t status, void *context)
{
    order[called++] = status == cudaSuccess ? *static_cast<int *>(context) : -1;
}

__global__ void raise(int *data, int n)
{
#ifdef FAULT
    n = 40;
#endif
    if (static_cast<int>(threadIdx.x) < n) {
        data[threadIdx.x]++;
    }
}

int main()
{
    int numbers[3] = {1, 2, 3}, host[32], *data;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMemsetAsync(data, 0, sizeof host, stream));
    CHECK(cudaLaunchHostFunc(stream, note, &numbers[0]));
    raise<<<1, 64, 0, stream>>>(data, 32);
    CHECK(cudaStreamAddCallback(stream, note_as_callback, &numbers[1], 0));
    CHECK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, note, &numbers[2]));
    CHECK(cudaStreamSynchronize(stream));
    return verdict(called == 3 && order[0] == 1 && order[1] == 2 && order[2] == 3 && host[31] == 1);
}
