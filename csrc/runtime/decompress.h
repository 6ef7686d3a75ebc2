/* Decompression of what fat binaries hold, by the libraries of the system that are loaded when they are needed. */
#ifndef SMK_RUNTIME_DECOMPRESS_H
#define SMK_RUNTIME_DECOMPRESS_H

#include "base/status.h"

#include <stddef.h>

typedef enum smk_decompress_format { SMK_DECOMPRESS_LZ4, SMK_DECOMPRESS_ZSTD } smk_decompress_format;

/* Fills `bytes` bytes. Errors: UNSUPPORTED where the system has no such library, PTX where the data is damaged. */
smk_status smk_decompress_run(smk_decompress_format format, const void *packed, size_t packed_bytes, void *target,
                              size_t bytes, smk_error *error);

#endif
