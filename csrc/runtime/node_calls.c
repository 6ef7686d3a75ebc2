/* Nodes of graphs: each kind is added to a graph, changed in it, and changed in a graph that can be launched. */
#include "base/heap.h"
#include "runtime/allocations.h"
#include "runtime/conditional.h"
#include "runtime/launch_kernel.h"
#include "runtime/outcome.h"
#include "runtime/stream.h"
#include "runtime/texel_array.h"

#include <string.h>

smk_cuda smk_node_add(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies, size_t count,
                      const smk_work *work)
{
    smk_node_list before = {0};
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        done = smk_graph_list_add(&before, dependencies[i]);
    }
    *node = done ? smk_graph_add(graph, &before, work) : NULL;
    smk_graph_list_free(&before);
    return smk_outcome_return(*node == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_Success);
}

smk_cuda smk_node_change(smk_cuda_node *node, const smk_work *work)
{
    smk_work kept;
    if (node == NULL || node->work.kind != work->kind) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    if (!smk_work_keep(work, &kept)) {
        return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
    }
    kept.disabled = node->work.disabled;
    smk_work_release(&node->work);
    node->work = kept;
    return SMK_CUDA_Success;
}

static smk_cuda_node *find(const smk_cuda_graph_exec *exec, const smk_cuda_node *node)
{
    return smk_graph_find_copy(exec->graph, node);
}

/* Kernels -------------------------------------------------------------------------------------------------- */

/* The work of a kernel; *unpacked is for the caller to free, once the work is kept. */
static smk_cuda make_kernel(const smk_cuda_kernel_node *facts, smk_work *work, void ***unpacked)
{
    smk_cuda code = SMK_CUDA_Success;
    *unpacked = NULL;
    *work = (smk_work){.kind = SMK_WORK_KERNEL,
                       .as.launch = {.kernel = smk_binaries_find_kernel(facts->function, &code),
                                     .grid = facts->grid,
                                     .block = facts->block,
                                     .shared_bytes = facts->shared_bytes,
                                     .parameters = facts->parameters}};
    if (code == SMK_CUDA_Success && facts->parameters == NULL && facts->extra != NULL) {
        *unpacked = smk_launch_kernel_unpack(work->as.launch.kernel, facts->extra, &code);
        work->as.launch.parameters = *unpacked;
    } else if (code == SMK_CUDA_Success && facts->parameters == NULL && work->as.launch.kernel->parameter_count > 0) {
        code = SMK_CUDA_ErrorInvalidValue;
    }
    return code;
}

SMK_EXPORT smk_cuda cudaGraphAddKernelNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                           smk_cuda_node *const *dependencies, size_t count,
                                           const smk_cuda_kernel_node *facts)
{
    smk_work work;
    void **unpacked;
    smk_cuda code = make_kernel(facts, &work, &unpacked);
    code = code == SMK_CUDA_Success ? smk_node_add(node, graph, dependencies, count, &work) : smk_outcome_return(code);
    smk_heap_free((void *)unpacked);
    return code;
}

SMK_EXPORT smk_cuda cudaGraphKernelNodeSetParams(smk_cuda_node *node, const smk_cuda_kernel_node *facts)
{
    smk_work work;
    void **unpacked;
    smk_cuda code = make_kernel(facts, &work, &unpacked);
    code = code == SMK_CUDA_Success ? smk_node_change(node, &work) : smk_outcome_return(code);
    smk_heap_free((void *)unpacked);
    return code;
}

SMK_EXPORT smk_cuda cudaGraphExecKernelNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                     const smk_cuda_kernel_node *facts)
{
    return cudaGraphKernelNodeSetParams(find(exec, node), facts);
}

SMK_EXPORT smk_cuda cudaGraphKernelNodeGetParams(smk_cuda_node *node, smk_cuda_kernel_node *facts)
{
    if (node->work.kind != SMK_WORK_KERNEL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    const smk_work_launch *launch = &node->work.as.launch;
    *facts = (smk_cuda_kernel_node){.function = launch->kernel,
                                    .grid = launch->grid,
                                    .block = launch->block,
                                    .shared_bytes = (unsigned)launch->shared_bytes,
                                    .parameters = launch->parameters};
    return SMK_CUDA_Success;
}

/* Copies --------------------------------------------------------------------------------------------------- */

static smk_work make_copy(void *target, const void *source, size_t bytes, int kind)
{
    return (smk_work){.kind = SMK_WORK_COPY,
                      .as.copy = {.target = target,
                                  .source = source,
                                  .target_pitch = bytes,
                                  .source_pitch = bytes,
                                  .width = bytes,
                                  .height = 1,
                                  .depth = 1,
                                  .kind = kind}};
}

SMK_EXPORT smk_cuda cudaGraphAddMemcpyNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                           smk_cuda_node *const *dependencies, size_t count,
                                           const smk_cuda_copy3d *copy)
{
    smk_work work = {.kind = SMK_WORK_COPY};
    const smk_cuda code = smk_texel_array_make_copy(copy, &work.as.copy);
    return code == SMK_CUDA_Success ? smk_node_add(node, graph, dependencies, count, &work) : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphMemcpyNodeSetParams(smk_cuda_node *node, const smk_cuda_copy3d *copy)
{
    smk_work work = {.kind = SMK_WORK_COPY};
    const smk_cuda code = smk_texel_array_make_copy(copy, &work.as.copy);
    return code == SMK_CUDA_Success ? smk_node_change(node, &work) : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphExecMemcpyNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                     const smk_cuda_copy3d *copy)
{
    return cudaGraphMemcpyNodeSetParams(find(exec, node), copy);
}

SMK_EXPORT smk_cuda cudaGraphAddMemcpyNode1D(smk_cuda_node **node, smk_cuda_graph *graph,
                                             smk_cuda_node *const *dependencies, size_t count, void *target,
                                             const void *source, size_t bytes, int kind)
{
    const smk_work work = make_copy(target, source, bytes, kind);
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphMemcpyNodeSetParams1D(smk_cuda_node *node, void *target, const void *source, size_t bytes,
                                                   int kind)
{
    const smk_work work = make_copy(target, source, bytes, kind);
    return smk_node_change(node, &work);
}

SMK_EXPORT smk_cuda cudaGraphExecMemcpyNodeSetParams1D(smk_cuda_graph_exec *exec, smk_cuda_node *node, void *target,
                                                       const void *source, size_t bytes, int kind)
{
    return cudaGraphMemcpyNodeSetParams1D(find(exec, node), target, source, bytes, kind);
}

static smk_cuda locate(const void *symbol, size_t offset, void **address)
{
    smk_device_variable *variable = NULL;
    const smk_cuda code = smk_binaries_find_variable(symbol, &variable);
    if (code == SMK_CUDA_Success) {
        *address = (void *)(uintptr_t)(variable->address + offset); // NOLINT(performance-no-int-to-ptr)
    }
    return code;
}

SMK_EXPORT smk_cuda cudaGraphAddMemcpyNodeToSymbol(smk_cuda_node **node, smk_cuda_graph *graph,
                                                   smk_cuda_node *const *dependencies, size_t count, const void *symbol,
                                                   const void *source, size_t bytes, size_t offset, int kind)
{
    void *address = NULL;
    const smk_cuda code = locate(symbol, offset, &address);
    return code == SMK_CUDA_Success
               ? cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, address, source, bytes, kind)
               : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphAddMemcpyNodeFromSymbol(smk_cuda_node **node, smk_cuda_graph *graph,
                                                     smk_cuda_node *const *dependencies, size_t count, void *target,
                                                     const void *symbol, size_t bytes, size_t offset, int kind)
{
    void *address = NULL;
    const smk_cuda code = locate(symbol, offset, &address);
    return code == SMK_CUDA_Success
               ? cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, target, address, bytes, kind)
               : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphMemcpyNodeSetParamsToSymbol(smk_cuda_node *node, const void *symbol, const void *source,
                                                         size_t bytes, size_t offset, int kind)
{
    void *address = NULL;
    const smk_cuda code = locate(symbol, offset, &address);
    return code == SMK_CUDA_Success ? cudaGraphMemcpyNodeSetParams1D(node, address, source, bytes, kind)
                                    : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphExecMemcpyNodeSetParamsToSymbol(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                             const void *symbol, const void *source, size_t bytes,
                                                             size_t offset, int kind)
{
    return cudaGraphMemcpyNodeSetParamsToSymbol(find(exec, node), symbol, source, bytes, offset, kind);
}

SMK_EXPORT smk_cuda cudaGraphMemcpyNodeSetParamsFromSymbol(smk_cuda_node *node, void *target, const void *symbol,
                                                           size_t bytes, size_t offset, int kind)
{
    void *address = NULL;
    const smk_cuda code = locate(symbol, offset, &address);
    return code == SMK_CUDA_Success ? cudaGraphMemcpyNodeSetParams1D(node, target, address, bytes, kind)
                                    : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphExecMemcpyNodeSetParamsFromSymbol(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                               void *target, const void *symbol, size_t bytes,
                                                               size_t offset, int kind)
{
    return cudaGraphMemcpyNodeSetParamsFromSymbol(find(exec, node), target, symbol, bytes, offset, kind);
}

/* Fills, host functions, graphs, events -------------------------------------------------------------------- */

static smk_work make_fill(const smk_cuda_memset_node *facts)
{
    return (smk_work){.kind = SMK_WORK_FILL,
                      .as.fill = {.target = facts->target,
                                  .pitch = facts->pitch,
                                  .width = facts->width,
                                  .height = facts->height,
                                  .depth = 1,
                                  .value = facts->value,
                                  .element_bytes = facts->element_bytes}};
}

SMK_EXPORT smk_cuda cudaGraphAddMemsetNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                           smk_cuda_node *const *dependencies, size_t count,
                                           const smk_cuda_memset_node *facts)
{
    const smk_work work = make_fill(facts);
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphMemsetNodeSetParams(smk_cuda_node *node, const smk_cuda_memset_node *facts)
{
    const smk_work work = make_fill(facts);
    return smk_node_change(node, &work);
}

SMK_EXPORT smk_cuda cudaGraphExecMemsetNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                     const smk_cuda_memset_node *facts)
{
    return cudaGraphMemsetNodeSetParams(find(exec, node), facts);
}

SMK_EXPORT smk_cuda cudaGraphAddHostNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                         smk_cuda_node *const *dependencies, size_t count,
                                         const smk_cuda_host_node *facts)
{
    const smk_work work = {.kind = SMK_WORK_HOST, .as.host = *facts};
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphHostNodeSetParams(smk_cuda_node *node, const smk_cuda_host_node *facts)
{
    const smk_work work = {.kind = SMK_WORK_HOST, .as.host = *facts};
    return smk_node_change(node, &work);
}

SMK_EXPORT smk_cuda cudaGraphExecHostNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                   const smk_cuda_host_node *facts)
{
    return cudaGraphHostNodeSetParams(find(exec, node), facts);
}

SMK_EXPORT smk_cuda cudaGraphAddChildGraphNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                               smk_cuda_node *const *dependencies, size_t count, smk_cuda_graph *child)
{
    const smk_work work = {.kind = SMK_WORK_GRAPH, .as.graph = child};
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphChildGraphNodeGetGraph(smk_cuda_node *node, smk_cuda_graph **child)
{
    *child = node->work.kind == SMK_WORK_GRAPH ? node->work.as.graph : NULL;
    return smk_outcome_return(*child == NULL ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success);
}

SMK_EXPORT smk_cuda cudaGraphExecChildGraphNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                         smk_cuda_graph *child)
{
    const smk_work work = {.kind = SMK_WORK_GRAPH, .as.graph = child};
    return smk_node_change(find(exec, node), &work);
}

SMK_EXPORT smk_cuda cudaGraphAddEmptyNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                          smk_cuda_node *const *dependencies, size_t count)
{
    const smk_work work = {.kind = SMK_WORK_NOTHING};
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphAddEventRecordNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                                smk_cuda_node *const *dependencies, size_t count,
                                                smk_cuda_event_handle event)
{
    const smk_work work = {.kind = SMK_WORK_RECORD, .as.event = event};
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphAddEventWaitNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                              smk_cuda_node *const *dependencies, size_t count,
                                              smk_cuda_event_handle event)
{
    const smk_work work = {.kind = SMK_WORK_WAIT, .as.event = event};
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphNodeSetEnabled(smk_cuda_graph_exec *exec, smk_cuda_node *node, unsigned enabled)
{
    smk_cuda_node *found = find(exec, node);
    if (found == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    found->work.disabled = enabled == 0;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGraphNodeGetEnabled(smk_cuda_graph_exec *exec, smk_cuda_node *node, unsigned *enabled)
{
    const smk_cuda_node *found = find(exec, node);
    *enabled = found != NULL && !found->work.disabled;
    return smk_outcome_return(found == NULL ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success);
}

/* Memory of graphs: there from the making of the node on, until a node or the program frees it. */
typedef struct allocation_node {
    struct {
        int allocation, handles, where, device;
        void *security;
        size_t max_bytes;
        unsigned short usage;
        unsigned char reserved[54];
    } properties;
    const void *accesses;
    size_t access_count, bytes;
    void *address;
} allocation_node;

SMK_EXPORT smk_cuda cudaGraphAddMemAllocNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                             smk_cuda_node *const *dependencies, size_t count, allocation_node *facts)
{
    smk_cuda code = smk_allocations_create(facts->bytes, &facts->address);
    const smk_work work = {.kind = SMK_WORK_ALLOCATE, .as.memory = {facts->address, facts->bytes}};
    return code == SMK_CUDA_Success ? smk_node_add(node, graph, dependencies, count, &work) : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphMemAllocNodeGetParams(smk_cuda_node *node, allocation_node *facts)
{
    enum { PINNED = 1 }; /* the only kind of memory that pools have */
    if (node == NULL || node->work.kind != SMK_WORK_ALLOCATE) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *facts = (allocation_node){.properties = {.allocation = PINNED, .where = SMK_LOCATION_DEVICE},
                               .bytes = node->work.as.memory.bytes,
                               .address = node->work.as.memory.address};
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGraphAddMemFreeNode(smk_cuda_node **node, smk_cuda_graph *graph,
                                            smk_cuda_node *const *dependencies, size_t count, void *address)
{
    const smk_work work = {.kind = SMK_WORK_FREE, .as.memory = {address, 0}};
    return smk_node_add(node, graph, dependencies, count, &work);
}

SMK_EXPORT smk_cuda cudaGraphMemFreeNodeGetParams(smk_cuda_node *node, void **address)
{
    if (node == NULL || node->work.kind != SMK_WORK_FREE) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *address = node->work.as.memory.address;
    return SMK_CUDA_Success;
}

typedef struct conditional_node {
    uint64_t handle;
    int kind;
    unsigned count;
    smk_cuda_graph **bodies; /* that of the node, which the caller fills */
} conditional_node;

static smk_cuda add_conditional(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                size_t count, conditional_node *facts)
{
    const smk_work work = {.kind = SMK_WORK_CONDITIONAL,
                           .as.conditional = {.value = facts->handle, .kind = facts->kind, .count = facts->count}};
    if (!smk_conditional_is_valid(&work.as.conditional)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    const smk_cuda code = smk_node_add(node, graph, dependencies, count, &work);
    if (code == SMK_CUDA_Success) {
        facts->bodies = (*node)->work.as.conditional.bodies;
    }
    return code;
}

/* Nodes of any kind ---------------------------------------------------------------------------------------- */

typedef struct any_node {
    int type;
    int reserved[3];
    union {
        long long room[29];
        smk_cuda_kernel_node kernel;
        struct {
            int flags;
            int reserved[3];
            smk_cuda_copy3d copy;
        } copy;
        smk_cuda_memset_node fill;
        smk_cuda_host_node host;
        smk_cuda_graph *graph;
        smk_cuda_event_handle event;
        allocation_node allocation;
        void *address;
        conditional_node conditional;
    } as;
    long long end;
} any_node;

SMK_EXPORT smk_cuda cudaGraphAddNode(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                     const void *data, size_t count, any_node *facts)
{
    (void)data;
    switch (facts->type) {
    case SMK_WORK_KERNEL:
        return cudaGraphAddKernelNode(node, graph, dependencies, count, &facts->as.kernel);
    case SMK_WORK_COPY:
        return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &facts->as.copy.copy);
    case SMK_WORK_FILL:
        return cudaGraphAddMemsetNode(node, graph, dependencies, count, &facts->as.fill);
    case SMK_WORK_HOST:
        return cudaGraphAddHostNode(node, graph, dependencies, count, &facts->as.host);
    case SMK_WORK_GRAPH:
        return cudaGraphAddChildGraphNode(node, graph, dependencies, count, facts->as.graph);
    case SMK_WORK_NOTHING:
        return cudaGraphAddEmptyNode(node, graph, dependencies, count);
    case SMK_WORK_WAIT:
        return cudaGraphAddEventWaitNode(node, graph, dependencies, count, facts->as.event);
    case SMK_WORK_RECORD:
        return cudaGraphAddEventRecordNode(node, graph, dependencies, count, facts->as.event);
    case SMK_WORK_ALLOCATE:
        return cudaGraphAddMemAllocNode(node, graph, dependencies, count, &facts->as.allocation);
    case SMK_WORK_FREE:
        return cudaGraphAddMemFreeNode(node, graph, dependencies, count, facts->as.address);
    case SMK_WORK_CONDITIONAL:
        return add_conditional(node, graph, dependencies, count, &facts->as.conditional);
    }
    return smk_outcome_return(SMK_CUDA_ErrorNotSupported); /* a number that is no kind of work here */
}
SMK_EXPORT_AS(cudaGraphAddNode_v2, cudaGraphAddNode);

extern smk_cuda cudaGraphEventWaitNodeSetEvent(smk_cuda_node *node, smk_cuda_event_handle event);
extern smk_cuda cudaGraphEventRecordNodeSetEvent(smk_cuda_node *node, smk_cuda_event_handle event);

SMK_EXPORT smk_cuda cudaGraphNodeSetParams(smk_cuda_node *node, any_node *facts)
{
    switch (facts->type) {
    case SMK_WORK_KERNEL:
        return cudaGraphKernelNodeSetParams(node, &facts->as.kernel);
    case SMK_WORK_COPY:
        return cudaGraphMemcpyNodeSetParams(node, &facts->as.copy.copy);
    case SMK_WORK_FILL:
        return cudaGraphMemsetNodeSetParams(node, &facts->as.fill);
    case SMK_WORK_HOST:
        return cudaGraphHostNodeSetParams(node, &facts->as.host);
    case SMK_WORK_WAIT:
        return cudaGraphEventWaitNodeSetEvent(node, facts->as.event);
    case SMK_WORK_RECORD:
        return cudaGraphEventRecordNodeSetEvent(node, facts->as.event);
    case SMK_WORK_GRAPH: /* of these CUDA changes nothing either */
    case SMK_WORK_NOTHING:
    case SMK_WORK_ALLOCATE:
    case SMK_WORK_FREE:
    case SMK_WORK_CONDITIONAL:
        break;
    }
    return smk_outcome_return(SMK_CUDA_ErrorNotSupported);
}

SMK_EXPORT smk_cuda cudaGraphExecNodeSetParams(smk_cuda_graph_exec *exec, smk_cuda_node *node, any_node *facts)
{
    return cudaGraphNodeSetParams(find(exec, node), facts);
}
