/* The binary interface of the CUDA runtime as far as this room has it: what compiled programs pass and expect.
 *
 * Declared from the documentation of the runtime and from what nvcc's output calls, with the layouts of CUDA 13 on
 * 64-bit Linux; tests/runtime compares sizes and offsets with CUDA's headers where there are any.
 */
#ifndef SMK_RUNTIME_ABI_H
#define SMK_RUNTIME_ABI_H

#include "base/launch.h"

#include <stddef.h>
#include <stdint.h>

typedef enum smk_cuda {
#define SMK_CUDA_ERROR(number, name) SMK_CUDA_##name = number,
#include "runtime/error.def"
#undef SMK_CUDA_ERROR
} smk_cuda;

/* Functions that programs call. The shared library exports nothing else. */
#define SMK_EXPORT __attribute__((visibility("default")))

/* A second name of an exported function: of programs that are compiled for a default stream per thread. */
#define SMK_EXPORT_AS(other, name) SMK_EXPORT extern __typeof__(name) other __attribute__((alias(#name)))

typedef struct smk_cuda_stream *smk_cuda_stream_handle;
typedef struct smk_cuda_event *smk_cuda_event_handle;

enum { SMK_COPY_HOST_TO_HOST, SMK_COPY_TO_DEVICE, SMK_COPY_TO_HOST, SMK_COPY_ON_DEVICE, SMK_COPY_BY_ADDRESS };
enum { SMK_MEMORY_UNKNOWN, SMK_MEMORY_HOST, SMK_MEMORY_DEVICE, SMK_MEMORY_MANAGED };

typedef struct smk_cuda_pitched {
    void *address;
    size_t pitch, width, height;
} smk_cuda_pitched;

typedef struct smk_cuda_extent {
    size_t width, height, depth;
} smk_cuda_extent;

typedef struct smk_cuda_position {
    size_t x, y, z;
} smk_cuda_position;

/* Where memory is or shall be: a device by its number, or the host. */
typedef struct smk_cuda_location {
    int type, number;
} smk_cuda_location;

enum {
    SMK_LOCATION_NONE,
    SMK_LOCATION_DEVICE,
    SMK_LOCATION_HOST,
    SMK_LOCATION_HOST_NODE, /* the part of the host of that number */
    SMK_LOCATION_HOST_NEAREST
};

/* A handle of memory or of an event for other processes. */
typedef struct smk_cuda_ipc_handle {
    char bytes[64];
} smk_cuda_ipc_handle;

typedef struct smk_cuda_copy3d {
    struct smk_cuda_array *source_array;
    smk_cuda_position source_position;
    smk_cuda_pitched source;
    struct smk_cuda_array *target_array;
    smk_cuda_position target_position;
    smk_cuda_pitched target;
    smk_cuda_extent extent;
    int kind;
} smk_cuda_copy3d;

/* Bits of each channel of a texel, and what they are. */
typedef struct smk_cuda_channels {
    int bits[4];
    int kind; /* SMK_CHANNELS_... */
} smk_cuda_channels;

/* Those behind FLOAT are formats of graphics, of which the normalised integers come as 1, 2 and 4 channels. */
enum {
    SMK_CHANNELS_SIGNED = 0,
    SMK_CHANNELS_UNSIGNED = 1,
    SMK_CHANNELS_FLOAT = 2,
    SMK_CHANNELS_UNSIGNED_NORMALIZED = 5, /* 3 of 8 bits, 3 of 16 */
    SMK_CHANNELS_SIGNED_NORMALIZED = 11,
    SMK_CHANNELS_COMPRESSED = 17
};

/* The memory behind a texture or surface object. */
typedef struct smk_cuda_resource {
    int type; /* SMK_RESOURCE_... */
    union {
        struct smk_cuda_array *array;
        struct smk_cuda_mipmapped *mipmapped;
        struct {
            void *address;
            smk_cuda_channels channels;
            size_t bytes;
        } linear;
        struct {
            void *address;
            smk_cuda_channels channels;
            size_t width, height, pitch; /* texels, rows, bytes */
        } rows;
        int reserved[32];
    } as;
    unsigned flags;
} smk_cuda_resource;

enum { SMK_RESOURCE_ARRAY = 0, SMK_RESOURCE_MIPMAPPED = 1, SMK_RESOURCE_LINEAR = 2, SMK_RESOURCE_ROWS = 3 };

/* How a texture object reads. */
typedef struct smk_cuda_sampling {
    int mode[3]; /* smk_texture_mode */
    int filters, reads_floats, srgb;
    float border[4];
    int normalized;
    unsigned max_anisotropy;
    int level_filters;
    float level_bias, level_least, level_most;
    int no_trilinear_shortcuts, seamless_cube;
} smk_cuda_sampling;

/* Another format or other layers than those of the array. */
typedef struct smk_cuda_view {
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer;
    unsigned reserved[16];
} smk_cuda_view;

typedef struct smk_cuda_array_needs {
    size_t bytes, alignment;
    unsigned reserved[4];
} smk_cuda_array_needs;

typedef struct smk_cuda_peer_copy3d {
    struct smk_cuda_array *source_array;
    smk_cuda_position source_position;
    smk_cuda_pitched source;
    int source_device;
    struct smk_cuda_array *target_array;
    smk_cuda_position target_position;
    smk_cuda_pitched target;
    int target_device;
    smk_cuda_extent extent;
} smk_cuda_peer_copy3d;

typedef struct smk_cuda_pointer_facts {
    int type, device;
    void *device_address, *host_address;
    long reserved[8];
} smk_cuda_pointer_facts;

typedef struct smk_cuda_function_facts {
    size_t shared_bytes, const_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
    int cluster_must_be_set, cluster[3], cluster_scheduling, nonportable_cluster;
    int reserved[16];
} smk_cuda_function_facts;

typedef struct smk_cuda_launch_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int number;
    } value;
} smk_cuda_launch_attribute;

typedef struct smk_cuda_launch_config {
    smk_dim3 grid, block;
    size_t shared_bytes;
    smk_cuda_stream_handle stream;
    smk_cuda_launch_attribute *attributes;
    unsigned attribute_count;
} smk_cuda_launch_config;

typedef struct smk_cuda_kernel_node {
    void *function;
    smk_dim3 grid, block;
    unsigned shared_bytes;
    void **parameters;
    void **extra;
} smk_cuda_kernel_node;

typedef struct smk_cuda_memset_node {
    void *target;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
} smk_cuda_memset_node;

typedef struct smk_cuda_host_node {
    void (*function)(void *context);
    void *context;
} smk_cuda_host_node;

/* What nvcc passes to __cudaRegisterFatBinary. */
typedef struct smk_cuda_fat_wrapper {
    int magic;
    int version;
    const void *image;
    const void *const *linked; /* version 2: the images that the device linker was given, up to NULL */
} smk_cuda_fat_wrapper;

enum { SMK_FAT_WRAPPER_MAGIC = 0x466243b1, SMK_FAT_WRAPPER_LINKED = 2 };

#endif
