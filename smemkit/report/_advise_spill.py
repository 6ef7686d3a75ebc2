"""Advice on registers that ptxas spills to local memory, which no access of the PTX shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core
from ._advise_launch import COMPUTE_CAPABILITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ._captured import Place
    from ._kernel import Advice, Evidence, Kernel

ARCH = COMPUTE_CAPABILITY.replace(".", "")
DECLARED = re.compile(r"\.reg\s+\.(pred|[a-z]+(\d+))(?:\.v(\d))?\s+[^<;]*?(?:<(\d+)>)?\s*;")
WORD = 32  # bits of a register
REGISTERS_MAX = 255  # of a thread


def _count_declared(lines: Sequence[str]) -> int:
    """Registers of 32 bits that the PTX names: a kernel with few of them cannot need many."""
    total = 0
    for _, bits, vector, count in DECLARED.findall("\n".join(lines)):
        total += -(-int(bits or 0) // WORD) * int(vector or 1) * max(1, int(count or 1) - 1)
    return total


def _cut_entry(lines: Sequence[str], name: str) -> Sequence[str]:
    """The lines of a kernel of a module, its directives among them."""
    starts = [i for i, line in enumerate(lines) if re.search(r"\.(entry|func)\b", line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        if re.search(rf"\.entry\s+{re.escape(name)}\b", lines[start]):
            return lines[start:end]
    return []


def _read_limits(lines: Sequence[str]) -> tuple[int, int | None, int | None]:
    """(registers that a thread may have, threads a block, blocks) of the kernel's directives."""
    text = "\n".join(lines).partition("{")[0]
    sizes = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", text)
    blocks = re.search(r"\.minnctapersm\s+(\d+)", text)
    most = re.search(r"\.maxnreg\s+(\d+)", text)
    threads = 1
    for size in sizes.groups() if sizes else ():
        threads *= int(size or 1)
    at_once = int(blocks[1]) if blocks else 1
    limit = min(REGISTERS_MAX, int(most[1]) if most else REGISTERS_MAX)
    if sizes:
        all_registers = _core.limits(COMPUTE_CAPABILITY)["registers_per_multiprocessor"]
        limit = min(limit, all_registers // (threads * at_once) // 8 * 8)
    return limit, threads if sizes else None, int(blocks[1]) if blocks else None


def _find_usage(kernel: Kernel) -> dict[str, Any] | None:
    """What the kernel takes in machine code; None where no compiler here tells it."""
    from .. import compile  # slow to import

    ptx = "\n".join(kernel.sources.ptx)
    ptxas, given = compile.find_ptxas(), kernel.sources.given
    try:
        if ptxas is not None:
            return compile.assemble_usage(ptxas, ptx, ARCH).get(kernel.name)
        if given is not None and compile.compile_source(given, ()).splitlines() == ptx.splitlines():
            return compile.compile_usage(given, (), ARCH).get(kernel.name)
    except (_core.Error, compile.UnknownArchError, OSError):
        pass
    return None


def _find_declaration(kernel: Kernel) -> Place | None:
    """The place where the source declares the kernel; None where that is not seen."""
    for file in dict.fromkeys(line.file for line in kernel.lines):
        for number, text in enumerate(kernel.sources.lines(file) or (), 1):
            if re.search(rf"\b{re.escape(kernel.name)}\s*\(", text.partition("//")[0]):
                return file, number
    return None


def judge_spills(kernel: Kernel) -> Iterator[Advice]:
    """Kernels of the user's own whose registers ptxas spills."""
    if kernel.sources.variant is not None:
        return
    lines = _cut_entry(kernel.sources.ptx, kernel.name)
    limit, threads, blocks = _read_limits(lines)
    if _count_declared(lines) <= limit:
        return
    usage = _find_usage(kernel) or {}
    stores, loads = (usage.get(f"spill_{op}_bytes", 0) for op in ("store", "load"))
    if not stores and not loads:
        return
    bounds = ", ".join(str(number) for number in (threads, blocks) if number is not None)
    cause = f" under __launch_bounds__({bounds})" if bounds else ""
    cures = ["fewer values at once (smaller arrays of the thread, less unrolling)"]
    if blocks is not None and blocks > 1:
        cures.append(f"__launch_bounds__({threads}), without a second number")
    elif threads is not None and limit < REGISTERS_MAX:
        cures.append(f"a block of {threads // 2} threads, with __launch_bounds__({threads // 2})")
    elif limit < REGISTERS_MAX:
        cures.append("a higher limit of registers in the options of the compiler")
    evidence: Evidence = {
        "registers a thread": usage["registers"],
        "bytes of spill stores": stores,
        "bytes of spill loads": loads,
    }
    text = (
        f"the compiler has {usage['registers']} registers for a thread{cause}, too few for its "
        f"values: it spills them to local memory, by stores of {stores:,} bytes and loads of "
        f"{loads:,} bytes a thread (machine code for compute capability {COMPUTE_CAPABILITY}; more "
        "in a loop). The counters do not have these accesses. Let the thread have "
        f"{', or take '.join(cures)}."
    )
    place = _find_declaration(kernel)
    if place is None:
        yield kernel.advise_launch("register_spill", text, evidence)
    else:
        yield kernel.advise("register_spill", [place], text, evidence)
