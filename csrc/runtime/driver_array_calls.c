/* The driver's CUDA arrays, mipmapped ones, and the texture and surface objects over them, on those of the runtime. */
#include "runtime/driver_texture.h"

#include "runtime/stream.h"
#include "runtime/texel_array.h"

#include <string.h>

enum { FLOAT_HALF = 16, FLOAT_SINGLE = 32, SIGNED_FIRST = 8 };
enum { END_HOST = 1, END_DEVICE = 2, END_ARRAY = 3 };
enum { READ_AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16, DISABLE_TRILINEAR = 32, SEAMLESS = 64 };

extern smk_cuda cudaMalloc3DArray(smk_cuda_array **array, const smk_cuda_channels *channels, smk_cuda_extent extent,
                                  unsigned flags);
extern smk_cuda cudaFreeArray(smk_cuda_array *handle);
extern smk_cuda cudaArrayGetInfo(smk_cuda_channels *channels, smk_cuda_extent *extent, unsigned *flags,
                                 const smk_cuda_array *handle);

/* An array, as programs describe it. */
typedef struct array_facts {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_facts;

typedef struct flat_facts {
    size_t width, height;
    int format;
    unsigned channels;
} flat_facts;

smk_cuda_channels smk_driver_read_format(int format, unsigned count)
{
    const bool is_float = format == FLOAT_HALF || format == FLOAT_SINGLE, is_signed = format >= SIGNED_FIRST;
    const int number = is_float ? 0 : is_signed ? format - SIGNED_FIRST : format - 1; /* 0, 1, 2: 8, 16, 32 bits */
    const int bits = is_float ? format : number >= 0 && number < 3 ? 8 << number : 0;
    smk_cuda_channels channels = {.kind = is_float    ? SMK_CHANNELS_FLOAT
                                          : is_signed ? SMK_CHANNELS_SIGNED
                                                      : SMK_CHANNELS_UNSIGNED};
    for (unsigned i = 0; i < count && i < 4; i++) {
        channels.bits[i] = bits;
    }
    return channels;
}

static int write_format(const smk_cuda_channels *channels, unsigned *count)
{
    const int bits = channels->bits[0], number = bits == 8 ? 0 : bits == 16 ? 1 : 2;
    *count = 0;
    while (*count < 4 && channels->bits[*count] != 0) {
        ++*count;
    }
    return channels->kind == SMK_CHANNELS_FLOAT    ? bits
           : channels->kind == SMK_CHANNELS_SIGNED ? SIGNED_FIRST + number
                                                   : 1 + number;
}

/* Arrays -------------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cuArray3DCreate_v2(smk_cuda_array **array, const array_facts *facts)
{
    if (array == NULL || facts == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const smk_cuda_channels channels = smk_driver_read_format(facts->format, facts->channels);
    const smk_cuda_extent extent = {facts->width, facts->height, facts->depth};
    return smk_driver_code(cudaMalloc3DArray(array, &channels, extent, facts->flags));
}

SMK_EXPORT smk_cuda cuArrayCreate_v2(smk_cuda_array **array, const flat_facts *facts)
{
    if (facts == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const array_facts whole = {facts->width, facts->height, 0, facts->format, facts->channels, 0};
    return cuArray3DCreate_v2(array, &whole);
}

SMK_EXPORT smk_cuda cuArrayDestroy(smk_cuda_array *array)
{
    return array == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : smk_driver_code(cudaFreeArray(array));
}

SMK_EXPORT smk_cuda cuArray3DGetDescriptor_v2(array_facts *facts, const smk_cuda_array *array)
{
    smk_cuda_channels channels;
    smk_cuda_extent extent;
    const smk_cuda code = cudaArrayGetInfo(&channels, &extent, &facts->flags, array);
    if (code == SMK_CUDA_Success) {
        facts->width = extent.width;
        facts->height = extent.height;
        facts->depth = extent.depth;
        facts->format = write_format(&channels, &facts->channels);
    }
    return smk_driver_code(code);
}

SMK_EXPORT smk_cuda cuArrayGetDescriptor_v2(flat_facts *facts, const smk_cuda_array *array)
{
    array_facts whole;
    const smk_cuda code = cuArray3DGetDescriptor_v2(&whole, array);
    if (code == SMK_CUDA_Success) {
        *facts = (flat_facts){whole.width, whole.height, whole.format, whole.channels};
    }
    return code;
}

/* Mipmapped arrays ---------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cuMipmappedArrayCreate(smk_cuda_mipmapped **array, const array_facts *facts, unsigned levels)
{
    if (facts == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const smk_cuda_channels channels = smk_driver_read_format(facts->format, facts->channels);
    const smk_cuda_extent extent = {facts->width, facts->height, facts->depth};
    return smk_driver_code(cudaMallocMipmappedArray(array, &channels, extent, levels, facts->flags));
}

SMK_EXPORT smk_cuda cuMipmappedArrayGetLevel(smk_cuda_array **level, const smk_cuda_mipmapped *array, unsigned number)
{
    return smk_driver_code(cudaGetMipmappedArrayLevel(level, array, number));
}

SMK_EXPORT smk_cuda cuMipmappedArrayDestroy(smk_cuda_mipmapped *array)
{
    return array == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : smk_driver_code(cudaFreeMipmappedArray(array));
}

/* Copies -------------------------------------------------------------------------------------------------- */

/* One end of a copy of a box; x in bytes. */
typedef struct box_end {
    size_t x, y, z, level;
    int memory;
    const void *host, *device;
    const smk_cuda_array *array;
    void *reserved;
    size_t pitch, height;
} box_end;

typedef struct box_copy {
    box_end source, target;
    size_t width, height, depth;
} box_copy;

static smk_cuda find_end(const box_end *end, const box_copy *copy, char **address, size_t *pitch, size_t *slice)
{
    const smk_cuda_position at = {end->x, end->y, end->z};
    const smk_cuda_extent box = {copy->width, copy->height, copy->depth};
    if (end->memory == END_ARRAY) {
        const smk_cuda_array *array = smk_texel_array_find(end->array);
        if (array == NULL) {
            return SMK_CUDA_ErrorInvalidResourceHandle;
        }
        *pitch = array->row_bytes;
        *slice = array->slice_bytes;
        return smk_texel_array_locate(array, &at, &box, address);
    }
    *pitch = end->pitch == 0 ? copy->width : end->pitch;
    *slice = *pitch * (end->height == 0 ? copy->height : end->height);
    *address = (char *)(uintptr_t)(end->memory == END_HOST ? end->host : end->device) + end->z * *slice +
               end->y * *pitch + end->x;
    return SMK_CUDA_Success;
}

smk_cuda smk_driver_make_copy(const void *box, smk_copy *copy)
{
    const box_copy *wanted = box;
    char *to = NULL, *from = NULL;
    *copy = (smk_copy){
        .width = wanted->width, .height = wanted->height, .depth = wanted->depth, .kind = SMK_COPY_BY_ADDRESS};
    smk_cuda code = find_end(&wanted->target, wanted, &to, &copy->target_pitch, &copy->target_slice);
    if (code == SMK_CUDA_Success) {
        code = find_end(&wanted->source, wanted, &from, &copy->source_pitch, &copy->source_slice);
    }
    copy->target = to;
    copy->source = from;
    return code;
}

static box_end describe_end(const void *address, size_t pitch, size_t slice)
{
    const bool host = smk_copy_find_memory(address) <= SMK_MEMORY_HOST;
    return (box_end){.memory = host ? END_HOST : END_DEVICE,
                     .host = host ? address : NULL,
                     .device = host ? NULL : address,
                     .pitch = pitch,
                     .height = pitch == 0 ? 0 : slice / pitch};
}

void smk_driver_describe_copy(const smk_copy *copy, void *box)
{
    const box_copy described = {.source = describe_end(copy->source, copy->source_pitch, copy->source_slice),
                                .target = describe_end(copy->target, copy->target_pitch, copy->target_slice),
                                .width = copy->width,
                                .height = copy->height,
                                .depth = copy->depth};
    memcpy(box, &described, sizeof described);
}

static smk_cuda copy_box(const box_copy *wanted, smk_cuda_stream_handle stream, bool waits)
{
    smk_work work = {.kind = SMK_WORK_COPY};
    const smk_cuda code = smk_driver_make_copy(wanted, &work.as.copy);
    return smk_driver_code(code == SMK_CUDA_Success ? smk_stream_call(stream, &work, waits) : code);
}

SMK_EXPORT smk_cuda cuMemcpy3D_v2(const box_copy *wanted)
{
    return copy_box(wanted, NULL, true);
}
SMK_EXPORT_AS(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);
SMK_EXPORT_AS(cuMemcpy3DPeer, cuMemcpy3D_v2); /* contexts stand where others have nothing, and there is one */
SMK_EXPORT_AS(cuMemcpy3DPeer_ptds, cuMemcpy3D_v2);

SMK_EXPORT smk_cuda cuMemcpy3DAsync_v2(const box_copy *wanted, smk_cuda_stream_handle stream)
{
    return copy_box(wanted, stream, false);
}
SMK_EXPORT_AS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);
SMK_EXPORT_AS(cuMemcpy3DPeerAsync, cuMemcpy3DAsync_v2);
SMK_EXPORT_AS(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DAsync_v2);

/* Bytes in the order of memory, from byte `at` of the array on. */
static smk_cuda copy_bytes(const smk_cuda_array *array, size_t at, void *memory, size_t bytes, bool writes,
                           smk_cuda_stream_handle stream, bool waits)
{
    const smk_cuda_array *found = smk_texel_array_find(array);
    if (found == NULL) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    if (at > found->slice_bytes || bytes > found->slice_bytes - at) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    void *texels = found->texels + at;
    return smk_driver_code(
        smk_stream_copy(writes ? texels : memory, writes ? memory : texels, bytes, SMK_COPY_BY_ADDRESS, stream, waits));
}

SMK_EXPORT smk_cuda cuMemcpyHtoA_v2(smk_cuda_array *array, size_t at, const void *source, size_t bytes)
{
    return copy_bytes(array, at, (void *)(uintptr_t)source, bytes, true, NULL, true);
}
SMK_EXPORT_AS(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA_v2);
SMK_EXPORT_AS(cuMemcpyDtoA_v2, cuMemcpyHtoA_v2);
SMK_EXPORT_AS(cuMemcpyDtoA_v2_ptds, cuMemcpyHtoA_v2);

SMK_EXPORT smk_cuda cuMemcpyHtoAAsync_v2(smk_cuda_array *array, size_t at, const void *source, size_t bytes,
                                         smk_cuda_stream_handle stream)
{
    return copy_bytes(array, at, (void *)(uintptr_t)source, bytes, true, stream, false);
}
SMK_EXPORT_AS(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync_v2);

SMK_EXPORT smk_cuda cuMemcpyAtoH_v2(void *target, const smk_cuda_array *array, size_t at, size_t bytes)
{
    return copy_bytes(array, at, target, bytes, false, NULL, true);
}
SMK_EXPORT_AS(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH_v2);
SMK_EXPORT_AS(cuMemcpyAtoD_v2, cuMemcpyAtoH_v2);
SMK_EXPORT_AS(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoH_v2);

SMK_EXPORT smk_cuda cuMemcpyAtoHAsync_v2(void *target, const smk_cuda_array *array, size_t at, size_t bytes,
                                         smk_cuda_stream_handle stream)
{
    return copy_bytes(array, at, target, bytes, false, stream, false);
}
SMK_EXPORT_AS(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync_v2);

/* Objects ------------------------------------------------------------------------------------------------- */

static smk_cuda_resource read_resource(const smk_driver_resource *given)
{
    smk_cuda_resource made = {.type = given->kind};
    if (given->kind == SMK_RESOURCE_LINEAR) {
        made.as.linear.address = given->as.linear.address;
        made.as.linear.channels = smk_driver_read_format(given->as.linear.format, given->as.linear.channels);
        made.as.linear.bytes = given->as.linear.bytes;
    } else if (given->kind == SMK_RESOURCE_ROWS) {
        made.as.rows.address = given->as.rows.address;
        made.as.rows.channels = smk_driver_read_format(given->as.rows.format, given->as.rows.channels);
        made.as.rows.width = given->as.rows.width;
        made.as.rows.height = given->as.rows.height;
        made.as.rows.pitch = given->as.rows.pitch;
    } else if (given->kind == SMK_RESOURCE_MIPMAPPED) {
        made.as.mipmapped = given->as.mipmapped;
    } else { /* an array, or what creating the object refuses */
        made.as.array = given->as.array;
    }
    return made;
}

/* The driver reads integers as numbers from 0, or -1, to 1 where it is not told otherwise; whole numbers of 32 bits, and
 * floats, are read as they are. */
static smk_cuda_sampling read_sampling(const smk_driver_sampling *given, const smk_driver_resource *resource)
{
    smk_cuda_sampling made = {.filters = given->filter,
                              .srgb = (given->flags & SRGB) != 0,
                              .normalized = (given->flags & NORMALIZED) != 0,
                              .max_anisotropy = given->anisotropy,
                              .level_filters = given->level_filter,
                              .level_bias = given->bias,
                              .level_least = given->least,
                              .level_most = given->most,
                              .no_trilinear_shortcuts = (given->flags & DISABLE_TRILINEAR) != 0,
                              .seamless_cube = (given->flags & SEAMLESS) != 0};
    smk_cuda_channels channels = {.kind = SMK_CHANNELS_FLOAT};
    if (resource->kind == SMK_RESOURCE_LINEAR) {
        channels = smk_driver_read_format(resource->as.linear.format, 1);
    } else if (resource->kind == SMK_RESOURCE_ROWS) {
        channels = smk_driver_read_format(resource->as.rows.format, 1);
    } else {
        const smk_cuda_mipmapped *levels =
            resource->kind == SMK_RESOURCE_MIPMAPPED ? smk_mipmapped_array_find(resource->as.mipmapped) : NULL;
        const smk_cuda_array *array = levels != NULL ? levels->level[0] : smk_texel_array_find(resource->as.array);
        channels = array != NULL ? array->channels : channels;
    }
    made.reads_floats =
        (given->flags & READ_AS_INTEGER) == 0 && channels.kind != SMK_CHANNELS_FLOAT && channels.bits[0] < 32;
    memcpy(made.mode, given->mode, sizeof made.mode);
    memcpy(made.border, given->border, sizeof made.border);
    return made;
}

SMK_EXPORT smk_cuda cuTexObjectCreate(unsigned long long *object, const smk_driver_resource *resource,
                                      const smk_driver_sampling *sampling, const smk_cuda_view *view)
{
    if (object == NULL || resource == NULL || sampling == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const smk_cuda_resource memory = read_resource(resource);
    const smk_cuda_sampling reads = read_sampling(sampling, resource);
    return smk_driver_code(cudaCreateTextureObject(object, &memory, &reads, view));
}

SMK_EXPORT smk_cuda cuTexObjectDestroy(unsigned long long object)
{
    return smk_driver_code(cudaDestroyTextureObject(object));
}

SMK_EXPORT smk_cuda cuSurfObjectCreate(unsigned long long *object, const smk_driver_resource *resource)
{
    if (resource == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const smk_cuda_resource memory = read_resource(resource);
    return smk_driver_code(cudaCreateSurfaceObject(object, &memory));
}

SMK_EXPORT smk_cuda cuSurfObjectDestroy(unsigned long long object)
{
    return smk_driver_code(cudaDestroySurfaceObject(object));
}
