"""Variables of a module as CUDA C declares them: their names in PTX, their elements and shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import _mangled
from ._declarations import (
    _compute,
    _read,
    _read_declaration,
    _read_declarator,
    _read_mangled,
    _read_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ._declarations import Element, _Source

    Lengths = list[list[str]]

SPACES = ("__device__", "__constant__", "__managed__")
ENDS = (";", "{", "}", "(", ")")


def find_variable(
    name: str, variables: Sequence[str], names: Mapping[str, str] | None
) -> str | None:
    """The variable of PTX that a name of the source means, or None: weights, two::weights, w<3>."""
    wanted = _mangled.simplify(name.strip().removeprefix("&"))
    for expression, variable in (names or {}).items():
        if _mangled.simplify(expression.strip().removeprefix("&")) == wanted:
            return variable
    return _mangled.find_function(wanted, variables)


def _list_declared(
    source: _Source, arguments: Sequence[str]
) -> Iterator[tuple[str, bool, Element | None, Lengths]]:
    """(name, is a pointer, element, lengths) of each variable that lies in the memory of a GPU.

    arguments are those of a template, which its variable has: types of C; "" for what is none.
    """
    tokens = source.tokens
    bound: dict[str, Element | None] = {}
    for i, token in enumerate(tokens):
        if token == "template" and tokens[i + 1 : i + 2] == ["<"]:
            named = source.split(i + 2, source.find_end(i + 1) - 1)
            types = [_read_words(one.split()) if one else None for one in arguments]
            bound = {
                part[-1]: types[at] if at < len(types) else None
                for at, part in enumerate(_cut(part) for part in named)
                if part
            }
        elif token in (";", "}"):
            bound = {}
        if token not in SPACES or (i > 0 and tokens[i - 1] in SPACES):
            continue
        end = i
        while end < len(tokens) and tokens[end] not in ENDS and tokens[end] != "=":
            end += 1
        if end == len(tokens) or tokens[end] in (")", "}"):
            continue
        if tokens[end] == "(" and tokens[end - 1] not in ("__align__", "alignas", "__attribute__"):
            continue  # a function
        while end < len(tokens) and tokens[end] != ";":
            end = source.find_end(end) if tokens[end] in ("{", "(", "[") else end + 1
        parts = source.split(i + 1, end)
        first = parts[0] if parts else []
        declared = _read_declaration(source, _cut(first), bound)
        if declared is None:
            continue
        yield declared.name, declared.is_pointer, declared.element, declared.lengths
        for part in parts[1:]:
            more = _read_declarator(_cut(part))
            if more:
                yield more.name, more.stars > 0, declared.element, more.lengths


def _cut(tokens: Sequence[str]) -> list[str]:
    """The declaration without its initial value."""
    ends = [tokens.index(sign) for sign in ("=", "{") if sign in tokens]
    return list(tokens[: min(ends, default=len(tokens))])


def _lay_out(
    source: _Source, is_pointer: bool, element: Element | None, lengths: Lengths, nbytes: int
) -> tuple[str, tuple[int, ...]] | None:
    """(dtype, shape) of a variable of so many bytes; None where they do not fit its declaration."""
    if is_pointer:
        dtype, size, lanes = "uint64", 8, 1
    elif element is None or element.kind == "" or element.bytes == 0:
        return None
    else:
        dtype, size, lanes = element.name, element.bytes, element.lanes
    if dtype == "bfloat16":  # of which NumPy has the bits alone
        dtype = "uint16"
    shape = [_compute(source, length) if length else None for length in lengths]
    known = math.prod(length for length in shape if length) * size * lanes
    missing = [at for at, length in enumerate(shape) if not length]
    if len(missing) > 1 or known == 0 or nbytes % known:
        return None
    for at in missing:
        shape[at] = nbytes // known
    whole = tuple(length for length in shape if length) + ((lanes,) if lanes > 1 else ())
    return (dtype, whole) if math.prod(whole) * size == nbytes else None


def describe_variable(
    text: str, options: Sequence[str], name: str, nbytes: int
) -> tuple[str, tuple[int, ...]] | None:
    """(dtype, shape) of a variable as the source declares it, or None where that is not known.

    Parameters
    ----------
    text : str
        CUDA C.
    options : sequence of str
        For the compiler.
    name : str
        The variable in PTX, which may be mangled.
    nbytes : int
        Of the whole variable.
    """
    source = _read(text, tuple(options))
    wanted = _mangled.demangle(name).partition("<")[0].rpartition("::")[2]
    arguments = _read_mangled(name)[1]
    found = {
        _lay_out(source, is_pointer, element, lengths, nbytes)
        for called, is_pointer, element, lengths in _list_declared(source, arguments)
        if called == wanted
    }
    return found.pop() if len(found) == 1 else None
