/* No GPU since sm_50 has these instructions but a few vector ones. Results of the scalar ones are those of the code that
 * ptxas makes of them for sm_75 and later, which an H200 has run (tests/sim/exec/video_h200.json); where a result leaves
 * its range, they differ from the text of the PTX ISA. */
#include "sim/exec/video.h"

#include "sim/exec/block.h"

/* Products and shifts of 33 bits need more than 64. */
__extension__ typedef __int128 wide;

enum { WORD_BITS = 32, SHIFTED_BITS = 34 };

typedef enum video_action {
    NO_ACTION,
    ADD,
    SUB,
    MEAN,
    DIFFERENCE,
    MIN,
    MAX,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    PRODUCT,
    COMPARE
} video_action;

/* What becomes of a result: it stays alone, is added to the third source, is compared with it, or replaces a part. */
typedef enum second { ALONE, SECOND_ADD, SECOND_MIN, SECOND_MAX, MERGE } second;

enum {
    SIGNED_D = 1,
    SIGNED_A = 2,
    SIGNED_B = 4,
    SATURATES = 8,
    WRAPS = 16,
    PLUS_ONE = 32, /* .po */
    MINUS_AB = 64,
    MINUS_C = 128
};

/* Which parts of a source are read: of `bits` bits each, the number of each in 3 bits. */
typedef struct choice {
    unsigned bits, parts;
} choice;

typedef struct plan {
    video_action action;
    second then;
    smk_modifier comparison;
    unsigned flags, shift;
    unsigned count; /* of parts that are computed: 1, or 2 or 4 */
    choice a, b;
    choice d; /* of one part; of several, `parts` is a mask of those that are written */
} plan;

static video_action action_of(smk_opcode opcode, unsigned *count)
{
    static const struct {
        smk_opcode opcode;
        video_action action;
        unsigned count;
    } actions[] = {
#define EACH(name, action)                                                                                             \
    {SMK_OPCODE_##name, action, 1}, {SMK_OPCODE_##name##2, action, 2}, {SMK_OPCODE_##name##4, action, 4}
        EACH(VADD, ADD),
        EACH(VSUB, SUB),
        EACH(VABSDIFF, DIFFERENCE),
        EACH(VMIN, MIN),
        EACH(VMAX, MAX),
        EACH(VSET, COMPARE),
#undef EACH
        {SMK_OPCODE_VAVRG2, MEAN, 2},
        {SMK_OPCODE_VAVRG4, MEAN, 4},
        {SMK_OPCODE_VSHL, SHIFT_LEFT, 1},
        {SMK_OPCODE_VSHR, SHIFT_RIGHT, 1},
        {SMK_OPCODE_VMAD, PRODUCT, 1},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (actions[i].opcode == opcode) {
            *count = actions[i].count;
            return actions[i].action;
        }
    }
    return NO_ACTION;
}

bool smk_video_is(smk_opcode opcode)
{
    unsigned count = 0;
    return action_of(opcode, &count) != NO_ACTION;
}

/* The plan of an instruction: it is made each time, since these instructions are rare ---------------------------- */

static second second_of(const smk_instruction *instruction, unsigned count)
{
    return smk_module_has(instruction, SMK_MODIFIER_ADD)   ? SECOND_ADD
           : smk_module_has(instruction, SMK_MODIFIER_MIN) ? SECOND_MIN
           : smk_module_has(instruction, SMK_MODIFIER_MAX) ? SECOND_MAX
           : count > 1                                     ? MERGE
           : instruction->operands[0].select != 0          ? MERGE
                                                           : ALONE;
}

/* The parts that a source names, or those that `otherwise` has where it names none. */
static choice choose(const smk_operand *operand, unsigned count, unsigned otherwise)
{
    const unsigned select = operand->select, parts = select & ((1U << SMK_SELECT_COUNT_SHIFT) - 1);
    if (count > 1) {
        return (choice){WORD_BITS / count, select != 0 ? parts : otherwise};
    }
    return select == 0 ? (choice){WORD_BITS, 0} : (choice){(select & SMK_SELECT_HALVES) != 0 ? 16 : 8, parts};
}

/* The parts of a result that are written, as a mask. */
static unsigned mask_of(unsigned select, unsigned count)
{
    const unsigned named = select >> SMK_SELECT_COUNT_SHIFT & SMK_SELECT_MASK;
    unsigned mask = 0;
    for (unsigned i = 0; i < named; i++) {
        mask |= 1U << (select >> i * SMK_SELECT_BITS & SMK_SELECT_MASK);
    }
    return named == 0 ? (1U << count) - 1 : mask;
}

static bool is_signed(const smk_instruction *instruction, unsigned type)
{
    for (unsigned i = 0; i < instruction->word_count; i++) {
        if (instruction->words[i].is_type && type-- == 0) {
            return instruction->words[i].value == SMK_TYPE_S32;
        }
    }
    return false;
}

static unsigned flags_of(const smk_instruction *instruction, video_action action)
{
    const smk_operand *operands = instruction->operands;
    const unsigned first = action == COMPARE ? 0 : 1; /* whose result has no type */
    unsigned flags = first == 1 && is_signed(instruction, 0) ? SIGNED_D : 0;
    flags |= is_signed(instruction, first) ? SIGNED_A : 0;
    flags |= is_signed(instruction, first + 1) ? SIGNED_B : 0;
    flags |= smk_module_has(instruction, SMK_MODIFIER_SAT) ? SATURATES : 0;
    flags |= smk_module_has(instruction, SMK_MODIFIER_WRAP) ? WRAPS : 0;
    flags |= smk_module_has(instruction, SMK_MODIFIER_PO) ? PLUS_ONE : 0;
    flags |= operands[1].negate != operands[2].negate ? MINUS_AB : 0;
    return flags | (instruction->operand_count > 3 && operands[3].negate ? MINUS_C : 0);
}

static smk_modifier comparison_of(const smk_instruction *instruction)
{
    static const smk_modifier all[] = {SMK_MODIFIER_EQ, SMK_MODIFIER_NE, SMK_MODIFIER_LT,
                                       SMK_MODIFIER_LE, SMK_MODIFIER_GT, SMK_MODIFIER_GE};
    unsigned i = 0;
    while (i < sizeof all / sizeof *all - 1 && !smk_module_has(instruction, all[i])) {
        i++;
    }
    return all[i];
}

static plan make_plan(const smk_instruction *instruction)
{
    enum { LOW_HALVES = 010, HIGH_HALVES = 032, LOW_BYTES = 03210, HIGH_BYTES = 07654 }; /* a digit a part */
    plan p = {0};
    p.action = action_of((smk_opcode)instruction->opcode, &p.count);
    p.then = second_of(instruction, p.count);
    p.comparison = comparison_of(instruction);
    p.flags = flags_of(instruction, p.action);
    p.shift = smk_module_has(instruction, SMK_MODIFIER_SHR7)    ? 7
              : smk_module_has(instruction, SMK_MODIFIER_SHR15) ? 15
                                                                : 0;
    p.a = choose(&instruction->operands[1], p.count, p.count == 2 ? LOW_HALVES : LOW_BYTES);
    p.b = choose(&instruction->operands[2], p.count, p.count == 2 ? HIGH_HALVES : HIGH_BYTES);
    p.d = choose(&instruction->operands[0], 1, 0);
    if (p.count > 1) {
        p.d = (choice){WORD_BITS / p.count, mask_of(instruction->operands[0].select, p.count)};
    }
    return p;
}

/* One lane ------------------------------------------------------------------------------------------------------ */

static int64_t extend(uint64_t x, unsigned bits, bool with_sign)
{
    const uint64_t low = x & (UINT64_MAX >> (64 - bits));
    return with_sign && (low >> (bits - 1) & 1) != 0 ? (int64_t)low - (INT64_C(1) << bits) : (int64_t)low;
}

/* The i-th part that a choice names of `x`. */
static int64_t pick(uint64_t x, choice from, unsigned i, bool with_sign)
{
    const unsigned part = from.parts >> i * SMK_SELECT_BITS & SMK_SELECT_MASK;
    return extend(x >> part * from.bits, from.bits, with_sign);
}

static wide clamp(wide x, unsigned bits, bool with_sign)
{
    const wide most = ((wide)1 << (with_sign ? bits - 1 : bits)) - 1, least = with_sign ? -most - 1 : 0;
    return x < least ? least : x > most ? most : x;
}

static bool compare(smk_modifier how, int64_t a, int64_t b)
{
    switch (how) {
    case SMK_MODIFIER_EQ:
        return a == b;
    case SMK_MODIFIER_NE:
        return a != b;
    case SMK_MODIFIER_LT:
        return a < b;
    case SMK_MODIFIER_LE:
        return a <= b;
    case SMK_MODIFIER_GT:
        return a > b;
    default: /* ge: a video instruction has no other comparison */
        return a >= b;
    }
}

/* a * b + c, where a minus sign and .po are an addend of 1 behind a complement. Words have signs in any type; a sum of
 * unsigned types is shifted as 64 bits without. */
static wide multiply(const plan *p, int64_t a, int64_t b, uint32_t c)
{
    const bool with_sign = (p->flags & (SIGNED_A | SIGNED_B | MINUS_AB | MINUS_C)) != 0;
    wide product = (wide)extend((uint64_t)a, WORD_BITS, true) * extend((uint64_t)b, WORD_BITS, true);
    wide addend = (wide)(int32_t)c;
    product = (p->flags & MINUS_AB) != 0 ? -product : product;
    addend = (p->flags & MINUS_C) != 0 ? -addend : addend;
    wide sum = product + addend + ((p->flags & PLUS_ONE) != 0 ? 1 : 0);
    sum = (with_sign || p->shift == 0 ? sum : (wide)(uint64_t)sum) >> p->shift;
    return (p->flags & SATURATES) != 0 ? clamp(sum, WORD_BITS, with_sign) : sum;
}

static wide compute(const plan *p, int64_t a, int64_t b)
{
    const unsigned shift = (unsigned)((p->flags & WRAPS) != 0 ? b & 31 : b > WORD_BITS ? WORD_BITS : b);
    switch (p->action) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case MEAN:
        return (a + b + (a + b >= 0)) >> 1;
    case DIFFERENCE:
        return a < b ? b - a : a - b;
    case MIN:
        return a < b ? a : b;
    case MAX:
        return a > b ? a : b;
    case SHIFT_LEFT:
        return (wide)a * ((wide)1 << shift);
    case SHIFT_RIGHT:
        return a >> shift;
    case COMPARE:
        return compare(p->comparison, a, b);
    case PRODUCT:
    case NO_ACTION:
        break;
    }
    return 0;
}

/* Whether the types alone say that no unsigned result is negative, so that ptxas leaves .sat out. */
static bool is_in_range(const plan *p)
{
    const bool a = (p->flags & SIGNED_A) != 0, b = (p->flags & SIGNED_B) != 0;
    return (p->flags & SIGNED_D) == 0 &&
           ((p->action == MIN && !(a || b)) || (p->action == MAX && !(a && b)) || p->action == DIFFERENCE);
}

/* .sat: shifts keep 34 bits and saturate to a word, also of a part. Into a part, what is negative becomes the largest
 * number. The sum of two words may wrap. */
static wide saturate(const plan *p, wide x)
{
    const bool with_sign = (p->flags & SIGNED_D) != 0;
    if (p->action == SHIFT_LEFT || p->action == SHIFT_RIGHT) {
        return clamp((wide)extend((uint64_t)x, SHIFTED_BITS, true), WORD_BITS, with_sign);
    }
    if (p->then == MERGE) {
        const wide most = ((wide)1 << (with_sign ? p->d.bits - 1 : p->d.bits)) - 1;
        return x < 0 || x > most ? most : x;
    }
    return with_sign ? clamp(x, WORD_BITS, true) : x < 0 ? 0 : x;
}

/* The lesser or greater of a result and the third source, as numbers of 64 bits. A sum or difference, and what was
 * saturated, has the sign of its low word. */
static uint32_t choose_second(const plan *p, wide x, uint32_t c)
{
    const bool narrow = p->action == ADD || p->action == SUB || ((p->flags & SATURATES) != 0 && !is_in_range(p));
    const bool with_sign = (p->flags & (p->action == COMPARE ? SIGNED_A : SIGNED_D)) != 0;
    const int64_t word = narrow ? extend((uint64_t)x, WORD_BITS, true) : (int64_t)(uint64_t)x;
    const int64_t other = extend(c, WORD_BITS, with_sign);
    const bool less = with_sign ? word < other : (uint64_t)word < (uint64_t)other;
    const bool first = p->then == SECOND_MIN ? less : word != other && !less;
    return (uint32_t)(first ? word : other);
}

/* What the second operation makes of a result and the third source. */
static uint32_t finish(const plan *p, wide x, uint32_t c)
{
    switch (p->then) {
    case SECOND_ADD:
        return (uint32_t)((uint64_t)x + c);
    case SECOND_MIN:
    case SECOND_MAX:
        return choose_second(p, x, c);
    case MERGE: {
        const unsigned at = (p->d.parts & SMK_SELECT_MASK) * p->d.bits;
        const uint32_t mask = (UINT32_MAX >> (WORD_BITS - p->d.bits)) << at;
        const bool high = p->d.bits == 16 && at != 0; /* takes the upper half of the result, not the lower one */
        return (c & ~mask) | ((uint32_t)x << (high ? 0 : at) & mask);
    }
    case ALONE:
        break;
    }
    return (uint32_t)x;
}

static uint32_t run_scalar(const plan *p, uint32_t a, uint32_t b, uint32_t c)
{
    const int64_t x = pick(a, p->a, 0, (p->flags & SIGNED_A) != 0), y = pick(b, p->b, 0, (p->flags & SIGNED_B) != 0);
    if (p->action == PRODUCT) {
        return (uint32_t)multiply(p, x, y, c);
    }
    const wide result = compute(p, x, y);
    return finish(p, (p->flags & SATURATES) != 0 ? saturate(p, result) : result, c);
}

static uint32_t run_parts(const plan *p, uint32_t a, uint32_t b, uint32_t c)
{
    const uint64_t both = (uint64_t)b << WORD_BITS | a;
    const unsigned bits = p->d.bits;
    const bool with_sign = (p->flags & SIGNED_D) != 0;
    uint32_t result = c;
    for (unsigned i = 0; i < p->count; i++) {
        if ((p->d.parts >> i & 1) == 0) {
            continue;
        }
        wide x = compute(p, pick(both, p->a, i, (p->flags & SIGNED_A) != 0),
                         pick(both, p->b, i, (p->flags & SIGNED_B) != 0));
        x = (p->flags & SATURATES) != 0 ? clamp(x, bits, with_sign) : x;
        if (p->then == SECOND_ADD) {
            result += (uint32_t)x;
        } else {
            const uint32_t mask = (UINT32_MAX >> (WORD_BITS - bits)) << i * bits;
            result = (result & ~mask) | ((uint32_t)x << i * bits & mask);
        }
    }
    return result;
}

const smk_operation *smk_video_run(smk_warp *warp, const smk_operation *op)
{
    const smk_function *function = &warp->control->block->run->image->module->functions[op->function];
    const plan p = make_plan(&function->instructions[op->instruction]);
    const uint32_t mask = smk_operation_mask(warp, op);
    const uint32_t *a = SMK_ROW(const uint32_t, warp, op->a), *b = SMK_ROW(const uint32_t, warp, op->b);
    const uint32_t *c = SMK_ROW(const uint32_t, warp, op->c);
    uint32_t *d = SMK_ROW(uint32_t, warp, op->d);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if ((mask >> lane & 1) != 0) {
            d[lane] =
                p.count == 1 ? run_scalar(&p, a[lane], b[lane], c[lane]) : run_parts(&p, a[lane], b[lane], c[lane]);
        }
    }
    return op + 1;
}
