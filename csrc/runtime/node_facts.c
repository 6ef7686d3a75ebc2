/* Nodes of graphs: what they do, asked and changed in ways that few programs need. */
#include "base/heap.h"
#include "runtime/outcome.h"
#include "runtime/stream.h"

static smk_cuda check_kind(const smk_cuda_node *node, smk_work_kind kind)
{
    return node != NULL && node->work.kind == kind ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cudaGraphMemcpyNodeGetParams(smk_cuda_node *node, smk_cuda_copy3d *facts)
{
    const smk_cuda code = check_kind(node, SMK_WORK_COPY);
    if (code == SMK_CUDA_Success) {
        const smk_copy *copy = &node->work.as.copy;
        const size_t target_rows = copy->target_pitch == 0 ? 0 : copy->target_slice / copy->target_pitch;
        const size_t source_rows = copy->source_pitch == 0 ? 0 : copy->source_slice / copy->source_pitch;
        *facts =
            (smk_cuda_copy3d){.source = {(void *)(uintptr_t)copy->source, copy->source_pitch, copy->width, source_rows},
                              .target = {copy->target, copy->target_pitch, copy->width, target_rows},
                              .extent = {copy->width, copy->height, copy->depth},
                              .kind = copy->kind};
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphMemsetNodeGetParams(smk_cuda_node *node, smk_cuda_memset_node *facts)
{
    const smk_cuda code = check_kind(node, SMK_WORK_FILL);
    if (code == SMK_CUDA_Success) {
        const smk_fill *fill = &node->work.as.fill;
        *facts = (smk_cuda_memset_node){.target = fill->target,
                                        .pitch = fill->pitch,
                                        .value = fill->value,
                                        .element_bytes = fill->element_bytes,
                                        .width = fill->width,
                                        .height = fill->height};
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphHostNodeGetParams(smk_cuda_node *node, smk_cuda_host_node *facts)
{
    const smk_cuda code = check_kind(node, SMK_WORK_HOST);
    if (code == SMK_CUDA_Success) {
        *facts = node->work.as.host;
    }
    return smk_outcome_return(code);
}

static smk_cuda get_event(const smk_cuda_node *node, smk_work_kind kind, smk_cuda_event_handle *event)
{
    const smk_cuda code = check_kind(node, kind);
    if (code == SMK_CUDA_Success) {
        *event = node->work.as.event;
    }
    return smk_outcome_return(code);
}

static smk_cuda set_event(smk_cuda_node *node, smk_work_kind kind, smk_cuda_event_handle event)
{
    const smk_cuda code = check_kind(node, kind);
    if (code == SMK_CUDA_Success) {
        node->work.as.event = event;
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphEventRecordNodeGetEvent(smk_cuda_node *node, smk_cuda_event_handle *event)
{
    return get_event(node, SMK_WORK_RECORD, event);
}

SMK_EXPORT smk_cuda cudaGraphEventWaitNodeGetEvent(smk_cuda_node *node, smk_cuda_event_handle *event)
{
    return get_event(node, SMK_WORK_WAIT, event);
}

SMK_EXPORT smk_cuda cudaGraphEventRecordNodeSetEvent(smk_cuda_node *node, smk_cuda_event_handle event)
{
    return set_event(node, SMK_WORK_RECORD, event);
}

SMK_EXPORT smk_cuda cudaGraphEventWaitNodeSetEvent(smk_cuda_node *node, smk_cuda_event_handle event)
{
    return set_event(node, SMK_WORK_WAIT, event);
}

SMK_EXPORT smk_cuda cudaGraphExecEventRecordNodeSetEvent(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                         smk_cuda_event_handle event)
{
    return set_event(smk_graph_find_copy(exec->graph, node), SMK_WORK_RECORD, event);
}

SMK_EXPORT smk_cuda cudaGraphExecEventWaitNodeSetEvent(smk_cuda_graph_exec *exec, smk_cuda_node *node,
                                                       smk_cuda_event_handle event)
{
    return set_event(smk_graph_find_copy(exec->graph, node), SMK_WORK_WAIT, event);
}

/* Attributes of launches: whether the blocks are there at once is the only one that means something here. */
enum { ATTRIBUTE_COOPERATIVE = 2 };

SMK_EXPORT smk_cuda cudaGraphKernelNodeSetAttribute(smk_cuda_node *node, int attribute, const int *value)
{
    const smk_cuda code = check_kind(node, SMK_WORK_KERNEL);
    if (code == SMK_CUDA_Success && attribute == ATTRIBUTE_COOPERATIVE) {
        node->work.as.launch.cooperative = *value != 0;
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphKernelNodeGetAttribute(smk_cuda_node *node, int attribute, int *value)
{
    const smk_cuda code = check_kind(node, SMK_WORK_KERNEL);
    *value = code == SMK_CUDA_Success && attribute == ATTRIBUTE_COOPERATIVE && node->work.as.launch.cooperative;
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaGraphKernelNodeCopyAttributes(smk_cuda_node *to, smk_cuda_node *from)
{
    const smk_cuda code = check_kind(to, SMK_WORK_KERNEL);
    if (code == SMK_CUDA_Success && check_kind(from, SMK_WORK_KERNEL) == code) {
        to->work.as.launch.cooperative = from->work.as.launch.cooperative;
    }
    return smk_outcome_return(code);
}

/* A graph that keeps an object keeps it until the program ends. */
SMK_EXPORT smk_cuda cudaGraphRetainUserObject(smk_cuda_graph *graph, void *object, unsigned count, unsigned flags)
{
    (void)graph, (void)object, (void)count, (void)flags;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGraphReleaseUserObject(smk_cuda_graph *graph, void *object, unsigned count)
{
    (void)graph, (void)object, (void)count;
    return SMK_CUDA_Success;
}

/* The memory of graphs is not kept apart from other memory. */
SMK_EXPORT smk_cuda cudaDeviceGraphMemTrim(int device)
{
    return smk_outcome_return(device == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice);
}
