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
def _assemble(ptx: str) -> dict[str, int]:
    from .._ptxas import find_registers  # which loads the compilers: few calls need them

    return find_registers(ptx)[0]


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
    return _assemble(ptx).get(entry)
