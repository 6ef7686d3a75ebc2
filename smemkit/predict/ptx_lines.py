"""PTX text as statements with their lines, and its loops."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*\.(?:loc|file)\b[^\n]*", re.MULTILINE)
DEBUG_SECTION = re.compile(r"^[ \t]*\.section[^\n{]*\{.*?^[ \t]*\}", re.MULTILINE | re.DOTALL)
DEBUG_TARGET = re.compile(r"^(\s*\.target[^\n]*?),\s*debug\b", re.MULTILINE)
# Statements: a label, a bracket, or text up to a semicolon.
STATEMENT = re.compile(r"\s*(?:([\w$%]+):(?!:)|([{}])|([^;{}]*(?:\{[^{};]*\}[^;{}]*)*;))")
HEADING = re.compile(r"\.(entry|func)\b")
NAME = re.compile(r"[\w$%]+")
OPCODE = re.compile(r"(@!?[\w$%]+\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)


class Statement(NamedTuple):
    """An instruction of a PTX text. start: its offset in the text; label: text before a colon."""

    function: str
    line: int
    start: int
    text: str
    label: str = ""


class Loop(NamedTuple):
    """A loop of PTX: the lines of its first and last instruction, and those that enter it."""

    first: int
    last: int
    entering: tuple[int, ...]


def blank(found: re.Match[str]) -> str:
    """A comment as blanks, so that offsets and lines stay; a string stays as it is."""
    text = found[0]
    return text if text[0] == '"' else re.sub(r"[^\n]", " ", text)


def clean(ptx: str) -> str:
    """The text without comments, line tables and debug sections, each line where it was."""
    text = COMMENT.sub(blank, ptx.rstrip("\0"))
    for pattern in (DEBUG_SECTION, DIRECTIVE):
        text = pattern.sub(blank, text)
    return DEBUG_TARGET.sub(lambda found: found[1] + " " * (len(found[0]) - len(found[1])), text)


def list_bodies(text: str) -> Iterator[tuple[str, int, int]]:
    """(name of the function, start, end) of each body in a cleaned text."""
    place = 0
    while heading := HEADING.search(text, place):
        start, end = text.find("{", heading.end()), text.find(";", heading.end())
        head = text[heading.end() : start if start >= 0 else len(text)]
        place = heading.end()
        if start < 0 or 0 <= end < start:  # a declaration
            continue
        depth, place = 1, start + 1
        while depth and (bracket := re.compile(r'[{}]|"(?:[^"\\]|\\.)*"').search(text, place)):
            depth += {"{": 1, "}": -1}.get(bracket[0], 0)
            place = bracket.end()
        # .func (.param .b32 result) name (...): the name is what stands before the last bracket
        name = re.match(r"\s*(?:\([^)]*\)\s*)?([\w$%]+)", head)
        yield name[1] if name else "", start + 1, place - 1


def list_statements(text: str) -> Iterator[Statement]:
    """The instructions and labels of every body of a cleaned text, in their order."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    line = 0
    for function, start, end in list_bodies(text):
        place = start
        while found := STATEMENT.match(text, place, end):
            place = found.end()
            group = 1 if found[1] else 2 if found[2] else 3
            offset = found.start(group)
            if group == 3:
                words = found[3]
                offset += len(words) - len(words.lstrip())
            while line + 1 < len(starts) and starts[line + 1] <= offset:
                line += 1
            if group == 1:
                yield Statement(function, line + 1, offset, "", found[1])
            elif group == 3 and not found[3].lstrip().startswith("."):
                yield Statement(function, line + 1, offset, " ".join(found[3].split()))


def with_own_lines(ptx: str) -> str:
    """The text with a line table that names its own lines: line n of file 1 is line n of `ptx`.

    >>> print(with_own_lines(".visible .entry f()\\n{\\n  .reg .b32 %r<2>;\\n  ret;\\n}").strip())
    .visible .entry f()
    {
      .reg .b32 %r<2>;
    <BLANKLINE>
    .loc 1 4 0
    ret;
    }
    .file 1 "ptx"
    """
    text = clean(ptx)
    pieces, place = [], 0
    for statement in list_statements(text):
        if statement.text:
            pieces += [text[place : statement.start].rstrip(" "), f"\n.loc 1 {statement.line} 0\n"]
            place = statement.start
    return "".join(pieces) + text[place:].rstrip() + '\n.file 1 "ptx"\n'


def list_loops(ptx: str, entry: str) -> list[Loop]:
    """The loops of an entry whose header is the target of a branch from below, outer ones first."""
    statements = [each for each in list_statements(clean(ptx)) if each.function == entry]
    heads: dict[str, int] = {}  # label: index of the first instruction behind it
    code: list[Statement] = []
    for each in statements:
        if each.label:
            heads[each.label] = len(code)
        else:
            code.append(each)
    branches = [(i, target) for i, each in enumerate(code) for target in _list_targets(each, heads)]
    found = {}
    for head in sorted({target for i, target in branches if target <= i}):
        last = max(i for i, target in branches if target == head and head <= i)
        entering = [i for i, target in branches if target == head and i < head]
        if head > 0 and not _never_goes_on(code[head - 1]):
            entering.append(head - 1)
        lines = tuple(sorted({code[i].line for i in entering}))
        found[head, last] = Loop(code[head].line, code[last].line, lines)
    return [found[key] for key in sorted(found, key=lambda key: key[0] - key[1])]


def _list_targets(statement: Statement, heads: dict[str, int]) -> list[int]:
    found = OPCODE.match(statement.text)
    if not found or not found[2].startswith("bra"):
        return []
    return [heads[name] for name in NAME.findall(found[3]) if name in heads]


def _never_goes_on(statement: Statement) -> bool:
    return bool(re.match(r"(bra|ret|exit|trap)\b", statement.text))
