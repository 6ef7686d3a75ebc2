/* Functions of the lazy runtime (lazy_runtime.c) that the extension links and products do not use. */
#include <cuda_runtime_api.h>

#include <stdio.h>

extern int lazy_faults;

static cudaError_t refuse(const char *name)
{
    lazy_faults++;
    (void)fprintf(stderr, "lazy_runtime: %s is used\n", name);
    return cudaErrorNotSupported;
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    (void)memory, (void)bytes, (void)flags;
    return refuse("managed memory");
}

cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes, cudaLibrary_t library, const char *name)
{
    (void)address, (void)bytes, (void)library, (void)name;
    return refuse("a managed variable");
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                              unsigned flags)
{
    (void)array, (void)format, (void)extent, (void)flags;
    return refuse("an array for textures");
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    (void)array;
    return refuse("an array for textures");
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *copy)
{
    (void)copy;
    return refuse("a copy to an array for textures");
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
    (void)object, (void)resource, (void)texture, (void)view;
    return refuse("a texture");
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    (void)object;
    return refuse("a texture");
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource)
{
    (void)object, (void)resource;
    return refuse("a surface");
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
    (void)object;
    return refuse("a surface");
}
