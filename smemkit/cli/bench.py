"""The command bench: times of kernels on a GPU, counts of them on the simulator."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import smemkit

from .. import bench
from ..bench import peers, targets, timing
from ..bench.families import CLASSES
from ..bench.sums import sum_up
from .errors import UsageError
from .options import (
    Parser,
    add_backend,
    add_seed,
    complain,
    output_or_stdout,
    picture_file,
    read_names,
    read_parameters,
    read_shape,
    read_sizes,
    seconds,
)
from .plot import draw, load_results

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from .._types import Backend, Machine
    from ..bench import Evolution, Measurement, Results
    from ..bench.families import Workload
    from ..bench.types import Cache, Say, Size
    from ._types import Commands

EXAMPLES = """\
examples:
  bench gemm --variants naive,tiled,padded --sizes 256:4096 --plot out.png --json out.json
  bench transpose --sizes 1024,2048 --cache cold --peers
  bench gemm --evolution --sizes 4096
  bench gemm --evolution --sizes 4096 --predicted --device "RTX 4090"
  bench reduce --parameter op=max --sizes 1000:1000000:111000
  bench --peers                    the cases that have goals, beside other libraries

sizes: 256:4096 is 256, 512, 1024, 2048, 4096; with a third number that is the step instead; or
comma-separated sizes. --shape takes all lengths of one shape: gemm m,k,n. It may be repeated.

The simulator has no clock. It counts, for each variant: instructions of warps, bank conflicts,
sectors (32 bytes) that an average read of a warp touches, megabytes read from global memory, and
branches at which a warp diverges. --json keeps all counters.
"""
COUNTS_HEAD = " instructions   conflicts  sectors  read [MB]  divergent"


class Options(argparse.Namespace):
    """The command line of `smemkit bench`."""

    family: str | None
    variants: str | None
    sizes: str | None
    shape: list[str]
    dtype: str | None
    cache: Cache | Literal["both"]
    parameter: list[str]
    evolution: bool
    predicted: bool
    device: str | None
    plot: str | None
    compare: str | None
    only: list[str]
    all: bool
    size: Size | None
    peers: bool
    seconds: float
    seed: int
    backend: Backend | None
    json: str | None


def add_commands(commands: Commands) -> None:
    """Adds bench to the subparsers of the main parser."""
    parser = commands.add_parser(
        "bench", help="times on a GPU, also beside peers; counts without one"
    )
    add_bench_arguments(parser)


def add_bench_arguments(parser: Parser) -> None:
    """The arguments of `smemkit bench`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description, parser.epilog = timing.__doc__, EXAMPLES
    parser.add_argument("family", nargs="?", help="default: all cases that have goals")
    group = parser.add_argument_group("of a family")
    group.add_argument("--variants", help="comma-separated (default: all)")
    group.add_argument("--sizes", help="256:4096, or comma-separated sizes; see below")
    group.add_argument("--shape", action="append", default=[], help="all lengths of one shape")
    group.add_argument("--dtype", help="element type (default: float32; of histogram uint8)")
    group.add_argument("--cache", default="warm", choices=("warm", "cold", "both"))
    group.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE")
    group.add_argument(
        "--evolution", action="store_true", help="the table from NumPy to the library, of one size"
    )
    group.add_argument(
        "--predicted", action="store_true", help="what a card would take, which need not be here"
    )
    group.add_argument("--device", metavar="CARD", help="of --predicted (default: H200)")
    group.add_argument("--plot", type=picture_file, metavar="FILE", help="draw it (matplotlib)")
    group.add_argument("--compare", metavar="FILE", help="with an earlier run")
    group = parser.add_argument_group("of the cases that have goals")
    group.add_argument("--only", action="append", default=[], metavar="FAMILY", help="repeatable")
    group.add_argument("--all", action="store_true", help="every variant, not our fastest alone")
    group.add_argument("--size", choices=targets.SIZES, help="default: full on a GPU, else small")
    parser.add_argument(
        "--peers", action="store_true", help="CuPy, torch, CUB and the device's copy beside ours"
    )
    parser.add_argument(
        "--seconds", type=seconds(zero=True), default=0.5, help="of samples a subject (0.5)"
    )
    add_seed(parser, timing.SEED, f"of the values ({timing.SEED})")
    add_backend(parser, "default: the GPU where there is one, else the simulator, which counts")
    parser.add_argument(
        "--json",
        type=output_or_stdout,
        metavar="FILE",
        help="write every sample; - is standard output",
    )
    parser.set_defaults(run=run_bench)


# bench --------------------------------------------------------------------------------------------


def show_row(case: Workload, row: Measurement) -> None:
    """One line of a row."""
    if row.times_ms:
        low, high = (1e3 * ms for ms in row.range_ms)
        rate = f"{row.gflop_per_s:9.0f} GFLOP/s" if case.by_flops else f"{row.gb_per_s:9.0f} GB/s"
        text = f"{row.median_ms * 1e3:11.2f} us  {low:11.2f} to {high:11.2f}  {rate}  " + (
            f"limited by {row.limited_by}" if row.is_predicted else f"{len(row.times_ms)} samples"
        )
        if row.call_times_ms:
            text += f"; a call {row.call_median_ms * 1e3:.2f} us"
        text = f"{row.machine:4} {row.cache or '-':4}  {text}"
    else:
        text = show_counts(row)
    print(f"{case.name:26} {row.variant:17} {text}", flush=True)


def show_counts(row: Measurement) -> str:
    """The counters that set variants apart, in the columns of COUNTS_HEAD."""
    found = sum_up(row.counters)
    sectors = "-" if found.sectors_per_request is None else f"{found.sectors_per_request:.1f}"
    return (
        f"{found.instructions:13,}  {found.conflicts:10,}  {sectors:>7}  "
        f"{found.read_bytes / 1e6:9.3f}  {found.divergent:9,}"
    )


def show_head() -> None:
    """Prints the heads of the simulator's columns; a row of times names its units itself."""
    print(f"{'':26} {'variant':17} {COUNTS_HEAD}", flush=True)


def make_printer(backend: Machine) -> Say:
    """What prints each row when it is there, counters of the simulator below heads of columns."""
    needs_head = backend == "sim"

    def say(case: Workload, row: Measurement) -> None:
        nonlocal needs_head
        if needs_head:
            show_head()
            needs_head = False
        show_row(case, row)

    return say


def choose_cases(chosen: Options, backend: Machine) -> list[Workload]:
    """The workloads that the options select."""
    size = chosen.size or ("full" if backend == "cuda" else "small")
    known = targets.list_cases(size)
    families = list(dict.fromkeys(case.family for case in known))
    for family in chosen.only:
        if family not in families:
            raise UsageError(f"--only {family!r}: there are cases of {', '.join(families)}")
    return [case for case in known if not chosen.only or case.family in chosen.only]


def check_options(chosen: Options) -> None:
    """UsageError for options that do not go together."""
    alone = ("only", "all", "size")
    of_family = (
        *("variants", "sizes", "shape", "dtype", "parameter"),
        *("evolution", "predicted", "device", "plot", "compare"),
    )
    wrong = of_family if chosen.family is None else alone
    for name in wrong:
        if getattr(chosen, name) not in (None, [], False):
            words = "goes without a family" if chosen.family else "needs a family, as in bench gemm"
            raise UsageError(f"--{name} {words}")
    if chosen.family is not None and chosen.family not in CLASSES:
        there = ", ".join(CLASSES)
        raise UsageError(f"there is no family {chosen.family!r} to measure; there are {there}")
    if chosen.device is not None and not chosen.predicted:
        raise UsageError("--device names the card of a prediction: it needs --predicted")
    if chosen.predicted and (chosen.peers or chosen.backend):
        word = "--peers" if chosen.peers else "--backend"
        raise UsageError(f"--predicted measures nothing: leave {word} out")


def run_goals(chosen: Options, backend: Machine, say: Say | None) -> Results:
    """Measures the workloads that have goals, and prints the verdicts."""
    wanted = choose_cases(chosen, backend)
    found = peers.find_peers(complain) if chosen.peers else []
    results = timing.run_cases(
        wanted,
        backend,
        found,
        whole=chosen.all,
        seconds=chosen.seconds,
        seed=chosen.seed,
        say=say,
        warn=complain,
    )
    verdicts = targets.judge(results, wanted)
    results.provenance["goals"] = verdicts
    if verdicts and say:
        targets.show_verdicts(verdicts)
    return results


def run_family(chosen: Options, family: str, backend: Machine, say: Say | None) -> Results:
    """Variants and sizes of one family."""
    shapes: list[int | tuple[int, ...]] = []
    shapes += [] if chosen.sizes is None else read_sizes(chosen.sizes)
    shapes += [read_shape(text) for text in chosen.shape]
    variants = read_names(chosen.variants)
    parameters: dict[str, Any] = {**read_parameters(chosen.parameter)}
    for name in parameters.keys() - CLASSES[family].choices.keys():
        there = ", ".join(CLASSES[family].choices) or "none"
        raise UsageError(f"{family} has no parameter {name!r}; it has: {there}")
    where: dict[str, Any] = {"backend": backend}
    if chosen.predicted:
        where = {"predicted": True, "device": chosen.device}
    if chosen.evolution:
        if len(shapes) > 1:
            raise UsageError("--evolution is of one size")
        found = bench.evolution(
            family,
            shapes[0] if shapes else None,
            variants=variants,
            dtype=chosen.dtype,
            seconds=chosen.seconds,
            seed=chosen.seed,
            warn=complain,
            **where,
            **parameters,
        )
        if say and backend == "sim" and not chosen.predicted:
            show_evolution_counts(found)
        elif say:
            print(found)
        return found
    return bench.run(
        family,
        variants,
        shapes or None,
        chosen.dtype,
        peers=chosen.peers,
        cache=("warm", "cold") if chosen.cache == "both" else chosen.cache,
        seconds=chosen.seconds,
        seed=chosen.seed,
        say=say,
        warn=complain,
        **where,
        **parameters,
    )


def show_evolution_counts(found: Evolution) -> None:
    """Prints the counters of an evolution without a GPU: it has no times to compare."""
    show_head()
    for row in found:
        if row.counters:
            print(f"{name_row(row):26} {row.variant:17} {show_counts(row)}")


def show_comparison(results: Results, before: Results) -> None:
    """Prints a line for each measurement that both runs have."""
    pairs = results.compare(before)
    print(f"\ncompared with {before.provenance.get('date')}: time now / time then, counters")
    for row, other, ratio in pairs:
        print(
            f"{name_row(row):32} {row.variant:17} {row.cache or '-':4}  "
            f"{row.median_ms * 1e3:11.2f} us / {other.median_ms * 1e3:11.2f} us = {ratio:.3f}"
        )
    counted = results.compare_counters(before)
    for row, _, changes in counted:
        print(f"{name_row(row):32} {row.variant:17} {show_changes(changes)}")
    if not pairs and not counted:
        print("the two runs have no times or counters of the same measurement")


def name_row(row: Measurement) -> str:
    """What a row measures, without its variant."""
    shape = "x".join(map(str, row.shape))
    return " ".join([row.family, shape, row.dtype, *map(str, row.parameters.values())])


def show_changes(changes: Mapping[str, tuple[float, float]]) -> str:
    """The counters that have changed, in words."""
    if not changes:
        return "counters as before"
    return "; ".join(f"{name} {then:,.10g} -> {now:,.10g}" for name, (then, now) in changes.items())


def run_bench(chosen: Options) -> int:
    """Runs the command and returns the exit status. A missed goal is shown; it is not a failure."""
    check_options(chosen)
    if chosen.backend:
        smemkit.set_backend(chosen.backend)
    backend = smemkit.get_backend()
    if chosen.peers and backend != "cuda":
        raise smemkit.BackendError(
            "bench --peers compares times, and the simulator has none: it needs a GPU"
        )
    before = None if chosen.compare is None else load_results(chosen.compare)
    quiet = chosen.json == "-"
    say = None if quiet else make_printer("cuda" if chosen.predicted else backend)
    if chosen.family is None:
        results = run_goals(chosen, backend, say)
    else:
        results = run_family(chosen, chosen.family, backend, say)
    if before is not None and not quiet:
        show_comparison(results, before)
    if quiet:
        print(json.dumps(results.to_dict(), indent=1))
    elif chosen.json:
        results.save(chosen.json)
    if chosen.plot:
        draw(results, None, chosen.plot)
    return 0
