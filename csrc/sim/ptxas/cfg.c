#include "sim/ptxas/cfg.h"

#include "base/heap.h"
#include "base/poll.h"
#include "ptx/opcode.h"

#include <string.h>

enum { HOPS_MAX = 16 };

/* Scratch of smk_cfg_postdominate. Node `count` is the virtual end. */
typedef struct solver {
    const smk_cfg_graph *graph;
    uint32_t *predecessor_start, *predecessor;
    uint32_t *tier;  /* 0: not assigned yet */
    uint8_t *seed;   /* has an edge to the virtual end */
    uint32_t *order; /* post-order number on the reversed graph; the end has the highest */
    uint32_t *node;  /* inverse of order */
    uint32_t *stack, *cursor;
    uint32_t *postdominator; /* with the end as a node */
    uint32_t reached;
} solver;

static void invert(solver *s)
{
    const smk_cfg_graph *graph = s->graph;
    uint32_t *start = s->predecessor_start;
    for (uint32_t i = 0; i < graph->start[graph->count]; i++) {
        start[graph->successor[i] + 1]++;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        start[i + 1] += start[i];
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        s->cursor[i] = start[i];
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t j = graph->start[i]; j < graph->start[i + 1]; j++) {
            s->predecessor[s->cursor[graph->successor[j]]++] = i;
        }
    }
}

/* Assigns `tier` to every node without a tier from which `seed` can be reached. */
static void flood(solver *s, uint32_t seed, uint32_t tier)
{
    uint32_t depth = 0;
    s->seed[seed] = 1;
    if (s->tier[seed] == 0) {
        s->tier[seed] = tier;
        s->stack[depth++] = seed;
    }
    while (depth > 0) {
        uint32_t node = s->stack[--depth];
        for (uint32_t j = s->predecessor_start[node]; j < s->predecessor_start[node + 1]; j++) {
            uint32_t previous = s->predecessor[j];
            if (s->tier[previous] == 0) {
                s->tier[previous] = tier;
                s->stack[depth++] = previous;
            }
        }
    }
}

/* Nodes that reach a return are the first tier. Then each exit, the last of the text first, takes the nodes that reach
 * no earlier tier; then endless loops do. On an edge into a later tier every lane exits, so the edge is ignored. */
static void assign_tiers(solver *s)
{
    uint32_t tier = 1;
    for (uint32_t i = 0; i < s->graph->count; i++) {
        if (s->graph->end[i] == SMK_CFG_RETURNS) {
            flood(s, i, tier);
        }
    }
    for (uint32_t i = s->graph->count; i-- > 0;) {
        if (s->graph->end[i] == SMK_CFG_EXITS && s->tier[i] == 0) {
            flood(s, i, ++tier);
        }
    }
    for (uint32_t i = s->graph->count; i-- > 0;) {
        if (s->tier[i] == 0) {
            flood(s, i, ++tier);
        }
    }
}

/* Post-order of the reversed graph from the virtual end, without recursion. */
static void number(solver *s)
{
    uint32_t end = s->graph->count, counter = 0;
    for (uint32_t i = 0; i < end; i++) {
        s->order[i] = SMK_NO_INDEX;
        s->cursor[i] = s->predecessor_start[i];
    }
    for (uint32_t root = 0; root < end && !smk_poll_stop(); root++) {
        if (!s->seed[root] || s->order[root] != SMK_NO_INDEX) {
            continue;
        }
        uint32_t depth = 0;
        s->stack[depth++] = root;
        s->order[root] = SMK_NO_INDEX - 1; /* visited, not numbered yet */
        while (depth > 0) {
            uint32_t node = s->stack[depth - 1];
            if (s->cursor[node] == s->predecessor_start[node + 1]) {
                s->order[node] = counter;
                s->node[counter++] = node;
                depth--;
                continue;
            }
            uint32_t previous = s->predecessor[s->cursor[node]++];
            if (s->order[previous] == SMK_NO_INDEX && s->tier[previous] == s->tier[node]) {
                s->order[previous] = SMK_NO_INDEX - 1;
                s->stack[depth++] = previous;
            }
        }
    }
    s->order[end] = counter;
    s->reached = counter;
}

static uint32_t join(const solver *s, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (s->order[a] < s->order[b]) {
            a = s->postdominator[a];
        } else {
            b = s->postdominator[b];
        }
    }
    return a;
}

/* Immediate dominators of the reversed graph, by iteration (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
 * Algorithm", 2001). */
static void iterate(solver *s)
{
    const smk_cfg_graph *graph = s->graph;
    uint32_t end = graph->count;
    for (uint32_t i = 0; i < end; i++) {
        s->postdominator[i] = SMK_NO_INDEX;
    }
    s->postdominator[end] = end;
    for (bool changed = true; changed && !smk_poll_stop();) {
        changed = false;
        for (uint32_t k = s->reached; k-- > 0 && !smk_poll_stop();) {
            uint32_t node = s->node[k];
            uint32_t best = s->seed[node] ? end : SMK_NO_INDEX;
            for (uint32_t j = graph->start[node]; j < graph->start[node + 1]; j++) {
                uint32_t next = graph->successor[j];
                if (s->tier[next] == s->tier[node] && s->postdominator[next] != SMK_NO_INDEX) {
                    best = best == SMK_NO_INDEX ? next : join(s, best, next);
                }
            }
            if (best != s->postdominator[node]) {
                s->postdominator[node] = best;
                changed = true;
            }
        }
    }
}

smk_status smk_cfg_postdominate(const smk_cfg_graph *graph, uint32_t *postdominator, smk_error *error)
{
    size_t count = graph->count;
    size_t edges = graph->start[count];
    uint32_t *block = smk_heap_allocate(edges + 8 * (count + 2), sizeof(uint32_t));
    if (block == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the control flow of %zu blocks", count);
    }
    solver s = {.graph = graph};
    s.predecessor_start = block;
    s.tier = block + (count + 2);
    s.order = block + 2 * (count + 2);
    s.node = block + 3 * (count + 2);
    s.stack = block + 4 * (count + 2);
    s.cursor = block + 5 * (count + 2);
    s.postdominator = block + 6 * (count + 2);
    s.seed = (uint8_t *)(block + 7 * (count + 2));
    s.predecessor = block + 8 * (count + 2);
    invert(&s);
    assign_tiers(&s);
    number(&s);
    iterate(&s);
    smk_status status = smk_poll_check(error);
    for (size_t i = 0; i < count; i++) {
        postdominator[i] = s.postdominator[i] == graph->count ? SMK_NO_INDEX : s.postdominator[i];
    }
    smk_heap_free(block);
    return status;
}

static bool is_end(const smk_function *function, const smk_instruction *instruction)
{
    return smk_opcode_class(instruction) == SMK_CLASS_END &&
           (instruction->opcode != SMK_OPCODE_RET || function->is_entry);
}

bool smk_cfg_exits(const smk_function *function, uint32_t instruction)
{
    for (int hops = 0; hops < HOPS_MAX; hops++) {
        if (instruction >= function->instruction_count) {
            return function->is_entry;
        }
        const smk_instruction *at = &function->instructions[instruction];
        if (at->guarded) {
            return false;
        }
        if (at->opcode == SMK_OPCODE_BRA) {
            instruction = function->labels[at->operands[0].index].target;
        } else {
            return at->opcode != SMK_OPCODE_TRAP && is_end(function, at);
        }
    }
    return false;
}

static bool ends_block(const smk_instruction *instruction)
{
    smk_class class = smk_opcode_class(instruction);
    return class == SMK_CLASS_BRANCH || class == SMK_CLASS_END;
}

/* Marks the first instruction of every block in leader[0 .. instruction_count]. */
static void mark_leaders(const smk_function *function, uint8_t *leader)
{
    uint32_t count = function->instruction_count;
    leader[0] = 1;
    for (uint32_t i = 0; i < function->label_count; i++) {
        if (function->labels[i].target < count) {
            leader[function->labels[i].target] = 1;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ends_block(&function->instructions[i])) {
            leader[i + 1] = 1;
        }
    }
}

/* An edge to an instruction, or the function's end where there is none. */
static void add_edge(const smk_function *function, smk_cfg *cfg, uint32_t block, uint32_t instruction, uint32_t *edges,
                     uint32_t *edge)
{
    if (instruction >= function->instruction_count) {
        ((uint8_t *)(uintptr_t)cfg->graph.end)[block] = function->is_entry ? SMK_CFG_EXITS : SMK_CFG_RETURNS;
    } else {
        edge[(*edges)++] = cfg->block_of[instruction];
    }
}

static void add_edges(const smk_function *function, smk_cfg *cfg, uint32_t block, uint32_t *edges, uint32_t *edge,
                      uint8_t *end)
{
    uint32_t last = cfg->first[block + 1] - 1;
    const smk_instruction *instruction = &function->instructions[last];
    bool falls = true;
    if (ends_block(instruction)) {
        falls = instruction->guarded;
        if (instruction->opcode == SMK_OPCODE_BRX) {
            falls = true; /* an index outside the table is an error and no edge */
            const smk_label *label = &function->labels[instruction->operands[1].index];
            for (uint32_t i = 0; i < label->table_count; i++) {
                add_edge(function, cfg, block, function->labels[label->table[i]].target, edges, edge);
            }
            falls = instruction->guarded;
        } else if (instruction->opcode == SMK_OPCODE_BRA) {
            uint32_t target = function->labels[instruction->operands[0].index].target;
            if (!smk_cfg_exits(function, target)) {
                add_edge(function, cfg, block, target, edges, edge);
            } else if (!falls) {
                end[block] = SMK_CFG_EXITS;
            }
        } else if (!is_end(function, instruction)) {
            end[block] = SMK_CFG_RETURNS;
        } else if (!falls) {
            end[block] = SMK_CFG_EXITS;
        }
    }
    if (falls) {
        add_edge(function, cfg, block, last + 1, edges, edge);
    }
}

static size_t edges_at_most(const smk_function *function, size_t blocks)
{
    size_t edges = 2 * blocks;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const smk_instruction *instruction = &function->instructions[i];
        if (instruction->opcode == SMK_OPCODE_BRX) {
            edges += function->labels[instruction->operands[1].index].table_count;
        }
    }
    return edges;
}

smk_status smk_cfg_build(const smk_function *function, smk_arena *arena, smk_cfg *cfg, smk_error *error)
{
    size_t count = function->instruction_count;
    uint32_t *block_of = smk_arena_allocate(arena, count + 1, sizeof *block_of);
    uint8_t *leader = smk_heap_allocate(count + 1, 1);
    if (block_of == NULL || leader == NULL) {
        smk_heap_free(leader);
        return smk_status_fail(error, SMK_MEMORY, "no memory for the control flow of %zu instructions", count);
    }
    mark_leaders(function, leader);
    uint32_t blocks = 0;
    for (size_t i = 0; i < count; i++) {
        blocks += leader[i];
        block_of[i] = blocks - 1;
    }
    block_of[count] = blocks;
    smk_heap_free(leader);

    uint32_t *first = smk_arena_allocate(arena, (size_t)blocks + 1, sizeof *first);
    uint32_t *start = smk_arena_allocate(arena, (size_t)blocks + 1, sizeof *start);
    uint32_t *postdominator = smk_arena_allocate(arena, (size_t)blocks + 1, sizeof *postdominator);
    uint8_t *end = smk_arena_allocate(arena, (size_t)blocks + 1, 1);
    uint32_t *edge = smk_arena_allocate(arena, edges_at_most(function, blocks) + 1, sizeof *edge);
    if (first == NULL || start == NULL || postdominator == NULL || end == NULL || edge == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the control flow of %u blocks", blocks);
    }
    for (size_t i = count; i-- > 0;) {
        first[block_of[i]] = (uint32_t)i;
    }
    first[blocks] = (uint32_t)count;
    smk_cfg built = {{blocks, start, edge, end}, first, block_of, postdominator};
    uint32_t edges = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        start[i] = edges;
        add_edges(function, &built, i, &edges, edge, end);
    }
    start[blocks] = edges;
    smk_status status = smk_cfg_postdominate(&built.graph, postdominator, error);
    if (status == SMK_OK) {
        *cfg = built;
    }
    return status;
}
