/* The interface of the two machines, and the choice among the devices of one. */
#ifndef SMK_PY_BACKENDS_BACKEND_H
#define SMK_PY_BACKENDS_BACKEND_H

#include "base/launch.h"
#include "base/staged_copy.h"
#include "base/texture.h"
#include "ptx/module.h"
#include "registry/plan.h"
#include "sim/sim.h"

/* A stream as a number: the handle of CUDA. */
#define SMK_STREAM_DEFAULT UINT64_C(0)

/* Rows of bytes in the memory of a device, `pitch` bytes from one to the next. */
typedef struct smk_backend_rows {
    int device;
    uint64_t address, pitch;
} smk_backend_rows;

typedef enum smk_backend_id { SMK_BACKEND_SIM, SMK_BACKEND_CUDA, SMK_BACKEND_COUNT } smk_backend_id;

/* The sources that a machine loads code from. They must outlive the code. */
typedef struct smk_backend_image {
    const char *ptx;    /* terminated by a NUL */
    const void *fatbin; /* NULL where there is none */
    const char *origin; /* the compiler that made the PTX, for messages; NULL where it is not known */
    const char *source; /* the CUDA C of the PTX, and the folder of its files: smk_program_set_source */
    const char *folder;
    const smk_module *module; /* the same text parsed; for the simulator */
} smk_backend_image;

/* Code that one machine has loaded. Each machine has a struct of its own for it. */
typedef struct smk_backend_code smk_backend_code;

typedef struct smk_kernel_facts {
    int registers; /* -1 where not known */
    size_t shared_bytes;
    size_t local_bytes;
    size_t const_bytes;
    uint32_t max_threads;
    int ptx_version;    /* compute capability times ten; 0 where not known */
    int binary_version; /* 0 where not known */
} smk_kernel_facts;

/* Devices of this number and above have no streams but the default one. */
enum { SMK_BACKEND_DEVICES_MAX = 64 };

/* Streams and events of the present device. They need no GIL; those that may wait are called without it. */
typedef struct smk_backend_streams {
    /* The stream of a device on which the calling thread's work goes; gives the one before. */
    uint64_t (*enter)(int device, uint64_t stream);
    uint64_t (*present)(int device);
    /* Between true and false the thread's work goes to the default stream; gives what it was before. */
    bool (*suspend)(bool suspended);
    smk_status (*create)(bool non_blocking, int priority, uint64_t *stream, smk_error *error);
    void (*destroy)(uint64_t stream);
    smk_status (*device)(uint64_t stream, int *device, smk_error *error);
    smk_status (*query)(uint64_t stream, bool *done, smk_error *error);
    /* A stream of the device for waits alone, which lives as long as the process. */
    smk_status (*common)(int device, uint64_t *stream, smk_error *error);
    /* Does a graph capture the work of the stream? */
    bool (*captured)(uint64_t stream);
    /* Is an address of the host one of pinned memory? And a copy of that, which does not wait. */
    bool (*pinned)(const void *memory);
    smk_status (*copy_host)(uint64_t address, void *host, uint64_t bytes, bool is_up, smk_error *error);
    /* Frees memory as `release` does; while a graph captures the thread's stream, when it no longer does. */
    smk_status (*retire)(uint64_t address, smk_error *error);
    /* As the user asks for it, also between streams that a graph captures. */
    smk_status (*wait)(uint64_t waiting, uint64_t awaited, smk_error *error);
    /* Around the use of what one launch at a time may use, under a lock of the caller. */
    smk_status (*take_turn)(smk_error *error);
    smk_status (*end_turn)(smk_error *error);
    smk_status (*create_event)(bool timing, void **event, smk_error *error);
    void (*free_event)(void *event);
    smk_status (*record_event)(void *event, uint64_t stream, smk_error *error);
    smk_status (*await_event)(uint64_t stream, void *event, smk_error *error);
    smk_status (*query_event)(void *event, bool *done, smk_error *error);
    smk_status (*wait_event)(void *event, const char *name, smk_error *error);
    smk_status (*elapsed)(void *start, void *end, double *time_ms, smk_error *error);
} smk_backend_streams;

/* A texture or surface object, and the machine's own memory of its texels. */
typedef struct smk_backend_texture {
    uint64_t object, memory;
} smk_backend_texture;

/* The functions need no GIL, and are called without it. `options` are for the simulator alone. */
typedef struct smk_backend {
    smk_backend_id id;
    const char *name;
    bool constants_by_launch; /* each launch takes constants of its own from its options */
    bool asynchronous;        /* a launch returns before the kernel ends, and uses nothing of its options */
    /* Properties that plans depend on; they live as long as the process. */
    smk_status (*machine)(const smk_machine **machine, smk_error *error);
    /* The number of devices, the one that the calling thread uses, and a change to another one for a while. All functions below work on the
     * present device. NULL where the machine has one device. */
    smk_status (*count)(int *devices, smk_error *error);
    smk_status (*current)(int *device, smk_error *error);
    smk_status (*enter)(int device, int *before, smk_error *error);
    void (*leave)(int device, int before);
    /* Memory of the present device, in bytes. */
    smk_status (*memory)(uint64_t *free_bytes, uint64_t *total_bytes, smk_error *error);
    /* The device that holds the memory at an address; the present one for address 0. NULL where there is one alone. */
    smk_status (*find)(uint64_t address, int *device, smk_error *error);
    smk_status (*allocate)(uint64_t bytes, uint64_t *address, smk_error *error);
    smk_status (*release)(uint64_t address, smk_error *error);
    /* Zeroed memory for launches that each leave it zeroed, perhaps from several threads. It may be given back once
     * they have been launched. The simulator then reports INTERNAL for a byte that is not 0, but not while the thread's
     * launches are captured, nor where `error` is NULL. */
    smk_status (*borrow)(uint64_t bytes, uint64_t *address, smk_error *error);
    smk_status (*give_back)(uint64_t address, uint64_t bytes, smk_error *error);
    smk_status (*upload)(uint64_t address, const void *host, uint64_t bytes, smk_error *error);
    smk_status (*download)(uint64_t address, void *host, uint64_t bytes, smk_error *error);
    /* Copies large operands and results at once, around launches. *done is false where other copies must serve. NULL
     * where the machine has no bus between it and the host. */
    smk_status (*staged_copy)(const smk_staged_copy *copy, bool *done, smk_error *error);
    /* Host memory that such copies need no threads for; NULL where there is no bus. */
    smk_status (*pin)(uint64_t bytes, void **memory, smk_error *error);
    void (*unpin)(void *memory);
    /* Managed memory, which the host reaches, too; to free it waits for the device. And does the host reach what lies at an
     * address, under that address? NULL where the host has the machine's memory in another way. */
    smk_status (*allocate_managed)(uint64_t bytes, uint64_t *address, smk_error *error);
    void (*free_managed)(uint64_t address);
    bool (*host_reaches)(uint64_t address);
    /* Where the host finds memory of the machine, and memory of the host as memory of the machine until it is
     * released, as sim/code/memory.h has them. NULL where the machine has memory of its own. */
    smk_status (*host)(uint64_t address, uint64_t bytes, bool writeable, void **host, smk_error *error);
    smk_status (*adopt)(void *host, uint64_t bytes, uint64_t *address, smk_error *error);
    /* On the device, in order with the launches. */
    smk_status (*clear)(uint64_t address, uint64_t bytes, smk_error *error);
    smk_status (*copy)(uint64_t target, uint64_t source, uint64_t bytes, smk_error *error);
    /* Copies rows, perhaps from one device to another, on a stream of either (0: the default one of the target's). */
    smk_status (*copy_rows)(const smk_backend_rows *to, const smk_backend_rows *from, uint64_t row_bytes, uint64_t rows,
                            uint64_t stream, smk_error *error);
    /* Copies texels from the host, one after the other, into memory of their own; and back, from a surface. */
    smk_status (*create_texture)(const smk_texture_shape *shape, const void *texels, smk_backend_texture *texture,
                                 smk_error *error);
    smk_status (*read_texture)(const smk_texture_shape *shape, const smk_backend_texture *texture, void *texels,
                               smk_error *error);
    void (*free_texture)(const smk_backend_texture *texture);
    /* `entry` is a kernel that will be launched, or NULL: the GPU checks with it that the image has code for the
     * device. */
    smk_status (*load)(const smk_backend_image *image, const char *entry, smk_backend_code **code, smk_error *error);
    void (*unload)(smk_backend_code *code); /* accepts NULL */
    smk_status (*query)(smk_backend_code *code, const char *entry, smk_kernel_facts *facts, smk_error *error);
    /* The number of parameters of an entry, and the bytes of the first `room` of them. NULL where the parsed text has
     * both. */
    smk_status (*parameters)(smk_backend_code *code, const char *entry, size_t room, size_t *bytes, size_t *count,
                             smk_error *error);
    /* A module-scope variable. ARGUMENT where there is none of that name. */
    smk_status (*symbol)(smk_backend_code *code, const char *name, uint64_t *address, uint64_t *bytes,
                         smk_error *error);
    smk_status (*launch)(smk_backend_code *code, const char *entry, const smk_launch *launch,
                         const smk_run_options *options, smk_error *error);
    smk_status (*synchronize)(const char *name, smk_error *error);
    /* Waits for all work of the present device, whatever its streams. */
    smk_status (*synchronize_device)(smk_error *error);
    /* NULL where work has ended when the call returns. */
    const smk_backend_streams *streams;
    /* Makes the work that a stream gets from now on wait for what another one has so far, but for the work that a graph
     * captures beside work that it does not. NULL where there are no streams. */
    smk_status (*follow)(uint64_t waiting, uint64_t awaited, smk_error *error);
    /* The same for streams of two devices; the stream of a device on which the thread works; and two (0 and 1) for
     * copies beside its launches, which live as long as the process. All NULL where there are no streams. */
    smk_status (*follow_device)(int waiting_device, uint64_t waiting, int awaited_device, uint64_t awaited,
                                smk_error *error);
    uint64_t (*present_stream)(int device);
    smk_status (*copy_stream)(int device, int index, uint64_t *stream, smk_error *error);
    /* Waits for the launches made before, so that a copy begins at once. NULL where a launch has ended when it
     * returns. */
    smk_status (*settle)(smk_error *error);
} smk_backend;

/* The present device of a machine (0 where it has one alone), and the change to another one until leave restores it in
 * the same thread. SMK_DEVICE_PRESENT changes nothing. Needs no GIL. */
enum { SMK_DEVICE_PRESENT = -1 };
smk_status smk_backend_device(const smk_backend *backend, int *device, smk_error *error);
smk_status smk_backend_enter(const smk_backend *backend, int device, int *before, smk_error *error);
/* Makes the work that the thread gives a device from now on wait for what it has given another one so far. */
smk_status smk_backend_follow(const smk_backend *backend, int waiting, int awaited, smk_error *error);
void smk_backend_leave(const smk_backend *backend, int device, int before);

#endif
