/* Turns alu.def into handlers for one instruction set. Included once by each of alu_baseline.c, alu_avx2.c and
 * alu_avx512.c, which set the compiler's target and define SMK_ALU_CLONE, the name of their array of handlers.
 *
 * A handler computes all 32 lanes in one loop without branches. With all lanes active it stores into the destination
 * row. Otherwise a second copy of it, out of line so that the first needs no stack, stores into a scratch row, from
 * which the active lanes are copied. Rows are equal or disjoint, so the loops carry no dependence from lane to lane. */
#include "sim/exec/alu.h"
#include "sim/exec/alu_approx.h"
#include "sim/exec/alu_lane.h"
#include "sim/exec/alu_math.h"

/* shapes: what a row of the table may say in its last column ------------------------------------------------- */

#define BLEND_u16(row, result) blend_16((row_u16 *)(void *)(row), (const row_u16 *)(const void *)(result), mask)
#define BLEND_u32(row, result) blend_32((row_u32 *)(void *)(row), (const row_u32 *)(const void *)(result), mask)
#define BLEND_u64(row, result) blend_64((row_u64 *)(void *)(row), (const row_u64 *)(const void *)(result), mask)
#define BLEND_s16 BLEND_u16
#define BLEND_s32 BLEND_u32
#define BLEND_s64 BLEND_u64
#define BLEND_f32 BLEND_u32
#define BLEND_f64 BLEND_u64

#define SOURCE(type, offset) ((const row_##type *)ALIGNED(SMK_ROW(const row_##type, warp, offset)))

/* Declares `out`, into which the loop stores; FINISH copies the active lanes into the row. */
#define BEGIN(D)                                        \
    row_##D *const row = SMK_ROW(row_##D, warp, op->d); \
    _Alignas(64) row_##D scratch[SMK_WARP_SIZE];                \
    row_##D *const out = ALIGNED(full ? row : scratch)
#define FINISH(D)                \
    if (!full)                   \
        BLEND_##D(row, scratch); \
    return op + 1

#define UNARY(D, A, expression) FLOAT1(RN, D, A, , , expression)
#define BINARY(D, A, B, expression) FLOAT2(RN, D, A, B, , , expression)
#define TERNARY(D, A, B, C, expression) FLOAT3(RN, D, A, B, C, , , expression)

/* With a rounding mode, and functions that are applied to the sources and to the result. */
#define FLOAT1(R, D, A, IN, OUT, expression)                                  \
    BEGIN(D);                                                                 \
    const row_##A *const rows_a = SOURCE(A, op->a);                           \
    const int before = enter_rounding(DIRECTED_##R, MODE_##R);                \
    EACH_LANE                                                                 \
    {                                                                         \
        const row_##A a = IN(rows_a[i]);                                      \
        out[i] = (row_##D)OUT(expression);                                    \
    }                                                                         \
    leave_rounding(DIRECTED_##R, before, out);                                \
    FINISH(D);

#define FLOAT2(R, D, A, B, IN, OUT, expression)                               \
    BEGIN(D);                                                                 \
    const row_##A *const rows_a = SOURCE(A, op->a);                           \
    const row_##B *const rows_b = SOURCE(B, op->b);                           \
    const int before = enter_rounding(DIRECTED_##R, MODE_##R);                \
    EACH_LANE                                                                 \
    {                                                                         \
        const row_##A a = IN(rows_a[i]);                                      \
        const row_##B b = IN(rows_b[i]);                                      \
        out[i] = (row_##D)OUT(expression);                                    \
    }                                                                         \
    leave_rounding(DIRECTED_##R, before, out);                                \
    FINISH(D);

#define FLOAT3(R, D, A, B, C, IN, OUT, expression)                            \
    BEGIN(D);                                                                 \
    const row_##A *const rows_a = SOURCE(A, op->a);                           \
    const row_##B *const rows_b = SOURCE(B, op->b);                           \
    const row_##C *const rows_c = SOURCE(C, op->c);                           \
    const int before = enter_rounding(DIRECTED_##R, MODE_##R);                \
    enum { directed = DIRECTED_##R };                                         \
    EACH_LANE                                                                 \
    {                                                                         \
        const row_##A a = IN(rows_a[i]);                                      \
        const row_##B b = IN(rows_b[i]);                                      \
        const row_##C c = IN(rows_c[i]);                                      \
        out[i] = (row_##D)OUT(expression);                                    \
    }                                                                         \
    (void)(int)directed;                                                      \
    leave_rounding(DIRECTED_##R, before, out);                                \
    FINISH(D);

/* Two floats in a 64-bit row: a row of 64 of them, for a row of lanes is little-endian wherever this runs. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_OF_PAIRS _Pragma("GCC ivdep") for (unsigned i = 0; i < 2 * SMK_WARP_SIZE; i++)
#else
#define EACH_OF_PAIRS for (unsigned i = 0; i < 2 * SMK_WARP_SIZE; i++)
#endif
#define BEGIN_PAIRS(R)                                                        \
    BEGIN(u64);                                                               \
    row_f32 *const pairs = (row_f32 *)(void *)out;                            \
    const row_f32 *const rows_a = SOURCE(f32, op->a);                         \
    const row_f32 *const rows_b = SOURCE(f32, op->b);                         \
    const int before = enter_rounding(DIRECTED_##R, MODE_##R);                \
    enum { directed = DIRECTED_##R };
#define FINISH_PAIRS(R)                                                       \
    (void)(int)directed;                                                      \
    leave_rounding(DIRECTED_##R, before, out);                                \
    FINISH(u64);

#define PAIR2(R, IN, OUT, expression)                                         \
    BEGIN_PAIRS(R)                                                            \
    EACH_OF_PAIRS                                                             \
    {                                                                         \
        const row_f32 a = IN(rows_a[i]);                                      \
        const row_f32 b = IN(rows_b[i]);                                      \
        pairs[i] = (row_f32)OUT(expression);                                  \
    }                                                                         \
    FINISH_PAIRS(R)

#define PAIR3(R, IN, OUT, expression)                                         \
    BEGIN_PAIRS(R)                                                            \
    const row_f32 *const rows_c = SOURCE(f32, op->c);                         \
    EACH_OF_PAIRS                                                             \
    {                                                                         \
        const row_f32 a = IN(rows_a[i]);                                      \
        const row_f32 b = IN(rows_b[i]);                                      \
        const row_f32 c = IN(rows_c[i]);                                      \
        pairs[i] = (row_f32)OUT(expression);                                  \
    }                                                                         \
    FINISH_PAIRS(R)

/* Four sources; the last row is op->d2. */
#define QUATERNARY(D, A, B, C, E, expression)                                 \
    BEGIN(D);                                                                 \
    const row_##A *const rows_a = SOURCE(A, op->a);                           \
    const row_##B *const rows_b = SOURCE(B, op->b);                           \
    const row_##C *const rows_c = SOURCE(C, op->c);                           \
    const row_##E *const rows_e = SOURCE(E, op->d2);                          \
    EACH_LANE                                                                 \
    {                                                                         \
        const row_##A a = rows_a[i];                                          \
        const row_##B b = rows_b[i];                                          \
        const row_##C c = rows_c[i];                                          \
        const row_##E e = rows_e[i];                                          \
        out[i] = (row_##D)(expression);                                       \
    }                                                                         \
    FINISH(D);

/* Bitwise by a table that is the same for all lanes. */
#define LOOKUP3(D)                                                            \
    BEGIN(D);                                                                 \
    const row_##D *const rows_a = SOURCE(D, op->a);                           \
    const row_##D *const rows_b = SOURCE(D, op->b);                           \
    const row_##D *const rows_c = SOURCE(D, op->c);                           \
    const uint32_t table = (uint32_t)op->u.immediate;                         \
    EACH_LANE out[i] = smk_lop3(rows_a[i], rows_b[i], rows_c[i], table);      \
    FINISH(D);

/* Halves: one a lane in 16-bit rows (ROW u16), or two in 32-bit rows (u32). Sources are WIDE_<format> in the
 * expression; IN and OUT work on bits. */
#define EACH_HALF(ROW) for (unsigned shift = 0; shift < 8 * sizeof(row_##ROW); shift += 16)
#define HALF_OF(rows) ((uint16_t)(rows[i] >> shift))

#define HALF1(ROW, F, IN, OUT, expression)                                    \
    BEGIN(ROW);                                                               \
    const row_##ROW *const rows_a = SOURCE(ROW, op->a);                       \
    EACH_LANE                                                                 \
    {                                                                         \
        uint32_t word = 0;                                                    \
        EACH_HALF(ROW)                                                        \
        {                                                                     \
            const WIDE_##F a = WIDEN_##F(IN(HALF_OF(rows_a)));                  \
            word |= (uint32_t)OUT(NARROW_##F(expression)) << shift;           \
        }                                                                     \
        out[i] = (row_##ROW)word;                                             \
    }                                                                         \
    FINISH(ROW);

#define HALF2(ROW, F, IN, OUT, expression)                                    \
    BEGIN(ROW);                                                               \
    const row_##ROW *const rows_a = SOURCE(ROW, op->a);                       \
    const row_##ROW *const rows_b = SOURCE(ROW, op->b);                       \
    EACH_LANE                                                                 \
    {                                                                         \
        uint32_t word = 0;                                                    \
        EACH_HALF(ROW)                                                        \
        {                                                                     \
            const WIDE_##F a = WIDEN_##F(IN(HALF_OF(rows_a)));                  \
            const WIDE_##F b = WIDEN_##F(IN(HALF_OF(rows_b)));                  \
            word |= (uint32_t)OUT(NARROW_##F(expression)) << shift;           \
        }                                                                     \
        out[i] = (row_##ROW)word;                                             \
    }                                                                         \
    FINISH(ROW);

/* `bits` makes 16 of them of a, b and c. */
#define HALF3_BITS(ROW, F, IN, bits)                                          \
    BEGIN(ROW);                                                               \
    const row_##ROW *const rows_a = SOURCE(ROW, op->a);                       \
    const row_##ROW *const rows_b = SOURCE(ROW, op->b);                       \
    const row_##ROW *const rows_c = SOURCE(ROW, op->c);                       \
    EACH_LANE                                                                 \
    {                                                                         \
        uint32_t word = 0;                                                    \
        EACH_HALF(ROW)                                                        \
        {                                                                     \
            const uint16_t half_a = HALF_OF(rows_a), half_b = HALF_OF(rows_b); \
            const WIDE_##F a = WIDEN_##F(IN(half_a));                           \
            const WIDE_##F b = WIDEN_##F(IN(half_b));                           \
            const WIDE_##F c = WIDEN_##F(IN(HALF_OF(rows_c)));                  \
            word |= (bits) << shift;                                          \
        }                                                                     \
        out[i] = (row_##ROW)word;                                             \
    }                                                                         \
    FINISH(ROW);

#define HALF3(ROW, F, IN, OUT, expression) HALF3_BITS(ROW, F, IN, (uint32_t)OUT(NARROW_##F(expression)))

/* The same with +0 where a factor lies outside of a tensor. */
#define HALF3_OOB(ROW, F, OUT, expression)                                    \
    HALF3_BITS(ROW, F, ,                                                      \
               (smk_is_outside(half_a) | smk_is_outside(half_b) ? 0 : (uint32_t)OUT(NARROW_##F(expression))))

/* The same on bits: `a` and `b` are 16 bits in the expression. */
#define BITS1(ROW, expression)                                                \
    BEGIN(ROW);                                                               \
    const row_##ROW *const rows_a = SOURCE(ROW, op->a);                       \
    EACH_LANE                                                                 \
    {                                                                         \
        uint32_t word = 0;                                                    \
        EACH_HALF(ROW)                                                        \
        {                                                                     \
            const uint16_t a = HALF_OF(rows_a);                               \
            word |= (uint32_t)(uint16_t)(expression) << shift;                \
        }                                                                     \
        out[i] = (row_##ROW)word;                                             \
    }                                                                         \
    FINISH(ROW);

#define BITS2(ROW, expression)                                                \
    BEGIN(ROW);                                                               \
    const row_##ROW *const rows_a = SOURCE(ROW, op->a);                       \
    const row_##ROW *const rows_b = SOURCE(ROW, op->b);                       \
    EACH_LANE                                                                 \
    {                                                                         \
        uint32_t word = 0;                                                    \
        EACH_HALF(ROW)                                                        \
        {                                                                     \
            const uint16_t a = HALF_OF(rows_a);                               \
            const uint16_t b = HALF_OF(rows_b);                               \
            word |= (uint32_t)(uint16_t)(expression) << shift;                \
        }                                                                     \
        out[i] = (row_##ROW)word;                                             \
    }                                                                         \
    FINISH(ROW);

/* A comparison: a predicate row. */
#define COLLECT_u16 collect_32
#define COLLECT_s16 collect_32
#define COLLECT_u32 collect_32
#define COLLECT_s32 collect_32
#define COLLECT_f32 collect_32
#define COLLECT_u64 collect_64
#define COLLECT_s64 collect_64
#define COLLECT_f64 collect_64
#define FLAG_u16 row_u32
#define FLAG_s16 row_u32
#define FLAG_u32 row_u32
#define FLAG_s32 row_u32
#define FLAG_f32 row_u32
#define FLAG_u64 row_u64
#define FLAG_s64 row_u64
#define FLAG_f64 row_u64

#define COMPARE1(A, expression)                                               \
    const row_##A *const rows_a = SOURCE(A, op->a);                           \
    _Alignas(64) FLAG_##A flags[SMK_WARP_SIZE];                                       \
    EACH_LANE                                                                 \
    {                                                                         \
        const row_##A a = rows_a[i];                                          \
        flags[i] = (FLAG_##A)((expression) ? UINT64_MAX : 0);                 \
    }                                                                         \
    write_predicate(warp, op->d, COLLECT_##A(flags), mask);                   \
    return op + 1;

#define COMPARE2(A, IN, expression)                                           \
    const row_##A *const rows_a = SOURCE(A, op->a);                           \
    const row_##A *const rows_b = SOURCE(A, op->b);                           \
    _Alignas(64) FLAG_##A flags[SMK_WARP_SIZE];                                       \
    EACH_LANE                                                                 \
    {                                                                         \
        const row_##A a = IN(rows_a[i]);                                      \
        const row_##A b = IN(rows_b[i]);                                      \
        flags[i] = (FLAG_##A)((expression) ? UINT64_MAX : 0);                 \
    }                                                                         \
    write_predicate(warp, op->d, COLLECT_##A(flags), mask);                   \
    return op + 1;

/* Predicates are words: bit i for lane i. */
#define PREDICATE1(expression)                                                \
    const uint32_t a = read_predicate(warp, op->a, op->flip_a);               \
    write_predicate(warp, op->d, (expression), mask);                         \
    return op + 1;

#define PREDICATE2(expression)                                                \
    const uint32_t a = read_predicate(warp, op->a, op->flip_a);               \
    const uint32_t b = read_predicate(warp, op->b, op->flip_b);               \
    write_predicate(warp, op->d, (expression), mask);                         \
    return op + 1;

#define SELECT(D)                                                             \
    BEGIN(D);                                                                 \
    const row_##D *const rows_a = SOURCE(D, op->a);                           \
    const row_##D *const rows_b = SOURCE(D, op->b);                           \
    const uint32_t chosen = read_predicate(warp, op->c, op->flip_c);          \
    EACH_LANE out[i] = (row_##D)(chosen >> i & 1 ? rows_a[i] : rows_b[i]);    \
    FINISH(D);

/* left + right or left - right with the carry: USE adds CC.CF, SET writes it. A difference is left + ~right + 1, and
 * its flag is the carry of that sum: set where nothing was borrowed, which is visible to addc after sub.cc. */
#define CARRY(D, left_expression, right_expression, USE, SUBTRACT, SET)                          \
    const uint32_t carries = (USE) ? warp->carry : (SUBTRACT) ? UINT32_MAX : 0;                   \
    _Alignas(64) FLAG_##D flags[SMK_WARP_SIZE];                                                           \
    EACH_LANE                                                                                     \
    {                                                                                             \
        const row_##D a = rows_a[i];                                                              \
        const row_##D b = rows_b[i];                                                              \
        const row_##D c = rows_c[i];                                                              \
        const row_##D left = (left_expression);                                                   \
        const row_##D right = (row_##D)((SUBTRACT) ? ~(right_expression) : (right_expression));   \
        const row_##D carry = carries >> i & 1;                                                   \
        const row_##D result = left + right + carry;                                              \
        flags[i] = (FLAG_##D)((result < left) | ((result == left) & (carry != 0)) ? UINT64_MAX : 0); \
        out[i] = result;                                                                          \
        (void)a, (void)b, (void)c;                                                                \
    }                                                                                             \
    if (SET)                                                                                      \
        warp->carry = (warp->carry & ~mask) | (COLLECT_##D(flags) & mask);                        \
    FINISH(D);

#define CARRY2(D, left, right, USE, SUBTRACT, SET)                            \
    BEGIN(D);                                                                 \
    const row_##D *const rows_a = SOURCE(D, op->a);                           \
    const row_##D *const rows_b = SOURCE(D, op->b);                           \
    const row_##D *const rows_c = rows_b;                                     \
    CARRY(D, left, right, USE, SUBTRACT, SET)

#define CARRY3(D, left, right, USE, SET)                                      \
    BEGIN(D);                                                                 \
    const row_##D *const rows_a = SOURCE(D, op->a);                           \
    const row_##D *const rows_b = SOURCE(D, op->b);                           \
    const row_##D *const rows_c = SOURCE(D, op->c);                           \
    CARRY(D, left, right, USE, false, SET)

/* mov to a list: the elements' rows, the source's row, the bits of an element. */
#define ELEMENT(S, k, bits) (source[i] >> ((k) * (bits)) & (((row_##S)2 << ((bits)-1)) - 1))
#define SPLIT2(D, S, bits)                                                    \
    const row_##S *const source = SOURCE(S, op->b);                           \
    row_##D *const row2 = SMK_ROW(row_##D, warp, op->a);                      \
    _Alignas(64) row_##D scratch2[SMK_WARP_SIZE];                                     \
    row_##D *const out2 = ALIGNED(full ? row2 : scratch2);                    \
    BEGIN(D);                                                                 \
    EACH_LANE                                                                 \
    {                                                                         \
        out[i] = (row_##D)ELEMENT(S, 0, bits);                                \
        out2[i] = (row_##D)ELEMENT(S, 1, bits);                               \
    }                                                                         \
    if (!full)                                                                \
        BLEND_##D(row2, scratch2);                                            \
    FINISH(D);

#define SPLIT4(D, S, bits)                                                    \
    const row_##S *const source = SOURCE(S, op->d2);                          \
    const uint32_t offsets[4] = {op->d, op->a, op->b, op->c};                 \
    for (unsigned k = 0; k < 4; k++) {                                        \
        row_##D *const row = SMK_ROW(row_##D, warp, offsets[k]);              \
        _Alignas(64) row_##D scratch[SMK_WARP_SIZE];                                  \
        row_##D *const out = ALIGNED(full ? row : scratch);                   \
        EACH_LANE out[i] = (row_##D)ELEMENT(S, k, bits);                      \
        if (!full)                                                            \
            BLEND_##D(row, scratch);                                          \
    }                                                                         \
    return op + 1;

/* the handlers and their array ----------------------------------------------------------------------------------- */

#define SMK_ALU(id, opcode, type, source, flags, body)                                                                \
    SMK_INLINE const smk_operation *step_##id(smk_warp *warp, const smk_operation *op, uint32_t mask, bool full)      \
    {                                                                                                                 \
        (void)full;                                                                                                   \
        body                                                                                                          \
    }                                                                                                                 \
    static NOINLINE const smk_operation *masked_##id(smk_warp *warp, const smk_operation *op, uint32_t mask)          \
    {                                                                                                                 \
        return step_##id(warp, op, mask, false);                                                                      \
    }                                                                                                                 \
    static const smk_operation *run_##id(smk_warp *warp, const smk_operation *op)                                     \
    {                                                                                                                 \
        const uint32_t mask = smk_operation_mask(warp, op);                                                                  \
        return mask == UINT32_MAX ? step_##id(warp, op, UINT32_MAX, true) : masked_##id(warp, op, mask);              \
    }
#include "sim/exec/alu.def"

const smk_handler SMK_ALU_CLONE[SMK_ALU_COUNT] = {
#define SMK_ALU(id, opcode, type, source, flags, body) run_##id,
#include "sim/exec/alu.def"
};
