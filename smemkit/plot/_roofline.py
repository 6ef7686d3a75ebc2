"""The roofline: speed against operations a byte, of bytes that were counted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

from .. import _core
from ..bench.results import is_number
from ..bench.roofline import SECTOR_BYTES, SECTORS, WRITTEN, MemoryWall, Reads
from . import _points
from ._rows import complete, find_source, label_sized, list_rows
from .style import (
    FAINT,
    INK,
    MARKS,
    REFERENCE,
    REST,
    REST_MARKS,
    add_grid,
    choose_colour,
    in_style,
    label_points,
    lay_out,
    make_axes,
    put_header,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypeAlias, TypeGuard

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ..bench import Ceilings
    from ._rows import Rows

    Rates: TypeAlias = dict[str, tuple[float, str, float]]  # by roof: GB/s, colour, width of line
    Points: TypeAlias = NDArray[numpy.float64]  # (n, 2)

WORDS = 9  # times the intensity from the first to the last of the words along a roof
NEAR = 3.0  # ratio of two roofs below which the words of the lower one stand below it
ROOM = 1.6  # of the axes beyond the outermost mark, as a factor


@dataclass(frozen=True)
class Mark:
    """One variant: operations, their speed, and bytes.

    nbytes must move; requested are those of the simulator's count of requests, l2 and dram those
    of Nsight Compute. near gives the place of the filled mark, far that of the hollow one.
    """

    label: str
    name: str
    family: str
    flops: float
    gflop_per_s: float
    nbytes: float
    requested: float | None = None
    l2: float | None = None
    dram: float | None = None
    span: tuple[float, float] | None = None  # GFLOP/s, the range of a prediction

    @property
    def near(self) -> float | None:
        """Bytes of L2; or requested; or None where nothing was counted."""
        return self.l2 or self.requested

    @property
    def far(self) -> float:
        """Bytes of DRAM where L2's are known, or bytes that must move."""
        return self.dram if self.l2 and self.dram else self.nbytes

    @property
    def intensity(self) -> float:
        """Operations a byte: counted, or where nothing was, that must move."""
        return self.flops / (self.near or self.nbytes)

    @property
    def far_intensity(self) -> float:
        """Operations a byte of the hollow mark."""
        return self.flops / self.far


@dataclass
class Roof:
    """What the device reaches, and where that was measured."""

    gb_per_s: float
    gflop_per_s: float
    shared_gb_per_s: float | None = None
    l2_gb_per_s: float | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


@in_style
def roofline(
    results: MemoryWall | Sequence[MemoryWall] | Rows,
    ceilings: Ceilings | None = None,
    *,
    gb_per_s: float | None = None,
    gflop_per_s: float | None = None,
    shared_gb_per_s: float | None = None,
    l2_gb_per_s: float | None = None,
    traffic: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The roof of a device, and where the variants stand below it by the bytes that were counted.

    Where all variants have counts of Nsight Compute (`smemkit record --traffic`), a filled mark
    lies at operations a byte that moved between L1 and L2, below the roof of L2, and a hollow mark
    of the same height at operations a byte that moved between L2 and DRAM, below the memory's black
    roof: between both marks lies what L2 serves.

    Elsewhere a filled mark lies at operations a byte that the variant's requests ask for, counted
    by the simulator: 32 bytes for each sector. A kernel that fetches its operands again and again
    stands at the left; one that keeps them in a tile or in registers moves to the right. The roof
    there is that of the L1 cache and shared memory, where its ceiling is known. The hollow mark
    lies at operations a byte that must move: between both marks lies what the caches serve. The
    words along the axis say which of the two pictures it is.

    Marks of predicted times have an upright bar over the range of the prediction.

    Parameters
    ----------
    results : MemoryWall, or several; or Results, or an iterable of Measurement
        Of bench.memory_wall: variants without times are left out. Of measurements, rows without
        times, operations or bytes are left out; those without counters have one mark, at the bytes
        that must move.
    ceilings : Ceilings, optional
        Of bench.ceilings, or those of a record; by default those of the MemoryWall. Or numbers:
    gb_per_s, gflop_per_s, shared_gb_per_s, l2_gb_per_s : float, optional
        What the device reaches: bandwidth of memory, floating-point operations, and bandwidths of
        shared memory and of the L2 cache.
    traffic : bool
        False draws the bytes that are requested, even where Nsight Compute has counted others.
    title : str, optional
        Instead of the sentence with the point.
    ax : matplotlib Axes, optional
        Drawn into this one instead of a new figure's.

    Shapes
    ------
    Any. The flat part of the roof is multiply-adds in float32; gemm's tuned, on tensor cores, may
    stand above it.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no result of a
    benchmark; ArgumentError (ValueError) where no row has all that is needed, or a ceiling is not
    above 0.

    Example
    -------
    >>> from smemkit import bench, plot
    >>> wall = bench.memory_wall("gemm", 4096, variants=("naive", "tiled"), backend="sim",
    ...                          results=bench.recorded("h200"))
    >>> ax = plot.roofline(wall)
    >>> ax.get_xlabel().partition(";")[0]
    'operations a byte [FLOP/byte]'
    """
    walls = [results] if isinstance(results, MemoryWall) else _find_walls(results)
    given = {
        "gb_per_s": gb_per_s,
        "gflop_per_s": gflop_per_s,
        "shared_gb_per_s": shared_gb_per_s,
        "l2_gb_per_s": l2_gb_per_s,
    }
    roof = _find_roof(walls, ceilings, given)
    if walls or isinstance(results, MemoryWall):
        marks = _mark_walls(walls, traffic)
    else:
        marks = _mark_rows(results)
    if not marks:
        raise _core.ArgumentError(
            "nothing to draw: no row has times, operations and bytes (the simulator has no clock: "
            'results=bench.recorded("h200") has times)'
        )
    ax = make_axes(ax, width=7.8, height=5.4)
    kind = _choose_kind(marks)
    caches = kind.find_cache(roof)
    _scale(ax, marks, roof, caches)
    rates = _draw_roof(ax, roof, caches)
    _draw_marks(ax, marks)
    ax.set_xlabel(f"operations a byte [FLOP/byte]; {kind.axis}")
    ax.set_ylabel("GFLOP/s (10⁹ operations a second)")
    add_grid(ax, "both")
    families = ", ".join(dict.fromkeys(mark.family for mark in marks))
    source = f"{find_source(roof.provenance)} · medians"
    cards = dict.fromkeys(wall.predicted_for for wall in walls if wall.predicted_for)
    if cards:
        source = f"predicted for {', '.join(cards)}, bars over the range"
    point, named = _points.compare_marks(marks, roof)
    put_header(ax, title, point, f"{families} · {source}{kind.source}")
    words = _label_roof(ax, rates, roof.gflop_per_s, marks)
    hollows = [(mark.far_intensity, mark.gflop_per_s) for mark in marks]
    points = [
        (mark.intensity, mark.gflop_per_s, mark.label, choose_colour(mark.name)) for mark in marks
    ]
    label_points(ax, points, named, numpy.concatenate([_follow(ax, roof), *words, hollows]))
    return ax


@dataclass(frozen=True)
class Kind:
    """Which bytes a picture is of: the words for them, and the roof above the filled marks."""

    axis: str
    source: str = ""
    cache: str = ""
    rate: str = ""  # the field of Roof that has the bandwidth of the cache

    def find_cache(self, roof: Roof) -> dict[str, float]:
        """{name of the cache: its GB/s}; empty where no ceiling of it is known."""
        rate = getattr(roof, self.rate) if self.rate else None
        return {self.cache: rate} if rate else {}


COUNTED = Kind(
    "filled: L2, hollow: DRAM (counted)",
    " · bytes counted by Nsight Compute, warm caches",
    "L2",
    "l2_gb_per_s",
)
REQUESTED = Kind(
    "filled: requested (counted), hollow: must move",
    " · bytes counted by the simulator",
    "L1 and shared memory",
    "shared_gb_per_s",
)
MUST_MOVE = Kind("bytes that must move")


def _choose_kind(marks: Sequence[Mark]) -> Kind:
    """The Kind of these marks: those of one picture are all of the same bytes."""
    if all(mark.l2 for mark in marks):
        return COUNTED
    return REQUESTED if any(mark.requested for mark in marks) else MUST_MOVE


def _find_walls(results: Iterable[object]) -> list[MemoryWall]:
    """The results as a list where they are of bench.memory_wall; else an empty one."""
    if not isinstance(results, list | tuple):
        return []
    walls = [one for one in results if isinstance(one, MemoryWall)]
    if walls and len(walls) < len(results):
        other = next(one for one in results if not isinstance(one, MemoryWall))
        raise _core.ArgumentTypeError(f"{other!r:.80} is not of bench.memory_wall")
    return walls


def _find_roof(
    walls: Sequence[MemoryWall], ceilings: Ceilings | None, given: Mapping[str, float | None]
) -> Roof:
    """The Roof of the numbers that are given, and of ceilings or walls where one is not."""
    known = (ceilings, *walls)
    rates: dict[str, float | None] = {}
    for name, value in given.items():
        found = (value, *(getattr(one, name, None) for one in known))
        rates[name] = next((rate for rate in found if rate is not None), None)
    memory, arithmetic = rates["gb_per_s"], rates["gflop_per_s"]
    if not _is_rate(memory) or not _is_rate(arithmetic):
        raise _core.ArgumentError(
            "a roof needs ceilings, or gb_per_s and gflop_per_s, which are numbers above 0; "
            f"here they are {memory!r:.80} and {arithmetic!r:.80}"
        )
    shared, l2 = (_check_rate(name, rates[name]) for name in ("shared_gb_per_s", "l2_gb_per_s"))
    facts = (getattr(one, "provenance", None) for one in reversed(known))
    provenance: Mapping[str, Any] = next(filter(None, facts), {})
    return Roof(float(memory), float(arithmetic), shared, l2, provenance)


def _check_rate(name: str, rate: float | None) -> float | None:
    """The bandwidth of a cache as a float, where it is known; ArgumentError unless above 0."""
    if rate is None:
        return None
    if not _is_rate(rate):
        raise _core.ArgumentError(f"{name} is a number above 0, not {rate!r:.80}")
    return float(rate)


def _is_rate(value: float | None) -> TypeGuard[float]:
    return is_number(value, 0) and value != 0


def _mark_walls(walls: Sequence[MemoryWall], traffic: bool) -> list[Mark]:
    """The Marks of all variants with times."""
    many = len({wall.family for wall in walls}) > 1
    timed = [row for wall in walls if wall.flops for row in wall.rows if row.time_ms]
    counted = traffic and all(row.l2_bytes and row.dram_bytes for row in timed)
    return [
        Mark(
            f"{row.variant} ({wall.family})" if many else row.variant,
            row.variant,
            wall.family,
            wall.flops,
            wall.flops / row.time_ms / 1e6,
            wall.nbytes,
            row.requested_bytes,
            *((row.l2_bytes, row.dram_bytes) if counted else (None, None)),
            span=_find_span(wall.flops, row),
        )
        for wall in walls
        for row in wall.rows
        if row.time_ms and wall.flops
    ]


def _find_span(flops: float, row: Reads) -> tuple[float, float] | None:
    """The range of a predicted speed in GFLOP/s; None of a measured one."""
    if not row.low_ms or not row.high_ms:
        return None
    return flops / row.high_ms / 1e6, flops / row.low_ms / 1e6


def _mark_rows(results: Iterable[object]) -> list[Mark]:
    """The Marks of Measurements."""
    rows = [row for row in list_rows(results, timed=True) if row.flops and row.nbytes]
    marks = []
    for label, row in zip(label_sized(rows) if rows else (), rows, strict=True):
        if row.flops and row.nbytes:
            sectors = complete(row.counters).total(*SECTORS, *WRITTEN) if row.counters else 0
            facts = row.flops, row.gflop_per_s, row.nbytes, SECTOR_BYTES * sectors or None
            marks.append(Mark(label, row.variant, row.family, *facts))
    return marks


def _scale(ax: Axes, marks: Sequence[Mark], roof: Roof, caches: Mapping[str, float]) -> None:
    """Sets both axes so that all marks and the ridges are inside."""
    ridge = roof.gflop_per_s / roof.gb_per_s
    across = [ridge, *(mark.intensity for mark in marks)]
    across += [mark.far_intensity for mark in marks]
    across += [roof.gflop_per_s / rate for rate in caches.values()]
    speeds = [mark.gflop_per_s for mark in marks]
    speeds += [speed for mark in marks if mark.span is not None for speed in mark.span]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(min(across) / ROOM**3, max(across) * ROOM**2)
    ax.set_ylim(min(speeds) / ROOM**2, max(*speeds, roof.gflop_per_s) * ROOM)


def _draw_roof(ax: Axes, roof: Roof, caches: Mapping[str, float]) -> Rates:
    """Draws the memory's roof thick and black, that of a cache thin; gives their rates."""
    low, high = ax.get_xlim()
    rates: Rates = {"memory": (roof.gb_per_s, REFERENCE, 3.2)}
    rates |= {name: (rate, FAINT, 1.4) for name, rate in caches.items()}
    for rate, colour, width in rates.values():
        ridge = roof.gflop_per_s / rate
        across = numpy.array([low, ridge, high])
        ax.plot(
            across,
            numpy.minimum(across * rate, roof.gflop_per_s),
            color=colour,
            linewidth=width,
            zorder=2 if colour == REFERENCE else 1.5,
        )
    return rates


def _label_roof(ax: Axes, rates: Rates, gflop_per_s: float, marks: Sequence[Mark]) -> list[Points]:
    """Writes along each roof what it is, at its angle on the page; gives points of these words."""
    lay_out(ax)
    covered: list[Points] = []
    dots = ax.transData.transform([(mark.intensity, mark.gflop_per_s) for mark in marks])
    low, bottom = ax.get_xlim()[0], ax.get_ylim()[0]
    for name, (rate, *_) in rates.items():
        first, last = max(low, bottom / rate) * 1.3, gflop_per_s / rate / WORDS
        starts = numpy.geomspace(first, max(first, last), 9)
        middles = starts * WORDS**0.5
        away = ax.transData.transform(numpy.stack([middles, middles * rate], axis=1))
        clear = numpy.linalg.norm(away[:, None] - dots, axis=2).min(axis=1)
        start = starts[numpy.argmax(clear)]
        ends = ax.transData.transform([(x, x * rate) for x in (start, 2 * start)])
        angle = math.degrees(math.atan2(*(ends[1] - ends[0])[::-1]))
        below = any(1 < other / rate < NEAR for other, *_ in rates.values())
        text = ax.annotate(
            f"{name}: {rate:,.0f} GB/s",
            (start, start * rate),
            xytext=(6, -5) if below else (-5.5, 4),
            textcoords="offset points",
            rotation=angle,
            rotation_mode="anchor",
            va="top" if below else "baseline",
            fontsize=8.5,
            color=INK,
            gid="roof",
        )
        box = text.get_window_extent()
        diagonal = numpy.linspace((box.x0, box.y0), (box.x1, box.y1), 40)
        covered.append(ax.transData.inverted().transform(diagonal))
    ax.annotate(
        f"multiply-adds: {gflop_per_s:,.0f} GFLOP/s",
        (ax.get_xlim()[1], gflop_per_s),
        xytext=(-4, 5),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color=INK,
        gid="roof",
    )
    return covered


def _follow(ax: Axes, roof: Roof) -> Points:
    """Points along the black roof, close to each other."""
    low, high = ax.get_xlim()
    across = numpy.geomspace(low, high, 300)
    return numpy.stack([across, numpy.minimum(across * roof.gb_per_s, roof.gflop_per_s)], axis=1)


def _draw_marks(ax: Axes, marks: Sequence[Mark]) -> None:
    """Draws the marks, and from each a thin line to its hollow one."""
    greys = 0
    for mark in marks:
        colour = choose_colour(mark.name)
        shape = MARKS.get(colour) or REST_MARKS[greys % len(REST_MARKS)]
        greys += colour == REST
        if mark.span is not None:
            ax.plot(
                [mark.intensity] * 2,
                mark.span,
                color=colour,
                linewidth=1.3,
                marker="_",
                markersize=6,
                gid="range",
                zorder=4,
            )
        if mark.near:
            height = [mark.gflop_per_s] * 2
            across = [mark.intensity, mark.far_intensity]
            ax.plot(across, height, color=colour, linewidth=0.7, alpha=0.6)
            ax.plot(
                across[1:],
                [mark.gflop_per_s],
                color=colour,
                marker=shape,
                markersize=5.5,
                markerfacecolor="none",
                linestyle="none",
            )
        ax.plot(
            [mark.intensity],
            [mark.gflop_per_s],
            color=colour,
            marker=shape,
            markersize=8 if colour != REST else 6,
            linestyle="none",
            label=mark.label,
            zorder=5,
        )
