"""HTML of reports for notebooks and pages: self-contained, for light and dark themes.

Colours are an orange and a blue that every kind of sight tells apart, laid thinly over whatever
background the page has, so that its own text colour stays readable; each has its number beside it.
"""

from __future__ import annotations

import functools
import zlib
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .. import _core
from .counts import (
    COUNT_LANES,
    PTX_FILE,
    WAVEFRONTS,
    count_conflicts,
    count_excess_sectors,
    counters,
    get_sources,
    say_count,
)
from .highlight import STYLE as CODE_STYLE
from .highlight import colour_line, colour_lines
from .saved import say_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from .._core import BankAccess
    from ._comparison import Comparison
    from ._findings import CheckReport
    from ._kernel import Advice
    from ._report import Report
    from .counts import Counters, Line, Sample
    from .occupancy import OccupancyTable
    from .saved import Saved

    Measure: TypeAlias = Callable[[Counters], float | None]

ORANGE, BLUE = "213,94,0", "0,114,178"
STYLE = """<style>
.smemkit{font:13px/1.45 system-ui,sans-serif;color:inherit}
.smemkit table{border-collapse:collapse;margin:.5em 0;color:inherit}
.smemkit th,.smemkit td{padding:1px 8px;text-align:right;border:0;background:none;
 font-variant-numeric:tabular-nums;white-space:pre}
.smemkit th{font-weight:600;border-bottom:1px solid rgba(128,128,128,.6);vertical-align:bottom}
.smemkit td.t,.smemkit th.t{text-align:left}
.smemkit td.c{text-align:left;font-family:ui-monospace,monospace;font-size:12px;
 white-space:pre-wrap;overflow-wrap:anywhere;min-width:28em;tab-size:4;
 padding-left:calc(8px + 4ch);text-indent:-4ch}
.smemkit td.n{opacity:.65}
.smemkit td.c div{font:13px/1.45 system-ui,sans-serif;opacity:.75;text-indent:0;margin-left:-4ch}
.smemkit td.w{white-space:normal;overflow-wrap:anywhere;min-width:12em}
.smemkit td{vertical-align:top}
@media (max-width:50em){.smemkit th,.smemkit td{padding:1px 4px;font-size:11px}
 .smemkit td.c{min-width:19em}}
.smemkit .scroll{overflow-x:auto;max-height:70em;overflow-y:auto}
.smemkit .note{border-left:4px solid rgb(213,94,0);padding:.2em .6em;margin:.5em 0}
.smemkit h4{margin:.8em 0 .2em}
.smemkit svg{max-width:100%;height:auto;color:inherit}
.smemkit svg text{fill:currentColor;font:9px system-ui,sans-serif}
"""
STYLE += CODE_STYLE + "</style>"
PAGE_STYLE = """<style>
:root{color-scheme:light dark}
body{margin:0 auto;padding:1.2em 1em 3em;max-width:75em;background:Canvas;color:CanvasText;
 font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header{border-bottom:1px solid rgba(128,128,128,.6);margin-bottom:1em}
h1{font-size:1.35em;font-weight:600;margin:0}
header p{margin:.2em 0;opacity:.75;font-size:.87em}
header{padding-bottom:.5em}
body .smemkit .scroll{max-height:none}
</style>"""
MARKED = {  # the rows of a comparison, by their marks
    "better": f' style="background:rgba({BLUE},.15)"',
    "worse": f' style="background:rgba({ORANGE},.2)"',
}
CONTEXT = 3  # lines shown around counted lines of a long source file
LONG = 300


def _wrap(*parts: str) -> str:
    return f'<div class="smemkit">{STYLE}{"".join(parts)}</div>'


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}" if value else ""
    return f"{value:,.2f}"


def _head_of(report: Report) -> str:
    rows, timed = [], report.time_ms is not None
    for launch in report.launches[:20]:
        shape = [" × ".join(map(str, size)) for size in (launch.grid, launch.block)]
        time_ms = "" if launch.time_ms is None else f"{launch.time_ms:.4f}"
        cells = [*shape, f"{launch.shared_bytes:,}", time_ms]
        columns = "".join(f"<td>{cell}</td>" for cell in cells[: 3 + timed])
        rows.append(f'<tr><td class="t">{escape(launch.kernel)}</td>{columns}</tr>')
    names = ("grid", "block", "shared [bytes]", "GPU time [ms]")[: 3 + timed]
    head = "".join(f"<th>{name}</th>" for name in names)
    more = len(report.launches) - 20
    tail = f"<p>and {more} more launches</p>" if more > 0 else ""
    note = ' class="note"' if report.label.startswith("SAMPLE") else ""
    table = f'<table><tr><th class="t">kernel</th>{head}</tr>{"".join(rows)}</table>{tail}'
    words = report._say_predicted()
    predicted = f"<p>{escape(words)}</p>" if words else ""
    return f"{table}<p{note}>{escape(report.label)}</p>{predicted}"


def _totals_of(report: Report) -> str:
    facts = counters()
    rows = "".join(
        f'<tr title="{escape(facts[name]["meaning"])}"><td class="t">{escape(name)}</td>'
        f'<td>{_number(value)}</td><td class="t">{escape(facts[name]["unit"])}</td></tr>'
        for name, value in report.counters.items()
        if value
    )
    head = '<tr><th class="t">counter</th><th>value</th><th class="t">unit</th></tr>'
    return f"<details><summary>all counters</summary><table>{head}{rows}</table></details>"


def _sectors_a_request(table: Counters) -> float | None:
    requests = table.total(*(f"global.{op}.requests" for op in ("load", "store", "atomic")))
    sectors = table.total(*(f"global.{op}.sectors" for op in ("load", "store", "atomic")))
    return sectors / requests if requests else None


class Column(NamedTuple):
    """A column of counters in a listing; without a shade it has none."""

    heading: str
    value: Measure
    shade: Measure | None


COLUMNS = (
    Column("warp\ninstructions", lambda table: table["instructions.warp"], None),
    Column("shared\nwavefronts", lambda table: table.total(*WAVEFRONTS), None),
    Column("bank\nconflicts", count_conflicts, count_conflicts),
    Column("sectors /\nrequest", _sectors_a_request, count_excess_sectors),
    Column(
        "divergent\nbranches",
        lambda table: table["branch.divergent"],
        lambda table: table["branch.divergent"],
    ),
)


def _shown(text: Sequence[str] | None, counted: Iterable[int]) -> Sequence[int]:
    """Numbers of the lines to show: those from the first counted to the last, or around them."""
    if text is None:
        return sorted(counted)
    first, last = max(1, min(counted) - CONTEXT), min(len(text), max(counted) + CONTEXT)
    if last - first < LONG:
        return range(first, last + 1)
    near = {n + d for n in counted for d in range(-CONTEXT, CONTEXT + 1)}
    return sorted(n for n in near if 1 <= n <= len(text))


def _mark_file(report: Report, file: str) -> str:
    """What the names of a file's rows begin with, to which advice links: one a report and file."""
    key = repr(
        [
            (launch.kernel, launch.grid, launch.block, dict(launch.counters), file)
            for launch in report.launches
        ]
    )
    return f"smemkit-{zlib.crc32(key.encode()):08x}"


def _choose_columns(report: Report) -> list[Column]:
    """Those that have something to show in any line: a page may be narrow."""
    return [
        column for column in COLUMNS if any(column.value(line.counters) for line in report.lines)
    ]


def _list_file(
    report: Report,
    file: str,
    text: Sequence[str] | None,
    lines: Sequence[Line],
    alone: bool,
    file_mark: str,
) -> str:
    """The listing of a source file: its lines with their counters, folded for PTX."""
    columns = _choose_columns(report)
    counted = {line.line: line for line in lines}
    colours = colour_lines(text, file) if text else ()
    heats = [column.shade or column.value for column in columns]
    most = [max(heat(line.counters) or 0 for line in lines) for heat in heats]
    head = "".join(f"<th>{escape(column.heading)}</th>" for column in columns)
    rows, before = [], None
    for number in _shown(text, counted):
        if before is not None and number > before + 1:
            rows.append(f'<tr><td class="n">⋮</td><td colspan="{len(columns) + 1}"></td></tr>')
        before = number
        line = counted.get(number)
        cells = "<td></td>" * len(columns)
        if line is not None:
            cells = "".join(
                _draw_count(line.counters, column, top)
                for column, top in zip(columns, most, strict=True)
            )
        if number <= len(colours):
            code = colours[number - 1]
        else:
            code = colour_line(line.text, file) if line is not None else ""
        mark = f' id="{file_mark}-{number}"' if line is not None else ""
        rows.append(f'<tr{mark}><td class="n">{number}</td>{cells}<td class="c">{code}</td></tr>')
    title = f'<tr><th></th>{head}<th class="t">{escape(str(file))}</th></tr>'
    listing = f'<div class="scroll"><table>{title}{"".join(rows)}</table></div>'
    if file != PTX_FILE:
        return listing
    kind = "details open" if alone else "details"
    return f"<{kind}><summary>PTX without a source line</summary>{listing}</details>"


def _draw_count(table: Counters, column: Column, top: float) -> str:
    """The cell of a counter, shaded by its share of the worst line's."""
    shown = column.value(table)
    heat = column.shade(table) if column.shade is not None else None
    style = f' style="background:rgba({ORANGE},{0.08 + 0.5 * heat / top:.2f})"' if heat else ""
    return f"<td{style}>{_number(shown)}</td>"


def _draw_advice(advice: Advice, mark_file: Callable[[str], str]) -> str:
    """An item of the list of advice, with a link to its line in the listing."""
    subject = escape(advice.subject)
    if advice.lines:
        file, line = advice.lines[0]
        subject = f'<a href="#{mark_file(file)}-{line}">{subject}</a>'
    source = f"<br><code>{escape(advice.source)}</code>" if advice.source else ""
    return f"<li><b>{escape(advice.kind)}</b> {subject}: {escape(advice.message)}{source}</li>"


def draw_report(report: Report) -> str:
    """The HTML of a Report: launches, advice, the source with counters, and the worst access."""
    mark_file = functools.cache(functools.partial(_mark_file, report))
    items = "".join(_draw_advice(advice, mark_file) for advice in report.advice)
    advice = f"<h4>advice</h4><ol>{items}</ol>" if items else "<h4>advice: none</h4>"
    groups = list(get_sources(report))
    listings = "".join(
        _list_file(report, *group, len(groups) == 1, mark_file(group[0])) for group in groups
    )
    legend = (
        "<p>shaded: bank conflicts, sectors beyond the bytes asked for, divergent branches, each "
        "by its share of the worst line</p>"
    )
    picture = draw_picture(report.access()) if report.samples else ""
    return _wrap(_head_of(report), advice, listings, legend, picture, _totals_of(report))


def _draw_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose second, third and fourth columns are numbers; the last one marks rows."""

    def write_row(tag: str, cells: Sequence[str]) -> str:
        kinds = ("" if 0 < i < 4 else "t" for i in range(len(cells)))
        return "".join(
            f'<{tag} class="{kind}">{escape(cell)}</{tag}>'
            for kind, cell in zip(kinds, cells, strict=True)
        )

    body = "".join(f"<tr{MARKED.get(row[-1], '')}>{write_row('td', row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{write_row("th", heading)}</tr>{body}</table></div>'


def draw_comparison(comparison: Comparison) -> str:
    """The HTML of a Comparison: the sentence, the rows that differ, and the equal ones folded."""
    differing, equal = comparison.split()
    parts = [f"<p><b>{escape(comparison.summary)}</b></p>"]
    if differing:
        heading, *rows = comparison.table(differing)
        parts.append(_draw_table(heading, rows))
    if equal:
        heading, *rows = comparison.table(row for row in comparison.rows if row[0] in equal)
        table = _draw_table(heading, rows)
        parts.append(
            f"<details><summary>{say_count(len(equal), 'equal counter')}</summary>{table}</details>"
        )
    parts += [f'<p class="note">{escape(note)}</p>' for note in comparison.notes()]
    return _wrap(*parts)


def draw_findings(report: CheckReport) -> str:
    """The HTML of a CheckReport."""
    names = escape(", ".join(dict.fromkeys(report.kernels)))
    parts = [f"<p><b>{names}</b>: {escape(report._count())}; {escape(report.label)}</p>"]
    for finding in report.findings:
        sides = "".join(
            f'<tr><td class="t">{escape(side.place)}</td>'
            f'<td class="c">{colour_line(side.text, side.file)}'
            f"<div>{escape(str(side).partition(chr(10))[2].strip())}</div></td></tr>"
            for side in (finding.first, finding.second)
            if side is not None
        )
        times = f" ({finding.count:,} times)" if finding.count > 1 else ""
        parts.append(
            f'<div class="note"><b>{escape(finding.kind)}</b> in {escape(finding.kernel)}: '
            f"{escape(finding.message)}{times}"
            f'<div class="scroll"><table>{sides}</table></div>'
            f"<p>advice: {escape(finding.action)}</p></div>"
        )
    if report.truncated:
        parts.append("<p>There are more; cure these first.</p>")
    if report.warning:
        parts.append(f"<p>{escape(report.warning)}</p>")
    if report.stopped:
        parts.append(f"<p>It ended early: {escape(report.stopped)}</p>")
    return _wrap(*parts)


# Pictures ----------------------------------------------------------------------------------------


class Picture:
    """A drawing of one request; shown in a notebook, .svg is the drawing alone."""

    sample: Sample

    def __init__(self, sample: Sample) -> None:
        self.sample = sample

    @property
    def svg(self) -> str:
        """The drawing alone."""
        return draw_svg(self.sample)

    def _repr_html_(self) -> str:
        return _wrap(draw_picture(self.sample))

    def __repr__(self) -> str:
        return f"<Picture of {self.sample!r}>"


CELL, LEFT, TOP = 18, 62, 34
MOST_SECTORS = 64


def draw_picture(sample: Sample) -> str:
    """The drawing of a request with its title and the text of its line."""
    unit = "wavefront" if sample.space == "shared" else "sector"
    title = (
        f"{sample.place}: {sample.space} {sample.op}, {say_count(sample.bytes, 'byte')} a lane, "
        f"{say_count(sample.cost, unit)}"
    )
    where = f"costliest request, by warp {sample.warp} of block {sample.block}"
    return (
        f"<h4>{escape(title)}</h4><p>{escape(where)}<br><code>{escape(sample.text)}</code></p>"
        f"{draw_svg(sample)}"
    )


def draw_svg(sample: Sample) -> str:
    """Inline SVG: a row a lane; a column a bank of shared memory, or a sector of global memory."""
    if sample.space == "shared":
        return _draw_banks(sample)
    return _draw_sectors(sample)


def _frame(width: int, height: int, label: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(label)}">{body}</svg>'
    )


def _text(x: float, y: float, words: object, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(str(words))}</text>'


def _cell(x: int, y: int, colour: str, words: object, tip: str) -> str:
    box = (
        f'<rect x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="2" '
        f'fill="rgba({colour},0.35)" stroke="rgb({colour})">'
        f"<title>{escape(tip)}</title></rect>"
    )
    return box + _text(x + CELL / 2, y + CELL / 2 + 3, words)


def _lanes(columns: int) -> str:
    """Names of the lanes at the left, and faint lines."""
    parts = []
    for lane in range(32):
        y = TOP + lane * CELL
        parts.append(_text(LEFT - 6, y + CELL / 2 + 3, f"lane {lane}", "end"))
        parts.append(
            f'<path d="M{LEFT} {y}h{columns * CELL}" stroke="currentColor" stroke-opacity=".15"/>'
        )
    return "".join(parts)


def _phase_lanes(sample: Sample) -> tuple[int, BankAccess]:
    """The lanes of each phase by the bank rule; wider accesses have more phases."""
    access = _core.bank_access(sample.addresses, sample.bytes, mask=sample.mask, op=sample.rule)
    lanes = {8: 16, 16: 8}.get(sample.bytes, 32)
    phases = len({lane // lanes for lane, _ in sample.active()})
    while lanes < 32 and int(access.phases) < phases:  # pairs of lanes that read one address
        lanes *= 2
        phases = len({lane // lanes for lane, _ in sample.active()})
    return lanes, access


def _draw_banks(sample: Sample) -> str:
    lanes, access = _phase_lanes(sample)
    # (phase, bank) -> what it serves: words, or of atomics (word, lane)
    words: dict[tuple[int, int], set[tuple[int, int]]] = {}
    places, by_lane = [], sample.rule in COUNT_LANES
    for lane, address in sample.active():
        for word in range(address // 4, (address + max(sample.bytes, 1) - 1) // 4 + 1):
            served = words.setdefault((lane // lanes, word % 32), set())
            served.add((word, lane if by_lane else 0))
            places.append((lane, word))
    parts = [_text(LEFT + b * CELL + CELL / 2, TOP - 6, b) for b in range(32)]
    parts += [_text(LEFT + 16 * CELL, 12, "bank"), _lanes(32)]
    for lane, word in places:
        served = words[lane // lanes, word % 32]
        many = len(served) > 1
        tip = f"lane {lane}, bank {word % 32}, word {word}; {len(served)} of this bank in the phase"
        x, y = LEFT + word % 32 * CELL, TOP + lane * CELL
        parts.append(_cell(x, y, ORANGE if many else BLUE, word // 32, tip))
    for start in range(lanes, 32, lanes):
        y = TOP + start * CELL
        parts.append(
            f'<path d="M{LEFT - 40} {y}h{32 * CELL + 40}" stroke="currentColor" '
            'stroke-dasharray="4 3"/>'
        )
    foot = TOP + 32 * CELL
    for bank in range(32):
        most = max((len(s) for (_, b), s in words.items() if b == bank), default=0)
        parts.append(_text(LEFT + bank * CELL + CELL / 2, foot + 14, most or "·"))
    what, cost = "lanes" if by_lane else "words", say_count(int(access.wavefronts), "wavefront")
    copied = sample.op == "async" and sample.cost != int(access.wavefronts)
    more = f" (with the copy's sources {sample.cost})" if copied else ""
    parts.append(_text(LEFT - 6, foot + 14, what, "end"))
    parts.append(
        _text(
            LEFT,
            foot + 32,
            f"in the cells: word / 32; below: {what} that the bank serves in its busiest phase",
            "start",
        )
    )
    parts.append(
        _text(
            LEFT,
            foot + 46,
            f"blue: the bank serves one; orange: more. {cost}, {int(access.conflicts)} of them "
            f"conflicts{more}; dashed lines part the phases",
            "start",
        )
    )
    return _frame(
        LEFT + 32 * CELL + 10, foot + 54, "lanes and banks of one request", "".join(parts)
    )


def _draw_sectors(sample: Sample) -> str:
    touched: dict[int, list[int]] = {}  # sector -> lanes in it
    for lane, address in sample.active():
        for sector in range(address // 32, (address + sample.bytes - 1) // 32 + 1):
            touched.setdefault(sector, []).append(lane)
    shown = sorted(touched)[:MOST_SECTORS]
    columns = max(len(shown), 16)
    parts = [
        _text(LEFT + columns * CELL / 2, 12, "sector (32 bytes), in order of address"),
        _lanes(columns),
    ]
    foot = TOP + 32 * CELL
    for column, sector in enumerate(shown):
        x = LEFT + column * CELL
        used: set[int] = set()
        for _, address in sample.active():
            used |= set(range(address, address + sample.bytes)) & set(
                range(sector * 32, sector * 32 + 32)
            )
        full = len(used) / 32
        parts.append(_text(x + CELL / 2, TOP - 6, column))
        for lane in touched[sector]:
            tip = f"lane {lane}, sector at {sector * 32:#x}; {len(used)} of its 32 bytes are used"
            parts.append(_cell(x, TOP + lane * CELL, BLUE if full > 0.5 else ORANGE, "", tip))
        parts.append(_text(x + CELL / 2, foot + 14, len(used)))
    parts.append(_text(LEFT - 6, foot + 14, "bytes used", "end"))
    more = len(touched) - len(shown)
    note = f"; {more} more sectors are not drawn" if more else ""
    parts.append(
        _text(
            LEFT,
            foot + 32,
            f"{say_count(len(touched), 'sector')}; blue: more than half of it is used{note}",
            "start",
        )
    )
    return _frame(
        LEFT + columns * CELL + 10, foot + 42, "lanes and sectors of one request", "".join(parts)
    )


def draw_occupancy(table: OccupancyTable) -> str:
    """The HTML of an OccupancyTable, with a bar for each share of the warps."""
    from .occupancy import HEADINGS

    words = ("", "cards", *HEADINGS)
    head = "".join(
        f'<th class="{"t" if n in (0, 1, len(words) - 1) else ""}">{escape(word)}</th>'
        for n, word in enumerate(words)
    )
    rows = []
    for row in table:
        capability, cards, *numbers, said = map(escape, table._write(row))
        cells = "".join(f"<td>{number}</td>" for number in numbers[:-1])
        share = row.get("percent", 0)
        colour = BLUE if share >= 50 else ORANGE
        bar = (
            f' style="background:linear-gradient(to right,rgba({colour},.35) {share:.0f}%,'
            f'transparent {share:.0f}%)"'
        )
        said = f'<td class="t w">{said}</td>'
        rows.append(
            f'<tr><td class="t"><b>{capability}</b></td><td class="t w">{cards}</td>{cells}'
            f"<td{bar}>{numbers[-1]}</td>{said}</tr>"
        )
    notes = "".join(
        f'<p class="note">{escape(capabilities)}: {escape(reason)}</p>'
        for capabilities, reason in table._notes()
    )
    return _wrap(
        f"<p>{escape(table._say_block())}</p>"
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>{notes}'
    )


def make_page(report: Saved, title: str | None = None) -> str:
    """A whole HTML page of a report, for a file: what a notebook shows, below a header."""
    title = escape(title or report._title)
    lines = [say_origin(report.origin), *report._launched]
    facts = "".join(f"<p>{escape(words)}</p>" for words in lines)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title>{PAGE_STYLE}</head>\n<body><header><h1>{title}</h1>"
        f"{facts}</header>\n"
        f"{report._repr_html_()}</body></html>\n"
    )
