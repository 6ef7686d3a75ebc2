"""The picture of one access to shared memory: its lanes, and the banks that they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from .. import _core
from ..report import Report
from ..report.counts import COUNT_LANES, Sample
from . import _points
from ._rows import name_source
from .style import FAINT, GRID, INK, PAPER, in_style, lay_out, make_axes, put_header, shade

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from .._types import BankOp

    Cell: TypeAlias = tuple[int, int, int, int]  # lane, bank, row of the word, words in the phase
    BankWords: TypeAlias = NDArray[numpy.int64]  # (32,): the words that each bank serves

LONG = 72  # characters of a source line below the point
LOAD = 32.7  # where the line with the load of the banks stands, below the lanes
CELL_LEAST = 0.15  # inches: smaller cells have no room for a number
DARK = 9  # words from which on a cell is dark and its number light


@in_style
def banks(
    access: ArrayLike | Report | Sample,
    width: int = 4,
    *,
    mask: int = 0xFFFFFFFF,
    op: BankOp = "load",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The lanes of one access to shared memory and the banks that they meet.

    A row a lane, a column a bank. The colour is how many distinct words (of atomics: lanes) the
    bank serves in the phase in which that lane goes: more than one is a conflict. In each cell
    stands the word's row, its number / 32. Dashed lines part the phases of wide accesses.

    Parameters
    ----------
    access : 32 addresses in bytes, a Report of smemkit.profile, or what its access(...) returns
        Of a Report the access to shared memory with most conflicts.
    width, mask, op
        As of smemkit.bank_access, for addresses; a recorded access has its own.
    title : str, optional
        Instead of the sentence with the point.
    ax : matplotlib Axes, optional

    Shapes
    ------
    Addresses are (32,).

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ShapeError, ArgumentError (both ValueError) and
    ArgumentTypeError (TypeError) as smemkit.bank_access; ArgumentError for an access to global
    memory, and for a Report without one to shared memory.

    Example
    -------
    >>> import numpy, smemkit
    >>> from smemkit import plot
    >>> ax = plot.banks(numpy.arange(32) * 128)
    >>> ax.get_title(loc="left")
    'Bank 0 serves 32 words: 32 wavefronts, 31 of them conflicts'
    """
    source, word = access, str(op)
    if isinstance(access, Report):
        access = access.access(space="shared")
    place = ""
    if isinstance(access, Sample):
        if access.space != "shared":
            raise _core.ArgumentError(
                f"{access.place} is an access to {access.space} memory, which has no banks"
            )
        place = f"{access.place}  {shorten_line(access.text)} · "
        width, mask, op, word = access.bytes, access.mask, access.rule, access.op
        access = access.addresses
    try:
        addresses = numpy.asarray(access)
    except ValueError as error:
        raise _core.ArgumentError(f"banks: access: {error}") from None
    if addresses.size and addresses.dtype.kind not in "iu":
        raise _core.ArgumentTypeError(
            "banks: access is 32 addresses, a Report of smemkit.profile or what its access(...) "
            f"returns, not {access!r:.80}"
        )
    try:
        facts = _core.bank_access(addresses, width, mask=mask, op=op)
    except _core.Error as error:
        raise type(error)(str(error).replace("bank_access:", "banks:", 1)) from None
    if addresses.ndim != 1:
        raise _core.ShapeError(f"one access is drawn: (32,) addresses, not {addresses.shape}")
    lanes, cells = list_cells(addresses, width, mask, op, int(facts.phases))
    ax = make_axes(ax, width=9.0, height=7.7)
    draw_cells(ax, cells, facts.words)
    for start in range(lanes, 32, lanes):
        ax.axhline(start - 0.5, color=INK, linestyle="--", linewidth=1.2)
    label_cells(ax, cells, facts.words)
    numbers = (int(facts.wavefronts), int(facts.conflicts), int(facts.phases))
    point = _points.describe_banks(facts.words, op, *numbers)
    each = f"{width}-byte {word} of {mask.bit_count()} lanes"
    put_header(ax, title, point, f"{place}{each} · {name_source(source, ())}")
    return ax


def shorten_line(text: str) -> str:
    """A line of the source in one line of the picture."""
    text = " ".join(text.split())
    return text if len(text) <= LONG else text[: LONG - 3] + "..."


def list_cells(
    addresses: NDArray[Any], width: int, mask: int, op: BankOp, phases: int
) -> tuple[int, list[Cell]]:
    """(lanes of a phase, the Cells of all lanes)."""
    active = [lane for lane in range(32) if mask >> lane & 1]
    lanes = 32 if op in ("atomic", "cas", "increment") else {8: 16, 16: 8}.get(width, 32)
    while lanes < 32 and len({lane // lanes for lane in active}) > phases:
        lanes *= 2  # pairs of lanes with equal addresses share a phase
    served: dict[tuple[int, int], set[tuple[int, int]]] = {}  # by phase and bank (word, lane)
    words = []
    for lane in active:
        address = int(addresses[lane])
        for word in range(address // 4, (address + width - 1) // 4 + 1):
            key = (lane // lanes, word % 32)
            served.setdefault(key, set()).add((word, lane if op in COUNT_LANES else 0))
            words.append((lane, word, key))
    return lanes, [(lane, key[1], word // 32, len(served[key])) for lane, word, key in words]


def draw_cells(ax: Axes, cells: Sequence[Cell], words: BankWords) -> None:
    """Draws the grid of lanes and banks, and below it the load of each bank."""
    from matplotlib.colors import ListedColormap

    kinds = sorted({1, *(count for *_, count in cells)})
    heat = numpy.full((32, 32), numpy.nan)
    for lane, bank, _, count in cells:
        heat[lane, bank] = count
    colours = ListedColormap([shade(count) for count in range(1, kinds[-1] + 1)])
    edges = numpy.arange(33) - 0.5
    load = numpy.where(words > 0, words, numpy.nan).astype(float)[numpy.newaxis]
    sums = numpy.array([LOAD - 0.6, LOAD + 0.6])
    for rows, values in ((edges, heat), (sums, load)):
        mesh = ax.pcolormesh(edges, rows, values, edgecolors=GRID, linewidth=0.6, cmap=colours)
        mesh.set_clim(0.5, kinds[-1] + 0.5)
    ax.set_xticks(range(32))
    ax.set_yticks([*range(32), LOAD], [*map(str, range(32)), "words"])
    ax.set_xlim(-0.5, 31.5)
    ax.set_ylim(LOAD + 0.6, -0.5)
    ax.tick_params(length=0)
    ax.set_xlabel(
        "bank; a cell shows the row r of the lane's word, which is word bank + 32 r; "
        "the last line: words that the bank must serve"
    )
    ax.set_ylabel("lane")


def label_cells(ax: Axes, cells: Sequence[Cell], words: BankWords) -> None:
    """Writes the numbers into the cells, where these are large enough."""
    figure = lay_out(ax)
    box = ax.get_window_extent()
    side = min(box.width / 32, box.height / (LOAD + 1.1)) / figure.dpi
    if side < CELL_LEAST:
        ax.set_xticks(range(0, 32, 4))
        ax.set_yticks([*range(0, 32, 4), LOAD], [*map(str, range(0, 32, 4)), "words"])
        ax.set_xlabel("bank; the last line: words that the bank must serve")
        return
    size = min(8.5, 72 * 0.52 * side)
    look: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": size}
    look["clip_on"] = True
    for lane, bank, row, count in cells:
        ax.text(bank, lane, str(row), color=PAPER if count >= DARK else INK, **look)
    for bank, count in enumerate(words):
        colour = FAINT if not count else PAPER if count >= DARK else INK
        weight = "bold" if count else "normal"
        ax.text(bank, LOAD, str(count), color=colour, fontweight=weight, **look)
