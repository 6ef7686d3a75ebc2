"""What can be said of a kernel without its machine code: its PTX instructions by class.

Where neither ptxas nor carried facts tell the machine code, each PTX instruction stands for what
it usually becomes. How long a warp waits for results says ptx_chain.
"""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

REGISTER = re.compile(r"%\w+")
GUARD = re.compile(r"^[{\s]*(?:@!?%\w+\s+)?")  # and the bracket of inline assembly
# What a PTX opcode begins with -> (class of opcode_classes, machine instructions). The first match
# counts; 64-bit integers take two instructions.
MEANINGS: tuple[tuple[str, str, float], ...] = (
    (
        r"ld\.(param|const)|mov|cvta|cvt\.[us]64\.[us]32|cvt\.[us]32\.[us]64|bra\.uni|pragma",
        "empty",
        0.0,
    ),
    (r"cvt", "convert", 1.0),
    (r"(fma|mul|add|sub|neg)\.(\w+\.)*f64|(set|sel)p\.(\w+\.)*f64", "double", 1.0),
    (r"(fma|mul|add|sub)\.(\w+\.)*f32", "fma", 1.0),
    (r"(fma|mul|add|sub)\.(\w+\.)*(f16|bf16)", "half", 1.0),
    (r"(ex2|lg2|sin|cos|tanh|rsqrt|rcp|sqrt|div)\.(\w+\.)*f", "special", 1.0),
    (r"(div|rem)\.", "alu", 20.0),
    (r"(mul|mad)\.(lo|hi)\.[us]64", "imad", 3.0),
    (r"(mul|mad)", "imad", 1.0),
    (r"ld\.shared|ld\.(\w+\.)*shared", "load.shared", 1.0),
    (r"st\.(\w+\.)*shared", "store.shared", 1.0),
    (r"(atom|red)\.(\w+\.)*shared", "atomic.shared", 1.0),
    (r"(atom|red)", "atomic.global", 1.0),
    (r"ldmatrix|stmatrix", "matrix.shared", 1.0),
    (r"cp\.async\.c[ag]", "async", 1.0),
    (r"ld\.(\w+\.)*local", "load.local", 1.0),
    (r"st\.(\w+\.)*local", "store.local", 1.0),
    (r"ld", "load.global", 1.0),
    (r"st", "store.global", 1.0),
    (r"shfl", "shuffle", 1.0),
    (r"vote|match|redux|activemask", "vote", 1.0),
    (r"(mma|wmma)", "tensor", 1.0),
    (r"bar|barrier", "barrier", 1.0),
    (r"membar|fence|cp\.async", "fence", 1.0),
    (r"bra|brx|ret|exit|call", "control", 1.0),
    (r"\w+\.(\w+\.)*[usb]64", "alu", 2.0),
    (r"\w", "alu", 1.0),
)
PATTERNS = tuple((re.compile(pattern), kind, number) for pattern, kind, number in MEANINGS)


def classify_ptx(text: str) -> tuple[str, float]:
    """(class, machine instructions) of the text of a PTX instruction.

    >>> classify_ptx("fma.rn.f32 %f1, %f2, %f3, %f1;"), classify_ptx("@%p1 add.s64 %rd1, %rd1, 4;")
    (('fma', 1.0), ('alu', 2.0))
    """
    plain = GUARD.sub("", text)
    for pattern, kind, number in PATTERNS:
        if pattern.match(plain):
            return kind, number
    return "empty", 0.0


def count_classes(instructions: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Warp instructions by class of the counted instructions of a launch."""
    counts: collections.Counter[str] = collections.Counter()
    for row in instructions:
        kind, number = classify_ptx(row["ptx"])
        if row["role"] not in ("member", "gone"):
            counts[kind] += number * row["counters"].get("instructions.warp", 0)
    return {kind: number for kind, number in counts.items() if kind != "empty"}
