/* Two devices: copies between them, and the order of their work. */
#include "gpu/gpu.h"

#include "gpu/cuda_error.h"
#include "gpu/held.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static void *get_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static cudaStream_t get_stream(uint64_t stream)
{
    return (cudaStream_t)(uintptr_t)stream;
}

/* Access ------------------------------------------------------------------------------------------ */

/* Lets a device reach the memory of another one: what its pool has, and what cudaMalloc gave. Without such access the
 * driver copies through the host. */
static void grant_access(int device, int peer)
{
    int possible = 0;
    cudaMemPool_t pool = NULL;
    struct cudaMemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = device;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    if (cudaDeviceCanAccessPeer(&possible, device, peer) != cudaSuccess || possible == 0 ||
        cudaDeviceGetDefaultMemPool(&pool, peer) != cudaSuccess ||
        cudaMemPoolSetAccess(pool, &access, 1) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    if (possible != 0 && cudaSetDevice(device) == cudaSuccess && cudaDeviceEnablePeerAccess(peer, 0) != cudaSuccess) {
        (void)cudaGetLastError(); /* another library may have enabled it before */
    }
}

/* Grants access both ways, once a process. The present device may be another one afterwards. */
static void connect(int first, int second)
{
    static atomic_bool connected[SMK_DEVICES_MAX][SMK_DEVICES_MAX];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (first == second || first >= SMK_DEVICES_MAX || second >= SMK_DEVICES_MAX ||
        atomic_load(&connected[first][second])) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    if (!atomic_load(&connected[first][second])) {
        grant_access(first, second);
        grant_access(second, first);
        atomic_store(&connected[first][second], true);
        atomic_store(&connected[second][first], true);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Copies ------------------------------------------------------------------------------------------ */

static cudaError_t copy_bytes(const smk_peer_rows *to, const smk_peer_rows *from, uint64_t bytes, cudaStream_t stream)
{
    return to->device == from->device
               ? cudaMemcpyAsync(get_pointer(to->address), get_pointer(from->address), (size_t)bytes,
                                 cudaMemcpyDeviceToDevice, stream)
               : cudaMemcpyPeerAsync(get_pointer(to->address), to->device, get_pointer(from->address), from->device,
                                     (size_t)bytes, stream);
}

static cudaError_t copy_rows(const smk_peer_rows *to, const smk_peer_rows *from, uint64_t row_bytes, uint64_t row_count,
                             cudaStream_t stream)
{
    if (to->device == from->device) {
        return cudaMemcpy2DAsync(get_pointer(to->address), (size_t)to->pitch, get_pointer(from->address),
                                 (size_t)from->pitch, (size_t)row_bytes, (size_t)row_count, cudaMemcpyDeviceToDevice,
                                 stream);
    }
    struct cudaMemcpy3DPeerParms copy;
    memset(&copy, 0, sizeof copy);
    copy.srcPtr =
        (struct cudaPitchedPtr){get_pointer(from->address), (size_t)from->pitch, (size_t)row_bytes, (size_t)row_count};
    copy.srcDevice = from->device;
    copy.dstPtr =
        (struct cudaPitchedPtr){get_pointer(to->address), (size_t)to->pitch, (size_t)row_bytes, (size_t)row_count};
    copy.dstDevice = to->device;
    copy.extent = (struct cudaExtent){(size_t)row_bytes, (size_t)row_count, 1};
    return cudaMemcpy3DPeerAsync(&copy, stream);
}

smk_status smk_peer_copy(const smk_peer_rows *to, const smk_peer_rows *from, uint64_t row_bytes, uint64_t row_count,
                         uint64_t stream, smk_error *error)
{
    int before = 0;
    if (row_bytes == 0 || row_count == 0) {
        return SMK_OK;
    }
    smk_status status = smk_context_enter(to->device, &before, error);
    if (status != SMK_OK) {
        return status;
    }
    connect(to->device, from->device);
    cudaError_t code = cudaSetDevice(to->device); /* whose stream may be the default one, 0 */
    if (code == cudaSuccess) {
        const bool whole = row_count == 1 || (to->pitch == row_bytes && from->pitch == row_bytes);
        code = whole ? copy_bytes(to, from, row_bytes * row_count, get_stream(stream))
                     : copy_rows(to, from, row_bytes, row_count, get_stream(stream));
    }
    status = smk_cuda_error_report(code, error, "copying %llu bytes from device %d to device %d",
                                   (unsigned long long)(row_bytes * row_count), from->device, to->device);
    if (cudaSetDevice(before) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return status;
}

/* Order ------------------------------------------------------------------------------------------- */

smk_status smk_peer_follow(int waiting_device, uint64_t waiting, int awaited_device, uint64_t awaited, smk_error *error)
{
    cudaEvent_t reached = NULL;
    int before = 0;
    if (waiting_device == awaited_device && waiting == awaited) {
        return SMK_OK;
    }
    smk_status status = smk_context_enter(awaited_device, &before, error);
    if (status != SMK_OK) {
        return status;
    }
    cudaError_t code = smk_held_create_event(&reached, cudaEventDisableTiming);
    if (code == cudaSuccess) {
        code = cudaEventRecord(reached, get_stream(awaited));
    }
    if (code == cudaSuccess) {
        code = cudaSetDevice(waiting_device);
    }
    if (code == cudaSuccess) {
        code = cudaStreamWaitEvent(get_stream(waiting), reached, 0);
    }
    if (reached != NULL && smk_held_destroy_event(reached) != cudaSuccess) { /* the wait stays in the stream */
        (void)cudaGetLastError();
    }
    status = smk_cuda_error_report(code, error, "making device %d wait for device %d", waiting_device, awaited_device);
    if (cudaSetDevice(before) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return status;
}

smk_status smk_peer_stream(int device, int index, uint64_t *stream, smk_error *error)
{
    static _Atomic(uint64_t) streams[SMK_DEVICES_MAX]
                                    [SMK_PEER_STREAMS]; /* 0: not made yet; they live as long as the process */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int before = 0;
    if (device < 0 || device >= SMK_DEVICES_MAX) {
        return smk_status_fail(error, SMK_ARGUMENT, "device %d: %d are supported", device, SMK_DEVICES_MAX);
    }
    smk_status status = SMK_OK;
    (void)pthread_mutex_lock(&lock);
    if (atomic_load(&streams[device][index]) == 0 && (status = smk_context_enter(device, &before, error)) == SMK_OK) {
        cudaStream_t made = NULL;
        cudaError_t code = smk_held_create_stream(&made, cudaStreamNonBlocking, 0);
        status = smk_cuda_error_report(code, error, "creating a stream of device %d", device);
        if (status == SMK_OK) {
            atomic_store(&streams[device][index], (uint64_t)(uintptr_t)made);
        }
        smk_context_leave(device, before);
    }
    (void)pthread_mutex_unlock(&lock);
    if (status == SMK_OK) {
        *stream = atomic_load(&streams[device][index]);
    }
    return status;
}
