"""Instances of templates by name: which kernel of the PTX is scale<float>?

A source with expressions ends in a variable for each, whose value is the kernel: nvcc instantiates
the template, and its PTX says what the kernel is called. NVRTC refuses such variables and has
functions of its own for this; its PTX gets lines of the same form. So the cache keeps the names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "smemkit_name_expression_"
START = f'extern "C" __device__ void *{MARK}'
WRITTEN = re.compile(rf"^{re.escape(START)}\d+ = \(void \*\)&(.*);\n", re.MULTILINE)
FOUND = re.compile(
    rf"^[^\n]*\.global[^\n;]*\b{MARK}(\d+)\s*=\s*(?:generic\()?([\w$]+)\)?;\n?", re.MULTILINE
)
COMMENT = re.compile(rf"^\s*//[^\n]*{MARK}\d+\s*\n", re.MULTILINE)


def add_expressions(source: str, expressions: Iterable[str]) -> str:
    """The source with a variable for each expression."""
    if isinstance(expressions, str) or not all(isinstance(one, str) for one in expressions):
        raise _core.ArgumentTypeError(
            "name_expressions must be a sequence of str, as in ('scale<float>',)"
        )
    for one in expressions:
        if not re.fullmatch(r"[\w :<>,*&()+\-\[\]]+", one):
            raise _core.ArgumentError(
                f"name_expressions has {one!a:.80}, which names no kernel; 'scale<float>' would"
            )
    bare = [one.strip().removeprefix("&") for one in expressions]  # &weights<3> is a variable
    lines = [f"{START}{number} = (void *)&{one};" for number, one in enumerate(bare)]
    return "\n".join([source, '#line 1 "name_expressions"', *lines, ""])


def split_expressions(source: str) -> tuple[str, list[str]]:
    """(the source without its expressions, a list of these), for NVRTC."""
    return WRITTEN.sub("", source), WRITTEN.findall(source)


def write_names(ptx: str, names: Iterable[str]) -> str:
    """The PTX with a line for each name, as nvcc writes one for the variable."""
    lines = [f".global .u64 {MARK}{number} = {name};\n" for number, name in enumerate(names)]
    return "".join([ptx.rstrip("\0\n"), "\n", *lines])


def take_names(ptx: str, expressions: Iterable[str]) -> tuple[str, dict[str, str]]:
    """(the PTX without those lines, a dict from expression to the kernel's name there)."""
    found = {int(number): name for number, name in FOUND.findall(ptx)}
    missing = [one for number, one in enumerate(expressions) if number not in found]
    if missing:
        raise _core.CompileError(f"the PTX has no kernel of the name {', '.join(missing)}")
    names = {one: found[number] for number, one in enumerate(expressions)}
    return COMMENT.sub("", FOUND.sub("", ptx)), names
