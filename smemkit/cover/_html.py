"""The page of a coverage report: the report's own view of source, with executions by line."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..report.highlight import colour_lines
from ..report.html import BLUE, ORANGE, PAGE_STYLE, _wrap
from ..report.saved import say_origin
from .result import show_path

if TYPE_CHECKING:
    from ._lines import Branch, FileCount, LineCount
    from .result import Coverage

NUMERIC = range(1, 6)  # columns of the table


def _read(file: FileCount) -> list[str]:
    if file.text is not None:
        return file.text.split("\n")
    try:
        return Path(file.path).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return [""] * max(file.lines, default=0)


def _say_branch(branch: Branch) -> str:
    """A branch and its ways: "line 9: 11 lanes in 1 warp"."""
    ways = ", ".join(
        f"{branch.name_way(way)}: {branch.lanes[way]:,} lanes in {branch.warps[way]:,} warps"
        for way in range(len(branch.targets))
    )
    apart = f"; divergent in {branch.divergent:,}" if branch.divergent else ""
    return f"{ways}{apart}"


def _draw_line(number: int, code: str, count: LineCount | None, branches: list[Branch]) -> str:
    missed = any(branch.missed for branch in branches)
    style, cells = "", "<td></td><td></td>"
    if count is not None:
        colour = ORANGE if not count.lanes else BLUE
        style = f' style="background:rgba({colour},{0.3 if not count.lanes else 0.12})"'
        each = f"{count.lanes / count.warps:.1f}" if count.warps else ""
        tip = f"{count.lanes:,} lanes; {count.instances} instances"
        cells = f'<td title="{tip}">{count.warps:,}</td><td title="{tip}">{each}</td>'
    notes = "".join(f"<div>{escape(_say_branch(branch))}</div>" for branch in branches)
    mark = f' style="background:rgba({ORANGE},.3)"' if missed and count and count.lanes else style
    ways = f"{sum(len(b.targets) - len(b.missed) for b in branches)}/" if branches else ""
    ways += f"{sum(len(b.targets) for b in branches)}" if branches else ""
    return (
        f'<tr><td class="n"{style}>{number}</td>{cells}<td{mark}>{ways}</td>'
        f'<td class="c">{code}{notes}</td></tr>'
    )


def _draw_file(file: FileCount, number: int) -> str:
    text = _read(file)
    branches: dict[int, list[Branch]] = {}
    for branch in file.branches:
        branches.setdefault(branch.line, []).append(branch)
    lines = zip(range(1, len(text) + 1), colour_lines(text, file.path), strict=False)
    rows = "".join(
        _draw_line(at, code, file.lines.get(at), branches.get(at, [])) for at, code in lines
    )
    head = (
        "<tr><th></th><th>executed\nby warps</th><th>lanes of\neach</th><th>ways\ntaken</th>"
        f'<th class="t">{escape(show_path(file.path))}</th></tr>'
    )
    return f'<h4 id="file-{number}"></h4><div class="scroll"><table>{head}{rows}</table></div>'


def draw_coverage(coverage: Coverage) -> str:
    """The HTML of a Coverage: the table of files, and their sources."""
    heading, *rows = coverage.table()
    head = "".join(
        f'<th class="{"" if column in NUMERIC else "t"}">{escape(cell)}</th>'
        for column, cell in enumerate(heading)
    )
    body = ""
    for number, row in enumerate(rows):
        cells = [escape(cell) for cell in row]
        if number < len(coverage.files):
            cells[0] = f'<a href="#file-{number}">{cells[0]}</a>'
        body += "".join(
            ("<tr>" if column == 0 else "")
            + f'<td class="{"" if column in NUMERIC else "t"}">{cell}</td>'
            for column, cell in enumerate(cells)
        )
        body += "</tr>"
    files = "".join(_draw_file(file, number) for number, file in enumerate(coverage.files.values()))
    legend = (
        "<p>blue: executed; orange: never executed, or a way that no lane took. Executions are "
        "those of a line's most executed instruction, summed over instances of templates and "
        "inlined copies.</p>"
    )
    note = f'<p class="note">{escape(coverage._note().strip())}</p>' if coverage.unmapped else ""
    table = f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
    return _wrap(table, note, legend, files)


def make_page(coverage: Coverage) -> str:
    """A whole page for a file."""
    title = "Coverage of kernels"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title>{PAGE_STYLE}</head>\n<body><header><h1>{title}</h1>"
        f"<p>{escape(say_origin(coverage.origin))}</p></header>\n"
        f"{draw_coverage(coverage)}</body></html>\n"
    )
