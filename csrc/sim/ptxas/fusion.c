#include "sim/ptxas/fusion.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/ptxas/copy_size.h"
#include "sim/ptxas/memory_flow.h"
#include "sim/ptxas/value_numbering.h"

#include <stdlib.h>
#include <string.h>

enum { QUAD = 16, SPACES = SMK_MEMORY_FLOW_SPACES, ALWAYS = 0 /* the version of memory that never changes */ };

/* One element of a load or store; vectors have several. */
typedef struct element {
    smk_value_number at;
    int64_t start;  /* offset of the instruction's own address */
    int64_t window; /* offset at which the widest access that could hold it begins */
    uint64_t guard; /* equal for equal guards; 0: none */
    uint32_t kind;  /* equal for elements that may join: space, size, and more */
    uint32_t epoch; /* of a load: the version of its memory; of a store: its run */
    uint32_t instruction;
    uint32_t block;
    uint8_t bytes;
    uint8_t room; /* bytes of the window */
    bool store;
    bool dropped; /* overwritten at once, or never read */
} element;

typedef struct planner {
    const smk_module *module;
    const smk_function *function;
    const smk_cfg *cfg;
    smk_value_numbering *align;
    smk_fusion_access *plan;
    smk_memory_flow flow;
    element *list;
    uint32_t count, room;
    uint32_t block, first;        /* the present block; the first element of the present straight-line code */
    uint8_t *leads;               /* by instruction: number of machine accesses that it leads */
    uint8_t *joined;              /* by instruction: others are fused into its access */
    uint32_t version[SPACES];     /* of each memory */
    uint32_t run[SPACES];         /* of stores; changes where one ends */
    uint32_t run_version[SPACES]; /* version of the memory behind the last store of the run */
    bool open[SPACES];            /* the run can be continued */
    bool failed;
} planner;

/* Versions of memory --------------------------------------------------------------------------------- */

/* Ends open runs of stores to memories that an instruction accesses. */
static void touch(planner *p, unsigned spaces)
{
    for (unsigned space = 0; space < SPACES; space++) {
        if ((spaces >> space & 1) != 0 && p->open[space]) {
            p->open[space] = false;
            p->run[space]++;
        }
    }
}

static unsigned get_touched(const smk_instruction *in)
{
    return in->space == SMK_SPACE_GENERIC ? ~0U : 1U << in->space | 1U << SMK_SPACE_GENERIC;
}

/* Starts new versions of memories that an instruction may change, as in memory_flow.c. */
static void change(planner *p, uint32_t instruction)
{
    unsigned changes = smk_memory_flow_changes(&p->function->instructions[instruction]);
    for (unsigned space = 0; space < SPACES; space++) {
        if ((changes >> space & 1) != 0) {
            p->version[space] = instruction + 2;
        }
    }
}

/* Elements ------------------------------------------------------------------------------------------- */

static element *add_element(planner *p)
{
    if (p->count == p->room) {
        uint32_t room = p->room * 2;
        element *list = smk_heap_resize(p->list, p->room * sizeof *list, room * sizeof *list);
        if (list == NULL) {
            p->failed = true;
            return NULL;
        }
        p->list = list;
        p->room = room;
    }
    memset(&p->list[p->count], 0, sizeof *p->list);
    return &p->list[p->count++];
}

static uint64_t get_guard(planner *p, const smk_instruction *in)
{
    uint64_t guard = 0;
    if (in->guarded) {
        const smk_operand operand = {.base_kind = SMK_OPERAND_REGISTER, .index = in->guard};
        smk_value_number value = smk_value_numbering_address(p->align, &operand);
        guard = (uint64_t)value.base << 1 | in->guard_negate;
    }
    return guard;
}

static unsigned get_own_bytes(const smk_instruction *in)
{
    return smk_module_type_bits((smk_type)in->type) / 8 * (in->vector > 1 ? in->vector : 1U);
}

static unsigned count_zeros(uint64_t value)
{
    unsigned zeros = 0;
    while (zeros < 63 && (value >> zeros & 1) == 0) {
        zeros++;
    }
    return zeros;
}

/* Trailing zeros of a base, with those that a dominating access proves. */
static unsigned get_zeros(const planner *p, uint32_t base)
{
    uint32_t block = 0;
    unsigned zeros = smk_value_numbering_zeros(p->align, base),
             proved = smk_value_numbering_get_proved(p->align, base, &block);
    return proved > zeros && smk_memory_flow_dominates(&p->flow, block, p->block) ? proved : zeros;
}

/* Sets the window: the widest access that ptxas may make of the element. */
static void set_window(const planner *p, element *e, unsigned own_bytes, bool joins)
{
    const unsigned zeros = get_zeros(p, e->at.base), widest = !joins ? e->bytes : e->bytes == 2 ? 8 : QUAD;
    unsigned room = e->bytes;
    while (room * 2 <= widest && zeros < 16 && room * 2 <= 1U << zeros) {
        room *= 2;
    }
    if (zeros >= 16) {
        room = widest;
    }
    if (own_bytes > room) {
        e->room = (uint8_t)own_bytes; /* proved by the vector itself; shared with equal vectors only */
        e->window = e->start;
        e->kind |= own_bytes << 24;
    } else {
        e->room = (uint8_t)room;
        e->window = room == e->bytes ? e->at.offset : e->at.offset & -(int64_t)room;
    }
}

/* Loads of different kinds do not join. */
static uint32_t get_kind(const smk_instruction *in, unsigned bytes)
{
    const bool only_read = smk_module_has(in, SMK_MODIFIER_NC);
    const bool extends = bytes < 4 && smk_module_type_kind((smk_type)in->type) == SMK_KIND_SIGNED;
    return (uint32_t)in->space | bytes << 4 | (uint32_t)only_read << 12 |
           (smk_opcode_class(in) == SMK_CLASS_STORE ? 1U << 13 : (uint32_t)extends << 14);
}

static const smk_operand *get_element(const smk_instruction *in, const smk_operand *whole, unsigned i)
{
    return in->vector > 1 && whole->kind == SMK_OPERAND_LIST && i < whole->count ? &whole->element[i] : whole;
}

static bool is_wanted(const planner *p, const smk_operand *operand)
{
    return operand->kind == SMK_OPERAND_REGISTER && smk_value_numbering_is_read(p->align, operand->index);
}

/* Does ptxas know the loaded value, because the last change of the memory was a store of it? */
static bool is_forwarded(const planner *p, const element *load, unsigned space)
{
    if (p->run_version[space] != p->version[space]) {
        return false;
    }
    for (uint32_t i = p->count; i-- > p->first;) {
        const element *e = &p->list[i];
        if (e->store && (e->kind & 15) == space) {
            if (e->epoch != p->run[space] - !p->open[space]) {
                return false;
            }
            if (e->at.base == load->at.base && e->at.offset == load->at.offset && e->bytes == load->bytes &&
                e->guard == load->guard) {
                return true;
            }
        }
    }
    return false;
}

/* The size of an element in machine code: vectors of bytes and halves are words. */
static unsigned get_step(const planner *p, const smk_instruction *in, const smk_operand *data, bool store)
{
    const unsigned bytes = smk_module_type_bits((smk_type)in->type) / 8, own = get_own_bytes(in);
    unsigned wanted = 0;
    if (bytes >= 4 || in->vector <= 1) {
        return bytes;
    }
    for (unsigned i = 0; i < in->vector; i++) {
        wanted += store || is_wanted(p, get_element(in, data, i));
    }
    return bytes == 2 && in->vector == 4 && wanted == 1 ? 2 : own < 4 ? own : 4;
}

/* Bytes never join; halves join unless they are widened at once. */
static bool may_join(const planner *p, const smk_instruction *in, const smk_operand *data, unsigned step, bool store)
{
    if (step >= 4 || in->vector > 1) {
        return true;
    }
    return step == 2 && (store || (data->kind == SMK_OPERAND_REGISTER &&
                                   smk_module_type_bits((smk_type)p->function->registers[data->index].type) == 16));
}

static void add_access(planner *p, uint32_t instruction, const smk_operand *address, const smk_operand *data,
                       bool store)
{
    const smk_instruction *in = &p->function->instructions[instruction];
    const unsigned bytes = smk_module_type_bits((smk_type)in->type) / 8, own = get_own_bytes(in);
    const smk_value_number at = smk_value_numbering_address(p->align, address);
    const uint64_t guard = get_guard(p, in);
    const unsigned step = get_step(p, in, data, store), zeros = count_zeros(own | (uint64_t)at.offset);
    const bool joins = may_join(p, in, data, step, store);
    if (guard == 0) {
        smk_value_numbering_prove(p->align, at.base, p->block, zeros);
    }
    for (unsigned start = 0; start < own; start += step) {
        bool wanted = store;
        for (unsigned k = start / bytes; !wanted && k < (start + step) / bytes; k++) {
            wanted = is_wanted(p, get_element(in, data, k));
        }
        element *e = add_element(p);
        if (e == NULL) {
            return;
        }
        e->at = (smk_value_number){at.base, at.offset + (int64_t)start};
        e->start = at.offset;
        e->guard = guard;
        e->instruction = instruction;
        e->block = p->block;
        e->bytes = (uint8_t)step;
        e->store = store;
        e->kind = get_kind(in, step);
        e->epoch = store                                 ? p->run[in->space]
                   : smk_module_has(in, SMK_MODIFIER_NC) ? (uint32_t)ALWAYS
                                                         : p->version[in->space];
        set_window(p, e, step == 2 ? 2 : own, joins);
        e->dropped = !wanted || (!store && is_forwarded(p, e, in->space));
    }
}

/* Does a store continue the open run? */
static bool joins_run(const element *a, const element *b)
{
    return a->at.base == b->at.base && a->window == b->window && a->kind == b->kind && a->guard == b->guard;
}

/* The last store of the open run to a memory, which exists; elements of loads may follow it. */
static const element *find_store(const planner *p, uint32_t end, unsigned space)
{
    const element *e = &p->list[end - 1];
    while (!e->store || (e->kind & 15) != space) {
        e--;
    }
    return e;
}

static void add_store(planner *p, uint32_t instruction)
{
    const smk_instruction *in = &p->function->instructions[instruction];
    const unsigned space = in->space;
    const uint32_t start = p->count;
    touch(p, get_touched(in) & ~(1U << space));
    add_access(p, instruction, &in->operands[0], &in->operands[1], true);
    if (p->failed) {
        return;
    }
    if (p->open[space] && !joins_run(find_store(p, start, space), &p->list[start])) {
        p->run[space]++;
        for (uint32_t i = start; i < p->count; i++) {
            p->list[i].epoch = p->run[space];
        }
    }
    p->open[space] = true;
    change(p, instruction);
    p->run_version[space] = p->version[space];
}

/* Atomic operations ---------------------------------------------------------------------------------- */

static bool is_number(planner *p, const smk_operand *operand, uint64_t wanted)
{
    const smk_operand number = {.base_kind = operand->kind, .index = operand->index, .bits = operand->bits};
    const bool simple = operand->kind == SMK_OPERAND_REGISTER || operand->kind == SMK_OPERAND_IMMEDIATE;
    const smk_value_number value = smk_value_numbering_address(p->align, &number);
    return simple && value.base == 0 && (uint32_t)(uint64_t)value.offset == wanted;
}

static bool is_constant(planner *p, const smk_operand *operand)
{
    const smk_operand number = {.base_kind = operand->kind, .index = operand->index, .bits = operand->bits};
    return operand->kind == SMK_OPERAND_IMMEDIATE ||
           (operand->kind == SMK_OPERAND_REGISTER && smk_value_numbering_address(p->align, &number).base == 0);
}

/* Can the values of all lanes be reduced to one value? */
static bool is_reduced(smk_modifier operation)
{
    return operation == SMK_MODIFIER_ADD || operation == SMK_MODIFIER_MIN || operation == SMK_MODIFIER_MAX ||
           operation == SMK_MODIFIER_AND || operation == SMK_MODIFIER_OR || operation == SMK_MODIFIER_XOR;
}

/* The machine has no floating-point addition in shared memory, and of 8 bytes only exch and cas. */
static uint8_t get_form(planner *p, const smk_instruction *in)
{
    const bool returns = in->result_count > 0 && is_wanted(p, &in->operands[0]);
    const unsigned first = in->result_count, bits = smk_module_type_bits((smk_type)in->type);
    const smk_operand *value = &in->operands[first + 1];
    const smk_modifier operation = smk_module_atomic(in);
    if (operation == SMK_MODIFIER_EXCH || operation == SMK_MODIFIER_CAS || bits < 32 || bits > 64) {
        return SMK_FUSION_PLAIN;
    }
    if (bits == 64 || smk_module_type_kind((smk_type)in->type) == SMK_KIND_FLOAT) {
        return operation == SMK_MODIFIER_MIN || operation == SMK_MODIFIER_MAX ? SMK_FUSION_BOUND : SMK_FUSION_LOOP;
    }
    if (!returns && in->type == SMK_TYPE_U32 &&
        ((operation == SMK_MODIFIER_ADD && is_number(p, value, 1)) ||
         (operation == SMK_MODIFIER_INC && is_number(p, value, UINT32_MAX)))) {
        return SMK_FUSION_COUNT;
    }
    const uint32_t base = smk_value_numbering_address(p->align, &in->operands[first]).base;
    if (!is_reduced(operation) || !smk_value_numbering_is_uniform(p->align, base) ||
        (returns && operation != SMK_MODIFIER_ADD)) {
        return SMK_FUSION_PLAIN;
    }
    return !returns || is_constant(p, value) ? SMK_FUSION_SINGLE : SMK_FUSION_SCAN;
}

/* One instruction ------------------------------------------------------------------------------------ */

static void add_instruction(planner *p, uint32_t instruction)
{
    const smk_instruction *in = &p->function->instructions[instruction];
    const bool plain = smk_memory_flow_is_plain(in);
    if (smk_opcode_class(in) == SMK_CLASS_STORE && in->space != SMK_SPACE_PARAM && plain) {
        add_store(p, instruction);
    } else {
        touch(p, smk_memory_flow_changes(in));
        if (smk_opcode_moves_matrices(in)) {
            touch(p, get_touched(in));
        } else if (in->opcode == SMK_OPCODE_LD && in->space != SMK_SPACE_PARAM && in->space != SMK_SPACE_CONST) {
            touch(p, get_touched(in));
            if (plain) {
                add_access(p, instruction, &in->operands[1], &in->operands[0], false);
            }
        } else if (smk_opcode_class(in) == SMK_CLASS_ATOMIC && in->space == SMK_SPACE_SHARED) {
            p->plan[instruction].form = get_form(p, in);
        }
        change(p, instruction);
    }
    smk_value_numbering_pass(p->align, instruction);
}

/* Joining -------------------------------------------------------------------------------------------- */

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_groups(const element *a, const element *b)
{
    int result = order(a->kind, b->kind);
    result = result != 0 ? result : order(a->at.base, b->at.base);
    result = result != 0 ? result : order(a->epoch, b->epoch);
    result = result != 0 || !a->store ? result : order(a->guard, b->guard);
    return result != 0 ? result : order((uint64_t)a->window, (uint64_t)b->window);
}

static int compare(const void *x, const void *y)
{
    const element *a = x, *b = y;
    int result = compare_groups(a, b);
    result = result != 0 ? result : order((uint64_t)a->at.offset, (uint64_t)b->at.offset);
    return result != 0 ? result : order(a->instruction, b->instruction);
}

/* Of several elements with one address, keeps the first load or the last store. */
static void drop_overwritten(element *list, uint32_t count)
{
    for (uint32_t i = 0; i + 1 < count; i++) {
        bool same = list[i].at.offset == list[i + 1].at.offset;
        list[i].dropped = list[i].dropped || (same && list[i].store);
    }
}

/* Makes one machine access of all used elements in [low, low + bytes). */
static void make_access(planner *p, const element *list, uint32_t count, int64_t low, unsigned bytes)
{
    const element *leader = NULL;
    bool others = false;
    for (uint32_t i = 0; i < count; i++) {
        const element *e = &list[i];
        if (e->dropped || e->at.offset < low || e->at.offset >= low + (int64_t)bytes) {
            continue;
        }
        others = others || (leader != NULL && leader->instruction != e->instruction);
        /* the first load leads, or the last store, which has all values */
        if (leader == NULL || (e->instruction < leader->instruction) != e->store) {
            leader = e;
        }
    }
    if (leader == NULL) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const element *e = &list[i];
        if (!e->dropped && e->at.offset >= low && e->at.offset < low + (int64_t)bytes &&
            e->instruction != leader->instruction) {
            p->plan[e->instruction].leader = leader->instruction;
        }
    }
    p->leads[leader->instruction]++;
    p->joined[leader->instruction] |= others;
    smk_fusion_access *access = &p->plan[leader->instruction];
    if (p->leads[leader->instruction] == 2) {
        access->more_bytes = (uint8_t)bytes;
        access->more_shift = (int16_t)(low - leader->start);
    } else {
        access->bytes = (uint8_t)bytes;
        access->shift = (int16_t)(low - leader->start);
    }
}

/* Bit i: element i of the window is used. */
static unsigned find_wanted(const element *list, uint32_t count)
{
    unsigned wanted = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!list[i].dropped) {
            wanted |= 1U << ((uint64_t)(list[i].at.offset - list[i].window) / list[i].bytes & 31);
        }
    }
    return wanted;
}

/* Joins the elements of one window: whole windows, then pairs, then single elements. */
static void join_window(planner *p, element *list, uint32_t count)
{
    const element first = list[0];
    drop_overwritten(list, count);
    unsigned wanted = find_wanted(list, count), parts = first.room / first.bytes, have = 0;
    for (unsigned i = 0; i < parts; i++) {
        have += wanted >> i & 1;
    }
    bool whole = have == parts || (parts == 4 && have == 3 && !first.store);
    if (whole && have > 0) {
        make_access(p, list, count, first.window, first.room);
        return;
    }
    for (unsigned i = 0; i < parts; i += 2) {
        int64_t low = first.window + (int64_t)i * first.bytes;
        if (parts > 2 && (wanted >> i & 3) == 3) {
            make_access(p, list, count, low, 2U * first.bytes);
            continue;
        }
        for (unsigned k = i; k < i + 2 && k < parts; k++) {
            if ((wanted >> k & 1) != 0) {
                make_access(p, list, count, first.window + (int64_t)k * first.bytes, first.bytes);
            }
        }
    }
}

/* Can the second load be done at the first one, which dominates it? */
static bool dominates(const planner *p, const element *a, const element *b)
{
    return (a->guard == 0 || a->guard == b->guard) && a->instruction <= b->instruction &&
           smk_memory_flow_dominates(&p->flow, a->block, b->block);
}

/* Joins the loads of one window: each set that one of them dominates. The list is small; its order is lost. */
static void join_loads(planner *p, element *list, uint32_t count)
{
    while (count > 0) {
        uint32_t top = SMK_NO_INDEX, taken = 0;
        for (uint32_t i = 0; i < count; i++) {
            bool first = top == SMK_NO_INDEX || list[i].instruction < list[top].instruction;
            top = first && !list[i].dropped ? i : top;
        }
        if (top == SMK_NO_INDEX) {
            return;
        }
        const element leader = list[top];
        for (uint32_t i = 0; i < count; i++) {
            if (dominates(p, &leader, &list[i])) {
                const element moved = list[i];
                memmove(&list[taken + 1], &list[taken], (i - taken) * sizeof moved);
                list[taken++] = moved;
            }
        }
        join_window(p, list, taken);
        list += taken;
        count -= taken;
    }
}

/* Joins the accesses of straight-line code that has ended. */
static void join_all(planner *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        p->plan[p->list[i].instruction].leader = SMK_NO_INDEX;
    }
    if (p->count > 0) {
        qsort(p->list, p->count, sizeof *p->list, compare);
    }
    for (uint32_t i = 0, end; i < p->count; i = end) {
        for (end = i + 1; end < p->count && compare_groups(&p->list[i], &p->list[end]) == 0;) {
            end++;
        }
        if (p->list[i].store) {
            join_window(p, &p->list[i], end - i);
        } else {
            join_loads(p, &p->list[i], end - i);
        }
    }
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t at = p->list[i].instruction;
        smk_fusion_access *access = &p->plan[at];
        if (p->leads[at] == 0) {
            access->role = access->leader == SMK_NO_INDEX ? SMK_FUSION_GONE : SMK_FUSION_MEMBER;
            continue;
        }
        unsigned own = get_own_bytes(&p->function->instructions[at]);
        bool same = access->bytes == own && access->shift == 0 && !p->joined[at];
        access->role = same ? SMK_FUSION_ALONE : SMK_FUSION_LEADER;
    }
    p->count = 0;
}

/* Straight-line code --------------------------------------------------------------------------------- */

/* Does the block continue the one before it, as its only successor that is entered from nowhere else? */
static bool goes_on(const planner *p, uint32_t block)
{
    const smk_cfg_graph *graph = &p->cfg->graph;
    return block > 0 && p->flow.entered[block] == 1 && graph->start[block] - graph->start[block - 1] == 1 &&
           graph->successor[graph->start[block - 1]] == block;
}

static void walk(planner *p)
{
    const smk_cfg *cfg = p->cfg;
    for (uint32_t block = 0; block < cfg->graph.count && !p->failed; block++) {
        p->block = block;
        memcpy(p->version, &p->flow.version[(size_t)block * SPACES], sizeof p->version);
        if (!goes_on(p, block)) {
            smk_value_numbering_begin(p->align);
            touch(p, ~0U);
            p->first = p->count;
        }
        for (uint32_t i = cfg->first[block]; i < cfg->first[block + 1] && !p->failed; i++) {
            add_instruction(p, i);
        }
    }
}

smk_status smk_fusion_plan(const smk_module *module, const smk_function *function, const smk_cfg *cfg, smk_arena *arena,
                           smk_fusion_access **plan, smk_error *error)
{
    enum { ROOM = 128 };
    const size_t count = function->instruction_count;
    planner p = {.module = module, .function = function, .cfg = cfg, .room = ROOM};
    smk_status status = smk_value_numbering_create(module, function, &p.align, error);
    if (status == SMK_OK) {
        status = smk_memory_flow_create(function, cfg, &p.flow, error);
    }
    if (status != SMK_OK) {
        smk_value_numbering_free(p.align);
        return status;
    }
    p.plan = smk_arena_allocate(arena, count + 1, sizeof *p.plan);
    p.list = smk_heap_allocate(ROOM, sizeof *p.list);
    p.leads = smk_heap_allocate(2 * count + 1, 1);
    p.failed = p.plan == NULL || p.list == NULL || p.leads == NULL;
    if (!p.failed) {
        p.joined = p.leads + count;
        walk(&p); /* a first walk collects the alignments that accesses prove, since the proof may follow its use */
        p.count = 0;
        smk_value_numbering_restart(p.align);
        memset(p.open, 0, sizeof p.open);
        walk(&p);
    }
    if (!p.failed) {
        join_all(&p);
    }
    p.failed = p.failed || !smk_value_numbering_good(p.align);
    smk_value_numbering_free(p.align);
    smk_heap_free(p.list);
    smk_heap_free(p.leads);
    smk_memory_flow_free(&p.flow);
    if (p.failed) {
        return smk_status_fail(error, SMK_MEMORY, "no memory to plan the accesses of %zu instructions", count);
    }
    *plan = p.plan;
    return smk_copy_size_plan(function, p.plan, error);
}
