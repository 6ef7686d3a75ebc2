/* Large memory that is filled with one byte and takes physical memory only where it is written.
 *
 * Its pages are copy-on-write mappings of one small file, so the time of an allocation does not depend on its size.
 * Ranges that are first written whole become huge pages, which take a tenth of the time to write and to free.
 */
#ifndef SMK_BASE_PAGES_H
#define SMK_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SMK_PAGES_FILL = 0xA5,
    SMK_PAGES_BYTES_MIN = 1 << 25 /* below it the heap and a memset are as fast */
};

/* `bytes` of SMK_PAGES_FILL, aligned to a huge page; NULL where there is no memory. */
void *smk_pages_allocate(size_t bytes);

/* `bytes` of zeros, aligned in the same way, that may be more than the machine has memory; NULL where there is no room
 * for the addresses. */
void *smk_pages_allocate_zeros(size_t bytes);

/* Says that a block of zeros is about to be written, most of it: it gets huge pages. */
void smk_pages_use_huge(void *block, size_t bytes);

/* Prepares a range of a block that the caller is about to overwrite whole: until then its bytes are undefined. Other
 * threads may access the block meanwhile. */
void smk_pages_prepare(void *range, size_t bytes);

/* Has the system memory for the page of an address already? True where it does not tell. */
bool smk_pages_is_resident(const void *address);

/* Frees a block, with the size of its allocation; accepts NULL. */
void smk_pages_free(void *block, size_t bytes);

#endif
