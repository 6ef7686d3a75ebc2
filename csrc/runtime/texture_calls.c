/* Texture and surface objects of programs, on those of the simulator. */
#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/copy.h"
#include "runtime/mipmapped_array.h"
#include "runtime/outcome.h"
#include "runtime/session.h"
#include "runtime/texel_array.h"
#include "sim/code/texture_object.h"

#include <pthread.h>
#include <string.h>

/* What an object was made of. */
typedef struct object_facts {
    smk_cuda_resource resource;
    smk_cuda_sampling sampling; /* of a texture */
    smk_cuda_view view;
    bool is_surface, has_view;
} object_facts;

enum { MEMORY_ALIGNMENT = 256, PITCH_ALIGNMENT = 32, VIEW_FORMATS = 25 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static smk_address_map objects; /* under it: by the object, which is an address of the simulator's */

static const void *key_of(unsigned long long object)
{
    return (const void *)(uintptr_t)object; // NOLINT(performance-no-int-to-ptr)
}

/* What a resource is made of ------------------------------------------------------------------------------ */

static smk_cuda read_array(const smk_cuda_resource *resource, smk_texture *texture)
{
    const smk_cuda_array *array = smk_texel_array_find(resource->as.array);
    if (array == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    texture->shape = array->shape;
    texture->address = (uint64_t)(uintptr_t)array->texels;
    texture->row_bytes = array->row_bytes;
    texture->slice_bytes = array->slice_bytes;
    return SMK_CUDA_Success;
}

static smk_cuda read_levels(const smk_cuda_resource *resource, smk_texture *texture)
{
    const smk_cuda_mipmapped *array = smk_mipmapped_array_find(resource->as.mipmapped);
    if (array == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    texture->shape = array->level[0]->shape;
    texture->address = (uint64_t)(uintptr_t)array->texels;
    texture->row_bytes = array->level[0]->row_bytes;
    texture->slice_bytes = array->level[0]->slice_bytes;
    texture->levels = (uint8_t)array->level_count;
    for (unsigned i = 0; i < array->level_count; i++) {
        const smk_cuda_array *level = array->level[i];
        texture->level[i] =
            (smk_texture_level){(uint64_t)(level->texels - array->texels), level->row_bytes, level->slice_bytes};
    }
    return SMK_CUDA_Success;
}

/* Plain memory is read from where the texture unit can begin. */
static smk_cuda check_address(const void *address)
{
    if (smk_copy_find_memory(address) == SMK_MEMORY_UNKNOWN) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    if ((uintptr_t)address % MEMORY_ALIGNMENT != 0) {
        smk_outcome_say("a texture of plain memory begins at %p, which textureAlignment of cudaDeviceProp forbids",
                        address);
        return SMK_CUDA_ErrorInvalidValue;
    }
    return SMK_CUDA_Success;
}

static smk_cuda read_linear(const smk_cuda_resource *resource, smk_texture *texture)
{
    smk_cuda code = smk_texel_array_read_channels(&resource->as.linear.channels, &texture->shape);
    if (code == SMK_CUDA_Success) {
        code = check_address(resource->as.linear.address);
    }
    if (code != SMK_CUDA_Success) {
        return code;
    }
    const size_t texels = resource->as.linear.bytes / smk_texture_texel_bytes(&texture->shape);
    if (texels > UINT32_MAX) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    texture->linear = true;
    texture->address = (uint64_t)(uintptr_t)resource->as.linear.address;
    texture->shape.axes = 1;
    texture->shape.size[0] = (uint32_t)texels;
    texture->shape.size[1] = texture->shape.size[2] = 1;
    return SMK_CUDA_Success;
}

static smk_cuda read_rows(const smk_cuda_resource *resource, smk_texture *texture)
{
    const size_t width = resource->as.rows.width, height = resource->as.rows.height, pitch = resource->as.rows.pitch;
    smk_cuda code = smk_texel_array_read_channels(&resource->as.rows.channels, &texture->shape);
    if (code == SMK_CUDA_Success) {
        code = check_address(resource->as.rows.address);
    }
    if (code != SMK_CUDA_Success) {
        return code;
    }
    if (pitch % PITCH_ALIGNMENT != 0) {
        smk_outcome_say("a texture of rows that are %zu bytes apart: texturePitchAlignment of cudaDeviceProp is %d",
                        pitch, PITCH_ALIGNMENT);
        return SMK_CUDA_ErrorInvalidValue;
    }
    if (width > UINT32_MAX || height > UINT32_MAX || width * smk_texture_texel_bytes(&texture->shape) > pitch) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    texture->address = (uint64_t)(uintptr_t)resource->as.rows.address;
    texture->row_bytes = pitch;
    texture->shape.axes = 2;
    texture->shape.size[0] = (uint32_t)width;
    texture->shape.size[1] = (uint32_t)height;
    texture->shape.size[2] = 1;
    return SMK_CUDA_Success;
}

static smk_cuda read_resource(const smk_cuda_resource *resource, smk_texture *texture)
{
    switch (resource->type) {
    case SMK_RESOURCE_ARRAY:
        return read_array(resource, texture);
    case SMK_RESOURCE_LINEAR:
        return read_linear(resource, texture);
    case SMK_RESOURCE_ROWS:
        return read_rows(resource, texture);
    case SMK_RESOURCE_MIPMAPPED:
        return read_levels(resource, texture);
    }
    return SMK_CUDA_ErrorInvalidValue;
}

/* How it is read ------------------------------------------------------------------------------------------ */

static smk_cuda read_sampling(const smk_cuda_sampling *sampling, smk_texture *texture)
{
    smk_texture_shape *shape = &texture->shape;
    const bool is_float = shape->kind == SMK_TEXEL_FLOAT, is_graphic = shape->reads_floats != 0;
    if (sampling->srgb != 0 && is_graphic) {
        smk_outcome_say("textures of sRGB colours are not simulated");
        return SMK_CUDA_ErrorNotSupported;
    }
    if (sampling->reads_floats != 0 && !is_float && shape->bits == 32) {
        return SMK_CUDA_ErrorInvalidNormSetting;
    }
    shape->reads_floats = !is_float && (is_graphic || sampling->reads_floats != 0);
    for (unsigned i = 0; i < 3; i++) {
        if (sampling->mode[i] < SMK_TEXTURE_WRAP || sampling->mode[i] > SMK_TEXTURE_BORDER) {
            return SMK_CUDA_ErrorInvalidValue;
        }
        shape->mode[i] = (uint8_t)sampling->mode[i];
    }
    memcpy(shape->border, sampling->border, sizeof shape->border);
    shape->normalized = sampling->normalized != 0 || shape->cube != 0 || texture->levels > 0;
    shape->filters = sampling->filters != 0 && !texture->linear;
    texture->filters_levels = sampling->level_filters != 0;
    texture->bias = sampling->level_bias;
    texture->least = sampling->level_least;
    texture->most = sampling->level_most;
    return shape->filters != 0 && !is_float && shape->reads_floats == 0 ? SMK_CUDA_ErrorInvalidFilterSetting
                                                                        : SMK_CUDA_Success;
}

/* The texels of a format of a view: 1, 2 or 4 channels of unsigned, then signed integers of 8, 16 and 32 bits, then floats
 * of 16 and 32 bits. */
static smk_cuda_channels list_channels(int format)
{
    static const int bits[] = {8, 8, 16, 16, 32, 32, 16, 32};
    const int group = (format - 1) / 3, count = 1 << (format - 1) % 3;
    smk_cuda_channels channels = {.kind = group >= 6       ? SMK_CHANNELS_FLOAT
                                          : group % 2 == 0 ? SMK_CHANNELS_UNSIGNED
                                                           : SMK_CHANNELS_SIGNED};
    for (int i = 0; i < count; i++) {
        channels.bits[i] = bits[group];
    }
    return channels;
}

/* The texture of a range of levels. */
static void take_levels(smk_texture *texture, unsigned first, unsigned last)
{
    smk_texture taken;
    smk_texture_object_take_level(texture, first, &taken);
    const uint64_t begin = texture->level[first].offset;
    taken.address += begin;
    taken.levels = (uint8_t)(last - first + 1);
    for (unsigned i = first; i <= last; i++) {
        taken.level[i - first] = texture->level[i];
        taken.level[i - first].offset -= begin;
    }
    *texture = taken;
}

/* A view has the size of the array, texels of as many bytes, and a range of its layers. */
static smk_cuda read_view(const smk_cuda_view *view, smk_texture *texture)
{
    smk_texture_shape *shape = &texture->shape;
    const unsigned bytes = smk_texture_texel_bytes(shape);
    if (view->format < 0 || view->format >= VIEW_FORMATS) {
        smk_outcome_say("views of compressed blocks are not simulated");
        return SMK_CUDA_ErrorNotSupported;
    }
    if (view->format > 0) {
        const smk_cuda_channels channels = list_channels(view->format);
        const smk_cuda code = smk_texel_array_read_channels(&channels, shape);
        if (code != SMK_CUDA_Success || smk_texture_texel_bytes(shape) != bytes) {
            return SMK_CUDA_ErrorInvalidValue;
        }
    }
    const unsigned first = view->first_level, last = view->last_level;
    if (texture->levels > 0) {
        if (first > last || last >= texture->levels) {
            return SMK_CUDA_ErrorInvalidValue;
        }
        take_levels(texture, first, last);
    }
    if (shape->layers > 0) {
        if (view->first_layer > view->last_layer || view->last_layer >= shape->layers) {
            return SMK_CUDA_ErrorInvalidValue;
        }
        const unsigned faces = (unsigned)smk_texture_slices(shape) / shape->layers;
        texture->address += (uint64_t)view->first_layer * faces * texture->slice_bytes;
        shape->layers = view->last_layer - view->first_layer + 1;
    }
    return view->width == shape->size[0] && (view->height == 0 || view->height == shape->size[1])
               ? SMK_CUDA_Success
               : SMK_CUDA_ErrorInvalidValue;
}

/* Objects ------------------------------------------------------------------------------------------------- */

static smk_cuda create(const smk_texture *texture, const object_facts *facts, unsigned long long *object)
{
    smk_error error = {0};
    uint64_t made = 0;
    object_facts *kept = smk_heap_allocate(1, sizeof *kept);
    if (kept == NULL) {
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    if (smk_texture_object_create(smk_session_memory(), texture, &made, &error) != SMK_OK) {
        smk_outcome_say("%s: %s", facts->is_surface ? "a surface object" : "a texture object", error.message);
        smk_heap_free(kept);
        return error.status == SMK_MEMORY ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_ErrorInvalidValue;
    }
    *kept = *facts;
    (void)pthread_mutex_lock(&lock);
    const bool done = smk_address_map_set(&objects, key_of(made), kept);
    (void)pthread_mutex_unlock(&lock);
    *object = made;
    return done ? SMK_CUDA_Success : SMK_CUDA_ErrorMemoryAllocation;
}

static smk_cuda destroy(unsigned long long object, bool is_surface)
{
    smk_error error = {0};
    (void)pthread_mutex_lock(&lock);
    const object_facts *facts = smk_address_map_get(&objects, key_of(object));
    const bool fits = facts != NULL && facts->is_surface == is_surface;
    void *removed = fits ? smk_address_map_remove(&objects, key_of(object)) : NULL;
    (void)pthread_mutex_unlock(&lock);
    smk_heap_free(removed);
    return fits && smk_texture_object_free(smk_session_memory(), object, &error) == SMK_OK ? SMK_CUDA_Success
                                                                                           : SMK_CUDA_ErrorInvalidValue;
}

/* What an object was made of; false: there is no such object. */
static bool find(unsigned long long object, bool is_surface, object_facts *found)
{
    (void)pthread_mutex_lock(&lock);
    const object_facts *facts = smk_address_map_get(&objects, key_of(object));
    const bool fits = facts != NULL && facts->is_surface == is_surface;
    if (fits) {
        *found = *facts;
    }
    (void)pthread_mutex_unlock(&lock);
    return fits;
}

SMK_EXPORT smk_cuda cudaCreateTextureObject(unsigned long long *object, const smk_cuda_resource *resource,
                                            const smk_cuda_sampling *sampling, const smk_cuda_view *view)
{
    smk_texture texture = {.linear = false};
    smk_cuda code = smk_outcome_begin();
    if (object == NULL || resource == NULL || sampling == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    object_facts facts = {.resource = *resource, .sampling = *sampling, .has_view = view != NULL};
    if (code == SMK_CUDA_Success) {
        code = read_resource(resource, &texture);
    }
    if (code == SMK_CUDA_Success && view != NULL) {
        facts.view = *view;
        code = resource->type == SMK_RESOURCE_ARRAY || resource->type == SMK_RESOURCE_MIPMAPPED
                   ? read_view(view, &texture)
                   : SMK_CUDA_ErrorInvalidValue;
    }
    if (code == SMK_CUDA_Success) {
        code = read_sampling(sampling, &texture);
    }
    if (code == SMK_CUDA_Success) {
        code = create(&texture, &facts, object);
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaDestroyTextureObject(unsigned long long object)
{
    return smk_outcome_return(object == 0 ? SMK_CUDA_Success : destroy(object, false));
}

SMK_EXPORT smk_cuda cudaGetTextureObjectResourceDesc(smk_cuda_resource *resource, unsigned long long object)
{
    object_facts facts;
    if (!find(object, false, &facts)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *resource = facts.resource;
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaGetTextureObjectTextureDesc(smk_cuda_sampling *sampling, unsigned long long object)
{
    object_facts facts;
    if (!find(object, false, &facts)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *sampling = facts.sampling;
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaGetTextureObjectResourceViewDesc(smk_cuda_view *view, unsigned long long object)
{
    object_facts facts;
    if (!find(object, false, &facts) || !facts.has_view) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *view = facts.view;
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaCreateSurfaceObject(unsigned long long *object, const smk_cuda_resource *resource)
{
    smk_texture texture = {.linear = false};
    smk_cuda code = smk_outcome_begin();
    if (object == NULL || resource == NULL || resource->type != SMK_RESOURCE_ARRAY) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    const object_facts facts = {.resource = *resource, .is_surface = true};
    if (code == SMK_CUDA_Success) {
        code = read_array(resource, &texture);
    }
    if (code == SMK_CUDA_Success && (smk_texel_array_find(resource->as.array)->flags & SMK_ARRAY_SURFACE) == 0) {
        smk_outcome_say("a surface object needs an array that was allocated with cudaArraySurfaceLoadStore");
        code = SMK_CUDA_ErrorInvalidValue;
    }
    if (code == SMK_CUDA_Success) {
        texture.shape.surface = 1;
        code = create(&texture, &facts, object);
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaDestroySurfaceObject(unsigned long long object)
{
    return smk_outcome_return(object == 0 ? SMK_CUDA_Success : destroy(object, true));
}

SMK_EXPORT smk_cuda cudaGetSurfaceObjectResourceDesc(smk_cuda_resource *resource, unsigned long long object)
{
    object_facts facts;
    if (!find(object, true, &facts)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *resource = facts.resource;
    return smk_outcome_begin();
}
