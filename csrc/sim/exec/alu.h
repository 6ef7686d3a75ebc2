/* Arithmetic handlers: their table (alu.def), its clones for each instruction set, and the choice of a handler. */
#ifndef SMK_SIM_EXEC_ALU_H
#define SMK_SIM_EXEC_ALU_H

#include "sim/code/operation.h"

/* Modifiers that select an arithmetic handler, and further properties. Other modifiers (.noftz, and those of memory)
 * do not matter. */
#define SMK_ALU_MODIFIERS(X)                                                                                       \
    X(RN) X(RZ) X(RM) X(RP) X(RNA) X(RNI) X(RZI) X(RMI) X(RPI) X(FTZ) X(SAT) X(SATFINITE) X(RELU) X(APPROX)        \
    X(FULL) X(WIDE) X(CC) X(NAN_) X(XORSIGN) X(ABS) X(EQ) X(NE) X(LT) X(LE) X(GT) X(GE) X(LO) X(LS) X(HI) X(HS)    \
    X(EQU) X(NEU) X(LTU) X(LEU) X(GTU) X(GEU) X(NUM) X(NAN) X(AND) X(OR) X(XOR) X(L) X(R) X(CLAMP) X(WRAP)         \
    X(SHIFTAMT) X(F4E) X(B4E) X(RC8) X(ECL) X(ECR) X(RC16) X(FINITE) X(INFINITE) X(NUMBER) X(NOTANUMBER) X(NORMAL) \
    X(SUBNORMAL) X(OOB)

enum smk_alu_bit {
#define SMK_ALU_BIT(id) SMK_ALU_BIT_##id,
    SMK_ALU_MODIFIERS(SMK_ALU_BIT)
#undef SMK_ALU_BIT
    SMK_ALU_BIT_THREE, /* min and max of three */
    SMK_ALU_BIT_SPLIT = SMK_ALU_BIT_THREE, /* mov to a list, not from one; opcodes share these bits */
    SMK_ALU_BIT_LIST4,                     /* a list of four */
    SMK_ALU_BIT_TO16 = SMK_ALU_BIT_THREE,  /* width of the destination's row, of an integer conversion */
    SMK_ALU_BIT_TO32,
    SMK_ALU_BIT_TO64,
    SMK_ALU_BIT_COUNT
};

typedef enum smk_alu_id {
#define SMK_ALU(id, opcode, type, source, flags, body) SMK_ALU_##id,
#include "sim/exec/alu.def"
    SMK_ALU_COUNT
} smk_alu_id;

/* One clone of all handlers for each instruction set; alu.c chooses among those that are compiled in. */
extern const smk_handler smk_alu_baseline[SMK_ALU_COUNT];
#if defined(__x86_64__) && defined(__GNUC__)
#define SMK_ALU_X86 1
extern const smk_handler smk_alu_avx2[SMK_ALU_COUNT];
extern const smk_handler smk_alu_avx512[SMK_ALU_COUNT];
#endif

/* What the handlers of alu_general.c read from op->u.immediate. */
typedef struct smk_alu_general {
    uint8_t from, to;                     /* smk_type */
    uint8_t from_storage, to_storage;     /* log2 of the row's bytes: 1, 2, 3 */
    uint8_t rounding;                     /* smk_rounding; of a conversion to an integer too */
    uint8_t compare;                      /* smk_alu_bit of a comparison */
    uint8_t combine;                      /* smk_alu_bit AND, OR, XOR, or 0 */
    uint8_t flags;                        /* SMK_GENERAL_ */
} smk_alu_general;

enum {
    SMK_GENERAL_FTZ = 1,
    SMK_GENERAL_SAT = 2,
    SMK_GENERAL_RELU = 4,
    SMK_GENERAL_SATFINITE = 8,
    SMK_GENERAL_INTEGRAL = 16, /* a float is rounded to an integer */
    SMK_GENERAL_PAIR = 32      /* setp p|q */
};

const smk_operation *smk_alu_convert(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_alu_convert_pair(smk_warp *warp, const smk_operation *op); /* to f16x2, bf16x2 */
const smk_operation *smk_alu_convert_packed(smk_warp *warp, const smk_operation *op); /* cvt.pack */
const smk_operation *smk_alu_set(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_alu_setp(smk_warp *warp, const smk_operation *op);

/* The handler of an instruction that only computes on registers (d, a, b, c, d2 as written, in that
 * order), for the present instruction set; NULL where there is none. `storage_bits[i]` is the width of operand i's
 * row: 1 (predicate), 16, 32 or 64, which for cvt and mov may differ from its type. */
smk_handler smk_alu_find(const smk_instruction *instruction, const unsigned storage_bits[SMK_OPERANDS_MAX]);

/* What lowering must put into op->u.immediate beside the handler of smk_alu_find (rounding, comparison, look-up
 * table: whatever the handlers of rare forms read once a warp). 0 for most.
 *
 * Rows of the forms with braces or a pair, flattened in the order written into d, a, b, c, d2:
 *   mov.b64 d, {x, y}        d a b           mov.b64 {x, y}, s        d a b
 *   mov.b64 d, {w, x, y, z}  d a b c d2      mov.b64 {w, x, y, z}, s  d a b c d2     (_ : a scratch row)
 * but setp p|q keeps d = p, d2 = q, and a, b, c the sources. storage_bits[i] belongs to operands[i]; of a LIST it is
 * not read. lop3's look-up table and the fourth source of anything else: d2 (the table is in the word too). */
uint64_t smk_alu_word(const smk_instruction *instruction, const unsigned storage_bits[SMK_OPERANDS_MAX]);

#endif
