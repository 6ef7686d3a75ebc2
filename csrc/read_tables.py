"""The tables of csrc (*.def) as Python reads them: a dict a row, keyed by the columns.

The build and the tests read through this file, so it needs the standard library only. The names
of the columns come from the comment that heads each table: MACRO(column, column, ...).
"""

import re
from pathlib import Path

CSRC = Path(__file__).resolve().parent

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^#include "(\S+\.def)"$', re.MULTILINE)
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
NAME = re.compile(r"[A-Za-z_]\w*")
CLOSING = {"(": ")", "[": "]", "{": "}"}


class TableError(Exception):
    """A table that cannot be read; the message names the file and the row."""


def read_rows(table, *macros):
    """The rows of csrc/<table> that are MACRO(cell, ...) of one of the macros, in their order.

    A cell is text: strings are joined and lose their quotes, a name that the table defines as a
    string is replaced by it, anything else stands as it is written. The rows of a table that this
    one includes stand in the place of its #include. Raises TableError where a row has more or fewer
    cells than columns, and where a macro has no row.
    """
    text = read_text(table)
    columns = {macro: read_columns(table, text, macro) for macro in macros}
    code = COMMENT.sub("", text)
    strings = {}
    for name, value in re.findall(r"^#define (\w+) (\S.*)$", code, re.MULTILINE):
        strings[name] = evaluate(value, strings)
    rows, seen = [], set()
    for start in re.finditer(rf"^({'|'.join(macros)})\(", code, re.MULTILINE):
        macro, (cells, end) = start[1], split_cells(code, start.end())
        if len(cells) != len(columns[macro]):
            row = code[start.end() : end].partition("\n")[0]
            raise TableError(f"csrc/{table}: a row is malformed: {row}")
        cells = [evaluate(cell, strings) for cell in cells]
        rows.append(dict(zip(columns[macro], cells, strict=True)))
        seen.add(macro)
    for macro in macros:
        if macro not in seen:
            raise TableError(f"csrc/{table} has no {macro}")
    return rows


def read_text(table):
    """The text of csrc/<table>, with that of the tables that it includes."""
    text = (CSRC / table).read_text(encoding="utf-8")
    return INCLUDE.sub(lambda found: read_text(found[1]), text)


def read_columns(table, text, macro):
    """The names of a macro's columns, from a comment of the table."""
    for comment in COMMENT.findall(text):
        found = re.search(rf"\b{macro}\(([^()]*)\)", comment)
        if found:
            return [word.strip(" *\n") for word in found[1].split(",")]
    raise TableError(f"csrc/{table} does not say what the columns of {macro} are")


def split_cells(code, start):
    """(the cells of the row whose first cell begins at start, its end); no cells if it has none."""
    cells, first, brackets, at = [], start, [], start
    while at < len(code):
        char = code[at]
        if char == '"':
            string = STRING.match(code, at)
            if not string:
                break
            at = string.end()
            continue
        if char in CLOSING:
            brackets.append(CLOSING[char])
        elif brackets and char == brackets[-1]:
            brackets.pop()
        elif char == "," and not brackets:
            cells.append(code[first:at].strip())
            first = at + 1
        elif char == ")":
            return [*cells, code[first:at].strip()], at
        at += 1
    return [], len(code)


def evaluate(cell, strings):
    """A cell of strings, and of names of strings, as one string; any other as it stands."""
    joined, at = "", 0
    while at < len(cell):
        string, name = STRING.match(cell, at), NAME.match(cell, at)
        if string:
            joined += re.sub(r"\\(.)", r"\1", string[1])
        elif name and name[0] in strings:
            joined += strings[name[0]]
        elif not cell[at].isspace():
            return cell
        at = (string or name).end() if string or name else at + 1
    return joined
