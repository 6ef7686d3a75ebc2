"""Plain text of reports: numbers, aligned columns, wrapped paragraphs."""

import textwrap

WIDTH = 100  # columns of a printed report


def write_number(value):
    """Whole numbers with separators, others with three digits of fraction."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.3f}"


def tabulate(rows, numbers=()):
    """Lines of text with aligned columns; those whose index is in `numbers` to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            f"{cell:>{width}}" if i in numbers else f"{cell:{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def wrap(text, indent):
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
