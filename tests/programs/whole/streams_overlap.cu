// Chunks in several streams with pinned memory, and an event that joins them. FAULT: the last chunk is too long.
#include "checked.h"

__global__ void square(float *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] *= data[i];
    }
}

int main()
{
    const int streams = 4, chunk = 256, n = streams * chunk;
    float *host, *device;
    cudaStream_t stream[streams], last;
    cudaEvent_t done[streams];
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMalloc(&device, n * sizeof(float)));
    for (int i = 0; i < n; i++) {
        host[i] = i;
    }
    CHECK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
    for (int s = 0; s < streams; s++) {
        int length = chunk;
#ifdef FAULT
        length += s == streams - 1 ? 1 : 0;
#endif
        CHECK(cudaStreamCreate(&stream[s]));
        CHECK(cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming));
        float *part = device + s * chunk;
        CHECK(cudaMemcpyAsync(part, host + s * chunk, chunk * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
        square<<<(length + 127) / 128, 128, 0, stream[s]>>>(part, length);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(done[s], stream[s]));
        CHECK(cudaStreamWaitEvent(last, done[s], 0));
    }
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(float), cudaMemcpyDeviceToHost, last));
    CHECK(cudaStreamSynchronize(last));
    bool right = cudaStreamQuery(last) == cudaSuccess;
    for (int i = 0; i < n; i++) {
        right = right && host[i] == float(i) * float(i);
    }
    for (int s = 0; s < streams; s++) {
        CHECK(cudaEventDestroy(done[s]));
        CHECK(cudaStreamDestroy(stream[s]));
    }
    CHECK(cudaFreeHost(host));
    return verdict(right);
}
