#include "runtime/texel_array.h"

#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/allocations.h"
#include "runtime/outcome.h"

#include <pthread.h>

enum { CHANNELS = 4, FACES = 6, FLAGS_KNOWN = 15, ARRAY_ALIGNMENT = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static smk_address_map arrays; /* under it: by handle, which is the array itself */

smk_cuda_array *smk_texel_array_find(const smk_cuda_array *handle)
{
    (void)pthread_mutex_lock(&lock);
    smk_cuda_array *found = smk_address_map_get(&arrays, handle);
    (void)pthread_mutex_unlock(&lock);
    return found;
}

smk_cuda smk_texel_array_read_channels(const smk_cuda_channels *channels, smk_texture_shape *shape)
{
    unsigned count = 0;
    int kind = channels->kind;
    while (count < CHANNELS && channels->bits[count] > 0) {
        if (channels->bits[count] != channels->bits[0]) {
            return SMK_CUDA_ErrorInvalidChannelDescriptor;
        }
        count++;
    }
    for (unsigned i = count; i < CHANNELS; i++) {
        if (channels->bits[i] != 0) {
            return SMK_CUDA_ErrorInvalidChannelDescriptor;
        }
    }
    if (kind >= SMK_CHANNELS_COMPRESSED) {
        smk_outcome_say("textures of compressed blocks or of packed channels are not simulated");
        return SMK_CUDA_ErrorNotSupported;
    }
    shape->reads_floats = kind >= SMK_CHANNELS_UNSIGNED_NORMALIZED;
    kind = kind >= SMK_CHANNELS_SIGNED_NORMALIZED     ? SMK_CHANNELS_SIGNED
           : kind >= SMK_CHANNELS_UNSIGNED_NORMALIZED ? SMK_CHANNELS_UNSIGNED
                                                      : kind;
    const bool is_integer = kind == SMK_CHANNELS_SIGNED || kind == SMK_CHANNELS_UNSIGNED;
    const int bits = channels->bits[0];
    if (count == 0 || count == 3 || (!is_integer && kind != SMK_CHANNELS_FLOAT) ||
        (bits != 16 && bits != 32 && (bits != 8 || !is_integer))) {
        return SMK_CUDA_ErrorInvalidChannelDescriptor;
    }
    shape->channels = (uint8_t)count;
    shape->bits = (uint8_t)bits;
    shape->kind = (uint8_t)(kind == SMK_CHANNELS_SIGNED     ? SMK_TEXEL_SIGNED
                            : kind == SMK_CHANNELS_UNSIGNED ? SMK_TEXEL_UNSIGNED
                                                            : SMK_TEXEL_FLOAT);
    return SMK_CUDA_Success;
}

/* The axes, layers and faces of an extent. */
static smk_cuda read_extent(const smk_cuda_extent *extent, unsigned flags, smk_texture_shape *shape)
{
    const bool layered = (flags & SMK_ARRAY_LAYERED) != 0, cube = (flags & SMK_ARRAY_CUBE) != 0;
    const bool gaps = extent->width == 0 || (extent->height == 0 && extent->depth != 0 && !layered);
    if (gaps || (flags & ~(unsigned)FLAGS_KNOWN) != 0 || ((layered || cube) && extent->depth == 0) ||
        extent->width > UINT32_MAX || extent->height > UINT32_MAX || extent->depth > UINT32_MAX) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    if (cube && (extent->depth % FACES != 0 || (!layered && extent->depth != FACES))) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const bool is_volume = extent->depth != 0 && !layered && !cube;
    shape->axes = is_volume ? 3 : extent->height != 0 ? 2 : 1;
    shape->size[0] = (uint32_t)extent->width;
    shape->size[1] = extent->height == 0 ? 1 : (uint32_t)extent->height;
    shape->size[2] = is_volume ? (uint32_t)extent->depth : 1;
    shape->layers = !layered ? 0 : (uint32_t)extent->depth / (cube ? FACES : 1);
    shape->cube = cube;
    return SMK_CUDA_Success;
}

/* All of an array but its texels. */
static smk_cuda lay_out(smk_cuda_array *made, const smk_cuda_channels *channels, const smk_cuda_extent *extent,
                        unsigned flags)
{
    smk_error error = {0};
    *made = (smk_cuda_array){.channels = *channels, .extent = *extent, .flags = flags};
    smk_cuda code = smk_texel_array_read_channels(channels, &made->shape);
    if (code == SMK_CUDA_Success) {
        code = read_extent(extent, flags, &made->shape);
    }
    if (code == SMK_CUDA_Success && smk_texture_check(&made->shape, &error) != SMK_OK) {
        smk_outcome_say("a CUDA array: %s", error.message);
        code = SMK_CUDA_ErrorInvalidValue;
    }
    made->row_bytes = (size_t)made->shape.size[0] * smk_texture_texel_bytes(&made->shape);
    made->slice_bytes = made->row_bytes * made->shape.size[1];
    return code;
}

/* Keeps an array under its handle. */
static smk_cuda keep(const smk_cuda_array *made, smk_cuda_array **handle)
{
    smk_cuda_array *array = smk_heap_allocate(1, sizeof *array);
    (void)pthread_mutex_lock(&lock);
    const bool done = array != NULL && smk_address_map_set(&arrays, array, array);
    (void)pthread_mutex_unlock(&lock);
    if (!done) {
        smk_heap_free(array);
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    *array = *made;
    *handle = array;
    return SMK_CUDA_Success;
}

static smk_cuda create(smk_cuda_array **handle, const smk_cuda_channels *channels, const smk_cuda_extent *extent,
                       unsigned flags)
{
    smk_cuda_array made;
    void *texels = NULL;
    smk_cuda code = lay_out(&made, channels, extent, flags);
    if (code == SMK_CUDA_Success) {
        code = smk_allocations_create(made.slice_bytes * smk_texture_slices(&made.shape), &texels);
    }
    if (code != SMK_CUDA_Success) {
        return code;
    }
    made.texels = texels;
    code = keep(&made, handle);
    if (code != SMK_CUDA_Success) {
        (void)smk_allocations_free(texels);
    }
    return code;
}

smk_cuda smk_texel_array_count(const smk_cuda_channels *channels, const smk_cuda_extent *extent, unsigned flags,
                               size_t *bytes)
{
    smk_cuda_array made;
    const smk_cuda code = lay_out(&made, channels, extent, flags);
    *bytes = code == SMK_CUDA_Success ? made.slice_bytes * (size_t)smk_texture_slices(&made.shape) : 0;
    return code;
}

smk_cuda smk_texel_array_create_part(smk_cuda_array **handle, const smk_cuda_channels *channels,
                                     const smk_cuda_extent *extent, unsigned flags, char *texels)
{
    smk_cuda_array made;
    const smk_cuda code = lay_out(&made, channels, extent, flags);
    made.texels = texels;
    made.is_part = true;
    return code == SMK_CUDA_Success ? keep(&made, handle) : code;
}

void smk_texel_array_free_part(smk_cuda_array *handle)
{
    (void)pthread_mutex_lock(&lock);
    smk_cuda_array *array = smk_address_map_remove(&arrays, handle);
    (void)pthread_mutex_unlock(&lock);
    smk_heap_free(array);
}

/* Copies -------------------------------------------------------------------------------------------------- */

smk_cuda smk_texel_array_locate(const smk_cuda_array *array, const smk_cuda_position *at, const smk_cuda_extent *box,
                                char **address)
{
    const size_t room[3] = {array->row_bytes, array->shape.size[1], (size_t)smk_texture_slices(&array->shape)};
    const size_t begin[3] = {at->x, at->y, at->z}, count[3] = {box->width, box->height, box->depth};
    for (unsigned i = 0; i < 3; i++) {
        if (begin[i] > room[i] || count[i] > room[i] - begin[i]) {
            static const char *const axes[] = {"bytes of a row", "rows", "slices or layers"};
            smk_outcome_say("a copy of %zu %s from %zu on leaves an array that has %zu", count[i], axes[i], begin[i],
                            room[i]);
            return SMK_CUDA_ErrorInvalidValue;
        }
    }
    *address = array->texels + at->z * array->slice_bytes + at->y * array->row_bytes + at->x;
    return SMK_CUDA_Success;
}

/* One end of a copy: where it begins, and the distances of its rows and slices. */
typedef struct copy_end {
    char *address;
    size_t pitch, slice;
} copy_end;

static smk_cuda find_end(const smk_cuda_array *array, const smk_cuda_pitched *pitched, smk_cuda_position at,
                         const smk_cuda_extent *box, copy_end *end)
{
    if (array != NULL) {
        at.x *= smk_texture_texel_bytes(&array->shape);
        end->pitch = array->row_bytes;
        end->slice = array->slice_bytes;
        return smk_texel_array_locate(array, &at, box, &end->address);
    }
    end->pitch = pitched->pitch;
    end->slice = pitched->pitch * pitched->height;
    end->address = (char *)pitched->address + at.z * end->slice + at.y * end->pitch + at.x;
    return SMK_CUDA_Success;
}

smk_cuda smk_texel_array_make_copy(const smk_cuda_copy3d *wanted, smk_copy *copy)
{
    const smk_cuda_array *source = smk_texel_array_find(wanted->source_array);
    const smk_cuda_array *target = smk_texel_array_find(wanted->target_array);
    const unsigned read = source == NULL ? 0 : smk_texture_texel_bytes(&source->shape);
    const unsigned written = target == NULL ? 0 : smk_texture_texel_bytes(&target->shape);
    smk_cuda_extent box = wanted->extent; /* its width in bytes, or in texels where there is an array */
    copy_end from, to;
    if ((source == NULL && wanted->source_array != NULL) || (target == NULL && wanted->target_array != NULL)) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    if ((read != 0 && written != 0 && read != written) || (source != NULL && wanted->source.address != NULL) ||
        (target != NULL && wanted->target.address != NULL)) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    box.width *= read != 0 ? read : written != 0 ? written : 1;
    smk_cuda code = find_end(source, &wanted->source, wanted->source_position, &box, &from);
    if (code == SMK_CUDA_Success) {
        code = find_end(target, &wanted->target, wanted->target_position, &box, &to);
    }
    if (code == SMK_CUDA_Success) {
        *copy = (smk_copy){.target = to.address,
                           .source = from.address,
                           .target_pitch = to.pitch,
                           .source_pitch = from.pitch,
                           .target_slice = to.slice,
                           .source_slice = from.slice,
                           .width = box.width,
                           .height = box.height,
                           .depth = box.depth,
                           .kind = wanted->kind};
    }
    return code;
}

/* Exported ------------------------------------------------------------------------------------------------ */

SMK_EXPORT smk_cuda_channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (smk_cuda_channels){{x, y, z, w}, kind};
}

SMK_EXPORT smk_cuda cudaMalloc3DArray(smk_cuda_array **array, const smk_cuda_channels *channels, smk_cuda_extent extent,
                                      unsigned flags)
{
    smk_cuda code = smk_outcome_begin();
    if (array == NULL || channels == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    return code != SMK_CUDA_Success ? code : smk_outcome_return(create(array, channels, &extent, flags));
}

SMK_EXPORT smk_cuda cudaMallocArray(smk_cuda_array **array, const smk_cuda_channels *channels, size_t width,
                                    size_t height, unsigned flags)
{
    const bool is_plain = (flags & (SMK_ARRAY_LAYERED | SMK_ARRAY_CUBE)) == 0;
    return is_plain ? cudaMalloc3DArray(array, channels, (smk_cuda_extent){width, height, 0}, flags)
                    : smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
}

SMK_EXPORT smk_cuda cudaFreeArray(smk_cuda_array *handle)
{
    if (handle == NULL) {
        return smk_outcome_begin();
    }
    const smk_cuda_array *found = smk_texel_array_find(handle);
    if (found == NULL || found->is_part) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    (void)pthread_mutex_lock(&lock);
    smk_cuda_array *array = smk_address_map_remove(&arrays, handle);
    (void)pthread_mutex_unlock(&lock);
    if (array == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    const smk_cuda code = smk_allocations_free(array->texels);
    smk_heap_free(array);
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaArrayGetInfo(smk_cuda_channels *channels, smk_cuda_extent *extent, unsigned *flags,
                                     const smk_cuda_array *handle)
{
    const smk_cuda_array *array = smk_texel_array_find(handle);
    if (array == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    if (channels != NULL) {
        *channels = array->channels;
    }
    if (extent != NULL) {
        *extent = array->extent;
    }
    if (flags != NULL) {
        *flags = array->flags;
    }
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaGetChannelDesc(smk_cuda_channels *channels, const smk_cuda_array *handle)
{
    return cudaArrayGetInfo(channels, NULL, NULL, handle);
}

SMK_EXPORT smk_cuda cudaArrayGetMemoryRequirements(smk_cuda_array_needs *needs, const smk_cuda_array *handle,
                                                   int device)
{
    const smk_cuda_array *array = smk_texel_array_find(handle);
    if (array == NULL || device != 0) {
        return smk_outcome_return(array == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_ErrorInvalidDevice);
    }
    *needs = (smk_cuda_array_needs){.bytes = array->slice_bytes * (size_t)smk_texture_slices(&array->shape),
                                    .alignment = ARRAY_ALIGNMENT};
    return smk_outcome_begin();
}
