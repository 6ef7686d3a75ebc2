/* cudaGetDeviceProperties as CUDA 12 has it: the structure has eight fields more than that of CUDA 13. */
#include "runtime/cuda12.h"

#include <string.h>

enum {
#define SMK_DEVICE_ATTRIBUTE(number, name, value) ATTRIBUTE_##name = number,
#include "runtime/device_attribute.def"
#undef SMK_DEVICE_ATTRIBUTE
};

SMK_CUDA12_NEWER(get_newer, cudaGetDeviceProperties);
extern smk_cuda get_newer(smk_cuda_properties *facts, int device);
extern smk_cuda cudaDeviceGetAttribute(int *value, int number, int device);

/* Copies the fields from `first` to `last`, which both structures have one behind the other. */
#define COPY_FIELDS(first, last)                                                                                       \
    do {                                                                                                               \
        _Static_assert(offsetof(smk_cuda_properties, last) - offsetof(smk_cuda_properties, first) ==                   \
                           offsetof(smk_cuda12_properties, last) - offsetof(smk_cuda12_properties, first),             \
                       "fields from " #first " to " #last);                                                            \
        memcpy((char *)facts + offsetof(smk_cuda12_properties, first),                                                 \
               (const char *)&newer + offsetof(smk_cuda_properties, first),                                            \
               offsetof(smk_cuda_properties, last) - offsetof(smk_cuda_properties, first) + sizeof newer.last);        \
    } while (0)

static void fill_attribute(int *field, int number)
{
    (void)cudaDeviceGetAttribute(field, number, 0);
}

SMK_EXPORT smk_cuda cudaGetDeviceProperties_v2(smk_cuda12_properties *facts, int device)
{
    smk_cuda_properties newer;
    const smk_cuda code = get_newer(&newer, device);
    if (code != SMK_CUDA_Success) {
        return code;
    }
    memset(facts, 0, sizeof *facts);
    COPY_FIELDS(name, max_grid);
    COPY_FIELDS(constant_bytes, texture_pitch_alignment);
    COPY_FIELDS(multiprocessors, multiprocessors);
    COPY_FIELDS(integrated, maps_host_memory);
    COPY_FIELDS(texture_1d, texture_1d_mipmapped);
    COPY_FIELDS(texture_2d, surface_cubemap_layered);
    COPY_FIELDS(surface_alignment, unified_addressing);
    COPY_FIELDS(bus_bits, local_l1);
    COPY_FIELDS(shared_per_multiprocessor, host_atomics);
    COPY_FIELDS(pageable_access, cooperative_launch);
    COPY_FIELDS(shared_optin, unified_functions);
    fill_attribute(&facts->clock_khz, ATTRIBUTE_clock_khz);
    fill_attribute(&facts->gpu_overlap, ATTRIBUTE_gpu_overlap);
    fill_attribute(&facts->kernel_timeout, ATTRIBUTE_kernel_timeout);
    fill_attribute(&facts->compute_mode, ATTRIBUTE_compute_mode);
    fill_attribute(&facts->texture_1d_linear, ATTRIBUTE_texture_1d_linear);
    fill_attribute(&facts->memory_clock_khz, ATTRIBUTE_memory_khz);
    fill_attribute(&facts->single_to_double, ATTRIBUTE_single_to_double);
    facts->cooperative_devices = facts->cooperative_launch;
    return SMK_CUDA_Success;
}

/* CUDA 12 keeps the function of CUDA 11, whose structure ends where CUDA 12 added its first field. */
SMK_EXPORT smk_cuda cudaGetDeviceProperties(void *facts, int device)
{
    smk_cuda12_properties whole;
    const smk_cuda code = cudaGetDeviceProperties_v2(&whole, device);
    if (code == SMK_CUDA_Success) {
        memcpy(facts, &whole, offsetof(smk_cuda12_properties, registers_host_memory));
    }
    return code;
}
