"""memory_wall: the bytes and operations of a family, its bound, and what its kernels read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy

import smemkit

from ..report.counts import WAVEFRONTS
from . import arguments, records, timing, workloads
from ._ceilings import Ceilings
from ._ceilings import ceilings as measure_ceilings
from ._run import run
from .predicted import (
    Predictor,
    check_prediction,
    describe_predictions,
    find_ceilings,
    list_predictable,
)
from .results import Results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from .._types import Backend, Count, Shape
    from ..predict import Card
    from ..report import Report
    from .families import Workload
    from .results import Measurement
    from .types import Operands

COUNTED_MOST = 1 << 25  # operations or bytes that are simulated for one variant
READS = ("global.load.bytes", "async.bytes")
SECTORS = ("global.load.sectors", "async.sectors")
WRITTEN = ("global.store.sectors", "global.atomic.sectors")
SECTOR_BYTES = 32
# Counters of the part "traffic" of a record.
L2, DRAM = ("l2.bytes",), ("dram.read.bytes", "dram.write.bytes")
HEADS = ("variant", "predicted", "counted", "in sectors", "reuse", "time", "of the bound")
TRAFFIC_HEADS = ("L2", "DRAM")


@dataclass(frozen=True)
class Reads:
    """What one variant reads from global memory, and how near to the bound it comes.

    Attributes
    ----------
    variant : str
    staged : bool
        Whether it keeps a tile in shared memory.
    tile : tuple of int
        Results that a block makes, x and y.
    predicted_bytes : float
        By a rule: a kernel that stages reads each operand once for each tile that needs it; others
        read it once for each use.
    counted_bytes : float
        That lanes asked for, counted on the simulator.
    moved_bytes : float
        32 for each sector that the requests touched: before the caches.
    blocks, blocks_total : int
        How many blocks were counted; counts of a part are scaled to the whole.
    reuse : float
        Reads, were there one for each use, over those that were counted.
    time_ms : float or None
        The median, where it was measured.
    reached : float or None
        The bound's time over this one: 1.0 is the bound.
    requested_bytes : float
        moved_bytes, and 32 for each sector that stores and atomics touched: all that the requests
        ask of the caches and of the memory behind them.
    l2_bytes, dram_bytes : float or None
        That the GPU moved between L1 and L2, and between L2 and DRAM, counted by Nsight Compute
        with warm caches; None where no record has them.
    low_ms, high_ms : float or None
        The range of a predicted time; None of a measured one.
    """

    variant: str
    staged: bool
    tile: tuple[int, ...]
    predicted_bytes: float
    counted_bytes: float
    moved_bytes: float
    blocks: int
    blocks_total: int
    reuse: float
    time_ms: float | None = None
    reached: float | None = None
    requested_bytes: float = 0.0
    l2_bytes: float | None = None
    dram_bytes: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None


@dataclass(frozen=True)
class MemoryWall:
    """A family at one shape, against what a GPU reaches.

    Attributes
    ----------
    family : str
    shape : tuple of int
    dtype : str
    nbytes : float
        That must move: each operand read once, each result written once.
    flops : float or None
        Operations that must be done.
    gb_per_s, gflop_per_s : float or None
        The measured ceilings, where there are some; of predictions those by the card's constants.
    rows : tuple of Reads
        What each variant reads: predicted, and counted by the simulator.
    shared_gb_per_s : float or None
        The measured ceiling of shared memory, which the L1 cache shares.
    provenance : dict
        Of the times: device, date and versions, and predicted_for where they are predicted; empty
        where there are none.
    l2_gb_per_s : float or None
        The measured ceiling of the L2 cache.
    traffic : dict
        The provenance of l2_bytes and dram_bytes; empty where there are none.

    Example
    -------
    >>> from smemkit import bench
    >>> wall = bench.memory_wall("dot", 1000, variants=["atomic"])
    >>> wall.nbytes, wall.intensity, wall.rows[0].counted_bytes
    (8000.0, 0.25, 8000.0)
    """

    family: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: float
    flops: float | None
    gb_per_s: float | None = None
    gflop_per_s: float | None = None
    rows: tuple[Reads, ...] = field(default=())
    shared_gb_per_s: float | None = None
    provenance: dict[str, Any] = field(default_factory=dict, repr=False)
    l2_gb_per_s: float | None = None
    traffic: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def intensity(self) -> float:
        """Operations for each byte that must move; 0 where nothing is computed."""
        return (self.flops or 0.0) / self.nbytes

    @property
    def balance(self) -> float | None:
        """Operations a byte at which the GPU's two ceilings meet; None where not measured."""
        if not self.gb_per_s or not self.gflop_per_s:
            return None
        return self.gflop_per_s / self.gb_per_s

    @property
    def bound(self) -> str | None:
        """ "memory" or "arithmetic": what bounds it; None where no ceilings are known."""
        if self.balance is None:
            return None
        return "memory" if self.intensity < self.balance else "arithmetic"

    @property
    def bound_ms(self) -> float | None:
        """The least time, by the ceilings; None where none are known."""
        if self.gb_per_s is None or (self.flops and self.gflop_per_s is None):
            return None
        moving_ms = self.nbytes / self.gb_per_s / 1e6
        if not self.flops or self.gflop_per_s is None:
            return moving_ms
        return max(moving_ms, self.flops / self.gflop_per_s / 1e6)

    @property
    def predicted_for(self) -> str | None:
        """The name of the card for which the times are predicted; None where they are measured."""
        name = self.provenance.get("predicted_for")
        return None if name is None else str(name)

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        words = [
            f"{self.family} {shape} {self.dtype}: {self.nbytes:.4g} bytes must move, "
            f"{self.flops or 0:.4g} operations: {self.intensity:.3g} a byte"
        ]
        if self.bound is not None and self.bound_ms is not None:
            words.append(
                f"bound by {self.bound} (the ceilings meet at {self.balance:.3g} operations a "
                f"byte): {self.bound_ms * 1e3:.4g} us at least"
            )
        else:
            words.append("no ceilings are known here: bench.ceilings() measures them on a GPU")
        table = [HEADS, *(show_reads(row) for row in self.rows)]
        if any(row.l2_bytes is not None for row in self.rows):
            cells = [TRAFFIC_HEADS, *(show_traffic(row) for row in self.rows)]
            table = [(*one[:4], *two, *one[4:]) for one, two in zip(table, cells, strict=True)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for line in table:
            right = [f"{c:>{w}}" for c, w in zip(line[1:], widths[1:], strict=True)]
            words.append("  ".join([f"{line[0]:{widths[0]}}", *right]).rstrip())
        sampled = [row for row in self.rows if row.blocks < row.blocks_total]
        if sampled:
            words.append("counts are those of a few blocks, scaled to all")
        if self.predicted_for is not None:
            words.append(
                f"times are predicted for {self.predicted_for}, and its ceilings follow from its "
                "constants"
            )
        if self.traffic:
            words.append(
                f"L2 and DRAM: bytes that Nsight Compute counted on {self.traffic.get('device')}"
            )
        return "\n".join(words)


def show_reads(row: Reads) -> tuple[str, ...]:
    """The cells of a row."""
    numbers = [row.predicted_bytes, row.counted_bytes, row.moved_bytes]
    return (
        row.variant,
        *(f"{number:.4g}" for number in numbers),
        f"{row.reuse:.3g} x",
        show_time(row),
        f"{100 * row.reached:.3g} %" if row.reached else "-",
    )


def show_time(row: Reads) -> str:
    """The time of a row, with its range where it is predicted."""
    if not row.time_ms:
        return "-"
    time = f"{row.time_ms * 1e3:.4g} us"
    if row.low_ms is None or row.high_ms is None:
        return time
    return f"{time} ({row.low_ms * 1e3:.4g} to {row.high_ms * 1e3:.4g})"


def show_traffic(row: Reads) -> tuple[str, ...]:
    """The cells of the bytes that Nsight Compute counted."""
    return tuple("-" if n is None else f"{n:.4g}" for n in (row.l2_bytes, row.dram_bytes))


# Counting -----------------------------------------------------------------------------------------


def count_reads(case: Workload, inputs: Operands, variant: str) -> tuple[Report, tuple[int, int]]:
    """The profile of one variant, and its tile; of large launches only a few blocks run."""
    arrays = tuple(smemkit.asarray(array, backend="sim") for array in inputs)
    out = smemkit.empty(case.result_shape, case.result_dtype, backend="sim")

    def call() -> None:
        case.call(arrays, out, variant)

    facts = smemkit.variants(case.family)[variant]
    work = max(case.flops or 0.0, float(case.nbytes))
    blocks = None
    if work > COUNTED_MOST:
        x, y = (max(1, side) for side in facts["tile"])
        results = max(1, int(numpy.prod(case.result_shape or case.shape[:1])))
        each = work / max(1.0, results / (x * y))
        blocks = max(1, int(COUNTED_MOST / each))
    report = smemkit.profile(call, blocks=blocks)
    return report, facts["tile"]


def scale(report: Report, names: Iterable[str]) -> float:
    """The sum of some counters over all launches, each scaled from its blocks to all."""
    return float(
        sum(
            launch.counters.total(*names) * launch.blocks_total / launch.blocks
            for launch in report.launches
        )
    )


def make_reads(
    case: Workload,
    inputs: Operands,
    variant: str,
    timed: Measurement | None,
    bound_ms: float | None,
    moved: Mapping[str, Count] | None,
) -> Reads:
    """The row of one variant; moved: its counters of the part "traffic", or None."""
    time_ms = None if timed is None else timed.median_ms
    report, tile = count_reads(case, inputs, variant)
    staged = scale(report, WAVEFRONTS) > 0
    counted = scale(report, READS)
    every = case.predict_reads()
    weights = variant not in case.constant_variants
    return Reads(
        variant=variant,
        staged=staged,
        tile=tile,
        predicted_bytes=case.predict_reads(tile if staged else (1, 1), weights),
        counted_bytes=counted,
        moved_bytes=SECTOR_BYTES * scale(report, SECTORS),
        blocks=sum(launch.blocks for launch in report.launches),
        blocks_total=sum(launch.blocks_total for launch in report.launches),
        reuse=every / counted if counted else float("nan"),
        time_ms=time_ms,
        reached=bound_ms / time_ms if bound_ms and time_ms else None,
        requested_bytes=SECTOR_BYTES * scale(report, SECTORS + WRITTEN),
        l2_bytes=add_up(moved, L2) if moved else None,
        dram_bytes=add_up(moved, DRAM) if moved else None,
        low_ms=None if timed is None else timed.low_ms,
        high_ms=None if timed is None else timed.high_ms,
    )


def add_up(counters: Mapping[str, Count], names: Iterable[str]) -> float:
    """The sum of some counters."""
    return float(sum(counters[name] or 0 for name in names))


def find_times(results: Results | None, case: Workload) -> dict[str, Measurement]:
    """{variant: row} of the warm measurements, or predictions, of this workload in results."""
    times: dict[str, Measurement] = {}
    for row in results or ():
        if case.owns(row) and row.times_ms and row.cache == "warm" and row.machine != "cpu":
            times.setdefault(row.variant, row)
    return times


def find_traffic(traffic: Results | None, provenance: Mapping[str, Any]) -> Results | None:
    """The part "traffic" to use: the one given, or that of the package's record of the device.

    provenance is that of the times.
    """
    if traffic is not None:
        arguments.check_results(traffic)
        return traffic
    name = records.name_device(str(provenance.get("device")))
    if "traffic" not in records.find_records().get(name, {}):
        return None
    return records.load_record(None, name, "traffic")


def choose_ceilings(ceilings: Results | None, results: Results | None) -> Ceilings | None:
    """The ceilings that are given, or those among the results."""
    rows = results if ceilings is None else ceilings
    if rows is None or isinstance(rows, Ceilings):
        return rows
    if not isinstance(rows, Results):
        raise smemkit.ArgumentTypeError(f"ceilings are of bench.ceilings(), not {rows!r}")
    return Ceilings(list(rows), rows.provenance)


def list_moved(traffic: Results | None, case: Workload) -> dict[str, dict[str, Count]]:
    """{variant: counters} of the workload in a part "traffic"."""
    return {
        row.variant: row.counters
        for row in traffic or ()
        if row.family == case.family and case.owns(row) and {*L2, *DRAM} <= {*row.counters}
    }


def memory_wall(
    family: str,
    shape: Shape | None = None,
    *,
    variants: str | Sequence[str] | None = None,
    dtype: DTypeLike | None = None,
    results: Results | None = None,
    ceilings: Results | None = None,
    traffic: Results | None = None,
    backend: Backend | None = None,
    seconds: float = 0.2,
    seed: int = timing.SEED,
    predicted: bool = False,
    device: str | Card | None = None,
    **parameters: str,
) -> MemoryWall:
    """What bounds a family at a shape, and what its variants read: predicted against counted.

    Parameters
    ----------
    family : str
        One that has a contract: "gemm", "transpose", ...
    shape : int or tuple of int, optional
        As of bench.run.
    variants : str or sequence of str, optional
        By default all that take the type.
    dtype : dtype-like, optional
        By default float32, of histogram uint8.
    results : Results, optional
        Where times are looked for, bench.recorded("h200") as one. By default they are measured
        where there is a GPU, and without one there are none.
    ceilings : Ceilings, optional
        What the GPU reaches. By default measured, or those of `results`, or none.
    traffic : Results, optional
        Bytes that Nsight Compute counted, as `smemkit record --traffic` writes them. By default
        those of the package's record of the device whose times these are, where it has some.
    backend : "auto", "cuda" or "sim", optional
        The other counts are the simulator's in any case.
    seconds : float
        That the samples of one subject may take.
    seed : int
        Of the arrays' values.
    predicted : bool
        True: times are those that smemkit.predict says of a card, and so are the ceilings.
    device : str or Card, optional
        The card to predict for, as smemkit.card takes it; by default "h200".
    **parameters
        As of bench.run.

    Shapes
    ------
    The lengths are those of the family's signature, in its order. Of large launches a few blocks
    are counted.

    Returns
    -------
    MemoryWall: intensity, nbytes, flops, bound, bound_ms, balance, and rows with predicted_bytes,
    counted_bytes, moved_bytes, reuse, time_ms, reached, l2_bytes, dram_bytes. print shows it
    as a table. The ceiling of operations is that of multiply-adds in float32: gemm's tuned, on
    tensor cores, may pass it.

    Raises
    ------
    ArgumentError, ShapeError (both ValueError), ArgumentTypeError (TypeError), BackendError.

    Example
    -------
    >>> from smemkit import bench
    >>> wall = bench.memory_wall("gemm", 64, variants=("naive", "tiled"), backend="sim")
    >>> [(row.predicted_bytes == row.counted_bytes, row.reuse) for row in wall.rows]
    [(True, 1.0), (True, 32.0)]
    """
    arguments.check_results(results)
    arguments.check_seed(seed)
    card = None
    if predicted is not False or device is not None:
        given = {"results": results, "ceilings": ceilings, "traffic": traffic, "backend": backend}
        card = check_prediction(predicted, device, **given)
    machine = "sim" if card is not None else arguments.choose_backend(backend)
    if shape is None:
        shape = arguments.default_shape(family, machine if card is None else "cuda")
    case = workloads.make_workload(family, shape, dtype, parameters)
    names = arguments.check_variants(family, variants)
    if card is not None:
        return _predict_wall(case, card, names or list_predictable(case, card), seed)
    names = names or timing.list_ours(case, whole=True)
    arguments.check_seconds(seconds)
    if results is None and machine == "cuda":
        words: dict[str, Any] = {"seconds": seconds, "seed": seed, **parameters}
        results = run(family, variants, shape, dtype, backend="cuda", **words)
        if ceilings is None:
            ceilings = measure_ceilings(backend="cuda", seconds=seconds)
    wall = MemoryWall(case.family, case.shape, case.dtype, float(case.nbytes), case.flops)
    if results is not None:
        wall = replace(wall, provenance=dict(results.provenance))
    reached = choose_ceilings(ceilings, results)
    if reached is not None:
        wall = replace(
            wall,
            gb_per_s=reached.gb_per_s,
            gflop_per_s=reached.rate_of(case.dtype) or reached.gflop_per_s,
            shared_gb_per_s=reached.shared_gb_per_s,
            l2_gb_per_s=reached.l2_gb_per_s,
        )
    part = find_traffic(traffic, wall.provenance)
    moved = list_moved(part, case)
    if part is not None and moved:
        l2_gb_per_s = wall.l2_gb_per_s or Ceilings(list(part), part.provenance).l2_gb_per_s
        wall = replace(wall, traffic=dict(part.provenance), l2_gb_per_s=l2_gb_per_s)
    times = find_times(results, case)
    inputs = case.make_inputs(numpy.random.default_rng(seed))
    rows = [
        make_reads(case, inputs, name, times.get(name), wall.bound_ms, moved.get(name))
        for name in names
    ]
    return replace(wall, rows=tuple(rows))


def _predict_wall(case: Workload, card: Card, names: Sequence[str], seed: int) -> MemoryWall:
    """The memory wall of a card, with predicted times."""
    rows = list(Predictor(case, card, seed, ("warm",)).make_rows(names, None, skip=True))
    roofs = find_ceilings(card, case.dtype)
    wall = MemoryWall(
        case.family,
        case.shape,
        case.dtype,
        float(case.nbytes),
        case.flops,
        gb_per_s=roofs["gb_per_s"],
        gflop_per_s=roofs["gflop_per_s"],
        shared_gb_per_s=roofs["shared_gb_per_s"],
        l2_gb_per_s=roofs["l2_gb_per_s"],
        provenance=describe_predictions(card, ("warm",), seed),
    )
    inputs = case.make_inputs(numpy.random.default_rng(seed))
    reads = [make_reads(case, inputs, row.variant, row, wall.bound_ms, None) for row in rows]
    return replace(wall, rows=tuple(reads))
