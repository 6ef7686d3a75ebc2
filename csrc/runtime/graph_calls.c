/* Graphs: their making, their order, and their launches. The nodes are made in node_calls.c. */
#include "base/heap.h"
#include "runtime/outcome.h"
#include "runtime/stream.h"

#include <stdio.h>
#include <string.h>

SMK_EXPORT smk_cuda cudaGraphCreate(smk_cuda_graph **graph, unsigned flags)
{
    (void)flags;
    *graph = smk_graph_create();
    return smk_outcome_return(*graph == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_Success);
}

SMK_EXPORT smk_cuda cudaGraphDestroy(smk_cuda_graph *graph)
{
    smk_graph_free(graph);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGraphClone(smk_cuda_graph **clone, smk_cuda_graph *graph)
{
    *clone = smk_graph_clone(graph);
    return smk_outcome_return(*clone == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_Success);
}

SMK_EXPORT smk_cuda cudaGraphNodeFindInClone(smk_cuda_node **node, const smk_cuda_node *original, smk_cuda_graph *clone)
{
    *node = smk_graph_find_copy(clone, original);
    return smk_outcome_return(*node == NULL ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success);
}

/* Questions ------------------------------------------------------------------------------------------------ */

/* Gives a list in the way of the runtime: its length, and as many nodes as there is room for. */
static smk_cuda give_list(const smk_node_list *list, smk_cuda_node **nodes, size_t *count)
{
    for (size_t i = 0; nodes != NULL && i < *count; i++) {
        nodes[i] = i < list->count ? list->node[i] : NULL;
    }
    *count = nodes == NULL || *count > list->count ? list->count : *count;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGraphGetNodes(smk_cuda_graph *graph, smk_cuda_node **nodes, size_t *count)
{
    return give_list(&graph->nodes, nodes, count);
}

SMK_EXPORT smk_cuda cudaGraphGetRootNodes(smk_cuda_graph *graph, smk_cuda_node **nodes, size_t *count)
{
    smk_node_list roots = {0};
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (graph->nodes.node[i]->before.count == 0 && !smk_graph_list_add(&roots, graph->nodes.node[i])) {
            smk_graph_list_free(&roots);
            return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
        }
    }
    const smk_cuda code = give_list(&roots, nodes, count);
    smk_graph_list_free(&roots);
    return code;
}

/* Edges have no data here: a dependency is on the end of the work. */
SMK_EXPORT smk_cuda cudaGraphNodeGetDependencies(smk_cuda_node *node, smk_cuda_node **nodes, void *data, size_t *count)
{
    (void)data;
    return give_list(&node->before, nodes, count);
}
SMK_EXPORT_AS(cudaGraphNodeGetDependencies_v2, cudaGraphNodeGetDependencies);

static bool depends_on(const smk_cuda_node *node, const smk_cuda_node *other)
{
    for (size_t i = 0; i < node->before.count; i++) {
        if (node->before.node[i] == other) {
            return true;
        }
    }
    return false;
}

SMK_EXPORT smk_cuda cudaGraphNodeGetDependentNodes(smk_cuda_node *node, smk_cuda_node **nodes, void *data,
                                                   size_t *count)
{
    smk_node_list found = {0};
    (void)data;
    for (size_t i = 0; i < node->graph->nodes.count; i++) {
        smk_cuda_node *other = node->graph->nodes.node[i];
        if (depends_on(other, node) && !smk_graph_list_add(&found, other)) {
            smk_graph_list_free(&found);
            return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
        }
    }
    const smk_cuda code = give_list(&found, nodes, count);
    smk_graph_list_free(&found);
    return code;
}
SMK_EXPORT_AS(cudaGraphNodeGetDependentNodes_v2, cudaGraphNodeGetDependentNodes);

SMK_EXPORT smk_cuda cudaGraphGetEdges(smk_cuda_graph *graph, smk_cuda_node **from, smk_cuda_node **to, void *data,
                                      size_t *count)
{
    size_t edges = 0;
    (void)data;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        smk_cuda_node *node = graph->nodes.node[i];
        for (size_t k = 0; k < node->before.count; k++, edges++) {
            if (from != NULL && to != NULL && edges < *count) {
                from[edges] = node->before.node[k];
                to[edges] = node;
            }
        }
    }
    *count = from == NULL || edges < *count ? edges : *count;
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cudaGraphGetEdges_v2, cudaGraphGetEdges);

SMK_EXPORT smk_cuda cudaGraphNodeGetType(const smk_cuda_node *node, int *type)
{
    *type = (int)node->work.kind;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGraphAddDependencies(smk_cuda_graph *graph, smk_cuda_node *const *from,
                                             smk_cuda_node *const *to, const void *data, size_t count)
{
    (void)graph, (void)data;
    for (size_t i = 0; i < count; i++) {
        if (!smk_graph_list_add(&to[i]->before, from[i])) {
            return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
        }
    }
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cudaGraphAddDependencies_v2, cudaGraphAddDependencies);

static void remove_node(smk_node_list *list, const smk_cuda_node *node)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->node[i] == node) {
            memmove((void *)&list->node[i], (void *)&list->node[i + 1], (--list->count - i) * sizeof *list->node);
        }
    }
}

SMK_EXPORT smk_cuda cudaGraphRemoveDependencies(smk_cuda_graph *graph, smk_cuda_node *const *from,
                                                smk_cuda_node *const *to, const void *data, size_t count)
{
    (void)graph, (void)data;
    for (size_t i = 0; i < count; i++) {
        remove_node(&to[i]->before, from[i]);
    }
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cudaGraphRemoveDependencies_v2, cudaGraphRemoveDependencies);

SMK_EXPORT smk_cuda cudaGraphDestroyNode(smk_cuda_node *node)
{
    smk_cuda_graph *graph = node->graph;
    remove_node(&graph->nodes, node);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        remove_node(&graph->nodes.node[i]->before, node);
    }
    smk_work_release(&node->work);
    smk_graph_list_free(&node->before);
    smk_heap_free(node);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGraphDebugDotPrint(smk_cuda_graph *graph, const char *path, unsigned flags)
{
    FILE *file = fopen(path, "we");
    (void)flags;
    if (file == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorOperatingSystem);
    }
    (void)fputs("digraph graph_of_work {\n", file);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const smk_cuda_node *node = graph->nodes.node[i];
        const bool kernel = node->work.kind == SMK_WORK_KERNEL;
        (void)fprintf(file, "  \"%p\" [label=\"%s %d\"];\n", (const void *)node,
                      kernel ? node->work.as.launch.kernel->name : "node of type", (int)node->work.kind);
        for (size_t k = 0; k < node->before.count; k++) {
            (void)fprintf(file, "  \"%p\" -> \"%p\";\n", (const void *)node->before.node[k], (const void *)node);
        }
    }
    (void)fputs("}\n", file);
    return smk_outcome_return(fclose(file) == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorOperatingSystem);
}

/* Launches ------------------------------------------------------------------------------------------------- */

static void free_exec(smk_cuda_graph_exec *exec)
{
    if (exec != NULL) {
        smk_graph_list_free(&exec->order);
        smk_graph_free(exec->graph);
        smk_heap_free(exec);
    }
}

SMK_EXPORT smk_cuda cudaGraphInstantiate(smk_cuda_graph_exec **exec, smk_cuda_graph *graph, unsigned long long flags)
{
    smk_cuda_graph_exec *made = smk_heap_allocate(1, sizeof *made);
    (void)flags;
    smk_cuda code = SMK_CUDA_ErrorMemoryAllocation;
    if (made != NULL) {
        made->graph = smk_graph_clone(graph);
        made->source = graph;
        code = made->graph == NULL ? code : smk_graph_sort(made->graph, &made->order);
    }
    if (code != SMK_CUDA_Success) {
        free_exec(made);
        made = NULL;
    }
    *exec = made;
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaGraphInstantiateWithFlags, cudaGraphInstantiate);

typedef struct instantiate_parameters {
    unsigned long long flags;
    smk_cuda_stream_handle upload;
    smk_cuda_node *error_node;
    int result;
} instantiate_parameters;

SMK_EXPORT smk_cuda cudaGraphInstantiateWithParams(smk_cuda_graph_exec **exec, smk_cuda_graph *graph,
                                                   instantiate_parameters *parameters)
{
    const smk_cuda code = cudaGraphInstantiate(exec, graph, parameters->flags);
    parameters->error_node = NULL;
    parameters->result = code == SMK_CUDA_Success ? 0 : 1;
    return code;
}
SMK_EXPORT_AS(cudaGraphInstantiateWithParams_ptsz, cudaGraphInstantiateWithParams);

SMK_EXPORT smk_cuda cudaGraphExecDestroy(smk_cuda_graph_exec *exec)
{
    free_exec(exec);
    return SMK_CUDA_Success;
}

/* A launch into a stream that is captured becomes a node with the graph. */
SMK_EXPORT smk_cuda cudaGraphLaunch(smk_cuda_graph_exec *exec, smk_cuda_stream_handle handle)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    if (exec == NULL || stream == NULL) {
        return smk_outcome_return(exec == NULL ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_ErrorInvalidResourceHandle);
    }
    if (stream->capture != NULL) {
        const smk_work work = {.kind = SMK_WORK_GRAPH, .as.graph = exec->graph};
        return smk_outcome_return(smk_stream_submit(handle, &work));
    }
    const smk_cuda code = smk_graph_set_values(exec->graph);
    return smk_outcome_return(code == SMK_CUDA_Success ? smk_graph_run(exec->graph, &exec->order) : code);
}
SMK_EXPORT_AS(cudaGraphLaunch_ptsz, cudaGraphLaunch);

SMK_EXPORT smk_cuda cudaGraphUpload(smk_cuda_graph_exec *exec, smk_cuda_stream_handle stream)
{
    (void)exec, (void)stream;
    return smk_outcome_begin();
}
SMK_EXPORT_AS(cudaGraphUpload_ptsz, cudaGraphUpload);

SMK_EXPORT smk_cuda cudaGraphExecGetFlags(smk_cuda_graph_exec *exec, unsigned long long *flags)
{
    (void)exec;
    *flags = 0;
    return SMK_CUDA_Success;
}

typedef struct update_result {
    int result; /* 0: updated; 2: another topology */
    smk_cuda_node *node, *from;
} update_result;

enum { TOPOLOGY_CHANGED = 2 };

/* Have the two graphs the same nodes with the same dependencies, in the order of their creation? */
static bool is_alike(const smk_cuda_graph *a, const smk_cuda_graph *b)
{
    bool alike = a->nodes.count == b->nodes.count;
    for (size_t i = 0; alike && i < a->nodes.count; i++) {
        const smk_cuda_node *x = a->nodes.node[i], *y = b->nodes.node[i];
        alike = x->work.kind == y->work.kind && x->before.count == y->before.count;
    }
    return alike;
}

SMK_EXPORT smk_cuda cudaGraphExecUpdate(smk_cuda_graph_exec *exec, smk_cuda_graph *graph, update_result *result)
{
    smk_cuda_graph_exec *made = NULL;
    *result = (update_result){0};
    if (!is_alike(exec->graph, graph)) {
        result->result = TOPOLOGY_CHANGED;
        return smk_outcome_return(SMK_CUDA_ErrorGraphExecUpdateFailure);
    }
    smk_cuda code = cudaGraphInstantiate(&made, graph, 0);
    if (code == SMK_CUDA_Success) {
        const smk_cuda_graph_exec old = *exec;
        *exec = *made;
        *made = old;
        free_exec(made);
    }
    return code;
}

/* Objects that a graph keeps alive: they stay until the program gives them back itself. */
typedef struct user_object {
    void *object;
    void (*destroy)(void *object);
    unsigned references;
} user_object;

SMK_EXPORT smk_cuda cudaUserObjectCreate(user_object **made, void *object, void (*destroy)(void *), unsigned references,
                                         unsigned flags)
{
    (void)flags;
    *made = smk_heap_allocate(1, sizeof **made);
    if (*made == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
    }
    **made = (user_object){object, destroy, references};
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaUserObjectRetain(user_object *object, unsigned count)
{
    object->references += count;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaUserObjectRelease(user_object *object, unsigned count)
{
    object->references -= count < object->references ? count : object->references;
    if (object->references == 0) {
        object->destroy(object->object);
        smk_heap_free(object);
    }
    return SMK_CUDA_Success;
}
