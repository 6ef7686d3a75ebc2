"""Advice on double arithmetic of float values, which one literal without an f is enough for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .counts import PTX_FILE, place_of, say_count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeAlias

    from ._captured import Place
    from ._kernel import Advice, Evidence, Kernel

    Kind: TypeAlias = Literal["arithmetic", "widens", "narrows", "memory"]

OPCODE = re.compile(r"^(?:@!?%\w+\s+)?([a-z][\w.:]*)")
ARITHMETIC = {
    "add",
    "sub",
    "mul",
    "fma",
    "mad",
    "div",
    "rcp",
    "sqrt",
    "rsqrt",
    "min",
    "max",
    "setp",
}
LITERAL = re.compile(
    r"(?<![\w.])(?:\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])"
)
CONVERSIONS: dict[tuple[str, str], Kind] = {  # by the types of result and operand
    ("f64", "f32"): "widens",
    ("f32", "f64"): "narrows",
}
COMMENT = re.compile(r"//.*|/\*.*?\*/")


def _classify(ptx: str) -> Kind | None:
    """What an instruction does with doubles; "widens": float to double. None: it has none."""
    found = OPCODE.match(ptx)
    words = found[1].split(".") if found else [""]
    if "f64" not in words:
        return None
    if words[0] == "cvt":
        return CONVERSIONS.get((words[-2], words[-1]))
    if words[0] in ("ld", "st", "atom", "red"):
        return None if "local" in words else "memory"
    return "arithmetic" if words[0] in ARITHMETIC else None


def _find_lines(kernel: Kernel) -> dict[Place, dict[Kind, int]]:
    """{place: {class: warp instructions}} of the instructions that have to do with doubles."""
    places: dict[Place, dict[Kind, int]] = {}
    for facts in kernel.instructions:
        kind = _classify(facts["ptx"])
        executed = facts["counters"].get("instructions.warp", 0)
        if kind and executed:
            counts = places.setdefault(place_of(facts), {})
            counts[kind] = counts.get(kind, 0) + executed
    return places


def judge_doubles(kernel: Kernel) -> Iterator[Advice]:
    """Lines that widen floats, compute in double, and (where doubles are meant) narrow again."""
    places = _find_lines(kernel)
    has_memory = any("memory" in counts for counts in places.values())
    # pow and others are functions of their own, without source lines
    called = sum(c.get("arithmetic", 0) for place, c in places.items() if place[0] == PTX_FILE)
    for place, counts in sorted(places.items()):
        doubles = counts.get("arithmetic", called if "narrows" in counts else 0)
        if "widens" not in counts or not doubles:
            continue
        lines = kernel.sources.lines(place[0]) or []
        code = COMMENT.sub("", kernel.text(place))
        is_meant = has_memory or any(
            re.search(r"\bdouble\d?\b", COMMENT.sub("", line)) for line in lines
        )
        if is_meant and ("narrows" not in counts or "double" in code):
            continue
        literals = list(dict.fromkeys(LITERAL.findall(code)))
        if literals:
            floats = ", ".join(f"{literal}f" for literal in literals)
            are = "is a double" if len(literals) == 1 else "are doubles"
            cure = f"{', '.join(literals)} {are}, write {floats}"
        else:
            cure = (
                "a constant, a variable or a function of the line is double: give the constant an "
                "f, or take the float form (float, powf, expf)"
            )
        evidence: Evidence = {
            "double instructions": doubles,
            "conversions": counts["widens"] + counts.get("narrows", 0),
        }
        counted = say_count(doubles, "double instruction")
        converted = say_count(evidence["conversions"], "conversion")
        text = (
            f"float values are computed in double, by {counted} and {converted}: {cure}. A double "
            "operation takes twice as long as one of float on an H200, and 64 times as long on a "
            "GeForce of compute capability 8.6 or 8.9."
        )
        yield kernel.advise("double_arithmetic", [place], text, evidence)
