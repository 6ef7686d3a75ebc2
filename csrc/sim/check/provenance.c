#include "sim/check/provenance.h"

#include "sim/code/array_name.h"

#include "base/heap.h"
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Sets of origins, one bit each. MIXED: a number computed from pointers, such as their difference; added to another
 * pointer it leads to another origin. WIDE, NARROW: a value of 64 or 32 bits (a shared address) that may be a number
 * or a pointer.
 */
#define ORIGINS ((UINT64_C(1) << SMK_ORIGIN_MAX) - 1)
#define MIXED (UINT64_C(1) << 61)
#define NARROW (UINT64_C(1) << 62)
#define WIDE (UINT64_C(1) << 63)

enum { ROUNDS_MAX = 64 };

typedef struct tracer {
    smk_provenance *provenance;
    const smk_instruction_ids *ids;
    const smk_image *image;
    const uint64_t *addresses; /* of module variables */
    const smk_launch *launch;
    const smk_memory_view *view;
    const smk_module *module;
    const smk_function *function;
    uint64_t *set; /* by register */
    bool changed;
} tracer;

/* Origins ------------------------------------------------------------------------------------------ */

static uint64_t add_origin(tracer *t, const smk_origin *origin)
{
    smk_provenance *p = t->provenance;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->origin[i].space == origin->space && p->origin[i].start == origin->start &&
            p->origin[i].end == origin->end) {
            return UINT64_C(1) << i;
        }
    }
    if (p->count == SMK_ORIGIN_MAX) {
        return WIDE | NARROW;
    }
    p->origin[p->count] = *origin;
    return UINT64_C(1) << p->count++;
}

static uint64_t set_of_variable(tracer *t, uint32_t index)
{
    const smk_variable *variable = smk_module_variable(t->module, t->function, index);
    if (variable->space == SMK_SPACE_SHARED) {
        const smk_shared_variable *shared = smk_image_find_shared(t->image, variable);
        if (shared == NULL) {
            return WIDE | NARROW;
        }
        bool dynamic = variable->unsized || variable->is_extern;
        uint64_t end = dynamic ? t->image->shared_bytes + t->launch->shared_bytes : shared->offset + variable->bytes;
        return add_origin(t, &(smk_origin){SMK_SPACE_SHARED, shared->offset, end, variable, 0});
    }
    bool global = variable->space == SMK_SPACE_GLOBAL || variable->space == SMK_SPACE_CONST;
    if (global && index < t->module->variable_count && t->addresses[index] != 0 && variable->bytes > 0) {
        uint64_t start = t->addresses[index];
        return add_origin(t, &(smk_origin){SMK_SPACE_GLOBAL, start, start + variable->bytes, variable, 0});
    }
    return global ? WIDE : 0; /* addresses of local memory and of parameters are not tracked */
}

/* 8 bytes of a kernel's parameter: a pointer into an allocation, or a number. */
static uint64_t set_of_parameter(tracer *t, const smk_operand *at, uint64_t offset)
{
    const smk_function *f = t->function;
    uint32_t number = at->index - t->module->variable_count;
    uint64_t value;
    if (at->index < t->module->variable_count || number >= f->parameter_count ||
        t->launch->parameter_count != f->parameter_count || f->variables[number].bytes < sizeof value ||
        offset > f->variables[number].bytes - sizeof value) {
        return WIDE;
    }
    memcpy(&value, (const unsigned char *)t->launch->parameters[number] + offset, sizeof value);
    const smk_allocation *allocation = smk_memory_view_find(t->view, value);
    return allocation == NULL ? 0
                              : add_origin(t, &(smk_origin){SMK_SPACE_GLOBAL, allocation->address,
                                                            allocation->address + allocation->bytes, NULL, number});
}

/* Registers ---------------------------------------------------------------------------------------- */

/* The set of a result that is no sum and no copy of its operands. */
static uint64_t mix(uint64_t set)
{
    return (set & (ORIGINS | MIXED)) != 0 ? MIXED : 0;
}

static uint64_t read_operand(tracer *t, const smk_operand *operand)
{
    uint64_t set = 0;
    switch ((smk_operand_kind)operand->kind) {
    case SMK_OPERAND_REGISTER:
        return t->set[operand->index];
    case SMK_OPERAND_VARIABLE:
        return set_of_variable(t, operand->index);
    case SMK_OPERAND_LIST: /* halves of something */
        for (uint32_t i = 0; i < operand->count; i++) {
            set |= read_operand(t, &operand->element[i]);
        }
        return set == 0 ? 0 : WIDE | NARROW | mix(set);
    case SMK_OPERAND_NONE:
    case SMK_OPERAND_IMMEDIATE:
    case SMK_OPERAND_SPECIAL:
    case SMK_OPERAND_FUNCTION:
    case SMK_OPERAND_LABEL:
    case SMK_OPERAND_ADDRESS:
    case SMK_OPERAND_SINK:
        break;
    }
    return 0;
}

static void write_register(tracer *t, const smk_operand *operand, uint64_t set)
{
    if (operand->kind == SMK_OPERAND_REGISTER && (t->set[operand->index] | set) != t->set[operand->index]) {
        t->set[operand->index] |= set;
        t->changed = true;
    }
}

static void write_operand(tracer *t, const smk_operand *operand, uint64_t set)
{
    if (operand->kind == SMK_OPERAND_LIST) {
        for (uint32_t i = 0; i < operand->count; i++) {
            write_register(t, &operand->element[i], set);
        }
    } else {
        write_register(t, operand, set);
    }
}

/* The set of a sum: what is added to a pointer is a number. */
static uint64_t add_sets(uint64_t x, uint64_t y)
{
    if (((x | y) & MIXED) != 0 || ((x & ORIGINS) != 0 && (y & ORIGINS) != 0)) {
        return x | y | MIXED;
    }
    return (x & ORIGINS) != 0 ? x : (y & ORIGINS) != 0 ? y : x | y;
}

static uint64_t unknown_of(smk_type type)
{
    unsigned bits = smk_module_type_bits(type);
    return bits >= 64 ? WIDE : bits == 32 ? NARROW : 0;
}

static uint64_t union_of_reads(tracer *t, const smk_instruction *in)
{
    uint64_t set = 0;
    for (unsigned i = in->result_count; i < in->operand_count; i++) {
        set |= read_operand(t, &in->operands[i]);
    }
    return set;
}

/* The set of the instruction's result. */
static uint64_t compute(tracer *t, const smk_instruction *in)
{
    const smk_operand *o = in->operands;
    bool is_float = smk_module_type_kind((smk_type)in->type) == SMK_KIND_FLOAT ||
                    smk_module_type_kind((smk_type)in->source_type) == SMK_KIND_FLOAT;
    if (is_float && in->opcode != SMK_OPCODE_MOV && in->opcode != SMK_OPCODE_SHFL) {
        return 0;
    }
    smk_class class = smk_opcode_class(in);
    if (class == SMK_CLASS_CALL || in->opcode == SMK_OPCODE_ALLOCA || in->opcode == SMK_OPCODE_STACKSAVE) {
        return WIDE | NARROW;
    }
    if (class == SMK_CLASS_LOAD || class == SMK_CLASS_ATOMIC || in->opcode == SMK_OPCODE_REDUX) {
        return unknown_of((smk_type)in->type);
    }
    uint64_t set;
    switch (in->opcode) {
    case SMK_OPCODE_MOV:
        set = read_operand(t, &o[1]);
        return o[0].kind == SMK_OPERAND_LIST && set != 0 ? WIDE | NARROW | mix(set) : set;
    case SMK_OPCODE_ADD:
        return add_sets(read_operand(t, &o[1]), read_operand(t, &o[2]));
    case SMK_OPCODE_SUB:
        set = read_operand(t, &o[2]) & (smk_module_type_bits((smk_type)in->type) == 64 ? ~NARROW : UINT64_MAX);
        return set == 0 ? read_operand(t, &o[1]) : read_operand(t, &o[1]) | MIXED;
    case SMK_OPCODE_MAD:
        return add_sets(mix(read_operand(t, &o[1]) | read_operand(t, &o[2])), read_operand(t, &o[3]));
    case SMK_OPCODE_CVTA:
    case SMK_OPCODE_CVT:
    case SMK_OPCODE_MIN:
    case SMK_OPCODE_MAX:
    case SMK_OPCODE_SHFL:
        return read_operand(t, &o[1]) |
               (in->opcode == SMK_OPCODE_MIN || in->opcode == SMK_OPCODE_MAX ? read_operand(t, &o[2]) : 0);
    case SMK_OPCODE_SELP:
        return read_operand(t, &o[1]) | read_operand(t, &o[2]);
    case SMK_OPCODE_AND:
    case SMK_OPCODE_OR:
    case SMK_OPCODE_XOR: {
        uint64_t x = read_operand(t, &o[1]), y = read_operand(t, &o[2]);
        return x == 0 || y == 0 ? x | y : x | y | WIDE | NARROW | mix(x | y);
    }
    case SMK_OPCODE_MUL:
    case SMK_OPCODE_MUL24:
    case SMK_OPCODE_SHL:
    case SMK_OPCODE_SHR:
    case SMK_OPCODE_DIV:
    case SMK_OPCODE_REM:
    case SMK_OPCODE_POPC:
    case SMK_OPCODE_CLZ:
        return mix(union_of_reads(t, in));
    case SMK_OPCODE_SETP:
    case SMK_OPCODE_SET:
        return 0;
    default: /* what is computed of a pointer may be one */
        set = union_of_reads(t, in);
        return set == 0 ? 0 : WIDE | NARROW | mix(set);
    }
}

static void pass_load(tracer *t, const smk_instruction *in)
{
    const smk_operand *to = &in->operands[0], *at = &in->operands[1];
    unsigned bits = smk_module_type_bits((smk_type)in->type);
    bool known = in->space == SMK_SPACE_PARAM && t->function->is_entry && at->base_kind == SMK_OPERAND_VARIABLE;
    if (!known) {
        write_operand(t, to, unknown_of((smk_type)in->type));
        return;
    }
    for (uint32_t i = 0; bits == 64 && i < (to->kind == SMK_OPERAND_LIST ? to->count : 1); i++) {
        const smk_operand *result = to->kind == SMK_OPERAND_LIST ? &to->element[i] : to;
        write_register(t, result, set_of_parameter(t, at, (uint64_t)at->offset + 8 * (uint64_t)i));
    }
}

static void pass(tracer *t, const smk_instruction *in)
{
    if (in->opcode == SMK_OPCODE_LD) {
        pass_load(t, in);
        return;
    }
    unsigned results = in->result_count;
    uint64_t set = results == 0 ? 0 : compute(t, in);
    for (unsigned i = 0; i < results && set != 0; i++) {
        write_operand(t, &in->operands[i], set);
    }
}

/* Accesses ----------------------------------------------------------------------------------------- */

static uint8_t judge(const tracer *t, uint64_t set, smk_space space)
{
    const smk_provenance *p = t->provenance;
    uint64_t origins = set & ORIGINS;
    if (origins == 0 || (origins & (origins - 1)) != 0 || (set & (WIDE | MIXED)) != 0) {
        return SMK_ORIGIN_NONE;
    }
    uint32_t number = 0;
    while ((origins >> number & 1) == 0) {
        number++;
    }
    bool shared = p->origin[number].space == SMK_SPACE_SHARED;
    bool fits = space == SMK_SPACE_GENERIC || shared == (space == SMK_SPACE_SHARED);
    return fits && !(shared && (set & NARROW) != 0) ? (uint8_t)(number + 1) : SMK_ORIGIN_NONE;
}

static uint8_t judge_operand(tracer *t, const smk_operand *at, smk_space space)
{
    if (at->kind != SMK_OPERAND_ADDRESS || space == SMK_SPACE_LOCAL || space == SMK_SPACE_PARAM) {
        return SMK_ORIGIN_NONE;
    }
    if (at->base_kind == SMK_OPERAND_VARIABLE) {
        return judge(t, set_of_variable(t, at->index), space);
    }
    return at->base_kind == SMK_OPERAND_REGISTER ? judge(t, t->set[at->index], space) : SMK_ORIGIN_NONE;
}

static void note(tracer *t, const smk_instruction *in, uint32_t instruction_id)
{
    uint8_t *const *origin_of = t->provenance->origin_of;
    smk_space space = (smk_space)in->space;
    if (smk_opcode_accesses(in)) {
        origin_of[0][instruction_id] = judge_operand(t, &in->operands[in->result_count], space);
    } else if (smk_opcode_moves_matrices(in)) {
        const uint8_t origin = judge_operand(t, &in->operands[in->result_count], SMK_SPACE_SHARED);
        origin_of[0][instruction_id] = origin_of[1][instruction_id] = origin; /* [1]: of rows with padding */
    } else if (smk_bulk_form_copies(in)) {
        origin_of[0][instruction_id] = judge_operand(t, &in->operands[0], smk_bulk_form_target(in));
        origin_of[1][instruction_id] = judge_operand(t, &in->operands[1], smk_bulk_form_source(in));
    } else if (smk_opcode_class(in) == SMK_CLASS_COPY && !smk_bulk_form_is(in) && in->operand_count >= 3) {
        origin_of[0][instruction_id] = judge_operand(t, &in->operands[0], SMK_SPACE_SHARED);
        origin_of[1][instruction_id] = judge_operand(t, &in->operands[1], SMK_SPACE_GLOBAL);
    }
}

/* The parameters of a called function are unknown. */
static void begin(tracer *t)
{
    const smk_function *f = t->function;
    memset(t->set, 0, f->register_count * sizeof *t->set);
    for (uint32_t i = 0; f->parameter_registers != NULL && i < f->result_count + f->parameter_count; i++) {
        if (f->parameter_registers[i] != SMK_NO_INDEX) {
            t->set[f->parameter_registers[i]] = WIDE | NARROW;
        }
    }
}

static void trace(tracer *t, uint32_t index)
{
    const smk_function *f = t->function = &t->module->functions[index];
    begin(t);
    t->changed = true;
    for (unsigned round = 0; t->changed; round++) {
        if (round == ROUNDS_MAX) {
            return; /* it has no single origin */
        }
        t->changed = false;
        for (uint32_t i = 0; i < f->instruction_count; i++) {
            pass(t, &f->instructions[i]);
        }
    }
    for (uint32_t i = 0; i < f->instruction_count; i++) {
        note(t, &f->instructions[i], smk_finding_instruction_id(t->ids, index, i));
    }
}

smk_status smk_provenance_create(smk_provenance *provenance, const smk_instruction_ids *ids, const smk_image *image,
                                 const uint64_t *addresses, const smk_launch *launch, const smk_memory_view *view,
                                 smk_error *error)
{
    const smk_module *module = ids->module;
    tracer t = {provenance, ids, image, addresses, launch, view, module, NULL, NULL, false};
    size_t most = 0, count = ids->first[module->function_count];
    for (uint32_t i = 0; i < module->function_count; i++) {
        most = module->functions[i].register_count > most ? module->functions[i].register_count : most;
    }
    t.set = smk_heap_allocate(most + 1, sizeof *t.set);
    provenance->origin_of[0] = smk_heap_allocate(2 * count + 1, 1);
    if (t.set == NULL || provenance->origin_of[0] == NULL) {
        smk_heap_free(t.set);
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    provenance->origin_of[1] = provenance->origin_of[0] + count;
    for (uint32_t i = 0; i < image->code_count; i++) {
        trace(&t, image->code[i]->index);
    }
    smk_heap_free(t.set);
    return SMK_OK;
}

void smk_provenance_free(smk_provenance *provenance)
{
    smk_heap_free(provenance->origin_of[0]);
    provenance->origin_of[0] = provenance->origin_of[1] = NULL;
}

void smk_provenance_name(const smk_origin *origin, const smk_launch *launch, char *text, size_t size)
{
    uint64_t bytes = origin->end - origin->start;
    if (origin->variable != NULL) {
        (void)snprintf(text, size, "%.*s (%" PRIu64 " bytes)", SMK_TEXT_PRINT(origin->variable->name), bytes);
    } else if (smk_array_name_write_workspace(launch, origin->start, text, size)) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, size - used, " (%" PRIu64 " bytes)", bytes);
    } else if (smk_array_name_write(launch, origin->start, text, size) == NULL) {
        (void)snprintf(text, size, "the allocation of %" PRIu64 " bytes that args[%u] points to", bytes,
                       origin->parameter);
    }
}
