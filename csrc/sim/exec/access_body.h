/* Load and store handlers, compiled once for each instruction set.
 *
 * The including file defines NAME(x), and with HAVE_LANES its own lanes_equal32/64, lanes_grouped32/64 and
 * lanes_inside32/64. There are three patterns of access: one address, neighbouring elements in lane order, and any
 * other. Rare cases (several allocations, another window, an error) go through access_far to smk_access_lanes, which
 * executes lane by lane.
 */
#include "sim/exec/access.h"

#include "sim/code/bits.h"
#include "sim/exec/block.h"

#include <string.h>

typedef enum pattern { PATTERN_UNIFORM, PATTERN_ROW, PATTERN_ANY } pattern;

enum { GROUP = 8, RUN_LANES_MIN = 4 };

#ifndef HAVE_LANES
/* Lanes whose address is first + lane * step. */
SMK_ALWAYS_INLINE uint32_t lanes_equal32(const uint32_t *row, uint32_t first, uint32_t step)
{
    uint32_t equal = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        equal |= (uint32_t)(row[i] == first + i * step) << i;
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_equal64(const uint64_t *row, uint64_t first, uint64_t step)
{
    uint32_t equal = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        equal |= (uint32_t)(row[i] == first + i * step) << i;
    }
    return equal;
}

/* Lanes whose address is that of the first lane of their group of eight + index in the group * step. */
SMK_ALWAYS_INLINE uint32_t lanes_grouped32(const uint32_t *row, uint32_t step)
{
    uint32_t equal = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        equal |= (uint32_t)(row[i] == row[i / GROUP * GROUP] + i % GROUP * step) << i;
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_grouped64(const uint64_t *row, uint64_t step)
{
    uint32_t equal = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        equal |= (uint32_t)(row[i] == row[i / GROUP * GROUP] + i % GROUP * step) << i;
    }
    return equal;
}

/* Lanes whose offset, row + add, is at most `last` and has no bit of `odd`. */
SMK_ALWAYS_INLINE uint32_t lanes_inside32(const uint32_t *row, uint32_t add, uint32_t last, uint32_t odd)
{
    uint32_t inside = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        uint32_t target_offset = row[i] + add;
        inside |= (uint32_t)(target_offset <= last && (target_offset & odd) == 0) << i;
    }
    return inside;
}

SMK_ALWAYS_INLINE uint32_t lanes_inside64(const uint64_t *row, uint64_t add, uint64_t last, uint64_t odd)
{
    uint32_t inside = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        uint64_t target_offset = row[i] + add;
        inside |= (uint32_t)(target_offset <= last && (target_offset & odd) == 0) << i;
    }
    return inside;
}
#endif

/* The memory that one operation accesses. */
typedef struct target {
    unsigned char *host; /* of offset 0 */
    uint64_t limit;      /* bytes from there */
    uint64_t add;        /* offset of a lane = its address in the row + add */
} target;

SMK_ALWAYS_INLINE uint64_t address_at(const smk_warp *warp, const smk_operation *op, bool narrow, unsigned lane)
{
    return narrow ? SMK_ROW(uint32_t, warp, op->a)[lane] : SMK_ROW(uint64_t, warp, op->a)[lane];
}

SMK_ALWAYS_INLINE uint64_t target_offset_at(const smk_warp *warp, const smk_operation *op, bool narrow, unsigned lane, uint64_t add)
{
    uint64_t target_offset = address_at(warp, op, narrow, lane) + add;
    return narrow ? (uint32_t)target_offset : target_offset;
}

SMK_ALWAYS_INLINE uint32_t equal_lanes(const smk_warp *warp, const smk_operation *op, bool narrow, uint64_t first, uint64_t step)
{
    return narrow ? lanes_equal32(SMK_ROW(uint32_t, warp, op->a), (uint32_t)first, (uint32_t)step)
                  : lanes_equal64(SMK_ROW(uint64_t, warp, op->a), first, step);
}

SMK_ALWAYS_INLINE pattern classify(const smk_warp *warp, const smk_operation *op, bool narrow, uint32_t mask, unsigned step)
{
    uint64_t first = address_at(warp, op, narrow, smk_bits_first(mask));
    uint64_t last = address_at(warp, op, narrow, smk_bits_last(mask));
    if (first == last) {
        return (equal_lanes(warp, op, narrow, first, 0) & mask) == mask ? PATTERN_UNIFORM : PATTERN_ANY;
    }
    if (mask == UINT32_MAX && last - first == (uint64_t)step * (SMK_WARP_SIZE - 1)) {
        return equal_lanes(warp, op, narrow, first, step) == UINT32_MAX ? PATTERN_ROW : PATTERN_ANY;
    }
    return PATTERN_ANY;
}

/* True where every lane of `mask` is inside, and aligned to `total` bytes (a power of two). */
SMK_ALWAYS_INLINE bool inside(const smk_warp *warp, const smk_operation *op, bool narrow, uint32_t mask, pattern kind,
                   unsigned total, const target *to)
{
    if (to->limit < total) {
        return false;
    }
    uint64_t last = to->limit - total, odd = total - 1;
    if (kind == PATTERN_ANY) {
        uint32_t good = narrow ? lanes_inside32(SMK_ROW(uint32_t, warp, op->a), (uint32_t)to->add, (uint32_t)last,
                                                (uint32_t)odd)
                               : lanes_inside64(SMK_ROW(uint64_t, warp, op->a), to->add, last, odd);
        return (mask & ~good) == 0;
    }
    uint64_t target_offset = target_offset_at(warp, op, narrow, smk_bits_first(mask), to->add);
    uint64_t reach = kind == PATTERN_ROW ? (uint64_t)total * (SMK_WARP_SIZE - 1) : 0;
    return target_offset <= last && reach <= last - target_offset && (target_offset & odd) == 0;
}

/* The moves, one set for each element: near ones (one address, or neighbours in lane order) and far ones (any
 * order). */
#define SMK_ELEMENT(id, in_memory, in_row)                                                                            \
    SMK_ALWAYS_INLINE void load_near_##id(smk_warp *warp, const smk_operation *op, uint32_t mask, pattern kind, unsigned count,  \
                               const unsigned char *host)                                                             \
    {                                                                                                                 \
        const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};                                 \
        for (unsigned e = 0; e < count; e++) {                                                                        \
            in_row *row = SMK_ROW(in_row, warp, rows[e]);                                                             \
            in_memory value;                                                                                          \
            if (kind == PATTERN_ROW && count == 1 && sizeof value == sizeof *row) {                                   \
                memcpy(row, host, SMK_WARP_SIZE * sizeof *row);                                                               \
            } else if (kind == PATTERN_ROW) {                                                                         \
                for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {                                                                \
                    memcpy(&value, host + (i * count + e) * sizeof value, sizeof value);                              \
                    row[i] = (in_row)value;                                                                           \
                }                                                                                                     \
            } else {                                                                                                  \
                memcpy(&value, host + e * sizeof value, sizeof value);                                                \
                if (mask == UINT32_MAX) {                                                                             \
                    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {                                                            \
                        row[i] = (in_row)value;                                                                       \
                    }                                                                                                 \
                } else {                                                                                              \
                    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {                                                            \
                        row[i] = (mask >> i & 1) != 0 ? (in_row)value : row[i];                                       \
                    }                                                                                                 \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    SMK_ALWAYS_INLINE void store_near_##id(smk_warp *warp, const smk_operation *op, uint32_t mask, pattern kind, unsigned count, \
                                unsigned char *host)                                                                  \
    {                                                                                                                 \
        const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};                                 \
        for (unsigned e = 0; e < count; e++) {                                                                        \
            const in_row *row = SMK_ROW(in_row, warp, rows[e]);                                                       \
            in_memory value;                                                                                          \
            if (kind == PATTERN_ROW && count == 1 && sizeof value == sizeof *row) {                                   \
                memcpy(host, row, SMK_WARP_SIZE * sizeof *row);                                                               \
            } else if (kind == PATTERN_ROW) {                                                                         \
                for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {                                                                \
                    value = (in_memory)row[i];                                                                        \
                    memcpy(host + (i * count + e) * sizeof value, &value, sizeof value);                              \
                }                                                                                                     \
            } else { /* the highest lane wins, as if lanes stored in order */                                         \
                value = (in_memory)row[smk_bits_last(mask)];                                                              \
                memcpy(host + e * sizeof value, &value, sizeof value);                                                \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    SMK_ALWAYS_INLINE void load_far_##id(smk_warp *warp, uint32_t offset, uint32_t mask, const unsigned char *host,              \
                              const uint64_t *target_offset)                                                                  \
    {                                                                                                                 \
        in_row *row = SMK_ROW(in_row, warp, offset);                                                                  \
        in_memory value;                                                                                              \
        if (mask == UINT32_MAX) {                                                                                     \
            for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {                                                                    \
                memcpy(&value, host + target_offset[i], sizeof value);                                                        \
                row[i] = (in_row)value;                                                                               \
            }                                                                                                         \
            return;                                                                                                   \
        }                                                                                                             \
        for (; mask != 0; mask &= mask - 1) {                                                                         \
            unsigned i = smk_bits_first(mask);                                                                            \
            memcpy(&value, host + target_offset[i], sizeof value);                                                            \
            row[i] = (in_row)value;                                                                                   \
        }                                                                                                             \
    }                                                                                                                 \
    SMK_ALWAYS_INLINE void store_far_##id(const smk_warp *warp, uint32_t offset, uint32_t mask, unsigned char *host,             \
                               const uint64_t *target_offset)                                                                 \
    {                                                                                                                 \
        const in_row *row = SMK_ROW(in_row, warp, offset);                                                            \
        for (; mask != 0; mask &= mask - 1) {                                                                         \
            unsigned i = smk_bits_first(mask);                                                                            \
            in_memory value = (in_memory)row[i];                                                                      \
            memcpy(host + target_offset[i], &value, sizeof value);                                                            \
        }                                                                                                             \
    }                                                                                                                 \
    SMK_ALWAYS_INLINE void load_group_##id(smk_warp *warp, uint32_t offset, unsigned lane, const unsigned char *host, \
                                           bool uniform)                                                              \
    {                                                                                                                 \
        in_row *row = SMK_ROW(in_row, warp, offset) + lane;                                                           \
        in_memory value;                                                                                              \
        if (!uniform && sizeof value == sizeof *row) {                                                                \
            memcpy(row, host, GROUP * sizeof *row);                                                                   \
            return;                                                                                                   \
        }                                                                                                             \
        for (unsigned i = 0; i < GROUP; i++) {                                                                        \
            memcpy(&value, host + (uniform ? 0 : i * sizeof value), sizeof value);                                    \
            row[i] = (in_row)value;                                                                                   \
        }                                                                                                             \
    }                                                                                                                 \
    SMK_ALWAYS_INLINE void store_group_##id(const smk_warp *warp, uint32_t offset, unsigned lane, unsigned char *host, \
                                            bool uniform)                                                             \
    {                                                                                                                 \
        const in_row *row = SMK_ROW(in_row, warp, offset) + lane;                                                     \
        if (!uniform && sizeof(in_memory) == sizeof *row) {                                                           \
            memcpy(host, row, GROUP * sizeof *row);                                                                   \
            return;                                                                                                   \
        }                                                                                                             \
        for (unsigned i = 0; i < GROUP; i++) {                                                                        \
            in_memory value = (in_memory)row[i];                                                                      \
            memcpy(host + (uniform ? 0 : i * sizeof value), &value, sizeof value);                                    \
        }                                                                                                             \
    }
#include "sim/code/element.def"
#undef SMK_ELEMENT

SMK_ALWAYS_INLINE void move_near(smk_warp *warp, const smk_operation *op, bool store, uint32_t mask, pattern kind,
                      smk_element element, unsigned count, unsigned char *host)
{
    switch (element) {
#define SMK_ELEMENT(id, in_memory, in_row)                           \
    case SMK_ELEMENT_##id:                                           \
        if (store) {                                                 \
            store_near_##id(warp, op, mask, kind, count, host);      \
        } else {                                                     \
            load_near_##id(warp, op, mask, kind, count, host);       \
        }                                                            \
        break;
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
}

SMK_ALWAYS_INLINE void move_far(smk_warp *warp, uint32_t row, bool store, uint32_t mask, smk_element element, unsigned char *host,
                     const uint64_t *target_offset)
{
    switch (element) {
#define SMK_ELEMENT(id, in_memory, in_row)                       \
    case SMK_ELEMENT_##id:                                       \
        if (store) {                                             \
            store_far_##id(warp, row, mask, host, target_offset);        \
        } else {                                                 \
            load_far_##id(warp, row, mask, host, target_offset);         \
        }                                                        \
        break;
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
}

/* One element of a group of eight lanes that share an address, or have neighbouring ones. */
SMK_ALWAYS_INLINE void move_group(smk_warp *warp, uint32_t row, bool store, unsigned lane, smk_element element,
                                  unsigned char *host, bool uniform)
{
    switch (element) {
#define SMK_ELEMENT(id, in_memory, in_row)                       \
    case SMK_ELEMENT_##id:                                       \
        if (store) {                                             \
            store_group_##id(warp, row, lane, host, uniform);    \
        } else {                                                 \
            load_group_##id(warp, row, lane, host, uniform);     \
        }                                                        \
        break;
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
}

SMK_ALWAYS_INLINE unsigned bytes_of(smk_element element)
{
    switch (element) {
#define SMK_ELEMENT(id, in_memory, in_row) \
    case SMK_ELEMENT_##id:                 \
        return sizeof(in_memory);
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
    return 0;
}

/* Global memory: the allocation that this operation accessed last. False where the first lane is outside it. */
SMK_ALWAYS_INLINE bool find_cached(const smk_warp *warp, const smk_operation *op, uint32_t mask, target *to)
{
    const smk_cached_allocation *cached = &warp->control->allocation_cache[op->slot];
    uint64_t address = address_at(warp, op, false, smk_bits_first(mask)) + op->u.immediate;
    *to = (target){cached->host, cached->bytes, op->u.immediate - cached->address};
    return address - cached->address < cached->bytes;
}

/* False: the target of the first lane is not cached. */
SMK_ALWAYS_INLINE bool aim(const smk_warp *warp, const smk_operation *op, smk_space space, uint32_t mask, bool store, target *to)
{
    const smk_warp_control *control = warp->control;
    switch (space) {
    case SMK_SPACE_SHARED:
        *to = (target){control->shared, control->shared_bytes, op->u.immediate};
        return true;
    case SMK_SPACE_PARAM:
        *to = (target){(unsigned char *)(uintptr_t)control->parameters, control->parameter_bytes, op->u.immediate};
        return !store;
    case SMK_SPACE_GENERIC: {
        uint64_t address = address_at(warp, op, false, smk_bits_first(mask)) + op->u.immediate;
        if (address - SMK_WINDOW_SHARED < SMK_WINDOW_BYTES) {
            *to = (target){control->shared, control->shared_bytes, op->u.immediate - SMK_WINDOW_SHARED};
            return true;
        }
        return find_cached(warp, op, mask, to);
    }
    case SMK_SPACE_GLOBAL:
    case SMK_SPACE_LOCAL:
    case SMK_SPACE_CONST:
        break;
    }
    return find_cached(warp, op, mask, to);
}

/* A full warp whose groups of eight lanes each have one address or neighbouring ones, as in blocks that are 8 or 16
 * threads wide. False: the warp has another pattern. The offsets are checked already. */
SMK_ALWAYS_INLINE bool move_groups(smk_warp *warp, const smk_operation *op, bool store, bool narrow, unsigned bytes,
                                   const target *at)
{
    smk_element element = (smk_element)op->element;
    uint32_t same = narrow ? lanes_grouped32(SMK_ROW(uint32_t, warp, op->a), 0)
                           : lanes_grouped64(SMK_ROW(uint64_t, warp, op->a), 0);
    uint32_t next = narrow ? lanes_grouped32(SMK_ROW(uint32_t, warp, op->a), bytes)
                           : lanes_grouped64(SMK_ROW(uint64_t, warp, op->a), bytes);
    uint64_t target_offset[SMK_WARP_SIZE / GROUP];
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += GROUP) {
        if ((same >> i & 0xff) != 0xff && (next >> i & 0xff) != 0xff) {
            return false;
        }
        target_offset[i / GROUP] = target_offset_at(warp, op, narrow, i, at->add); /* a destination may be the row of
                                                                                    * addresses */
    }
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += GROUP) {
        move_group(warp, op->d, store, i, element, at->host + target_offset[i / GROUP], (same >> i & 0xff) == 0xff);
    }
    return true;
}

/* The next run of `rest`, from its first lane up: lanes of one address, or of the addresses of neighbouring elements.
 * 0: too few lanes for a run. */
SMK_ALWAYS_INLINE uint32_t next_run(const smk_warp *warp, const smk_operation *op, bool narrow, uint32_t rest,
                                    unsigned bytes, bool *uniform)
{
    const uint32_t others = rest & (rest - 1);
    *uniform = true;
    if (others == 0) {
        return rest;
    }
    const unsigned first = smk_bits_first(rest), second = smk_bits_first(others);
    const uint64_t address = address_at(warp, op, narrow, first);
    const uint64_t distance = address_at(warp, op, narrow, second) - address;
    *uniform = distance == 0;
    if (distance != 0 && distance != (uint64_t)(second - first) * bytes) {
        return 0;
    }
    const uint64_t step = *uniform ? 0 : bytes;
    uint32_t run = equal_lanes(warp, op, narrow, address - first * step, step) & rest;
    const uint32_t foreign = rest & ~run;
    if (foreign != 0) {
        run &= (foreign & (0 - foreign)) - 1;
    }
    return foreign == 0 || smk_bits_count(run) >= RUN_LANES_MIN ? run : 0;
}

SMK_ALWAYS_INLINE void load_runs(smk_warp *warp, const smk_operation *op, uint32_t mask, const void *values,
                                 unsigned bytes)
{
    if (bytes == sizeof(uint32_t)) {
        const uint32_t *value = values;
        uint32_t *row = SMK_ROW(uint32_t, warp, op->d);
        for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
            row[i] = (mask >> i & 1) != 0 ? value[i] : row[i];
        }
        return;
    }
    const uint64_t *value = values;
    uint64_t *row = SMK_ROW(uint64_t, warp, op->d);
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        row[i] = (mask >> i & 1) != 0 ? value[i] : row[i];
    }
}

/* One run of lanes first to last, some of which may be inactive: loads go to `values`, as the destination may be the
 * row of addresses. */
SMK_ALWAYS_INLINE void move_run(smk_warp *warp, const smk_operation *op, bool store, uint32_t run, bool uniform,
                                unsigned char *host, unsigned char *values, unsigned bytes)
{
    const unsigned first = smk_bits_first(run), last = smk_bits_last(run);
    const unsigned char *row = SMK_ROW(unsigned char, warp, op->d);
    if (store && uniform) { /* the highest lane wins, as if lanes stored in order */
        memcpy(host, row + last * bytes, bytes);
    } else if (store && smk_bits_count(run) == last - first + 1) {
        memcpy(host, row + first * bytes, (last - first + 1) * bytes);
    } else if (store) {
        for (; run != 0; run &= run - 1) {
            const unsigned i = smk_bits_first(run);
            memcpy(host + (i - first) * bytes, row + i * bytes, bytes);
        }
    } else if (uniform) {
        for (unsigned i = first; i <= last; i++) {
            memcpy(values + i * bytes, host, bytes);
        }
    } else {
        memcpy(values + first * bytes, host, (last - first + 1) * bytes);
    }
}

/* Moves the runs that a warp consists of where part of it is active, or its rows are no multiple of eight wide, and
 * whose elements fill their lanes. The lanes that are left. A run is a range of lanes, and runs come in the order of
 * lanes, so that the highest lane wins. */
SMK_ALWAYS_INLINE uint32_t move_runs(smk_warp *warp, const smk_operation *op, bool store, bool narrow, uint32_t mask,
                                     unsigned bytes, const target *at)
{
    uint64_t values[SMK_WARP_SIZE];
    uint32_t rest = mask, run = 0;
    bool uniform = false;
    while (rest != 0 && (run = next_run(warp, op, narrow, rest, bytes, &uniform)) != 0) {
        unsigned char *host = at->host + target_offset_at(warp, op, narrow, smk_bits_first(run), at->add);
        move_run(warp, op, store, run, uniform, host, (unsigned char *)values, bytes);
        rest &= ~run;
    }
    if (!store && rest != mask) {
        load_runs(warp, op, mask & ~rest, values, bytes);
    }
    return rest;
}

/* The slower path: addresses in any order, and an allocation that is not cached. Out of line, so that the handlers
 * need no stack frame. */
SMK_NEVER_INLINE const smk_operation *access_far(smk_warp *warp, const smk_operation *op, bool store, smk_space space,
                                                 bool narrow)
{
    const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};
    uint32_t mask = smk_operation_mask(warp, op);
    smk_element element = (smk_element)op->element;
    unsigned bytes = bytes_of(element), count = op->count;
    target at;
    bool known = aim(warp, op, space, mask, store, &at);
    if (!known && space != SMK_SPACE_PARAM) {
        uint64_t address = address_at(warp, op, narrow, smk_bits_first(mask)) + op->u.immediate;
        known = smk_access_fill_cache(warp, &warp->control->allocation_cache[op->slot], address) && find_cached(warp, op, mask, &at);
    }
    if (!known || !inside(warp, op, narrow, mask, PATTERN_ANY, bytes * count, &at)) {
        return smk_access_lanes(warp, op, space, narrow, store, mask);
    }
    if (mask == UINT32_MAX && count == 1 && move_groups(warp, op, store, narrow, bytes, &at)) {
        return op + 1;
    }
    if (count == 1 && (element == SMK_ELEMENT_U32_32 || element == SMK_ELEMENT_U64_64)) {
        mask = element == SMK_ELEMENT_U32_32 ? move_runs(warp, op, store, narrow, mask, sizeof(uint32_t), &at)
                                             : move_runs(warp, op, store, narrow, mask, sizeof(uint64_t), &at);
        if (mask == 0) {
            return op + 1;
        }
    }
    uint64_t target_offset[SMK_WARP_SIZE]; /* kept, as a destination may be the row of addresses */
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        target_offset[i] = target_offset_at(warp, op, narrow, i, at.add);
    }
    for (unsigned e = 0; e < count; e++) {
        move_far(warp, rows[e], store, mask, element, at.host + e * bytes, target_offset);
    }
    return op + 1;
}

SMK_ALWAYS_INLINE const smk_operation *access_lanes(smk_warp *warp, const smk_operation *op, bool store, smk_space space,
                                         bool narrow, smk_element element, unsigned count)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    target at;
    if (aim(warp, op, space, mask, store, &at)) {
        unsigned total = bytes_of(element) * count;
        pattern kind = classify(warp, op, narrow, mask, total);
        if (kind != PATTERN_ANY && inside(warp, op, narrow, mask, kind, total, &at)) {
            unsigned char *host = at.host + target_offset_at(warp, op, narrow, smk_bits_first(mask), at.add);
            move_near(warp, op, store, mask, kind, element, count, host);
            return op + 1;
        }
    }
    return access_far(warp, op, store, space, narrow);
}

/* Local memory at addresses that differ by lane, or of elements narrower than a word: one word or a part of it. */
SMK_NEVER_INLINE const smk_operation *access_local_far(smk_warp *warp, const smk_operation *op, bool store,
                                                       const target *at)
{
    const uint32_t mask = smk_operation_mask(warp, op);
    const smk_element element = (smk_element)op->element;
    const unsigned bytes = bytes_of(element), word = sizeof(uint32_t);
    uint64_t target_offset[SMK_WARP_SIZE]; /* kept, as a destination may be the row of addresses */
    if (op->count != 1 || bytes > word || !inside(warp, op, false, mask, PATTERN_ANY, bytes, at)) {
        return smk_access_lanes(warp, op, SMK_SPACE_LOCAL, false, store, mask);
    }
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        const uint64_t address = target_offset_at(warp, op, false, i, at->add);
        target_offset[i] = (address / word * SMK_WARP_SIZE + i) * word + address % word;
    }
    move_far(warp, op->d, store, mask, element, at->host, target_offset);
    return op + 1;
}

/* Local memory at one address for all lanes, the usual access to a thread's own array: whole rows. */
SMK_ALWAYS_INLINE const smk_operation *access_local(smk_warp *warp, const smk_operation *op, bool store)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    const smk_warp_control *control = warp->control;
    smk_element element = (smk_element)op->element;
    unsigned bytes = bytes_of(element), count = op->count, total = bytes * count;
    target at = {control->local, control->local_top, op->u.immediate};
    at.add += op->slot == SMK_ACCESS_FRAME ? control->local_base : 0;
    bool whole = element == SMK_ELEMENT_U32_32 || element == SMK_ELEMENT_U64_64;
    if (!whole || classify(warp, op, false, mask, total) != PATTERN_UNIFORM
        || !inside(warp, op, false, mask, PATTERN_UNIFORM, total, &at)) {
        return access_local_far(warp, op, store, &at);
    }
    const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};
    uint64_t target_offset = target_offset_at(warp, op, false, smk_bits_first(mask), at.add);
    for (unsigned e = 0; e < count; e++) {
        uint32_t *low = (uint32_t *)(void *)(control->local + (target_offset + e * bytes) * SMK_WARP_SIZE);
        if (element == SMK_ELEMENT_U32_32) {
            uint32_t *row = SMK_ROW(uint32_t, warp, rows[e]);
            uint32_t *to = store ? low : row;
            const uint32_t *from = store ? row : low;
            for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
                to[i] = (mask >> i & 1) != 0 ? from[i] : to[i];
            }
            continue;
        }
        uint32_t *high = low + SMK_WARP_SIZE;
        uint64_t *row = SMK_ROW(uint64_t, warp, rows[e]);
        if (store) {
            for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
                low[i] = (mask >> i & 1) != 0 ? (uint32_t)row[i] : low[i];
                high[i] = (mask >> i & 1) != 0 ? (uint32_t)(row[i] >> 32) : high[i];
            }
        } else {
            for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
                row[i] = (mask >> i & 1) != 0 ? (uint64_t)high[i] << 32 | low[i] : row[i];
            }
        }
    }
    return op + 1;
}

static const smk_operation *run_local_load(smk_warp *warp, const smk_operation *op)
{
    return access_local(warp, op, false);
}

static const smk_operation *run_local_store(smk_warp *warp, const smk_operation *op)
{
    return access_local(warp, op, true);
}

/* Specialised handlers for the most frequent accesses; the others look the element up at run time. */
#define HANDLER(name, store, space, narrow, element, count)                                \
    static const smk_operation *run_##name(smk_warp *warp, const smk_operation *op)        \
    {                                                                                      \
        return access_lanes(warp, op, store, space, narrow, element, count);               \
    }
#define HANDLERS(name, space, narrow)                                                              \
    HANDLER(name##_load_any, false, space, narrow, (smk_element)op->element, op->count)            \
    HANDLER(name##_load_32, false, space, narrow, SMK_ELEMENT_U32_32, 1)                           \
    HANDLER(name##_load_32x2, false, space, narrow, SMK_ELEMENT_U32_32, 2)                         \
    HANDLER(name##_load_32x4, false, space, narrow, SMK_ELEMENT_U32_32, 4)                         \
    HANDLER(name##_load_64, false, space, narrow, SMK_ELEMENT_U64_64, 1)                           \
    HANDLER(name##_load_64x2, false, space, narrow, SMK_ELEMENT_U64_64, 2)                         \
    HANDLER(name##_store_any, true, space, narrow, (smk_element)op->element, op->count)            \
    HANDLER(name##_store_32, true, space, narrow, SMK_ELEMENT_U32_32, 1)                           \
    HANDLER(name##_store_32x4, true, space, narrow, SMK_ELEMENT_U32_32, 4)                         \
    HANDLER(name##_store_64, true, space, narrow, SMK_ELEMENT_U64_64, 1)                           \
    static smk_handler find_##name(bool store, smk_element element, unsigned count)                \
    {                                                                                              \
        if (element == SMK_ELEMENT_U32_32 && count == 1) {                                         \
            return store ? run_##name##_store_32 : run_##name##_load_32;                           \
        }                                                                                          \
        if (element == SMK_ELEMENT_U64_64 && count == 1) {                                         \
            return store ? run_##name##_store_64 : run_##name##_load_64;                           \
        }                                                                                          \
        if (element == SMK_ELEMENT_U32_32 && count == 4) {                                         \
            return store ? run_##name##_store_32x4 : run_##name##_load_32x4;                       \
        }                                                                                          \
        if (element == SMK_ELEMENT_U32_32 && count == 2 && !store) {                               \
            return run_##name##_load_32x2;                                                         \
        }                                                                                          \
        if (element == SMK_ELEMENT_U64_64 && count == 2 && !store) {                               \
            return run_##name##_load_64x2;                                                         \
        }                                                                                          \
        return store ? run_##name##_store_any : run_##name##_load_any;                             \
    }

HANDLERS(global, SMK_SPACE_GLOBAL, false)
HANDLERS(shared, SMK_SPACE_SHARED, false)
HANDLERS(shared32, SMK_SPACE_SHARED, true)
HANDLER(generic_load, false, SMK_SPACE_GENERIC, false, (smk_element)op->element, op->count)
HANDLER(generic_store, true, SMK_SPACE_GENERIC, false, (smk_element)op->element, op->count)
HANDLER(param_load, false, SMK_SPACE_PARAM, false, (smk_element)op->element, op->count)
HANDLER(param_load_32, false, SMK_SPACE_PARAM, false, SMK_ELEMENT_U32_32, 1)
HANDLER(param_load_64, false, SMK_SPACE_PARAM, false, SMK_ELEMENT_U64_64, 1)
HANDLER(param_store, true, SMK_SPACE_PARAM, false, (smk_element)op->element, op->count)

smk_handler NAME(smk_access_find)(bool store, smk_space space, bool narrow, smk_element element, unsigned count)
{
    switch (space) {
    case SMK_SPACE_SHARED:
        return narrow ? find_shared32(store, element, count) : find_shared(store, element, count);
    case SMK_SPACE_LOCAL:
        return store ? run_local_store : run_local_load;
    case SMK_SPACE_PARAM:
        if (!store && count == 1 && (element == SMK_ELEMENT_U32_32 || element == SMK_ELEMENT_U64_64)) {
            return element == SMK_ELEMENT_U32_32 ? run_param_load_32 : run_param_load_64;
        }
        return store ? run_param_store : run_param_load;
    case SMK_SPACE_GENERIC:
        return store ? run_generic_store : run_generic_load;
    case SMK_SPACE_GLOBAL:
    case SMK_SPACE_CONST:
        break;
    }
    return find_global(store, element, count);
}

uint32_t NAME(smk_access_compare)(const void *row, bool narrow, uint64_t first, uint64_t step)
{
    return narrow ? lanes_equal32(row, (uint32_t)first, (uint32_t)step) : lanes_equal64(row, first, step);
}
