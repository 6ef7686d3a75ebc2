/* The rows of a frame behind its registers: constants, special registers, scratch rows. */
#include "base/heap.h"
#include "sim/lower/register_layout.h"

#include <string.h>

enum { BUCKETS_MIN = 256, SCRATCH_MAX = 12, ROW_ALIGNMENT = 64 };

typedef struct constant {
    uint64_t value;
    uint32_t bits, offset, next; /* of its bucket; 0: none */
} constant;

struct smk_constant_rows {
    uint32_t start; /* offset of the first byte in the frame */
    unsigned char *bytes;
    size_t count, capacity;
    constant *constant; /* from 1 on */
    uint32_t constant_count, constant_capacity;
    uint32_t *bucket; /* a power of two of them, at least as many as constants */
    uint32_t bucket_count;
    uint32_t predicates, predicates_left; /* offset of the next predicate */
    uint32_t special[SMK_SPECIAL_COUNT];  /* offset + 1 */
    uint32_t special_count;
    uint32_t scratch[4][SCRATCH_MAX]; /* offset + 1 */
    uint32_t stack;                   /* offset + 1 */
    bool failed;
};

smk_constant_rows *smk_constant_rows_create(uint32_t offset)
{
    smk_constant_rows *constant_rows = smk_heap_allocate(1, sizeof *constant_rows);
    if (constant_rows != NULL) {
        constant_rows->start = offset;
    }
    return constant_rows;
}

void smk_constant_rows_free(smk_constant_rows *constant_rows)
{
    if (constant_rows != NULL) {
        smk_heap_free(constant_rows->bytes);
        smk_heap_free(constant_rows->constant);
        smk_heap_free(constant_rows->bucket);
        smk_heap_free(constant_rows);
    }
}

/* Appends a row; returns its offset in `bytes`. */
static uint32_t add_bytes(smk_constant_rows *constant_rows, size_t bytes)
{
    bytes = (bytes + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    if (constant_rows->capacity - constant_rows->count < bytes) {
        size_t capacity = 2 * constant_rows->capacity + bytes + 4096;
        unsigned char *grown = constant_rows->failed || capacity > UINT32_MAX / 2
                                   ? NULL
                                   : smk_heap_resize(constant_rows->bytes, constant_rows->count, capacity);
        if (grown == NULL) {
            constant_rows->failed = true;
            return 0;
        }
        constant_rows->bytes = grown;
        constant_rows->capacity = capacity;
    }
    uint32_t offset = (uint32_t)constant_rows->count;
    constant_rows->count += bytes;
    return offset;
}

static uint32_t add_row(smk_constant_rows *constant_rows, unsigned bits)
{
    if (bits != 1) {
        return add_bytes(constant_rows, (size_t)bits / 8 * SMK_WARP_SIZE);
    }
    if (constant_rows->predicates_left == 0) {
        constant_rows->predicates = add_bytes(constant_rows, ROW_ALIGNMENT);
        constant_rows->predicates_left = constant_rows->failed ? 0 : ROW_ALIGNMENT / sizeof(uint32_t);
        if (constant_rows->failed) {
            return 0;
        }
    }
    constant_rows->predicates_left--;
    uint32_t offset = constant_rows->predicates;
    constant_rows->predicates += sizeof(uint32_t);
    return offset;
}

static void fill(unsigned char *row, unsigned bits, uint64_t value)
{
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
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

static uint32_t *find_bucket(const smk_constant_rows *constant_rows, unsigned bits, uint64_t value)
{
    return &constant_rows
                ->bucket[(value * UINT64_C(0x9E3779B97F4A7C15) >> 32 ^ bits) & (constant_rows->bucket_count - 1)];
}

/* Doubles the number of buckets and inserts every constant anew. */
static bool grow_buckets(smk_constant_rows *constant_rows)
{
    uint32_t count = constant_rows->bucket_count == 0 ? BUCKETS_MIN : 2 * constant_rows->bucket_count;
    uint32_t *grown = smk_heap_allocate(count, sizeof *grown);
    if (grown == NULL) {
        constant_rows->failed = true;
        return false;
    }
    smk_heap_free(constant_rows->bucket);
    constant_rows->bucket = grown;
    constant_rows->bucket_count = count;
    for (uint32_t i = 1; i <= constant_rows->constant_count; i++) {
        uint32_t *bucket =
            find_bucket(constant_rows, constant_rows->constant[i].bits, constant_rows->constant[i].value);
        constant_rows->constant[i].next = *bucket;
        *bucket = i;
    }
    return true;
}

static bool grow_constants(smk_constant_rows *constant_rows)
{
    if (constant_rows->constant_count + 1 < constant_rows->constant_capacity) {
        return true;
    }
    uint32_t old = constant_rows->constant_capacity, wide = old == 0 ? 64 : 2 * old;
    constant *grown = smk_heap_resize(constant_rows->constant, old * sizeof *grown, wide * sizeof *grown);
    if (grown == NULL) {
        constant_rows->failed = true;
        return false;
    }
    constant_rows->constant = grown;
    constant_rows->constant_capacity = wide;
    return true;
}

uint32_t smk_constant_rows_value(smk_constant_rows *constant_rows, unsigned bits, uint64_t value)
{
    value = bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
    if (constant_rows->constant_count >= constant_rows->bucket_count && !grow_buckets(constant_rows)) {
        return 0;
    }
    uint32_t *bucket = find_bucket(constant_rows, bits, value);
    for (uint32_t i = *bucket; i != 0; i = constant_rows->constant[i].next) {
        if (constant_rows->constant[i].value == value && constant_rows->constant[i].bits == bits) {
            return constant_rows->start + constant_rows->constant[i].offset;
        }
    }
    if (!grow_constants(constant_rows)) {
        return 0;
    }
    uint32_t offset = add_row(constant_rows, bits);
    if (constant_rows->failed) {
        return 0;
    }
    if (bits == 1) {
        *(uint32_t *)(void *)(constant_rows->bytes + offset) = value != 0 ? UINT32_MAX : 0;
    } else {
        fill(constant_rows->bytes + offset, bits, value);
    }
    constant_rows->constant[++constant_rows->constant_count] = (constant){value, bits, offset, *bucket};
    *bucket = constant_rows->constant_count;
    return constant_rows->start + offset;
}

uint32_t smk_constant_rows_special(smk_constant_rows *constant_rows, smk_special special)
{
    uint32_t *known = &constant_rows->special[special];
    if (*known == 0) {
        uint32_t offset = add_row(constant_rows, smk_module_special_bits(special));
        if (constant_rows->failed) {
            return 0;
        }
        *known = offset + 1;
        constant_rows->special_count++;
    }
    return constant_rows->start + *known - 1;
}

uint32_t smk_constant_rows_scratch(smk_constant_rows *constant_rows, unsigned bits, unsigned index)
{
    unsigned class = bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    if (index >= SCRATCH_MAX) {
        constant_rows->failed = true;
        return 0;
    }
    uint32_t *known = &constant_rows->scratch[class][index];
    if (*known == 0) {
        uint32_t offset = add_row(constant_rows, bits);
        if (constant_rows->failed) {
            return 0;
        }
        *known = offset + 1;
    }
    return constant_rows->start + *known - 1;
}

bool smk_constant_rows_has_stack(const smk_constant_rows *constant_rows)
{
    return constant_rows->stack != 0;
}

uint32_t smk_constant_rows_stack(smk_constant_rows *constant_rows)
{
    if (constant_rows->stack == 0) {
        constant_rows->stack = add_row(constant_rows, 32) + 1;
    }
    return constant_rows->start + constant_rows->stack - 1;
}

bool smk_constant_rows_finish(smk_constant_rows *constant_rows, smk_arena *arena, smk_code *code)
{
    unsigned char *bytes = smk_arena_allocate(arena, constant_rows->count + 1, 1);
    smk_special_row *special = smk_arena_allocate(arena, (size_t)constant_rows->special_count + 1, sizeof *special);
    if (bytes == NULL || special == NULL || constant_rows->failed) {
        return false;
    }
    if (constant_rows->count > 0) {
        memcpy(bytes, constant_rows->bytes, constant_rows->count);
    }
    uint32_t count = 0;
    for (unsigned i = 0; i < SMK_SPECIAL_COUNT; i++) {
        if (constant_rows->special[i] != 0) {
            special[count++] = (smk_special_row){(smk_special)i, constant_rows->start + constant_rows->special[i] - 1};
        }
    }
    code->constant_rows_offset = constant_rows->start;
    code->constant_rows = bytes;
    code->frame_bytes = constant_rows->start + (uint32_t)constant_rows->count;
    code->special = special;
    code->special_count = count;
    return true;
}
