/* Functions of graphs whose parameters are not those of the runtime: they name a context, or a copy or a kernel as the
 * driver has it. The others are rows of driver.def. */
#include "runtime/driver.h"
#include "runtime/graph.h"
#include "runtime/outcome.h"

extern smk_cuda cudaGraphAddMemsetNode(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                       size_t count, const void *facts);
extern smk_cuda cudaGraphExecMemsetNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node, const void *facts);
extern smk_cuda cudaGraphConditionalHandleCreate(uint64_t *handle, smk_cuda_graph *graph, unsigned value,
                                                 unsigned flags);

extern smk_cuda cudaGraphAddNode_v2(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                    const void *data, size_t count, void *facts);
extern smk_cuda cudaGraphNodeSetParams(smk_cuda_node *node, void *facts);
extern smk_cuda cudaGraphKernelNodeGetParams(smk_cuda_node *node, smk_cuda_kernel_node *facts);
extern smk_cuda cudaGraphInstantiate(smk_cuda_graph_exec **exec, smk_cuda_graph *graph, unsigned long long flags);

typedef struct kernel_node {
    smk_cuda_kernel_node node;
    void *kernel, *context; /* a kernel in place of a function */
} kernel_node;

/* What a node of any kind does: as the runtime has it, but for copies. */
typedef struct any_node {
    int type;
    int reserved[3];
    union {
        long long room[29];
        kernel_node launch;
        struct {
            int flags, reserved;
            void *context;
            unsigned char box[200];
        } copy;
    } as;
    long long end;
} any_node;

SMK_EXPORT smk_cuda cuGraphAddMemcpyNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                         smk_cuda_node *const *dependencies, size_t count, const void *box,
                                         const void *context)
{
    smk_work work = {.kind = SMK_WORK_COPY};
    const smk_cuda code = smk_driver_make_copy(box, &work.as.copy);
    (void)context;
    return smk_driver_code(code == SMK_CUDA_Success ? smk_node_add(node, graph, dependencies, count, &work) : code);
}

SMK_EXPORT smk_cuda cuGraphMemcpyNodeGetParams(const smk_cuda_node *node, void *box)
{
    if (node == NULL || box == NULL || node->work.kind != SMK_WORK_COPY) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    smk_driver_describe_copy(&node->work.as.copy, box);
    return SMK_CUDA_Success;
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

/* Nodes of any kind ---------------------------------------------------------------------------------------- */

/* The facts of a node whose function is its kernel. */
static any_node *settle(any_node *facts, any_node *own)
{
    if (facts->type != SMK_WORK_KERNEL || facts->as.launch.node.function != NULL) {
        return facts;
    }
    *own = *facts;
    own->as.launch.node.function = facts->as.launch.kernel;
    return own;
}

SMK_EXPORT smk_cuda cuGraphAddNode_v2(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                      const void *data, size_t count, any_node *facts)
{
    any_node own;
    return facts->type == SMK_WORK_COPY
               ? cuGraphAddMemcpyNode(node, graph, dependencies, count, facts->as.copy.box, NULL)
               : smk_driver_code(cudaGraphAddNode_v2(node, graph, dependencies, data, count, settle(facts, &own)));
}

SMK_EXPORT smk_cuda cuGraphAddNode(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                   size_t count, any_node *facts)
{
    return cuGraphAddNode_v2(node, graph, dependencies, NULL, count, facts);
}

SMK_EXPORT smk_cuda cuGraphNodeSetParams(smk_cuda_node *node, any_node *facts)
{
    any_node own;
    return facts->type == SMK_WORK_COPY ? cuGraphMemcpyNodeSetParams(node, facts->as.copy.box)
                                        : smk_driver_code(cudaGraphNodeSetParams(node, settle(facts, &own)));
}

SMK_EXPORT smk_cuda cuGraphExecNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node, any_node *facts)
{
    return cuGraphNodeSetParams(smk_graph_find_copy(exec->graph, node), facts);
}

/* A kernel is its function, and there is one context. */
SMK_EXPORT smk_cuda cuGraphKernelNodeGetParams_v2(smk_cuda_node *node, kernel_node *facts)
{
    facts->kernel = facts->context = NULL;
    return smk_driver_code(cudaGraphKernelNodeGetParams(node, &facts->node));
}

SMK_EXPORT smk_cuda cuGraphKernelNodeGetParams(smk_cuda_node *node, smk_cuda_kernel_node *facts)
{
    return smk_driver_code(cudaGraphKernelNodeGetParams(node, facts));
}

/* As it was before CUDA 12: with room for a message, which is not needed. */
SMK_EXPORT smk_cuda cuGraphInstantiate_v2(smk_cuda_graph_exec **exec, smk_cuda_graph *graph, smk_cuda_node **node,
                                          char *message, size_t bytes)
{
    if (node != NULL) {
        *node = NULL;
    }
    if (message != NULL && bytes > 0) {
        *message = '\0';
    }
    return smk_driver_code(cudaGraphInstantiate(exec, graph, 0));
}
SMK_EXPORT_AS(cuGraphInstantiate, cuGraphInstantiate_v2);
