"""Advice on launches: what the block, the grid and the shared memory of a block leave idle."""

import numpy

from .. import _core
from .counts import say_count

COMPUTE_CAPABILITY = "9.0"  # of the simulated machine


def _read_registers(kernel, launch):
    """The blocks that fit into a multiprocessor's registers; None if the usage is unknown."""
    if kernel.sources.variant is None:
        return None
    family, variant = kernel.sources.variant
    choice, _, dtype = kernel.name.removeprefix(f"{family}_{variant}_").rpartition("_")
    try:
        found = _core.occupancy(
            (family, variant, dtype),
            launch.block,
            compute_capability=COMPUTE_CAPABILITY,
            choice=choice or None,
        )
    except _core.Error:
        return None
    return found.limits["registers"]


def judge_occupancy(kernel):
    limits = _core.limits(COMPUTE_CAPABILITY)
    most = limits["shared_bytes_per_multiprocessor"]
    kept = limits["shared_bytes_per_block_reserved"]
    unit = limits["shared_allocation_unit_bytes"]
    all_threads = limits["threads_per_multiprocessor_max"]
    for launch in kernel.launches:
        threads = int(numpy.prod(launch.block))
        if not launch.shared_bytes:
            continue
        rounded = -(-threads // 32) * 32
        by_threads = min(all_threads // rounded, limits["blocks_per_multiprocessor_max"])
        by_shared = most // (-(-(launch.shared_bytes + kept) // unit) * unit)
        by_registers = _read_registers(kernel, launch) if by_shared < by_threads else None
        if by_shared >= (by_threads if by_registers is None else min(by_threads, by_registers)):
            continue
        evidence = {
            "shared bytes a block": launch.shared_bytes,
            "shared bytes a multiprocessor": most,
            "blocks a multiprocessor by shared memory": by_shared,
            "blocks a multiprocessor by threads": by_threads,
            "occupancy in percent": 100 * by_shared * rounded / all_threads,
        }
        of_registers = "registers are not considered"
        if by_registers is not None:
            evidence["blocks a multiprocessor by registers"] = by_registers
            of_registers = f"the registers let {by_registers}"
        text = (
            "shared memory limits how many blocks a multiprocessor holds. "
            f"{launch.shared_bytes:,} bytes a block (and {kept:,} kept by the system) of "
            f"{most:,} let {say_count(by_shared, 'block')} of {threads} "
            f"threads stay at once, where the threads alone let {by_threads}: "
            f"{by_shared * rounded:,} of {all_threads:,} threads (compute capability "
            f"{COMPUTE_CAPABILITY}; {of_registers}). A smaller tile, or more threads "
            "for this one, raises it"
        )
        yield kernel.advise_launch("occupancy", f"{text}.", evidence)
