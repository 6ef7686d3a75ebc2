#include "py/backends/chunked_copy.h"

enum { CHUNK_BYTES = 1 << 24 };

static smk_status copy(const smk_backend *backend, uint64_t address, const void *from, void *to, uint64_t bytes,
                       smk_interrupt *interrupt, smk_error *error)
{
    smk_status status = SMK_OK;
    uint64_t offset = 0;
    if (interrupt != NULL && backend->settle != NULL) {
        const smk_patience patience = smk_interrupt_patience(interrupt);
        status = backend->settle(&patience, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    do { /* one call even for 0 bytes, so that the machine can report an error */
        const uint64_t left = bytes - offset, chunk = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        status = to == NULL ? backend->upload(address + offset, (const unsigned char *)from + offset, chunk, error)
                            : backend->download(address + offset, (unsigned char *)to + offset, chunk, error);
        offset += chunk;
        if (status == SMK_OK) {
            status = smk_interrupt_ask(interrupt, error);
        }
    } while (offset < bytes && status == SMK_OK);
    return status;
}

smk_status smk_chunked_copy_upload(const smk_backend *backend, uint64_t address, const void *host, uint64_t bytes,
                                   smk_interrupt *interrupt, smk_error *error)
{
    return copy(backend, address, host, NULL, bytes, interrupt, error);
}

smk_status smk_chunked_copy_download(const smk_backend *backend, uint64_t address, void *host, uint64_t bytes,
                                     smk_interrupt *interrupt, smk_error *error)
{
    return copy(backend, address, NULL, host, bytes, interrupt, error);
}
