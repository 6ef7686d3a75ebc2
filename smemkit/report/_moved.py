"""Accesses that the compiler has moved to a line which makes none.

A load that nvcc takes out of a loop has no line of its own: in PTX it stands under the line of the
instruction before it. Of a whole statement of numbers it is certain that it accesses no memory:

    int t = threadIdx.x;

Where a line may access memory, by a pointer, a reference, a macro or a call, nothing is said: its
access may be its own. So an access that was moved to such a line is not recognised.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .._declarations import ELEMENTS, TOKEN, WORDS, _compute, _read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._declarations import _Source

NUMBERS = (WORDS - {"void"}) | {name for name, one in ELEMENTS.items() if one.lanes == 1}
NUMBERS -= {"void", "std::byte", "half", "__half", "nv_half", "nv_bfloat16", "__nv_bfloat16"}
KEYWORDS = {"if", "else", "for", "while", "do", "return", "break", "continue", "const", "constexpr"}
INDICES = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
HARMLESS = {"warpSize", "__syncthreads", "__syncwarp"} | INDICES
# Where one of these stands, a plain name may be a member or may mean anything.
UNCLEAR = {"struct", "class", "union", "operator", "asm", "__asm__"}
IN_MEMORY = {"__shared__", "__device__", "__constant__", "__managed__", "extern", "static"}
SIGNS = set("+-*/%=<>!&|^~?:;,(){}.") | {"<<", "::"}
NAME = re.compile(r"[A-Za-z_]\w*")


def _list_tokens(text: str) -> list[tuple[str, str | None]]:
    """(token, its kind by TOKEN) of a text, without comments and marks."""
    found = TOKEN.finditer(text)
    return [(one[0], one.lastgroup) for one in found if one.lastgroup not in ("skip", "mark")]


def _list_numbers(tokens: Sequence[str]) -> set[str]:
    """Names that are declared as numbers wherever they are declared."""
    numbers: set[str] = set()
    others: set[str] = set()
    for i, token in enumerate(tokens):
        before = tokens[i - 1] if i else ""
        if token in IN_MEMORY:
            end = i
            while end < len(tokens) and tokens[end] not in (";", "{", "__global__"):
                others.add(tokens[end])
                end += 1
        elif not NAME.fullmatch(token):
            continue
        elif before in NUMBERS:
            numbers.add(token)
        elif before == "&" and tokens[i - 2] != "&" or before == "*" and tokens[i - 2] in NUMBERS:
            others.add(token)  # a reference, or a pointer
        elif NAME.fullmatch(before) and before not in KEYWORDS:
            others.add(token)
    return numbers - others


def list_lines_without_access(text: str, options: Sequence[str] = ()) -> frozenset[int]:
    """The numbers of the lines that are whole statements of numbers."""
    source = _read(text, tuple(options))
    if UNCLEAR & set(source.tokens):
        return frozenset()
    numbers = _list_numbers(source.tokens)
    found, is_start = set(), False
    # Comments may hide lines; they become blanks, and lines keep their numbers.
    plain = TOKEN.sub(
        lambda one: re.sub(r"[^\n]", " ", one[0]) if one.lastgroup == "skip" else one[0], text
    )
    for number, line in enumerate(plain.split("\n"), 1):
        tokens = _list_tokens(line)
        if not tokens:
            continue
        if is_start and _is_harmless(source, tokens, numbers):
            found.add(number)
        is_start = tokens[-1][0] in (";", "{", "}", ")") or tokens[-1][1] == "line"
    return frozenset(found)


def _is_harmless(
    source: _Source, tokens: Sequence[tuple[str, str | None]], numbers: set[str]
) -> bool:
    """True for a whole statement that has numbers alone."""
    words = [token for token, _ in tokens]
    if words.count("(") != words.count(")") or words[-1] not in (";", "{", "}", ")"):
        return False
    for i, (token, kind) in enumerate(tokens):
        before = words[i - 1] if i else ""
        if kind == "sign":
            is_binary = bool(re.fullmatch(r"[\w.']+|\)", before))
            if token not in SIGNS or (token == "*" and not is_binary):
                return False
        elif kind == "name" and before != ".":
            is_number = token in numbers or token in NUMBERS or token in KEYWORDS | HARMLESS
            if not is_number and _compute(source, [token]) is None:
                return False
        elif kind == "name" and words[max(i - 2, 0)] not in INDICES:
            return False
        elif kind not in ("name", "number"):
            return False
    return True
