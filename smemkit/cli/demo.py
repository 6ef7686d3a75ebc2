"""The command demo: a product by every gemm kernel, checked against NumPy, counted and timed."""

from __future__ import annotations

import argparse
import secrets
from typing import TYPE_CHECKING, NamedTuple

import numpy

import smemkit

from .. import bench
from ..bench.sums import sum_up
from .machines import describe_machines, find_machines
from .options import add_seed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .._types import HostArray, Machine
    from ..bench import Results
    from ._types import Commands

# (m, k, n): ragged, so that every tile has an edge inside.
SHAPES = ((1, 1, 1), (33, 65, 31), (200, 130, 170), (301, 257, 289))
COUNTED = 256  # rows and columns of the product that the simulator counts
TIMED = 4096  # and of the one whose time is recorded, or measured
RECORD = "h200"
TIMED_SECONDS = 0.1  # of samples a variant


class Options(argparse.Namespace):
    """The command line of `smemkit demo`."""

    seed: int | None


class Counts(NamedTuple):
    """What the simulator counts of a product.

    conflicts are those of an access to shared memory, sectors those of a read of global memory,
    and instructions those of a warp for 32 multiply-adds.
    """

    conflicts: float
    sectors: float
    read_mb: float
    instructions: float


def measure_error(c: HostArray, a: HostArray, b: HostArray) -> float:
    """The largest error of c divided by its bound, 4 sqrt(k) eps |a| |b|; at most 1 is right."""
    a64, b64 = a.astype(numpy.float64), b.astype(numpy.float64)
    bound = 4 * numpy.sqrt(a.shape[1]) * numpy.finfo(c.dtype).eps * (abs(a64) @ abs(b64))
    return float((abs(c - a64 @ b64) / bound).max())  # NaN in c gives NaN, which is not at most 1


def find_worst_error(variant: str, backend: Machine, seed: int) -> float:
    """The largest error over all shapes and element types, in units of its bound."""
    rng, errors = numpy.random.default_rng(seed), []
    for dtype in (numpy.float64, numpy.float32):
        for m, k, n in SHAPES:
            a = rng.standard_normal((m, k)).astype(dtype)
            b = rng.standard_normal((k, n)).astype(dtype)
            try:
                c = smemkit.gemm(a, b, variant=variant, backend=backend)
            except smemkit.ArgumentTypeError:
                continue  # the variant is for the other type
            errors.append(measure_error(c, a, b))
    return float(numpy.max(errors))


# Counters and times ------------------------------------------------------------------------------


def count_variant(variant: str) -> Counts:
    """The Counts of the counted product."""
    a, b = numpy.random.default_rng(0).random((2, COUNTED, COUNTED), dtype="float32")
    report = smemkit.profile(smemkit.gemm, a, b, variant=variant, backend="sim")
    found = sum_up(report.counters)
    return Counts(
        conflicts=found.conflicts_per_access,
        sectors=found.sectors_per_request or 0.0,
        read_mb=found.read_bytes / 1e6,
        instructions=found.instructions * 32 / COUNTED**3,
    )


def select_times(results: Results) -> dict[str, float]:
    """{variant: median milliseconds} of the timed product in float32, from Results."""
    return {
        row.variant: row.median_ms
        for row in results
        if (row.family, row.machine, row.dtype) == ("gemm", "cuda", "float32")
        and row.shape == (TIMED,) * 3
        and row.times_ms
        and row.cache in ("warm", None)
    }


def measure_times(variants: Sequence[str]) -> dict[str, float]:
    """{variant: median milliseconds} on the GPU of this machine."""
    found = bench.run(
        "gemm", variants, TIMED, backend="cuda", seconds=TIMED_SECONDS, warn=lambda line: None
    )
    return select_times(found)


# The table ---------------------------------------------------------------------------------------


class Table:
    """The columns of the demonstration: times are of the record, and of a GPU that is here."""

    def __init__(self, times: Mapping[str, Mapping[str, float]]) -> None:
        self.heads = ["right", "error", "conflicts", "sectors", "read [MB]", "instructions"]
        self.heads += [f"{name} [ms]" for name in times]
        self.times = list(times.values())

    def write_head(self) -> str:
        return "  ".join([f"{'variant':17}", *self.heads])

    def write_row(
        self, variant: str, wrong: Iterable[Machine], worst: float, counts: Counts
    ) -> str:
        """A row; wrong: the machines whose results are."""
        right = f"NO: {' '.join(wrong)}" if wrong else "yes"
        times = [found.get(variant) for found in self.times]
        cells = [right, f"{worst:.2f}", *(f"{count:.1f}" for count in counts)]
        cells += ["-" if time is None else f"{time:.2f}" for time in times]
        padded = [f"{c:>{len(head)}}" for c, head in zip(cells, self.heads, strict=True)]
        return "  ".join([f"{variant:17}", *padded])


def explain(seed: int, record: Mapping[str, Any], device: str | None) -> list[str]:
    """The lines under the table; record: provenance of the recorded times, device: a GPU's name."""
    size, counted = f"{TIMED} x {TIMED}", f"{COUNTED} x {COUNTED}"
    operands_mb = 2 * 4 * COUNTED**2 / 1e6
    lines = [
        (
            "right",
            f"like NumPy in float64, for {len(SHAPES)} shapes of two types; seed {seed}",
        ),
        (
            "error",
            "the largest, over its bound 4 sqrt(k) eps |a| @ |b|",
        ),
        ("conflicts", "bank conflicts an access to shared memory: 0 is none, 31 the worst"),
        ("sectors", "of 32 bytes that a warp touches in a read: 4 for 32 floats side by side"),
        ("read", f"from global memory; the operands have {operands_mb:.1f} MB together"),
        ("instructions", "of a warp for 32 multiply-adds"),
        ("", f"(the last four are counts of the simulator for {counted} matrices)"),
    ]
    if record:
        where = f"recorded on an {record['device']} on {record['date'][:10]}"
        lines.append((f"{RECORD.upper()} [ms]", f"of {size} matrices, {where}"))
    if device:
        lines.append(("here [ms]", f"of {size} matrices, measured now on the {device}"))
    return [f"{name:12}  {words}" for name, words in lines]


def run(seed: int | None = None) -> int:
    """Prints the table and returns the exit status: 0 where every result is right.

    Args:
        seed: of the random matrices; None for a fresh one, which is printed.

    Example:
        >>> smemkit.cli.demo.run(seed=1)
    """
    seed = secrets.randbits(32) if seed is None else seed
    machines, missing = find_machines()
    print(f"smemkit {smemkit.__version__}: a @ b by every kernel of gemm, from naive to tuned")
    print(describe_machines(machines, missing), end="\n\n", flush=True)
    recorded = bench.recorded(RECORD)
    variants = [n for n, facts in smemkit.variants("gemm").items() if "float32" in facts["dtypes"]]
    times = {RECORD.upper(): select_times(recorded)}
    device = machines["cuda"]["name"] if "cuda" in machines else None
    if device is not None:
        times["here"] = measure_times(variants)
    table, good = Table(times), True
    print(table.write_head())
    for variant in variants:
        errors = {backend: find_worst_error(variant, backend, seed) for backend in machines}
        wrong = [backend for backend, error in errors.items() if not error <= 1]
        good = good and not wrong
        worst = float(numpy.max(list(errors.values())))
        print(table.write_row(variant, wrong, worst, count_variant(variant)), flush=True)
    print("", *explain(seed, recorded.provenance, device), sep="\n")
    print("what each variant changes: smemkit variants gemm")
    print("all results are right" if good else "SOME RESULTS ARE WRONG")
    return 0 if good else 1


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    parser = commands.add_parser(
        "demo", help="matrix products by every gemm kernel: right or wrong, counters, times"
    )
    add_seed(parser, None, "of the random matrices (default: a fresh one)")
    parser.set_defaults(run=run_demo)


def run_demo(chosen: Options) -> int:
    """Runs the command and returns the exit status."""
    return run(seed=chosen.seed)
