"""The house style of the pictures: colours, fonts, the header, and labels that do not overlap.

Every picture has a header of two parts: a sentence with its point, and below it in small letters
the facts of the measurement, the device and the date. Variants that the lessons compare have
colours of their own, the same in all pictures; the others are grey, and what they are compared
with is black and thick. Lines bear their labels at their ends.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy

from .. import _core
from ..bench import arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any, Literal, NotRequired, ParamSpec, TypeAlias, TypedDict, TypeVar

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike

    P = ParamSpec("P")
    R = TypeVar("R")
    Place: TypeAlias = tuple[float, float]
    Labelled: TypeAlias = tuple[float, float, str, str]  # x, y in data coordinates, text, colour
    Lead: TypeAlias = tuple[Sequence[Place], str]  # ends in fractions of the Axes, colour

    class Line(TypedDict):
        """The look of a line."""

        color: str
        linewidth: float
        marker: str
        markersize: NotRequired[float]
        linestyle: Any  # "-", or (offset, dashes)
        zorder: float


# Each pair differs for every kind of colour vision, and each is legible as text on the paper; a
# test holds both.
PAPER, INK, FAINT, GRID = "#fcfcfa", "#1f2328", "#59616a", "#e3e4e1"
NAIVE, TILED, PADDED, REST, REFERENCE = "#c2410c", "#1c6fd0", "#00563f", "#858b92", "#000000"
LIGHT_INK, LIGHT_FAINT = "#f0f1f2", "#b9bfc6"  # on a dark figure of the caller's

# Words that a bank serves in one phase: one is free, from two on it is a conflict.
WAYS = (1, 2, 3, 5, 9, 17, 33)  # where the shades begin
SHADES = ("#8cc5ec", "#fbe3bf", "#f5be7a", "#ec9150", "#bf4c00", "#7d3600")

MARKS = {NAIVE: "o", TILED: "s", PADDED: "D"}
REST_MARKS, REST_DASHES = "v^<>pPXhd*", ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))
GAP = 0.025  # of the width of the Axes, between the lines' ends and their labels
SMALL, LABEL, TITLE = 8.0, 8.8, 11.0  # points
RULES: dict[str, Any] = {
    "axes.edgecolor": FAINT,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.0,
    "axes.titlecolor": INK,
    "figure.dpi": 120,
    "figure.facecolor": PAPER,
    "figure.edgecolor": PAPER,
    "font.family": "sans-serif",
    "font.size": 9.0,
    "font.weight": "normal",
    "hatch.color": FAINT,
    "legend.frameon": False,
    "lines.antialiased": True,
    "savefig.facecolor": "auto",
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
}
TICKS_MOST = 10  # along an axis
ADVICE = "drawing needs matplotlib, which is not installed: pip install 'smemkit[plot]'"


def in_style(function: Callable[P, R]) -> Callable[P, R]:
    """Runs a drawing function with the rules of the house; the caller's rcParams stay."""

    @functools.wraps(function)
    def draw(*arguments: P.args, **keywords: P.kwargs) -> R:
        try:
            import matplotlib
        except ImportError as error:
            raise _core.BackendError(ADVICE) from error
        settings: Any = matplotlib.rcParams  # whose type has the names of one version
        before = {name: settings[name] for name in RULES}
        try:  # not rc_context: a backend that is chosen here sets others, which it needs later
            settings.update(RULES)
            return function(*arguments, **keywords)
        finally:
            settings.update(before)

    return draw


# Colours ------------------------------------------------------------------------------------------


@functools.cache
def list_roles() -> dict[str, str]:
    """{name of a variant: its colour} of those that have one in every picture."""
    from ..bench.families import CLASSES
    from ..bench.workloads import first_variant

    roles = dict.fromkeys(map(first_variant, CLASSES), NAIVE)
    return roles | {"tiled": TILED, "shared": TILED, "padded": PADDED}


def choose_colour(name: str, is_reference: bool = False) -> str:
    """The colour of a variant."""
    return REFERENCE if is_reference else list_roles().get(name, REST)


def choose_line(name: str, number: int, is_reference: bool = False) -> Line:
    """The look of a line: a role's colour, black and thick, or grey told apart by its marks."""
    colour = choose_colour(name, is_reference)
    if is_reference:
        return {"color": colour, "linewidth": 3.2, "marker": "", "linestyle": "-", "zorder": 4}
    if colour != REST:
        return {
            "color": colour,
            "linewidth": 2.0,
            "marker": MARKS[colour],
            "markersize": 5.5,
            "linestyle": "-",
            "zorder": 5,
        }
    return {
        "color": colour,
        "linewidth": 1.1,
        "marker": REST_MARKS[number % len(REST_MARKS)],
        "markersize": 3.8,
        "linestyle": REST_DASHES[number // len(REST_MARKS) % len(REST_DASHES)],
        "zorder": 3,
    }


def hatch(colour: str) -> dict[str, Any]:
    """The look of a bar whose value is predicted, in the colour that a measured one has."""
    return {"facecolor": PAPER, "edgecolor": colour, "hatch": "////", "linewidth": 1.0}


def shade(ways: float) -> str:
    """The colour of a bank that serves so many words."""
    return SHADES[max(i for i, least in enumerate(WAYS[:-1]) if ways >= least or i == 0)]


def text_colour(colour: str) -> str:
    """A colour for text: grey lines have darker labels."""
    return FAINT if colour == REST else colour


# Axes ---------------------------------------------------------------------------------------------


def make_axes(ax: Axes | None, width: float = 7.6, height: float = 3.6) -> Axes:
    """The given Axes, or those of a new figure, with the house's look."""
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if ax is None:
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    elif not isinstance(ax, Axes):
        raise _core.ArgumentTypeError(f"ax is an Axes of matplotlib, not {type(ax).__name__}")
    ink, faint = list_inks(ax)
    ax.set_facecolor(PAPER)
    ax.tick_params(colors=faint, labelcolor=ink, labelsize=RULES["xtick.labelsize"])
    ax.spines[:].set_color(faint)
    ax.spines[["top", "right"]].set_visible(False)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=ink, fontsize=RULES["axes.labelsize"])
    return ax


def figure_of(part: Axes | SubFigure) -> Figure | SubFigure:
    """The figure, or the part of one, in which something lies; ArgumentError for removed Axes."""
    if part.figure is None:
        raise _core.ArgumentError("ax has no figure: it was removed from its own")
    return part.figure


def root_of(ax: Axes) -> Figure:
    """The figure, also of Axes in a part of one."""
    from matplotlib.figure import SubFigure

    figure = figure_of(ax)
    while isinstance(figure, SubFigure):
        figure = figure_of(figure)
    return figure


def list_inks(ax: Axes) -> tuple[str, str]:
    """(ink, faint ink) for text beside the Axes: light ones where the caller's figure is dark."""
    from matplotlib.colors import to_rgb

    brightness = sum(to_rgb(figure_of(ax).get_facecolor())) / 3
    return (INK, FAINT) if brightness > 0.5 else (LIGHT_INK, LIGHT_FAINT)


def add_grid(ax: Axes, axis: Literal["x", "y", "both"] = "y") -> None:
    """Adds a faint grid behind the data."""
    ax.grid(axis=axis, color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)


def tick_powers(axis: Axis, values: Collection[float]) -> None:
    """Sets the ticks of a logarithmic axis at the values, without those too near a neighbour."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, *rest = sorted(set(values))
    kept, apart = [first], (max(values) / first) ** (1 / TICKS_MOST)
    for value in rest:
        if value >= kept[-1] * apart:
            kept.append(value)
    axis.set_major_locator(FixedLocator(kept))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: shorten(value)))


def tick_decades(axis: Axis) -> None:
    """Sets the ticks of a logarithmic axis at 1, 2 and 5 times the powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def shorten(value: float) -> str:
    """Formats whole numbers: with separators up to a million, else as 2^n or in three figures."""
    if value < 1e6:
        return f"{value:,.0f}"
    power = round(math.log2(value))
    return f"$2^{{{power}}}$" if value == 2**power else f"{value:.3g}"


def separate(axis: Axis) -> None:
    """Formats the ticks of a linear axis as 60,000 instead of 60000."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


# Text ---------------------------------------------------------------------------------------------


def lay_out(ax: Axes) -> Figure:
    """The figure, after its layout, so that positions in pixels are known."""
    figure = root_of(ax)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)  # as a draw would begin
    ax.get_xlim()  # which brings the limits up to date
    ax.get_ylim()
    return figure


def measure_width(figure: Figure, text: str, size: float, weight: str = "normal") -> float:
    """The width of a line of text in pixels."""
    return _measure(float(figure.dpi), text, size, weight)


@functools.lru_cache(4096)
def _measure(dpi: float, text: str, size: float, weight: str) -> float:
    from matplotlib.figure import Figure

    drawn = Figure(dpi=dpi).text(0, 0, text, fontsize=size, fontweight=weight, parse_math=False)
    return drawn.get_window_extent().width


def wrap(figure: Figure, text: str, most: float, size: float, weight: str = "normal") -> str:
    """The text with line ends, so that no line is wider than so many pixels."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure_width(figure, longer, size, weight) <= most:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def put_header(ax: Axes, title: str | None, point: str, facts: str) -> None:
    """Writes above a picture its point, or the caller's title, and then facts, device and date.

    Both begin at the left edge of what the Axes draw, and are wrapped at the edge of the figure or
    at the next Axes.
    """
    point = point if title is None else arguments.check_text("title", title)
    ink, faint = list_inks(ax)
    figure = lay_out(ax)
    box = ax.get_window_extent()
    side = ax.yaxis.get_tightbbox()
    left, right = min(side.x0 if side else box.x0, box.x0), figure.bbox.x1 - 4
    for other in figure.axes:
        if other is not ax and other.get_window_extent().x0 > box.x1:
            side = other.yaxis.get_tightbbox()
            right = min(right, side.x0 - 12 if side else other.get_window_extent().x0)
    most = max(right - left, box.width / 2)
    point = wrap(figure, point, most, TITLE, "bold")
    facts = wrap(figure, facts, most, SMALL)
    start = (left - box.x0) / box.width
    below = ax.annotate(
        facts,
        (start, 1),
        xytext=(0, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=SMALL,
        color=faint,
        va="bottom",
        ha="left",
        gid="source",
        parse_math=False,
        annotation_clip=False,
    )
    below.set_in_layout(False)  # the title's distance leaves room for it
    lines = facts.count("\n") + 1
    ax.set_title(
        point,
        loc="left",
        x=start,
        fontsize=TITLE,
        fontweight="bold",
        color=ink,
        pad=11 + 1.25 * SMALL * lines,
        linespacing=1.15,
        parse_math=False,
    )


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near the wanted ones, in their order, at least `gap` apart, within the limits.

    By pooling adjacent violators (isotonic regression): the sum of the squared shifts is least.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    room = (high - low) / max(1, len(wanted) - 1)
    gap = min(gap, room)
    pools: list[tuple[float, int]] = []  # (sum, number) of positions without their gaps
    for rank, i in enumerate(order):
        total, number = wanted[i] - rank * gap, 1
        while pools and pools[-1][0] / pools[-1][1] > total / number:
            before, many = pools.pop()
            total, number = before + total, many + number
        pools.append((total, number))
    free = [total / number for total, number in pools for _ in range(number)]
    top = high - gap * (len(wanted) - 1)
    found = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        found[i] = min(max(free[rank], low), top) + rank * gap
    return found


def fit_labels(lines: int, height: float = 3.6) -> float:
    """The height of a figure in inches that has room for so many labels at the ends of lines."""
    return max(height, 1.3 + 0.19 * lines)


def label_ends(ax: Axes, ends: Sequence[Labelled], bold: Collection[str] = ()) -> None:
    """Writes the label of each line at its end, at the right of the Axes, and none on another.

    `ends` are (x, y, text, colour) with data coordinates. A thin line leads from the end to the
    label. Labels whose texts are in `bold` are bold.
    """
    figure = lay_out(ax)
    box = ax.get_window_extent()
    high = figure.dpi / 72 * LABEL * 1.32
    wanted = [ax.transData.transform((x, y))[1] for x, y, *_ in ends]
    found = spread(wanted, high, box.y0 + high / 3, box.y1)
    lines: list[Lead] = []
    for (x, y, text, colour), position in zip(ends, found, strict=True):
        height = (position - box.y0) / box.height
        across, up = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
        lines.append(([(across, up), (1 + GAP, height)], colour))
        ax.text(
            1 + 1.2 * GAP,
            height,
            text,
            transform=ax.transAxes,
            fontsize=LABEL,
            fontweight="bold" if text in bold else "normal",
            color=text_colour(colour) if colour != REFERENCE else list_inks(ax)[0],
            va="center_baseline",
            gid="end",
        )
    lead(ax, lines)


def lead(ax: Axes, lines: Sequence[Lead]) -> None:
    """Draws thin lines between points in fractions of the Axes."""
    from matplotlib.collections import LineCollection

    drawn = LineCollection(
        [path for path, _ in lines],
        colors=[colour for _, colour in lines],
        linewidths=0.7,
        alpha=0.8,
        zorder=2.5,
        transform=ax.transAxes,
        clip_on=False,
    )
    ax.add_collection(drawn, autolim=False)


AROUND = [
    (side, step)
    for step in (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0, 5.5, -5.5, 7.0, -7.0)
    for side in (1, -1)
]


def label_points(
    ax: Axes,
    points: Sequence[Labelled],
    bold: Collection[str] = (),
    avoided: ArrayLike = (),
) -> None:
    """Writes a label beside each point, where it covers no other label and no point.

    `points` are (x, y, text, colour) with data coordinates. Labels farther away than the next line
    have a thin line to their point. `avoided` are other (x, y) that a label should not cover.
    """
    from matplotlib.transforms import Bbox

    figure = lay_out(ax)
    box, scale = ax.get_window_extent(), figure.dpi / 72
    high, away, mark = 1.3 * LABEL * scale, 8 * scale, 4 * scale
    centres = [ax.transData.transform((x, y)) for x, y, *_ in points]
    taken = [Bbox([[x - mark, y - mark], [x + mark, y + mark]]) for x, y in centres]
    dots = ax.transData.transform(numpy.reshape(avoided, (-1, 2)))
    lines: list[Lead] = []
    for i in sorted(range(len(points)), key=lambda i: -centres[i][1]):
        text, colour = points[i][2:]
        weight = "bold" if text in bold else "normal"
        wide = measure_width(figure, text, LABEL, weight)
        tried: list[tuple[int, int, Bbox, int, float]] = []
        for side, step in AROUND:
            x = centres[i][0] + (away if side > 0 else -away - wide)
            y = centres[i][1] + step * high * 0.8
            area = Bbox([[x, y - high / 2], [x + wide, y + high / 2]])
            inside = box.x0 <= area.x0 and area.x1 <= box.x1
            inside = inside and box.y0 <= area.y0 and area.y1 <= box.y1
            covers = area.count_overlaps(taken) + area.count_contains(dots) + 9 * (not inside)
            tried.append((covers, len(tried), area, side, step))
            if not covers:
                break
        _, _, area, side, step = min(tried)
        taken.append(area)
        (start, height), (end, _) = ax.transAxes.inverted().transform(
            [(area.x0, area.y0 + high / 2), (area.x1, area.y1)]
        )
        if step:
            x, y = ax.transAxes.inverted().transform(centres[i])
            lines.append(([(x, y), (start if side > 0 else end, height)], colour))
        ax.text(
            start,
            height,
            text,
            transform=ax.transAxes,
            fontsize=LABEL,
            fontweight=weight,
            color=text_colour(colour),
            va="center_baseline",
            gid="end",
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.4},
            zorder=4.5,
        )
    if lines:
        lead(ax, lines)


def colour_labels(ax: Axes, colours: Iterable[str]) -> None:
    """Gives the labels of bars the colours of their bars, where these mean a variant."""
    for label, colour in zip(ax.get_yticklabels(), colours, strict=True):
        if colour not in (REST, REFERENCE):
            label.set_color(colour)
            label.set_fontweight("bold")


# Files --------------------------------------------------------------------------------------------


def shrink(png: bytes, **texts: str) -> bytes:
    """A PNG's bytes with a palette, about a third as many: pictures have few colours.

    `texts` are those that it shall carry, as Description="...".
    """
    import io

    from PIL import Image, PngImagePlugin

    facts = PngImagePlugin.PngInfo()
    for name, text in texts.items():
        facts.add_text(name, text)
    image, small = Image.open(io.BytesIO(png)), io.BytesIO()
    few = image.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(small, "PNG", optimize=True, pnginfo=facts)
    return small.getvalue()
