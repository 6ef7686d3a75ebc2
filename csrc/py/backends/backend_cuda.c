#include "py/backends/backend_cuda.h"

#include "py/backends/capture.h"

#include "base/heap.h"
#include "gpu/gpu.h"
#include "registry/slowdowns.h"

#include <stdatomic.h>
#include <stdio.h>

/* Code that the GPU has loaded; callers have it as an smk_backend_code. */
typedef struct cuda_code {
    smk_library *library;
} cuda_code;

static cuda_code *get_code(smk_backend_code *code)
{
    return (cuda_code *)(void *)code;
}

static void unload(smk_backend_code *code)
{
    if (code != NULL) {
        smk_library_free(get_code(code)->library);
        smk_heap_free(code);
    }
}

static smk_status query(smk_backend_code *code, const char *entry, smk_kernel_facts *facts, smk_error *error)
{
    smk_kernel_attributes attributes = {0};
    void *kernel = NULL;
    smk_status status = smk_library_kernel(get_code(code)->library, entry, &kernel, error);
    if (status == SMK_OK) {
        status = smk_library_attributes(kernel, &attributes, error);
    }
    if (status == SMK_OK) {
        *facts = (smk_kernel_facts){
            .registers = attributes.registers,
            .shared_bytes = attributes.shared_bytes,
            .local_bytes = attributes.local_bytes,
            .const_bytes = attributes.const_bytes,
            .max_threads = (uint32_t)(attributes.max_threads < 0 ? 0 : attributes.max_threads),
            .ptx_version = attributes.ptx_version,
            .binary_version = attributes.binary_version,
        };
    }
    return status;
}

static smk_status parameters(smk_backend_code *code, const char *entry, size_t room, size_t *bytes, size_t *count,
                             smk_error *error)
{
    void *kernel = NULL;
    smk_status status = smk_library_kernel(get_code(code)->library, entry, &kernel, error);
    return status == SMK_OK ? smk_library_parameters(kernel, room, bytes, count, error) : status;
}

/* Properties of each device, asked for once. */
static smk_status describe_machine(const smk_machine **machine, smk_error *error)
{
    enum { DEVICES_MAX = 64, NAME_BYTES = 256 };
    static struct {
        smk_machine machine;
        atomic_int state; /* 0: not asked for yet; 1: being written; 2: known */
    } devices[DEVICES_MAX];
    static _Thread_local smk_machine created;
    char name[NAME_BYTES] = "";
    int device = 0, capability = 0, multiprocessors = 0, expected = 0;
    uint64_t shared_bytes_max = 0;
    smk_status status = smk_context_current(&device, error);
    if (status == SMK_OK && device < DEVICES_MAX && atomic_load(&devices[device].state) == 2) {
        *machine = &devices[device].machine;
        return SMK_OK;
    }
    if (status == SMK_OK) {
        status = smk_context_machine(device, &capability, &multiprocessors, &shared_bytes_max, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    if (smk_slowdowns_needed(capability)) {
        status = smk_context_name(device, name, sizeof name, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    created = (smk_machine){.capability = capability,
                            .multiprocessors = (uint32_t)multiprocessors,
                            .shared_bytes_max = (size_t)shared_bytes_max,
                            .slowdown = smk_slowdowns_find(name, capability, (uint32_t)multiprocessors)};
    *machine = &created;
    if (device < DEVICES_MAX && atomic_compare_exchange_strong(&devices[device].state, &expected, 1)) {
        devices[device].machine = created;
        atomic_store(&devices[device].state, 2);
    }
    return SMK_OK;
}

static smk_status symbol(smk_backend_code *code, const char *name, uint64_t *address, uint64_t *bytes, smk_error *error)
{
    return smk_library_symbol(get_code(code)->library, name, address, bytes, error);
}

/* Loads one image. The driver reports an image without code for the present device only when a kernel of it is asked
 * for. */
static smk_status load_image(const void *image, const char *origin, const char *entry, smk_backend_code **code,
                             smk_error *error)
{
    smk_kernel_facts facts = {0};
    cuda_code *created = smk_heap_allocate(1, sizeof *created);
    if (created == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to load a kernel");
    }
    smk_status status = smk_library_load(image, origin, &created->library, error);
    if (status == SMK_OK && entry != NULL) {
        status = query((smk_backend_code *)(void *)created, entry, &facts, error);
    }
    if (status != SMK_OK) {
        unload((smk_backend_code *)(void *)created);
        return status;
    }
    *code = (smk_backend_code *)(void *)created;
    return SMK_OK;
}

static smk_status load(const smk_backend_image *image, const char *entry, smk_backend_code **code, smk_error *error)
{
    if (image->fatbin != NULL) {
        smk_error refusal = {0};
        smk_status status = load_image(image->fatbin, NULL, entry, code, &refusal);
        if (status == SMK_OK || image->ptx == NULL || status == SMK_MEMORY) {
            if (status != SMK_OK) {
                *error = refusal;
            }
            return status;
        }
    }
    return load_image(image->ptx, image->origin, entry, code, error);
}

/* Launches between two CUDA events and waits for the end. The kernel is loaded before the first event. */
static smk_status launch_timed(void *kernel, const char *entry, const smk_launch *launch, smk_error *error)
{
    smk_kernel_attributes attributes = {0};
    smk_timer *timer = NULL;
    double time_ms = 0.0;
    smk_status status = smk_library_attributes(kernel, &attributes, error);
    if (status == SMK_OK) {
        status = smk_timer_create(&timer, error);
    }
    if (status == SMK_OK) {
        status = smk_timer_start(timer, error);
    }
    if (status == SMK_OK) {
        status = smk_launch_run(kernel, entry, launch, error);
    }
    if (status == SMK_OK) {
        status = smk_timer_stop(timer, &time_ms, error);
    }
    smk_timer_free(timer);
    if (status != SMK_OK) {
        return status;
    }
    smk_capture_record *record = smk_capture_open(SMK_CAPTURE_TIME, entry, launch, error);
    if (record == NULL) {
        return SMK_MEMORY;
    }
    record->shared_bytes = attributes.shared_bytes + launch->shared_bytes;
    record->time_ms = time_ms;
    smk_capture_close(record, SMK_OK);
    return SMK_OK;
}

static smk_status launch_kernel(smk_backend_code *code, const char *entry, const smk_launch *launch,
                                const smk_run_options *options, smk_error *error)
{
    (void)options;
    void *kernel = NULL;
    smk_status status = smk_library_kernel(get_code(code)->library, entry, &kernel, error);
    if (status != SMK_OK) {
        return status;
    }
    return smk_capture_mode_now() == SMK_CAPTURE_TIME ? launch_timed(kernel, entry, launch, error)
                                                      : smk_launch_run(kernel, entry, launch, error);
}

/* After a wait for kernels what they have printed is in the buffer of the C library. */
static smk_status flush_after(smk_status status)
{
    (void)fflush(stdout);
    return status;
}

static smk_status synchronize(const char *name, smk_error *error)
{
    return flush_after(smk_launch_synchronize(name, error));
}

static smk_status download(uint64_t address, void *host, uint64_t bytes, smk_error *error)
{
    return flush_after(smk_buffer_download(address, host, bytes, error));
}

static smk_status copy_by_bus(const smk_staged_copy *copy, bool *done, smk_error *error)
{
    return flush_after(smk_bus_copy(copy, done, error));
}

static smk_status wait_event(void *event, const char *name, smk_error *error)
{
    return flush_after(smk_wait_event(event, name, error));
}

static smk_status settle(smk_error *error)
{
    return smk_wait_launched("what was launched before", error);
}

static smk_status synchronize_device(smk_error *error)
{
    int device = 0;
    smk_status status = smk_context_current(&device, error);
    if (status == SMK_OK) {
        const uint64_t stream =
            smk_stream_enter(device, SMK_STREAM_DEFAULT); /* on which a wait is one for the device */
        status = synchronize("the work of the device", error);
        (void)smk_stream_enter(device, stream);
    }
    return status;
}

static smk_peer_rows convert_rows(const smk_backend_rows *rows)
{
    return (smk_peer_rows){.device = rows->device, .address = rows->address, .pitch = rows->pitch};
}

static smk_status copy_rows(const smk_backend_rows *to, const smk_backend_rows *from, uint64_t row_bytes, uint64_t rows,
                            uint64_t stream, smk_error *error)
{
    const smk_peer_rows target = convert_rows(to), source = convert_rows(from);
    return smk_peer_copy(&target, &source, row_bytes, rows, stream, error);
}

_Static_assert((int)SMK_BACKEND_DEVICES_MAX == (int)SMK_DEVICES_MAX, "gpu.h and backend.h number devices alike");

static const smk_backend_streams streams = {
    .enter = smk_stream_enter,
    .present = smk_stream_present,
    .suspend = smk_stream_suspend,
    .create = smk_stream_create,
    .destroy = smk_stream_destroy,
    .device = smk_stream_device,
    .query = smk_stream_query,
    .common = smk_stream_common,
    .captured = smk_stream_captured,
    .pinned = smk_pinned_has,
    .copy_host = smk_buffer_copy_pinned,
    .retire = smk_buffer_retire,
    .wait = smk_stream_follow,
    .take_turn = smk_stream_take_turn,
    .end_turn = smk_stream_end_turn,
    .create_event = smk_event_create,
    .free_event = smk_event_free,
    .record_event = smk_event_record,
    .await_event = smk_event_await,
    .query_event = smk_event_query,
    .wait_event = wait_event,
    .elapsed = smk_event_elapsed,
};

static smk_status create_texture(const smk_texture_shape *shape, const void *texels, smk_backend_texture *texture,
                                 smk_error *error)
{
    return smk_cuda_texture_create(shape, texels, &texture->object, &texture->memory, error);
}

static smk_status read_texture(const smk_texture_shape *shape, const smk_backend_texture *texture, void *texels,
                               smk_error *error)
{
    return smk_cuda_texture_read(shape, texture->memory, texels, error);
}

static void free_texture(const smk_backend_texture *texture)
{
    smk_cuda_texture_free(texture->object, texture->memory);
}

const smk_backend smk_backend_cuda = {
    .id = SMK_BACKEND_CUDA,
    .name = "cuda",
    .asynchronous = true,
    .machine = describe_machine,
    .count = smk_context_count,
    .current = smk_context_current,
    .enter = smk_context_enter,
    .leave = smk_context_leave,
    .memory = smk_context_memory,
    .find = smk_context_find,
    .allocate = smk_buffer_allocate,
    .release = smk_buffer_free,
    .borrow = smk_buffer_borrow,
    .give_back = smk_buffer_give_back,
    .upload = smk_buffer_upload,
    .download = download,
    .staged_copy = copy_by_bus,
    .pin = smk_pinned_allocate,
    .unpin = smk_pinned_free,
    .allocate_managed = smk_managed_allocate,
    .free_managed = smk_managed_free,
    .host_reaches = smk_managed_is_reached,
    .clear = smk_buffer_clear,
    .copy = smk_buffer_copy,
    .copy_rows = copy_rows,
    .create_texture = create_texture,
    .read_texture = read_texture,
    .free_texture = free_texture,
    .load = load,
    .unload = unload,
    .query = query,
    .parameters = parameters,
    .symbol = symbol,
    .launch = launch_kernel,
    .synchronize = synchronize,
    .synchronize_device = synchronize_device,
    .follow_device = smk_peer_follow,
    .present_stream = smk_stream_present,
    .copy_stream = smk_peer_stream,
    .streams = &streams,
    .follow = smk_stream_order,
    .settle = settle,
};
