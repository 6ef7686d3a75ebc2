/* The rows of a frame behind its registers: constants, special registers, scratch. */
#include "base/heap.h"
#include "sim/lower/register_layout.h"

#include <string.h>

enum { LANES = 32, BUCKETS_MIN = 256, SCRATCH_MAX = 12, ROW_ALIGNMENT = 64 };

typedef struct constant {
    uint64_t value;
    uint32_t bits, offset, next; /* of its bucket; 0: none */
} constant;

struct smk_fixed {
    uint32_t start; /* offset of the first byte in the frame */
    unsigned char *bytes;
    size_t count, capacity;
    constant *constant; /* from 1 on */
    uint32_t constant_count, constant_capacity;
    uint32_t *bucket; /* a power of two of them, at least as many as constants */
    uint32_t bucket_count;
    uint32_t predicates, predicates_left; /* where the next predicate goes */
    uint32_t special[SMK_SPECIAL_COUNT];  /* offset + 1 */
    uint32_t special_count;
    uint32_t scratch[4][SCRATCH_MAX]; /* offset + 1 */
    bool failed;
};

smk_fixed *smk_fixed_create(uint32_t offset)
{
    smk_fixed *fixed = smk_heap_allocate(1, sizeof *fixed);
    if (fixed != NULL) {
        fixed->start = offset;
    }
    return fixed;
}

void smk_fixed_free(smk_fixed *fixed)
{
    if (fixed != NULL) {
        smk_heap_free(fixed->bytes);
        smk_heap_free(fixed->constant);
        smk_heap_free(fixed->bucket);
        smk_heap_free(fixed);
    }
}

/* Offset in `bytes` of a fresh row. */
static uint32_t add_bytes(smk_fixed *fixed, size_t bytes)
{
    bytes = (bytes + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    if (fixed->capacity - fixed->count < bytes) {
        size_t capacity = 2 * fixed->capacity + bytes + 4096;
        unsigned char *grown =
            fixed->failed || capacity > UINT32_MAX / 2 ? NULL : smk_heap_resize(fixed->bytes, fixed->count, capacity);
        if (grown == NULL) {
            fixed->failed = true;
            return 0;
        }
        fixed->bytes = grown;
        fixed->capacity = capacity;
    }
    uint32_t offset = (uint32_t)fixed->count;
    fixed->count += bytes;
    return offset;
}

static uint32_t add_row(smk_fixed *fixed, unsigned bits)
{
    if (bits != 1) {
        return add_bytes(fixed, (size_t)bits / 8 * LANES);
    }
    if (fixed->predicates_left == 0) {
        fixed->predicates = add_bytes(fixed, ROW_ALIGNMENT);
        fixed->predicates_left = fixed->failed ? 0 : ROW_ALIGNMENT / sizeof(uint32_t);
        if (fixed->failed) {
            return 0;
        }
    }
    fixed->predicates_left--;
    uint32_t offset = fixed->predicates;
    fixed->predicates += sizeof(uint32_t);
    return offset;
}

static void fill(unsigned char *row, unsigned bits, uint64_t value)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        switch (bits) {
        case 16:
            ((uint16_t *)(void *)row)[lane] = (uint16_t)value;
            break;
        case 32:
            ((uint32_t *)(void *)row)[lane] = (uint32_t)value;
            break;
        default:
            ((uint64_t *)(void *)row)[lane] = value;
            break;
        }
    }
}

static uint32_t *find_bucket(const smk_fixed *fixed, unsigned bits, uint64_t value)
{
    return &fixed->bucket[(value * UINT64_C(0x9E3779B97F4A7C15) >> 32 ^ bits) & (fixed->bucket_count - 1)];
}

/* Twice the buckets, and every constant in its new one. */
static bool grow_buckets(smk_fixed *fixed)
{
    uint32_t count = fixed->bucket_count == 0 ? BUCKETS_MIN : 2 * fixed->bucket_count;
    uint32_t *grown = smk_heap_allocate(count, sizeof *grown);
    if (grown == NULL) {
        fixed->failed = true;
        return false;
    }
    smk_heap_free(fixed->bucket);
    fixed->bucket = grown;
    fixed->bucket_count = count;
    for (uint32_t i = 1; i <= fixed->constant_count; i++) {
        uint32_t *bucket = find_bucket(fixed, fixed->constant[i].bits, fixed->constant[i].value);
        fixed->constant[i].next = *bucket;
        *bucket = i;
    }
    return true;
}

static bool grow_constants(smk_fixed *fixed)
{
    if (fixed->constant_count + 1 < fixed->constant_capacity) {
        return true;
    }
    uint32_t old = fixed->constant_capacity, wide = old == 0 ? 64 : 2 * old;
    constant *grown = smk_heap_resize(fixed->constant, old * sizeof *grown, wide * sizeof *grown);
    if (grown == NULL) {
        fixed->failed = true;
        return false;
    }
    fixed->constant = grown;
    fixed->constant_capacity = wide;
    return true;
}

uint32_t smk_fixed_constant(smk_fixed *fixed, unsigned bits, uint64_t value)
{
    value = bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
    if (fixed->constant_count >= fixed->bucket_count && !grow_buckets(fixed)) {
        return 0;
    }
    uint32_t *bucket = find_bucket(fixed, bits, value);
    for (uint32_t i = *bucket; i != 0; i = fixed->constant[i].next) {
        if (fixed->constant[i].value == value && fixed->constant[i].bits == bits) {
            return fixed->start + fixed->constant[i].offset;
        }
    }
    if (!grow_constants(fixed)) {
        return 0;
    }
    uint32_t offset = add_row(fixed, bits);
    if (fixed->failed) {
        return 0;
    }
    if (bits == 1) {
        *(uint32_t *)(void *)(fixed->bytes + offset) = value != 0 ? UINT32_MAX : 0;
    } else {
        fill(fixed->bytes + offset, bits, value);
    }
    fixed->constant[++fixed->constant_count] = (constant){value, bits, offset, *bucket};
    *bucket = fixed->constant_count;
    return fixed->start + offset;
}

uint32_t smk_fixed_special(smk_fixed *fixed, smk_special special)
{
    uint32_t *known = &fixed->special[special];
    if (*known == 0) {
        uint32_t offset = add_row(fixed, smk_module_special_bits(special));
        if (fixed->failed) {
            return 0;
        }
        *known = offset + 1;
        fixed->special_count++;
    }
    return fixed->start + *known - 1;
}

uint32_t smk_fixed_scratch(smk_fixed *fixed, unsigned bits, unsigned index)
{
    unsigned class = bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    if (index >= SCRATCH_MAX) {
        fixed->failed = true;
        return 0;
    }
    uint32_t *known = &fixed->scratch[class][index];
    if (*known == 0) {
        uint32_t offset = add_row(fixed, bits);
        if (fixed->failed) {
            return 0;
        }
        *known = offset + 1;
    }
    return fixed->start + *known - 1;
}

bool smk_fixed_finish(smk_fixed *fixed, smk_arena *arena, smk_code *code)
{
    unsigned char *bytes = smk_arena_allocate(arena, fixed->count + 1, 1);
    smk_special_row *special = smk_arena_allocate(arena, (size_t)fixed->special_count + 1, sizeof *special);
    if (bytes == NULL || special == NULL || fixed->failed) {
        return false;
    }
    if (fixed->count > 0) {
        memcpy(bytes, fixed->bytes, fixed->count);
    }
    uint32_t count = 0;
    for (unsigned i = 0; i < SMK_SPECIAL_COUNT; i++) {
        if (fixed->special[i] != 0) {
            special[count++] = (smk_special_row){(smk_special)i, fixed->start + fixed->special[i] - 1};
        }
    }
    code->fixed_offset = fixed->start;
    code->fixed = bytes;
    code->frame_bytes = fixed->start + (uint32_t)fixed->count;
    code->special = special;
    code->special_count = count;
    return true;
}
