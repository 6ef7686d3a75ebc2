"""Diagram of a matrix product: a block's tile, what the block stages, what a thread holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from .._version import __version__
from ..bench.results import is_number
from ._rows import show_today
from .style import FAINT, INK, PAPER, in_style, make_axes, put_header

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from matplotlib.axes import Axes

    Pair: TypeAlias = tuple[int, int]  # x and y

MATRIX, BESIDE = 12.0, 1.6  # the edge of a matrix in the drawing, and the space between two
FIRST, LAST = 4.0, 8.0  # where the tile lies in its matrix
ZOOM_X, ZOOM, STRIP = 34.5, 16.0, 2.6  # the enlarged tile, and the strips of a and b beside it
FETCHED, SHARED, RESULTS, HELD = "#eef1f4", "#a8d0f0", "#fbe3bf", "#e08a00"
MOST = 4096  # of a length


@in_style
def tiles(
    tile: tuple[int, int],
    block: tuple[int, int] | None = None,
    *,
    depth: int = 0,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A tile of a matrix product: what a block fetches, what it stages, and what a thread holds.

    At the left stand the matrices: a block makes one tile of c = a @ b, for which it needs the rows
    of a beside it and the columns of b above it. At the right stands the tile enlarged, with the
    results of one thread and the elements that it reads for one step along k. A thread's results
    lie as many rows and columns apart as the block has threads.

    Parameters
    ----------
    tile : (int, int)
        Results that a block makes, x and y, as smemkit.variants("gemm") has them.
    block : (int, int), optional
        Threads of the block, x and y, which divide the tile; by default one for each result.
    depth : int
        Elements along k that the block stages in shared memory at a time; 0: it stages nothing, and
        threads read global memory.
    title : str, optional
        Instead of the sentence with the point.
    ax : matplotlib Axes, optional

    Shapes
    ------
    tile and block are pairs.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no pair of whole
    numbers; ArgumentError (ValueError) where the block does not divide the tile.

    Example
    -------
    >>> import smemkit
    >>> from smemkit import plot
    >>> facts = smemkit.variants("gemm")["tiled"]
    >>> ax = plot.tiles(facts["tile"], facts["block"], depth=32)
    >>> ax.get_title(loc="left")
    'Every element that a block fetches serves 32 products'
    """
    across, down = _check_pair("tile", tile)
    threads_x, threads_y = _check_pair("block", tile if block is None else block)
    (depth,) = _check_whole("depth", (depth,), least=0)
    if across % threads_x or down % threads_y:
        raise _core.ArgumentError(
            f"tiles: a block of {threads_x} x {threads_y} threads does not divide a tile of "
            f"{across} x {down} results"
        )
    each = across // threads_x, down // threads_y
    ax = make_axes(ax, width=9.4, height=4.9)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-0.6, ZOOM_X + ZOOM + 0.6)
    ax.set_ylim(-2.2, 2 * MATRIX + BESIDE + 0.4)
    _draw_matrices(ax, (across, down), depth)
    _draw_tile(ax, (across, down), (threads_x, threads_y), each, depth)
    memory = f"{depth} deep in shared memory" if depth else "nothing in shared memory"
    facts = f"block of {threads_x} x {threads_y} threads · tile of {across} x {down} results"
    source = f"smemkit {__version__}, {show_today()}"
    put_header(ax, title, _say_point((across, down), each, depth), f"{facts} · {memory} · {source}")
    return ax


def _check_whole(name: str, values: Sequence[int], least: int) -> tuple[int, ...]:
    """The values as ints; a typed error unless each is a whole number, `least` or more."""
    whole = [hasattr(value, "__index__") for value in values]
    if not all(whole) or not all(is_number(value, least, MOST) for value in values):
        raise _core.ArgumentTypeError(
            f"tiles: {name} is of whole numbers from {least} to {MOST}, not {values!r:.80}"
        )
    return tuple(map(int, values))


def _check_pair(name: str, pair: Pair) -> Pair:
    """The pair as ints; a typed error for anything but two lengths."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise _core.ArgumentTypeError(
            f"tiles: {name} is a pair of whole numbers, x and y, not {pair!r:.80}"
        )
    x, y = _check_whole(name, pair, least=1)
    return x, y


def _say_point(tile: Pair, each: Pair, depth: int) -> str:
    """The sentence of a diagram."""
    if not depth:
        return "Every product reads 2 elements from global memory"
    if each == (1, 1):
        serves = tile[0] if tile[0] == tile[1] else f"{min(tile)} or {max(tile)}"
        return f"Every element that a block fetches serves {serves} products"
    reads = f"{each[0]} + {each[1]}"
    return f"{reads} reads of shared memory serve {each[0] * each[1]} products of a thread"


def _box(
    ax: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    *,
    edge: str = FAINT,
    line: float = 0.8,
    order: float = 1,
) -> None:
    """Draws a rectangle, whose lower left corner is (x, y)."""
    from matplotlib.patches import Rectangle

    ax.add_patch(
        Rectangle(
            (x, y), width, height, facecolor=colour, edgecolor=edge, linewidth=line, zorder=order
        )
    )


def _write(ax: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Writes a text round (x, y), with other keywords of Axes.text."""
    look = {"fontsize": 8.5, "color": INK, "ha": "center", "va": "center", **look}
    ax.text(x, y, text, gid="word", zorder=6, **look)


def _draw_matrices(ax: Axes, tile: Pair, depth: int) -> None:
    """Draws a, b and c with the tile, and the parts of a and b that it needs."""
    right = up = MATRIX + BESIDE
    wide = LAST - FIRST
    for x, y, name in ((0, 0, "a"), (right, up, "b"), (right, 0, "c")):
        _box(ax, x, y, MATRIX, MATRIX, PAPER, edge=INK, line=1.2)
        corner = (x + 0.9, y + MATRIX - 1.1)
        _write(ax, *corner, name, fontsize=14, fontweight="bold")
    _box(ax, 0, FIRST, MATRIX, wide, FETCHED)
    _box(ax, right + FIRST, up, wide, MATRIX, FETCHED)
    _box(ax, right + FIRST, FIRST, wide, wide, RESULTS, edge=INK, line=1.2)
    _write(ax, right + FIRST + wide / 2, (FIRST + LAST) / 2, "tile")
    if depth:
        thick = min(wide, max(0.9, wide * depth / max(tile)))
        _box(ax, FIRST, FIRST, thick, wide, SHARED, edge=INK)
        _box(ax, right + FIRST, up + LAST - thick, wide, thick, SHARED, edge=INK)
    else:  # one thread: a row and a column
        middle = (FIRST + LAST) / 2
        _box(ax, 0, middle + 0.8, MATRIX, 0.45, HELD)
        _box(ax, right + middle - 1.2, up, 0.45, MATRIX, HELD)
        _box(ax, right + middle - 1.2, middle + 0.8, 0.45, 0.45, HELD, order=5)
    arrow = {"arrowstyle": "->", "color": INK, "linewidth": 1.2}
    ax.annotate("", (MATRIX, FIRST - 0.7), (FIRST, FIRST - 0.7), arrowprops=arrow)
    ax.annotate("", (right + LAST + 0.7, up), (right + LAST + 0.7, up + LAST), arrowprops=arrow)
    step = f"in steps of {depth}" if depth else "one by one"
    _write(ax, (FIRST + MATRIX) / 2 - 1, FIRST - 1.7, f"along k, {step}")
    _write(ax, right / 2 - 0.8, -1.2, "rows that the tile needs")
    _write(ax, right + MATRIX / 2, -1.2, "a block makes one tile")
    words = "columns\nthat the\ntile needs"
    _write(ax, right - 0.6, up + MATRIX / 2, words, ha="right")


def _draw_tile(ax: Axes, tile: Pair, block: Pair, each: Pair, depth: int) -> None:
    """Draws the tile enlarged, with the strips of a and b that one step reads."""
    x, y = ZOOM_X, 1.0
    cell = ZOOM / tile[0], ZOOM / tile[1]
    strip = SHARED if depth else FETCHED
    left, above = x - STRIP - 0.6, y + ZOOM + 0.6
    _box(ax, x, y, ZOOM, ZOOM, RESULTS, edge="none")
    _box(ax, x, y, ZOOM, ZOOM, "none", edge=INK, line=1.2, order=3)
    _box(ax, left, y, STRIP, ZOOM, strip, edge=INK)
    _box(ax, x, above, ZOOM, STRIP, strip, edge=INK)
    for axis, many in enumerate(tile):
        lines = block[axis] if each[axis] > 1 else max(1, many // 32)
        for i in range(lines, many, lines):
            ends = [x, x + ZOOM], [y + ZOOM - i * cell[1]] * 2
            if axis == 0:
                ends = [x + i * cell[0]] * 2, [y, y + ZOOM]
            ax.plot(*ends, color=PAPER, linewidth=0.8, zorder=1.5)
    thread = block[0] // 3, block[1] // 4
    wide, high = (max(side, 0.42) for side in cell)
    columns = [x + (thread[0] + q * block[0]) * cell[0] for q in range(each[0])]
    rows = [y + ZOOM - (thread[1] + r * block[1] + 1) * cell[1] for r in range(each[1])]
    for column in columns:
        for row in rows:
            _box(ax, column, row, wide, high, HELD, edge=INK, line=0.5, order=4)
        _box(ax, column, above + STRIP / 2 - 0.2, wide, 0.42, HELD, edge=INK, line=0.5, order=4)
    for row in rows:
        _box(ax, left + STRIP / 2 - 0.2, row, 0.42, high, HELD, edge=INK, line=0.5, order=4)
    where = "shared memory" if depth else "global memory"
    size_b = f"{depth} x {tile[0]}" if depth else f"k x {tile[0]}"
    _write(ax, x + ZOOM / 2, above + STRIP + 0.9, f"of b in {where}: {size_b}")
    size_a = f"{tile[1]} x {depth}" if depth else f"{tile[1]} x k"
    look = {"rotation": 90, "ha": "center"}
    _write(ax, left - 0.9, y + ZOOM / 2, f"of a in {where}: {size_a}", **look)
    many = each[0] * each[1]
    held = "1 result" if many == 1 else f"{each[0]} x {each[1]} results"
    reads = (
        f"reads {each[1]} + {each[0]} elements a step, for {many} product{'s' if many > 1 else ''}"
    )
    _write(
        ax,
        x + ZOOM / 2,
        -0.9,
        f"the tile enlarged; orange: one thread keeps {held}\nin registers, {reads}",
    )
