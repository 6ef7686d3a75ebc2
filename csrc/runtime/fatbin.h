/* Fat binaries: the images of a module for several GPUs that nvcc puts into a program. */
#ifndef SMK_RUNTIME_FATBIN_H
#define SMK_RUNTIME_FATBIN_H

#include "base/status.h"

#include <stddef.h>

/* The PTX of a fat binary that a GPU of this compute capability (90 for 9.0) would compile: that of the newest
 * architecture up to it. `*text` has `*length` bytes and a NUL behind them, and is freed with smk_heap_free. Errors: PTX
 * where there is none for it (the message says what there is), UNSUPPORTED, MEMORY. */
smk_status smk_fatbin_read_ptx(const void *image, int capability, char **text, size_t *length, smk_error *error);

#endif
