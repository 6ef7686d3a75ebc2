/* Functions of graphs whose parameters are not those of the runtime: they name a context, or a copy as the driver has
 * it. The others are rows of driver.def. */
#include "runtime/driver.h"
#include "runtime/graph.h"
#include "runtime/outcome.h"

extern smk_cuda cudaGraphAddMemsetNode(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                       size_t count, const void *facts);
extern smk_cuda cudaGraphExecMemsetNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node, const void *facts);
extern smk_cuda cudaGraphConditionalHandleCreate(uint64_t *handle, smk_cuda_graph *graph, unsigned value,
                                                 unsigned flags);

SMK_EXPORT smk_cuda cuGraphAddMemcpyNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                         smk_cuda_node *const *dependencies, size_t count, const void *box,
                                         const void *context)
{
    smk_work work = {.kind = SMK_WORK_COPY};
    const smk_cuda code = smk_driver_make_copy(box, &work.as.copy);
    (void)context;
    return smk_driver_code(code == SMK_CUDA_Success ? smk_node_add(node, graph, dependencies, count, &work) : code);
}

SMK_EXPORT smk_cuda cuGraphMemcpyNodeSetParams(smk_cuda_node *node, const void *box)
{
    smk_work work = {.kind = SMK_WORK_COPY};
    const smk_cuda code = smk_driver_make_copy(box, &work.as.copy);
    return smk_driver_code(code == SMK_CUDA_Success ? smk_node_change(node, &work) : code);
}

SMK_EXPORT smk_cuda cuGraphExecMemcpyNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node, const void *box,
                                                   const void *context)
{
    (void)context;
    return cuGraphMemcpyNodeSetParams(smk_graph_find_copy(exec->graph, node), box);
}

SMK_EXPORT smk_cuda cuGraphAddMemsetNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                         smk_cuda_node *const *dependencies, size_t count, const void *facts,
                                         const void *context)
{
    (void)context;
    return smk_driver_code(cudaGraphAddMemsetNode(node, graph, dependencies, count, facts));
}

SMK_EXPORT smk_cuda cuGraphExecMemsetNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node, const void *facts,
                                                   const void *context)
{
    (void)context;
    return smk_driver_code(cudaGraphExecMemsetNodeSetParams(exec, node, facts));
}

SMK_EXPORT smk_cuda cuGraphConditionalHandleCreate(uint64_t *handle, smk_cuda_graph *graph, const void *context,
                                                   unsigned value, unsigned flags)
{
    (void)context;
    return smk_driver_code(cudaGraphConditionalHandleCreate(handle, graph, value, flags));
}
