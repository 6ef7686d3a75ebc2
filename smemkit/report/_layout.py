"""Plain text of reports: numbers, aligned columns, wrapped paragraphs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

WIDTH = 100  # columns of a printed report


def write_number(value: float | None) -> str:
    """Whole numbers with separators, others with three digits of fraction."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.3f}"


def tabulate(rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> Iterator[str]:
    """Lines of text with aligned columns; those whose index is in `numbers` to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            f"{cell:>{width}}" if i in numbers else f"{cell:{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def wrap(text: str, indent: int) -> list[str]:
    """Lines of a paragraph, each behind so many blanks."""
    margin = " " * indent
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
