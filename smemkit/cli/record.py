"""The command record: measures on a GPU all that plots and notebooks show."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from ..bench import Results, Stopwatch, arrays, peers, record, shapes, traffic
from ..bench.families import CLASSES
from ..bench.records import name_device
from ..bench.results import PARTS
from ..bench.shape_cases import Sizes
from ..predict import own_card
from .errors import UsageError
from .options import output_file, seconds

if TYPE_CHECKING:
    from .._facts import DeviceInfo
    from ..bench.types import Peer
    from ._types import Commands


class Options(argparse.Namespace):
    """The command line of `smemkit record`."""

    out: str | Path
    name: str | None
    budget: float
    traffic: bool
    arrays: bool
    card: bool
    shapes: bool
    family: list[str]
    keep_csv: str | None


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    parser = commands.add_parser(
        "record", help="measure all that plots and notebooks show of a GPU"
    )
    add_arguments(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `smemkit record`."""
    parser.description = record.__doc__
    parser.add_argument(
        "--out",
        default=record.HERE,
        metavar="FOLDER",
        help="where the files go (default: where bench.recorded looks, %(default)s)",
    )
    parser.add_argument("--name", help="of the machine (default: made of the device's name)")
    parser.add_argument(
        "--budget",
        type=seconds(zero=False),
        default=record.BUDGET_SECONDS,
        metavar="SECONDS",
        help=f"after which no new case is begun ({record.BUDGET_SECONDS:g})",
    )
    parser.add_argument(
        "--traffic",
        action="store_true",
        help="only the part traffic: the bytes that L2 and DRAM move, counted by Nsight Compute "
        "(ncu), and the bandwidth of L2",
    )
    parser.add_argument(
        "--arrays",
        action="store_true",
        help="only the part arrays: copies, whole calls and launches as the host sees them, beside "
        "CuPy and torch",
    )
    parser.add_argument(
        "--card",
        action="store_true",
        help='only the rates that smemkit.predict(..., device="mine") rests on: some ten seconds. '
        "The file goes where smemkit.card looks, or to --out",
    )
    parser.add_argument(
        "--shapes",
        action="store_true",
        help="only the part shapes: variant='auto' at random and named shapes, beside cuBLAS, CUB, "
        "CuPy and torch, with errors against float64",
    )
    parser.add_argument(
        "--family",
        action="append",
        default=[],
        help="with --traffic: only the cases of this family (may be repeated)",
    )
    parser.add_argument(
        "--keep-csv",
        type=output_file,
        metavar="FILE",
        help="with --traffic: write what ncu printed here",
    )
    parser.set_defaults(run=run)


def run(chosen: Options) -> int:
    """Runs the command and returns the exit status: 1 where a whole part is missing."""
    if chosen.name is not None and not re.fullmatch(r"[a-z0-9_]+", chosen.name):
        raise UsageError(f"--name {chosen.name!r}: small letters, digits and _ are needed")
    if (chosen.family or chosen.keep_csv) and not chosen.traffic:
        word = "--family" if chosen.family else "--keep-csv"
        raise UsageError(f"{word} goes with --traffic")
    words = [word for word in ("arrays", "card", "shapes", "traffic") if getattr(chosen, word)]
    if len(words) > 1:
        raise UsageError(f"--{words[0]} and --{words[1]} are two commands: a part each")
    facts = smemkit.device_info(backend="cuda")  # BackendError without a GPU
    if chosen.card:
        return record_card(chosen, facts)
    folder = Path(chosen.out)
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--out {folder}: nothing can be written there")
    if chosen.traffic:
        return record_traffic(chosen, folder, chosen.name or name_device(facts["name"]), facts)
    if chosen.arrays:
        return record_arrays(chosen, folder, chosen.name or name_device(facts["name"]))
    if chosen.shapes:
        return record_shapes(chosen, folder, chosen.name or name_device(facts["name"]))
    start = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - start:6.1f} s] {text}", file=sys.stderr, flush=True)

    missing: list[str] = []
    with ThreadPoolExecutor(1) as pool:  # nvcc takes long with CUB; imports would hold up the clock
        search = pool.submit(peers.find_peers, missing.append, {"cub"})
        found = peers.find_peers(missing.append, peers.NAMES - {"cub"})
        name = chosen.name or name_device(facts["name"])

        def find_peers(family: str) -> list[Peer]:
            return found + (search.result() if CLASSES[family].needs_cub else [])

        watch = Stopwatch(record.SUBJECT_SECONDS, record.SUBJECT_SAMPLES)
        recorder = record.Recorder(
            folder,
            name,
            watch,
            find_peers,
            facts,
            budget=chosen.budget,
            say=say,
        )
        recorder.start = start
        recorder.record_ceilings()
        recorder.record_probes()
        say("ceilings and probes are done")
        card = own_card.PREFIX + name + ".json"
        try:
            record.record_card(own_card.find_folder() / card, watch, facts)
        except Exception as error:  # of any kind: the other parts are still measured
            recorder.complain(f"the card: {error!r:.300}")
        recorder.record_cases()
    for text in missing:
        say(text)
    return report(folder, name, recorder)


def record_card(chosen: Options, facts: DeviceInfo) -> int:
    """Writes the file of the card and prints its constants; the exit status is 0."""
    own = chosen.out == record.HERE
    folder = own_card.find_folder() if own else Path(chosen.out)
    name = chosen.name or name_device(facts["name"])
    path = folder / f"{own_card.PREFIX}{name}.json"
    try:
        watch = Stopwatch(record.SUBJECT_SECONDS, record.SUBJECT_SAMPLES)
        record.record_card(path, watch, facts)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    print("\n".join(own_card.describe(smemkit.card(path))))
    print(f'{path}: smemkit.card("mine") finds it' if own else f"{path}: smemkit.card reads it")
    return 0


def record_arrays(chosen: Options, folder: Path, name: str) -> int:
    """Writes the part "arrays"; the exit status is 1 where something was left out."""
    start = time.monotonic()
    rows, provenance = arrays.record_arrays(
        arrays.Libraries(), arrays.Sizes(), lambda: time.monotonic() - start > chosen.budget
    )
    provenance |= {"command": "python -m smemkit record --arrays", "part": "arrays"}
    path = folder / f"arrays_{name}.json"
    Results([record.shorten(row) for row in rows], provenance).save(path)
    print(f"{path}: {len(rows)} tasks")
    for text in [*provenance["missing"], *provenance["left_out"]]:
        print(f"  {text}")
    return 1 if provenance["left_out"] or not rows else 0


def record_shapes(chosen: Options, folder: Path, name: str) -> int:
    """Writes the part "shapes"; the exit status is 1 where there is no row, or time ran out."""
    start, late = time.monotonic(), False

    def is_late() -> bool:
        nonlocal late
        late = time.monotonic() - start > chosen.budget
        return late

    def say(text: str) -> None:
        print(f"[{time.monotonic() - start:6.1f} s] {text}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(1) as pool:  # nvcc takes long with CUB
        search = pool.submit(peers.load_cub)
        watch = shapes.SmallWatch(Stopwatch())
        rows, provenance = shapes.record_shapes(
            arrays.Libraries(), watch, Sizes(), is_late, say, search.result
        )
    provenance |= {"command": "python -m smemkit record --shapes", "part": "shapes"}
    path = folder / f"shapes_{name}.json"
    Results([record.shorten(row) for row in rows], provenance).save(path)
    print(f"{path}: {len(rows)} rows")
    for group, found in shapes.sum_up(rows).items():
        print(f"  {group}: " + ", ".join(f"{word} {value:.3g}" for word, value in found.items()))
    for text in [*provenance["missing"], *provenance["left_out"]]:
        print(f"  left out: {text}")
    return 1 if late or not rows else 0


def record_traffic(chosen: Options, folder: Path, name: str, facts: DeviceInfo) -> int:
    """Writes the part "traffic"; the exit status is 1 where calls or L2 were not measured."""
    watch = Stopwatch(record.SUBJECT_SECONDS, record.SUBJECT_SAMPLES)
    rows, provenance = traffic.record_traffic(
        chosen.family, chosen.budget, watch, facts, chosen.keep_csv
    )
    provenance |= {"command": "python -m smemkit record --traffic", "part": "traffic"}
    path = folder / f"traffic_{name}.json"
    Results([record.shorten(row) for row in rows], provenance).save(path)
    rates = [row.gb_per_s for row in rows if row.family == "ceiling"]
    speed = f", L2 reads {rates[0]:,.0f} GB/s" if rates else ""
    print(f"{path}: {len(rows) - len(rates)} calls counted{speed}")
    for text in provenance["left_out"]:
        print(f"  {text}")
    return 0 if len(rows) > len(rates) and rates else 1


def report(folder: Path, name: str, recorder: record.Recorder) -> int:
    """Prints what was written and returns the exit status."""
    status = 0
    for part in PARTS:
        path = folder / f"{part}_{name}.json"
        if path.exists():
            rows = len(Results.load(path))
            print(f"{path}: {rows} rows, {path.stat().st_size / 1024:.0f} KiB")
        else:
            print(f"{path}: NOT WRITTEN")
            status = 1
    print(f"{len(recorder.left_out)} things were left out")
    for text in recorder.left_out:
        print(f"  {text}")
    return status
