/* Copies between elements at any strides and the same elements side by side ("packed"), and of bytes to an array that no
 * cache should keep.
 *
 * On x86-64 long runs of an array are written with non-temporal stores: they reach memory without being read first, and
 * leave the caches to others. The stores of one call are visible to other threads and to devices when it returns.
 */
#ifndef SMK_BASE_PACK_H
#define SMK_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMK_PACK_AXES_MAX = 8 };

/* Where the elements of an array lie, as runs of bytes side by side. Axis 0 is the outermost. */
typedef struct smk_pack_layout {
    uint64_t run_bytes;
    int axes;
    uint64_t length[SMK_PACK_AXES_MAX];
    int64_t stride[SMK_PACK_AXES_MAX]; /* bytes */
} smk_pack_layout;

/* Makes the layout of an array, with as few axes as describe it. False where it has too many for a layout. */
bool smk_pack_describe(smk_pack_layout *layout, size_t item_bytes, int rank, const uint64_t *shape,
                       const int64_t *strides);

/* Are all of its elements side by side in C order? */
bool smk_pack_is_plain(const smk_pack_layout *layout);

/* Copies bytes to memory that no cache should keep; the ranges do not overlap. */
void smk_pack_copy(void *to, const void *from, size_t bytes);

/* Copies a part of the packed elements, `bytes` from the byte `first` on, from the array that begins at `host` or to
 * it. */
void smk_pack_gather(const smk_pack_layout *layout, const unsigned char *host, uint64_t first, uint64_t bytes,
                     unsigned char *packed);
void smk_pack_scatter(const smk_pack_layout *layout, unsigned char *host, uint64_t first, uint64_t bytes,
                      const unsigned char *packed);

#endif
