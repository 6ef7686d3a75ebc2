/* The interface of csrc/gpu: CUDA's runtime behind status codes.
 *
 * Every error has CUDA's name for it, its sentence, and the failed action. CUDA is not called before the first of
 * these functions is. Addresses are device pointers as integers. In a build without CUDA (no nvcc at build time,
 * SMK_WITHOUT_CUDA) every function returns a BACKEND error that says so.
 */
#ifndef SMK_GPU_GPU_H
#define SMK_GPU_GPU_H

#include "base/launch.h"
#include "base/staged_copy.h"
#include "base/status.h"
#include "base/texture.h"

#include <stddef.h>
#include <stdint.h>

/* Devices of this number and above cannot have a stream entered, nor memory kept for them. */
enum { SMK_DEVICES_MAX = 64 };

/* context.c ------------------------------------------------------------------------------------ */

/* Number of devices; BACKEND, with the reason (no driver, driver too old, no device, built without CUDA). */
smk_status smk_context_count(int *count, smk_error *error);

/* The device that the calling thread uses from now on. Errors: ARGUMENT, BACKEND, MEMORY, CUDA. */
smk_status smk_context_use(int device, smk_error *error);
smk_status smk_context_current(int *device, smk_error *error);

/* Switches the device for a while: *before becomes the present one, to which leave returns. Errors: CUDA. */
smk_status smk_context_enter(int device, int *before, smk_error *error);
void smk_context_leave(int device, int before);

/* The device that holds the memory at an address; the present one for address 0. Errors: ARGUMENT where none does,
 * CUDA. */
smk_status smk_context_find(uint64_t address, int *device, smk_error *error);

/* Memory of the present device, in bytes: what the driver has left, and all. Errors: CUDA. */
smk_status smk_context_memory(uint64_t *free_bytes, uint64_t *total_bytes, smk_error *error);

/* Driver and runtime versions as CUDA numbers them (13000); 0 where there is none. */
void smk_context_versions(int *driver, int *runtime);

/* One fact of a device. Exactly one of the three values is meaningful. */
typedef enum smk_fact_kind { SMK_FACT_INTEGER, SMK_FACT_REAL, SMK_FACT_TEXT } smk_fact_kind;

typedef struct smk_fact {
    const char *name; /* "shared_bytes_per_block_optin": lower case, unit in the name */
    smk_fact_kind kind;
    int64_t integer;
    double real;
    char text[256];
} smk_fact;

enum { SMK_FACTS_MAX = 160 };

/* Every fact that cudaDeviceProp users print, in a fixed order (facts.def); one that the driver does not know is left
 * out. Errors: ARGUMENT, BACKEND, CUDA. */
smk_status smk_context_facts(int device, smk_fact facts[SMK_FACTS_MAX], size_t *count, smk_error *error);

/* The properties on which plans depend: compute capability times ten, multiprocessors, shared memory a block with
 * opt-in. Errors: ARGUMENT, BACKEND, CUDA. */
smk_status smk_context_machine(int device, int *capability, int *multiprocessors, uint64_t *shared_bytes_max,
                               smk_error *error);

/* The name of a device, cut to so many bytes. Errors: ARGUMENT, BACKEND, CUDA. */
smk_status smk_context_name(int device, char *name, size_t bytes, smk_error *error);

/* buffer.c ------------------------------------------------------------------------------------- */

/* On the present device, in order with the work of the stream that the thread has entered. MEMORY where the device has
 * none left (says how much was asked for and how much is free). `bytes` 0 gives address 0; freeing 0, and copying 0
 * bytes, do nothing. */
smk_status smk_buffer_allocate(uint64_t bytes, uint64_t *address, smk_error *error);
smk_status smk_buffer_free(uint64_t address, smk_error *error);

/* Returns to the driver what the pools of all devices keep for later allocations. Errors: CUDA. */
smk_status smk_buffer_trim(smk_error *error);
/* Frees memory that was not allocated on the entered stream while a graph captured it. While one captures it, the memory
 * is kept until the next call when none does. */
smk_status smk_buffer_retire(uint64_t address, smk_error *error);

/* Borrows zeroed memory of the present device for launches that leave it zeroed. Borrowers on the default stream share
 * one block where possible, since their launches run one after another. It is given back once the launches are enqueued,
 * on the same stream. */
smk_status smk_buffer_borrow(uint64_t bytes, uint64_t *address, smk_error *error);
smk_status smk_buffer_give_back(uint64_t address, uint64_t bytes, smk_error *error);

smk_status smk_buffer_upload(uint64_t address, const void *host, uint64_t bytes, smk_error *error); /* synchronous */
smk_status smk_buffer_download(uint64_t address, void *host, uint64_t bytes, smk_error *error);     /* synchronous */

/* Asynchronous, in order with launches. The host's memory of the first is pinned, and neither freed nor changed before the
 * copy has ended. */
smk_status smk_buffer_copy_pinned(uint64_t address, void *host, uint64_t bytes, bool is_up, smk_error *error);
smk_status smk_buffer_clear(uint64_t address, uint64_t bytes, smk_error *error);
smk_status smk_buffer_copy(uint64_t target, uint64_t source, uint64_t bytes, smk_error *error);

/* bus.c, ring.c -------------------------------------------------------------------------------- */

/* Copies and runs on the present device, and waits for the end of all copies: the host's memory goes through a ring of
 * pinned buffers, which several host threads fill and empty; pinned memory is copied as it is. *done is false where
 * nothing was done, because there is no pinned memory for a ring: other copies must serve. An error leaves no copy under
 * way. Errors: CUDA, MEMORY, INTERRUPTED, those of `run`. */
smk_status smk_bus_copy(const smk_staged_copy *copy, bool *done, smk_error *error);

/* How copies go; 0 chooses. For measurements and tests. */
typedef struct smk_bus_settings {
    unsigned threads;    /* that copy */
    uint64_t slot_bytes; /* of a buffer of the ring */
    unsigned slots;
    uint64_t part_bytes; /* that a worker copies at once */
} smk_bus_settings;

void smk_bus_set(const smk_bus_settings *settings);

/* The pinned memory of rings, and how many of them copy now. Those that do not can be freed. */
typedef struct smk_ring_memory {
    uint64_t bytes;
    unsigned rings, busy;
} smk_ring_memory;

smk_ring_memory smk_ring_kept(void);
void smk_ring_free_kept(void);

/* held.c --------------------------------------------------------------------------------------- */

/* What the process holds through this folder: for tests that faults leave nothing behind. */
typedef struct smk_held {
    int64_t blocks, events, streams, pinned; /* pinned: pieces of the host's memory */
} smk_held;

smk_held smk_held_now(void);

/* pinned.c ------------------------------------------------------------------------------------- */

/* Host memory that devices access without the help of a processor. Errors: MEMORY, BACKEND, CUDA. */
smk_status smk_pinned_allocate(uint64_t bytes, void **memory, smk_error *error);
void smk_pinned_free(void *memory); /* accepts NULL */

/* Is the address in pinned memory, of this or of another library? */
bool smk_pinned_has(const void *memory);

/* managed.c ------------------------------------------------------------------------------------ */

/* Memory that the host and the devices have under one address. Errors: MEMORY, CUDA. */
smk_status smk_managed_allocate(uint64_t bytes, uint64_t *address, smk_error *error);
void smk_managed_free(uint64_t address); /* waits for the device; accepts 0 */

/* Does the host reach what lies at an address of a device: managed or pinned memory? */
bool smk_managed_is_reached(uint64_t address);

/* library.c ------------------------------------------------------------------------------------ */

typedef struct smk_library smk_library;

/* A fatbin, cubin or PTX text (NUL-terminated) that must stay alive as long as the library, and so must `origin`: who
 * has made the PTX, for messages, or NULL. Errors: CUDA, with the log of the driver's compiler where it has one. */
smk_status smk_library_load(const void *image, const char *origin, smk_library **library, smk_error *error);
void smk_library_free(smk_library *library); /* accepts NULL */

typedef struct smk_kernel_attributes {
    int registers;
    int max_threads;
    size_t shared_bytes;
    size_t local_bytes;
    size_t const_bytes;
    int max_dynamic_shared_bytes;
    int ptx_version;
    int binary_version;
} smk_kernel_attributes;

/* A kernel handle lives as long as its library. ARGUMENT where the library has no kernel of that name. */
smk_status smk_library_kernel(smk_library *library, const char *name, void **kernel, smk_error *error);
/* A module-scope variable of the library on the present device. ARGUMENT where it has none of that name. */
smk_status smk_library_symbol(smk_library *library, const char *name, uint64_t *address, uint64_t *bytes,
                              smk_error *error);
smk_status smk_library_attributes(void *kernel, smk_kernel_attributes *attributes, smk_error *error);
/* How many parameters a kernel takes, and the bytes of the first `room` of them. Errors: CUDA. */
smk_status smk_library_parameters(void *kernel, size_t room, size_t *bytes, size_t *count, smk_error *error);

/* launch.c ------------------------------------------------------------------------------------- */

/* Launches asynchronously on the entered stream of the present device, with the carve-out that the launch prefers.
 * Opts in to more than 48 KB of dynamic shared memory where the launch needs it. `name` is for messages. Errors:
 * LAUNCH, SHARED_MEMORY, CUDA. */
smk_status smk_launch_run(void *kernel, const char *name, const smk_launch *launch, smk_error *error);

/* Waits for the work of the entered stream, or of the whole present device where that is the default stream, including
 * its printed output, and reports errors of kernels. It polls meanwhile where a function is registered (base/poll.h).
 * Errors: CUDA, INTERRUPTED. */
smk_status smk_launch_synchronize(const char *name, smk_error *error);

/* wait.c --------------------------------------------------------------------------------------- */

/* Wait until the launches on the entered stream have ended, or until an event (a cudaEvent_t) is reached. Where
 * no function is registered to poll they are the runtime's own waits, which cannot be interrupted. Errors: CUDA,
 * INTERRUPTED. */
smk_status smk_wait_launched(const char *name, smk_error *error);
smk_status smk_wait_event(void *event, const char *name, smk_error *error);

/* stream.c ------------------------------------------------------------------------------------- */

/* The stream of a device on which the calling thread works from now on; gives the one before, to which the same call
 * returns. A stream is a cudaStream_t as a number, 0 the legacy default one. Calls no CUDA. */
uint64_t smk_stream_enter(int device, uint64_t stream);
uint64_t smk_stream_present(int device);
/* With true the thread works on the default stream, whatever it has entered, until a call with false. Gives what it was
 * before. */
bool smk_stream_suspend(bool suspended);

/* Makes the work that a stream of the present device gets from now on wait for what another one has so far.
 * Errors: CUDA. */
smk_status smk_stream_follow(uint64_t waiting, uint64_t awaited, smk_error *error);

/* The same without being asked by the user: nothing is done where a graph captures the work of one stream and not that of
 * the other, since what is captured runs later. */
smk_status smk_stream_order(uint64_t waiting, uint64_t awaited, smk_error *error);

/* Does a graph capture the work of the stream? */
bool smk_stream_captured(uint64_t stream);

/* Between these two the entered stream of the present device uses what one launch at a time may use, such as a variable of
 * a module: its work waits for the stream that had the turn before. Under a lock of the caller. A graph must not capture
 * the stream. Errors: CUDA. */
smk_status smk_stream_take_turn(smk_error *error);
smk_status smk_stream_end_turn(smk_error *error);

/* A stream of the present device; a blocking one waits for the default stream's work, and that one for its. The lower
 * the priority's number, the sooner its blocks run; numbers out of range count as the nearest. It is destroyed while its
 * device is the present one, which does not end its work. Errors: MEMORY, CUDA. */
smk_status smk_stream_create(bool non_blocking, int priority, uint64_t *stream, smk_error *error);
void smk_stream_destroy(uint64_t stream);
/* The device of a stream; of one that a graph captures, the present device. */
smk_status smk_stream_device(uint64_t stream, int *device, smk_error *error);
/* A stream of the device that delays no other one: where work waits for several streams. It is made once. */
smk_status smk_stream_common(int device, uint64_t *stream, smk_error *error);
smk_status smk_stream_query(uint64_t stream, bool *done, smk_error *error);

/* cuda_texture.c -------------------------------------------------------------------------------- */

/* A texture or surface object of the present device and the CUDA array of its texels, which are copied from the host.
 * Errors: ARGUMENT for a shape that no machine has, MEMORY, CUDA. */
smk_status smk_cuda_texture_create(const smk_texture_shape *shape, const void *texels, uint64_t *object,
                                   uint64_t *array, smk_error *error);
/* Copies the texels back, when the work of the device's default stream is done. */
smk_status smk_cuda_texture_read(const smk_texture_shape *shape, uint64_t array, void *texels, smk_error *error);
/* Waits for the work that may use it. */
void smk_cuda_texture_free(uint64_t object, uint64_t array);

/* event.c -------------------------------------------------------------------------------------- */

/* A cudaEvent_t of the present device; without timing it costs less. Errors: CUDA. */
smk_status smk_event_create(bool timing, void **event, smk_error *error);
void smk_event_free(void *event); /* accepts NULL */
/* Behind what the stream has so far, which must be one of the event's device. */
smk_status smk_event_record(void *event, uint64_t stream, smk_error *error);
/* Makes the work that a stream gets from now on wait for the event. */
smk_status smk_event_await(uint64_t stream, void *event, smk_error *error);
smk_status smk_event_query(void *event, bool *done, smk_error *error);
/* Both events have timing and are reached. */
smk_status smk_event_elapsed(void *start, void *end, double *time_ms, smk_error *error);
/* peer.c --------------------------------------------------------------------------------------- */

/* Rows of bytes in the memory of a device, `pitch` bytes from one to the next. */
typedef struct smk_peer_rows {
    int device;
    uint64_t address, pitch;
} smk_peer_rows;

/* Copies rows, perhaps from one device to another, on a stream of either device (0: the default one of the target's):
 * directly where the devices reach each other's memory, else through the host. Asynchronous. Errors: CUDA. */
smk_status smk_peer_copy(const smk_peer_rows *to, const smk_peer_rows *from, uint64_t row_bytes, uint64_t row_count,
                         uint64_t stream, smk_error *error);

/* As smk_stream_follow, of streams of two devices. Errors: CUDA. */
smk_status smk_peer_follow(int waiting_device, uint64_t waiting, int awaited_device, uint64_t awaited,
                           smk_error *error);

/* A stream of a device, by index, that the default stream does not wait for, nor it for that one: for copies beside the
 * launches. It is made once and lives as long as the process. Errors: ARGUMENT, CUDA. */
enum { SMK_PEER_STREAMS = 2 };
smk_status smk_peer_stream(int device, int index, uint64_t *stream, smk_error *error);

/* device_occupancy.c -------------------------------------------------------------------------- */

/* Resident blocks of a kernel on one multiprocessor, by the CUDA runtime. Gives the kernel leave to use all the shared
 * memory of a block, as launches do. Errors: CUDA. */
smk_status smk_device_occupancy_blocks(void *kernel, int threads, size_t shared_bytes, int *blocks, smk_error *error);

/* The block size of the best occupancy, and the grid that fills the device with it; 0 where no block runs. */
smk_status smk_device_occupancy_suggest(void *kernel, size_t shared_bytes, int *grid, int *block, smk_error *error);

/* timer.c -------------------------------------------------------------------------------------- */

typedef struct smk_timer smk_timer; /* two CUDA events */

smk_status smk_timer_create(smk_timer **timer, smk_error *error);
void smk_timer_free(smk_timer *timer); /* accepts NULL */
smk_status smk_timer_start(smk_timer *timer, smk_error *error);
/* Whether all work before the start is done; does not wait. Errors: ARGUMENT, CUDA. */
smk_status smk_timer_passed(smk_timer *timer, bool *passed, smk_error *error);
/* Waits. Errors: ARGUMENT, CUDA, INTERRUPTED. */
smk_status smk_timer_stop(smk_timer *timer, double *time_ms, smk_error *error);

#endif
