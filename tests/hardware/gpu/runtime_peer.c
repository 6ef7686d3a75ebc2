/* What csrc/gpu/peer.c asks of the runtime that runtime.c is: copies between its two devices, done at once. */
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <string.h>

/* What tests set and look at. */
atomic_int runtime_reaches;   /* the devices reach each other's memory */
atomic_int runtime_enabled;   /* times that a device was given access to another one */
atomic_int runtime_peer_from; /* devices of the last copy between two, and its stream */
atomic_int runtime_peer_to;
void *runtime_peer_stream;

static void copy_rows(const struct cudaPitchedPtr *to, const struct cudaPitchedPtr *from, size_t bytes, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        memcpy((char *)to->ptr + i * to->pitch, (const char *)from->ptr + i * from->pitch, bytes);
    }
}

cudaError_t cudaDeviceCanAccessPeer(int *possible, int device, int peer)
{
    (void)device, (void)peer;
    *possible = runtime_reaches;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer, (void)flags;
    runtime_enabled++;
    return cudaErrorPeerAccessAlreadyEnabled; /* as where another library has done it */
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count)
{
    (void)pool, (void)access, (void)count;
    return cudaErrorNotSupported;
}

cudaError_t cudaMemcpyPeerAsync(void *target, int to, const void *source, int from, size_t bytes, cudaStream_t stream)
{
    runtime_peer_to = to;
    runtime_peer_from = from;
    runtime_peer_stream = stream;
    memcpy(target, source, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t bytes,
                              size_t rows, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct cudaPitchedPtr to = {target, target_pitch, bytes, rows};
    const struct cudaPitchedPtr from = {(void *)source, source_pitch, bytes, rows};
    (void)kind, (void)stream;
    copy_rows(&to, &from, bytes, rows);
    return cudaSuccess;
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *copy, cudaStream_t stream)
{
    if (copy->extent.depth != 1 || copy->srcArray != NULL || copy->dstArray != NULL) {
        return cudaErrorInvalidValue;
    }
    runtime_peer_to = copy->dstDevice;
    runtime_peer_from = copy->srcDevice;
    runtime_peer_stream = stream;
    copy_rows(&copy->dstPtr, &copy->srcPtr, copy->extent.width, copy->extent.height);
    return cudaSuccess;
}
