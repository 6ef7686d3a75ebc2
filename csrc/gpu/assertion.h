/* Which assert of a kernel has failed; private to csrc/gpu.
 *
 * The driver writes that to the standard error output alone, and the device's memory is lost. So PTX that has assertions
 * is loaded with a function of ours before the driver's: the first thread that fails writes file, line, block and thread to
 * pinned memory of the host, which outlives the context; the others wait for it. */
#ifndef SMK_GPU_ASSERTION_H
#define SMK_GPU_ASSERTION_H

#include "base/status.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* A copy of PTX that calls our function, to be freed by smk_heap_free; NULL where the image is no text, has no assertion,
 * or there is no memory: then it is loaded as it is. */
char *smk_assertion_rewrite(const void *image);

/* Tells the code of such a copy on the present device where to write. Where that fails, nothing is written. */
void smk_assertion_arm(cudaLibrary_t library);

/* Fills `error` with the assertion that has failed: status, message and location. `action` begins the message. False where
 * none was noted. */
bool smk_assertion_report(const char *action, smk_error *error);

#endif
