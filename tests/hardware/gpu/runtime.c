/* A CUDA runtime of two devices without a GPU, as far as csrc/gpu/ asks for it: it keeps the present device of each
 * thread, what memory lies where, when the work of a device will have ended, and which calls got which stream; and it
 * counts what no library should do. A kernel is a list of its parameters' bytes; the first word of its argument is how
 * many ms it runs. */
#include "runtime_queue.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 2, BLOCKS = 64, DRIVER = 12040, RESIDENT = 8 };

typedef struct block {
    char *start;
    size_t bytes;
    int device;
} block;

static const size_t kernel_bytes[] = {8, 4, 12};

static _Thread_local int present;
static block blocks[BLOCKS];
static double empty_at[DEVICES];

/* What tests look at. */
atomic_int runtime_faults;       /* memory of a device that was not present */
atomic_int runtime_changes;      /* of the present device */
atomic_int runtime_shared;       /* carve-outs that were set for all who launch the kernel */
atomic_int runtime_packed_bytes; /* of the parameters of the last launch by the driver */
atomic_int runtime_cooperative;  /* cooperative launches */
atomic_int runtime_carveout;     /* of the last launch that had one of its own */
atomic_int runtime_events;       /* made and not destroyed */
atomic_int runtime_blocks;       /* allocated and not freed */
void *runtime_captured;          /* a stream whose work a graph captures */
void *runtime_recorded;          /* the stream of the last record of an event */
void *runtime_waiting;           /* the last stream that was made to wait for one */

/* The calls that take a stream, oldest first, and the stream that each got. */
enum { CALLS = 4096 };
struct runtime_call {
    const char *name;
    void *stream;
} runtime_calls[CALLS];
atomic_int runtime_call_count;

static void note(const char *name, cudaStream_t stream)
{
    const int place = runtime_call_count++;
    if (place < CALLS) {
        runtime_calls[place] = (struct runtime_call){name, stream};
    }
}

int runtime_present(void)
{
    return present;
}

void runtime_use(int device)
{
    present = device;
}

static double read_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cudaError_t wait_until(double time)
{
    while (read_clock() < time) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    return cudaSuccess;
}

static cudaError_t is_over(double time)
{
    return read_clock() < time ? cudaErrorNotReady : cudaSuccess;
}

static bool has(const block *one, const void *address)
{
    return one->start != NULL && (const char *)address >= one->start &&
           (const char *)address <= one->start + one->bytes;
}

/* The block around an address, on the present device. */
static block *find(const void *address)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (has(&blocks[i], address)) {
            if (blocks[i].device != present) {
                runtime_faults++;
            }
            return &blocks[i];
        }
    }
    runtime_faults++;
    return NULL;
}

/* Devices ----------------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = DEVICES;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = present;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= DEVICES) {
        return cudaErrorInvalidDevice;
    }
    present = device;
    runtime_changes++;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMemoryPoolsSupported ? 0 : attribute == cudaDevAttrMultiProcessorCount ? 4 : 1024;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    memset(attributes, 0, sizeof *attributes);
    attributes->type = runtime_queue_is_pinned(address) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    for (int i = 0; i < BLOCKS; i++) {
        if (has(&blocks[i], address)) {
            attributes->type = cudaMemoryTypeDevice;
            attributes->device = blocks[i].device;
        }
    }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = DRIVER;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t code)
{
    return code == cudaErrorUnsupportedPtxVersion ? "cudaErrorUnsupportedPtxVersion" : "another";
}

const char *cudaGetErrorString(cudaError_t code)
{
    (void)code;
    return "in words";
}

cudaError_t cudaDeviceSynchronize(void)
{
    return wait_until(empty_at[present]);
}

/* Memory ------------------------------------------------------------------------------------------ */

static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static cudaError_t take_block(void **start, size_t bytes)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].start == NULL) {
            blocks[i] = (block){malloc(bytes), bytes, present};
            *start = blocks[i].start;
            runtime_blocks++;
            return cudaSuccess;
        }
    }
    return cudaErrorMemoryAllocation;
}

cudaError_t cudaMalloc(void **start, size_t bytes)
{
    (void)pthread_mutex_lock(&blocks_lock);
    const cudaError_t code = take_block(start, bytes);
    (void)pthread_mutex_unlock(&blocks_lock);
    return code;
}

cudaError_t cudaFree(void *start)
{
    block *found = find(start);
    if (found == NULL) {
        return cudaErrorInvalidValue;
    }
    free(found->start);
    runtime_blocks--;
    found->start = NULL;
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)find(kind == cudaMemcpyHostToDevice ? target : source);
    (void)wait_until(empty_at[present]);
    memcpy(target, source, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream)
{
    note("cudaMemsetAsync", stream);
    (void)find(target);
    memset(target, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    note("cudaMemcpyAsync", stream);
    (void)find(kind == cudaMemcpyDeviceToHost ? source : target);
    if (runtime_queue_has(stream)) {
        return runtime_queue_copy(stream, target, source, bytes, kind == cudaMemcpyHostToDevice);
    }
    memcpy(target, source, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = *total_bytes = 1 << 20;
    return cudaSuccess;
}

/* These devices have no pools: none of these is called. */
cudaError_t cudaMallocAsync(void **start, size_t bytes, cudaStream_t stream)
{
    note("cudaMallocAsync", stream);
    (void)start, (void)bytes;
    return cudaErrorNotSupported;
}

cudaError_t cudaFreeAsync(void *start, cudaStream_t stream)
{
    note("cudaFreeAsync", stream);
    (void)start;
    return cudaErrorNotSupported;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    (void)pool, (void)device;
    return cudaErrorNotSupported;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    return cudaErrorNotSupported;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    (void)pool, (void)bytes;
    return cudaErrorNotSupported;
}

/* Streams and events ------------------------------------------------------------------------------ */

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    note("cudaStreamQuery", stream);
    return is_over(empty_at[present]);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    note("cudaStreamSynchronize", stream);
    if (runtime_queue_has(stream)) {
        return runtime_queue_wait();
    }
    return wait_until(empty_at[present]);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status = stream == runtime_captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *made, unsigned flags, int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(made, flags);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    (void)stream;
    *device = present;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *time_ms, cudaEvent_t start, cudaEvent_t end)
{
    *time_ms = (float)(1e3 * (((runtime_event *)end)->at - ((runtime_event *)start)->at));
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags)
{
    (void)flags;
    *made = (cudaEvent_t)calloc(1, sizeof(runtime_event));
    runtime_events++;
    return *made == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t made)
{
    runtime_events--;
    free(made);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t made, cudaStream_t stream)
{
    note("cudaEventRecord", stream);
    runtime_recorded = stream;
    if (runtime_queue_has(stream)) {
        return runtime_queue_record((runtime_event *)made);
    }
    ((runtime_event *)made)->at = empty_at[present];
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t awaited, unsigned flags)
{
    note("cudaStreamWaitEvent", stream);
    (void)awaited, (void)flags;
    runtime_waiting = stream;
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t made)
{
    return ((runtime_event *)made)->pending ? cudaErrorNotReady : is_over(((runtime_event *)made)->at);
}

cudaError_t cudaEventSynchronize(cudaEvent_t made)
{
    return wait_until(((runtime_event *)made)->at);
}

/* Kernels ----------------------------------------------------------------------------------------- */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *options, void **values,
                                unsigned count, enum cudaLibraryOption *library_options, void **library_values,
                                unsigned library_count)
{
    (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
    *library = (cudaLibrary_t)code;
    return strstr(code, ".version 99") != NULL ? cudaErrorUnsupportedPtxVersion : cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    (void)library;
    return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    (void)library;
    *kernel = (cudaKernel_t)kernel_bytes;
    return strcmp(name, "kernel") == 0 ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes, cudaLibrary_t library, const char *name)
{
    (void)address, (void)bytes, (void)library, (void)name;
    return cudaErrorSymbolNotFound;
}

cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes, cudaLibrary_t library, const char *name)
{
    return cudaLibraryGetGlobal(address, bytes, library, name);
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    (void)kernel;
    memset(attributes, 0, sizeof *attributes);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    (void)kernel, (void)value;
    runtime_shared += attribute == cudaFuncAttributePreferredSharedMemoryCarveout;
    return cudaSuccess;
}

cudaError_t cudaFuncGetParamInfo(const void *kernel, size_t index, size_t *offset, size_t *bytes)
{
    (void)kernel;
    if (index >= sizeof kernel_bytes / sizeof kernel_bytes[0]) {
        return cudaErrorInvalidValue;
    }
    *offset = 0;
    *bytes = kernel_bytes[index];
    return cudaSuccess;
}

/* The driver's function needs a context: the runtime's makes the one of the thread. */
static _Thread_local bool has_context;

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block_size, void **arguments, size_t bytes,
                             cudaStream_t stream)
{
    note("cudaLaunchKernel", stream);
    has_context = true;
    (void)kernel, (void)grid, (void)block_size, (void)bytes;
    empty_at[present] = read_clock() + 1e-3 * (double)*(uint32_t *)arguments[0];
    return cudaSuccess;
}

static int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned bytes, cudaStream_t stream, void **arguments,
                          void **extra)
{
    enum { INVALID_CONTEXT = 201 };
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)bytes;
    if (!has_context) {
        return INVALID_CONTEXT;
    }
    note("cuLaunchKernel", stream);
    /* extra: a buffer with all parameters, and its size */
    const uint32_t *ms = arguments != NULL ? arguments[0] : extra[1];
    runtime_packed_bytes = arguments != NULL ? 0 : (int)*(const size_t *)extra[3];
    empty_at[present] = read_clock() + 1e-3 * (double)*ms;
    return 0;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **address, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *result)
{
    (void)version, (void)flags;
    const bool known = strcmp(name, "cuLaunchKernel") == 0;
    *address = known ? (void *)cuLaunchKernel : NULL;
    *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks_each, const void *kernel, int threads,
                                                          size_t bytes)
{
    (void)kernel, (void)threads, (void)bytes;
    *blocks_each = RESIDENT / 4;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == cudaLaunchAttributePreferredSharedMemoryCarveout) {
            runtime_carveout = (int)config->attrs[i].val.sharedMemCarveout;
        } else if (config->attrs[i].id != cudaLaunchAttributeCooperative || config->attrs[i].val.cooperative != 1) {
            return cudaErrorInvalidValue;
        } else if (config->gridDim.x > RESIDENT) {
            return cudaErrorCooperativeLaunchTooLarge;
        } else {
            runtime_cooperative++;
        }
    }
    return cudaLaunchKernel(kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                            config->stream);
}
