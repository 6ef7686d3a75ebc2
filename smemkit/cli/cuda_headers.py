"""Findings in the headers of CUDA, which a program includes and its author does not change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# Where nvcc, the packages of PyPI and a checkout of CCCL have them.
FOLDER = re.compile(
    r"/cuda[^/]*/(?:targets/[^/]+/)?include/|/nvidia/[^/]+/include/|/include/cccl/"
    r"|/(?:thrust/thrust|cub/cub|libcudacxx/include)/"
)
ACTION = (
    "All of this is code of a CUDA header, not of the program. Look at the call: its pointers, how "
    "many elements it is told of, and whether its output overlaps its input. What the header's "
    "authors do on purpose, --ignore-headers leaves out."
)


def are_alone(finding: dict[str, Any]) -> bool:
    """Whether all accesses of a finding stand in headers of CUDA."""
    sides = [finding[side] for side in ("first", "second") if side in finding]
    return bool(sides) and all(FOLDER.search(side["file"]) for side in sides)
