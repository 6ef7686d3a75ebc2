#include "sim/exec/warp_exchange.h"

#include "sim/code/bits.h"
#include "sim/exec/park.h"

#include <string.h>

/* The membermasks of an exchange, and the lanes that are present. */
typedef struct members {
    uint32_t executing;
    const uint32_t *row; /* of membermasks; NULL: all present lanes */
} members;

SMK_ALWAYS_INLINE uint32_t mask_of(const members *all, unsigned lane)
{
    return all->row == NULL ? all->executing : all->row[lane] & all->executing;
}

/* True where all lanes of each mask are present or have exited. Else the lanes wait for them (park.h). */
SMK_ALWAYS_INLINE bool gather(const smk_warp *warp, const smk_operation *op, uint32_t executing, bool sync,
                              members *all)
{
    all->executing = executing;
    all->row = sync ? SMK_ROW(uint32_t, warp, op->u.immediate) : NULL;
    if (!sync) {
        return true;
    }
    uint32_t elsewhere = warp->control->live & ~executing, wrong = 0;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        const uint32_t bit = smk_bits_lane[lane], mask = all->row[lane];
        wrong |= ((mask & elsewhere) | (~mask & bit)) & smk_bits_spread(executing, lane);
    }
    return wrong == 0;
}

SMK_ALWAYS_INLINE void put32(smk_warp *warp, uint32_t offset, uint32_t mask, const uint32_t *value)
{
    uint32_t *row = SMK_ROW(uint32_t, warp, offset);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        const uint32_t chosen = smk_bits_spread(mask, lane);
        row[lane] = (value[lane] & chosen) | (row[lane] & ~chosen);
    }
}

static void put_predicate(smk_warp *warp, uint32_t offset, uint32_t mask, uint32_t value)
{
    uint32_t *row = SMK_ROW(uint32_t, warp, offset);
    *row = (*row & ~mask) | (value & mask);
}

typedef enum shuffle { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX } shuffle;

/* The source lane; -1 where it is outside the segment. */
SMK_ALWAYS_INLINE int source_lane(shuffle mode, uint32_t lane, uint32_t b, uint32_t c)
{
    uint32_t offset = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    uint32_t low = lane & segment, high = low | (clamp & ~segment);
    int source, limit = (int)high;
    switch (mode) {
    case SHUFFLE_UP:
        source = (int)lane - (int)offset;
        return source >= limit ? source : -1;
    case SHUFFLE_DOWN:
        source = (int)(lane + offset);
        break;
    case SHUFFLE_BFLY:
        source = (int)(lane ^ offset);
        break;
    case SHUFFLE_IDX:
        source = (int)(low | (offset & ~segment));
        break;
    }
    return source <= limit ? source : -1;
}

int smk_warp_exchange_source(const smk_instruction *instruction, uint32_t lane, uint32_t b, uint32_t c)
{
    shuffle mode = smk_module_has(instruction, SMK_MODIFIER_UP)     ? SHUFFLE_UP
                   : smk_module_has(instruction, SMK_MODIFIER_DOWN) ? SHUFFLE_DOWN
                   : smk_module_has(instruction, SMK_MODIFIER_BFLY) ? SHUFFLE_BFLY
                                                                    : SHUFFLE_IDX;
    return source_lane(mode, lane, b, c);
}

/* The values of a shuffle, and the lanes whose source lies inside their segment. The value of a lane that is not present
 * is undefined: always 0 here. */
SMK_ALWAYS_INLINE uint32_t take_values(shuffle mode, uint32_t executing, const uint32_t *a, const uint32_t *b,
                                       const uint32_t *c, uint32_t *value)
{
    int sources[SMK_WARP_SIZE];
    uint32_t present[SMK_WARP_SIZE], from[SMK_WARP_SIZE], inside = 0;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        sources[lane] = source_lane(mode, lane, b[lane], c[lane]);
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) { /* no branch, so that the compiler can make vectors of it */
        const int source = sources[lane];
        const uint32_t outside = 0 - ((uint32_t)source >> 31); /* all bits where the source is -1 */
        from[lane] = ((uint32_t)source & ~outside & (SMK_WARP_SIZE - 1)) | (lane & outside);
        inside |= smk_bits_lane[lane] & ~outside;
        present[lane] = a[lane] & smk_bits_spread(executing, lane);
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        value[lane] = present[from[lane]];
    }
    return inside;
}

SMK_ALWAYS_INLINE const smk_operation *shuffle_lanes(smk_warp *warp, const smk_operation *op, shuffle mode)
{
    uint32_t executing = smk_operation_mask(warp, op);
    members all;
    if (executing == 0) {
        return op + 1;
    }
    if (!gather(warp, op, executing, op->count != 0, &all)) {
        return smk_park_lanes(warp, op, executing, all.row);
    }
    uint32_t value[SMK_WARP_SIZE];
    const uint32_t inside = take_values(mode, executing, SMK_ROW(uint32_t, warp, op->a), SMK_ROW(uint32_t, warp, op->b),
                                        SMK_ROW(uint32_t, warp, op->c), value);
    put32(warp, op->d, executing, value);
    put_predicate(warp, op->d2, executing, inside);
    return op + 1;
}

SMK_CLONES static const smk_operation *run_shuffle_up(smk_warp *warp, const smk_operation *op)
{
    return shuffle_lanes(warp, op, SHUFFLE_UP);
}

SMK_CLONES static const smk_operation *run_shuffle_down(smk_warp *warp, const smk_operation *op)
{
    return shuffle_lanes(warp, op, SHUFFLE_DOWN);
}

SMK_CLONES static const smk_operation *run_shuffle_bfly(smk_warp *warp, const smk_operation *op)
{
    return shuffle_lanes(warp, op, SHUFFLE_BFLY);
}

SMK_CLONES static const smk_operation *run_shuffle_idx(smk_warp *warp, const smk_operation *op)
{
    return shuffle_lanes(warp, op, SHUFFLE_IDX);
}

typedef enum vote { VOTE_ALL, VOTE_ANY, VOTE_UNIFORM, VOTE_BALLOT } vote;

SMK_ALWAYS_INLINE const smk_operation *vote_lanes(smk_warp *warp, const smk_operation *op, vote kind)
{
    uint32_t executing = smk_operation_mask(warp, op);
    members all;
    if (executing == 0) {
        return op + 1;
    }
    if (!gather(warp, op, executing, op->b != 0, &all)) {
        return smk_park_lanes(warp, op, executing, all.row);
    }
    uint32_t predicate = *SMK_ROW(uint32_t, warp, op->a) ^ op->flip_a, result = 0, ballot[SMK_WARP_SIZE];
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        uint32_t mask = mask_of(&all, lane), trues = predicate & mask;
        bool holds = kind == VOTE_ALL ? trues == mask : kind == VOTE_ANY ? trues != 0 : trues == mask || trues == 0;
        ballot[lane] = trues;
        result |= (uint32_t)holds << lane;
    }
    if (kind == VOTE_BALLOT) {
        put32(warp, op->d, executing, ballot);
    } else {
        put_predicate(warp, op->d, executing, result);
    }
    return op + 1;
}

SMK_CLONES static const smk_operation *run_vote_all(smk_warp *warp, const smk_operation *op)
{
    return vote_lanes(warp, op, VOTE_ALL);
}

SMK_CLONES static const smk_operation *run_vote_any(smk_warp *warp, const smk_operation *op)
{
    return vote_lanes(warp, op, VOTE_ANY);
}

SMK_CLONES static const smk_operation *run_vote_uniform(smk_warp *warp, const smk_operation *op)
{
    return vote_lanes(warp, op, VOTE_UNIFORM);
}

SMK_CLONES static const smk_operation *run_vote_ballot(smk_warp *warp, const smk_operation *op)
{
    return vote_lanes(warp, op, VOTE_BALLOT);
}

static inline const smk_operation *match_lanes(smk_warp *warp, const smk_operation *op, bool wide, bool every)
{
    uint32_t executing = smk_operation_mask(warp, op);
    members all;
    if (executing == 0) {
        return op + 1;
    }
    if (!gather(warp, op, executing, op->count != 0, &all)) {
        return smk_park_lanes(warp, op, executing, all.row);
    }
    uint32_t value[SMK_WARP_SIZE], whole = 0;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        uint32_t same = 0, mask = mask_of(&all, lane);
        for (unsigned other = 0; other < SMK_WARP_SIZE; other++) {
            bool equal = wide ? SMK_ROW(uint64_t, warp, op->a)[lane] == SMK_ROW(uint64_t, warp, op->a)[other]
                              : SMK_ROW(uint32_t, warp, op->a)[lane] == SMK_ROW(uint32_t, warp, op->a)[other];
            same |= (uint32_t)equal << other;
        }
        same &= mask;
        whole |= (uint32_t)(same == mask) << lane;
        value[lane] = every && same != mask ? 0 : same;
    }
    put32(warp, op->d, executing, value);
    if (every) {
        put_predicate(warp, op->d2, executing, whole);
    }
    return op + 1;
}

static const smk_operation *run_match_any32(smk_warp *warp, const smk_operation *op)
{
    return match_lanes(warp, op, false, false);
}

static const smk_operation *run_match_any64(smk_warp *warp, const smk_operation *op)
{
    return match_lanes(warp, op, true, false);
}

static const smk_operation *run_match_all32(smk_warp *warp, const smk_operation *op)
{
    return match_lanes(warp, op, false, true);
}

static const smk_operation *run_match_all64(smk_warp *warp, const smk_operation *op)
{
    return match_lanes(warp, op, true, true);
}

/* The leader is the lowest lane of the mask. */
static const smk_operation *run_elect(smk_warp *warp, const smk_operation *op)
{
    uint32_t executing = smk_operation_mask(warp, op), leader[SMK_WARP_SIZE], elected = 0;
    members all;
    if (executing == 0) {
        return op + 1;
    }
    if (!gather(warp, op, executing, true, &all)) {
        return smk_park_lanes(warp, op, executing, all.row);
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        uint32_t mask = mask_of(&all, lane);
        leader[lane] = mask == 0 ? lane : smk_bits_first(mask);
        elected |= (uint32_t)(leader[lane] == lane) << lane;
    }
    put32(warp, op->d, executing, leader);
    put_predicate(warp, op->d2, executing, elected);
    return op + 1;
}

typedef enum reduction {
    REDUCE_ADD,
    REDUCE_MIN_U,
    REDUCE_MAX_U,
    REDUCE_MIN_S,
    REDUCE_MAX_S,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR,
    REDUCE_FLOAT = 8 /* with REDUCE_GREATER, REDUCE_ABS and REDUCE_NAN */
} reduction;

enum { REDUCE_GREATER = 1, REDUCE_ABS = 2, REDUCE_NAN = 4, NAN_F32 = 0x7fffffff };

static inline bool is_nan(uint32_t a)
{
    return (a & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000);
}

/* The lesser or greater float; -0 lies below +0. NaN gives way to a number, or with REDUCE_NAN does not. */
static inline uint32_t combine_float(unsigned flags, uint32_t a, uint32_t b)
{
    if (is_nan(a) || is_nan(b)) {
        return (flags & REDUCE_NAN) != 0 || (is_nan(a) && is_nan(b)) ? NAN_F32 : is_nan(a) ? b : a;
    }
    const uint32_t x = a >> 31 != 0 ? ~a : a | UINT32_C(0x80000000), y = b >> 31 != 0 ? ~b : b | UINT32_C(0x80000000);
    return (x < y) != ((flags & REDUCE_GREATER) != 0) ? a : b;
}

static inline uint32_t combine(reduction kind, uint32_t a, uint32_t b)
{
    switch (kind) {
    case REDUCE_ADD:
        return a + b;
    case REDUCE_MIN_U:
        return a < b ? a : b;
    case REDUCE_MAX_U:
        return a > b ? a : b;
    case REDUCE_MIN_S:
        return (int32_t)a < (int32_t)b ? a : b;
    case REDUCE_MAX_S:
        return (int32_t)a > (int32_t)b ? a : b;
    case REDUCE_AND:
        return a & b;
    case REDUCE_OR:
        return a | b;
    case REDUCE_XOR:
        return a ^ b;
    case REDUCE_FLOAT:
        break;
    }
    return combine_float((unsigned)kind - REDUCE_FLOAT, a, b);
}

/* What a reduction makes of the value of one lane. */
static inline uint32_t prepare(reduction kind, uint32_t a)
{
    if (kind < REDUCE_FLOAT) {
        return a;
    }
    return is_nan(a) ? NAN_F32 : ((unsigned)kind & REDUCE_ABS) != 0 ? a & UINT32_C(0x7fffffff) : a;
}

static inline const smk_operation *reduce_lanes(smk_warp *warp, const smk_operation *op, reduction kind)
{
    uint32_t executing = smk_operation_mask(warp, op);
    members all;
    if (executing == 0) {
        return op + 1;
    }
    if (!gather(warp, op, executing, op->count != 0, &all)) {
        return smk_park_lanes(warp, op, executing, all.row);
    }
    const uint32_t *a = SMK_ROW(uint32_t, warp, op->a);
    uint32_t value[SMK_WARP_SIZE] = {0}, left = executing;
    while (left != 0) {
        unsigned first = smk_bits_first(left);
        uint32_t group = mask_of(&all, first), total = prepare(kind, a[first]);
        for (unsigned lane = first + 1; lane < SMK_WARP_SIZE; lane++) {
            total = (group >> lane & 1) != 0 ? combine(kind, total, prepare(kind, a[lane])) : total;
        }
        /* lanes below the first remaining one belong to other groups, unless masks overlap, which is undefined */
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            value[lane] = (group & left) >> lane & 1 ? total : value[lane];
        }
        left &= ~group;
    }
    put32(warp, op->d, executing, value);
    return op + 1;
}

#define REDUCE_HANDLER(name, kind)                                                                                     \
    static const smk_operation *run_reduce_##name(smk_warp *warp, const smk_operation *op)                             \
    {                                                                                                                  \
        return reduce_lanes(warp, op, kind);                                                                           \
    }
REDUCE_HANDLER(add, REDUCE_ADD)
REDUCE_HANDLER(min_u, REDUCE_MIN_U)
REDUCE_HANDLER(max_u, REDUCE_MAX_U)
REDUCE_HANDLER(min_s, REDUCE_MIN_S)
REDUCE_HANDLER(max_s, REDUCE_MAX_S)
REDUCE_HANDLER(and, REDUCE_AND)
REDUCE_HANDLER(or, REDUCE_OR)
REDUCE_HANDLER(xor, REDUCE_XOR)
#define REDUCE_FLOAT_HANDLERS(name, flags)                                                                             \
    REDUCE_HANDLER(name, (reduction)(REDUCE_FLOAT + (flags)))                                                          \
    REDUCE_HANDLER(name##_nan, (reduction)(REDUCE_FLOAT + ((flags) | REDUCE_NAN)))
REDUCE_FLOAT_HANDLERS(min_f, 0)
REDUCE_FLOAT_HANDLERS(max_f, REDUCE_GREATER)
REDUCE_FLOAT_HANDLERS(min_abs, REDUCE_ABS)
REDUCE_FLOAT_HANDLERS(max_abs, REDUCE_ABS | REDUCE_GREATER)

static smk_handler find_float_reduction(const smk_instruction *instruction)
{
    static const smk_handler handlers[] = {run_reduce_min_f,       run_reduce_max_f,      run_reduce_min_abs,
                                           run_reduce_max_abs,     run_reduce_min_f_nan,  run_reduce_max_f_nan,
                                           run_reduce_min_abs_nan, run_reduce_max_abs_nan};
    return handlers[(smk_module_has(instruction, SMK_MODIFIER_MAX) ? REDUCE_GREATER : 0) |
                    (smk_module_has(instruction, SMK_MODIFIER_ABS) ? REDUCE_ABS : 0) |
                    (smk_module_has(instruction, SMK_MODIFIER_NAN_) ? REDUCE_NAN : 0)];
}

/* The lanes that execute the instruction, without those whose guard is false. */
static const smk_operation *run_active_mask(smk_warp *warp, const smk_operation *op)
{
    uint32_t executing = smk_operation_mask(warp, op), value[SMK_WARP_SIZE];
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        value[lane] = executing;
    }
    put32(warp, op->d, executing, value);
    return op + 1;
}

static smk_handler find_reduction(const smk_instruction *instruction)
{
    bool is_signed = instruction->type == SMK_TYPE_S32;
    if (smk_module_type_kind((smk_type)instruction->type) == SMK_KIND_FLOAT) {
        return find_float_reduction(instruction);
    }
    if (smk_module_has(instruction, SMK_MODIFIER_ADD)) {
        return run_reduce_add;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_MIN)) {
        return is_signed ? run_reduce_min_s : run_reduce_min_u;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_MAX)) {
        return is_signed ? run_reduce_max_s : run_reduce_max_u;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_AND)) {
        return run_reduce_and;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_OR)) {
        return run_reduce_or;
    }
    return smk_module_has(instruction, SMK_MODIFIER_XOR) ? run_reduce_xor : NULL;
}

static smk_handler find_shuffle(const smk_instruction *instruction)
{
    if (smk_module_has(instruction, SMK_MODIFIER_UP)) {
        return run_shuffle_up;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_DOWN)) {
        return run_shuffle_down;
    }
    return smk_module_has(instruction, SMK_MODIFIER_BFLY) ? run_shuffle_bfly : run_shuffle_idx;
}

static smk_handler find_vote(const smk_instruction *instruction)
{
    if (smk_module_has(instruction, SMK_MODIFIER_BALLOT)) {
        return run_vote_ballot;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_ALL)) {
        return run_vote_all;
    }
    return smk_module_has(instruction, SMK_MODIFIER_ANY) ? run_vote_any : run_vote_uniform;
}

smk_handler smk_warp_exchange_find(const smk_instruction *instruction)
{
    bool wide = smk_module_type_bits((smk_type)instruction->type) == 64;
    switch (instruction->opcode) {
    case SMK_OPCODE_SHFL:
        return find_shuffle(instruction);
    case SMK_OPCODE_VOTE:
        return find_vote(instruction);
    case SMK_OPCODE_MATCH:
        if (smk_module_has(instruction, SMK_MODIFIER_ALL)) {
            return wide ? run_match_all64 : run_match_all32;
        }
        return wide ? run_match_any64 : run_match_any32;
    case SMK_OPCODE_REDUX:
        return find_reduction(instruction);
    case SMK_OPCODE_ACTIVEMASK:
        return run_active_mask;
    case SMK_OPCODE_ELECT:
        return run_elect;
    default: /* the caller fails: there is no handler */
        return NULL;
    }
}

/* Exchanges of lanes at several operations ------------------------------------------------------------------------- */

enum { ROW_GUARD, ROW_A, ROW_B, ROW_C, ROW_D, ROW_D2, ROW_MEMBERS, ROWS, ROW_BYTES = 64 * SMK_WARP_SIZE / 8 };

static void copy_lanes(unsigned char *to, const unsigned char *from, unsigned bits, uint32_t lanes)
{
    const unsigned bytes = bits / 8;
    if (bits == 1) {
        uint32_t *all = (uint32_t *)(void *)to;
        *all = (*all & ~lanes) | (*(const uint32_t *)(const void *)from & lanes);
        return;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
        const size_t at = (size_t)smk_bits_first(lanes) * bytes;
        memcpy(to + at, from + at, bytes);
    }
}

void smk_warp_exchange_join(const smk_instruction *instruction, const smk_warp_exchange_part *parts, uint32_t count)
{
    _Alignas(64) unsigned char rows[ROWS * ROW_BYTES] = {0};
    const bool votes = instruction->opcode == SMK_OPCODE_VOTE;
    const bool flag = votes && !smk_module_has(instruction, SMK_MODIFIER_BALLOT); /* the result is a predicate */
    const bool wide = !votes && smk_module_type_bits((smk_type)instruction->type) == 64;
    const unsigned a_bits = votes ? 1 : wide ? 64 : 32, d_bits = flag ? 1 : 32;
    smk_operation joint = *parts[0].op;
    smk_warp_control control = {0};
    smk_warp all = {.registers = rows, .control = &control};
    memset(rows, 0xFF, sizeof(uint32_t)); /* ROW_GUARD */
    for (uint32_t i = 0; i < count; i++) {
        const smk_warp_exchange_part *part = &parts[i];
        const smk_operation *op = part->op;
        const uint32_t lanes = part->lanes;
        const uint32_t flip = votes ? op->flip_a & lanes : 0;
        copy_lanes(rows + ROW_A * ROW_BYTES, part->registers + op->a, a_bits, lanes);
        *SMK_ROW(uint32_t, &all, ROW_A * ROW_BYTES) ^= flip;
        if (!votes) { /* whose `b` is no row */
            copy_lanes(rows + ROW_B * ROW_BYTES, part->registers + op->b, 32, lanes);
            copy_lanes(rows + ROW_C * ROW_BYTES, part->registers + op->c, 32, lanes);
        }
        copy_lanes(rows + ROW_D * ROW_BYTES, part->registers + op->d, d_bits, lanes);
        copy_lanes(rows + ROW_D2 * ROW_BYTES, part->registers + op->d2, 1, lanes);
        copy_lanes(rows + ROW_MEMBERS * ROW_BYTES, part->registers + op->u.immediate, 32, lanes);
        all.active |= lanes;
    }
    joint.guard = ROW_GUARD * ROW_BYTES;
    joint.guard_flip = 0;
    joint.a = ROW_A * ROW_BYTES;
    joint.b = votes ? joint.b : ROW_B * ROW_BYTES;
    joint.c = ROW_C * ROW_BYTES;
    joint.d = ROW_D * ROW_BYTES;
    joint.d2 = ROW_D2 * ROW_BYTES;
    joint.u.immediate = ROW_MEMBERS * ROW_BYTES;
    joint.flip_a = votes ? 0 : joint.flip_a;
    control.live = all.active; /* no other lane is waited for */
    (void)joint.run(&all, &joint);
    for (uint32_t i = 0; i < count; i++) {
        const smk_warp_exchange_part *part = &parts[i];
        copy_lanes(part->registers + part->op->d, rows + ROW_D * ROW_BYTES, d_bits, part->lanes);
        copy_lanes(part->registers + part->op->d2, rows + ROW_D2 * ROW_BYTES, 1, part->lanes);
    }
}
