// A graph captured from two streams and launched several times. FAULT: one step of it reads what no step has written.
#include "checked.h"

__global__ void fill(int *data, int value)
{
    data[threadIdx.x] = value;
}

__global__ void add(int *a, const int *b)
{
    a[threadIdx.x] += b[threadIdx.x];
}

int main()
{
    const int n = 64, launches = 5;
    int *a, *b, host[n];
    cudaStream_t main_stream, side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMalloc(&b, sizeof host));
    CHECK(cudaMemset(a, 0, sizeof host));
    CHECK(cudaStreamCreate(&main_stream));
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, main_stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
#ifndef FAULT
    fill<<<1, n, 0, side>>>(b, 3);
#endif
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(main_stream, join, 0));
    add<<<1, n, 0, main_stream>>>(a, b);
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(main_stream, &status));
    bool right = status == cudaStreamCaptureStatusActive;
    CHECK(cudaStreamEndCapture(main_stream, &graph));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < launches; i++) {
        CHECK(cudaGraphLaunch(exec, main_stream));
    }
    CHECK(cudaStreamSynchronize(main_stream));
    CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    right = right && nodes == 2 && host[0] == 3 * launches && host[n - 1] == 3 * launches;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return verdict(right);
}
