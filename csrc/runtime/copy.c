#include "runtime/copy.h"

#include "runtime/outcome.h"
#include "runtime/session.h"

#include <stdint.h>
#include <string.h>

enum { FILL_BYTES = 4096 };

int smk_copy_find_memory(const void *address)
{
    uint64_t start = 0, bytes = 0;
    bool shared = false;
    if (!smk_memory_find(smk_session_memory(), (uint64_t)(uintptr_t)address, &start, &bytes, &shared)) {
        return SMK_MEMORY_UNKNOWN;
    }
    return shared ? SMK_MEMORY_MANAGED : SMK_MEMORY_DEVICE;
}

/* May `kind` copy between memory of these kinds? Only the host's own memory, which is unknown here, must be where the
 * kind has it: of other addresses the runtime knows what they are. */
static bool fits(int kind, int target, int source)
{
    switch (kind) {
    case SMK_COPY_HOST_TO_HOST:
        return target != SMK_MEMORY_DEVICE && source != SMK_MEMORY_DEVICE;
    case SMK_COPY_TO_DEVICE:
        return target != SMK_MEMORY_UNKNOWN;
    case SMK_COPY_TO_HOST:
        return source != SMK_MEMORY_UNKNOWN;
    case SMK_COPY_ON_DEVICE:
        return target != SMK_MEMORY_UNKNOWN && source != SMK_MEMORY_UNKNOWN;
    case SMK_COPY_BY_ADDRESS:
        return true;
    }
    return false; /* a number that is no kind */
}

static smk_status copy_row(void *target, bool to_device, const void *source, bool from_device, size_t bytes,
                           smk_error *error)
{
    smk_memory *memory = smk_session_memory();
    const uint64_t to = (uint64_t)(uintptr_t)target, from = (uint64_t)(uintptr_t)source;
    void *host = NULL;
    if (!to_device && !from_device) {
        memmove(target, source, bytes);
        return SMK_OK;
    }
    if (!to_device) {
        return smk_memory_read(memory, from, target, bytes, error);
    }
    if (!from_device) {
        return smk_memory_write(memory, to, source, bytes, error);
    }
    smk_status status = smk_memory_host(memory, from, bytes, false, &host, error);
    return status == SMK_OK ? smk_memory_write(memory, to, host, bytes, error) : status;
}

/* Makes one row of what lies without gaps, so that a plain copy is one. */
static smk_copy join_rows(const smk_copy *copy)
{
    smk_copy joined = *copy;
    if (joined.height > 1 && joined.width == joined.target_pitch && joined.width == joined.source_pitch) {
        const size_t slice = joined.width * joined.height;
        if (joined.depth == 1 || (slice == joined.target_slice && slice == joined.source_slice)) {
            joined.width = slice * joined.depth;
            joined.height = joined.depth = 1;
        }
    }
    return joined;
}

static smk_cuda fail(const smk_error *error)
{
    smk_outcome_say("a copy or fill leaves its memory: %s", error->message);
    return SMK_CUDA_ErrorInvalidValue;
}

smk_cuda smk_copy_run(const smk_copy *copy)
{
    const smk_copy box = join_rows(copy);
    smk_error error = {0};
    if (box.width == 0 || box.height == 0 || box.depth == 0) {
        return SMK_CUDA_Success;
    }
    const int target = smk_copy_find_memory(box.target), source = smk_copy_find_memory(box.source);
    if (box.kind < SMK_COPY_HOST_TO_HOST || box.kind > SMK_COPY_BY_ADDRESS) {
        return SMK_CUDA_ErrorInvalidMemcpyDirection;
    }
    if (box.target == NULL || box.source == NULL || !fits(box.kind, target, source)) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    for (size_t z = 0; z < box.depth; z++) {
        for (size_t y = 0; y < box.height; y++) {
            char *to = (char *)box.target + z * box.target_slice + y * box.target_pitch;
            const char *from = (const char *)box.source + z * box.source_slice + y * box.source_pitch;
            if (copy_row(to, target != SMK_MEMORY_UNKNOWN, from, source != SMK_MEMORY_UNKNOWN, box.width, &error) !=
                SMK_OK) {
                return fail(&error);
            }
        }
    }
    return SMK_CUDA_Success;
}

/* Fills a row of bytes with a pattern that starts anew at every multiple of its length. */
static smk_status fill_row(uint64_t address, size_t bytes, const unsigned char *pattern, size_t pattern_bytes,
                           smk_error *error)
{
    smk_status status = SMK_OK;
    for (size_t done = 0; done < bytes && status == SMK_OK; done += pattern_bytes) {
        const size_t left = bytes - done;
        status = smk_memory_write(smk_session_memory(), address + done, pattern,
                                  left < pattern_bytes ? left : pattern_bytes, error);
    }
    return status;
}

smk_cuda smk_copy_fill(const smk_fill *fill)
{
    unsigned char pattern[FILL_BYTES];
    smk_error error = {0};
    const size_t size = fill->element_bytes, bytes = fill->width * size;
    if (bytes == 0 || fill->height == 0 || fill->depth == 0) {
        return SMK_CUDA_Success;
    }
    if (smk_copy_find_memory(fill->target) == SMK_MEMORY_UNKNOWN || (size != 1 && size != 2 && size != 4)) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    for (size_t i = 0; i < sizeof pattern; i += size) {
        memcpy(pattern + i, &fill->value, size); /* little-endian: the low bytes come first */
    }
    for (size_t z = 0; z < fill->depth; z++) {
        for (size_t y = 0; y < fill->height; y++) {
            const uint64_t address = (uint64_t)(uintptr_t)fill->target + z * fill->slice + y * fill->pitch;
            if (fill_row(address, bytes, pattern, sizeof pattern, &error) != SMK_OK) {
                return fail(&error);
            }
        }
    }
    return SMK_CUDA_Success;
}
