#include "runtime/graph.h"

#include "base/heap.h"
#include "runtime/conditional.h"

enum { LIST_FIRST = 8 };

bool smk_graph_list_add(smk_node_list *list, smk_cuda_node *node)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->node[i] == node) {
            return true;
        }
    }
    if (list->count == list->capacity) {
        const size_t each = sizeof *list->node, wanted = list->capacity == 0 ? LIST_FIRST : 2 * list->capacity;
        smk_cuda_node **grown = smk_heap_resize((void *)list->node, list->capacity * each, wanted * each);
        if (grown == NULL) {
            return false;
        }
        list->node = grown;
        list->capacity = wanted;
    }
    list->node[list->count++] = node;
    return true;
}

bool smk_graph_list_join(smk_node_list *list, const smk_node_list *other)
{
    bool done = true;
    for (size_t i = 0; i < other->count && done; i++) {
        done = smk_graph_list_add(list, other->node[i]);
    }
    return done;
}

void smk_graph_list_free(smk_node_list *list)
{
    smk_heap_free((void *)list->node);
    *list = (smk_node_list){0};
}

smk_cuda_graph *smk_graph_create(void)
{
    return smk_heap_allocate(1, sizeof(smk_cuda_graph));
}

static void free_node(smk_cuda_node *node)
{
    smk_work_release(&node->work);
    smk_graph_list_free(&node->before);
    smk_heap_free(node);
}

void smk_graph_free(smk_cuda_graph *graph)
{
    if (graph != NULL) {
        for (size_t i = 0; i < graph->nodes.count; i++) {
            free_node(graph->nodes.node[i]);
        }
        smk_graph_list_free(&graph->nodes);
        smk_heap_free(graph->values);
        smk_heap_free(graph);
    }
}

/* Without the search of smk_graph_list_add, since the node is new. */
static bool append(smk_node_list *list, smk_cuda_node *node)
{
    const size_t before = list->count;
    list->count = 0;
    if (before < list->capacity) {
        list->count = before;
        list->node[list->count++] = node;
        return true;
    }
    list->count = before;
    return smk_graph_list_add(list, node);
}

smk_cuda_node *smk_graph_add(smk_cuda_graph *graph, const smk_node_list *before, const smk_work *work)
{
    smk_cuda_node *node = smk_heap_allocate(1, sizeof *node);
    if (node == NULL || !smk_work_keep(work, &node->work)) {
        smk_heap_free(node);
        return NULL;
    }
    node->graph = graph;
    if ((before != NULL && !smk_graph_list_join(&node->before, before)) || !append(&graph->nodes, node)) {
        free_node(node);
        return NULL;
    }
    return node;
}

bool smk_graph_add_value(smk_cuda_graph *graph, smk_graph_value value)
{
    const size_t each = sizeof value, count = graph->value_count;
    smk_graph_value *grown = smk_heap_resize(graph->values, count * each, (count + 1) * each);
    if (grown == NULL) {
        return false;
    }
    graph->values = grown;
    graph->values[graph->value_count++] = value;
    return true;
}

static smk_cuda set_values_of(const smk_work *work)
{
    smk_cuda code = SMK_CUDA_Success;
    if (work->kind == SMK_WORK_GRAPH) {
        return smk_graph_set_values(work->as.graph);
    }
    for (unsigned i = 0; work->kind == SMK_WORK_CONDITIONAL && i < work->as.conditional.count; i++) {
        code = code == SMK_CUDA_Success ? smk_graph_set_values(work->as.conditional.bodies[i]) : code;
    }
    return code;
}

smk_cuda smk_graph_set_values(const smk_cuda_graph *graph)
{
    smk_cuda code = SMK_CUDA_Success;
    for (size_t i = 0; i < graph->value_count && code == SMK_CUDA_Success; i++) {
        code = smk_conditional_set(graph->values[i].address, graph->values[i].value);
    }
    for (size_t i = 0; i < graph->nodes.count && code == SMK_CUDA_Success; i++) {
        code = set_values_of(&graph->nodes.node[i]->work);
    }
    return code;
}

smk_cuda_graph *smk_graph_clone(smk_cuda_graph *graph)
{
    smk_cuda_graph *clone = smk_graph_create();
    for (size_t i = 0; clone != NULL && i < graph->value_count; i++) {
        if (!smk_graph_add_value(clone, graph->values[i])) {
            smk_graph_free(clone);
            clone = NULL;
        }
    }
    for (size_t i = 0; clone != NULL && i < graph->nodes.count; i++) {
        smk_cuda_node *node = graph->nodes.node[i];
        node->copy = smk_graph_add(clone, NULL, &node->work);
        if (node->copy == NULL) {
            smk_graph_free(clone);
            clone = NULL;
        } else {
            node->copy->work.disabled = node->work.disabled;
            node->copy->origin = node;
        }
    }
    for (size_t i = 0; clone != NULL && i < graph->nodes.count; i++) {
        const smk_cuda_node *node = graph->nodes.node[i];
        for (size_t k = 0; clone != NULL && k < node->before.count; k++) {
            if (!smk_graph_list_add(&node->copy->before, node->before.node[k]->copy)) {
                smk_graph_free(clone);
                clone = NULL;
            }
        }
    }
    return clone;
}

smk_cuda_node *smk_graph_find_copy(const smk_cuda_graph *clone, const smk_cuda_node *node)
{
    for (size_t i = 0; i < clone->nodes.count; i++) {
        if (clone->nodes.node[i]->origin == node) {
            return clone->nodes.node[i];
        }
    }
    return NULL;
}

static bool is_ready(const smk_cuda_node *node, unsigned mark)
{
    bool ready = node->mark != mark;
    for (size_t i = 0; i < node->before.count && ready; i++) {
        ready = node->before.node[i]->mark == mark;
    }
    return ready;
}

/* Nodes are usually created behind their dependencies, so that one pass is enough. */
smk_cuda smk_graph_sort(smk_cuda_graph *graph, smk_node_list *order)
{
    const unsigned mark = ++graph->mark;
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < graph->nodes.count; i++) {
            smk_cuda_node *node = graph->nodes.node[i];
            if (is_ready(node, mark)) {
                node->mark = mark;
                more = true;
                if (!append(order, node)) {
                    return SMK_CUDA_ErrorMemoryAllocation;
                }
            }
        }
    }
    return order->count == graph->nodes.count ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

smk_cuda smk_graph_run(smk_cuda_graph *graph, const smk_node_list *order)
{
    smk_node_list sorted = {0};
    smk_cuda code = SMK_CUDA_Success;
    if (order == NULL) {
        code = smk_graph_sort(graph, &sorted);
        order = &sorted;
    }
    for (size_t i = 0; i < order->count && code == SMK_CUDA_Success; i++) {
        code = smk_work_run(&order->node[i]->work);
    }
    smk_graph_list_free(&sorted);
    return code;
}

static void mark_before(smk_cuda_node *node, unsigned mark)
{
    if (node->mark != mark) {
        node->mark = mark;
        for (size_t i = 0; i < node->before.count; i++) {
            mark_before(node->before.node[i], mark);
        }
    }
}

bool smk_graph_reaches(smk_cuda_graph *graph, const smk_node_list *end, const smk_node_list *list)
{
    const unsigned mark = ++graph->mark;
    bool all = true;
    for (size_t i = 0; i < end->count; i++) {
        mark_before(end->node[i], mark);
    }
    for (size_t i = 0; i < list->count && all; i++) {
        all = list->node[i]->mark == mark;
    }
    return all;
}
