"""Registers of kernels: of the package's from the build, of others from ptxas."""

from __future__ import annotations

import functools
from pathlib import Path

GUESS = 40  # where nobody can tell


@functools.cache
def _collect_usage() -> dict[str, dict[int, int]]:
    """{entry: {architecture: registers}} of the package's kernels."""
    found: dict[str, dict[int, int]] = {}
    for path in Path(__file__).parents[1].glob("kernels/*/*.usage"):
        for row in path.read_text(encoding="utf-8").splitlines():
            entry, arch, registers, *_ = row.split()
            found.setdefault(entry, {})[int(arch.rstrip("af"))] = int(registers)
    return found


@functools.lru_cache(maxsize=64)
def _assemble(ptx: str, target: str) -> dict[str, int]:
    """{entry: registers} of machine code for an architecture, which decides how many they are."""
    from .. import compile  # which loads the compilers: few calls need them
    from .machine_code import retarget

    ptxas = compile.find_ptxas()
    if ptxas is None:
        return {}
    try:
        usage = compile.assemble_usage(ptxas, retarget(ptx, target), target)
    except compile.UnknownArchError:
        return {}
    return {entry: row["registers"] for entry, row in usage.items()}


def is_packaged(entry: str) -> bool:
    """Whether the package has a kernel of that name."""
    return entry in _collect_usage()


def count_registers(entry: str, ptx: str, capability: str) -> int | None:
    """Registers of a thread in machine code for a compute capability; None where nobody can tell.

    Where the package has no machine code for it, the GPU runs that of the next older one of the
    same major number.
    """
    wanted = int(capability.replace(".", ""))
    known = _collect_usage().get(entry, {})
    fitting = [arch for arch in known if arch <= wanted and arch // 10 == wanted // 10]
    if fitting:
        return known[max(fitting)]
    from .machine_code import choose_target  # as above

    return _assemble(ptx, choose_target(ptx, str(wanted))).get(entry)
