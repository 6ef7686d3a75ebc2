/* Mutants of kernels: another PTX text in place of one that is loaded. `smemkit mutate` makes them. */
#ifndef SMK_BASE_MUTATION_H
#define SMK_BASE_MUTATION_H

#include "base/status.h"

#include <stddef.h>

/* Where the environment variable SMEMKIT_MUTATION names a folder, one of two things is done with a text. If the folder
 * has a file before.ptx, and that is the text, the text becomes that of after.ptx, and an empty file `applied` is
 * made. If it has no before.ptx, the folder records: the text is kept in it as <hash>.ptx. Without the variable nothing
 * is done.
 *
 * *text is a block of base/heap.h that ends with a NUL, which *length leaves out; it is replaced by another such block,
 * and *changed set. Errors: ARGUMENT where the folder cannot be read or written, MEMORY. */
smk_status smk_mutation_apply(char **text, size_t *length, bool *changed, smk_error *error);

/* Whether the folder records. */
bool smk_mutation_is_recording(void);

/* Adds to the file <hash>.executed what a launch has executed of a text: lines of text that each end with a newline.
 * Errors: ARGUMENT where it cannot be written. */
smk_status smk_mutation_note(const char *text, size_t length, const char *executed, smk_error *error);

#endif
