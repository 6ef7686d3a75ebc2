/* Texture and surface objects, each over a CUDA array of its own. */
#include "gpu/cuda_error.h"
#include "gpu/gpu.h"

#include <cuda_runtime_api.h>

/* The extent of a CUDA array: an axis that it does not have is 0, layers and faces lie along the last one. */
static struct cudaExtent find_extent(const smk_texture_shape *shape)
{
    const bool stacked = shape->layers > 0 || shape->cube != 0;
    const size_t depth = stacked ? (size_t)smk_texture_slices(shape) : shape->axes == 3 ? shape->size[2] : 0;
    return (struct cudaExtent){shape->size[0], shape->axes >= 2 ? shape->size[1] : 0, depth};
}

static unsigned find_flags(const smk_texture_shape *shape)
{
    unsigned flags = shape->layers > 0 ? cudaArrayLayered : cudaArrayDefault;
    flags |= shape->cube != 0 ? cudaArrayCubemap : 0;
    flags |= shape->surface != 0 ? cudaArraySurfaceLoadStore : 0;
    return flags | (shape->axes == 2 && shape->layers == 0 && shape->cube == 0 ? cudaArrayTextureGather : 0);
}

static struct cudaChannelFormatDesc find_format(const smk_texture_shape *shape)
{
    static const enum cudaChannelFormatKind kinds[] = {
        [SMK_TEXEL_UNSIGNED] = cudaChannelFormatKindUnsigned,
        [SMK_TEXEL_SIGNED] = cudaChannelFormatKindSigned,
        [SMK_TEXEL_FLOAT] = cudaChannelFormatKindFloat,
    };
    struct cudaChannelFormatDesc format = {.x = shape->bits, .f = kinds[shape->kind]};
    format.y = shape->channels > 1 ? shape->bits : 0;
    format.z = format.w = shape->channels > 2 ? shape->bits : 0;
    return format;
}

/* The texels in memory of the host, for a copy of all of them. */
static struct cudaMemcpy3DParms find_copy(const smk_texture_shape *shape)
{
    const size_t row = (size_t)shape->size[0] * smk_texture_texel_bytes(shape);
    struct cudaMemcpy3DParms copy = {.kind = cudaMemcpyHostToDevice};
    copy.extent = (struct cudaExtent){shape->size[0], shape->size[1], (size_t)smk_texture_slices(shape)};
    copy.srcPtr = (struct cudaPitchedPtr){NULL, row, shape->size[0], shape->size[1]};
    return copy;
}

static cudaError_t create_object(const smk_texture_shape *shape, cudaArray_t array, uint64_t *object)
{
    const struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray, .res.array.array = array};
    struct cudaTextureDesc description = {
        .filterMode = shape->filters != 0 ? cudaFilterModeLinear : cudaFilterModePoint,
        .readMode = shape->reads_floats != 0 && shape->kind != SMK_TEXEL_FLOAT && shape->bits < 32
                        ? cudaReadModeNormalizedFloat
                        : cudaReadModeElementType,
        .normalizedCoords = shape->normalized != 0 || shape->cube != 0,
    };
    cudaSurfaceObject_t surface = 0;
    cudaTextureObject_t texture = 0;
    for (unsigned i = 0; i < 3; i++) {
        description.addressMode[i] = (enum cudaTextureAddressMode)shape->mode[i];
    }
    for (unsigned i = 0; i < 4; i++) {
        description.borderColor[i] = shape->border[i];
    }
    const cudaError_t code = shape->surface != 0 ? cudaCreateSurfaceObject(&surface, &resource)
                                                 : cudaCreateTextureObject(&texture, &resource, &description, NULL);
    *object = shape->surface != 0 ? surface : texture;
    return code;
}

smk_status smk_cuda_texture_create(const smk_texture_shape *shape, const void *texels, uint64_t *object,
                                   uint64_t *array, smk_error *error)
{
    const struct cudaChannelFormatDesc format = find_format(shape);
    struct cudaMemcpy3DParms copy = find_copy(shape);
    cudaArray_t made = NULL;
    smk_status status = smk_texture_check(shape, error);
    if (status != SMK_OK) {
        return status;
    }
    cudaError_t code = cudaMalloc3DArray(&made, &format, find_extent(shape), find_flags(shape));
    if (code == cudaSuccess) {
        copy.srcPtr.ptr = (void *)(uintptr_t)texels;
        copy.dstArray = made;
        code = cudaMemcpy3D(&copy);
    }
    if (code == cudaSuccess) {
        code = create_object(shape, made, object);
    }
    if (code != cudaSuccess && made != NULL) {
        (void)cudaFreeArray(made);
    }
    *array = (uint64_t)(uintptr_t)made;
    return smk_cuda_error_report(code, error, "making a texture of %u x %u x %u texels", shape->size[0], shape->size[1],
                                 shape->size[2]);
}

smk_status smk_cuda_texture_read(const smk_texture_shape *shape, uint64_t array, void *texels, smk_error *error)
{
    struct cudaMemcpy3DParms copy = find_copy(shape);
    copy.dstPtr = copy.srcPtr;
    copy.dstPtr.ptr = texels;
    copy.srcPtr = (struct cudaPitchedPtr){NULL, 0, 0, 0};
    copy.srcArray = (cudaArray_t)(uintptr_t)array;
    copy.kind = cudaMemcpyDeviceToHost;
    return smk_cuda_error_report(cudaMemcpy3D(&copy), error, "copying a texture to the host");
}

void smk_cuda_texture_free(uint64_t object, uint64_t array)
{
    (void)cudaDeviceSynchronize();
    /* an object of one kind is none of the other, which is no error worth a message */
    if (cudaDestroyTextureObject(object) != cudaSuccess) {
        (void)cudaGetLastError();
        (void)cudaDestroySurfaceObject(object);
    }
    (void)cudaFreeArray((cudaArray_t)(uintptr_t)array);
    (void)cudaGetLastError();
}
