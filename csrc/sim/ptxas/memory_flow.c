#include "sim/ptxas/memory_flow.h"

#include "base/heap.h"
#include "ptx/opcode.h"

enum { ALL = (1 << SMK_MEMORY_FLOW_SPACES) - 1, UNKNOWN = 0, ENTRY = 1, FIRST = 2, ROUNDS_MAX = 1 << 16 };

bool smk_memory_flow_is_plain(const smk_instruction *in)
{
    return !smk_module_has(in, SMK_MODIFIER_VOLATILE) && !smk_module_has(in, SMK_MODIFIER_RELAXED) &&
           !smk_module_has(in, SMK_MODIFIER_ACQUIRE) && !smk_module_has(in, SMK_MODIFIER_RELEASE);
}

static unsigned get_space_bits(const smk_instruction *in)
{
    return in->space == SMK_SPACE_GENERIC ? (unsigned)ALL : 1U << in->space | 1U << SMK_SPACE_GENERIC;
}

unsigned smk_memory_flow_changes(const smk_instruction *in)
{
    switch (smk_opcode_class(in)) {
    case SMK_CLASS_LOAD:
        return smk_module_has(in, SMK_MODIFIER_ACQUIRE) ? (unsigned)ALL : 0;
    case SMK_CLASS_STORE:
        if (in->space == SMK_SPACE_PARAM) {
            return 0;
        }
        return smk_module_has(in, SMK_MODIFIER_RELEASE) ? (unsigned)ALL : get_space_bits(in);
    case SMK_CLASS_ATOMIC:
        return get_space_bits(in);
    case SMK_CLASS_MATRIX:
        return in->opcode == SMK_OPCODE_STMATRIX ? get_space_bits(in) : 0;
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_CALL:
    case SMK_CLASS_COPY:
        return ALL;
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_ALU:
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        break;
    }
    return 0;
}

/* Numbers the blocks in reverse postorder. */
static void number_blocks(smk_memory_flow *flow, uint32_t *stack, uint32_t *cursor, uint32_t *sequence)
{
    const smk_cfg_graph *graph = &flow->cfg->graph;
    uint32_t depth = 0, left = graph->count;
    for (uint32_t i = 0; i < graph->count; i++) {
        flow->order[i] = SMK_NO_INDEX;
        cursor[i] = graph->start[i];
    }
    stack[depth++] = 0;
    flow->order[0] = 0;
    while (depth > 0) {
        uint32_t block = stack[depth - 1];
        if (cursor[block] == graph->start[block + 1]) {
            flow->order[block] = --left;
            depth--;
            continue;
        }
        uint32_t next = graph->successor[cursor[block]++];
        if (flow->order[next] == SMK_NO_INDEX) {
            flow->order[next] = 0; /* seen */
            stack[depth++] = next;
        }
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        sequence[i] = SMK_NO_INDEX;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        if (flow->order[i] != SMK_NO_INDEX) {
            sequence[flow->order[i]] = i;
        }
    }
}

static void invert(const smk_cfg_graph *graph, uint32_t *start, uint32_t *from, uint32_t *cursor)
{
    for (uint32_t i = 0; i < graph->start[graph->count]; i++) {
        start[graph->successor[i] + 1]++;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        start[i + 1] += start[i];
        cursor[i] = start[i];
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t k = graph->start[i]; k < graph->start[i + 1]; k++) {
            from[cursor[graph->successor[k]]++] = i;
        }
    }
}

static uint32_t intersect(const smk_memory_flow *flow, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (flow->order[a] > flow->order[b]) {
            a = flow->dominator[a];
        } else {
            b = flow->dominator[b];
        }
    }
    return a;
}

/* Immediate dominators, by iteration (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001). */
static void find_dominators(smk_memory_flow *flow, const uint32_t *sequence, const uint32_t *start,
                            const uint32_t *from)
{
    uint32_t count = flow->cfg->graph.count;
    for (uint32_t i = 1; i < count; i++) {
        flow->dominator[i] = SMK_NO_INDEX;
    }
    for (bool news = true; news;) {
        news = false;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t block = sequence[k], best = SMK_NO_INDEX;
            if (block == SMK_NO_INDEX || block == 0) {
                continue;
            }
            for (uint32_t i = start[block]; i < start[block + 1]; i++) {
                if (flow->dominator[from[i]] != SMK_NO_INDEX) {
                    best = best == SMK_NO_INDEX ? from[i] : intersect(flow, best, from[i]);
                }
            }
            news = news || best != flow->dominator[block];
            flow->dominator[block] = best;
        }
    }
}

bool smk_memory_flow_dominates(const smk_memory_flow *flow, uint32_t a, uint32_t b)
{
    while (b != a && b != 0 && flow->order[b] != SMK_NO_INDEX && flow->order[a] < flow->order[b]) {
        b = flow->dominator[b];
    }
    return a == b;
}

/* The version of a memory behind a block: that of the last change in it. */
static uint32_t get_version_behind(const smk_memory_flow *flow, const uint32_t *last, uint32_t block, unsigned space)
{
    size_t at = (size_t)block * SMK_MEMORY_FLOW_SPACES + space;
    return last[at] != 0 ? last[at] : flow->version[at];
}

static uint32_t join_versions(const smk_memory_flow *flow, const uint32_t *last, const uint32_t *start,
                              const uint32_t *from, uint32_t block, unsigned space)
{
    uint32_t own = FIRST + flow->function->instruction_count + block, joined = block == 0 ? (uint32_t)ENTRY : UNKNOWN;
    if (flow->version[(size_t)block * SMK_MEMORY_FLOW_SPACES + space] == own) {
        return own; /* versions that differ stay different */
    }
    for (uint32_t i = start[block]; i < start[block + 1]; i++) {
        uint32_t behind = get_version_behind(flow, last, from[i], space);
        if (behind != UNKNOWN && joined != UNKNOWN && behind != joined) {
            return own;
        }
        joined = behind != UNKNOWN ? behind : joined;
    }
    return joined;
}

static void find_versions(smk_memory_flow *flow, const uint32_t *sequence, const uint32_t *start, const uint32_t *from,
                          uint32_t *last)
{
    const smk_cfg *cfg = flow->cfg;
    for (uint32_t i = 0; i < flow->function->instruction_count; i++) {
        unsigned changes = smk_memory_flow_changes(&flow->function->instructions[i]);
        for (unsigned space = 0; space < SMK_MEMORY_FLOW_SPACES; space++) {
            if ((changes >> space & 1) != 0) {
                last[(size_t)cfg->block_of[i] * SMK_MEMORY_FLOW_SPACES + space] = FIRST + i;
            }
        }
    }
    bool news = true;
    for (unsigned round = 0; news && round < ROUNDS_MAX; round++) {
        news = false;
        for (uint32_t k = 0; k < cfg->graph.count; k++) {
            uint32_t block = sequence[k];
            for (unsigned space = 0; block != SMK_NO_INDEX && space < SMK_MEMORY_FLOW_SPACES; space++) {
                uint32_t *version = &flow->version[(size_t)block * SMK_MEMORY_FLOW_SPACES + space];
                uint32_t joined = join_versions(flow, last, start, from, block, space);
                news = news || joined != *version;
                *version = joined;
            }
        }
    }
}

void smk_memory_flow_free(smk_memory_flow *flow)
{
    smk_heap_free(flow->memory);
    *flow = (smk_memory_flow){0};
}

smk_status smk_memory_flow_create(const smk_function *function, const smk_cfg *cfg, smk_memory_flow *flow,
                                  smk_error *error)
{
    const size_t count = cfg->graph.count, edges = count == 0 ? 0 : cfg->graph.start[count];
    const size_t spaces = count * SMK_MEMORY_FLOW_SPACES;
    uint32_t *memory = smk_heap_allocate(2 * spaces + 7 * (count + 1) + edges, sizeof *memory);
    if (memory == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the flow of %zu blocks", count);
    }
    smk_memory_flow made = {.function = function, .cfg = cfg, .memory = memory, .version = memory};
    uint32_t *last = memory + spaces, *start = last + spaces;
    made.dominator = start + count + 1;
    made.order = made.dominator + count + 1;
    made.entered = made.order + count + 1;
    uint32_t *stack = made.entered + count + 1, *cursor = stack + count + 1, *sequence = cursor + count + 1;
    uint32_t *from = sequence + count + 1;
    if (count > 0) {
        number_blocks(&made, stack, cursor, sequence);
        invert(&cfg->graph, start, from, cursor);
        find_dominators(&made, sequence, start, from);
        find_versions(&made, sequence, start, from, last);
        for (size_t i = 0; i < count; i++) {
            made.entered[i] = start[i + 1] - start[i] + (i == 0);
        }
    }
    *flow = made;
    return SMK_OK;
}
