/* Large memory that begins with one byte everywhere, and takes room only where it is written.
 *
 * Its pages show those of one small file until they are written: to allocate takes no time, whatever the size.
 */
#ifndef SMK_BASE_PAGES_H
#define SMK_BASE_PAGES_H

#include <stddef.h>

enum {
    SMK_PAGES_FILL = 0xA5,
    SMK_PAGES_BYTES_MIN = 1 << 25 /* below that the heap and a memset are as good */
};

/* `bytes` of SMK_PAGES_FILL, aligned to a page; NULL where there is no memory. */
void *smk_pages_allocate(size_t bytes);

/* The same block with the same size; accepts NULL. */
void smk_pages_free(void *block, size_t bytes);

#endif
