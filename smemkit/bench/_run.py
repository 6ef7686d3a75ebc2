"""run measures variants and sizes of a family; recorded loads results of the package."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy

from . import arguments, timing, workloads
from ._progress import Bar
from .predicted import Predictor, check_prediction, describe_predictions, list_predictable
from .records import RECORDS, load_record
from .results import Results, describe_run
from .stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import DTypeLike

    from .._types import Backend, Machine, Shape, StrPath
    from ..predict import Card
    from .families import Workload
    from .results import Measurement
    from .types import Cache, Peer, Peers, Say, Warn


def load(path: StrPath) -> Results:
    """Read the results of a benchmark from a file.

    Parameters
    ----------
    path : str or path
        A JSON file that Results.save or the command bench has written.

    Shapes
    ------
    None.

    Returns
    -------
    Results.

    Raises
    ------
    ArgumentError (ValueError) for any other file, OSError where there is none, ArgumentTypeError
    (TypeError) for a path of another type.

    Example
    -------
    >>> import os, tempfile
    >>> from smemkit import bench
    >>> results = bench.recorded("h200").select(family="dot")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results.save(os.path.join(folder, "dot.json"))
    ...     bench.load(os.path.join(folder, "dot.json")) == results
    True
    """
    return Results.load(path)


# Measuring ----------------------------------------------------------------------------------------


def _measure(
    case: Workload,
    backend: Machine,
    names: Sequence[str] | None,
    watch: Stopwatch | None,
    caches: Sequence[Cache],
    found: Sequence[Peer],
    seed: int,
    warn: Warn | None,
) -> Iterator[Measurement]:
    """All rows of a workload."""
    inputs = case.make_inputs(numpy.random.default_rng(seed))
    ours = timing.Ours(case, inputs, backend)
    chosen = names or timing.list_ours(case, whole=True)
    if watch is None:
        yield from timing.count_variants(case, ours, chosen)
        return
    yield from timing.measure_variants(case, ours, watch, chosen, caches, warn, skip=names is None)
    yield from timing.measure_peers(case, inputs, ours, watch, found, warn or warnings.warn, caches)


def run(
    family: str,
    variants: str | Sequence[str] | None = None,
    shapes: Shape | Sequence[Shape] | None = None,
    dtype: DTypeLike | None = None,
    *,
    peers: Peers = False,
    cache: Cache | Sequence[Cache] = "warm",
    backend: Backend | None = None,
    seconds: float = 0.2,
    seed: int = timing.SEED,
    progress: bool | None = None,
    say: Say | None = None,
    warn: Warn | None = None,
    predicted: bool = False,
    device: str | Card | None = None,
    **parameters: str,
) -> Results:
    """Measure the variants of a family at one size or several.

    Every result is checked before it is timed. With predicted=True nothing is timed: the times are
    those that smemkit.predict says of a card, and no result is checked.

    Parameters
    ----------
    family : str
        One of smemkit.families() that has a signature: "gemm", "transpose", "reduce", ...
    variants : str or sequence of str, optional
        By default all that take the type and that this GPU can run.
    shapes : int, tuple of int, or list of these, optional
        One number stands for every dimension; of conv2d for a square image with a filter of 5 x 5,
        of histogram for the elements, with 256 bins.
    dtype : dtype-like, optional
        By default float32, of histogram uint8.
    peers : bool, or names, optional
        True: also every library that is here; or some of "memcpy", "cub", "cupy", "torch".
    cache : "warm", "cold" or both
        Whether the operands may lie in the GPU's L2 cache when a sample begins.
    backend : "auto", "cuda" or "sim", optional
        The simulator has counters and no times.
    seconds : float
        That the samples of one subject may take; ten are taken anyway.
    seed : int
        Of the arrays' values.
    progress : bool, optional
        False: no bar. By default there is one where standard error is a terminal and tqdm is there.
    say : callable, optional
        Takes the case and each row of it when it is there.
    warn : callable, optional
        Takes a line for each subject that fails, which is then left out. Without it our own
        failures are raised, and those of peers are warnings.
    predicted : bool
        True: rows have the machine "predicted", low_ms, high_ms and limited_by.
    device : str or Card, optional
        The card to predict for, as smemkit.card takes it; by default "h200".
    **parameters
        op="max" of reduce, values="constant" of histogram, order="sequential" of gather,
        precision="tf32" of gemm.

    Shapes
    ------
    The lengths are those of the family's signature, in its order: (m, k, n) of gemm.

    Returns
    -------
    Results: rows by shape, then by variant.

    Raises
    ------
    ArgumentError, ShapeError (both ValueError), ArgumentTypeError (TypeError), BackendError,
    OutOfMemoryError; WrongResultError where a subject computes something else.

    Example
    -------
    >>> from smemkit import bench
    >>> found = bench.run("gemm", ("naive", "tiled"), [32, (64, 32, 64)], backend="sim")
    >>> [(row.variant, row.shape, row.counters["global.load.requests"]) for row in found]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('naive', (32, 32, 32), 2048), ('tiled', (32, 32, 32), 64),
     ('naive', (64, 32, 64), 8192), ('tiled', (64, 32, 64), 256)]
    """
    names = arguments.check_variants(family, variants)
    if predicted is not False or device is not None:
        card = check_prediction(predicted, device, peers=peers, backend=backend)
        return _predict(
            family, names, shapes, dtype, card, cache, seed, progress, say, warn, parameters
        )
    machine = arguments.choose_backend(backend)
    arguments.check_seconds(seconds)
    arguments.check_seed(seed)
    arguments.check_talk(progress, say=say, warn=warn)
    caches = arguments.list_caches(cache)
    chosen = [
        workloads.make_workload(family, shape, dtype, parameters)
        for shape in arguments.list_shapes(family, shapes, machine)
    ]
    if machine == "sim":
        for case in chosen:
            arguments.check_work(case)
    found = arguments.list_peers(peers, machine, warn)
    watch = Stopwatch(seconds) if machine == "cuda" else None
    rows = []
    with Bar(len(chosen), progress) as bar:
        for case in chosen:
            bar.begin(case.name)
            for row in _measure(case, machine, names, watch, caches, found, seed, warn):
                rows.append(row)
                if say:
                    say(case, row)
            bar.advance()
    facts = timing.describe_protocol(machine, found, seed)
    return Results(rows, describe_run(**facts))


def _predict(
    family: str,
    names: list[str] | None,
    shapes: Shape | Sequence[Shape] | None,
    dtype: DTypeLike | None,
    card: Card,
    cache: Cache | Sequence[Cache],
    seed: int,
    progress: bool | None,
    say: Say | None,
    warn: Warn | None,
    parameters: dict[str, str],
) -> Results:
    """The rows of run with predicted times."""
    arguments.check_seed(seed)
    arguments.check_talk(progress, say=say, warn=warn)
    caches = arguments.list_caches(cache)
    chosen = [
        workloads.make_workload(family, shape, dtype, parameters)
        for shape in arguments.list_shapes(family, shapes, "cuda")
    ]
    rows = []
    with Bar(len(chosen), progress) as bar:
        for case in chosen:
            bar.begin(case.name)
            wanted = names or list_predictable(case, card)
            predictor = Predictor(case, card, seed, caches)
            for row in predictor.make_rows(wanted, warn, skip=names is None):
                rows.append(row)
                if say:
                    say(case, row)
            bar.advance()
    return Results(rows, describe_predictions(card, caches, seed))


# Recorded -----------------------------------------------------------------------------------------


def recorded(name: str = "h200", *, part: str | None = None) -> Results:
    """Results that were measured on another machine and travel with the package.

    Parameters
    ----------
    name : str
        Of the machine: "h200".
    part : str, optional
        One file alone: "variants", "host", "peers", "ceilings" or "probes"; or "goals", which
        bench --peers wrote; "traffic", bytes that Nsight Compute counted; "shapes", variant="auto"
        beside the libraries at random and named shapes; or "arrays", what the host waits for. By
        default all rows but those of "goals" and "shapes", which measure again, of "traffic", which
        has no times, and of "arrays", which has the host's.

    Shapes
    ------
    None.

    Returns
    -------
    Results; of the part "ceilings", Ceilings. The provenance says device, driver, versions and
    date; of several files it is that of the first, with all of them in "parts".

    Raises
    ------
    ArgumentError (ValueError) where there is no such record.

    Example
    -------
    >>> from smemkit import ArgumentError, bench
    >>> try:
    ...     bench.recorded("abacus")
    ... except ArgumentError as error:
    ...     print(str(error).partition(";")[0])
    there is no record 'abacus'
    """
    return load_record(RECORDS, name, part)
