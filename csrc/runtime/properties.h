/* The structure that cudaGetDeviceProperties fills, in the layout of CUDA 13. Fields that are attributes too have the
 * names of device_attribute.def. */
#ifndef SMK_RUNTIME_PROPERTIES_H
#define SMK_RUNTIME_PROPERTIES_H

#include <stddef.h>

typedef struct smk_cuda_properties {
    char name[256];
    unsigned char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t memory_bytes, shared_per_block;
    int registers_per_block, warp_size;
    size_t max_pitch;
    int max_threads_per_block, max_block[3], max_grid[3];
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int multiprocessors, integrated, maps_host_memory;
    int texture_1d, texture_1d_mipmapped, texture_2d[2], texture_2d_mipmapped[2], texture_2d_linear[3];
    int texture_gather[2], texture_3d[3], texture_3d_alternative[3], texture_cubemap, texture_1d_layered[2];
    int texture_2d_layered[3], texture_cubemap_layered[2];
    int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cubemap;
    int surface_cubemap_layered[2];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
    int bus_bits, l2_bytes, persisting_l2, threads_per_multiprocessor, stream_priorities, global_l1, local_l1;
    size_t shared_per_multiprocessor;
    int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_group, host_atomics, pageable_access;
    int concurrent_managed_access, preemption, registered_at_host_address, cooperative_launch;
    size_t shared_optin;
    int host_page_tables, direct_managed_access, blocks_per_multiprocessor, access_window;
    size_t shared_reserved;
    int registers_host_memory, sparse_arrays, read_only_registration, timeline_semaphores, memory_pools, direct_rdma;
    unsigned rdma_flush;
    int rdma_order;
    unsigned pool_handles;
    int deferred_mapping, ipc_events, clusters, unified_functions, numa_config, numa_node, mps, host_numa_node;
    unsigned gpu_pci, gpu_pci_subsystem;
    int host_numa_ipc;
    int reserved[56];
} smk_cuda_properties;

#endif
