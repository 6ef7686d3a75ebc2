#include "sim/check/undefined.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/check/early_load.h"
#include "sim/check/race.h"
#include "sim/code/bits.h"
#include "sim/exec/access.h"
#include "sim/exec/warp_exchange.h"
#include "sim/lower/instrument.h"
#include "sim/lower/lowering.h"
#include "sim/lower/register_layout.h"

#include <stdio.h>
#include <string.h>

/* The plan ----------------------------------------------------------------------------------------- */

static bool is_shuffle(const smk_instruction *in)
{
    return in->opcode == SMK_OPCODE_SHFL && smk_module_has(in, SMK_MODIFIER_SYNC);
}

/* `index`: that of the instruction in its function. */
static bool is_source(const smk_undefined_plan *plan, const smk_instruction *in, uint32_t function, uint32_t index)
{
    bool load = in->opcode == SMK_OPCODE_LD && (in->space == SMK_SPACE_LOCAL || in->space == SMK_SPACE_GENERIC);
    bool early = plan->early[function] != NULL && plan->early[function][index] != 0;
    return is_shuffle(in) || early || (load && plan->local);
}

typedef struct looking {
    uint8_t *reached;
    bool reads, writes; /* the instruction reads, or writes, a tracked register */
    bool marks, changed;
} looking;

static void look(void *context, uint32_t reg, bool writes)
{
    looking *l = context;
    if (writes && l->marks && l->reached[reg] == 0) {
        l->reached[reg] = 1;
        l->changed = true;
    }
    l->reads = l->reads || (!writes && l->reached[reg] != 0);
    l->writes = l->writes || (writes && l->reached[reg] != 0);
}

/* Where undefined values can be ---------------------------------------------------------------------- */

static bool spread(const smk_undefined_plan *plan, uint32_t function, uint8_t *reached)
{
    const smk_function *f = &plan->module->functions[function];
    looking l = {.reached = reached, .changed = true};
    bool any = false;
    while (l.changed) {
        l.changed = false;
        for (uint32_t i = 0; i < f->instruction_count; i++) {
            const smk_instruction *in = &f->instructions[i];
            bool source = is_source(plan, in, function, i);
            l.reads = l.marks = false;
            smk_register_layout_visit(in, look, &l);
            l.marks = source || (smk_early_load_carries(in) && l.reads);
            if (l.marks) {
                any = true;
                smk_register_layout_visit(in, look, &l);
            }
        }
    }
    return any;
}

static bool has_local(const smk_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        const smk_function *f = &module->functions[i];
        for (uint32_t k = 0; k < f->variable_count && f->is_entry; k++) {
            if (f->variables[k].space == SMK_SPACE_LOCAL) {
                return true;
            }
        }
    }
    return false;
}

smk_status smk_undefined_plan_create(smk_undefined_plan *plan, const smk_module *module, smk_error *error)
{
    plan->module = module;
    plan->local = plan->active = has_local(module);
    plan->reached = smk_heap_allocate((size_t)module->function_count + 1, sizeof *plan->reached);
    plan->early = smk_heap_allocate((size_t)module->function_count + 1, sizeof *plan->early);
    plan->seen = smk_heap_allocate((size_t)module->function_count + 1, 1);
    bool good = plan->reached != NULL && plan->early != NULL && plan->seen != NULL;
    return good ? SMK_OK : smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
}

/* Finds the registers of a function that undefined values can reach. */
static bool look_at_function(smk_undefined_plan *plan, uint32_t index)
{
    const smk_function *f = &plan->module->functions[index];
    uint8_t *reached = smk_heap_allocate((size_t)f->register_count + 1, 1);
    plan->seen[index] = 1;
    plan->registers = f->register_count > plan->registers ? f->register_count : plan->registers;
    const bool looked = smk_early_load_find(f, &plan->early[index]);
    if (reached != NULL && spread(plan, index, reached)) {
        plan->reached[index] = reached;
        plan->active = true;
    } else {
        smk_heap_free(reached);
    }
    return reached != NULL && looked;
}

void smk_undefined_plan_free(smk_undefined_plan *plan)
{
    for (uint32_t i = 0; plan->reached != NULL && i < plan->module->function_count; i++) {
        smk_heap_free(plan->reached[i]);
    }
    for (uint32_t i = 0; plan->early != NULL && i < plan->module->function_count; i++) {
        smk_heap_free(plan->early[i]);
    }
    smk_heap_free(plan->reached);
    smk_heap_free(plan->early);
    smk_heap_free(plan->seen);
    plan->reached = plan->early = NULL;
}

/* The rows of operands that can decide a result: a, b, c of operands 1 to 3; of a shuffle also d, its mask. */
static bool fill_rows(smk_lowering *l, const smk_instruction *in, uint32_t row[4], uint32_t flip[3])
{
    unsigned bits = smk_module_type_bits((smk_type)in->type), first = 1, last = 0;
    switch (in->opcode) {
    case SMK_OPCODE_SHFL:
        first = 2;
        last = 4;
        bits = 32;
        break;
    case SMK_OPCODE_AND:
    case SMK_OPCODE_OR:
    case SMK_OPCODE_MUL:
        last = 2;
        break;
    case SMK_OPCODE_SELP:
    case SMK_OPCODE_SETP:
        first = last = 3;
        break;
    default: /* no value of an operand decides */
        return true;
    }
    for (unsigned i = first; i <= last && i < in->operand_count; i++) {
        const smk_operand *operand = &in->operands[i];
        bool plain = operand->kind == SMK_OPERAND_REGISTER || operand->kind == SMK_OPERAND_IMMEDIATE;
        if (plain) {
            row[i - 1] = smk_lower_row(l, operand, bits, NULL);
            if (i < 4) {
                flip[i - 1] = smk_lower_flip(operand);
            }
        }
    }
    return l->status == SMK_OK;
}

bool smk_undefined_emit(smk_undefined_plan *plan, smk_lowering *lowering)
{
    const smk_instruction *in = lowering->instruction;
    uint32_t row[4] = {0}, flip[3] = {0}, function = lowering->code->index;
    if (plan->seen[function] == 0 && !look_at_function(plan, function)) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    uint8_t *reached = plan->reached[function];
    const uint32_t index = (uint32_t)(in - plan->module->functions[function].instructions);
    looking l = {.reached = reached};
    if (reached == NULL) {
        return true;
    }
    smk_register_layout_visit(in, look, &l);
    if (!l.reads && !l.writes && !is_source(plan, in, function, index)) {
        return true;
    }
    if (!fill_rows(lowering, in, row, flip)) {
        return false;
    }
    smk_operation *op = smk_instrument_emit_value(lowering);
    if (op != NULL) {
        op->a = row[0];
        op->b = row[1];
        op->c = row[2];
        op->d = row[3];
        op->flip_a = flip[0];
        op->flip_b = flip[1];
        op->flip_c = flip[2];
    }
    return op != NULL;
}

/* Blocks ------------------------------------------------------------------------------------------- */

void smk_undefined_begin(smk_undefined *undefined)
{
    const smk_undefined_plan *plan = undefined->plan;
    size_t frame = plan->image == NULL ? 0 : plan->image->entry_code->local_bytes;
    frame = frame < SMK_UNDEFINED_LOCAL_MAX ? frame : SMK_UNDEFINED_LOCAL_MAX;
    for (unsigned i = 0; i < SMK_UNDEFINED_WARPS; i++) {
        for (unsigned k = 0; k < SMK_UNDEFINED_DEPTH && undefined->value[i][k] != NULL; k++) {
            memset(undefined->value[i][k], 0, plan->registers * sizeof *undefined->value[i][k]);
        }
        if (undefined->defined[i] != NULL) {
            memset(undefined->defined[i], 0, frame * sizeof *undefined->defined[i]);
        }
    }
}

void smk_undefined_free(smk_undefined *undefined)
{
    for (unsigned i = 0; i < SMK_UNDEFINED_WARPS; i++) {
        for (unsigned k = 0; k < SMK_UNDEFINED_DEPTH; k++) {
            smk_heap_free(undefined->value[i][k]);
        }
        smk_heap_free(undefined->defined[i]);
    }
}

/* The values of the present frame; NULL: the call is too deep, or there is no memory. */
static smk_undefined_value *values_of(smk_undefined *u, const smk_warp *warp)
{
    uint32_t depth = warp->control->frame_count;
    if (depth >= SMK_UNDEFINED_DEPTH) {
        return NULL;
    }
    smk_undefined_value **value = u->value[warp->control->index];
    for (uint32_t i = 0; i <= depth; i++) { /* without gaps: smk_undefined_begin stops at the first NULL */
        if (value[i] == NULL) {
            value[i] = smk_heap_allocate((size_t)u->plan->registers + 1, sizeof *value[i]);
        }
        if (value[i] == NULL) {
            u->failed = true;
            return NULL;
        }
    }
    return value[depth];
}

static const smk_instruction *instruction_of(const smk_undefined *u, const smk_operation *op)
{
    return &u->plan->module->functions[op->function].instructions[op->instruction];
}

/* Findings ------------------------------------------------------------------------------------------ */

static void report(smk_race *race, const smk_warp *warp, const smk_operation *op, const smk_undefined_value *value,
                   uint32_t lanes)
{
    const smk_instruction_ids *ids = &race->launch->ids;
    const smk_undefined_source *source = &value->source;
    uint32_t function, at, base = warp->control->index * SMK_WARP_SIZE;
    const smk_instruction *from = smk_finding_locate(ids, source->instruction_id, &function, &at);
    bool shuffle = from != NULL && is_shuffle(from);
    char text[160] = "";
    smk_finding_event first = {.instruction_id = source->instruction_id,
                               .kind = shuffle ? SMK_FINDING_SYNC : SMK_ACCESS_LOAD,
                               .space = shuffle || source->shared ? SMK_SPACE_SHARED : SMK_SPACE_LOCAL,
                               .address = shuffle ? 0 : source->address,
                               .bytes = shuffle || from == NULL ? 0 : smk_module_type_bits((smk_type)from->type) / 8,
                               .block = race->block->number,
                               .thread = base + source->lane};
    smk_finding_event second = {.instruction_id = smk_finding_instruction_id(ids, op->function, op->instruction),
                                .kind = SMK_FINDING_SYNC,
                                .space = SMK_SPACE_SHARED,
                                .block = race->block->number};
    if (shuffle) {
        bool in = (source->mask >> source->from & 1) != 0;
        (void)snprintf(text, sizeof text, "lane %u takes the value of lane %u, which %s 0x%08x", source->lane,
                       source->from, in ? "has exited, with the mask" : "is not in the mask", source->mask);
    }
    if (source->shared) { /* as of a load that is the fault itself */
        smk_finding_add(&race->launch->sink, SMK_FINDING_UNINITIALIZED, &first, NULL, race->block->number,
                        race->sequence++, NULL);
        return;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
        second.thread = base + smk_bits_first(lanes);
        smk_finding_add(&race->launch->sink, shuffle ? SMK_FINDING_SHUFFLE : SMK_FINDING_UNINITIALIZED, &first, &second,
                        race->block->number, race->sequence++, text);
    }
}

/* Reports an undefined register of an operand that decides something; no such operand is a list. */
static void use(smk_race *race, const smk_warp *warp, const smk_operation *op, const smk_undefined_value *value,
                const smk_operand *operand, uint32_t mask)
{
    bool single = operand->kind == SMK_OPERAND_REGISTER ||
                  (operand->kind == SMK_OPERAND_ADDRESS && operand->base_kind == SMK_OPERAND_REGISTER);
    if (single && (value[operand->index].lanes & mask) != 0) {
        report(race, warp, op, &value[operand->index], value[operand->index].lanes & mask);
    }
}

/* Values ------------------------------------------------------------------------------------------- */

static void put_register(smk_undefined_value *value, uint32_t mask, const smk_undefined_value *made)
{
    value->lanes = (value->lanes & ~mask) | (made->lanes & mask);
    if ((made->lanes & mask) != 0) {
        value->source = made->source;
        value->partial = made->partial;
    }
}

static void put(smk_undefined_value *value, const smk_operand *operand, uint32_t mask, const smk_undefined_value *made)
{
    if (operand->kind == SMK_OPERAND_REGISTER) {
        put_register(&value[operand->index], mask, made);
    }
    for (uint32_t i = 0; operand->kind == SMK_OPERAND_LIST && i < operand->count; i++) {
        put(value, &operand->element[i], mask, made);
    }
}

/* The lanes in which an operand is undefined; `made` takes over the source. */
static uint32_t read(const smk_undefined_value *value, const smk_operand *operand, smk_undefined_value *made)
{
    uint32_t lanes = 0;
    if (operand->kind == SMK_OPERAND_REGISTER) {
        lanes = value[operand->index].lanes;
        made->source = lanes != 0 ? value[operand->index].source : made->source;
        made->partial = made->partial || (lanes != 0 && value[operand->index].partial);
    }
    for (uint32_t i = 0; operand->kind == SMK_OPERAND_LIST && i < operand->count; i++) {
        lanes |= read(value, &operand->element[i], made);
    }
    return lanes;
}

/* Lanes in which a row holds 0. */
static uint32_t find_zeros(const smk_warp *warp, uint32_t row, unsigned bits)
{
    uint32_t found = 0;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        uint64_t value = bits == 64   ? SMK_ROW(uint64_t, warp, row)[lane]
                         : bits == 32 ? SMK_ROW(uint32_t, warp, row)[lane]
                                      : SMK_ROW(uint16_t, warp, row)[lane];
        found |= (uint32_t)(value == 0) << lane;
    }
    return found;
}

/* The undefined lanes of and, or, mul. An operand of zero decides a product and a conjunction, likewise with
 * predicates. The result of `or` with a defined operand has defined bits, and counts as defined. */
static uint32_t combine(const smk_warp *warp, const smk_operation *op, const smk_instruction *in, uint32_t a,
                        uint32_t b)
{
    bool ones = in->opcode == SMK_OPCODE_OR;
    unsigned bits = smk_operation_row_bits((smk_type)in->type);
    if (ones && in->type != SMK_TYPE_PRED) {
        return a & b;
    }
    uint32_t decides_a, decides_b;
    if (in->type == SMK_TYPE_PRED) {
        uint32_t x = *SMK_ROW(uint32_t, warp, op->a) ^ op->flip_a, y = *SMK_ROW(uint32_t, warp, op->b) ^ op->flip_b;
        decides_a = ones ? x : ~x;
        decides_b = ones ? y : ~y;
    } else if (smk_module_type_kind((smk_type)in->type) == SMK_KIND_FLOAT || bits < 16) {
        return a | b;
    } else {
        bool known_a = in->operands[1].kind == SMK_OPERAND_REGISTER || in->operands[1].kind == SMK_OPERAND_IMMEDIATE;
        bool known_b = in->operands[2].kind == SMK_OPERAND_REGISTER || in->operands[2].kind == SMK_OPERAND_IMMEDIATE;
        decides_a = known_a ? find_zeros(warp, op->a, bits) : 0;
        decides_b = known_b ? find_zeros(warp, op->b, bits) : 0;
    }
    return (a & ~(decides_b & ~b)) | (b & ~(decides_a & ~a));
}

static void shuffle(smk_race *race, const smk_warp *warp, const smk_operation *op, const smk_instruction *in,
                    smk_undefined_value *value, uint32_t mask)
{
    const uint32_t *b = SMK_ROW(uint32_t, warp, op->b), *c = SMK_ROW(uint32_t, warp, op->c);
    const uint32_t *members = SMK_ROW(uint32_t, warp, op->d);
    smk_undefined_value made = {0};
    uint32_t taken =
        read(value, &in->operands[1], &made) & mask; /* the values of lanes that arrive later are not known yet */
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        int from = smk_warp_exchange_source(in, lane, b[lane], c[lane]);
        uint32_t bit = UINT32_C(1) << (from < 0 ? lane : (unsigned)from & 31);
        if (from >= 0 && (members[lane] & warp->control->live & bit) == 0) {
            bool first = (made.lanes & ~taken) == 0;
            made.lanes |= UINT32_C(1) << lane;
            if (first) {
                made.source = (smk_undefined_source){
                    .instruction_id = smk_finding_instruction_id(&race->launch->ids, op->function, op->instruction),
                    .lane = lane,
                    .from = (unsigned)from & 31,
                    .mask = members[lane]};
            }
        } else {
            made.lanes |= (uint32_t)((taken & bit) != 0) << lane;
        }
    }
    const smk_operand *to = &in->operands[0];
    put(value, to->kind == SMK_OPERAND_LIST ? &to->element[0] : to, mask, &made);
}

/* The lanes in which all elements of a list are undefined. */
static uint32_t read_all(const smk_undefined_value *value, const smk_operand *operand, smk_undefined_value *made)
{
    uint32_t lanes = UINT32_MAX;
    if (operand->kind != SMK_OPERAND_LIST) {
        return read(value, operand, made);
    }
    for (uint32_t i = 0; i < operand->count; i++) {
        lanes &= read(value, &operand->element[i], made);
    }
    return lanes;
}

static uint32_t compute(const smk_warp *warp, const smk_operation *op, const smk_instruction *in,
                        const smk_undefined_value *value, smk_undefined_value *made)
{
    uint32_t lanes = 0, a, b, c, holds;
    switch (in->opcode) {
    case SMK_OPCODE_AND:
    case SMK_OPCODE_OR:
    case SMK_OPCODE_MUL:
        a = read(value, &in->operands[1], made);
        b = read(value, &in->operands[2], made);
        made->partial = made->partial || in->opcode == SMK_OPCODE_AND;
        return (a | b) == 0 ? 0 : combine(warp, op, in, a, b);
    case SMK_OPCODE_BFI: /* the inserted bit field */
        return read(value, &in->operands[1], made);
    case SMK_OPCODE_PRMT:
    case SMK_OPCODE_LOP3:
        return read(value, &in->operands[1], made) & read(value, &in->operands[2], made);
    case SMK_OPCODE_MOV:
        return read_all(value, &in->operands[1], made);
    case SMK_OPCODE_SELP:
        a = read(value, &in->operands[1], made);
        b = read(value, &in->operands[2], made);
        c = read(value, &in->operands[3], made);
        holds = *SMK_ROW(uint32_t, warp, op->c) ^ op->flip_c;
        return c | (a & holds) | (b & ~holds);
    case SMK_OPCODE_SETP:
        lanes = read(value, &in->operands[1], made) | read(value, &in->operands[2], made);
        if (in->operand_count > 3 && !smk_module_has(in, SMK_MODIFIER_XOR)) {
            c = read(value, &in->operands[3], made);
            holds = *SMK_ROW(uint32_t, warp, op->c) ^ op->flip_c;
            return c | (lanes & (smk_module_has(in, SMK_MODIFIER_AND) ? holds : ~holds));
        }
        break;
    default: /* undefined where any operand is, as below */
        break;
    }
    for (unsigned i = in->result_count; i < in->operand_count; i++) {
        lanes |= read(value, &in->operands[i], made);
    }
    return lanes;
}

void smk_undefined_pass(smk_race *race, const smk_warp *warp, const smk_operation *op)
{
    smk_undefined *u = &race->undefined;
    const smk_instruction *in = instruction_of(u, op);
    smk_undefined_value *value = values_of(u, warp), made = {0};
    uint32_t mask = smk_operation_mask(warp, op);
    if (value == NULL) {
        return;
    }
    uint32_t doubt = in->guarded ? value[in->guard].lanes & warp->active : 0;
    unsigned results = in->result_count;
    if (smk_early_load_decides(in)) {
        if (doubt != 0) {
            report(race, warp, op, &value[in->guard], doubt);
        }
        for (unsigned i = results; i < in->operand_count; i++) {
            if (smk_opcode_class(in) != SMK_CLASS_STORE ||
                i != 1) { /* the stored value is checked in smk_undefined_access */
                use(race, warp, op, value, &in->operands[i], mask);
            }
        }
    } else if (is_shuffle(in)) {
        shuffle(race, warp, op, in, value, mask);
        return;
    } else if (smk_early_load_carries(in)) {
        made.lanes = compute(warp, op, in, value, &made) & mask;
        if (made.lanes == 0 && doubt != 0) {
            made.source = value[in->guard].source;
        }
        made.lanes |= doubt;
    }
    for (unsigned i = 0; i < results && i < in->operand_count; i++) {
        put(value, &in->operands[i], mask | doubt, &made);
    }
}

/* Local memory ------------------------------------------------------------------------------------- */

static uint32_t *defined_of(smk_undefined *u, const smk_warp *warp, uint64_t *frame)
{
    const smk_image *image = u->plan->image;
    uint32_t **defined = &u->defined[warp->control->index];
    *frame = image->entry_code->local_bytes;
    *frame = *frame < SMK_UNDEFINED_LOCAL_MAX ? *frame : SMK_UNDEFINED_LOCAL_MAX;
    if (*defined == NULL && *frame > 0) {
        *defined = smk_heap_allocate((size_t)*frame, sizeof **defined);
        u->failed = u->failed || *defined == NULL;
    }
    return *defined;
}

/* The lanes in which none of the accessed bytes is defined. */
static uint32_t find_undefined(const uint32_t *defined, uint64_t frame, const uint64_t *address, uint32_t mask,
                               unsigned offset, unsigned bytes)
{
    uint32_t found = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        bool any = false;
        for (unsigned i = offset; i < offset + bytes && !any; i++) {
            uint64_t at = address[lane] + i;
            any = at >= frame || (defined[at] >> lane & 1) != 0;
        }
        found |= (uint32_t)!any << lane;
    }
    return found;
}

static void define(uint32_t *defined, uint64_t frame, const uint64_t *address, uint32_t mask, unsigned offset,
                   unsigned bytes, uint32_t undefined)
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        uint32_t bit = UINT32_C(1) << lane;
        for (uint64_t at = address[lane] + offset; at < address[lane] + offset + bytes && at < frame; at++) {
            defined[at] = (undefined & bit) != 0 ? defined[at] & ~bit : defined[at] | bit;
        }
    }
}

void smk_undefined_access(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                          const uint64_t *address, uint32_t mask)
{
    smk_undefined *u = &race->undefined;
    const smk_operation *op = event->op;
    bool followed = u->plan->reached[op->function] != NULL, local = space == SMK_SPACE_LOCAL && u->plan->local;
    const smk_instruction *in = instruction_of(u, op);
    bool store = smk_opcode_class(in) == SMK_CLASS_STORE;
    if ((!followed && !local) || (!store && (in->opcode != SMK_OPCODE_LD || !local))) {
        return;
    }
    smk_undefined_value *value = values_of(u, warp);
    uint64_t frame = 0;
    uint32_t *defined = local ? defined_of(u, warp, &frame) : NULL;
    const smk_operand *operand = &in->operands[store ? 1 : 0];
    uint32_t count = operand->kind == SMK_OPERAND_LIST ? operand->count : 1;
    unsigned bytes = event->bytes / count;
    for (uint32_t i = 0; i < count && value != NULL; i++) {
        const smk_operand *result = operand->kind == SMK_OPERAND_LIST ? &operand->element[i] : operand;
        smk_undefined_value made = {0};
        if (store) {
            uint32_t lanes = followed ? read(value, result, &made) & mask : 0;
            if (!local && lanes != 0) {
                report(race, warp, op, &value[result->index], lanes);
            } else if (defined != NULL) {
                define(defined, frame, address, mask, i * bytes, bytes, made.partial ? 0 : lanes);
            }
        } else if (defined != NULL && result->kind == SMK_OPERAND_REGISTER) {
            made.lanes = find_undefined(defined, frame, address, mask, i * bytes, bytes);
            if (made.lanes != 0) {
                unsigned lane = smk_bits_first(made.lanes);
                made.source = (smk_undefined_source){
                    .instruction_id = smk_finding_instruction_id(&race->launch->ids, op->function, op->instruction),
                    .lane = lane,
                    .address = address[lane] + i * bytes};
            }
            put_register(&value[result->index], mask, &made);
        }
    }
}

/* Early loads --------------------------------------------------------------------------------------- */

bool smk_undefined_defer(smk_race *race, const smk_warp *warp, const smk_access_event *event, unsigned lane,
                         uint64_t start, uint64_t unwritten)
{
    smk_undefined *u = &race->undefined;
    const smk_operation *op = event->op;
    const uint8_t *early = u->plan->early[op->function];
    if (early == NULL || early[op->instruction] == 0 || u->plan->reached[op->function] == NULL) {
        return false;
    }
    smk_undefined_value *value = values_of(u, warp);
    const smk_operand *operand = &instruction_of(u, op)->operands[0];
    uint32_t count = operand->kind == SMK_OPERAND_LIST ? operand->count : 1;
    uint64_t element = (unwritten < start ? 0 : unwritten - start) / (event->bytes / count);
    const smk_operand *result =
        operand->kind == SMK_OPERAND_LIST && element < count ? &operand->element[element] : operand;
    if (value == NULL || result->kind != SMK_OPERAND_REGISTER) {
        return value != NULL && result->kind != SMK_OPERAND_LIST; /* an element that goes nowhere */
    }
    const uint32_t id = smk_finding_instruction_id(&race->launch->ids, op->function, op->instruction);
    smk_undefined_value *got = &value[result->index];
    if (got->lanes == 0 || got->source.instruction_id != id) {
        got->source = (smk_undefined_source){.instruction_id = id, .lane = lane, .address = start, .shared = true};
        got->partial = false;
    }
    got->lanes |= UINT32_C(1) << lane;
    return true;
}
