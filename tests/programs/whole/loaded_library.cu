// A module that the program loads itself, as PTX text, and a graph that says what its nodes do. FAULT: too many threads.
#include "checked.h"

static const char text[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 step = 3;
.visible .entry fill(.param .u64 fill_param_0)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [fill_param_0];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    ld.global.u32 %r2, [step];
    mul.lo.u32 %r3, %r1, %r2;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r3;
    ret;
}
)";

int main()
{
    int threads = 32;
#ifdef FAULT
    threads = 64;
#endif
    unsigned *data, host[32], step = 5;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *address;
    size_t bytes;
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "fill"));
    CHECK(cudaLibraryGetGlobal(&address, &bytes, library, "step"));
    bool right = bytes == sizeof step && cudaLibraryGetKernel(&kernel, library, "none") == cudaErrorSymbolNotFound;
    CHECK(cudaLibraryGetKernel(&kernel, library, "fill"));
    CHECK(cudaMemcpy(address, &step, bytes, cudaMemcpyHostToDevice));
    cudaGraph_t graph;
    cudaGraphNode_t node, clear;
    cudaGraphExec_t exec;
    cudaMemsetParams zeros = {};
    zeros.dst = data;
    zeros.elementSize = 4;
    zeros.width = 32;
    zeros.height = 1;
    void *arguments[] = {&data};
    cudaKernelNodeParams facts = {};
    facts.func = reinterpret_cast<void *>(kernel);
    facts.gridDim = dim3(1);
    facts.blockDim = dim3(threads);
    facts.kernelParams = arguments;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zeros));
    CHECK(cudaGraphAddKernelNode(&node, graph, &clear, 1, &facts));
    cudaMemsetParams back;
    CHECK(cudaGraphMemsetNodeGetParams(clear, &back));
    right = right && back.dst == data && back.width == 32;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaLibraryUnload(library));
    return verdict(right && host[31] == 31 * 5);
}
