"""The instructions of PTX text, each with the line of the source that it was made of."""

from __future__ import annotations

import re
from typing import NamedTuple

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
FUNCTION = re.compile(r"\.(?:entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$%.]+)")
LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)")
INSTRUCTION = re.compile(r"(?:@(!?)\s*([\w$%]+)\s+)?([a-z][\w.:]*)(?:\s+(.*))?", re.DOTALL)

Location = tuple[int, int, int]  # file, line, column


class Statement(NamedTuple):
    """An instruction: where it stands, and its parts.

    start and end are offsets in the text, from the guard to the semicolon; number is the line of
    the PTX; labels are the names that stand before it.
    """

    start: int
    end: int
    number: int
    function: str
    location: Location | None
    negated: bool
    guard: str | None
    opcode: str
    operands: str

    @property
    def parts(self) -> list[str]:
        """The words of the opcode: ["setp", "lt", "s32"]."""
        return self.opcode.split(".")

    @property
    def guard_text(self) -> str:
        """ "@!%p1 ", or "" where there is none."""
        return f"@{'!' if self.negated else ''}{self.guard} " if self.guard else ""


class Listing(NamedTuple):
    """All instructions of a text: files by number, and where labels stand by function and name."""

    text: str
    files: dict[int, str]
    statements: list[Statement]
    labels: dict[tuple[str, str], int]
    callers: dict[Location, Location]  # of code that was inlined: where it was called


def split_operands(text: str) -> list[str]:
    """The operands of an instruction; brackets and braces stay whole."""
    found, depth, start = [], 0, 0
    for offset, letter in enumerate(text):
        if letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[start:offset].strip())
            start = offset + 1
    found.append(text[start:].strip())
    return [operand for operand in found if operand]


def read(text: str) -> Listing:
    """The instructions of PTX; what stands outside of functions is left out."""
    blank = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    files = {int(number): name for number, name in FILE.findall(blank)}
    reader = _Reader(text, files)
    offset = 0
    for number, line in enumerate(blank.split("\n"), 1):
        reader.take_line(line, offset, number)
        offset += len(line) + 1
    return Listing(text, files, reader.statements, reader.labels, reader.callers)


class _Reader:
    """Where a reading of PTX has come to."""

    def __init__(self, text: str, files: dict[int, str]) -> None:
        self.text, self.files = text, files
        self.statements: list[Statement] = []
        self.labels: dict[tuple[str, str], int] = {}
        self.callers: dict[Location, Location] = {}
        self.function, self.depth = "", 0
        self.location: Location | None = None
        self.open = False  # a statement goes on in the next line

    def take_line(self, line: str, offset: int, number: int) -> None:
        if self.depth == 0:
            found = FUNCTION.search(line)
            self.function = found[1] if found else self.function
            self.location = None if found else self.location
        elif loc := LOC.match(line.strip()):
            self._take_loc(loc)
            return
        position = 0
        while self.depth and (label := LABEL.match(line, position)):
            self.labels[self.function, label[1]] = number
            position = label.end()
        start, vector = position, 0
        for place in range(position, len(line)):
            letter = line[place]
            if letter == "{" and (self.depth == 0 or not line[start:place].strip()):
                self.depth += 1  # a body, or a scope of inline assembly
                start = place + 1
            elif letter == "{":
                vector += 1
            elif letter == "}" and vector:
                vector -= 1
            elif letter == "}":
                self.depth -= 1
                start = place + 1
            elif letter == ";":
                if self.depth and not self.open:
                    self._take_statement(line[start : place + 1], offset + start, number)
                self.open, start = False, place + 1
        rest = line[start:].strip()
        if self.depth and rest:
            self.open = True

    def _take_loc(self, found: re.Match[str]) -> None:
        numbers = [int(word) if word else 0 for word in found.groups()]
        location = (numbers[0], numbers[1], numbers[2])
        if numbers[3]:
            self.callers[location] = (numbers[3], numbers[4], numbers[5])
        self.location = location

    def _take_statement(self, piece: str, offset: int, number: int) -> None:
        body = piece[:-1].strip()
        found = INSTRUCTION.fullmatch(body)
        if found is None:
            return  # a directive, such as .reg
        start = offset + len(piece) - len(piece.lstrip())
        self.statements.append(
            Statement(
                start,
                offset + len(piece),
                number,
                self.function,
                self.location,
                found[1] == "!",
                found[2],
                found[3],
                (found[4] or "").strip(),
            )
        )
