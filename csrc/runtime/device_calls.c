/* The device: its properties, its limits, and choosing it. There is one. */
#include "runtime/allocations.h"
#include "runtime/card.h"
#include "runtime/outcome.h"
#include "runtime/properties.h"
#include "runtime/session.h"
#include "runtime/stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { RUNTIME_VERSION = 13000, LIMITS = 8, PRIORITY_GREATEST = -5, BANKS_OF_4_BYTES = 1 };

/* Sets the value of an attribute; false where there is none of that number. */
static bool find_attribute(int number, int *found)
{
    const smk_runtime_card *card = smk_runtime_card_get();
    const smk_limits *limits = card->limits;
    switch (number) {
#define SMK_DEVICE_ATTRIBUTE(number_, name, value)                                                                     \
    case number_:                                                                                                      \
        *found = (int)(value);                                                                                         \
        return true;
#include "runtime/device_attribute.def"
#undef SMK_DEVICE_ATTRIBUTE
    default:
        return false;
    }
}

static int attribute(int number)
{
    int found = 0;
    (void)find_attribute(number, &found);
    return found;
}

enum {
#define SMK_DEVICE_ATTRIBUTE(number, name, value) ATTRIBUTE_##name = number,
#include "runtime/device_attribute.def"
#undef SMK_DEVICE_ATTRIBUTE
};

SMK_EXPORT smk_cuda cudaDeviceGetAttribute(int *value, int number, int device)
{
    if (device != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
    }
    return smk_outcome_return(find_attribute(number, value) ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue);
}

/* Fills consecutive fields from attributes with consecutive numbers. */
static void fill(int *fields, size_t count, int first)
{
    for (size_t i = 0; i < count; i++) {
        fields[i] = attribute(first + (int)i);
    }
}

static void fill_textures(smk_cuda_properties *facts)
{
    facts->texture_1d = attribute(ATTRIBUTE_texture_1d);
    facts->texture_1d_mipmapped = attribute(ATTRIBUTE_texture_1d_mipmapped);
    fill(facts->texture_2d, 2, ATTRIBUTE_texture_2d_x);
    fill(facts->texture_2d_mipmapped, 2, ATTRIBUTE_texture_2d_mipmapped_x);
    fill(facts->texture_2d_linear, 3, ATTRIBUTE_texture_2d_linear_x);
    fill(facts->texture_gather, 2, ATTRIBUTE_texture_gather_x);
    fill(facts->texture_3d, 3, ATTRIBUTE_texture_3d_x);
    fill(facts->texture_3d_alternative, 3, ATTRIBUTE_texture_3d_alternative_x);
    facts->texture_cubemap = attribute(ATTRIBUTE_texture_cubemap);
    fill(facts->texture_1d_layered, 2, ATTRIBUTE_texture_1d_layered);
    fill(facts->texture_2d_layered, 3, ATTRIBUTE_texture_2d_layered_x);
    fill(facts->texture_cubemap_layered, 2, ATTRIBUTE_texture_cubemap_layered);
    facts->surface_1d = attribute(ATTRIBUTE_surface_1d);
    fill(facts->surface_2d, 2, ATTRIBUTE_surface_2d_x);
    fill(facts->surface_3d, 3, ATTRIBUTE_surface_3d_x);
    fill(facts->surface_1d_layered, 2, ATTRIBUTE_surface_1d_layered);
    fill(facts->surface_2d_layered, 3, ATTRIBUTE_surface_2d_layered_x);
    facts->surface_cubemap = attribute(ATTRIBUTE_surface_cubemap);
    fill(facts->surface_cubemap_layered, 2, ATTRIBUTE_surface_cubemap_layered);
    facts->surface_alignment = (size_t)attribute(ATTRIBUTE_surface_alignment);
    facts->texture_alignment = (size_t)attribute(ATTRIBUTE_texture_alignment);
    facts->texture_pitch_alignment = (size_t)attribute(ATTRIBUTE_texture_pitch_alignment);
}

static void fill_blocks(smk_cuda_properties *facts)
{
    facts->shared_per_block = (size_t)attribute(ATTRIBUTE_shared_per_block);
    facts->registers_per_block = attribute(ATTRIBUTE_registers_per_block);
    facts->warp_size = attribute(ATTRIBUTE_warp_size);
    facts->max_threads_per_block = attribute(ATTRIBUTE_max_threads_per_block);
    fill(facts->max_block, 3, ATTRIBUTE_max_block_x);
    fill(facts->max_grid, 3, ATTRIBUTE_max_grid_x);
    facts->multiprocessors = attribute(ATTRIBUTE_multiprocessors);
    facts->threads_per_multiprocessor = attribute(ATTRIBUTE_threads_per_multiprocessor);
    facts->shared_per_multiprocessor = (size_t)attribute(ATTRIBUTE_shared_per_multiprocessor);
    facts->registers_per_multiprocessor = attribute(ATTRIBUTE_registers_per_multiprocessor);
    facts->shared_optin = (size_t)attribute(ATTRIBUTE_shared_optin);
    facts->shared_reserved = (size_t)attribute(ATTRIBUTE_shared_reserved);
    facts->blocks_per_multiprocessor = attribute(ATTRIBUTE_blocks_per_multiprocessor);
}

static void fill_machine(smk_cuda_properties *facts)
{
    facts->max_pitch = (size_t)attribute(ATTRIBUTE_max_pitch);
    facts->constant_bytes = (size_t)attribute(ATTRIBUTE_constant_bytes);
    facts->major = attribute(ATTRIBUTE_major);
    facts->minor = attribute(ATTRIBUTE_minor);
    facts->integrated = attribute(ATTRIBUTE_integrated);
    facts->maps_host_memory = facts->concurrent_kernels = facts->unified_addressing = 1;
    facts->pci_bus = attribute(ATTRIBUTE_pci_bus);
    facts->async_engines = attribute(ATTRIBUTE_async_engines);
    facts->bus_bits = attribute(ATTRIBUTE_bus_bits);
    facts->l2_bytes = attribute(ATTRIBUTE_l2_bytes);
    facts->persisting_l2 = attribute(ATTRIBUTE_persisting_l2);
    facts->access_window = attribute(ATTRIBUTE_access_window);
    facts->stream_priorities = facts->global_l1 = facts->local_l1 = facts->managed_memory = 1;
    facts->concurrent_managed_access = attribute(ATTRIBUTE_concurrent_managed_access);
    facts->preemption = facts->cooperative_launch = facts->registers_host_memory = facts->memory_pools = 1;
    facts->numa_node = facts->host_numa_node = -1;
}

SMK_EXPORT smk_cuda cudaGetDeviceProperties(smk_cuda_properties *facts, int device)
{
    const smk_runtime_card *card = smk_runtime_card_get();
    if (device != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
    }
    memset(facts, 0, sizeof *facts);
    (void)snprintf(facts->name, sizeof facts->name, "NVIDIA %s (simulated by smemkit)", card->name);
    memcpy(facts->uuid, "smemkit simulator", sizeof facts->uuid);
    facts->memory_bytes = (size_t)card->memory_gib << 30;
    fill_blocks(facts);
    fill_machine(facts);
    fill_textures(facts);
    return SMK_CUDA_Success;
}

/* Choosing ------------------------------------------------------------------------------------------------ */

SMK_EXPORT smk_cuda cudaGetDeviceCount(int *count)
{
    *count = 1;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGetDevice(int *device)
{
    *device = 0;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaSetDevice(int device)
{
    smk_session_use_runtime();
    return smk_outcome_return(device == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return cudaSetDevice(device);
}

SMK_EXPORT smk_cuda cudaChooseDevice(int *device, const void *wanted)
{
    (void)wanted;
    return cudaGetDevice(device);
}

SMK_EXPORT smk_cuda cudaSetValidDevices(const int *devices, int count)
{
    return smk_outcome_return(count >= 1 && devices[0] == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice);
}

static unsigned device_flags;

SMK_EXPORT smk_cuda cudaSetDeviceFlags(unsigned flags)
{
    device_flags = flags;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGetDeviceFlags(unsigned *flags)
{
    *flags = device_flags | 8; /* memory of the host can always be mapped */
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaDeviceGetPCIBusId(char *text, int length, int device)
{
    if (device != 0 || length <= 0) {
        return smk_outcome_return(device != 0 ? SMK_CUDA_ErrorInvalidDevice : SMK_CUDA_ErrorInvalidValue);
    }
    const int written = snprintf(text, (size_t)length, "0000:%02x:00.0", attribute(ATTRIBUTE_pci_bus));
    return smk_outcome_return(written < length ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue);
}

SMK_EXPORT smk_cuda cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    (void)text;
    return cudaGetDevice(device);
}

SMK_EXPORT smk_cuda cudaDriverGetVersion(int *version)
{
    *version = RUNTIME_VERSION;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}

/* A program that knows of one device has no peers to reach. */
SMK_EXPORT smk_cuda cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = 0;
    return smk_outcome_return(device == 0 && peer == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    return smk_outcome_return(peer == 0 ? SMK_CUDA_ErrorPeerAccessUnsupported : SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaDeviceDisablePeerAccess(int peer)
{
    (void)peer;
    return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaDeviceGetP2PAttribute(int *value, int number, int device, int peer)
{
    (void)number, (void)device, (void)peer;
    *value = 0;
    return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
}

/* Waiting and limits --------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cudaDeviceSynchronize(void)
{
    smk_cuda code = smk_stream_wait_all();
    return code == SMK_CUDA_Success ? smk_outcome_begin() : smk_outcome_return(code);
}

/* Allocations stay readable for the report; the error of a kernel is forgotten. */
SMK_EXPORT smk_cuda cudaDeviceReset(void)
{
    smk_session_flush();
    smk_outcome_reset();
    return SMK_CUDA_Success;
}

enum { PERSISTING = 6, PERSISTING_PARTS = 16 };

static size_t limit[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};

/* What is set aside of the L2 cache: whole sixteenths of it. False: it is more than may be. */
static bool round_persisting(size_t *value)
{
    const size_t most = (size_t)smk_runtime_card_persisting_bytes();
    const size_t part = (size_t)smk_runtime_card_get()->l2_kib * 1024 / PERSISTING_PARTS;
    if (*value > most) {
        return false;
    }
    *value = (*value + part - 1) / part * part;
    return true;
}

SMK_EXPORT smk_cuda cudaDeviceGetLimit(size_t *value, int number)
{
    if (number < 0 || number >= LIMITS) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *value = limit[number];
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaDeviceSetLimit(int number, size_t value)
{
    if (number < 0 || number >= LIMITS || (number == PERSISTING && !round_persisting(&value))) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    limit[number] = value;
    return smk_outcome_begin();
}

static int cache_config;

SMK_EXPORT smk_cuda cudaDeviceSetCacheConfig(int config)
{
    cache_config = config;
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaDeviceGetCacheConfig(int *config)
{
    *config = cache_config;
    return smk_outcome_begin();
}

/* Banks are 4 bytes wide on all cards since Maxwell, whatever a program sets. */
SMK_EXPORT smk_cuda cudaDeviceSetSharedMemConfig(int config)
{
    (void)config;
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaDeviceGetSharedMemConfig(int *config)
{
    *config = BANKS_OF_4_BYTES;
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least != NULL) {
        *least = 0;
    }
    if (greatest != NULL) {
        *greatest = PRIORITY_GREATEST;
    }
    return smk_outcome_begin();
}

/* Clusters of more than one block are not there. */
SMK_EXPORT smk_cuda cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const void *config)
{
    (void)function, (void)config;
    *clusters = 0;
    return smk_outcome_return(SMK_CUDA_ErrorNotSupported);
}

SMK_EXPORT smk_cuda cudaCtxResetPersistingL2Cache(void)
{
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaProfilerStart(void)
{
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaProfilerStop(void)
{
    return smk_outcome_begin();
}
