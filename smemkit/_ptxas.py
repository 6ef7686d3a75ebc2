"""What a kernel takes of a multiprocessor in machine code for a compute capability."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import compile
from .compile import find_ptxas

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ARCH_LEAST = 75  # the oldest that ptxas of CUDA 13 makes code for
TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)


def _assemble(ptx: str, entry: str, arch: str) -> tuple[int, ...] | str:
    """The usage of an entry of PTX, by ptxas."""
    ptxas, target = find_ptxas(), TARGET.search(ptx)
    if target and target[2]:  # sm_90a and its like are targets of their own
        if target[1] != arch:
            return f"its PTX is for sm_{target[1]}{target[2]} alone"
        arch += target[2]
    elif target and int(target[1]) > int(arch):
        return f"its PTX is for sm_{target[1]} and newer"
    if ptxas is None:
        return (
            "they are the machine code's, which ptxas makes of PTX, and there is none: "
            f"pip install nvidia-cuda-nvcc=={compile.PTXAS_VERSION}"
        )
    try:
        usage = compile.assemble_usage(ptxas, ptx, arch).get(entry)
    except compile.UnknownArchError as error:
        return str(error)
    return "ptxas did not report it" if usage is None else (usage["registers"], -1, -1, -1)


def find_registers(ptx: str) -> tuple[dict[str, int], str | None]:
    """{entry: registers in machine code}, and why there are none."""
    ptxas, target = find_ptxas(), TARGET.search(ptx)
    if ptxas is None:
        advice = f"pip install nvidia-cuda-nvcc=={compile.PTXAS_VERSION}"
        return (
            {},
            f"registers are those of machine code, which ptxas makes, and there is none: {advice}",
        )
    if target is None:
        return {}, "the PTX names no .target"
    arch = target[1] + target[2] if target[2] else str(max(int(target[1]), ARCH_LEAST))
    try:
        usage = compile.assemble_usage(ptxas, ptx, arch)
    except compile.UnknownArchError as error:
        return {}, f"registers are not known: {error}"
    return {entry: row["registers"] for entry, row in usage.items()}, None


def find_usage(
    ptx: str,
    source: str | None,
    options: Sequence[str] | None,
    names: Iterable[str] | None,
    entry: str,
    major: int,
    minor: int,
) -> tuple[int, ...] | str:
    """(registers, static shared bytes, barriers, threads_max), or why they are not known (str).

    A number is -1 where the PTX, as it was given, tells it. CUDA C (source, with its options) is
    compiled once more for the compute capability, and PTX is assembled. Raises CompileError where
    the source does not compile for it.
    """
    arch = f"{major}{minor}"
    if source is None or options is None:
        return _assemble(ptx, entry, arch)
    if names:
        source = compile.add_expressions(source, tuple(names))
    try:
        usage = compile.compile_usage(source, options, arch).get(entry)
    except compile.UnknownArchError as error:
        return str(error)
    if usage is None:
        return "its source has no such kernel for it"
    return tuple(usage[name] for name in ("registers", "shared_bytes", "barriers", "threads_max"))
