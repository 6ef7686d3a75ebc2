#include "sim/exec/access.h"

#include "sim/code/bits.h"
#include "sim/code/isa.h"
#include "sim/exec/block.h"
#include "sim/exec/kernel_heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 480, LOCAL_WORD = 4 };

smk_element smk_access_element(smk_type type, unsigned row_bits)
{
    bool is_signed = smk_module_type_kind(type) == SMK_KIND_SIGNED;
    switch (smk_module_type_bits(type)) {
    case 8:
        if (row_bits == 16) {
            return is_signed ? SMK_ELEMENT_S8_16 : SMK_ELEMENT_U8_16;
        }
        if (row_bits == 32) {
            return is_signed ? SMK_ELEMENT_S8_32 : SMK_ELEMENT_U8_32;
        }
        return row_bits == 64 ? (is_signed ? SMK_ELEMENT_S8_64 : SMK_ELEMENT_U8_64) : SMK_ELEMENT_COUNT;
    case 16:
        if (row_bits == 16) {
            return SMK_ELEMENT_U16_16;
        }
        if (row_bits == 32) {
            return is_signed ? SMK_ELEMENT_S16_32 : SMK_ELEMENT_U16_32;
        }
        return row_bits == 64 ? (is_signed ? SMK_ELEMENT_S16_64 : SMK_ELEMENT_U16_64) : SMK_ELEMENT_COUNT;
    case 32:
        if (row_bits == 32) {
            return SMK_ELEMENT_U32_32;
        }
        return row_bits == 64 ? (is_signed ? SMK_ELEMENT_S32_64 : SMK_ELEMENT_U32_64) : SMK_ELEMENT_COUNT;
    case 64:
        return row_bits == 64 ? SMK_ELEMENT_U64_64 : SMK_ELEMENT_COUNT;
    default:
        return SMK_ELEMENT_COUNT;
    }
}

unsigned smk_access_element_bytes(smk_element element)
{
    switch (element) {
#define SMK_ELEMENT(id, in_memory, in_row)                                                                             \
    case SMK_ELEMENT_##id:                                                                                             \
        return sizeof(in_memory);
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
    return 0;
}

smk_handler smk_access_find(bool store, smk_space space, bool narrow, smk_element element, unsigned count)
{
    switch (smk_isa_current()) {
#if defined(__x86_64__)
    case SMK_ISA_AVX512:
        return smk_access_find_avx512(store, space, narrow, element, count);
    case SMK_ISA_AVX2:
        return smk_access_find_avx2(store, space, narrow, element, count);
#else
    case SMK_ISA_AVX512:
    case SMK_ISA_AVX2:
#endif
    case SMK_ISA_BASELINE:
    case SMK_ISA_COUNT:
        break;
    }
    return smk_access_find_baseline(store, space, narrow, element, count);
}

smk_access_compare *smk_access_comparer(void)
{
    switch (smk_isa_current()) {
#if defined(__x86_64__)
    case SMK_ISA_AVX512:
        return smk_access_compare_avx512;
    case SMK_ISA_AVX2:
        return smk_access_compare_avx2;
#else
    case SMK_ISA_AVX512:
    case SMK_ISA_AVX2:
#endif
    case SMK_ISA_BASELINE:
    case SMK_ISA_COUNT:
        break;
    }
    return smk_access_compare_baseline;
}

bool smk_access_fill_cache(const smk_warp *warp, smk_cached_allocation *cached, uint64_t address)
{
    const smk_allocation *allocation = smk_memory_view_find(warp->control->block->run->view, address);
    /* a cached allocation is not checked again, so constants are cached only in the entry that no store uses */
    bool plain = allocation != NULL &&
                 (!allocation->constant || cached == &warp->control->allocation_cache[SMK_WARP_CACHE_CONST]);
    if (plain) {
        *cached = (smk_cached_allocation){allocation->address, allocation->bytes, allocation->host};
    }
    return plain;
}

static const char *kind_name(smk_access_kind kind)
{
    return kind == SMK_ACCESS_LOAD ? "load" : kind == SMK_ACCESS_STORE ? "store" : "atomic operation";
}

static const char *preposition(smk_access_kind kind)
{
    return kind == SMK_ACCESS_LOAD ? "from" : kind == SMK_ACCESS_STORE ? "to" : "on";
}

static const char *space_name(smk_space space)
{
    switch (space) {
    case SMK_SPACE_SHARED:
        return "shared";
    case SMK_SPACE_LOCAL:
        return "local";
    case SMK_SPACE_CONST:
        return "constant";
    case SMK_SPACE_PARAM:
        return "parameter";
    case SMK_SPACE_GENERIC:
    case SMK_SPACE_GLOBAL:
        break;
    }
    return "global";
}

/* The name of the space that the instruction names: constants are accessed as global memory. */
static const char *space_written(const smk_warp *warp, const smk_operation *op, smk_space space)
{
    const smk_function *function = &warp->control->block->run->image->module->functions[op->function];
    bool constant = space == SMK_SPACE_GLOBAL && op->instruction < function->instruction_count &&
                    function->instructions[op->instruction].space == SMK_SPACE_CONST;
    return space_name(constant ? SMK_SPACE_CONST : space);
}

/* Names the shared variable that is nearest to an address. */
static void describe_shared(const smk_warp *warp, uint64_t address, char *text, size_t size)
{
    const smk_warp_control *control = warp->control;
    const int64_t at = smk_image_signed_address(address);
    const smk_shared_variable *nearest =
        smk_image_nearest_shared(control->block->run->image, at, control->shared_bytes);
    int length = snprintf(text, size, "the block has %" PRIu64 " bytes", control->shared_bytes);
    if (nearest == NULL || length < 0 || (size_t)length >= size) {
        return;
    }
    const smk_text name = smk_image_source_name(nearest->variable->name);
    const int64_t start = nearest->offset, end = (int64_t)smk_image_shared_end(nearest, control->shared_bytes);
    text += length;
    size -= (size_t)length;
    if (at >= start && at < end) {
        (void)snprintf(text, size, "; the access begins inside %.*s (%" PRId64 " bytes)", SMK_TEXT_PRINT(name),
                       end - start);
    } else {
        const bool dynamic = nearest->variable->unsized || nearest->variable->is_extern;
        (void)snprintf(text, size, "; the access begins %" PRIu64 " bytes %s %.*s (%" PRId64 " bytes%s)",
                       at < start ? (uint64_t)start - (uint64_t)at : (uint64_t)at - (uint64_t)end,
                       at < start ? "before" : "past the end of", SMK_TEXT_PRINT(name), end - start,
                       dynamic ? ", by shared_mem= of the call, or --shared-mem" : "");
    }
}

/* Says how many bytes a thread or a kernel has of a space whose variables have no names. */
static void describe_unnamed(const char *owner, uint64_t bytes, const char *space, uint64_t address, char *text,
                             size_t size)
{
    const int64_t at = smk_image_signed_address(address);
    const size_t length = (size_t)snprintf(text, size, "%s has %" PRIu64 " bytes of %s", owner, bytes, space);
    if (at < 0) {
        (void)snprintf(text + length, size - length, "; the access begins %" PRIu64 " bytes before them",
                       0 - (uint64_t)at);
    }
}

/* Describes a generic address that lies a little before shared or local memory; false for others. */
static bool describe_window(uint64_t address, char *text, size_t size)
{
    const uint64_t to_shared = SMK_WINDOW_SHARED - address, to_local = SMK_WINDOW_LOCAL - address;
    const bool is_shared = to_shared < SMK_WINDOW_BYTES;
    if (!is_shared && to_local >= SMK_WINDOW_BYTES) {
        return false;
    }
    (void)snprintf(text, size, "it begins %" PRIu64 " bytes before the %s", is_shared ? to_shared : to_local,
                   is_shared ? "block's shared memory" : "thread's local memory");
    return true;
}

void smk_access_describe_bounds(const smk_warp *warp, const smk_operation *op, smk_space space, uint64_t address,
                                unsigned bytes, smk_access_kind kind, char *message, size_t size)
{
    char text[MESSAGE_BYTES];
    const smk_warp_control *control = warp->control;
    switch (space) {
    case SMK_SPACE_SHARED:
        describe_shared(warp, address, text, sizeof text);
        break;
    case SMK_SPACE_LOCAL:
        describe_unnamed("the thread", control->local_top, "it in use", address, text, sizeof text);
        break;
    case SMK_SPACE_PARAM:
        describe_unnamed("the kernel", control->parameter_bytes, "parameters", address, text, sizeof text);
        break;
    case SMK_SPACE_GENERIC:
    case SMK_SPACE_GLOBAL:
    case SMK_SPACE_CONST:
        if (!describe_window(address, text, sizeof text) &&
            !smk_kernel_heap_describe(control->block->run->image->program, address, bytes, text, sizeof text)) {
            smk_memory_view_describe(control->block->run->view, address, bytes, text, sizeof text);
        }
        break;
    }
    (void)snprintf(message, size, "%s of %u bytes %s %s memory at 0x%" PRIx64 " is out of bounds: %s", kind_name(kind),
                   bytes, preposition(kind), space_written(warp, op, space), address, text);
}

void smk_access_describe_alignment(const smk_warp *warp, const smk_operation *op, smk_space space, uint64_t address,
                                   unsigned bytes, smk_access_kind kind, char *message, size_t size)
{
    (void)snprintf(message, size, "%s of %u bytes %s %s memory at 0x%" PRIx64 ": the address is not a multiple of %u",
                   kind_name(kind), bytes, preposition(kind), space_written(warp, op, space), address, bytes);
}

smk_space smk_access_settle(smk_space space, uint64_t *address)
{
    if (space != SMK_SPACE_GENERIC) {
        return space;
    }
    switch (*address - *address % SMK_WINDOW_BYTES) {
    case SMK_WINDOW_SHARED:
        *address -= SMK_WINDOW_SHARED;
        return SMK_SPACE_SHARED;
    case SMK_WINDOW_LOCAL:
        *address -= SMK_WINDOW_LOCAL;
        return SMK_SPACE_LOCAL;
    case SMK_WINDOW_PARAM:
        *address -= SMK_WINDOW_PARAM;
        return SMK_SPACE_PARAM;
    default:
        return SMK_SPACE_GLOBAL;
    }
}

/* Fails the warp for an access of one lane that is misaligned or out of bounds. Out of line: check() needs no stack. */
SMK_NEVER_INLINE bool refuse(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space, uint64_t address,
                             unsigned bytes, smk_access_kind kind)
{
    char text[2 * MESSAGE_BYTES];
    const bool misaligned = address % bytes != 0;
    if (misaligned) {
        smk_access_describe_alignment(warp, op, space, address, bytes, kind, text, sizeof text);
    } else {
        smk_access_describe_bounds(warp, op, space, address, bytes, kind, text, sizeof text);
    }
    (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, misaligned ? SMK_MISALIGNED : SMK_OUT_OF_BOUNDS, "%s", text);
    return false;
}

/* Checks an access of one lane of a power of two of bytes; true where it is valid. */
static bool check(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space, uint64_t address,
                  unsigned bytes, uint64_t limit, smk_access_kind kind)
{
    const bool good = (address & (bytes - 1)) == 0 && address <= limit && bytes <= limit - address;
    return good || refuse(warp, op, lane, space, address, bytes, kind);
}

unsigned char *smk_access_host_address(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space,
                                       uint64_t address, unsigned bytes, smk_access_kind kind, bool *shared)
{
    const smk_warp_control *control = warp->control;
    space = smk_access_settle(space, &address);
    *shared = space == SMK_SPACE_SHARED;
    if (space == SMK_SPACE_SHARED) {
        bool good = check(warp, op, lane, space, address, bytes, control->shared_bytes, kind);
        return good ? control->shared + address : NULL;
    }
    if (space == SMK_SPACE_PARAM || space == SMK_SPACE_LOCAL) {
        (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                            "%s at a generic address that lies in %s memory (0x%" PRIx64 ")", kind_name(kind),
                            space_name(space), address);
        return NULL;
    }
    const smk_allocation *allocation = smk_memory_view_find(control->block->run->view, address);
    uint64_t end = allocation == NULL ? 0 : allocation->address + allocation->bytes;
    if (!check(warp, op, lane, space, address, bytes, end, kind)) {
        return NULL;
    }
    if (allocation->constant && kind != SMK_ACCESS_LOAD) {
        (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                            "%s at an address that lies in constant memory (0x%" PRIx64 ")", kind_name(kind), address);
        return NULL;
    }
    return allocation->host + (address - allocation->address);
}

/* Local memory is laid out word by word: the same word of all lanes is a row. */
static unsigned char *local_byte(const smk_warp_control *control, unsigned lane, uint64_t address)
{
    return control->local + (address / LOCAL_WORD * SMK_WARP_SIZE + lane) * LOCAL_WORD + address % LOCAL_WORD;
}

bool smk_access_load_lane(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space, uint64_t address,
                          void *to, unsigned bytes)
{
    const smk_warp_control *control = warp->control;
    space = smk_access_settle(space, &address);
    if (space == SMK_SPACE_LOCAL) {
        if (!check(warp, op, lane, space, address, bytes, control->local_top, SMK_ACCESS_LOAD)) {
            return false;
        }
        if (bytes < LOCAL_WORD) { /* in one word, as it is aligned */
            memcpy(to, local_byte(control, lane, address), bytes);
        }
        for (unsigned i = 0; i + LOCAL_WORD <= bytes; i += LOCAL_WORD) {
            memcpy((unsigned char *)to + i, local_byte(control, lane, address + i), LOCAL_WORD);
        }
        return true;
    }
    if (space == SMK_SPACE_PARAM) {
        if (!check(warp, op, lane, space, address, bytes, control->parameter_bytes, SMK_ACCESS_LOAD)) {
            return false;
        }
        memcpy(to, control->parameters + address, bytes);
        return true;
    }
    bool shared;
    const unsigned char *from =
        smk_access_host_address(warp, op, lane, space, address, bytes, SMK_ACCESS_LOAD, &shared);
    if (from != NULL) {
        memcpy(to, from, bytes);
    }
    return from != NULL;
}

bool smk_access_store_lane(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space, uint64_t address,
                           const void *from, unsigned bytes)
{
    const smk_warp_control *control = warp->control;
    space = smk_access_settle(space, &address);
    if (space == SMK_SPACE_LOCAL) {
        if (!check(warp, op, lane, space, address, bytes, control->local_top, SMK_ACCESS_STORE)) {
            return false;
        }
        if (bytes < LOCAL_WORD) {
            memcpy(local_byte(control, lane, address), from, bytes);
        }
        for (unsigned i = 0; i + LOCAL_WORD <= bytes; i += LOCAL_WORD) {
            memcpy(local_byte(control, lane, address + i), (const unsigned char *)from + i, LOCAL_WORD);
        }
        return true;
    }
    bool shared;
    unsigned char *to = smk_access_host_address(warp, op, lane, space, address, bytes, SMK_ACCESS_STORE, &shared);
    if (to != NULL) {
        memcpy(to, from, bytes);
    }
    return to != NULL;
}

static void put(smk_warp *warp, uint32_t offset, smk_element element, unsigned lane, const unsigned char *from)
{
    switch (element) {
#define SMK_ELEMENT(id, in_memory, in_row)                                                                             \
    case SMK_ELEMENT_##id: {                                                                                           \
        in_memory value;                                                                                               \
        memcpy(&value, from, sizeof value);                                                                            \
        SMK_ROW(in_row, warp, offset)[lane] = (in_row)value;                                                           \
        break;                                                                                                         \
    }
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
}

static void get(const smk_warp *warp, uint32_t offset, smk_element element, unsigned lane, unsigned char *to)
{
    switch (element) {
#define SMK_ELEMENT(id, in_memory, in_row)                                                                             \
    case SMK_ELEMENT_##id: {                                                                                           \
        in_memory value = (in_memory)SMK_ROW(in_row, warp, offset)[lane];                                              \
        memcpy(to, &value, sizeof value);                                                                              \
        break;                                                                                                         \
    }
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
}

const smk_operation *smk_access_lanes(smk_warp *warp, const smk_operation *op, smk_space space, bool narrow, bool store,
                                      uint32_t mask)
{
    const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};
    smk_element element = (smk_element)op->element;
    unsigned bytes = smk_access_element_bytes(element);
    uint64_t add = op->u.immediate;
    if (space == SMK_SPACE_LOCAL && op->slot == SMK_ACCESS_FRAME) {
        add += warp->control->local_base;
    }
    uint64_t address[SMK_WARP_SIZE]; /* the first destination may be the row of addresses */
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        address[lane] = narrow ? (uint32_t)(SMK_ROW(uint32_t, warp, op->a)[lane] + (uint32_t)add)
                               : SMK_ROW(uint64_t, warp, op->a)[lane] + add;
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        unsigned char data[SMK_ACCESS_ELEMENTS_MAX * sizeof(uint64_t)];
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        if (!store && !smk_access_load_lane(warp, op, lane, space, address[lane], data, bytes * op->count)) {
            return NULL;
        }
        for (unsigned i = 0; i < op->count; i++) {
            if (store) {
                get(warp, rows[i], element, lane, data + i * bytes);
            } else {
                put(warp, rows[i], element, lane, data + i * bytes);
            }
        }
        if (store && !smk_access_store_lane(warp, op, lane, space, address[lane], data, bytes * op->count)) {
            return NULL;
        }
    }
    return op + 1;
}

void smk_access_clear(smk_warp *warp, const smk_operation *op, smk_access_kind kind, uint32_t mask)
{
    static const unsigned char zero[sizeof(uint64_t)] = {0};
    const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};
    bool atomic = kind == SMK_ACCESS_ATOMIC;
    smk_element element = (smk_element)op->element;
    if (atomic) {
        element = smk_access_element((smk_type)op->element, smk_operation_row_bits((smk_type)op->element));
    }
    if (kind == SMK_ACCESS_STORE || element == SMK_ELEMENT_COUNT) {
        return;
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        for (unsigned i = 0; i < (atomic ? 1 : op->count) && (mask >> lane & 1) != 0; i++) {
            put(warp, rows[i], element, lane, zero);
        }
    }
}
