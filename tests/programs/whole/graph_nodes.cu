// A graph made node by node: copies, a fill, kernels, a host function; one parameter changes. FAULT: a kernel leaves its row.
#include "checked.h"

__global__ void scale(float *data, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT
    n += 1;
#endif
    if (i < n) {
        data[i] *= factor;
    }
}

__device__ float shift[2];

static void CUDART_CB count(void *context)
{
    ++*static_cast<int *>(context);
}

int main()
{
    int n = 100, calls = 0;
    float factor = 2, in[100], out[100], *device;
    for (int i = 0; i < n; i++) {
        in[i] = i;
    }
    CHECK(cudaMalloc(&device, sizeof in));
    cudaGraph_t graph;
    cudaGraphNode_t copy_in, kernel, copy_out, host;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&copy_in, graph, nullptr, 0, device, in, sizeof in, cudaMemcpyHostToDevice));
    void *arguments[] = {&device, &factor, &n};
    cudaKernelNodeParams facts = {};
    facts.func = reinterpret_cast<void *>(scale);
    facts.gridDim = dim3(1);
    facts.blockDim = dim3(128);
    facts.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &copy_in, 1, &facts));
    CHECK(cudaGraphAddMemcpyNode1D(&copy_out, graph, &kernel, 1, out, device, sizeof out, cudaMemcpyDeviceToHost));
    cudaHostNodeParams call = {count, &calls};
    CHECK(cudaGraphAddHostNode(&host, graph, &copy_out, 1, &call));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    bool right = calls == 1 && out[99] == 198;
    factor = 5;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &facts));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    size_t edges = 0;
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    right = right && calls == 2 && out[99] == 495 && edges == 3;
    cudaGraphNodeParams other = {};
    other.type = cudaGraphNodeTypeHost;
    other.host.fn = count;
    other.host.userData = &n;
    CHECK(cudaGraphExecNodeSetParams(exec, host, &other));
    CHECK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, copy_out, out, shift, 4, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, copy_in, shift, in + 1, 8, 0, cudaMemcpyHostToDevice));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    return verdict(right && calls == 2 && n == 101 && out[0] == 2 && out[99] == 495);
}
