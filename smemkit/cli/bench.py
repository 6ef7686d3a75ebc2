"""The commands bench and plot: measure or count kernels, and draw what was found."""

import argparse
import collections
import json
import math
import re
import sys
from pathlib import Path

import smemkit

from .. import bench
from ..bench import Ceilings, Results, peers, targets, timing, workloads
from ..bench.families import CLASSES
from .errors import UsageError

EXAMPLES = """\
examples:
  bench gemm --variants naive,tiled,padded --sizes 256:4096 --plot out.png --json out.json
  bench transpose --sizes 1024,2048 --cache cold --peers
  bench gemm --evolution --sizes 4096
  bench reduce --parameter op=max --sizes 1000:1000000:111000
  bench --peers                    the cases that have goals, beside other libraries

sizes: 256:4096 is 256, 512, 1024, 2048, 4096; with a third number that is the step instead; or
comma-separated sizes. --shape takes all lengths of one shape: gemm m,k,n. It may be repeated.
"""
KINDS = ("speed", "ladder", "roofline", "stride", "bank_stride", "sectors", "divergence")
OF_ONE_FAMILY = ("speed", "ladder", "sectors")
ROOFLINE_MOST = 40  # marks that readers can tell apart


def add_commands(commands):
    """Adds bench and plot to the subparsers of the main parser."""
    parser = commands.add_parser(
        "bench", help="times on a GPU, also beside peers; counts without one"
    )
    add_bench_arguments(parser)
    parser = commands.add_parser("plot", help="pictures of what bench has written")
    add_plot_arguments(parser)


def add_bench_arguments(parser):
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
    group.add_argument("--plot", metavar="FILE", help="draw it (matplotlib)")
    group.add_argument("--compare", metavar="FILE", help="with an earlier run")
    group = parser.add_argument_group("of the cases that have goals")
    group.add_argument("--only", action="append", default=[], metavar="FAMILY", help="repeatable")
    group.add_argument("--all", action="store_true", help="every variant, not our fastest alone")
    group.add_argument("--size", choices=targets.SIZES, help="default: full on a GPU, else small")
    parser.add_argument(
        "--peers", action="store_true", help="CuPy, torch, CUB and the device's copy beside ours"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="of samples a subject (0.5)")
    parser.add_argument(
        "--seed", type=int, default=timing.SEED, help=f"of the values ({timing.SEED})"
    )
    parser.add_argument("--backend", help="cuda or sim; default: the GPU where there is one")
    parser.add_argument("--json", metavar="FILE", help="write every sample; - is standard output")
    parser.set_defaults(run=run_bench)


def add_plot_arguments(parser):
    """The arguments of `smemkit plot`."""
    parser.description = "Draws results that bench, or record, has written."
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="of bench --json; or the name of a record: h200"
    )
    parser.add_argument("--out", default="plot.png", help="the picture (default: plot.png)")
    parser.add_argument("--kind", choices=KINDS, help="default: what the rows allow")
    parser.add_argument("--family", help="rows of this family only")
    parser.add_argument("--variants", help="rows of these only, comma-separated")
    parser.add_argument("--shape", help="rows of this shape only: comma-separated lengths")
    parser.add_argument("--dtype", help="rows of this element type only")
    parser.add_argument("--cache", choices=("warm", "cold"), help="rows of this state only")
    parser.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=VALUE", help="rows with it only"
    )
    parser.set_defaults(run=run_plot)


# Words --------------------------------------------------------------------------------------------


def read_sizes(text):
    """ "256:4096" -> [256, 512, ..., 4096]; "10:30:10" -> [10, 20, 30]; "5,7" -> [5, 7]."""
    sizes = []
    for part in text.split(","):
        try:
            ends = [int(word) for word in part.split(":")]
        except ValueError:
            ends = []
        if not 1 <= len(ends) <= 3 or any(end < 1 for end in ends):
            raise UsageError(f"--sizes {text!r}: the forms are 256:4096, 256:4096:256 and 256,512")
        first, last = ends[0], ends[min(1, len(ends) - 1)]
        if last < first:
            raise UsageError(f"--sizes {text!r}: {first} is more than {last}")
        if len(ends) == 3:
            sizes += range(first, last + 1, ends[2])
            continue
        while first <= last:
            sizes.append(first)
            first *= 2
    return list(dict.fromkeys(sizes))


def read_shape(text):
    """ "64,32,64" -> (64, 32, 64)."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"--shape {text!r}: comma-separated lengths are needed") from None


def read_parameters(texts):
    """["op=max"] -> {"op": "max"}."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name.isidentifier() or not sign or not value:
            raise UsageError(f"--parameter {text!r}: NAME=VALUE is needed")
        found[name] = value
    return found


def read_names(text):
    """ "naive,tiled" -> ["naive", "tiled"]; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def complain(text):
    """Prints a line to standard error, apart from the results."""
    print(f"smemkit: {text}", file=sys.stderr, flush=True)


# bench --------------------------------------------------------------------------------------------


def show_row(case, row):
    """One line of a row."""
    if row.times_ms:
        low, high = row.quantile_ms(0.2) * 1e3, row.quantile_ms(0.8) * 1e3
        rate = f"{row.gflop_per_s:9.0f} GFLOP/s" if case.by_flops else f"{row.gb_per_s:9.0f} GB/s"
        text = (
            f"{row.median_ms * 1e3:11.2f} us  {low:11.2f} to {high:11.2f}  {rate}  "
            f"{len(row.times_ms)} samples"
        )
        if row.call_times_ms:
            text += f"; a call {row.call_median_ms * 1e3:.2f} us"
    else:
        steps = row.counters["instructions.warp"]
        text = (
            f"{steps:9} warp instructions; simulated in {row.host_times_ms[0]:.1f} ms of the host"
        )
    cache = row.cache or "-"
    print(f"{case.name:26} {row.variant:17} {row.machine:4} {cache:4}  {text}", flush=True)


def choose_cases(chosen, backend):
    """The workloads that the options select."""
    size = chosen.size or ("full" if backend == "cuda" else "small")
    known = targets.list_cases(size)
    families = list(dict.fromkeys(case.family for case in known))
    for family in chosen.only:
        if family not in families:
            raise UsageError(f"--only {family!r}: there are cases of {', '.join(families)}")
    return [case for case in known if not chosen.only or case.family in chosen.only]


def check_options(chosen):
    """UsageError for options that do not go together."""
    if not 0 <= chosen.seconds < float("inf"):
        raise UsageError(f"--seconds {chosen.seconds}: 0 or more is needed")
    if chosen.seed < 0:
        raise UsageError(f"--seed {chosen.seed}: 0 or more is needed")
    alone = ("only", "all", "size")
    of_family = ("variants", "sizes", "shape", "dtype", "parameter", "evolution", "plot", "compare")
    wrong = alone if chosen.family else of_family
    for name in wrong:
        if getattr(chosen, name):
            words = "goes without a family" if chosen.family else "needs a family, as in bench gemm"
            raise UsageError(f"--{name} {words}")
    if chosen.family and chosen.family not in CLASSES:
        there = ", ".join(CLASSES)
        raise UsageError(f"there is no family {chosen.family!r} to measure; there are {there}")


def run_goals(chosen, backend, say):
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


def run_family(chosen, backend, say):
    """Variants and sizes of one family."""
    shapes = [read_shape(text) for text in chosen.shape]
    shapes = (read_sizes(chosen.sizes) if chosen.sizes else []) + shapes
    words = {
        "variants": read_names(chosen.variants),
        "dtype": chosen.dtype,
        "backend": backend,
        "seconds": chosen.seconds,
        "seed": chosen.seed,
        "warn": complain,
        **read_parameters(chosen.parameter),
    }
    if chosen.evolution:
        if len(shapes) > 1:
            raise UsageError("--evolution is of one size")
        found = bench.evolution(chosen.family, shapes[0] if shapes else None, **words)
        if say:
            print(found)
        return found
    cache = ("warm", "cold") if chosen.cache == "both" else chosen.cache
    words |= {"peers": chosen.peers, "cache": cache, "say": say}
    return bench.run(chosen.family, shapes=shapes or None, **words)


def show_comparison(results, before):
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


def name_row(row):
    """What a row measures, without its variant."""
    shape = "x".join(map(str, row.shape))
    return " ".join([row.family, shape, row.dtype, *map(str, row.parameters.values())])


def show_changes(changes):
    """Prints the counters that have changed."""
    if not changes:
        return "counters as before"
    return "; ".join(f"{name} {then:,.10g} -> {now:,.10g}" for name, (then, now) in changes.items())


def run_bench(chosen):
    """Runs the command and returns the exit status. A missed goal is shown; it is not a failure."""
    check_options(chosen)
    if chosen.backend:
        smemkit.set_backend(chosen.backend)
    backend = smemkit.get_backend()
    if chosen.peers and backend != "cuda":
        raise smemkit.BackendError(
            "bench --peers compares times, and the simulator has none: it needs a GPU"
        )
    before = Results.load(chosen.compare) if chosen.compare else None
    quiet = chosen.json == "-"
    say = None if quiet else show_row
    results = (run_family if chosen.family else run_goals)(chosen, backend, say)
    if before is not None and not quiet:
        show_comparison(results, before)
    if quiet:
        print(json.dumps(results.to_dict(), indent=1))
    elif chosen.json:
        results.save(chosen.json)
    if chosen.plot:
        draw(results, None, chosen.plot)
    return 0


# plot ---------------------------------------------------------------------------------------------


def load_rows(names):
    """All rows of files and of records, as Results."""
    found = []
    for name in names:
        is_record = not Path(name).exists() and re.fullmatch(r"\w+", name)
        found.append(bench.recorded(name) if is_record else Results.load(name))
    rows = [row for results in found for row in results]
    return Results(rows, found[0].provenance)


def choose_rows(results, chosen):
    """The rows that the options select."""
    names, parameters = read_names(chosen.variants), read_parameters(chosen.parameter)
    shape = read_shape(chosen.shape) if chosen.shape else None
    if shape is not None and len(shape) == 1 and chosen.family:
        shape = workloads.complete_shape(chosen.family, shape)
    rows = [
        row
        for row in results
        if (chosen.family is None or row.family == chosen.family)
        and (names is None or row.variant in names)
        and (shape is None or tuple(row.shape) == shape)
        and (chosen.dtype is None or row.dtype == chosen.dtype)
        and (chosen.cache is None or row.cache in (chosen.cache, None))
        and all(str(row.parameters.get(key)) == value for key, value in parameters.items())
    ]
    if not rows:
        raise smemkit.ArgumentError("no row matches the options: nothing to draw")
    return Results(rows, results.provenance)


def choose_kind(rows):
    """The kind of picture for the rows: counts without times, a line for several sizes."""
    timed = [row for row in rows if row.times_ms]
    if not any(row.machine == "cuda" for row in timed):
        return "sectors"
    return "ladder" if len({tuple(row.shape) for row in timed}) == 1 else "speed"


def keep_largest(rows, timed):
    """The rows of the largest shape, for pictures of one; reports that others are left out."""
    kept = [row for row in rows if (row.times_ms if timed else row.counters)]
    shapes = {tuple(row.shape) for row in kept}
    families = {row.family for row in kept}
    if len(shapes) < 2 or len(families) > 1 or families == {"probe"}:
        return rows
    largest = max(shapes, key=lambda shape: (math.prod(shape), shape))
    complain(f"{len(shapes)} shapes: drawn is {'x'.join(map(str, largest))} (--shape chooses)")
    return [row for row in kept if tuple(row.shape) == largest]


def narrow(rows, kind):
    """The rows that one picture of this kind can show; reports what is left out."""
    families = list(dict.fromkeys(row.family for row in rows))
    if len(families) > 1 and (
        kind in OF_ONE_FAMILY or kind == "roofline" and len(rows) > ROOFLINE_MOST
    ):
        raise smemkit.ArgumentError(
            f"rows of {len(families)} families are too many for one picture: choose by --family "
            f"one of {', '.join(families)}"
        )
    if kind == "bank_stride":
        rows = [row for row in rows if row.variant == "bank_access"] or rows
        rows = keep_common(rows, "width", "--parameter width=", lambda r: r.parameters.get("width"))
    elif kind == "divergence":
        rows = [row for row in rows if row.variant == "divergence"] or rows
    elif kind in ("speed", "ladder", "roofline"):
        rows = keep_common(rows, "dtype", "--dtype ", lambda row: row.dtype)
        if any(row.cache == "warm" for row in rows):
            rows = keep_common(rows, "cache", "--cache ", lambda row: row.cache or "warm")
    return rows


def keep_common(rows, word, option, value_of):
    """The rows with the most frequent value; reports that others are left out."""
    values = collections.Counter(map(value_of, rows))
    if len(values) < 2:
        return rows
    (common, _), *others = values.most_common()
    there = ", ".join(f"{option}{value}" for value, _ in others)
    complain(f"drawn is {word} {common}; there are also {there}")
    return [row for row in rows if value_of(row) == common]


def draw(results, kind, path, ceilings=None):
    """Draws one picture into a file."""
    try:
        import matplotlib
    except ImportError as error:
        from ..plot.style import ADVICE

        raise smemkit.BackendError(ADVICE) from error
    matplotlib.use("Agg")  # draws to a file, without a window
    from matplotlib import pyplot

    from .. import plot

    rows = [row for row in results if row.family != "ceiling"]
    kind = kind or choose_kind(rows)
    rows = narrow(rows, kind)
    if kind in ("sectors", "divergence", "ladder", "roofline"):
        rows = keep_largest(rows, kind in ("ladder", "roofline"))
    more = {}
    if kind == "roofline":
        ceilings = ceilings or Ceilings(list(results), results.provenance)
        if ceilings.gb_per_s is None or ceilings.gflop_per_s is None:
            raise smemkit.ArgumentError(
                "a roofline needs measured ceilings: a file of record, or one of "
                "bench.ceilings().save(...), beside the others"
            )
        more = {"gb_per_s": ceilings.gb_per_s, "gflop_per_s": ceilings.gflop_per_s}
    ax = getattr(plot, kind)(rows, **more)
    try:
        ax.figure.savefig(path, dpi=120, bbox_inches="tight")
    except ValueError as error:  # an unknown file format
        raise smemkit.ArgumentError(f"{path}: {error}") from error
    finally:
        pyplot.close(ax.figure)
    print(path)


def run_plot(chosen):
    """Runs the command; the exit status."""
    loaded = load_rows(chosen.files)
    ceilings = Ceilings(list(loaded), loaded.provenance)
    draw(choose_rows(loaded, chosen), chosen.kind, chosen.out, ceilings)
    return 0
