"""What kernels take in machine code: registers, shared memory, barriers and launch bounds."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn

    from .._types import StrPath

ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
BOUNDS = re.compile(
    r"^\s*\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", re.MULTILINE
)
PTX_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
ARCH_OPTION = re.compile(r"(-arch|--gpu-architecture|-gencode|--generate-code)(?:=(.*))?")


class UnknownArchError(Exception):
    """A compiler does not make code for a compute capability; the text says what it makes."""


def say_arch(arch: str) -> str:
    """ "86" -> "8.6"."""
    return f"{arch[:-1]}.{arch[-1]}"


def read_report(report: str) -> dict[str, dict[str, int]]:
    """{entry: its registers, shared memory, barriers and spills} of what `ptxas -v` reports."""
    usage, parts = {}, ENTRY.split(report)
    for entry, text in zip(parts[1::2], parts[2::2], strict=True):
        registers = re.search(r"Used (\d+) registers", text)
        barriers = re.search(r"used (\d+) barriers", text)
        shared = re.search(r"(\d+) bytes smem", text)
        spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", text)
        if registers:
            usage[entry] = {
                "registers": int(registers[1]),
                "shared_bytes": int(shared[1]) if shared else 0,
                "barriers": int(barriers[1]) if barriers else 0,
                "spill_store_bytes": int(spills[1]) if spills else 0,
                "spill_load_bytes": int(spills[2]) if spills else 0,
            }
    return usage


def read_bounds(ptx: str) -> dict[str, int]:
    """{entry: the most threads of a block}, 0 where the PTX does not say."""
    bounds, parts = {}, PTX_ENTRY.split(ptx)
    for entry, text in zip(parts[1::2], parts[2::2], strict=True):
        found = BOUNDS.search(text.partition("{")[0])
        threads = 1 if found else 0
        for length in found.groups() if found else ():
            threads *= int(length or 1)
        bounds[entry] = threads
    return bounds


def join_usage(ptx: str, report: str) -> dict[str, Any]:
    """The usage of each entry, with its launch bounds."""
    bounds = read_bounds(ptx)
    return {
        entry: {**row, "threads_max": bounds.get(entry, 0)}
        for entry, row in read_report(report).items()
    }


def choose_options(options: Iterable[str], arch: str) -> list[str]:
    """The options with an -arch for that architecture; the user's stays where it is one of it.

    Code for sm_90a may use what sm_90 has not: an -arch with a letter is kept for its own number.
    """
    kept, letter, skip = [], "", False
    for option in options:
        found = None if skip else ARCH_OPTION.fullmatch(option)
        value = option if skip else found[2] if found else None
        skip = found is not None and found[2] is None  # the value is the next word
        for number, ending in re.findall(r"(?:compute|sm)_(\d+)([af]?)", value or ""):
            letter = ending if number == arch else letter
        if value is None and not skip:
            kept.append(option)
    return [f"-arch=sm_{arch}{letter}", *kept]


def assemble_usage(ptxas: StrPath, ptx: str, arch: str) -> dict[str, Any]:
    """The usage of each entry of PTX, by the ptxas at that path."""
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        path = Path(folder, "kernel.ptx")
        path.write_text(ptx, encoding="utf-8")
        done = subprocess.run(
            [ptxas, "-v", f"-arch=sm_{arch}", "-o", Path(folder, "kernel.cubin"), path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    log = done.stdout.decode(errors="replace")
    if done.returncode == 0:
        return join_usage(ptx, log)
    if "gpu-name" in log:
        raise UnknownArchError(f"{ptxas} makes no code for it")
    line = next((line for line in log.splitlines() if "error" in line or "fatal" in line), log)
    line = re.sub(r"^ptxas \S*kernel\.ptx, ", "", line.strip())  # a temporary file
    raise UnknownArchError(f"ptxas refuses it: {line[:300]}")


def refuse_arch(compiler: str, archs: Iterable[Any]) -> NoReturn:
    """UnknownArchError that lists the architectures of a compiler."""
    listed = ", ".join(say_arch(str(arch)) for arch in archs)
    raise UnknownArchError(f"{compiler} makes code for {listed}")


def demand_usage(usage: dict[str, Any], log: str) -> dict[str, Any]:
    """The usage; CompileError where the compiler reports none, as with options for PTX alone."""
    if not usage:
        raise _core.CompileError(f"the compiler reports no machine code:\n{log.strip()[:1000]}")
    return usage
