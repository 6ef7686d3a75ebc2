/* Joins the PTX texts of files that the device linker has joined (nvcc -rdc=true) to one text.
 *
 * Functions and variables that several files define (inline ones and templates) are taken from the first. Local variables
 * of one name get different ones, and the numbers of source files are those of the whole text.
 */
#ifndef SMK_RUNTIME_PTX_LINK_H
#define SMK_RUNTIME_PTX_LINK_H

#include "base/status.h"

#include <stddef.h>

/* `*linked` is freed with smk_heap_free. Errors: MEMORY. */
smk_status smk_ptx_link_join(char *const *texts, size_t count, char **linked, smk_error *error);

#endif
