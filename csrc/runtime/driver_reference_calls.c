/* Texture and surface references: variables of a module that a program binds to arrays and memory. Each binding makes an
 * object and writes it into the variable. */
#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/driver_texture.h"

#include <pthread.h>
#include <string.h>

enum { READ_AS_INTEGER = 1, NORMALIZED = 2, FLAGS_KEPT = READ_AS_INTEGER | NORMALIZED, OVERRIDE_FORMAT = 1 };

/* A reference, by the address of its variable. */
typedef struct reference {
    void *variable;
    unsigned long long object; /* 0: bound to nothing */
    smk_driver_resource resource;
    smk_driver_sampling sampling;
    int format;
    unsigned channels;
    bool is_bound;
} reference;

extern smk_cuda cuModuleGetGlobal_v2(void **address, size_t *bytes, void *module, const char *name);
extern smk_cuda cuMemcpyHtoD_v2(void *target, const void *source, size_t bytes);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static smk_address_map references; /* under it: by the address of the variable */

static smk_cuda get(reference **handle, void *module, const char *name)
{
    void *variable = NULL;
    size_t bytes = 0;
    smk_cuda code = cuModuleGetGlobal_v2(&variable, &bytes, module, name);
    if (code != SMK_CUDA_Success || bytes != sizeof(uint64_t)) {
        return code != SMK_CUDA_Success ? code : SMK_CUDA_ErrorSymbolNotFound;
    }
    (void)pthread_mutex_lock(&lock);
    reference *found = smk_address_map_get(&references, variable);
    if (found == NULL && (found = smk_heap_allocate(1, sizeof *found)) != NULL) {
        found->variable = variable;
        found->sampling.mode[0] = found->sampling.mode[1] = found->sampling.mode[2] = SMK_TEXTURE_CLAMP;
        if (!smk_address_map_set(&references, variable, found)) {
            smk_heap_free(found);
            found = NULL;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    *handle = found;
    return found != NULL ? SMK_CUDA_Success : SMK_CUDA_ErrorMemoryAllocation;
}

/* Makes the object of a texture anew and writes it into the variable. */
static smk_cuda rebind(reference *texture)
{
    unsigned long long object = 0;
    if (!texture->is_bound) {
        return SMK_CUDA_Success;
    }
    smk_cuda code = cuTexObjectCreate(&object, &texture->resource, &texture->sampling, NULL);
    if (code == SMK_CUDA_Success) {
        code = cuMemcpyHtoD_v2(texture->variable, &object, sizeof object);
    }
    if (code == SMK_CUDA_Success && texture->object != 0) {
        (void)cuTexObjectDestroy(texture->object);
    }
    texture->object = code == SMK_CUDA_Success ? object : texture->object;
    return code;
}

static smk_cuda bind(reference *texture, const smk_driver_resource *resource)
{
    texture->resource = *resource;
    texture->is_bound = true;
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuModuleGetTexRef(reference **texture, void *module, const char *name)
{
    return get(texture, module, name);
}

SMK_EXPORT smk_cuda cuModuleGetSurfRef(reference **surface, void *module, const char *name)
{
    return get(surface, module, name);
}

SMK_EXPORT smk_cuda cuSurfRefSetArray(reference *surface, smk_cuda_array *array, unsigned flags)
{
    const smk_driver_resource resource = {.kind = SMK_RESOURCE_ARRAY, .as.array = array};
    unsigned long long object = 0;
    (void)flags;
    smk_cuda code = cuSurfObjectCreate(&object, &resource);
    if (code == SMK_CUDA_Success) {
        code = cuMemcpyHtoD_v2(surface->variable, &object, sizeof object);
    }
    if (code == SMK_CUDA_Success) {
        if (surface->object != 0) {
            (void)cuSurfObjectDestroy(surface->object);
        }
        surface->object = object;
        surface->resource = resource;
    }
    return code;
}

SMK_EXPORT smk_cuda cuSurfRefGetArray(smk_cuda_array **array, const reference *surface)
{
    *array = surface->resource.as.array;
    return surface->object != 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuTexRefSetArray(reference *texture, smk_cuda_array *array, unsigned flags)
{
    const smk_driver_resource resource = {.kind = SMK_RESOURCE_ARRAY, .as.array = array};
    return flags == OVERRIDE_FORMAT ? bind(texture, &resource) : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuTexRefSetMipmappedArray(reference *texture, smk_cuda_mipmapped *array, unsigned flags)
{
    const smk_driver_resource resource = {.kind = SMK_RESOURCE_MIPMAPPED, .as.mipmapped = array};
    return flags == OVERRIDE_FORMAT ? bind(texture, &resource) : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuTexRefSetAddress_v2(size_t *offset, reference *texture, void *address, size_t bytes)
{
    smk_driver_resource resource = {.kind = SMK_RESOURCE_LINEAR};
    resource.as.linear.address = address;
    resource.as.linear.bytes = bytes;
    resource.as.linear.format = texture->format;
    resource.as.linear.channels = texture->channels;
    if (offset != NULL) {
        *offset = 0;
    }
    if (texture->channels == 0) { /* the format comes later */
        texture->resource = resource;
        texture->is_bound = true;
        return SMK_CUDA_Success;
    }
    return bind(texture, &resource);
}

SMK_EXPORT smk_cuda cuTexRefSetAddress2D_v3(reference *texture, const size_t *size_and_format, void *address,
                                            size_t pitch)
{
    struct {
        size_t width, height;
        int format;
        unsigned channels;
    } facts;
    smk_driver_resource resource = {.kind = SMK_RESOURCE_ROWS};
    memcpy(&facts, size_and_format, sizeof facts);
    resource.as.rows.address = address;
    resource.as.rows.format = facts.format;
    resource.as.rows.channels = facts.channels;
    resource.as.rows.width = facts.width;
    resource.as.rows.height = facts.height;
    resource.as.rows.pitch = pitch;
    return bind(texture, &resource);
}
SMK_EXPORT_AS(cuTexRefSetAddress2D_v2, cuTexRefSetAddress2D_v3);

SMK_EXPORT smk_cuda cuTexRefSetFormat(reference *texture, int format, int channels)
{
    texture->format = format;
    texture->channels = (unsigned)channels;
    if (texture->resource.kind == SMK_RESOURCE_LINEAR) {
        texture->resource.as.linear.format = format;
        texture->resource.as.linear.channels = (unsigned)channels;
        return rebind(texture);
    }
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuTexRefSetAddressMode(reference *texture, int axis, int mode)
{
    if (axis < 0 || axis > 2 || mode < SMK_TEXTURE_WRAP || mode > SMK_TEXTURE_BORDER) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    texture->sampling.mode[axis] = mode;
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuTexRefSetFilterMode(reference *texture, int filter)
{
    texture->sampling.filter = filter;
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuTexRefSetMipmapFilterMode(reference *texture, int filter)
{
    texture->sampling.level_filter = filter;
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuTexRefSetMipmapLevelBias(reference *texture, float bias)
{
    texture->sampling.bias = bias;
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuTexRefSetMipmapLevelClamp(reference *texture, float least, float most)
{
    texture->sampling.least = least;
    texture->sampling.most = most;
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuTexRefSetMaxAnisotropy(reference *texture, unsigned most)
{
    texture->sampling.anisotropy = most;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuTexRefSetBorderColor(reference *texture, const float *border)
{
    memcpy(texture->sampling.border, border, sizeof texture->sampling.border);
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuTexRefSetFlags(reference *texture, unsigned flags)
{
    if ((flags & ~(unsigned)FLAGS_KEPT) != 0) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    texture->sampling.flags = flags;
    return rebind(texture);
}

SMK_EXPORT smk_cuda cuTexRefGetArray(smk_cuda_array **array, const reference *texture)
{
    *array = texture->resource.as.array;
    return texture->is_bound && texture->resource.kind == SMK_RESOURCE_ARRAY ? SMK_CUDA_Success
                                                                             : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuTexRefGetAddressMode(int *mode, const reference *texture, int axis)
{
    if (axis < 0 || axis > 2) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    *mode = texture->sampling.mode[axis];
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuTexRefGetFilterMode(int *filter, const reference *texture)
{
    *filter = texture->sampling.filter;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuTexRefGetFlags(unsigned *flags, const reference *texture)
{
    *flags = texture->sampling.flags;
    return SMK_CUDA_Success;
}
