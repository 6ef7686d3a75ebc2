"""Names of C++ functions as the source has them: _Z5scaleIfLi4EEvPT_ is scale<float, 4>.

A reader of the Itanium C++ ABI's mangling (itanium-cxx-abi.github.io/cxx-abi/abi.html), as far as
names of kernels need it: nested names, template arguments, substitutions. The types of parameters
are not read. A name that has more stays as it is.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPES = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
}
STANDARD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string"}
WORDS = ("signed", "unsigned", "short", "long", "int", "char")
LIBRARY_VERSION = re.compile(r"\b(?:(?:THRUST|CUB)_\d+_SM_\w+|__\d+)::")  # inline namespaces
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Unknown(ValueError):
    """More than is read here."""


class _Reader:
    """Reads one mangled name from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.seen: list[str] = []  # what S_, S0_, ... stand for

    def take(self, start: str) -> bool:
        """Goes behind `start` where it comes next."""
        found = self.text.startswith(start, self.at)
        self.at += len(start) if found else 0
        return found

    def match(self, pattern: str) -> re.Match[str]:
        found = re.compile(pattern).match(self.text, self.at)
        if not found:
            raise _Unknown(self.text)
        self.at = found.end()
        return found

    def read_identifier(self) -> str:
        length = int(self.match(r"\d+")[0])
        name = self.text[self.at : self.at + length]
        if len(name) != length:
            raise _Unknown(self.text)
        self.at += length
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name

    def read_substitution(self) -> str:
        if self.text[self.at : self.at + 2] in STANDARD:
            self.at += 2
            return STANDARD[self.text[self.at - 2 : self.at]]
        number = self.match(r"S([0-9A-Z]*)_")[1]
        index = functools.reduce(lambda sum, one: 36 * sum + DIGITS.index(one), number, 0)
        index += 1 if number else 0
        if index >= len(self.seen):
            raise _Unknown(self.text)
        return self.seen[index]

    def read_arguments(self) -> str:
        """Template arguments behind I, to the E."""
        found = []
        while not self.take("E"):
            if self.take("J"):
                inner = self.read_arguments()
                found += [inner[1:-1]] if inner != "<>" else []
            elif self.take("L"):
                found.append(self.read_literal())
            else:
                found.append(self.read_type())
        return f"<{', '.join(found)}>"

    def read_literal(self) -> str:
        kind = self.read_type()
        sign, digits = self.match(r"(n?)(\d+)E").groups()
        value = f"{'-' if sign else ''}{digits}"
        if kind == "bool":
            return "true" if value == "1" else "false"
        return value if kind in TYPES.values() else f"({kind}){value}"

    def read_type(self) -> str:
        letter = self.text[self.at : self.at + 1]
        if letter in TYPES:
            self.at += 1
            return TYPES[letter]
        ends = {"P": " *", "R": " &", "O": " &&", "K": " const", "V": " volatile"}
        if letter in ends:
            self.at += 1
            inner = self.read_type()
            name = f"{inner}{ends[letter]}".replace("* *", "**")
            name = f"const {inner}" if letter == "K" and not inner.endswith("*") else name
            self.seen.append(name)
            return name
        if letter == "N" or letter == "S" or letter.isdigit():
            return self.read_name(is_type=True)
        raise _Unknown(self.text)

    def read_name(self, is_type: bool = False) -> str:
        """A nested name, or one with template arguments. Each prefix may be substituted later."""
        nested, name = self.take("N"), ""
        while True:
            if nested and self.take("E"):
                return name
            next_one = self.text[self.at : self.at + 1]
            if next_one == "S" and not name:
                name = self.read_substitution()
                if not nested and name != "std":
                    if self.text[self.at : self.at + 1] != "I":
                        return name
                continue
            if next_one == "I" and name:
                self.at += 1
                name += self.read_arguments()
            elif next_one.isdigit():
                name += "::" * bool(name) + self.read_identifier()
            else:
                raise _Unknown(self.text)
            more = self.text[self.at : self.at + 1]
            is_last = (more == "E") if nested else more != "I"
            if not is_last or is_type:
                self.seen.append(name)
            if not nested and is_last:
                return name


@functools.lru_cache(maxsize=256)
def demangle(name: str) -> str:
    """The name of a function with its template arguments; `name` itself where it is not mangled."""
    own_file = re.match(r"__nv_static_(\d{1,4})_", name)  # a static function of nvcc -rdc=true
    if own_file:
        rest = name[own_file.end() + int(own_file[1]) :]
        name = rest[1:] if re.match("_.", rest) else name
    if not name.startswith("_Z") or name.startswith("_ZZ"):
        return name
    reader = _Reader(name)
    reader.at = 2
    try:
        return reader.read_name()
    except (_Unknown, RecursionError):
        return name


def _order_words(found: re.Match[str]) -> str:
    """One spelling for unsigned, unsigned int and int unsigned."""
    words = found[0].split()
    size = [word for word in words if word in ("short", "long")]
    kind = size or (["char"] if "char" in words else ["int"])
    sign = ["unsigned"] if "unsigned" in words else []
    sign += ["signed"] if kind == ["char"] and "signed" in words else []
    return " ".join(sign + kind)


def simplify(name: str) -> str:
    """A name without blanks, and with one spelling for each type of C."""
    words = "|".join(WORDS)
    ordered = re.sub(rf"\b(?:{words})(?:\s+(?:{words}))*\b", _order_words, name.strip())
    ordered = re.sub(r"\s+", " ", ordered)
    return re.sub(r" ?([^\w ]) ?", r"\1", ordered).removeprefix("::")


def find_function(name: str, entries: Sequence[str]) -> str | None:
    """The entry that a name of the source means, or None: scale, two::scale, scale<float, 4>.

    The arguments of a template may be left out where it has one instance.
    """
    wanted = simplify(name)
    whole = {entry: simplify(demangle(entry)) for entry in entries}
    bare = {entry: one.partition("<")[0] for entry, one in whole.items()}
    for names in (whole, bare):
        found = [entry for entry, one in names.items() if one == wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _elide(name: str) -> str:
    """A name without the deepest of its template arguments, the first one of all last; itself where
    there are none left."""
    open_at: list[int] = []
    deepest, found = 0, list[tuple[int, int]]()
    for at, letter in enumerate(name):
        if letter == "<":
            open_at.append(at)
        elif letter == ">" and open_at:
            start, depth = open_at.pop(), len(open_at) + 1
            if name[start:at] != "<..." and depth >= deepest:
                found = [*found, (start, at)] if depth == deepest else [(start, at)]
                deepest = depth
    for start, end in reversed(found):
        first, comma, others = name[start + 1 : end].partition(", ")
        kept = f"{first}, ..." if deepest == 1 and comma and others != "..." else "..."
        name = f"{name[:start]}<{kept}{name[end:]}"
    return name


def shorten(name: str, most: int) -> str:
    """A name for a line of text: without versions of libraries, and with "..." in place of the
    deepest template arguments, until it has at most so many characters."""
    name = LIBRARY_VERSION.sub("", name)
    while len(name) > most:
        shorter = _elide(name)
        if shorter == name:
            return f"{name[: most - 3]}..."
        name = shorter
    return name
