/* The driver's memory: allocations, copies and fills by address. */
#include "runtime/allocations.h"
#include "runtime/driver.h"
#include "runtime/outcome.h"
#include "runtime/session.h"
#include "runtime/stream.h"
#include "runtime/texel_array.h"

enum {
    POINTER_CONTEXT = 1,
    POINTER_MEMORY = 2,
    POINTER_DEVICE = 3,
    POINTER_HOST = 4,
    POINTER_SYNC = 6,
    POINTER_NUMBER = 7,
    POINTER_MANAGED = 8,
    POINTER_ORDINAL = 9,
    POINTER_START = 11,
    POINTER_BYTES = 12,
    POINTER_MAPPED = 13
};

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 };

extern smk_cuda cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
extern smk_cuda cudaPointerGetAttributes(smk_cuda_pointer_facts *facts, const void *address);
extern smk_cuda cudaMemAdvise(const void *address, size_t bytes, int advice, smk_cuda_location where);
extern smk_cuda cudaMemPrefetchAsync(const void *address, size_t bytes, smk_cuda_location where, unsigned flags,
                                     smk_cuda_stream_handle stream);
extern smk_cuda cuDevicePrimaryCtxRetain(void **context, int device);

/* The driver refuses what the runtime gives no memory for. */
SMK_EXPORT smk_cuda cuMemAlloc_v2(void **address, size_t bytes)
{
    if (bytes == 0) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const smk_cuda code = smk_outcome_begin();
    return smk_driver_code(code == SMK_CUDA_Success ? smk_allocations_create(bytes, address) : code);
}

SMK_EXPORT smk_cuda cuMemAllocPitch_v2(void **address, size_t *pitch, size_t width, size_t height,
                                       unsigned element_bytes)
{
    (void)element_bytes;
    return width == 0 || height == 0 ? SMK_CUDA_ErrorInvalidValue
                                     : smk_driver_code(cudaMallocPitch(address, pitch, width, height));
}

SMK_EXPORT smk_cuda cuMemGetAddressRange_v2(uint64_t *start, size_t *bytes, uint64_t address)
{
    uint64_t found = 0, length = 0;
    bool shared = false;
    if (!smk_memory_find(smk_session_memory(), address, &found, &length, &shared)) {
        return SMK_CUDA_ErrorSymbolNotFound;
    }
    if (start != NULL) {
        *start = found;
    }
    if (bytes != NULL) {
        *bytes = (size_t)length;
    }
    return SMK_CUDA_Success;
}

/* One fact of an address of which all is known. */
static smk_cuda tell(void *value, int attribute, uint64_t address, const smk_cuda_pointer_facts *facts)
{
    uint64_t start = 0;
    size_t bytes = 0;
    switch (attribute) {
    case POINTER_CONTEXT:
        return cuDevicePrimaryCtxRetain((void **)value, 0);
    case POINTER_MEMORY:
        *(unsigned *)value = facts->type == SMK_MEMORY_HOST ? MEMORY_HOST : MEMORY_DEVICE;
        return SMK_CUDA_Success;
    case POINTER_DEVICE:
        *(void **)value = facts->device_address;
        return SMK_CUDA_Success;
    case POINTER_HOST:
        *(void **)value = facts->host_address;
        return facts->type == SMK_MEMORY_DEVICE ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success;
    case POINTER_SYNC:
        *(unsigned *)value = 1;
        return SMK_CUDA_Success;
    case POINTER_MANAGED:
        *(unsigned *)value = facts->type == SMK_MEMORY_MANAGED;
        return SMK_CUDA_Success;
    case POINTER_MAPPED:
        *(unsigned *)value = 1;
        return SMK_CUDA_Success;
    case POINTER_ORDINAL:
        *(int *)value = 0;
        return SMK_CUDA_Success;
    case POINTER_NUMBER:
    case POINTER_START:
        *(uint64_t *)value = cuMemGetAddressRange_v2(&start, &bytes, address) == SMK_CUDA_Success ? start : address;
        return SMK_CUDA_Success;
    case POINTER_BYTES:
        (void)cuMemGetAddressRange_v2(&start, &bytes, address);
        *(size_t *)value = bytes;
        return SMK_CUDA_Success;
    }
    return SMK_CUDA_ErrorNotSupported;
}

SMK_EXPORT smk_cuda cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    smk_cuda_pointer_facts facts;
    const void *pointer = (const void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    const smk_cuda code = cudaPointerGetAttributes(&facts, pointer);
    if (code != SMK_CUDA_Success || facts.type == SMK_MEMORY_UNKNOWN) {
        return code != SMK_CUDA_Success ? smk_driver_code(code) : SMK_CUDA_ErrorInvalidValue;
    }
    return tell(value, attribute, address, &facts);
}

/* Leaves what is not known of an address as the caller has it. */
SMK_EXPORT smk_cuda cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uint64_t address)
{
    for (unsigned i = 0; i < count; i++) {
        (void)cuPointerGetAttribute(values[i], attributes[i], address);
    }
    return SMK_CUDA_Success;
}

/* A device by its number becomes a location, which says what it is: the host was -1. */
static smk_cuda_location locate(int device)
{
    return (smk_cuda_location){device < 0 ? SMK_LOCATION_HOST : SMK_LOCATION_DEVICE, device < 0 ? 0 : device};
}

SMK_EXPORT smk_cuda cuMemAdvise(const void *address, size_t bytes, int advice, int device)
{
    return smk_driver_code(cudaMemAdvise(address, bytes, advice, locate(device)));
}

SMK_EXPORT smk_cuda cuMemPrefetchAsync(const void *address, size_t bytes, int device, smk_cuda_stream_handle stream)
{
    return smk_driver_code(cudaMemPrefetchAsync(address, bytes, locate(device), 0, stream));
}
SMK_EXPORT_AS(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync);

/* Copies -------------------------------------------------------------------------------------------------- */

#define COPY(name, kind)                                                                                               \
    SMK_EXPORT smk_cuda name(void *target, const void *source, size_t bytes)                                           \
    {                                                                                                                  \
        return smk_driver_code(smk_stream_copy(target, source, bytes, kind, NULL, true));                              \
    }                                                                                                                  \
    SMK_EXPORT_AS(name##_ptds, name);
#define COPY_ASYNC(name, kind)                                                                                         \
    SMK_EXPORT smk_cuda name(void *target, const void *source, size_t bytes, smk_cuda_stream_handle stream)            \
    {                                                                                                                  \
        return smk_driver_code(smk_stream_copy(target, source, bytes, kind, stream, false));                           \
    }                                                                                                                  \
    SMK_EXPORT_AS(name##_ptsz, name);
COPY(cuMemcpy, SMK_COPY_BY_ADDRESS)
COPY(cuMemcpyHtoD_v2, SMK_COPY_TO_DEVICE)
COPY(cuMemcpyDtoH_v2, SMK_COPY_TO_HOST)
COPY(cuMemcpyDtoD_v2, SMK_COPY_ON_DEVICE)
COPY_ASYNC(cuMemcpyAsync, SMK_COPY_BY_ADDRESS)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, SMK_COPY_TO_DEVICE)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, SMK_COPY_TO_HOST)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, SMK_COPY_ON_DEVICE)
#undef COPY
#undef COPY_ASYNC

/* There is one device: contexts of both ends are of it. */
SMK_EXPORT smk_cuda cuMemcpyPeer(void *target, const void *to, const void *source, const void *from, size_t bytes)
{
    (void)to, (void)from;
    return cuMemcpyDtoD_v2(target, source, bytes);
}
SMK_EXPORT_AS(cuMemcpyPeer_ptds, cuMemcpyPeer);

SMK_EXPORT smk_cuda cuMemcpyPeerAsync(void *target, const void *to, const void *source, const void *from, size_t bytes,
                                      smk_cuda_stream_handle stream)
{
    (void)to, (void)from;
    return cuMemcpyDtoDAsync_v2(target, source, bytes, stream);
}
SMK_EXPORT_AS(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);

enum { END_HOST = 1, END_ARRAY = 3 };

static smk_cuda find_end(const smk_driver_end *end, size_t width, size_t height, char **address, size_t *pitch)
{
    const smk_cuda_position at = {end->x, end->y, 0};
    const smk_cuda_extent box = {width, height, 1};
    if (end->memory == END_ARRAY) {
        const smk_cuda_array *array = smk_texel_array_find(end->array);
        *pitch = array == NULL ? 0 : array->row_bytes;
        return array == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : smk_texel_array_locate(array, &at, &box, address);
    }
    *pitch = end->pitch == 0 ? width : end->pitch;
    *address = (char *)(end->memory == END_HOST ? end->host : end->device) + end->y * *pitch + end->x;
    return height > 1 && width > *pitch ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success;
}

static smk_cuda copy_rows(const smk_driver_rows *wanted, smk_cuda_stream_handle stream, bool waits)
{
    char *to = NULL, *from = NULL;
    size_t to_pitch = 0, from_pitch = 0;
    smk_cuda code = find_end(&wanted->target, wanted->width, wanted->height, &to, &to_pitch);
    if (code == SMK_CUDA_Success) {
        code = find_end(&wanted->source, wanted->width, wanted->height, &from, &from_pitch);
    }
    if (code != SMK_CUDA_Success) {
        return smk_driver_code(code);
    }
    const smk_work work = {.kind = SMK_WORK_COPY,
                           .as.copy = {.target = to,
                                       .source = from,
                                       .target_pitch = to_pitch,
                                       .source_pitch = from_pitch,
                                       .width = wanted->width,
                                       .height = wanted->height,
                                       .depth = 1,
                                       .kind = SMK_COPY_BY_ADDRESS}};
    return smk_driver_code(smk_stream_call(stream, &work, waits));
}

SMK_EXPORT smk_cuda cuMemcpy2D_v2(const smk_driver_rows *wanted)
{
    return copy_rows(wanted, NULL, true);
}
SMK_EXPORT_AS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
SMK_EXPORT_AS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
SMK_EXPORT_AS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2);

SMK_EXPORT smk_cuda cuMemcpy2DAsync_v2(const smk_driver_rows *wanted, smk_cuda_stream_handle stream)
{
    return copy_rows(wanted, stream, false);
}
SMK_EXPORT_AS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);

/* Fills --------------------------------------------------------------------------------------------------- */

static smk_cuda fill(void *target, size_t pitch, unsigned value, unsigned element_bytes, size_t width, size_t height,
                     smk_cuda_stream_handle stream)
{
    const smk_work work = {.kind = SMK_WORK_FILL,
                           .as.fill = {.target = target,
                                       .pitch = pitch,
                                       .width = width,
                                       .height = height,
                                       .depth = 1,
                                       .value = value,
                                       .element_bytes = element_bytes}};
    return smk_driver_code(smk_stream_call(stream, &work, false));
}

#define FILL(bits, type)                                                                                               \
    SMK_EXPORT smk_cuda cuMemsetD##bits##_v2(void *target, type value, size_t count)                                   \
    {                                                                                                                  \
        return fill(target, 0, value, (bits) / 8, count, 1, NULL);                                                     \
    }                                                                                                                  \
    SMK_EXPORT_AS(cuMemsetD##bits##_v2_ptds, cuMemsetD##bits##_v2);                                                    \
    SMK_EXPORT smk_cuda cuMemsetD##bits##Async(void *target, type value, size_t count, smk_cuda_stream_handle stream)  \
    {                                                                                                                  \
        return fill(target, 0, value, (bits) / 8, count, 1, stream);                                                   \
    }                                                                                                                  \
    SMK_EXPORT_AS(cuMemsetD##bits##Async_ptsz, cuMemsetD##bits##Async);                                                \
    SMK_EXPORT smk_cuda cuMemsetD2D##bits##_v2(void *target, size_t pitch, type value, size_t width, size_t height)    \
    {                                                                                                                  \
        return fill(target, pitch, value, (bits) / 8, width, height, NULL);                                            \
    }                                                                                                                  \
    SMK_EXPORT_AS(cuMemsetD2D##bits##_v2_ptds, cuMemsetD2D##bits##_v2);                                                \
    SMK_EXPORT smk_cuda cuMemsetD2D##bits##Async(void *target, size_t pitch, type value, size_t width, size_t height,  \
                                                 smk_cuda_stream_handle stream)                                        \
    {                                                                                                                  \
        return fill(target, pitch, value, (bits) / 8, width, height, stream);                                          \
    }                                                                                                                  \
    SMK_EXPORT_AS(cuMemsetD2D##bits##Async_ptsz, cuMemsetD2D##bits##Async);
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)
#undef FILL
