#include "sim/check/barrier_site.h"

#include "ptx/opcode.h"
#include "sim/ptxas/cfg.h"

#include <string.h>

enum { UNSEEN = 0, OPEN = 1, DONE = 2 };

void smk_barrier_site_fill(smk_barrier_site *site, const smk_instruction_ids *ids, const smk_warp *warp,
                           const smk_operation *op)
{
    const smk_warp_control *control = warp->control;
    site->depth = 0;
    for (uint32_t i = 0; i < control->frame_count && site->depth + 1 < SMK_BARRIER_SITE_DEPTH; i++) {
        const smk_operation *call = control->frame[i].call;
        site->instruction_id[site->depth++] = smk_finding_instruction_id(ids, call->function, call->instruction);
    }
    site->instruction_id[site->depth++] = smk_finding_instruction_id(ids, op->function, op->instruction);
}

/* Source locations ------------------------------------------------------------------------------- */

/* NULL: none. The location of a call always stands behind that of the code inlined there, so chains of them end. */
static const smk_source_location *location_of(const smk_module *module, uint32_t number)
{
    return number == 0 || number > module->location_count ? NULL : &module->locations[number - 1];
}

static bool has_same_lines(const smk_module *module, const smk_source_location *a, const smk_source_location *b,
                           bool columns)
{
    while (a != NULL && b != NULL) {
        if (a->file != b->file || a->line != b->line || (columns && a->column != b->column)) {
            return false;
        }
        a = location_of(module, a->outer);
        b = location_of(module, b->outer);
    }
    return a == NULL && b == NULL;
}

/* Is the code compiled for debugging, so that the compiler has not moved or merged instructions? */
static bool is_debug(const smk_module *module)
{
    static const char word[] = "debug";
    const smk_text text = module->target_text;
    for (size_t i = 0; i + sizeof word - 1 <= text.length; i++) {
        if (memcmp(text.start + i, word, sizeof word - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* Does the branch stand on the barrier's line, or on the line of a call through which the barrier was inlined? */
static bool is_of_line(const smk_module *module, const smk_instruction *branch, const smk_instruction *barrier)
{
    const smk_source_location *from = location_of(module, branch->source_location);
    const smk_source_location *at = location_of(module, barrier->source_location);
    while (from != NULL && at != NULL) {
        if (has_same_lines(module, from, at, false)) {
            return true;
        }
        at = location_of(module, at->outer);
    }
    return false;
}

/* Control flow ----------------------------------------------------------------------------------- */

/* Blocks in reverse postorder: an edge that does not lead to a later block is a back edge. */
typedef struct flow {
    smk_arena arena;
    smk_cfg cfg;
    uint32_t *number; /* of each block in that order; SMK_NO_INDEX: never reached */
    uint32_t *order;  /* block of each number */
    uint32_t *parent; /* by number: immediate dominator in the graph without back edges */
    uint32_t count;
} flow;

static bool number_blocks(flow *f)
{
    const smk_cfg_graph *graph = &f->cfg.graph;
    uint32_t *stack = smk_arena_allocate(&f->arena, graph->count + 1, sizeof *stack);
    uint32_t *next = smk_arena_allocate(&f->arena, graph->count + 1, sizeof *next);
    uint32_t depth = 0, left = graph->count;
    f->number = smk_arena_allocate(&f->arena, graph->count + 1, sizeof *f->number);
    f->order = smk_arena_allocate(&f->arena, graph->count + 1, sizeof *f->order);
    f->parent = smk_arena_allocate(&f->arena, graph->count + 1, sizeof *f->parent);
    if (stack == NULL || next == NULL || f->number == NULL || f->order == NULL || f->parent == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        f->number[i] = SMK_NO_INDEX;
        next[i] = SMK_NO_INDEX; /* not visited yet */
    }
    stack[depth++] = 0;
    next[0] = graph->start[0];
    while (depth > 0) {
        uint32_t block = stack[depth - 1];
        if (next[block] == graph->start[block + 1]) {
            f->number[block] = --left;
            f->order[left] = block;
            depth--;
            continue;
        }
        uint32_t to = graph->successor[next[block]++];
        if (next[to] == SMK_NO_INDEX) {
            next[to] = graph->start[to];
            stack[depth++] = to;
        }
    }
    f->count = graph->count;
    return true;
}

/* Immediate dominators of the graph without back edges, by the intersection of Cooper, Harvey and Kennedy, "A Simple,
 * Fast Dominance Algorithm", 2001. Every edge leads to a later number, so one pass in order is enough. */
static void find_parents(flow *f)
{
    const smk_cfg_graph *graph = &f->cfg.graph;
    for (uint32_t i = 0; i < f->count; i++) {
        f->parent[i] = SMK_NO_INDEX;
    }
    uint32_t first = f->number[0];
    f->parent[first] = first;
    for (uint32_t n = first; n < f->count; n++) {
        uint32_t block = f->order[n];
        for (uint32_t e = graph->start[block]; e < graph->start[block + 1]; e++) {
            uint32_t to = f->number[graph->successor[e]], at = n;
            if (to <= n) {
                continue;
            }
            uint32_t old = f->parent[to];
            while (old != SMK_NO_INDEX && at != old) { /* up to the nearest common dominator */
                if (at > old) {
                    at = f->parent[at];
                } else {
                    old = f->parent[old];
                }
            }
            f->parent[to] = at;
        }
    }
}

/* Does a path without back edges lead from one block to another? */
static bool reaches(flow *f, uint32_t from, uint32_t to, uint8_t *seen)
{
    const smk_cfg_graph *graph = &f->cfg.graph;
    memset(seen, 0, f->count);
    seen[from] = 1;
    for (uint32_t n = from; n < to; n++) { /* edges lead to later numbers */
        uint32_t block = f->order[n];
        for (uint32_t e = graph->start[block]; e < graph->start[block + 1] && seen[n] != 0; e++) {
            uint32_t next = f->number[graph->successor[e]];
            seen[next] |= (uint8_t)(next > n);
        }
    }
    return seen[to] != 0;
}

/* The branch at which the paths to two instructions separate; NULL where there is none, or where one instruction can
 * be reached from the other. */
static const smk_instruction *find_branch(flow *f, const smk_function *function, uint32_t a, uint32_t b)
{
    smk_error unused;
    if (smk_cfg_build(function, &f->arena, &f->cfg, &unused) != SMK_OK || !number_blocks(f)) {
        return NULL;
    }
    uint8_t *seen = smk_arena_allocate(&f->arena, f->count + 1, 1);
    uint32_t x = f->number[f->cfg.block_of[a]], y = f->number[f->cfg.block_of[b]];
    if (seen == NULL || x == SMK_NO_INDEX || y == SMK_NO_INDEX || reaches(f, x < y ? x : y, x < y ? y : x, seen)) {
        return NULL;
    }
    find_parents(f);
    while (x != y) {
        if (x > y) {
            x = f->parent[x];
        } else {
            y = f->parent[y];
        }
        if (x == SMK_NO_INDEX || y == SMK_NO_INDEX) {
            return NULL;
        }
    }
    const smk_instruction *last = &function->instructions[f->cfg.first[f->order[x] + 1] - 1];
    bool parts = smk_opcode_class(last) == SMK_CLASS_BRANCH && (last->guarded || last->opcode == SMK_OPCODE_BRX);
    return parts ? last : NULL;
}

/* Are two PTX instructions, both barriers or both calls, one barrier or call of the source? */
static bool is_same_site(const smk_instruction_ids *ids, uint32_t a, uint32_t b)
{
    const smk_module *module = ids->module;
    uint32_t function, other, at_a, at_b;
    const smk_instruction *x = smk_finding_locate(ids, a, &function, &at_a);
    const smk_instruction *y = smk_finding_locate(ids, b, &other, &at_b);
    if (x == NULL || y == NULL) {
        return true;
    }
    if (x->source_line == 0 || y->source_line == 0) { /* without a source line each barrier instruction is a barrier of
                                                       * its own */
        return smk_opcode_class(x) == SMK_CLASS_CALL && smk_opcode_class(y) == SMK_CLASS_CALL;
    }
    if (function != other) { /* instances of one function */
        return x->source_line == y->source_line && x->source_file == y->source_file;
    }
    if (!has_same_lines(module, location_of(module, x->source_location), location_of(module, y->source_location),
                        true) ||
        (x->guarded && y->guarded && x->guard == y->guard && x->guard_negate != y->guard_negate)) {
        return false;
    }
    flow f = {.count = 0};
    const smk_instruction *branch = find_branch(&f, &module->functions[function], at_a, at_b);
    bool parted = branch != NULL && (is_debug(module) || is_of_line(module, branch, x));
    smk_arena_free(&f.arena);
    return !parted;
}

bool smk_barrier_site_is_same(const smk_instruction_ids *ids, const smk_barrier_site *first,
                              const smk_barrier_site *second, uint32_t *a, uint32_t *b)
{
    for (uint32_t i = 0; i < first->depth && i < second->depth; i++) {
        if (first->instruction_id[i] != second->instruction_id[i] &&
            !is_same_site(ids, first->instruction_id[i], second->instruction_id[i])) {
            *a = first->instruction_id[i];
            *b = second->instruction_id[i];
            return false;
        }
    }
    return true;
}
