/* Copies and fills, of addresses and of variables. */
#include "runtime/copy.h"
#include "runtime/outcome.h"
#include "runtime/session.h"
#include "runtime/stream.h"
#include "runtime/texel_array.h"

static smk_work box(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                    size_t height, int kind)
{
    return (smk_work){.kind = SMK_WORK_COPY,
                      .as.copy = {.target = target,
                                  .source = source,
                                  .target_pitch = target_pitch,
                                  .source_pitch = source_pitch,
                                  .width = width,
                                  .height = height,
                                  .depth = 1,
                                  .kind = kind}};
}

SMK_EXPORT smk_cuda cudaMemcpy(void *target, const void *source, size_t bytes, int kind)
{
    const smk_work work = box(target, bytes, source, bytes, bytes, 1, kind);
    return smk_stream_call(NULL, &work, true);
}
SMK_EXPORT_AS(cudaMemcpy_ptds, cudaMemcpy);

SMK_EXPORT smk_cuda cudaMemcpyAsync(void *target, const void *source, size_t bytes, int kind,
                                    smk_cuda_stream_handle stream)
{
    const smk_work work = box(target, bytes, source, bytes, bytes, 1, kind);
    return smk_stream_call(stream, &work, false);
}
SMK_EXPORT_AS(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);

static smk_cuda copy_rows(const smk_work *work, smk_cuda_stream_handle stream, bool waits)
{
    const smk_copy *copy = &work->as.copy;
    if (copy->height > 1 && (copy->width > copy->target_pitch || copy->width > copy->source_pitch)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidPitchValue);
    }
    return smk_stream_call(stream, work, waits);
}

SMK_EXPORT smk_cuda cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                                 size_t width, size_t height, int kind)
{
    const smk_work work = box(target, target_pitch, source, source_pitch, width, height, kind);
    return copy_rows(&work, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpy2D_ptds, cudaMemcpy2D);

SMK_EXPORT smk_cuda cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                                      size_t width, size_t height, int kind, smk_cuda_stream_handle stream)
{
    const smk_work work = box(target, target_pitch, source, source_pitch, width, height, kind);
    return copy_rows(&work, stream, false);
}
SMK_EXPORT_AS(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);

SMK_EXPORT smk_cuda cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device, size_t bytes)
{
    if (target_device != 0 || source_device != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
    }
    return cudaMemcpy(target, source, bytes, SMK_COPY_ON_DEVICE);
}

SMK_EXPORT smk_cuda cudaMemcpyPeerAsync(void *target, int target_device, const void *source, int source_device,
                                        size_t bytes, smk_cuda_stream_handle stream)
{
    if (target_device != 0 || source_device != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
    }
    return cudaMemcpyAsync(target, source, bytes, SMK_COPY_ON_DEVICE, stream);
}

/* Fills --------------------------------------------------------------------------------------------------- */

static smk_work fill(void *target, size_t pitch, int value, size_t width, size_t height)
{
    return (smk_work){.kind = SMK_WORK_FILL,
                      .as.fill = {.target = target,
                                  .pitch = pitch,
                                  .width = width,
                                  .height = height,
                                  .depth = 1,
                                  .value = (unsigned)value & 0xffU,
                                  .element_bytes = 1}};
}

SMK_EXPORT smk_cuda cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                                      smk_cuda_stream_handle stream)
{
    const smk_work work = fill(target, pitch, value, width, height);
    return smk_outcome_return(smk_stream_submit(stream, &work));
}
SMK_EXPORT_AS(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);

SMK_EXPORT smk_cuda cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(target, pitch, value, width, height, NULL);
}
SMK_EXPORT_AS(cudaMemset2D_ptds, cudaMemset2D);

SMK_EXPORT smk_cuda cudaMemsetAsync(void *target, int value, size_t bytes, smk_cuda_stream_handle stream)
{
    return cudaMemset2DAsync(target, bytes, value, bytes, 1, stream);
}
SMK_EXPORT_AS(cudaMemsetAsync_ptsz, cudaMemsetAsync);

SMK_EXPORT smk_cuda cudaMemset(void *target, int value, size_t bytes)
{
    return cudaMemset2DAsync(target, bytes, value, bytes, 1, NULL);
}
SMK_EXPORT_AS(cudaMemset_ptds, cudaMemset);

SMK_EXPORT smk_cuda cudaMemset3DAsync(smk_cuda_pitched target, int value, smk_cuda_extent extent,
                                      smk_cuda_stream_handle stream)
{
    smk_work work = fill(target.address, target.pitch, value, extent.width, extent.height);
    work.as.fill.slice = target.pitch * target.height;
    work.as.fill.depth = extent.depth;
    return smk_outcome_return(smk_stream_submit(stream, &work));
}
SMK_EXPORT_AS(cudaMemset3DAsync_ptsz, cudaMemset3DAsync);

SMK_EXPORT smk_cuda cudaMemset3D(smk_cuda_pitched target, int value, smk_cuda_extent extent)
{
    return cudaMemset3DAsync(target, value, extent, NULL);
}
SMK_EXPORT_AS(cudaMemset3D_ptds, cudaMemset3D);

/* Variables ----------------------------------------------------------------------------------------------- */

/* The address of a byte of a variable, of which `bytes` must lie inside it. */
static smk_cuda locate(const void *symbol, size_t offset, size_t bytes, void **address)
{
    smk_device_variable *variable = NULL;
    smk_cuda code = smk_binaries_find_variable(symbol, &variable);
    if (code == SMK_CUDA_Success && (offset > variable->bytes || bytes > variable->bytes - offset)) {
        smk_outcome_say("a copy of %zu bytes at offset %zu leaves the %llu bytes of %s", bytes, offset,
                        (unsigned long long)variable->bytes, variable->name);
        code = SMK_CUDA_ErrorInvalidValue;
    }
    if (code == SMK_CUDA_Success) {
        *address = (void *)(uintptr_t)(variable->address + offset); // NOLINT(performance-no-int-to-ptr)
    }
    return code;
}

static smk_cuda copy_symbol(const void *symbol, size_t offset, void *host_target, const void *host_source, size_t bytes,
                            int kind, smk_cuda_stream_handle stream, bool waits)
{
    void *address = NULL;
    smk_cuda code = locate(symbol, offset, bytes, &address);
    if (code != SMK_CUDA_Success) {
        return smk_outcome_return(code);
    }
    const bool to = host_source != NULL;
    const smk_work work = box(to ? address : host_target, bytes, to ? host_source : address, bytes, bytes, 1, kind);
    return smk_stream_call(stream, &work, waits);
}

SMK_EXPORT smk_cuda cudaMemcpyToSymbol(const void *symbol, const void *source, size_t bytes, size_t offset, int kind)
{
    return copy_symbol(symbol, offset, NULL, source, bytes, kind, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);

SMK_EXPORT smk_cuda cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t bytes, size_t offset,
                                            int kind, smk_cuda_stream_handle stream)
{
    return copy_symbol(symbol, offset, NULL, source, bytes, kind, stream, false);
}
SMK_EXPORT_AS(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);

SMK_EXPORT smk_cuda cudaMemcpyFromSymbol(void *target, const void *symbol, size_t bytes, size_t offset, int kind)
{
    return copy_symbol(symbol, offset, target, NULL, bytes, kind, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);

SMK_EXPORT smk_cuda cudaMemcpyFromSymbolAsync(void *target, const void *symbol, size_t bytes, size_t offset, int kind,
                                              smk_cuda_stream_handle stream)
{
    return copy_symbol(symbol, offset, target, NULL, bytes, kind, stream, false);
}
SMK_EXPORT_AS(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);

SMK_EXPORT smk_cuda cudaGetSymbolAddress(void **address, const void *symbol)
{
    return smk_outcome_return(locate(symbol, 0, 0, address));
}

SMK_EXPORT smk_cuda cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    smk_device_variable *variable = NULL;
    smk_cuda code = smk_binaries_find_variable(symbol, &variable);
    *bytes = code == SMK_CUDA_Success ? (size_t)variable->bytes : 0;
    return smk_outcome_return(code);
}

/* Volumes ------------------------------------------------------------------------------------------------- */

static smk_cuda copy_volume(const smk_cuda_copy3d *wanted, smk_cuda_stream_handle stream, bool waits)
{
    smk_work work = {.kind = SMK_WORK_COPY};
    const smk_cuda code = smk_texel_array_make_copy(wanted, &work.as.copy);
    return code == SMK_CUDA_Success ? smk_stream_call(stream, &work, waits) : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaMemcpy3D(const smk_cuda_copy3d *copy)
{
    return copy_volume(copy, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpy3D_ptds, cudaMemcpy3D);

SMK_EXPORT smk_cuda cudaMemcpy3DAsync(const smk_cuda_copy3d *copy, smk_cuda_stream_handle stream)
{
    return copy_volume(copy, stream, false);
}
SMK_EXPORT_AS(cudaMemcpy3DAsync_ptsz, cudaMemcpy3DAsync);

static smk_cuda copy_peers(const smk_cuda_peer_copy3d *wanted, smk_cuda_stream_handle stream, bool waits)
{
    const smk_cuda_copy3d copy = {.source_array = wanted->source_array,
                                  .source_position = wanted->source_position,
                                  .source = wanted->source,
                                  .target_array = wanted->target_array,
                                  .target_position = wanted->target_position,
                                  .target = wanted->target,
                                  .extent = wanted->extent,
                                  .kind = SMK_COPY_ON_DEVICE};
    if (wanted->source_device != 0 || wanted->target_device != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
    }
    return copy_volume(&copy, stream, waits);
}

SMK_EXPORT smk_cuda cudaMemcpy3DPeer(const smk_cuda_peer_copy3d *copy)
{
    return copy_peers(copy, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpy3DPeer_ptds, cudaMemcpy3DPeer);

SMK_EXPORT smk_cuda cudaMemcpy3DPeerAsync(const smk_cuda_peer_copy3d *copy, smk_cuda_stream_handle stream)
{
    return copy_peers(copy, stream, false);
}
SMK_EXPORT_AS(cudaMemcpy3DPeerAsync_ptsz, cudaMemcpy3DPeerAsync);
