/* The stub of gpu.h for builds without CUDA, in place of all other files of csrc/gpu. */
#include "gpu/gpu.h"

static smk_status fail_without_cuda(smk_error *error)
{
    return smk_status_fail(error, SMK_BACKEND,
                           "this build of smemkit has no GPU support: there was no nvcc when it was built");
}

smk_status smk_context_count(int *count, smk_error *error)
{
    (void)count;
    return fail_without_cuda(error);
}

smk_status smk_context_use(int device, smk_error *error)
{
    (void)device;
    return fail_without_cuda(error);
}

smk_status smk_context_current(int *device, smk_error *error)
{
    (void)device;
    return fail_without_cuda(error);
}

smk_status smk_context_enter(int device, int *before, smk_error *error)
{
    (void)device;
    (void)before;
    return fail_without_cuda(error);
}

void smk_context_leave(int device, int before)
{
    (void)device;
    (void)before;
}

smk_status smk_context_find(uint64_t address, int *device, smk_error *error)
{
    (void)address;
    (void)device;
    return fail_without_cuda(error);
}

smk_status smk_context_memory(uint64_t *free_bytes, uint64_t *total_bytes, smk_error *error)
{
    (void)free_bytes;
    (void)total_bytes;
    return fail_without_cuda(error);
}

void smk_context_versions(int *driver, int *runtime)
{
    *driver = 0;
    *runtime = 0;
}

smk_status smk_context_facts(int device, smk_fact facts[SMK_FACTS_MAX], size_t *count, smk_error *error)
{
    (void)device;
    (void)facts;
    (void)count;
    return fail_without_cuda(error);
}

smk_status smk_context_machine(int device, int *capability, int *multiprocessors, uint64_t *shared_bytes_max,
                               smk_error *error)
{
    (void)device;
    (void)capability;
    (void)multiprocessors;
    (void)shared_bytes_max;
    return fail_without_cuda(error);
}

smk_status smk_context_name(int device, char *name, size_t bytes, smk_error *error)
{
    (void)device;
    (void)name;
    (void)bytes;
    return fail_without_cuda(error);
}

smk_status smk_buffer_allocate(uint64_t bytes, uint64_t *address, smk_error *error)
{
    (void)bytes;
    (void)address;
    return fail_without_cuda(error);
}

smk_status smk_buffer_free(uint64_t address, smk_error *error)
{
    (void)address;
    return fail_without_cuda(error);
}

smk_status smk_buffer_retire(uint64_t address, smk_error *error)
{
    (void)address;
    return fail_without_cuda(error);
}

smk_status smk_buffer_borrow(uint64_t bytes, uint64_t *address, smk_error *error)
{
    (void)bytes;
    (void)address;
    return fail_without_cuda(error);
}

smk_status smk_buffer_give_back(uint64_t address, uint64_t bytes, smk_error *error)
{
    (void)address;
    (void)bytes;
    return fail_without_cuda(error);
}

smk_status smk_buffer_upload(uint64_t address, const void *host, uint64_t bytes, smk_error *error)
{
    (void)address;
    (void)host;
    (void)bytes;
    return fail_without_cuda(error);
}

smk_status smk_buffer_download(uint64_t address, void *host, uint64_t bytes, smk_error *error)
{
    (void)address;
    (void)host;
    (void)bytes;
    return fail_without_cuda(error);
}

smk_status smk_buffer_copy_pinned(uint64_t address, void *host, uint64_t bytes, bool is_up, smk_error *error)
{
    (void)address;
    (void)host;
    (void)bytes;
    (void)is_up;
    return fail_without_cuda(error);
}

smk_status smk_buffer_clear(uint64_t address, uint64_t bytes, smk_error *error)
{
    (void)address;
    (void)bytes;
    return fail_without_cuda(error);
}

smk_status smk_buffer_copy(uint64_t target, uint64_t source, uint64_t bytes, smk_error *error)
{
    (void)target;
    (void)source;
    (void)bytes;
    return fail_without_cuda(error);
}

smk_status smk_bus_copy(const smk_staged_copy *copy, bool *done, smk_error *error)
{
    (void)copy;
    (void)done;
    return fail_without_cuda(error);
}

smk_status smk_buffer_trim(smk_error *error)
{
    (void)error;
    return SMK_OK; /* nothing is kept */
}

smk_status smk_managed_allocate(uint64_t bytes, uint64_t *address, smk_error *error)
{
    (void)bytes;
    (void)address;
    return fail_without_cuda(error);
}

void smk_managed_free(uint64_t address)
{
    (void)address;
}

bool smk_managed_is_reached(uint64_t address)
{
    (void)address;
    return false;
}

smk_held smk_held_now(void)
{
    return (smk_held){0};
}

void smk_bus_set(const smk_bus_settings *settings)
{
    (void)settings;
}

smk_ring_memory smk_ring_kept(void)
{
    return (smk_ring_memory){0, 0, 0};
}

void smk_ring_free_kept(void)
{
}

smk_status smk_pinned_allocate(uint64_t bytes, void **memory, smk_error *error)
{
    (void)bytes;
    (void)memory;
    return fail_without_cuda(error);
}

void smk_pinned_free(void *memory)
{
    (void)memory;
}

bool smk_pinned_has(const void *memory)
{
    (void)memory;
    return false;
}

smk_status smk_library_load(const void *image, const char *origin, smk_library **library, smk_error *error)
{
    (void)image;
    (void)origin;
    (void)library;
    return fail_without_cuda(error);
}

void smk_library_free(smk_library *library)
{
    (void)library;
}

smk_status smk_library_kernel(smk_library *library, const char *name, void **kernel, smk_error *error)
{
    (void)library;
    (void)name;
    (void)kernel;
    return fail_without_cuda(error);
}

smk_status smk_library_symbol(smk_library *library, const char *name, uint64_t *address, uint64_t *bytes,
                              smk_error *error)
{
    (void)library;
    (void)name;
    (void)address;
    (void)bytes;
    return fail_without_cuda(error);
}

smk_status smk_library_attributes(void *kernel, smk_kernel_attributes *attributes, smk_error *error)
{
    (void)kernel;
    (void)attributes;
    return fail_without_cuda(error);
}

smk_status smk_library_parameters(void *kernel, size_t room, size_t *bytes, size_t *count, smk_error *error)
{
    (void)kernel;
    (void)room;
    (void)bytes;
    (void)count;
    return fail_without_cuda(error);
}

smk_status smk_launch_run(void *kernel, const char *name, const smk_launch *launch, smk_error *error)
{
    (void)kernel;
    (void)name;
    (void)launch;
    return fail_without_cuda(error);
}

smk_status smk_launch_synchronize(const char *name, smk_error *error)
{
    (void)name;
    return fail_without_cuda(error);
}

smk_status smk_wait_launched(const char *name, smk_error *error)
{
    (void)name;
    return fail_without_cuda(error);
}

smk_status smk_wait_event(void *event, const char *name, smk_error *error)
{
    (void)event;
    (void)name;
    return fail_without_cuda(error);
}

smk_status smk_device_occupancy_blocks(void *kernel, int threads, size_t shared_bytes, int *blocks, smk_error *error)
{
    (void)kernel;
    (void)threads;
    (void)shared_bytes;
    (void)blocks;
    return fail_without_cuda(error);
}

smk_status smk_device_occupancy_suggest(void *kernel, size_t shared_bytes, int *grid, int *block, smk_error *error)
{
    (void)kernel;
    (void)shared_bytes;
    (void)grid;
    (void)block;
    return fail_without_cuda(error);
}

smk_status smk_timer_create(smk_timer **timer, smk_error *error)
{
    (void)timer;
    return fail_without_cuda(error);
}

void smk_timer_free(smk_timer *timer)
{
    (void)timer;
}

smk_status smk_timer_start(smk_timer *timer, smk_error *error)
{
    (void)timer;
    return fail_without_cuda(error);
}

smk_status smk_timer_passed(smk_timer *timer, bool *passed, smk_error *error)
{
    (void)timer;
    (void)passed;
    return fail_without_cuda(error);
}

smk_status smk_timer_stop(smk_timer *timer, double *time_ms, smk_error *error)
{
    (void)timer;
    (void)time_ms;
    return fail_without_cuda(error);
}

uint64_t smk_stream_enter(int device, uint64_t stream)
{
    (void)device;
    (void)stream;
    return 0;
}

uint64_t smk_stream_present(int device)
{
    (void)device;
    return 0;
}

smk_status smk_stream_follow(uint64_t waiting, uint64_t awaited, smk_error *error)
{
    (void)waiting;
    (void)awaited;
    return fail_without_cuda(error);
}

smk_status smk_peer_copy(const smk_peer_rows *to, const smk_peer_rows *from, uint64_t row_bytes, uint64_t row_count,
                         uint64_t stream, smk_error *error)
{
    (void)to;
    (void)from;
    (void)row_bytes;
    (void)row_count;
    (void)stream;
    return fail_without_cuda(error);
}

smk_status smk_peer_follow(int waiting_device, uint64_t waiting, int awaited_device, uint64_t awaited, smk_error *error)
{
    (void)waiting_device;
    (void)waiting;
    (void)awaited_device;
    (void)awaited;
    return fail_without_cuda(error);
}

smk_status smk_peer_stream(int device, int index, uint64_t *stream, smk_error *error)
{
    (void)device;
    (void)index;
    (void)stream;
    return fail_without_cuda(error);
}

bool smk_stream_suspend(bool suspended)
{
    (void)suspended;
    return false;
}

bool smk_stream_captured(uint64_t stream)
{
    (void)stream;
    return false;
}

void smk_stream_destroy(uint64_t stream)
{
    (void)stream;
}

void smk_event_free(void *event)
{
    (void)event;
}

smk_status smk_stream_order(uint64_t waiting, uint64_t awaited, smk_error *error)
{
    (void)waiting;
    (void)awaited;
    return fail_without_cuda(error);
}

smk_status smk_stream_take_turn(smk_error *error)
{
    return fail_without_cuda(error);
}

smk_status smk_stream_end_turn(smk_error *error)
{
    return fail_without_cuda(error);
}

smk_status smk_stream_create(bool non_blocking, int priority, uint64_t *stream, smk_error *error)
{
    (void)non_blocking;
    (void)priority;
    (void)stream;
    return fail_without_cuda(error);
}

smk_status smk_stream_device(uint64_t stream, int *device, smk_error *error)
{
    (void)stream;
    (void)device;
    return fail_without_cuda(error);
}

smk_status smk_stream_query(uint64_t stream, bool *done, smk_error *error)
{
    (void)stream;
    (void)done;
    return fail_without_cuda(error);
}

smk_status smk_event_create(bool timing, void **event, smk_error *error)
{
    (void)timing;
    (void)event;
    return fail_without_cuda(error);
}

smk_status smk_event_record(void *event, uint64_t stream, smk_error *error)
{
    (void)event;
    (void)stream;
    return fail_without_cuda(error);
}

smk_status smk_event_await(uint64_t stream, void *event, smk_error *error)
{
    (void)stream;
    (void)event;
    return fail_without_cuda(error);
}

smk_status smk_event_query(void *event, bool *done, smk_error *error)
{
    (void)event;
    (void)done;
    return fail_without_cuda(error);
}

smk_status smk_event_elapsed(void *start, void *end, double *time_ms, smk_error *error)
{
    (void)start;
    (void)end;
    (void)time_ms;
    return fail_without_cuda(error);
}

smk_status smk_stream_common(int device, uint64_t *stream, smk_error *error)
{
    (void)device;
    (void)stream;
    return fail_without_cuda(error);
}

smk_status smk_cuda_texture_create(const smk_texture_shape *shape, const void *texels, uint64_t *object,
                                   uint64_t *array, smk_error *error)
{
    (void)shape;
    (void)texels;
    (void)object;
    (void)array;
    return fail_without_cuda(error);
}

smk_status smk_cuda_texture_read(const smk_texture_shape *shape, uint64_t array, void *texels, smk_error *error)
{
    (void)shape;
    (void)array;
    (void)texels;
    return fail_without_cuda(error);
}

void smk_cuda_texture_free(uint64_t object, uint64_t array)
{
    (void)object;
    (void)array;
}
