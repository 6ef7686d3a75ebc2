/* Copies between host memory and that of a machine, in chunks between which signals are handled. */
#ifndef SMK_PY_BACKENDS_CHUNKED_COPY_H
#define SMK_PY_BACKENDS_CHUNKED_COPY_H

#include "py/backends/backend.h"

/* Copies around launches (base/staged_copy.h): by the machine's bus where it has one, else one chunk after the other; on
 * its present device, without the GIL. Signals are handled between chunks where `late` does not forbid it. Errors: those
 * of the machine and of `run`; INTERRUPTED after a part of the bytes has been copied. */
smk_status smk_chunked_copy_run(const smk_backend *backend, const smk_staged_copy *copy, smk_error *error);

/* Copies results to the host. Not `interruptible`: as a whole, whatever signals come. */
smk_status smk_chunked_copy_download(const smk_backend *backend, uint64_t address, void *host, uint64_t bytes,
                                     bool interruptible, smk_error *error);

#endif
