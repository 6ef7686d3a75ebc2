// Graphs that choose and repeat on the device: if and else, while with a captured body, switch, one in another.
// FAULT: the body of the loop leaves its array.
#include "checked.h"

__global__ void choose(cudaGraphConditionalHandle handle, const unsigned *value)
{
    cudaGraphSetConditional(handle, *value);
}

__global__ void add(int *sums, int at, int amount)
{
    sums[at] += amount;
}

__global__ void step(cudaGraphConditionalHandle handle, int *left, int *sums)
{
#ifdef FAULT
    sums[8 - *left] += 1;
#else
    sums[3] += *left;
#endif
    cudaGraphSetConditional(handle, --*left > 0);
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t before, void *kernel, void **arguments)
{
    cudaGraphNode_t node;
    cudaGraphNodeParams facts = {cudaGraphNodeTypeKernel};
    facts.kernel.func = kernel;
    facts.kernel.gridDim = facts.kernel.blockDim = dim3(1);
    facts.kernel.kernelParams = arguments;
    CHECK(cudaGraphAddNode(&node, graph, before == nullptr ? nullptr : &before, nullptr, before == nullptr ? 0 : 1,
                           &facts));
    return node;
}

static cudaGraph_t *add_condition(cudaGraph_t graph, cudaGraphNode_t before, cudaGraphConditionalHandle handle,
                                  cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t *node)
{
    cudaGraphNodeParams facts = {cudaGraphNodeTypeConditional};
    facts.conditional.handle = handle;
    facts.conditional.type = type;
    facts.conditional.size = size;
    CHECK(cudaGraphAddNode(node, graph, before == nullptr ? nullptr : &before, nullptr, before == nullptr ? 0 : 1,
                           &facts));
    return facts.conditional.phGraph_out;
}

int main()
{
    unsigned value;
    int *sums, *left, seen[4], first = 0, second = 1, third = 2, one = 1, ten = 10, hundred = 100;
    unsigned *wanted;
    CHECK(cudaMalloc(&sums, 4 * sizeof *sums));
    CHECK(cudaMalloc(&left, sizeof *left));
    CHECK(cudaMalloc(&wanted, sizeof *wanted));
    CHECK(cudaMemset(sums, 0, 4 * sizeof *sums));
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle chosen, turns, cases;
    CHECK(cudaGraphConditionalHandleCreate(&chosen, graph, 0, 0));
    CHECK(cudaGraphConditionalHandleCreate(&turns, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&cases, graph, 1, cudaGraphCondAssignDefault));

    void *choice[] = {&chosen, &wanted};
    cudaGraphNode_t start = add_kernel(graph, nullptr, reinterpret_cast<void *>(choose), choice), branch, loop, last;
    cudaGraph_t *bodies = add_condition(graph, start, chosen, cudaGraphCondTypeIf, 2, &branch);
    void *then[] = {&sums, &first, &one}, *otherwise[] = {&sums, &second, &ten};
    add_kernel(bodies[0], nullptr, reinterpret_cast<void *>(add), then);
    add_kernel(bodies[1], nullptr, reinterpret_cast<void *>(add), otherwise);

    bodies = add_condition(graph, branch, turns, cudaGraphCondTypeWhile, 1, &loop);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCaptureToGraph(stream, bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    step<<<1, 1, 0, stream>>>(turns, left, sums);
    CHECK(cudaStreamEndCapture(stream, nullptr));

    bodies = add_condition(bodies[0], nullptr, cases, cudaGraphCondTypeSwitch, 3, &last);
    void *middle[] = {&sums, &third, &hundred};
    add_kernel(bodies[1], nullptr, reinterpret_cast<void *>(add), middle);

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (value = 0; value < 3; value++) {
        int turn = 4;
        CHECK(cudaMemcpy(wanted, &value, sizeof value, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(left, &turn, sizeof turn, cudaMemcpyHostToDevice));
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(seen, sums, sizeof seen, cudaMemcpyDeviceToHost));
    bool right = seen[0] == 2 && seen[1] == 10 && seen[2] == 1200 && seen[3] == 30;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(sums));
    return verdict(right);
}
