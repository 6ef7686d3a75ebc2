"""What instructions of PTX need of a card, for where no ptxas is at hand that would refuse them.

ptxas says of each form of csrc/ptx/opcode.def which architecture it requires; a test compares.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

# Compute capability -> what instructions that need it, and no later one, begin with.
NEEDS = {
    "12.0": (r"mma\S*\.kind::|mma\.sp::ordered_metadata\S*\.f16\.e[45]m",),
    "10.0": (
        r"(?:add|sub|mul|fma)\.(?:\w+\.)*(?:f32x2|f32\.b?f16)\b",
        r"(?:max|min)\.(?:\w+\.)*f32\s[^,;]+,[^,;]+,[^,;]+,",  # of three
        r"redux\.\S*f32",
        r"\S+\.v8\.[bfsu]32|\S+\.v4\.[bfsu]64",
        r"cvt\.\S*(?:e2m|e3m|ue8|rs\.)",
        r"(?:ld|st)matrix\.\S*\.b8",  # matrices of bytes, and of narrower elements
        r"cvt\.r[nz]\.(?:\w+\.)*satfinite\.tf32",
    ),
    "9.0": (
        r"elect|griddepcontrol|stmatrix|mapa|getctarank|st\.async|red\.async|multimem|wgmma",
        r"setmaxnreg|barrier\.cluster|cp\.(?:reduce\.)?async\.bulk|fence\.proxy\.async",
        r"mbarrier\.(?:try_wait|expect_tx|complete_tx|\S*relaxed)",
        r"mbarrier\.arrive(?:_drop)?\.(?!noComplete)[^,;]*,[^,;]*,",  # of several at once
        r"\S*\.cluster\b|\S*::cluster\b",
        r"atom\.\S*b128|(?:atom|red)\.\S*(?:\.v[248]\.|bf16)",
        r"(?:add|sub|mul|set|setp|ex2|tanh)\.\S*bf16|\S*\.oob\b",
        r"(?:add|max|min)\.\S*[us]16x2|(?:max|min)\.relu\.s32",
        r"mma\.\S*m16\S*f64",
        r"cvt\.\S*bf16\.(?!f32)|cvt\.(?!(?:r\w\.)?f32\.bf16\s)\S*\.bf16\s|cvt\.r[nz]\.(?:relu\.)?tf32",
    ),
    "8.9": (r"(?:cvt|mma)\.\S*e[45]m",),
    "8.6": (r"\S*\.xorsign\b",),
    "8.0": (
        r"cp\.async|createpolicy|applypriority|discard|redux|mbarrier",
        r"\S*L2::(?:cache_hint|256B)|prefetch\.\S*evict",
        r"\S*bf16|\S*tf32|\S*\.relu\b|(?:max|min)\.\S*(?:f16|NaN)|cvt\.\S*f16x2\.f32",
        r"mma\.sp|mma\.\S*(?:m16n8k(?:16|32|64|128|256)|f64|\.and\.popc)",
        r"wmma\.\S*(?:\.f64|m16n16k8|\.and\.popc)",
    ),
}


@functools.cache
def _list_patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (needed, re.compile(rf"^(?:@\S+\s+)?({'|'.join(patterns)})", re.MULTILINE))
        for needed, patterns in NEEDS.items()
    ]


def find_need(rows: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """(compute capability that instructions need, the opcode of one that does); "" for none.

    >>> find_need([{"ptx": "ret;"}, {"ptx": "@%p1 cp.async.ca.shared.global [%r1], [%rd1], 4;"}])
    ('8.0', 'cp.async.ca.shared.global')
    """
    text = "\n".join(row["ptx"] for row in rows)
    for needed, pattern in _list_patterns():
        found = pattern.search(text)
        if found is not None:
            return needed, text[found.start(1) :].split(None, 1)[0].rstrip(";")
    return "", ""
