#include "py/backends/chunked_copy.h"

#include "base/poll.h"

enum { CHUNK_BYTES = 1 << 24 };

static smk_status copy(const smk_backend *backend, uint64_t address, const void *from, void *to, uint64_t bytes,
                       bool interruptible, smk_error *error)
{
    smk_status status = SMK_OK;
    uint64_t offset = 0;
    if (interruptible && backend->settle != NULL) {
        status = backend->settle(error);
    }
    if (status != SMK_OK) {
        return status;
    }
    do { /* one call even for 0 bytes, so that the machine can report an error */
        const uint64_t left = bytes - offset, chunk = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        status = to == NULL ? backend->upload(address + offset, (const unsigned char *)from + offset, chunk, error)
                            : backend->download(address + offset, (unsigned char *)to + offset, chunk, error);
        offset += chunk;
        if (status == SMK_OK && interruptible && smk_poll_stop_now()) {
            status = smk_status_fail(error, SMK_INTERRUPTED, "a copy was interrupted");
        }
    } while (offset < bytes && status == SMK_OK);
    return status;
}

smk_status smk_chunked_copy_upload(const smk_backend *backend, uint64_t address, const void *host, uint64_t bytes,
                                   bool interruptible, smk_error *error)
{
    return copy(backend, address, host, NULL, bytes, interruptible, error);
}

smk_status smk_chunked_copy_download(const smk_backend *backend, uint64_t address, void *host, uint64_t bytes,
                                     bool interruptible, smk_error *error)
{
    return copy(backend, address, NULL, host, bytes, interruptible, error);
}
