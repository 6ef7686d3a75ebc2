"""The command plot: pictures of what bench and record have written."""

from __future__ import annotations

import argparse
import collections
import functools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import smemkit

from .. import bench
from ..bench import Ceilings, Results, workloads
from ..bench.families import CLASSES
from ..bench.records import find_records
from .errors import UsageError
from .options import complain, picture_file, read_names, read_parameters, read_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from ..bench import Measurement
    from ..bench.types import Cache
    from ._types import Commands

Kind = Literal["speed", "ladder", "roofline", "stride", "bank_stride", "sectors", "divergence"]
OF_ONE_FAMILY = ("speed", "ladder", "sectors")
ROOFLINE_MOST = 40  # marks that readers can tell apart
VALUES_SHOWN = 20


class Options(argparse.Namespace):
    """The command line of `smemkit plot`."""

    files: list[str]
    out: str
    kind: Kind | None
    family: str | None
    variants: str | None
    shape: str | None
    dtype: str | None
    cache: Cache | None
    parameter: list[str]


def add_command(commands: Commands) -> None:
    """Adds plot to the subparsers of the main parser."""
    parser = commands.add_parser("plot", help="pictures of what bench has written")
    parser.description = (
        "Draws results that bench, or record, has written. Without --family, where the rows are of "
        "several, it lists them."
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="of bench --json; or the name of a record: h200 (default: it lists the records)",
    )
    parser.add_argument(
        "--out", type=picture_file, default="plot.png", help="the picture (default: plot.png)"
    )
    parser.add_argument("--kind", choices=get_args(Kind), help="default: what the rows allow")
    parser.add_argument("--family", help="rows of this family only")
    parser.add_argument("--variants", help="rows of these only, comma-separated")
    parser.add_argument("--shape", help="rows of this shape only: comma-separated lengths")
    parser.add_argument("--dtype", help="rows of this element type only")
    parser.add_argument("--cache", choices=("warm", "cold"), help="rows of this state only")
    parser.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=VALUE", help="rows with it only"
    )
    parser.set_defaults(run=run_plot)


def load_results(name: str) -> Results:
    """The Results of a file; UsageError for an empty name, which is the present directory."""
    if not name:
        raise UsageError("a file is needed, not an empty name")
    return Results.load(name)


def load_rows(names: Sequence[str]) -> Results:
    """All rows of files and of records, as Results."""
    found = []
    for name in names:
        is_record = not Path(name).exists() and re.fullmatch(r"\w+", name)
        found.append(bench.recorded(name) if is_record else load_results(name))
    rows = [row for results in found for row in results]
    return Results(rows, found[0].provenance)


def choose_rows(results: Results, chosen: Options) -> Results:
    """The rows that the options select."""
    names, parameters = read_names(chosen.variants), read_parameters(chosen.parameter)
    shape = None if chosen.shape is None else read_shape(chosen.shape)
    if shape is not None and len(shape) == 1 and chosen.family in CLASSES:
        shape = workloads.complete_shape(chosen.family, shape)
    rows = list(results)
    if not rows:
        raise UsageError("the files have no rows: nothing to draw")
    rows = keep(rows, "family", lambda row: row.family, chosen.family)
    if names is not None:
        if not names:
            raise UsageError("--variants is empty: name one, or leave it out for all")
        for name in names:
            keep(rows, "variants", lambda row: row.variant, name)
        rows = [row for row in rows if row.variant in names]
    rows = keep(rows, "shape", lambda row: ",".join(map(str, row.shape)), join_lengths(shape))
    rows = keep(rows, "dtype", lambda row: row.dtype, chosen.dtype)
    for key, value in parameters.items():
        show = functools.partial(show_parameter, key)
        rows = keep(rows, "parameter", show, f"{key}={value}")
    if chosen.cache is not None:
        timed = [row for row in rows if row.cache is not None]
        keep(timed or rows, "cache", lambda row: row.cache or "none", chosen.cache)
        rows = [row for row in rows if row.cache in (chosen.cache, None)]
    return Results(rows, results.provenance)


def join_lengths(shape: Sequence[int] | None) -> str | None:
    return None if shape is None else ",".join(map(str, shape))


def show_parameter(key: str, row: Measurement) -> str:
    return f"{key}={row.parameters[key]}" if key in row.parameters else "none"


def keep(
    rows: list[Measurement],
    option: str,
    value_of: Callable[[Measurement], str],
    wanted: str | None,
) -> list[Measurement]:
    """The rows whose value is the wanted one; UsageError that names the others where none is."""
    kept = [row for row in rows if wanted is None or value_of(row) == wanted]
    if not kept:
        there = list(dict.fromkeys(map(value_of, rows)))
        more = ", ..." if len(there) > VALUES_SHOWN else ""
        raise UsageError(
            f"--{option} {wanted}: no row has it; there are {'; '.join(there[:VALUES_SHOWN])}{more}"
        )
    return kept


def list_families(results: Iterable[Measurement], name: str) -> list[str]:
    """A line for each family of the rows: how to draw it, and what there is of it."""
    lines = []
    for family in dict.fromkeys(row.family for row in results if row.family != "ceiling"):
        rows = [row for row in results if row.family == family]
        parts = [
            count([row.variant for row in rows], "variant"),
            count([tuple(row.shape) for row in rows], "shape"),
            ", ".join(dict.fromkeys(row.dtype for row in rows)),
        ]
        lines.append(f"  smemkit plot {name} --family {family:11}  {'; '.join(parts)}")
    return lines


def count(values: Iterable[Hashable], noun: str) -> str:
    number = len(set(values))
    return f"{number} {noun}{'s' if number > 1 else ''}"


def choose_kind(rows: Iterable[Measurement]) -> Kind:
    """The kind of picture for the rows: counts without times, a line for several sizes."""
    timed = [row for row in rows if row.times_ms]
    if not any(row.machine in ("cuda", "predicted") for row in timed):
        return "sectors"
    return "ladder" if len({tuple(row.shape) for row in timed}) == 1 else "speed"


def keep_largest(rows: list[Measurement], timed: bool) -> list[Measurement]:
    """The rows of the largest shape, for pictures of one; reports that others are left out."""
    kept = [row for row in rows if (row.times_ms if timed else row.counters)]
    shapes = {tuple(row.shape) for row in kept}
    families = {row.family for row in kept}
    if len(shapes) < 2 or len(families) > 1 or families == {"probe"}:
        return rows
    largest = max(shapes, key=lambda shape: (math.prod(shape), shape))
    complain(f"{len(shapes)} shapes: drawn is {'x'.join(map(str, largest))} (--shape chooses)")
    return [row for row in kept if tuple(row.shape) == largest]


def narrow(rows: list[Measurement], kind: Kind, name: str) -> list[Measurement]:
    """The rows that one picture of this kind can show; reports what is left out."""
    families = list(dict.fromkeys(row.family for row in rows))
    if len(families) > 1 and (
        kind in OF_ONE_FAMILY or kind == "roofline" and len(rows) > ROOFLINE_MOST
    ):
        raise UsageError(
            f"rows of {len(families)} families are too many for one picture: --family is needed\n"
            + "\n".join(list_families(rows, name))
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


def keep_common(
    rows: list[Measurement], word: str, option: str, value_of: Callable[[Measurement], Hashable]
) -> list[Measurement]:
    """The rows with the most frequent value; reports that others are left out."""
    values = collections.Counter(map(value_of, rows))
    if len(values) < 2:
        return rows
    (common, _), *others = values.most_common()
    there = ", ".join(f"{option}{value}" for value, _ in others)
    complain(f"drawn is {word} {common}; there are also {there}")
    return [row for row in rows if value_of(row) == common]


def draw(
    results: Results,
    kind: Kind | None,
    path: str,
    ceilings: Ceilings | None = None,
    name: str = "FILE",
) -> None:
    """Draws one picture into a file; name: of the results, for messages."""
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
    rows = narrow(rows, kind, name)
    if kind in ("sectors", "divergence", "ladder", "roofline"):
        rows = keep_largest(rows, kind in ("ladder", "roofline"))
    more = {}
    if kind == "roofline":
        if ceilings is None:
            ceilings = Ceilings(list(results), results.provenance)
        if ceilings.gb_per_s is None or ceilings.gflop_per_s is None:
            raise smemkit.ArgumentError(
                "a roofline needs measured ceilings: a file of record, or one of "
                "bench.ceilings().save(...), beside the others"
            )
        more = {"gb_per_s": ceilings.gb_per_s, "gflop_per_s": ceilings.gflop_per_s}
    ax = getattr(plot, kind)(Results(rows, results.provenance), **more)
    try:
        ax.figure.savefig(path, dpi=120, bbox_inches="tight")
    except ValueError as error:  # an unknown file format
        raise smemkit.ArgumentError(f"{path}: {error}") from error
    finally:
        pyplot.close(ax.figure)
    print(path)


def run_plot(chosen: Options) -> int:
    """Runs the command; the exit status."""
    if not chosen.files:
        records = find_records()
        lines = [line for name in records for line in list_families(bench.recorded(name), name)]
        raise UsageError("\n".join(["a file of bench --json is needed, or a record:", *lines]))
    loaded = load_rows(chosen.files)
    ceilings = Ceilings(list(loaded), loaded.provenance)
    rows = choose_rows(loaded, chosen)
    draw(rows, chosen.kind, chosen.out, ceilings, " ".join(chosen.files))
    return 0
