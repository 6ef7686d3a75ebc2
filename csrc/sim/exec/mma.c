#include "sim/exec/mma.h"

#include "sim/code/isa.h"
#include "sim/exec/warp.h"

#include <string.h>

enum { GROUP = 4, QUADS = 4, MATRIX_ROWS = 8, LOCATION_BYTES = 160 };

typedef struct form {
    smk_modifier shape, word;
    smk_type type, sum; /* type: NONE for every float of 8 bits and less */
    uint32_t products;
    bool sparse;
} form;

static const form forms[SMK_MMA_COUNT] = {
#define SMK_MMA(id, shape, type, sum, rows, depth)                                                                     \
    {SMK_MODIFIER_##shape,                                                                                             \
     SMK_MODIFIER_ALIGNED,                                                                                             \
     SMK_TYPE_##type,                                                                                                  \
     SMK_TYPE_##sum,                                                                                                   \
     (rows) * (depth)*SMK_MMA_COLUMNS,                                                                                 \
     false},
#define SMK_MMA_SPARSE(id, shape, type, sum, depth)                                                                    \
    {SMK_MODIFIER_##shape,                                                                                             \
     SMK_MODIFIER_ALIGNED,                                                                                             \
     SMK_TYPE_##type,                                                                                                  \
     SMK_TYPE_##sum,                                                                                                   \
     SMK_MMA_ROWS_MAX * (depth) / 2 * SMK_MMA_COLUMNS,                                                                 \
     true},
#define SMK_MMA_SMALL(id, shape, word, sum, depth, bits, sparse)                                                       \
    {SMK_MODIFIER_##shape,                                                                                             \
     SMK_MODIFIER_##word,                                                                                              \
     SMK_TYPE_NONE,                                                                                                    \
     SMK_TYPE_##sum,                                                                                                   \
     SMK_MMA_ROWS_MAX * (depth) / ((sparse) ? 2 : 1) * SMK_MMA_COLUMNS,                                                \
     sparse},
#include "sim/exec/mma.def"
};

/* How a and b of m8n8k4 are stored, and whether c is narrower than d. */
static uint32_t layout_flags(const smk_instruction *instruction)
{
    uint32_t flags = 0;
    unsigned layouts = 0;
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word *word = &instruction->words[i];
        const bool column = !word->is_type && word->value == SMK_MODIFIER_COL;
        if (column || (!word->is_type && word->value == SMK_MODIFIER_ROW)) {
            flags |= layouts == 0 ? (column ? SMK_MMA_COLUMNS_A : 0) : (column ? 0 : SMK_MMA_ROWS_B);
            layouts++;
        }
        if (word->is_type && instruction->type == SMK_TYPE_F32) {
            flags = word->value == SMK_TYPE_F16 ? flags | SMK_MMA_HALF_C : flags & ~(uint32_t)SMK_MMA_HALF_C;
        }
    }
    return flags;
}

/* A float of 8 bits and less by its type; SMK_MMA_FORMAT_MASK for other types. */
static uint32_t small_format(smk_type type)
{
    static const smk_type formats[] = {[SMK_MMA_E4M3] = SMK_TYPE_E4M3,
                                       [SMK_MMA_E5M2] = SMK_TYPE_E5M2,
                                       [SMK_MMA_E3M2] = SMK_TYPE_E3M2,
                                       [SMK_MMA_E2M3] = SMK_TYPE_E2M3,
                                       [SMK_MMA_E2M1] = SMK_TYPE_E2M1};
    for (uint32_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i] == type) {
            return i;
        }
    }
    return SMK_MMA_FORMAT_MASK;
}

/* .kind::mxf4 has two blocks where it does not say how many, .kind::mxf8f6f4 has one. */
static uint32_t small_flags(const smk_instruction *instruction)
{
    const uint32_t blocks = !smk_module_has(instruction, SMK_MODIFIER_BLOCK_SCALE)    ? 0
                            : smk_module_has(instruction, SMK_MODIFIER_SCALE_VEC_4X)  ? 4
                            : smk_module_has(instruction, SMK_MODIFIER_KIND_MXF8F6F4) ? 1
                                                                                      : 2;
    uint32_t flags = blocks << SMK_MMA_BLOCKS_SHIFT;
    for (unsigned i = 0, types = 0; i < instruction->word_count; i++) {
        if (instruction->words[i].is_type) {
            const smk_type type = (smk_type)instruction->words[i].value;
            flags |= types == 1 ? small_format(type) : types == 2 ? small_format(type) << SMK_MMA_FORMAT_B_SHIFT : 0;
            flags |= type == SMK_TYPE_UE4M3 ? SMK_MMA_SCALES_E4M3 : 0;
            types++;
        }
    }
    return flags;
}

uint32_t smk_mma_flags(const smk_instruction *instruction)
{
    if (small_format((smk_type)instruction->source_type) != SMK_MMA_FORMAT_MASK) {
        return small_flags(instruction);
    }
    static const uint32_t of_type[] = {[1] = SMK_MMA_SIGNED_A, [2] = SMK_MMA_SIGNED_B};
    uint32_t flags = smk_module_has(instruction, SMK_MODIFIER_SATFINITE) ? SMK_MMA_SATURATES : 0;
    flags |= smk_module_has(instruction, SMK_MODIFIER_AND) ? SMK_MMA_AND : 0;
    flags |= smk_module_has(instruction, SMK_MODIFIER_RZ)   ? SMK_MMA_TO_ZERO
             : smk_module_has(instruction, SMK_MODIFIER_RM) ? SMK_MMA_DOWN
             : smk_module_has(instruction, SMK_MODIFIER_RP) ? SMK_MMA_UP
                                                            : 0;
    for (unsigned i = 0, types = 0; i < instruction->word_count && types < 3; i++) {
        if (instruction->words[i].is_type) {
            const uint8_t type = instruction->words[i].value;
            flags |= type == SMK_TYPE_S8 || type == SMK_TYPE_S4 ? of_type[types] : 0;
            types++;
        }
    }
    return flags | layout_flags(instruction);
}

/* The index of the form, or SMK_MMA_COUNT. */
static unsigned find_form(const smk_instruction *instruction)
{
    const smk_type source = (smk_type)instruction->source_type;
    const smk_type type = source == SMK_TYPE_U8                         ? SMK_TYPE_S8
                          : source == SMK_TYPE_U4                       ? SMK_TYPE_S4
                          : small_format(source) != SMK_MMA_FORMAT_MASK ? SMK_TYPE_NONE
                                                                        : source;
    const bool sparse =
        smk_module_has(instruction, SMK_MODIFIER_SP) || smk_module_has(instruction, SMK_MODIFIER_SP_ORDERED);
    unsigned i = 0;
    while (i < SMK_MMA_COUNT &&
           (type != forms[i].type || instruction->type != forms[i].sum || sparse != forms[i].sparse ||
            !smk_module_has(instruction, forms[i].shape) || !smk_module_has(instruction, forms[i].word))) {
        i++;
    }
    return i;
}

smk_handler smk_mma_find(const smk_instruction *instruction)
{
    const smk_handler *handlers = smk_mma_baseline;
#if defined(SMK_MMA_X86)
    smk_isa isa = smk_isa_current();
    handlers = isa == SMK_ISA_AVX512 ? smk_mma_avx512 : isa == SMK_ISA_AVX2 ? smk_mma_avx2 : handlers;
#endif
    const unsigned index = find_form(instruction);
    return index < SMK_MMA_COUNT ? handlers[index] : NULL;
}

uint32_t smk_mma_products(const smk_instruction *instruction)
{
    const unsigned index = instruction->opcode == SMK_OPCODE_MMA ? find_form(instruction) : SMK_MMA_COUNT;
    const bool quads = index == SMK_MMA_h8_4 || index == SMK_MMA_f8_4;
    return index < SMK_MMA_COUNT ? forms[index].products * (quads ? QUADS : 1) : 0;
}

const smk_operation *smk_mma_refuse(smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    uint32_t index = warp->control->index, missing = ~mask, elsewhere = warp->control->live & missing;
    const char *name =
        smk_module_opcode_name((smk_opcode)warp->control->code->function->instructions[op->instruction].opcode);
    char there[LOCATION_BYTES];
    if (elsewhere == 0) {
        return smk_warp_fail(warp, op, mask, SMK_BARRIER,
                             "%s.sync.aligned is reached by lanes 0x%08x of warp %u; it takes all 32, and lanes 0x%08x "
                             "are not there or have exited",
                             name, mask, index, missing);
    }
    const smk_operation *other = smk_warp_waiting(warp, elsewhere);
    if (other == NULL) {
        return smk_warp_fail(warp, op, mask, SMK_BARRIER,
                             "%s.sync.aligned is reached by lanes 0x%08x of warp %u, without its lanes 0x%08x", name,
                             mask, index, elsewhere);
    }
    smk_warp_describe(warp, other, there, sizeof there);
    return smk_warp_fail(warp, op, mask, SMK_BARRIER,
                         "%s.sync.aligned is reached by lanes 0x%08x of warp %u, while its lanes 0x%08x are on another "
                         "path and wait at %s",
                         name, mask, index, elsewhere, there);
}

const smk_operation *smk_mma_enter(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + op->u.detail->bytes;
    }
    return mask == UINT32_MAX ? op + 1 : smk_mma_refuse(warp, op, mask);
}

/* Lane 8 * m + r has read row r of matrix m: 4 words of 2 elements, a word in each of 4 rows of registers. */
static inline const smk_operation *hand_out(smk_warp *warp, const smk_operation *op, bool transposed)
{
    const uint32_t *rows = op->u.detail->rows;
    for (unsigned matrix = 0; matrix < op->count; matrix++) {
        uint32_t *result = SMK_ROW(uint32_t, warp, rows[GROUP + matrix]);
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            const unsigned group = lane / GROUP, thread = lane % GROUP, first = MATRIX_ROWS * matrix;
            if (!transposed) {
                result[lane] = SMK_ROW(const uint32_t, warp, rows[thread])[first + group];
                continue;
            }
            const uint32_t *words = SMK_ROW(const uint32_t, warp, rows[group / 2]) + first + 2 * thread;
            const unsigned shift = 16 * (group % 2);
            result[lane] = (words[0] >> shift & UINT32_C(0xffff)) | words[1] >> shift << 16;
        }
    }
    return op + 1;
}

const smk_operation *smk_mma_transpose(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op), result[SMK_WARP_SIZE];
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    const uint32_t *a = SMK_ROW(const uint32_t, warp, op->a);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        const unsigned column = lane / GROUP, row = 2 * (lane % GROUP), shift = 16 * (column % 2);
        const uint32_t *words = a + GROUP * row + column / 2;
        result[lane] = (words[0] >> shift & UINT32_C(0xffff)) | words[GROUP] >> shift << 16;
    }
    memcpy(SMK_ROW(uint32_t, warp, op->d), result, sizeof result);
    return op + 1;
}

/* The inverse: lane 8 * m + r collects row r of matrix m. */
static inline const smk_operation *collect(smk_warp *warp, const smk_operation *op, bool transposed)
{
    const uint32_t *rows = op->u.detail->rows;
    for (unsigned matrix = 0; matrix < op->count; matrix++) {
        const uint32_t *held = SMK_ROW(const uint32_t, warp, rows[GROUP + matrix]);
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            const unsigned row = lane / GROUP, word = lane % GROUP, shift = 16 * (row % 2);
            const uint32_t *pair = held + 2 * GROUP * word + row / 2; /* its elements, transposed */
            SMK_ROW(uint32_t, warp, rows[word])
            [MATRIX_ROWS * matrix + row] =
                transposed ? (pair[0] >> shift & UINT32_C(0xffff)) | pair[GROUP] >> shift << 16 : held[lane];
        }
    }
    return op + 1;
}

/* Byte `column` of each of 4 lanes from `first` on, in which 4 rows of registers hold 16 bytes. */
static uint32_t gather_bytes(const smk_warp *warp, const uint32_t *rows, unsigned first, unsigned column)
{
    const uint32_t *words = SMK_ROW(const uint32_t, warp, rows[column / sizeof(uint32_t)]) + first;
    uint32_t gathered = 0;
    for (unsigned i = 0; i < sizeof gathered; i++) {
        gathered |= (words[i] >> 8 * (column % sizeof(uint32_t)) & UINT32_C(0xff)) << 8 * i;
    }
    return gathered;
}

const smk_operation *smk_mma_hand_out_bytes(smk_warp *warp, const smk_operation *op)
{
    const uint32_t *rows = op->u.detail->rows;
    for (unsigned i = 0; i < op->count; i++) {
        uint32_t *result = SMK_ROW(uint32_t, warp, rows[GROUP + i]);
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            const unsigned first = 2 * MATRIX_ROWS * (i / 2) + GROUP * (lane % GROUP);
            result[lane] = gather_bytes(warp, rows, first, lane / GROUP + MATRIX_ROWS * (i % 2));
        }
    }
    return op + 1;
}

static inline const smk_operation *unpack(smk_warp *warp, const smk_operation *op, unsigned bits)
{
    const uint32_t *rows = op->u.detail->rows;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        uint32_t packed[GROUP + 1] = {0}, bytes[GROUP] = {0};
        for (unsigned i = 0; i < GROUP; i++) {
            packed[i] = SMK_ROW(const uint32_t, warp, rows[i])[lane];
        }
        for (unsigned i = 0; i < sizeof bytes; i++) {
            const unsigned word = bits * i / 32, shift = bits * i % 32;
            const uint64_t both = packed[word] | (uint64_t)packed[word + 1] << 32;
            bytes[i / sizeof *bytes] |= (uint32_t)(both >> shift & ((1U << bits) - 1)) << 8 * (i % sizeof *bytes);
        }
        for (unsigned i = 0; i < GROUP; i++) {
            SMK_ROW(uint32_t, warp, rows[i])[lane] = bytes[i];
        }
    }
    return op + 1;
}

const smk_operation *smk_mma_unpack_6(smk_warp *warp, const smk_operation *op)
{
    return unpack(warp, op, 6);
}

const smk_operation *smk_mma_unpack_4(smk_warp *warp, const smk_operation *op)
{
    return unpack(warp, op, 4);
}

/* Lane 4 g + t holds bytes g (bits 0 to 15) and g + 8 of rows 2 t and 2 t + 1. */
const smk_operation *smk_mma_collect_bytes(smk_warp *warp, const smk_operation *op)
{
    const uint32_t *rows = op->u.detail->rows;
    for (unsigned matrix = 0; matrix < op->count; matrix++) {
        const uint32_t *held = SMK_ROW(const uint32_t, warp, rows[GROUP + matrix]);
        for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
            const unsigned row = i / GROUP, word = i % GROUP, shift = 8 * (row % 2) + 16 * (word / 2);
            const uint32_t *quad = held + GROUP * GROUP * (word % 2) + row / 2;
            uint32_t made = 0;
            for (unsigned byte = 0; byte < sizeof made; byte++) {
                made |= (quad[GROUP * byte] >> shift & UINT32_C(0xff)) << 8 * byte;
            }
            SMK_ROW(uint32_t, warp, rows[word])[MATRIX_ROWS * matrix + row] = made;
        }
    }
    return op + 1;
}

const smk_operation *smk_mma_hand_out(smk_warp *warp, const smk_operation *op)
{
    return hand_out(warp, op, false);
}

const smk_operation *smk_mma_hand_out_transposed(smk_warp *warp, const smk_operation *op)
{
    return hand_out(warp, op, true);
}

const smk_operation *smk_mma_collect(smk_warp *warp, const smk_operation *op)
{
    return collect(warp, op, false);
}

const smk_operation *smk_mma_collect_transposed(smk_warp *warp, const smk_operation *op)
{
    return collect(warp, op, true);
}
