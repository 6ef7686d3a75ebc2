#include "sim/exec/atomic.h"

#include "sim/code/bits.h"
#include "sim/exec/access.h"
#include "sim/exec/block.h"
#include "sim/exec/convert.h"

#include <stdatomic.h>
#include <string.h>

static uint16_t add_f16(uint16_t a, uint16_t b)
{
    /* single precision has more than twice the digits, so rounding twice is the same as rounding once */
    return smk_narrow_f16((double)(smk_widen_f16(a) + smk_widen_f16(b)), SMK_ROUND_NEAREST, false);
}

static uint16_t add_bf16(uint16_t a, uint16_t b)
{
    return smk_narrow_bf16((double)(smk_widen_bf16(a) + smk_widen_bf16(b)), SMK_ROUND_NEAREST, false);
}

/* Hardware flushes subnormals in additions to global memory, not in additions to shared memory. */
SMK_INLINE uint32_t add_f32(uint32_t a, uint32_t b, bool flush)
{
    float x = smk_float_f32(a), y = smk_float_f32(b);
    float sum = flush ? smk_flush_f32(smk_flush_f32(x) + smk_flush_f32(y)) : x + y;
    return smk_bits_f32(smk_nan_f32(sum));
}

/* Of two NaN, global memory keeps the operand unchanged, and shared memory the old value made quiet. */
SMK_INLINE uint64_t add_f64(uint64_t old, uint64_t b, bool global)
{
    const double sum = smk_float_f64(old) + smk_float_f64(b);
    if (global && (smk_is_nan_f64(old) || smk_is_nan_f64(b))) {
        return smk_is_nan_f64(b) ? b : old;
    }
    return smk_bits_f64(smk_pass2_f64(sum, smk_float_f64(old), smk_float_f64(b)));
}

SMK_INLINE uint64_t add(smk_type type, uint64_t old, uint64_t b, bool flush)
{
    uint32_t old_high = (uint32_t)old >> 16, b_high = (uint32_t)b >> 16;
    switch (type) {
    case SMK_TYPE_F32:
        return add_f32((uint32_t)old, (uint32_t)b, flush);
    case SMK_TYPE_F64:
        return add_f64(old, b, flush); /* additions to global memory are those that flush */
    case SMK_TYPE_F16:
        return add_f16((uint16_t)old, (uint16_t)b);
    case SMK_TYPE_BF16:
        return add_bf16((uint16_t)old, (uint16_t)b);
    case SMK_TYPE_F16X2:
        return (uint32_t)add_f16((uint16_t)old_high, (uint16_t)b_high) << 16 | add_f16((uint16_t)old, (uint16_t)b);
    case SMK_TYPE_BF16X2:
        return (uint32_t)add_bf16((uint16_t)old_high, (uint16_t)b_high) << 16 | add_bf16((uint16_t)old, (uint16_t)b);
    default: /* integers */
        return old + b;
    }
}

/* The lesser or greater of 16-bit floats: a NaN gives way to a number, and -0 lies below +0. */
static uint16_t choose_half(uint16_t a, uint16_t b, bool brain, bool greater)
{
    const uint16_t most = brain ? 0x7f80 : 0x7c00, sign = 0x8000;
    const bool nan_a = (a & ~sign) > most, nan_b = (b & ~sign) > most;
    if (nan_a || nan_b) {
        return nan_a && nan_b ? 0x7fff : nan_a ? b : a;
    }
    const int x = (a & sign) != 0 ? sign - (int)a - 1 : a, y = (b & sign) != 0 ? sign - (int)b - 1 : b;
    return (x < y) != greater ? a : b;
}

static uint64_t choose(smk_type type, uint64_t old, uint64_t b, bool greater)
{
    const bool brain = type == SMK_TYPE_BF16 || type == SMK_TYPE_BF16X2;
    const uint64_t low = choose_half((uint16_t)old, (uint16_t)b, brain, greater);
    if (type == SMK_TYPE_F16 || type == SMK_TYPE_BF16) {
        return low;
    }
    return low | (uint64_t)choose_half((uint16_t)(old >> 16), (uint16_t)(b >> 16), brain, greater) << 16;
}

static bool less(smk_type type, uint64_t a, uint64_t b)
{
    switch (type) {
    case SMK_TYPE_S32:
        return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    case SMK_TYPE_S64:
        return (int64_t)a < (int64_t)b;
    default: /* unsigned integers */
        return a < b;
    }
}

/* The new value of the memory. `old` and `b` are zero-extended to 64 bits. */
static inline uint64_t combine(smk_modifier operation, smk_type type, uint64_t old, uint64_t b, uint64_t c, bool flush)
{
    switch (operation) {
    case SMK_MODIFIER_ADD:
        return add(type, old, b, flush);
    case SMK_MODIFIER_MIN:
    case SMK_MODIFIER_MAX:
        if (smk_module_type_kind(type) == SMK_KIND_FLOAT) {
            return choose(type, old, b, operation == SMK_MODIFIER_MAX);
        }
        return (operation == SMK_MODIFIER_MIN ? less(type, b, old) : less(type, old, b)) ? b : old;
    case SMK_MODIFIER_INC:
        return old >= b ? 0 : old + 1;
    case SMK_MODIFIER_DEC:
        return old == 0 || old > b ? b : old - 1;
    case SMK_MODIFIER_AND:
        return old & b;
    case SMK_MODIFIER_OR:
        return old | b;
    case SMK_MODIFIER_XOR:
        return old ^ b;
    case SMK_MODIFIER_CAS:
        return old == b ? c : old;
    default: /* exch */
        return b;
    }
}

/* An update of memory that other host threads may update at the same time, with operations that commute. */
static uint64_t update32(unsigned char *host, const smk_operation *op, uint64_t b, uint64_t c, bool flush)
{
    _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)host;
    if (op->count == SMK_MODIFIER_ADD && op->element != SMK_TYPE_F32 && op->element != SMK_TYPE_F16X2 &&
        op->element != SMK_TYPE_BF16X2) {
        return atomic_fetch_add_explicit(word, (uint32_t)b, memory_order_relaxed);
    }
    uint32_t old = atomic_load_explicit(word, memory_order_relaxed), next;
    do {
        next = (uint32_t)combine((smk_modifier)op->count, (smk_type)op->element, old, b, c, flush);
    } while (!atomic_compare_exchange_weak_explicit(word, &old, next, memory_order_relaxed, memory_order_relaxed));
    return old;
}

static uint64_t update64(unsigned char *host, const smk_operation *op, uint64_t b, uint64_t c, bool flush)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)host;
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed), next;
    do {
        next = combine((smk_modifier)op->count, (smk_type)op->element, old, b, c, flush);
    } while (!atomic_compare_exchange_weak_explicit(word, &old, next, memory_order_relaxed, memory_order_relaxed));
    return old;
}

/* An update of memory that no other host thread accesses. */
static inline uint64_t update_alone(unsigned char *host, unsigned bytes, const smk_operation *op, uint64_t b,
                                    uint64_t c, bool flush)
{
    const smk_modifier operation = (smk_modifier)op->count;
    const smk_type type = (smk_type)op->element;
    if (bytes == sizeof(uint32_t)) { /* a copy of as many bytes as its size says would wait for the store before it */
        uint32_t old, next;
        memcpy(&old, host, sizeof old);
        next = (uint32_t)combine(operation, type, old, b, c, flush);
        memcpy(host, &next, sizeof next);
        return old;
    }
    if (bytes == sizeof(uint16_t)) {
        uint16_t old, next;
        memcpy(&old, host, sizeof old);
        next = (uint16_t)combine(operation, type, old, b, c, flush);
        memcpy(host, &next, sizeof next);
        return old;
    }
    uint64_t old, next;
    memcpy(&old, host, sizeof old);
    next = combine(operation, type, old, b, c, flush);
    memcpy(host, &next, sizeof next);
    return old;
}

SMK_INLINE uint64_t value_at(const smk_warp *warp, uint32_t offset, unsigned bytes, unsigned lane)
{
    switch (bytes) {
    case 2:
        return SMK_ROW(uint16_t, warp, offset)[lane];
    case 4:
        return SMK_ROW(uint32_t, warp, offset)[lane];
    default:
        return SMK_ROW(uint64_t, warp, offset)[lane];
    }
}

SMK_INLINE void put_at(smk_warp *warp, uint32_t offset, unsigned bytes, unsigned lane, uint64_t value)
{
    switch (bytes) {
    case 2:
        SMK_ROW(uint16_t, warp, offset)[lane] = (uint16_t)value;
        break;
    case 4:
        SMK_ROW(uint32_t, warp, offset)[lane] = (uint32_t)value;
        break;
    default:
        SMK_ROW(uint64_t, warp, offset)[lane] = value;
        break;
    }
}

/* The host address of a lane's operand: the common cases here, all others and errors in access.c. */
static inline unsigned char *find_host_address(smk_warp *warp, const smk_operation *op, unsigned lane, uint64_t address,
                                               unsigned bytes, bool *shared)
{
    const smk_warp_control *control = warp->control;
    if (op->d2 == SMK_SPACE_SHARED) {
        if (address < control->shared_bytes && control->shared_bytes - address >= bytes &&
            (address & (bytes - 1)) == 0) {
            *shared = true;
            return control->shared + address;
        }
    } else {
        smk_cached_allocation *cached = &control->allocation_cache[op->slot];
        uint64_t offset = address - cached->address;
        if (offset < cached->bytes && cached->bytes - offset >= bytes && (address & (bytes - 1)) == 0) {
            *shared = false;
            return cached->host + offset;
        }
        (void)smk_access_fill_cache(warp, cached, address);
    }
    return smk_access_host_address(warp, op, lane, (smk_space)op->d2, address, bytes, SMK_ACCESS_ATOMIC, shared);
}

/* One update of global or shared memory; returns the old value. */
static inline uint64_t update(unsigned char *host, unsigned bytes, bool alone, bool shared, const smk_operation *op,
                              uint64_t b, uint64_t c)
{
    if (alone || shared || bytes == 2) {
        return update_alone(host, bytes, op, b, c, !shared);
    }
    return bytes == 4 ? update32(host, op, b, c, true) : update64(host, op, b, c, true);
}

/* Asks the host's caches for the words of all lanes, which the updates reach one after the other: atomic operations go
 * to scattered addresses, and the host does not look past an update of its own. */
static inline void prefetch(const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
#if defined(__GNUC__)
    const smk_cached_allocation *cached = &warp->control->allocation_cache[op->slot];
    const uint64_t *row = SMK_ROW(uint64_t, warp, op->a), first = op->u.immediate - cached->address;
    if (op->d2 == SMK_SPACE_SHARED) {
        return;
    }
    for (; mask != 0; mask &= mask - 1) {
        const uint64_t offset = row[smk_bits_first(mask)] + first;
        if (offset < cached->bytes) {
            __builtin_prefetch(cached->host + offset, 1);
        }
    }
#else
    (void)warp, (void)op, (void)mask;
#endif
}

void smk_atomic_update(unsigned char *host, unsigned bytes, bool alone, smk_modifier operation, smk_type type,
                       uint64_t value)
{
    const smk_operation op = {.element = (uint32_t)type, .count = (uint32_t)operation};
    (void)update(host, bytes, alone, false, &op, value, 0);
}

/* Neither subnormal nor NaN: sums of such numbers need no care, where the sums are such numbers, too. */
SMK_INLINE bool is_plain(float x)
{
    const uint32_t twice = smk_bits_f32(x) << 1;
    return twice - 1 >= UINT32_C(0xffffff) && twice <= UINT32_C(0xff000000);
}

/* Adds numbers to a word of several lanes one after the other, sums[0] first; false where one of them needs care. */
static bool add_plain(float *sums, const uint32_t *row, uint32_t lanes)
{
    float numbers[SMK_WARP_SIZE];
    unsigned count = 0;
    for (; lanes != 0; lanes &= lanes - 1, count++) {
        numbers[count] = smk_float_f32(row[smk_bits_first(lanes)]);
        sums[count + 1] = sums[count] + numbers[count];
    }
    bool plain = is_plain(sums[0]);
    for (unsigned i = 0; i < count; i++) {
        plain = plain & is_plain(numbers[i]) & is_plain(sums[i + 1]);
    }
    return plain;
}

/* Sums, the commonest updates: those of consecutive lanes to one word are made at once, in the order of the lanes.
 * Returns the lanes that are left: where one has another allocation or an error, it and those behind it. */
SMK_INLINE uint32_t add_runs(smk_warp *warp, const smk_operation *op, uint32_t mask, smk_type type, unsigned bytes)
{
    const smk_warp_control *control = warp->control;
    const uint64_t *row = SMK_ROW(uint64_t, warp, op->a), immediate = op->u.immediate;
    const bool shared = op->d2 == SMK_SPACE_SHARED, alone = shared || control->block->run->ordered;
    const smk_cached_allocation own = {.address = 0, .bytes = control->shared_bytes, .host = control->shared};
    const smk_cached_allocation *window = shared ? &own : &control->allocation_cache[op->slot];
    while (mask != 0) {
        const unsigned first = smk_bits_first(mask);
        const uint64_t address = row[first] + immediate, offset = address - window->address;
        if (offset >= window->bytes || window->bytes - offset < bytes || (address & (bytes - 1)) != 0) {
            break;
        }
        unsigned char *host = window->host + offset;
        uint32_t lanes = 0;
        uint64_t sum = 0;
        do {
            const unsigned lane = smk_bits_first(mask);
            lanes |= UINT32_C(1) << lane;
            sum += alone ? 0 : value_at(warp, op->b, bytes, lane);
            mask &= mask - 1;
        } while (mask != 0 && row[smk_bits_first(mask)] == row[first]);
        uint64_t old = alone ? 0 : update(host, bytes, false, false, op, sum, 0);
        if (alone) {
            memcpy(&old, host, bytes);
        }
        float sums[SMK_WARP_SIZE + 1];
        sums[0] = smk_float_f32((uint32_t)old);
        if (type == SMK_TYPE_F32 && (lanes & (lanes - 1)) != 0 &&
            add_plain(sums, SMK_ROW(uint32_t, warp, op->b), lanes)) {
            unsigned i = 0;
            for (; lanes != 0; lanes &= lanes - 1, i++) {
                put_at(warp, op->d, bytes, smk_bits_first(lanes), smk_bits_f32(sums[i]));
            }
            old = smk_bits_f32(sums[i]);
        }
        for (; lanes != 0; lanes &= lanes - 1) {
            const unsigned lane = smk_bits_first(lanes);
            const uint64_t b = value_at(warp, op->b, bytes, lane);
            put_at(warp, op->d, bytes, lane, old);
            old = add(type, old, b, !shared);
        }
        if (alone) {
            memcpy(host, &old, bytes);
        }
    }
    return mask;
}

/* The lanes whose updates are left after sums of numbers that add_runs adds. */
static uint32_t run_sums(smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    const bool alone = op->d2 == SMK_SPACE_SHARED || warp->control->block->run->ordered;
    switch (op->count == SMK_MODIFIER_ADD ? (smk_type)op->element : SMK_TYPE_F16) {
    case SMK_TYPE_U32:
    case SMK_TYPE_S32:
        return add_runs(warp, op, mask, SMK_TYPE_U32, 4);
    case SMK_TYPE_U64:
    case SMK_TYPE_S64:
        return add_runs(warp, op, mask, SMK_TYPE_U64, 8);
    case SMK_TYPE_F32:
        return alone ? add_runs(warp, op, mask, SMK_TYPE_F32, 4) : mask;
    case SMK_TYPE_F64:
        return alone ? add_runs(warp, op, mask, SMK_TYPE_F64, 8) : mask;
    default: /* no sum, or of another type: lane by lane */
        return mask;
    }
}

const smk_operation *smk_atomic_run(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    unsigned bytes = smk_module_type_bits((smk_type)op->element) / 8;
    bool alone = warp->control->block->run->ordered;
    prefetch(warp, op, mask);
    mask = run_sums(warp, op, mask);
    for (; mask != 0; mask &= mask - 1) {
        const unsigned lane = smk_bits_first(mask);
        uint64_t address = SMK_ROW(uint64_t, warp, op->a)[lane] + op->u.immediate;
        bool shared;
        unsigned char *host = find_host_address(warp, op, lane, address, bytes, &shared);
        if (host == NULL) {
            return NULL;
        }
        uint64_t b = value_at(warp, op->b, bytes, lane), c = value_at(warp, op->c, bytes, lane);
        put_at(warp, op->d, bytes, lane, update(host, bytes, alone, shared, op, b, c));
    }
    return op + 1;
}

/* Each element of a vector is updated apart from the others. The operation behind this one holds the rows: those of the
 * results, then those of the operands. */
const smk_operation *smk_atomic_run_vector(smk_warp *warp, const smk_operation *op)
{
    const uint32_t mask = smk_operation_mask(warp, op), *rows = op[1].u.detail->rows;
    const unsigned bytes = smk_module_type_bits((smk_type)op->element) / 8, count = op[1].count;
    const bool alone = warp->control->block->run->ordered;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        const uint64_t address = SMK_ROW(uint64_t, warp, op->a)[lane] + op->u.immediate;
        bool shared;
        unsigned char *host = find_host_address(warp, op, lane, address, count * bytes, &shared);
        if (host != NULL && shared) {
            return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                                 "an atomic operation on a vector in shared memory; only global memory has them");
        }
        if (host == NULL) {
            return NULL;
        }
        for (unsigned i = 0; i < count; i++) {
            const uint64_t b = value_at(warp, rows[count + i], bytes, lane);
            put_at(warp, rows[i], bytes, lane, update(host + i * bytes, bytes, alone, false, op, b, b));
        }
    }
    return op + 2;
}

/* 128 bits, low half first: rows of the result, of what is written, and of what a compare and swap expects. They do not
 * commute, so that no other host thread runs. */
const smk_operation *smk_atomic_run_wide(smk_warp *warp, const smk_operation *op)
{
    enum { HALVES = 2, BYTES = 16 };
    const uint32_t mask = smk_operation_mask(warp, op), *rows = op[1].u.detail->rows;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        const uint64_t address = SMK_ROW(uint64_t, warp, op->a)[lane] + op->u.immediate;
        uint64_t old[HALVES], written[HALVES], expected[HALVES];
        bool shared;
        unsigned char *host = find_host_address(warp, op, lane, address, BYTES, &shared);
        if (host == NULL) {
            return NULL;
        }
        memcpy(old, host, sizeof old);
        for (unsigned i = 0; i < HALVES; i++) {
            written[i] = value_at(warp, rows[HALVES + i], sizeof *old, lane);
            expected[i] = value_at(warp, rows[2 * HALVES + i], sizeof *old, lane);
        }
        for (unsigned i = 0; i < HALVES; i++) {
            put_at(warp, rows[i], sizeof *old, lane, old[i]);
        }
        if (op->count != SMK_MODIFIER_CAS || memcmp(old, expected, sizeof old) == 0) {
            memcpy(host, written, sizeof written);
        }
    }
    return op + 2;
}

bool smk_atomic_commutes(const smk_instruction *instruction)
{
    smk_modifier operation = smk_module_atomic(instruction);
    return smk_module_type_kind((smk_type)instruction->type) != SMK_KIND_FLOAT && operation != SMK_MODIFIER_CAS &&
           operation != SMK_MODIFIER_EXCH && operation != SMK_MODIFIER_INC && operation != SMK_MODIFIER_DEC;
}
