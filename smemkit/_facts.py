"""The dicts that queries of the extension return. Type checkers read it; nothing imports it."""

from typing import Literal, TypeAlias, TypedDict

Fact: TypeAlias = int | float | str


class SimulatorInfo(TypedDict):
    """Facts of a device that the simulator has too."""

    name: str
    compute_capability: str
    compute_capability_major: int
    compute_capability_minor: int
    warp_lanes: int
    threads_per_block_max: int
    shared_bytes_per_block: int
    shared_bytes_per_block_optin: int


class DeviceInfo(SimulatorInfo, TypedDict, total=False):
    """What device_info gives; only a GPU has these."""

    # Facts of a device, written by python -m smemkit dev docs
    uuid: str
    multiprocessors: int
    clock_khz: int
    float32_to_float64_speed_ratio: int
    global_memory_bytes: int
    memory_clock_khz: int
    memory_bus_width_bits: int
    memory_bandwidth_gb_per_s: float
    l2_cache_bytes: int
    l2_persisting_bytes_max: int
    access_policy_window_bytes_max: int
    global_l1_cache_supported: int
    local_l1_cache_supported: int
    constant_memory_bytes: int
    memory_pitch_bytes_max: int
    ecc_enabled: int
    shared_bytes_per_block_reserved: int
    shared_bytes_per_multiprocessor: int
    registers_per_block: int
    registers_per_multiprocessor: int
    threads_per_multiprocessor_max: int
    warps_per_multiprocessor_max: int
    blocks_per_multiprocessor_max: int
    block_x_max: int
    block_y_max: int
    block_z_max: int
    grid_x_max: int
    grid_y_max: int
    grid_z_max: int
    async_engines: int
    copy_overlaps_kernel: int
    concurrent_kernels: int
    kernel_time_limit: int
    compute_preemption: int
    cooperative_launch: int
    cluster_launch: int
    stream_priorities: int
    memory_pools: int
    memory_pool_handle_types: int
    memory_sync_domains: int
    unified_function_pointers: int
    ipc_events: int
    timeline_semaphores: int
    sparse_arrays: int
    deferred_mapping_arrays: int
    unified_addressing: int
    managed_memory: int
    concurrent_managed_access: int
    direct_managed_access_from_host: int
    pageable_memory_access: int
    pageable_memory_uses_host_page_tables: int
    map_host_memory: int
    host_register: int
    host_register_read_only: int
    host_pointer_for_registered_memory: int
    host_native_atomics: int
    gpu_direct_rdma: int
    gpu_direct_rdma_flush_options: int
    gpu_direct_rdma_writes_ordering: int
    flush_remote_writes: int
    pci_address: str
    pci_domain: int
    pci_bus: int
    pci_device: int
    pci_device_and_vendor_id: int
    pci_subsystem_id: int
    integrated: int
    multi_gpu_board: int
    multi_gpu_board_group: int
    numa_configuration: int
    numa_node: int
    host_numa_node: int
    host_numa_multinode_ipc: int
    tcc_driver: int
    mps_enabled: int
    compute_mode: int
    texture_alignment_bytes: int
    texture_pitch_alignment_bytes: int
    surface_alignment_bytes: int
    texture_1d_width_max: int
    texture_1d_mipmap_width_max: int
    texture_1d_linear_width_max: int
    texture_1d_layered_width_max: int
    texture_1d_layered_layers_max: int
    texture_2d_width_max: int
    texture_2d_height_max: int
    texture_2d_mipmap_width_max: int
    texture_2d_mipmap_height_max: int
    texture_2d_linear_width_max: int
    texture_2d_linear_height_max: int
    texture_2d_linear_pitch_bytes_max: int
    texture_2d_gather_width_max: int
    texture_2d_gather_height_max: int
    texture_2d_layered_width_max: int
    texture_2d_layered_height_max: int
    texture_2d_layered_layers_max: int
    texture_3d_width_max: int
    texture_3d_height_max: int
    texture_3d_depth_max: int
    texture_3d_alternate_width_max: int
    texture_3d_alternate_height_max: int
    texture_3d_alternate_depth_max: int
    texture_cubemap_width_max: int
    texture_cubemap_layered_width_max: int
    texture_cubemap_layered_layers_max: int
    surface_1d_width_max: int
    surface_1d_layered_width_max: int
    surface_1d_layered_layers_max: int
    surface_2d_width_max: int
    surface_2d_height_max: int
    surface_2d_layered_width_max: int
    surface_2d_layered_height_max: int
    surface_2d_layered_layers_max: int
    surface_3d_width_max: int
    surface_3d_height_max: int
    surface_3d_depth_max: int
    surface_cubemap_width_max: int
    surface_cubemap_layered_width_max: int
    surface_cubemap_layered_layers_max: int
    # End of the facts of a device


class Limits(TypedDict):
    """What limits gives."""

    compute_capability: str
    warp_lanes: int
    threads_per_block_max: int
    threads_per_multiprocessor_max: int
    warps_per_multiprocessor_max: int
    blocks_per_multiprocessor_max: int
    registers_per_multiprocessor: int
    registers_per_block: int
    registers_per_thread_max: int
    register_allocation_unit: int
    warp_allocation_granularity: int
    shared_bytes_per_block: int
    shared_bytes_per_block_optin: int
    shared_bytes_per_multiprocessor: int
    shared_bytes_per_block_reserved: int
    shared_allocation_unit_bytes: int
    shared_carveout_bytes: tuple[int, ...]
    kernels: bool
    source: str
    differences: dict[str, tuple[Fact, Fact]] | None


class Build(TypedDict):
    """What the extension knows of itself and of its machine; show_config completes it."""

    backend: Literal["cuda", "sim"]
    reason: str
    isa: Literal["avx512", "avx2", "baseline"]
    threads: int
    memory_bytes: int
    cuda_driver: int
    cuda_runtime: int
    cuda_devices: int
    cuda_absence: str
    kernels: int


class Counter(TypedDict):
    """A counter of counters.def."""

    name: str
    unit: str
    ncu: str
    meaning: str
    ratio: bool


class Family(TypedDict):
    """A family of kernels, as families gives it."""

    signature: str | None
    shows: str
    variants: tuple[str, ...]


class Variant(TypedDict):
    """A variant of a family, as variants gives it."""

    shows: str
    dtypes: tuple[str, ...]
    block: tuple[int, int]
    tile: tuple[int, int]
    compute_capability: str
    auto: bool


class Parameter(TypedDict):
    """A parameter of a kernel."""

    name: str
    type: str
    nbytes: int


class Attributes(TypedDict):
    """What RawKernel.attributes is."""

    num_regs: int | None
    shared_size_bytes: int
    local_size_bytes: int
    const_size_bytes: int
    max_threads_per_block: int
    maxntid: tuple[int, int, int] | None
    ptx_version: int | None
    binary_version: int | None
    parameters: tuple[Parameter, ...] | None
