"""Names of variables in messages, as the source has them: tile[1][0], element 99."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .._declarations import name_element, read_shared_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._declarations import Array

LOCAL = re.compile(r"\b_ZZ\w*E(\d+)([A-Za-z_]\w*)")
BYTE = re.compile(r"\b([A-Za-z_$][\w$]*), byte (-?\d+)\b(?! of it)")
INDEX = re.compile(r"(?:\[-?\d+\])*(?:, byte -?\d+(?: of it)?|, element [^()]*)?$")
DECLARED = re.compile(r"\.shared\b[^;\n]*?\.[busf](\d+)\s+([\w$]+)((?:\[\d*\])*)\s*;")


def read_names(text: str) -> str:
    """Names as the source has them: _ZZ7reverseE4tile is tile, a variable of reverse."""
    return LOCAL.sub(lambda found: found[2][: int(found[1])], text)


def strip_index(variable: str) -> str:
    """The variable of which a text names an element: tile of tile[1][0], args[1] (y, ...)."""
    if variable.startswith("args["):
        return variable.rpartition("), ")[0] + ")" if "), " in variable else variable
    return INDEX.sub("", variable)


def read_sizes(ptx: str) -> dict[str, int]:
    """The bytes of each shared variable by its name in PTX; 0 where the launch gives them."""
    sizes = {}
    for bits, name, lengths in DECLARED.findall(ptx):
        total = int(bits) // 8
        for length in re.findall(r"\[(\d*)\]", lengths):
            total *= int(length or 0)
        sizes[name] = total
    return sizes


class SharedVariables:
    """The shared variables of a module: their elements by offset."""

    def __init__(self, sizes: dict[str, int], lines: Callable[[str], Sequence[str] | None]) -> None:
        self._lines = lines  # those of a file
        self._arrays: dict[str, dict[str, list[Array]]] = {}  # by file and name
        self._bytes = sizes  # by the name in PTX; 0 where the launch gives the size

    def _read(self, file: str) -> dict[str, list[Array]]:
        if file not in self._arrays:
            lines = self._lines(file)
            self._arrays[file] = read_shared_arrays("\n".join(lines)) if lines else {}
        return self._arrays[file]

    def translate(self, text: str, file: str) -> str:
        """The text with elements instead of bytes, where the source of that file declares them."""

        def write(found: re.Match[str]) -> str:
            nbytes = self._bytes.get(found[1])
            if nbytes is None:
                return found[0]
            element = name_element(self._read(file), read_names(found[1]), nbytes, int(found[2]))
            return element or found[0]

        return read_names(BYTE.sub(write, text))
