#include "py/backends/chunked_copy.h"

#include "base/heap.h"
#include "base/poll.h"

/* Below STAGED_BYTES_MIN no thread copies beside the caller's. */
enum { CHUNK_BYTES = 1 << 24, PACKED_BYTES = 1 << 20, STAGED_BYTES_MIN = 1 << 20 };

static smk_status move_plain(const smk_backend *backend, const smk_staged_range *range, uint64_t first, uint64_t bytes,
                             bool is_up, smk_error *error)
{
    return is_up ? backend->upload(range->address + first, range->host + first, bytes, error)
                 : backend->download(range->address + first, range->host + first, bytes, error);
}

/* By way of a block in which the elements lie side by side. */
static smk_status move_packed(const smk_backend *backend, const smk_staged_range *range, uint64_t first, uint64_t bytes,
                              bool is_up, unsigned char *packed, smk_error *error)
{
    smk_status status = SMK_OK;
    if (is_up) {
        smk_pack_gather(range->layout, range->host, first, bytes, packed);
        return backend->upload(range->address + first, packed, bytes, error);
    }
    status = backend->download(range->address + first, packed, bytes, error);
    if (status == SMK_OK) {
        smk_pack_scatter(range->layout, range->host, first, bytes, packed);
    }
    return status;
}

static smk_status move_range(const smk_backend *backend, const smk_staged_range *range, bool is_up, bool interruptible,
                             smk_error *error)
{
    const uint64_t most = range->layout == NULL ? CHUNK_BYTES : PACKED_BYTES;
    unsigned char *packed = range->layout == NULL ? NULL : smk_heap_allocate(PACKED_BYTES, 1);
    smk_status status = SMK_OK;
    uint64_t first = 0;
    if (range->layout != NULL && packed == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to copy an array");
    }
    do { /* one call even for 0 bytes, so that the machine can report an error */
        const uint64_t left = range->bytes - first, bytes = left < most ? left : most;
        status = packed == NULL ? move_plain(backend, range, first, bytes, is_up, error)
                                : move_packed(backend, range, first, bytes, is_up, packed, error);
        first += bytes;
        if (status == SMK_OK && interruptible && smk_poll_stop_now()) {
            status = smk_status_fail(error, SMK_INTERRUPTED, "a copy was interrupted");
        }
    } while (first < range->bytes && status == SMK_OK);
    smk_heap_free(packed);
    return status;
}

/* The ranges of a slab, from *next on. */
static smk_status move_slab(const smk_backend *backend, const smk_staged_range *ranges, size_t count, size_t slab,
                            size_t *next, bool is_up, bool interruptible, smk_error *error)
{
    smk_status status = SMK_OK;
    for (; *next < count && ranges[*next].slab <= slab && status == SMK_OK; (*next)++) {
        status = move_range(backend, &ranges[*next], is_up, interruptible, error);
    }
    return status;
}

static smk_status move_in_turn(const smk_backend *backend, const smk_staged_copy *copy, smk_error *error)
{
    const size_t last = copy->slabs == 0 ? 0 : copy->slabs - 1;
    size_t up = 0, down = 0;
    smk_status status = !copy->late && backend->settle != NULL ? backend->settle(error) : SMK_OK;
    for (size_t slab = 0; slab <= last && status == SMK_OK; slab++) {
        status = move_slab(backend, copy->up, copy->up_count, slab, &up, true, true, error);
        if (status == SMK_OK && copy->slabs > 0) {
            status = copy->run(copy->context, slab, error);
        }
        if (status == SMK_OK && (!copy->late || slab == last)) {
            status = move_slab(backend, copy->down, copy->down_count, slab, &down, false, !copy->late, error);
        }
    }
    return status;
}

static bool is_large(const smk_staged_copy *copy)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < copy->up_count; i++) {
        bytes += copy->up[i].bytes;
    }
    for (size_t i = 0; i < copy->down_count; i++) {
        bytes += copy->down[i].bytes;
    }
    return bytes >= STAGED_BYTES_MIN;
}

smk_status smk_chunked_copy_run(const smk_backend *backend, const smk_staged_copy *copy, smk_error *error)
{
    bool done = false;
    smk_status status = SMK_OK;
    if (backend->staged_copy != NULL && is_large(copy)) {
        status = backend->staged_copy(copy, &done, error);
    }
    return status != SMK_OK || done ? status : move_in_turn(backend, copy, error);
}

smk_status smk_chunked_copy_download(const smk_backend *backend, uint64_t address, void *host, uint64_t bytes,
                                     bool interruptible, smk_error *error)
{
    const smk_staged_range range = {.address = address, .host = host, .bytes = bytes};
    const smk_staged_copy copy = {.down = &range, .down_count = 1, .late = !interruptible};
    return smk_chunked_copy_run(backend, &copy, error);
}
