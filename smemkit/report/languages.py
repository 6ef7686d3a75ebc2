"""Kernels that Triton and Numba compiled from Python: how reports speak of them.

Their PTX begins with a line that names the compiler. Advice is written for CUDA C; for these
kernels it names what their own languages have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._findings import Side

MARK = "// Compiled from Python by "
# (pattern of CUDA C's words, the language's own), tried in this order.
WORDS = {
    "Triton": (
        (
            r"Guard (.+?) by the ends of the array, as in if \(0 <= i && i < n\): a grid of whole "
            r"blocks has more threads than most arrays have elements\.",
            r"Give the access of \1 a mask by the ends of the array, as in mask=i < n: programs "
            r"together have more elements than most arrays.",
        ),
        (
            r"or guard the index of the block too, as in if \(blockIdx\.x < blocks\)",
            "or let its mask depend on tl.program_id too",
        ),
        (r"\(atomicAdd\(\), atomicExch\(\), cuda::atomic_ref\)", "(tl.atomic_add, tl.atomic_xchg)"),
        (r"atomicAdd\(\)", "tl.atomic_add"),
        (
            r"A lock needs __threadfence\(\) after it is taken and before it is given back\.",
            'A lock needs sem="acquire" where it is taken and sem="release" where it is given '
            "back.",
        ),
        (
            r"needs atomics and __threadfence\(\) on both sides",
            'needs atomics with sem="acq_rel" on both sides',
        ),
        (r"__sync(threads|warp)\(\)", "tl.debug_barrier()"),
        (
            r"let one access take them all \(float2, float4; where the source has one, the "
            r"compiler has parted it\)",
            "let one access take them all, as Triton does where it knows that addresses, strides "
            "and the bounds of masks are multiples of 16",
        ),
        (
            r"Make the index constant \(unroll the loop, #pragma unroll\)",
            "Make the index constant (tl.static_range)",
        ),
        (r"let threadIdx\.x walk along the axis", "let tl.arange walk along the axis"),
    ),
    "Numba": (
        (r"if \(0 <= i && i < n\)", "if 0 <= i < n"),
        (r"if \(blockIdx\.x < blocks\)", "if cuda.blockIdx.x < blocks"),
        (
            r"\(atomicAdd\(\), atomicExch\(\), cuda::atomic_ref\)",
            "(cuda.atomic.add, cuda.atomic.exch)",
        ),
        (r"atomicAdd\(\)", "cuda.atomic.add"),
        (r"__sync(threads|warp)\(\)", r"cuda.sync\1()"),
        (r"__threadfence\(\)", "cuda.threadfence()"),
        (
            r"\(float2, float4; where the source has one, the compiler has parted it\)",
            "(an array of a structured type of 8 or 16 bytes)",
        ),
        (
            r"\(unroll the loop, #pragma unroll\)",
            "(write the loop out, or let its bounds be constants)",
        ),
        (r"int i = blockIdx\.x \* blockDim\.x \+ threadIdx\.x", "i = cuda.grid(1)"),
        (r"__shfl_(up|down|xor)_sync", r"cuda.shfl_\1_sync"),
        (r"(?<!cuda\.)\b(threadIdx|blockIdx|blockDim)\.", r"cuda.\1."),
        (r"__shared__", "cuda.shared.array"),
    ),
}


def mark_ptx(ptx: str, package: str, version: str) -> str:
    """The PTX with a first line that says which package has compiled it."""
    return f"{MARK}{package} {version}\n{ptx}"


def find_package(lines: Sequence[str]) -> str | None:
    """The package that compiled PTX from Python: "Triton", "Numba", or None."""
    if not lines or not lines[0].startswith(MARK):
        return None
    name = lines[0].removeprefix(MARK).partition(" ")[0]
    return name if name in WORDS else None


def translate(text: str, package: str | None) -> str:
    """Advice in the words of the kernel's language; of CUDA C as it is."""
    for pattern, words in WORDS.get(package or "", ()):
        text = re.sub(pattern, words, text)
    return text


def is_copy(package: str | None, same_value: bool, first: Side, second: Side | None) -> bool:
    """Whether two stores to shared memory are copies of one value, which Triton makes.

    Triton keeps a value in several threads, and lets all of them store it at one place. The bits of
    floats may differ: each copy is rounded by itself. Programs of Triton have no other way to
    write there twice.
    """
    if package != "Triton" or second is None:
        return False
    sides = (first, second)
    stores = all(side.op == "store" and side.space == "shared" for side in sides)
    return stores and (same_value or first.ptx_line == second.ptx_line)
