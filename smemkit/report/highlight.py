"""Syntax colours of source lines in HTML, by Pygments where it is installed."""

from __future__ import annotations

import functools
from html import escape
from typing import TYPE_CHECKING

from .counts import PTX_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Each colour has a contrast of 3.9 or more to white and to the dark of notebooks (#111), so the
# same rules serve both themes; a test computes it. A comment takes the text's own colour, fainter.
COLOURS = {"keyword": "#8660cf", "builtin": "#2b7bbd", "number": "#a8641a", "string": "#23844a"}
STYLE = "".join(
    f".smemkit span.{name[0]}{{color:{colour}}}\n" for name, colour in COLOURS.items()
) + (".smemkit span.q{opacity:.65}\n")
MOST_CHARACTERS = 1_000_000  # a longer text stays plain: the lexer would take seconds


@functools.cache
def _make_lexer(language: str) -> Any:
    """The lexer of a language by Pygments' name for it, or None without a Pygments that has it."""
    try:
        from pygments.lexers import get_lexer_by_name

        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except Exception:  # ImportError, or ClassNotFound, a ValueError whose module may be missing
        return None


def _classify(token: Any) -> str | None:
    """The CSS class of a token's type, or None for plain text."""
    from pygments import token as kinds

    if token in kinds.Comment:
        return "k" if token in kinds.Comment.Preproc else "q"
    if token in kinds.Keyword:
        return "k"
    if token in kinds.Name.Builtin or token in kinds.Name.Label or token in kinds.Name.Variable:
        return "b"
    if token in kinds.Number:
        return "n"
    return "s" if token in kinds.String else None


def _mark(text: str, name: str | None) -> str:
    return f'<span class="{name}">{escape(text)}</span>' if name and text else escape(text)


@functools.lru_cache(maxsize=16)
def _colour(text: str, language: str) -> tuple[str, ...]:
    lexer = _make_lexer(language) if len(text) <= MOST_CHARACTERS else None
    if lexer is None:
        return tuple(map(escape, text.split("\n")))
    rows: list[list[str]] = [[]]
    for token, part in lexer.get_tokens(text):
        name = _classify(token)
        for number, piece in enumerate(part.split("\n")):
            if number:
                rows.append([])
            rows[-1].append(_mark(piece, name))
    return tuple("".join(row) for row in rows)


def colour_lines(lines: Sequence[str], file: str) -> tuple[str, ...]:
    """The HTML of each of these consecutive lines of a file; escaped text without Pygments."""
    lines = [line.replace("\r", "") for line in lines]
    language = "ptx" if file == PTX_FILE else "python" if file.endswith((".py", ">")) else "cuda"
    rows = _colour("\n".join(lines), language)
    return rows if len(rows) == len(lines) else tuple(map(escape, lines))


def colour_line(line: str, file: str) -> str:
    """The HTML of one line without its neighbours."""
    return " ".join(colour_lines(line.splitlines() or [""], file))
