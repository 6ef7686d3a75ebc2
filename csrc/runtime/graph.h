/* Graphs of work, made node by node or by the capture of streams. */
#ifndef SMK_RUNTIME_GRAPH_H
#define SMK_RUNTIME_GRAPH_H

#include "runtime/work.h"

#include <stdbool.h>
#include <stddef.h>

/* Nodes in no order. */
typedef struct smk_node_list {
    struct smk_cuda_node **node;
    size_t count, capacity;
} smk_node_list;

typedef struct smk_cuda_node {
    smk_work work;
    struct smk_cuda_graph *graph;
    smk_node_list before;               /* its dependencies */
    struct smk_cuda_node *copy;         /* in the clone that was made last */
    const struct smk_cuda_node *origin; /* of a clone: the node that it is a copy of */
    unsigned mark;                      /* of the walk that saw it last */
} smk_cuda_node;

/* A value of the device that each launch of the graph begins with. */
typedef struct smk_graph_value {
    uint64_t address;
    uint32_t value;
} smk_graph_value;

typedef struct smk_cuda_graph {
    smk_node_list nodes; /* in the order of their creation */
    smk_graph_value *values;
    size_t value_count;
    unsigned mark;
} smk_cuda_graph;

/* A graph that can be launched: a clone, whose nodes are in an order in which they may run. */
typedef struct smk_cuda_graph_exec {
    smk_cuda_graph *graph;
    smk_node_list order;
    const smk_cuda_graph *source; /* the graph it was made of */
} smk_cuda_graph_exec;

bool smk_graph_list_add(smk_node_list *list, smk_cuda_node *node); /* once; false where there is no memory */
bool smk_graph_list_join(smk_node_list *list, const smk_node_list *other);
void smk_graph_list_free(smk_node_list *list);

smk_cuda_graph *smk_graph_create(void); /* NULL: no memory */
void smk_graph_free(smk_cuda_graph *graph);

/* Adds a node that keeps a copy of `work`; NULL where there is no memory. */
smk_cuda_node *smk_graph_add(smk_cuda_graph *graph, const smk_node_list *before, const smk_work *work);

/* The same for nodes as callers name them (node_calls.c); and the work of a node by other work of its kind. */
smk_cuda smk_node_add(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies, size_t count,
                      const smk_work *work);
smk_cuda smk_node_change(smk_cuda_node *node, const smk_work *work);

smk_cuda_graph *smk_graph_clone(smk_cuda_graph *graph); /* NULL: no memory */

/* The copy of a node in a clone of its graph; NULL: there is none. */
smk_cuda_node *smk_graph_find_copy(const smk_cuda_graph *clone, const smk_cuda_node *node);

/* An order in which the nodes may run. Fails where dependencies form a circle. */
smk_cuda smk_graph_sort(smk_cuda_graph *graph, smk_node_list *order);

/* Adds a value that launches begin with; false where there is no memory. */
bool smk_graph_add_value(smk_cuda_graph *graph, smk_graph_value value);

/* Sets the values that a launch begins with, also those of the graphs in its nodes. */
smk_cuda smk_graph_set_values(const smk_cuda_graph *graph);

/* Runs the nodes of a graph. */
smk_cuda smk_graph_run(smk_cuda_graph *graph, const smk_node_list *order);

/* Are all nodes of `list` among the nodes that lead to those of `end`? */
bool smk_graph_reaches(smk_cuda_graph *graph, const smk_node_list *end, const smk_node_list *list);

#endif
