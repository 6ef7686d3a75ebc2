"""tile_sweep: one kernel compiled with tiles of several sizes, measured or counted."""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

import smemkit

from ..compile import compile_source
from . import arguments, timing, workloads
from ._progress import Bar
from .families import CLASSES, find_class
from .results import Results, describe_run
from .stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from .._types import Backend, Shape
    from .families import Tiles, Workload
    from .results import Measurement
    from .types import Watch

SIDE = re.compile(r"\bconstexpr int TILE = \d+")
BOUNDS = re.compile(r"__launch_bounds__\(\d+\)")
C_TYPES = {"float32": "float", "float64": "double"}
C_SIZES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


def find_tiles(family: str) -> Tiles:
    """How the tile of a family may be varied; ArgumentError where none may."""
    rules = find_class(family).tiles
    if rules is None:
        there = ", ".join(name for name, kind in CLASSES.items() if kind.tiles)
        raise smemkit.ArgumentError(
            f"{family} has no kernel with a square tile; there are some of {there}"
        )
    return rules


def write_source(family: str, variant: str, side: int, kind: str) -> str:
    """The kernel's source for elements of a C type, with another side of its tile."""
    x, y = find_tiles(family).block(side)
    text, many = SIDE.subn(f"constexpr int TILE = {side}", smemkit.source(family, variant))
    text, bounds = BOUNDS.subn(f"__launch_bounds__({x * y})", text)
    if (many, bounds) != (1, 1):
        raise smemkit.InternalError(f"{family}/{variant} does not declare its tile as expected")
    return f"typedef {kind} T;\n{text}"


def compile_tile(case: Workload, variant: str, side: int) -> smemkit.RawKernel:
    """The kernel of a tile."""
    name = f"{case.family}_{variant}"
    if find_tiles(case.family).by_size:
        # As PTX, which declares no element type: the arrays have any type of that size.
        source = write_source(case.family, variant, side, C_SIZES[case.itemsize])
        return smemkit.RawModule(compile_source(source)).get_function(name)
    return smemkit.RawKernel(write_source(case.family, variant, side, C_TYPES[case.dtype]), name)


def check_tiles(family: str, tiles: Sequence[int] | None) -> list[int]:
    """The sides as ints; ArgumentError for sides that no block can have."""
    rules = find_tiles(family)
    try:
        sides = [operator.index(side) for side in (rules.sides if tiles is None else tiles)]
    except TypeError:
        raise smemkit.ArgumentTypeError(
            f"tiles must be a sequence of ints, not {tiles!r}"
        ) from None
    step, most = rules.step, rules.most
    for side in sides:
        if not 1 <= side <= most or side % step:
            words = f"1 to {most}" if step == 1 else f"multiples of {step} up to {most}"
            raise smemkit.ArgumentError(f"a tile of {family} cannot be {side} wide; can: {words}")
    if not sides:
        raise smemkit.ArgumentError("tiles is empty: name one, or leave it out")
    return list(dict.fromkeys(sides))


def choose_variant(family: str, variant: str | None) -> str:
    """The variant whose tile is varied."""
    rules = find_tiles(family)
    chosen = rules.variants[0] if variant is None else variant
    if not isinstance(chosen, str) or chosen not in rules.variants:
        raise smemkit.ArgumentError(
            f"the tile of {family} {chosen!r:.80} cannot be varied; those of "
            f"{', '.join(rules.variants)} can"
        )
    return chosen


class Tiled:
    """One tile: its kernel, and the call on arrays of `ours`."""

    def __init__(self, case: Workload, variant: str, side: int, ours: timing.Ours) -> None:
        self.kernel = compile_tile(case, variant, side)
        tiles = find_tiles(case.family)
        columns, rows = (case.lengths[name] for name in tiles.axes)
        grid_y = -(-rows // side)
        self.grid = (-(-columns // side), min(grid_y, 65535), -(-grid_y // 65535))
        self.block = tiles.block(side)
        self.ours, self.lengths = ours, case.shape

    def call(self, out: smemkit.DeviceArray | None = None) -> None:
        """Launches the kernel."""
        out = self.ours.out if out is None else out
        arguments = (*self.ours.arrays, out, *self.lengths)
        self.kernel(self.grid, self.block, arguments, backend=out.backend)


def measure_tile(
    case: Workload, ours: timing.Ours, watch: Watch | None, variant: str, side: int
) -> Measurement:
    """The row of one tile, after a check of its result."""
    tile = Tiled(case, variant, side, ours)
    poison = numpy.full(case.result_shape, 77, case.result_dtype)
    out = smemkit.asarray(poison, backend=ours.out.backend)
    tile.call(out)
    timing.check(case, ours.expected, f"{variant} with tile {side}", smemkit.asnumpy(out))
    if watch is None:
        counters = dict(smemkit.profile(tile.call).counters)
        row = case.make_row(variant, "sim", counters=counters)
    else:
        times = watch.time(tile.call, "warm")
        row = case.make_row(variant, "cuda", times_ms=times, cache="warm")
    shared_bytes = tile.kernel.attributes["shared_size_bytes"]
    return replace(row, parameters={"tile": side, "shared_bytes": shared_bytes})


def tile_sweep(
    family: str = "gemm",
    shape: Shape | None = None,
    *,
    tiles: Sequence[int] | None = None,
    variant: str | None = None,
    dtype: DTypeLike | None = None,
    backend: Backend | None = None,
    seconds: float = 0.2,
    seed: int = timing.SEED,
    progress: bool | None = None,
) -> Results:
    """Measure one kernel with tiles of several sizes, each compiled from the package's source.

    Parameters
    ----------
    family : "gemm" or "transpose"
    shape : int or tuple of int, optional
        As of bench.run.
    tiles : sequence of int, optional
        Sides of the tile: of gemm 1 to 32 (4, 8, 16 and 32), of transpose multiples of 8 up to 64.
    variant : str, optional
        gemm: "tiled", "padded", "column", "column_padded"; transpose: "shared", "padded".
    dtype : dtype-like, optional
        By default float32.
    backend : "auto", "cuda" or "sim", optional
        The simulator counts, and has no times.
    seconds : float
        That the samples of one tile may take.
    seed : int
        Of the arrays' values.
    progress : bool, optional
        As of bench.run.

    Shapes
    ------
    The lengths are those of the family's signature, in its order.

    Returns
    -------
    Results: a row for each tile, with parameters["tile"] and parameters["shared_bytes"].

    Raises
    ------
    CompileError where there is no compiler of CUDA C; SharedMemoryError where a tile needs more
    than the machine has; ArgumentError, ShapeError (both ValueError), ArgumentTypeError
    (TypeError), BackendError; WrongResultError where a result is wrong.

    Example
    -------
    >>> from smemkit import CompileError, bench
    >>> try:
    ...     found = bench.tile_sweep("gemm", 32, tiles=(8, 16), backend="sim")
    ...     loads = [row.counters["global.load.bytes"] for row in found]
    ... except CompileError:  # no compiler here
    ...     loads = [32768, 16384]
    >>> loads
    [32768, 16384]
    """
    variant = choose_variant(family, variant)
    sides = check_tiles(family, tiles)
    arguments.check_seconds(seconds)
    arguments.check_seed(seed)
    arguments.check_talk(progress)
    backend = arguments.choose_backend(backend)
    shape = arguments.default_shape(family, backend) if shape is None else shape
    case = workloads.make_workload(family, shape, dtype)
    if backend == "sim":
        arguments.check_work(case)
    watch = Stopwatch(seconds) if backend == "cuda" else None
    ours = timing.Ours(case, case.make_inputs(numpy.random.default_rng(seed)), backend)
    rows = []
    with Bar(len(sides), progress) as bar:
        for side in sides:
            bar.begin(f"{case.name} tile {side}")
            rows.append(measure_tile(case, ours, watch, variant, side))
            bar.advance()
    return Results(rows, describe_run(**timing.describe_protocol(backend, (), seed)))
