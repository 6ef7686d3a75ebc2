/* The binary interface of the CUDA 12 runtime where it differs from that of CUDA 13 (runtime/abi.h). */
#ifndef SMK_RUNTIME_CUDA12_H
#define SMK_RUNTIME_CUDA12_H

#include "runtime/abi.h"
#include "runtime/properties.h"

/* A function of CUDA 13 under a name of its own, for a file that defines one of the same name for CUDA 12. */
#define SMK_CUDA12_NEWER(own, name) __asm__(".symver " #own ", " #name "@libcudart.so.13")

enum { SMK_CUDA12_VERSION = 12090 };

typedef struct smk_cuda12_pointer_facts {
    int type, device;
    void *device_address, *host_address;
} smk_cuda12_pointer_facts;

/* The first bytes of smk_cuda_resource and smk_cuda_view, which CUDA 13 has made larger. */
enum { SMK_CUDA12_RESOURCE_BYTES = 64, SMK_CUDA12_VIEW_BYTES = 48 };

typedef struct smk_cuda12_launch {
    const void *function;
    smk_dim3 grid, block;
    void **parameters;
    size_t shared_bytes;
    smk_cuda_stream_handle stream;
} smk_cuda12_launch;

typedef struct smk_cuda12_properties {
    char name[256];
    unsigned char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t memory_bytes, shared_per_block;
    int registers_per_block, warp_size;
    size_t max_pitch;
    int max_threads_per_block, max_block[3], max_grid[3];
    int clock_khz;
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int gpu_overlap;
    int multiprocessors;
    int kernel_timeout;
    int integrated, maps_host_memory;
    int compute_mode;
    int texture_1d, texture_1d_mipmapped;
    int texture_1d_linear;
    int texture_2d[2], texture_2d_mipmapped[2], texture_2d_linear[3];
    int texture_gather[2], texture_3d[3], texture_3d_alternative[3], texture_cubemap, texture_1d_layered[2];
    int texture_2d_layered[3], texture_cubemap_layered[2];
    int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cubemap;
    int surface_cubemap_layered[2];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
    int memory_clock_khz;
    int bus_bits, l2_bytes, persisting_l2, threads_per_multiprocessor, stream_priorities, global_l1, local_l1;
    size_t shared_per_multiprocessor;
    int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_group, host_atomics;
    int single_to_double;
    int pageable_access, concurrent_managed_access, preemption, registered_at_host_address, cooperative_launch;
    int cooperative_devices;
    size_t shared_optin;
    int host_page_tables, direct_managed_access, blocks_per_multiprocessor, access_window;
    size_t shared_reserved;
    int registers_host_memory, sparse_arrays, read_only_registration, timeline_semaphores, memory_pools, direct_rdma;
    unsigned rdma_flush;
    int rdma_order;
    unsigned pool_handles;
    int deferred_mapping, ipc_events, clusters, unified_functions;
    int reserved[63];
} smk_cuda12_properties;

#endif
