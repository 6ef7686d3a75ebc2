/* Loads and stores.
 *
 * Fields of a memory operation: `a` row of addresses, u.immediate added to each; d, b, c, d2 rows of the elements;
 * element, count (of elements); slot: the entry of control->allocation_cache that is tried first; of local memory
 * SMK_ACCESS_FRAME where the address is relative to the present frame.
 */
#ifndef SMK_SIM_EXEC_ACCESS_H
#define SMK_SIM_EXEC_ACCESS_H

#include "sim/code/observer.h"
#include "sim/code/operation.h"
#include "sim/exec/warp.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_element {
#define SMK_ELEMENT(id, in_memory, in_row) SMK_ELEMENT_##id,
#include "sim/code/element.def"
#undef SMK_ELEMENT
    SMK_ELEMENT_COUNT
} smk_element;

enum { SMK_ACCESS_FRAME = 1, SMK_ACCESS_ELEMENTS_MAX = 4 };

/* The element for a type in memory and the width of a row; SMK_ELEMENT_COUNT where there is none. */
smk_element smk_access_element(smk_type type, unsigned row_bits);
unsigned smk_access_element_bytes(smk_element element);

/* The handler for the present instruction set. Addresses are 64-bit rows, or 32-bit rows where `narrow` (shared memory
 * only). SPACE_PARAM is the entry's parameters. */
smk_handler smk_access_find(bool store, smk_space space, bool narrow, smk_element element, unsigned count);

/* The access of one lane to any space: 1 to 32 bytes, which must be aligned to `bytes`. False: the warp has failed.
 * This is the slow path, and the only one that makes error messages. */
bool smk_access_load_lane(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space, uint64_t address,
                          void *to, unsigned bytes);
bool smk_access_store_lane(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space, uint64_t address,
                           const void *from, unsigned bytes);

/* The host address of one lane's bytes in global or shared memory, given a generic address or one of that space;
 * *shared becomes true for shared memory. NULL: the warp has failed. */
unsigned char *smk_access_host_address(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space,
                                       uint64_t address, unsigned bytes, smk_access_kind kind, bool *shared);

/* Converts a generic address to an address of its space, which is returned. */
smk_space smk_access_settle(smk_space space, uint64_t *address);

/* Describe for messages why an access is invalid. */
void smk_access_describe_bounds(const smk_warp *warp, const smk_operation *op, smk_space space, uint64_t address,
                                unsigned bytes, smk_access_kind kind, char *message, size_t size);
void smk_access_describe_alignment(const smk_warp *warp, const smk_operation *op, smk_space space, uint64_t address,
                                   unsigned bytes, smk_access_kind kind, char *message, size_t size);

/* Executes all active lanes one by one: what the fast handlers fall back to. */
const smk_operation *smk_access_lanes(smk_warp *warp, const smk_operation *op, smk_space space, bool narrow, bool store,
                                      uint32_t mask);

/* Sets the result of a load or atomic to 0 in the lanes of `mask`. */
void smk_access_clear(smk_warp *warp, const smk_operation *op, smk_access_kind kind, uint32_t mask);

/* Fills a cache entry with the allocation that holds `address`; false where none does, or it must not be cached. */
bool smk_access_fill_cache(const smk_warp *warp, smk_cached_allocation *cached, uint64_t address);

/* The lanes of a row of 32 addresses (32-bit ones where `narrow`) that are first + lane * step. */
typedef uint32_t smk_access_compare(const void *row, bool narrow, uint64_t first, uint64_t step);
smk_access_compare *smk_access_comparer(void); /* for the present instruction set */
smk_access_compare smk_access_compare_baseline;

/* One table of handlers for each instruction set (access_baseline.c, ...). */
typedef smk_handler smk_access_finder(bool store, smk_space space, bool narrow, smk_element element, unsigned count);
smk_access_finder smk_access_find_baseline;
#if defined(__x86_64__)
smk_access_finder smk_access_find_avx2;
smk_access_finder smk_access_find_avx512;
smk_access_compare smk_access_compare_avx2;
smk_access_compare smk_access_compare_avx512;
#endif

#endif
