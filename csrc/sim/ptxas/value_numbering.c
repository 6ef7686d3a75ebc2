#include "sim/ptxas/value_numbering.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/ptxas/shared_layout.h"

#include <string.h>

enum {
    ZEROS_MAX = 64,
    LOCAL_ZEROS = 3,
    SHARED_ZEROS = 10 /* trailing zeros of the start of each memory */,
    ROUNDS_MAX = 1 << 16
};

/* A base, hashed by its operation and operands, so that equal computations get one number. */
typedef struct entry {
    uint64_t key[4]; /* kind and three operands */
    uint32_t next;   /* next in its hash chain */
    uint32_t block;  /* of `proved` */
    uint8_t zeros;
    uint8_t proved; /* trailing zeros that an access in that block proves */
    bool uniform;   /* the same in all lanes of a warp */
} entry;

/* Kinds above every opcode. */
enum { KIND_OPAQUE = 0x10000, KIND_VARIABLE, KIND_ADD, KIND_SCALE, KIND_SPECIAL, KIND_PARAMETER };

struct smk_value_numbering {
    const smk_module *module;
    const smk_function *function;
    bool failed;
    uint32_t *shared_offset; /* by variable: offset in shared memory, plus 1; 0: not known, or not shared */
    uint32_t stamp;          /* of the present straight-line code */
    uint8_t *zeros;          /* by register: trailing zeros common to all its definitions */
    uint8_t *read;           /* by register: its value is used */
    uint8_t *writes;         /* by register: number of definitions: 0, 1, 2 for more */
    uint32_t *since;         /* by register: the stamp at which `value` was set; 0: never */
    smk_value_number *value;
    entry *entries;
    uint32_t count, room;
    uint32_t *chain; /* by hash */
    uint32_t chain_mask;
};

/* Reads and writes of instructions ------------------------------------------------------------------ */

void smk_value_numbering_visit_writes(const smk_instruction *instruction, void (*visit)(void *context, uint32_t reg),
                                      void *context)
{
    const smk_operand *operand = &instruction->operands[0];
    if (instruction->result_count == 0) {
        return;
    }
    if (operand->kind == SMK_OPERAND_REGISTER) {
        visit(context, operand->index);
    } else if (operand->kind == SMK_OPERAND_LIST) {
        for (uint32_t i = 0; i < operand->count; i++) {
            if (operand->element[i].kind == SMK_OPERAND_REGISTER) {
                visit(context, operand->element[i].index);
            }
        }
    }
}

/* Has an instruction no effect but its results? */
static bool is_pure(const smk_instruction *instruction)
{
    switch (smk_opcode_class(instruction)) {
    case SMK_CLASS_LOAD:
        return !smk_module_has(instruction, SMK_MODIFIER_VOLATILE) &&
               !smk_module_has(instruction, SMK_MODIFIER_ACQUIRE);
    case SMK_CLASS_ALU:
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_MATRIX:
        return !smk_module_has(instruction, SMK_MODIFIER_CC) && instruction->opcode != SMK_OPCODE_STMATRIX &&
               instruction->opcode != SMK_OPCODE_ALLOCA && instruction->opcode != SMK_OPCODE_STACKSAVE &&
               instruction->opcode != SMK_OPCODE_STACKRESTORE;
    case SMK_CLASS_STORE:
    case SMK_CLASS_ATOMIC:
    case SMK_CLASS_COPY:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_CALL:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        break;
    }
    return false;
}

/* Marks the registers of an operand as used; true where one was not. */
static bool mark_operand(smk_value_numbering *numbering, const smk_operand *operand)
{
    bool news = false;
    uint32_t reg = SMK_NO_INDEX;
    if (operand->kind == SMK_OPERAND_REGISTER ||
        (operand->kind == SMK_OPERAND_ADDRESS && operand->base_kind == SMK_OPERAND_REGISTER)) {
        reg = operand->index;
    }
    if (reg != SMK_NO_INDEX && numbering->read[reg] == 0) {
        numbering->read[reg] = 1;
        news = true;
    }
    for (uint32_t i = 0; operand->kind == SMK_OPERAND_LIST && i < operand->count; i++) {
        news = mark_operand(numbering, &operand->element[i]) || news;
    }
    return news;
}

typedef struct wanting {
    const smk_value_numbering *numbering;
    bool wanted;
} wanting;

static void find_reader(void *context, uint32_t reg)
{
    wanting *w = context;
    w->wanted = w->wanted || w->numbering->read[reg] != 0;
}

static bool is_wanted(const smk_value_numbering *numbering, const smk_instruction *instruction)
{
    wanting w = {numbering, !is_pure(instruction)};
    if (!w.wanted) {
        smk_value_numbering_visit_writes(instruction, find_reader, &w);
    }
    return w.wanted;
}

/* Backward data-flow analysis: registers that used instructions read, to the fixed point. */
static void find_reads(smk_value_numbering *numbering)
{
    for (bool news = true; news;) {
        news = false;
        for (uint32_t i = numbering->function->instruction_count; i-- > 0;) {
            const smk_instruction *instruction = &numbering->function->instructions[i];
            if (!is_wanted(numbering, instruction)) {
                continue;
            }
            if (instruction->guarded && numbering->read[instruction->guard] == 0) {
                numbering->read[instruction->guard] = 1;
                news = true;
            }
            for (unsigned k = instruction->result_count; k < instruction->operand_count; k++) {
                news = mark_operand(numbering, &instruction->operands[k]) || news;
            }
        }
    }
}

/* Trailing zeros ------------------------------------------------------------------------------------- */

static unsigned count_zeros(uint64_t value)
{
    unsigned zeros = 0;
    while (zeros < ZEROS_MAX && (value >> zeros & 1) == 0) {
        zeros++;
    }
    return zeros;
}

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned greater(unsigned a, unsigned b)
{
    return a < b ? b : a;
}

static unsigned get_variable_zeros(const smk_value_numbering *numbering, const smk_operand *operand)
{
    const smk_variable *variable = smk_module_variable(numbering->module, numbering->function, operand->index);
    unsigned zeros = count_zeros(variable->alignment);
    if (numbering->shared_offset[operand->index] != 0) {
        return count_zeros((numbering->shared_offset[operand->index] - 1) | 1U << SHARED_ZEROS);
    }
    return variable->space == SMK_SPACE_LOCAL ? greater(zeros, LOCAL_ZEROS) : zeros;
}

static unsigned get_zeros(const smk_value_numbering *numbering, const smk_operand *operand)
{
    switch ((smk_operand_kind)operand->kind) {
    case SMK_OPERAND_REGISTER:
        return numbering->zeros[operand->index];
    case SMK_OPERAND_IMMEDIATE:
        return count_zeros(operand->bits);
    case SMK_OPERAND_VARIABLE:
        return lesser(get_variable_zeros(numbering, operand), count_zeros((uint64_t)operand->offset));
    case SMK_OPERAND_NONE:
    case SMK_OPERAND_SPECIAL:
    case SMK_OPERAND_FUNCTION:
    case SMK_OPERAND_LABEL:
    case SMK_OPERAND_ADDRESS:
    case SMK_OPERAND_LIST:
    case SMK_OPERAND_SINK:
        break;
    }
    return 0;
}

static unsigned get_bfi_zeros(const smk_value_numbering *numbering, const smk_instruction *in)
{
    if (in->operands[3].kind != SMK_OPERAND_IMMEDIATE) {
        return 0;
    }
    unsigned inserted = get_zeros(numbering, &in->operands[1]) + (unsigned)(in->operands[3].bits & 0xff);
    return lesser(inserted, get_zeros(numbering, &in->operands[2]));
}

/* Trailing zeros of the first result; none through shr, min, max, as in ptxas. */
static unsigned get_result_zeros(const smk_value_numbering *numbering, const smk_instruction *in)
{
    const smk_operand *o = in->operands;
    bool low = !smk_module_has(in, SMK_MODIFIER_HI);
    switch (in->opcode) {
    case SMK_OPCODE_MOV:
        return o[0].kind == SMK_OPERAND_REGISTER ? get_zeros(numbering, &o[1]) : 0;
    case SMK_OPCODE_CVTA:
    case SMK_OPCODE_NEG:
        return get_zeros(numbering, &o[1]);
    case SMK_OPCODE_CVT:
        return smk_module_type_kind(in->source_type) == SMK_KIND_FLOAT ? 0 : get_zeros(numbering, &o[1]);
    case SMK_OPCODE_ADD:
    case SMK_OPCODE_SUB:
    case SMK_OPCODE_OR:
    case SMK_OPCODE_XOR:
    case SMK_OPCODE_SELP:
        return lesser(get_zeros(numbering, &o[1]), get_zeros(numbering, &o[2]));
    case SMK_OPCODE_AND:
        return greater(get_zeros(numbering, &o[1]), get_zeros(numbering, &o[2]));
    case SMK_OPCODE_MUL:
        return low ? lesser(get_zeros(numbering, &o[1]) + get_zeros(numbering, &o[2]), ZEROS_MAX) : 0;
    case SMK_OPCODE_MAD:
        return low ? lesser(get_zeros(numbering, &o[1]) + get_zeros(numbering, &o[2]), get_zeros(numbering, &o[3])) : 0;
    case SMK_OPCODE_SHL:
        return o[2].kind == SMK_OPERAND_IMMEDIATE
                   ? lesser(get_zeros(numbering, &o[1]) + (unsigned)lesser((unsigned)(o[2].bits & 0xff), ZEROS_MAX),
                            ZEROS_MAX)
                   : get_zeros(numbering, &o[1]);
    case SMK_OPCODE_BFI:
        return get_bfi_zeros(numbering, in);
    default: /* nothing is known */
        return 0;
    }
}

typedef struct narrowing {
    smk_value_numbering *numbering;
    unsigned zeros;
    bool changed;
} narrowing;

static void narrow(void *context, uint32_t reg)
{
    narrowing *n = context;
    if (n->zeros < n->numbering->zeros[reg]) {
        n->numbering->zeros[reg] = (uint8_t)n->zeros;
        n->changed = true;
    }
}

static void count_write(void *context, uint32_t reg)
{
    smk_value_numbering *numbering = context;
    numbering->writes[reg] = (uint8_t)(numbering->writes[reg] + (numbering->writes[reg] < 2));
}

/* Optimistic iteration: lowers the numbers until they agree with every definition. */
static void find_zeros(smk_value_numbering *numbering)
{
    const smk_function *f = numbering->function;
    memset(numbering->zeros, ZEROS_MAX, f->register_count);
    for (uint32_t i = 0; f->parameter_registers != NULL && i < f->result_count + f->parameter_count; i++) {
        if (f->parameter_registers[i] != SMK_NO_INDEX) {
            numbering->zeros[f->parameter_registers[i]] = 0;
            numbering->writes[f->parameter_registers[i]] = 1;
        }
    }
    narrowing n = {numbering, 0, true};
    for (unsigned round = 0; n.changed && round < ROUNDS_MAX; round++) {
        n.changed = false;
        for (uint32_t i = 0; i < f->instruction_count; i++) {
            n.zeros = get_result_zeros(numbering, &f->instructions[i]);
            smk_value_numbering_visit_writes(&f->instructions[i], narrow, &n);
        }
    }
}

/* Bases ---------------------------------------------------------------------------------------------- */

static uint32_t hash(const uint64_t key[4])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        sum = (sum ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return (uint32_t)(sum >> 16);
}

static bool grow(smk_value_numbering *numbering)
{
    uint32_t room = numbering->room * 2, chains = 2 * room;
    entry *entries = smk_heap_resize(numbering->entries, numbering->room * sizeof *entries, room * sizeof *entries);
    uint32_t *chain = entries == NULL ? NULL : smk_heap_allocate(chains, sizeof *chain);
    if (entries != NULL) {
        numbering->entries = entries;
        numbering->room = chain != NULL ? room : numbering->room;
    }
    if (chain == NULL) {
        return false;
    }
    smk_heap_free(numbering->chain);
    numbering->chain = chain;
    numbering->chain_mask = chains - 1;
    for (uint32_t i = 1; i < numbering->count; i++) {
        uint32_t at = hash(entries[i].key) & numbering->chain_mask;
        entries[i].next = chain[at];
        chain[at] = i;
    }
    return true;
}

/* The number of the base with this key, existing or new. */
static uint32_t make_base(smk_value_numbering *numbering, uint64_t kind, uint64_t x, uint64_t y, uint64_t z,
                          unsigned zeros)
{
    const uint64_t key[4] = {kind, x, y, z};
    uint32_t at = hash(key) & numbering->chain_mask;
    for (uint32_t i = numbering->chain[at]; i != 0; i = numbering->entries[i].next) {
        if (memcmp(numbering->entries[i].key, key, sizeof key) == 0) {
            return i;
        }
    }
    if (numbering->count == numbering->room) {
        if (!grow(numbering)) {
            numbering->failed = true;
            return 0;
        }
        at = hash(key) & numbering->chain_mask;
    }
    entry *made = &numbering->entries[numbering->count];
    *made = (entry){.zeros = 0};
    memcpy(made->key, key, sizeof key);
    made->zeros = (uint8_t)lesser(zeros, ZEROS_MAX);
    made->next = numbering->chain[at];
    numbering->chain[at] = numbering->count;
    return numbering->count++;
}

/* The same, uniform if its operands are. */
static uint32_t make_from(smk_value_numbering *numbering, uint64_t kind, uint64_t x, uint64_t y, uint64_t z,
                          unsigned zeros, bool uniform)
{
    uint32_t base = make_base(numbering, kind, x, y, z, zeros);
    numbering->entries[base].uniform = base == 0 || uniform;
    return base;
}

static bool is_uniform_special(uint32_t index)
{
    switch (index) {
    case SMK_SPECIAL_NTID_X:
    case SMK_SPECIAL_NTID_Y:
    case SMK_SPECIAL_NTID_Z:
    case SMK_SPECIAL_CTAID_X:
    case SMK_SPECIAL_CTAID_Y:
    case SMK_SPECIAL_CTAID_Z:
    case SMK_SPECIAL_NCTAID_X:
    case SMK_SPECIAL_NCTAID_Y:
    case SMK_SPECIAL_NCTAID_Z:
        return true;
    default: /* lanes of a warp may differ, or nothing is known */
        return false;
    }
}

static smk_value_number read_register(smk_value_numbering *numbering, uint32_t reg)
{
    bool once = numbering->writes[reg] < 2;
    if (numbering->since[reg] != 0 && (once || numbering->since[reg] == numbering->stamp)) {
        return numbering->value[reg];
    }
    return (smk_value_number){
        make_base(numbering, KIND_OPAQUE, reg, once ? 0 : numbering->stamp, 0, numbering->zeros[reg]), 0};
}

/* Shared variables of a kernel are offsets in one object. */
static smk_value_number read_variable(smk_value_numbering *numbering, const smk_operand *operand)
{
    uint32_t shared_offset = numbering->shared_offset[operand->index];
    if (shared_offset != 0) {
        return (smk_value_number){make_from(numbering, KIND_VARIABLE, UINT64_MAX, 0, 0, SHARED_ZEROS, true),
                                  operand->offset + shared_offset - 1};
    }
    return (smk_value_number){
        make_from(numbering, KIND_VARIABLE, operand->index, 0, 0, get_variable_zeros(numbering, operand), true),
        operand->offset};
}

static smk_value_number read_operand(smk_value_numbering *numbering, const smk_operand *operand)
{
    switch ((smk_operand_kind)operand->kind) {
    case SMK_OPERAND_REGISTER:
        return read_register(numbering, operand->index);
    case SMK_OPERAND_IMMEDIATE:
        return (smk_value_number){0, (int64_t)operand->bits};
    case SMK_OPERAND_VARIABLE:
        return read_variable(numbering, operand);
    case SMK_OPERAND_SPECIAL:
        return (smk_value_number){
            make_from(numbering, KIND_SPECIAL, operand->index, 0, 0, 0, is_uniform_special(operand->index)), 0};
    case SMK_OPERAND_NONE:
    case SMK_OPERAND_FUNCTION:
    case SMK_OPERAND_LABEL:
    case SMK_OPERAND_ADDRESS:
    case SMK_OPERAND_LIST:
    case SMK_OPERAND_SINK: /* never equal to another value */
        break;
    }
    return (smk_value_number){make_base(numbering, KIND_OPAQUE, UINT64_MAX, numbering->count, 0, 0), 0};
}

smk_value_number smk_value_numbering_address(smk_value_numbering *numbering, const smk_operand *operand)
{
    smk_operand base = {.kind = operand->base_kind, .index = operand->index, .bits = operand->bits};
    smk_value_number value = read_operand(numbering, &base);
    value.offset = (int64_t)((uint64_t)value.offset + (uint64_t)operand->offset);
    return value;
}

/* Offsets of narrow values wrap: they are kept as signed numbers of that width. */
static smk_value_number wrap(smk_value_number value, unsigned bits)
{
    if (bits == 32) {
        value.offset = (int32_t)(uint32_t)(uint64_t)value.offset;
    }
    return value;
}

static smk_value_number add(smk_value_numbering *numbering, smk_value_number x, smk_value_number y)
{
    smk_value_number sum = {x.base, (int64_t)((uint64_t)x.offset + (uint64_t)y.offset)};
    if (x.base == 0) {
        sum.base = y.base;
    } else if (y.base != 0) {
        unsigned zeros = lesser(numbering->entries[x.base].zeros, numbering->entries[y.base].zeros);
        bool uniform = numbering->entries[x.base].uniform && numbering->entries[y.base].uniform;
        sum.base = make_from(numbering, KIND_ADD, x.base < y.base ? x.base : y.base, x.base < y.base ? y.base : x.base,
                             0, zeros, uniform);
    }
    return sum;
}

static smk_value_number scale(smk_value_numbering *numbering, smk_value_number x, uint64_t factor)
{
    smk_value_number product = {0, (int64_t)((uint64_t)x.offset * factor)};
    if (x.base != 0 && factor != 0) {
        product.base = factor == 1 ? x.base
                                   : make_from(numbering, KIND_SCALE, x.base, factor, 0,
                                               numbering->entries[x.base].zeros + count_zeros(factor),
                                               numbering->entries[x.base].uniform);
    }
    return product;
}

/* Other operations on registers: equal results for equal operands. */
static smk_value_number make_other(smk_value_numbering *numbering, const smk_instruction *in, unsigned zeros)
{
    uint64_t key[3] = {((uint64_t)in->row << 16) | (uint64_t)in->source_type << 8 | in->type, in->operands[0].select,
                       0};
    uint64_t mixed[4] = {in->has[0], in->has[1], in->has[2], in->has[3]};
    bool uniform = true;
    for (unsigned i = 1; i < in->operand_count && i < SMK_OPERANDS_MAX; i++) {
        smk_value_number value = read_operand(numbering, &in->operands[i]);
        uniform = uniform && numbering->entries[value.base].uniform;
        uint64_t part[4] = {value.base, (uint64_t)value.offset, i,
                            (uint64_t)in->operands[i].select << 1 | in->operands[i].negate};
        key[1 + (i & 1)] =
            (key[1 + (i & 1)] ^ ((uint64_t)hash(part) | (uint64_t)value.base << 32)) * UINT64_C(0x9e3779b97f4a7c15);
    }
    key[0] ^= (uint64_t)hash(mixed) << 32;
    return (smk_value_number){make_from(numbering, in->opcode, key[0], key[1], key[2], zeros, uniform), 0};
}

static bool made_by_and(const smk_value_numbering *numbering, uint32_t base)
{
    return numbering->entries[base].key[0] == SMK_OPCODE_AND;
}

static smk_value_number get_or(smk_value_numbering *numbering, const smk_instruction *in, unsigned zeros)
{
    smk_value_number x = read_operand(numbering, &in->operands[1]), y = read_operand(numbering, &in->operands[2]);
    /* disjoint bits: the `or` is a sum; but ptxas merges and + or into one operation and then loses the sum */
    if (y.base == 0 && y.offset >= 0 && y.offset < 1 << 16 && x.offset == 0 && !made_by_and(numbering, x.base) &&
        numbering->entries[x.base].zeros < ZEROS_MAX && (uint64_t)y.offset >> numbering->entries[x.base].zeros == 0) {
        return add(numbering, x, y);
    }
    return make_other(numbering, in, zeros);
}

static smk_value_number compute(smk_value_numbering *numbering, const smk_instruction *in, unsigned zeros)
{
    const smk_operand *o = in->operands;
    bool wide = smk_module_has(in, SMK_MODIFIER_WIDE), high = smk_module_has(in, SMK_MODIFIER_HI);
    bool integer = smk_module_type_kind(in->type) != SMK_KIND_FLOAT && !smk_module_has(in, SMK_MODIFIER_CC);
    if (!integer || high) {
        return make_other(numbering, in, zeros);
    }
    switch (in->opcode) {
    case SMK_OPCODE_MOV:
        return read_operand(numbering, &o[1]);
    case SMK_OPCODE_CVTA:
        return in->space == SMK_SPACE_GLOBAL ? read_operand(numbering, &o[1]) : make_other(numbering, in, zeros);
    case SMK_OPCODE_ADD:
        return add(numbering, read_operand(numbering, &o[1]), read_operand(numbering, &o[2]));
    case SMK_OPCODE_SUB:
        return add(numbering, read_operand(numbering, &o[1]),
                   scale(numbering, read_operand(numbering, &o[2]), UINT64_MAX));
    case SMK_OPCODE_OR:
        return get_or(numbering, in, zeros);
    case SMK_OPCODE_SHL:
        return o[2].kind == SMK_OPERAND_IMMEDIATE && o[2].bits < 64
                   ? scale(numbering, read_operand(numbering, &o[1]), UINT64_C(1) << o[2].bits)
                   : make_other(numbering, in, zeros);
    case SMK_OPCODE_MUL:
        return !wide && o[2].kind == SMK_OPERAND_IMMEDIATE ? scale(numbering, read_operand(numbering, &o[1]), o[2].bits)
                                                           : make_other(numbering, in, zeros);
    case SMK_OPCODE_MAD:
        return !wide && o[2].kind == SMK_OPERAND_IMMEDIATE
                   ? add(numbering, scale(numbering, read_operand(numbering, &o[1]), o[2].bits),
                         read_operand(numbering, &o[3]))
                   : make_other(numbering, in, zeros);
    default: /* no sum of a base and a constant */
        return make_other(numbering, in, zeros);
    }
}

static bool is_arithmetic(const smk_instruction *in)
{
    bool computes = smk_opcode_class(in) == SMK_CLASS_ALU || in->opcode == SMK_OPCODE_CVTA;
    return computes && is_pure(in) && in->operands[0].kind == SMK_OPERAND_REGISTER && !in->guarded;
}

typedef struct forgetting {
    smk_value_numbering *numbering;
    uint32_t instruction;
} forgetting;

static void forget(void *context, uint32_t reg)
{
    const forgetting *f = context;
    smk_value_numbering *numbering = f->numbering;
    numbering->value[reg] = (smk_value_number){
        make_base(numbering, KIND_OPAQUE, reg, numbering->stamp, f->instruction + 1, numbering->zeros[reg]), 0};
    numbering->since[reg] = numbering->stamp;
}

void smk_value_numbering_pass(smk_value_numbering *numbering, uint32_t instruction)
{
    const smk_instruction *in = &numbering->function->instructions[instruction];
    forgetting f = {numbering, instruction};
    if (in->opcode == SMK_OPCODE_LD && in->space == SMK_SPACE_PARAM && in->vector <= 1 && !in->guarded &&
        numbering->function->is_entry && in->operands[0].kind == SMK_OPERAND_REGISTER &&
        in->operands[1].base_kind == SMK_OPERAND_VARIABLE) {
        uint32_t reg = in->operands[0].index;
        numbering->value[reg].base = make_from(numbering, KIND_PARAMETER, in->operands[1].index,
                                               (uint64_t)in->operands[1].offset, in->type, 0, true);
        numbering->value[reg].offset = 0;
        numbering->since[reg] = numbering->stamp;
    } else if (is_arithmetic(in)) {
        uint32_t reg = in->operands[0].index;
        smk_value_number value = compute(numbering, in, get_result_zeros(numbering, in));
        numbering->value[reg] = wrap(value, smk_module_type_bits(numbering->function->registers[reg].type));
        numbering->since[reg] = numbering->stamp;
    } else {
        smk_value_numbering_visit_writes(in, forget, &f);
    }
}

void smk_value_numbering_begin(smk_value_numbering *numbering)
{
    numbering->stamp++;
}

unsigned smk_value_numbering_zeros(const smk_value_numbering *numbering, uint32_t base)
{
    return numbering->entries[base].zeros;
}

void smk_value_numbering_prove(smk_value_numbering *numbering, uint32_t base, uint32_t block, unsigned zeros)
{
    entry *e = &numbering->entries[base];
    if (base != 0 && (e->proved == 0 || (e->block == block && zeros > e->proved))) {
        e->proved = (uint8_t)zeros;
        e->block = block;
    }
}

unsigned smk_value_numbering_get_proved(const smk_value_numbering *numbering, uint32_t base, uint32_t *block)
{
    *block = numbering->entries[base].block;
    return numbering->entries[base].proved;
}

void smk_value_numbering_restart(smk_value_numbering *numbering)
{
    numbering->stamp = 0;
    memset(numbering->since, 0, numbering->function->register_count * sizeof *numbering->since);
}

bool smk_value_numbering_good(const smk_value_numbering *numbering)
{
    return !numbering->failed;
}

bool smk_value_numbering_is_read(const smk_value_numbering *numbering, uint32_t reg)
{
    return numbering->read[reg] != 0;
}

bool smk_value_numbering_is_uniform(const smk_value_numbering *numbering, uint32_t base)
{
    return numbering->entries[base].uniform;
}

void smk_value_numbering_free(smk_value_numbering *numbering)
{
    if (numbering != NULL) {
        smk_heap_free(numbering->zeros);
        smk_heap_free(numbering->since);
        smk_heap_free(numbering->value);
        smk_heap_free(numbering->entries);
        smk_heap_free(numbering->chain);
        smk_heap_free(numbering->shared_offset);
        smk_heap_free(numbering);
    }
}

smk_status smk_value_numbering_create(const smk_module *module, const smk_function *function,
                                      smk_value_numbering **numbering, smk_error *error)
{
    enum { ROOM = 256 };
    const size_t registers = function->register_count;
    smk_value_numbering *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory to follow the addresses of %zu registers", registers);
    }
    made->module = module;
    made->function = function;
    made->zeros = smk_heap_allocate(3 * registers + 1, 1);
    made->since = smk_heap_allocate(registers, sizeof *made->since);
    made->value = smk_heap_allocate(registers, sizeof *made->value);
    made->entries = smk_heap_allocate(ROOM, sizeof *made->entries);
    made->chain = smk_heap_allocate(2 * (size_t)ROOM, sizeof *made->chain);
    made->shared_offset =
        smk_heap_allocate((size_t)module->variable_count + function->variable_count, sizeof *made->shared_offset);
    if (made->zeros == NULL || made->since == NULL || made->value == NULL || made->entries == NULL ||
        made->chain == NULL || made->shared_offset == NULL) {
        smk_value_numbering_free(made);
        return smk_status_fail(error, SMK_MEMORY, "no memory to follow the addresses of %zu registers", registers);
    }
    made->read = made->zeros + registers;
    made->writes = made->read + registers;
    made->room = ROOM;
    made->chain_mask = 2 * ROOM - 1;
    made->count = 1;
    made->entries[0].zeros = ZEROS_MAX;
    made->entries[0].uniform = true;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        smk_value_numbering_visit_writes(&function->instructions[i], count_write, made);
    }
    smk_shared_layout_find(module, function, made->shared_offset);
    find_reads(made);
    find_zeros(made);
    *numbering = made;
    return SMK_OK;
}
