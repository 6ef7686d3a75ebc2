/* Status codes and error values.
 *
 * Every function below csrc/py that can fail returns a smk_status and takes a
 * smk_error as its last parameter. Where it fails it fills the error and
 * leaves its outputs alone; where it succeeds it leaves the error alone.
 */
#ifndef SMK_BASE_STATUS_H
#define SMK_BASE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_status {
    SMK_OK = 0,
#define SMK_STATUS(id, class_name, base, mixin, sentence) SMK_##id,
#include "base/status.def"
#undef SMK_STATUS
    SMK_STATUS_COUNT
} smk_status;

/* An error and its location. Line or column 0: not known. */
typedef struct smk_error {
    smk_status status;
    char message[768];     /* one sentence or two, without the fields below */
    char kernel[128];      /* entry point, "" where there is none */
    char source_file[256]; /* file of source_line, "" where not known */
    uint32_t ptx_line;
    uint32_t ptx_column;
    uint32_t source_line;
    bool has_thread; /* block and thread are meaningful */
    uint32_t block[3];
    uint32_t thread[3];
} smk_error;

/* Fills `error` (which may be NULL) with a status and a formatted message, clears its
 * position fields, and returns the status, so that `return smk_status_fail(...)` reads well. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
smk_status
smk_status_fail(smk_error *error, smk_status status, const char *format, ...);

/* "ARGUMENT" for SMK_ARGUMENT; "OK" for SMK_OK; "?" for anything unknown. */
const char *smk_status_name(smk_status status);

#endif
