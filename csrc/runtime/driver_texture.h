/* Textures and surfaces as programs of the driver describe them. */
#ifndef SMK_RUNTIME_DRIVER_TEXTURE_H
#define SMK_RUNTIME_DRIVER_TEXTURE_H

#include "runtime/driver.h"
#include "runtime/mipmapped_array.h"

typedef struct smk_driver_resource {
    int kind; /* SMK_RESOURCE_... */
    union {
        struct smk_cuda_array *array;
        struct smk_cuda_mipmapped *mipmapped;
        struct {
            void *address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            void *address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } rows;
        int reserved[32];
    } as;
    unsigned flags;
} smk_driver_resource;

typedef struct smk_driver_sampling {
    int mode[3], filter;
    unsigned flags, anisotropy;
    int level_filter;
    float bias, least, most, border[4];
    int reserved[12];
} smk_driver_sampling;

/* The channels of a format and their number; 0 bits where there is no such format. */
smk_cuda_channels smk_driver_read_format(int format, unsigned count);

smk_cuda cuTexObjectCreate(unsigned long long *object, const smk_driver_resource *resource,
                           const smk_driver_sampling *sampling, const smk_cuda_view *view);
smk_cuda cuTexObjectDestroy(unsigned long long object);
smk_cuda cuSurfObjectCreate(unsigned long long *object, const smk_driver_resource *resource);
smk_cuda cuSurfObjectDestroy(unsigned long long object);

/* The runtime's. */
smk_cuda cudaCreateTextureObject(unsigned long long *object, const smk_cuda_resource *resource,
                                 const smk_cuda_sampling *sampling, const smk_cuda_view *view);
smk_cuda cudaDestroyTextureObject(unsigned long long object);
smk_cuda cudaCreateSurfaceObject(unsigned long long *object, const smk_cuda_resource *resource);
smk_cuda cudaDestroySurfaceObject(unsigned long long object);

#endif
