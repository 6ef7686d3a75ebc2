"""Traffic: the bytes that a GPU moves between L1 and L2, and between L2 and DRAM.

Nsight Compute counts them. A child process makes each call twice under it: the first call checks
the result, and the second one is counted with warm caches, because ncu leaves the caches as they
are (--cache-control none), as the timed calls find them. A launch of an empty kernel before and
behind the second call marks its launches in ncu's table.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy

import smemkit

from .. import _core
from . import ncu, timing, workloads
from ._ceilings import measure_l2
from .families import CLASSES
from .results import describe_run
from .roofline import SECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .._facts import DeviceInfo
    from .._types import Machine, StrPath
    from .results import Measurement
    from .types import Watch

# The counter of a row, the metrics of ncu that add up to it, and bytes of what these count.
COUNTERS = {
    "l2.bytes": (("lts__t_sectors_srcunit_tex.sum",), SECTOR_BYTES),
    "dram.read.bytes": (("dram__bytes_read.sum",), 1),
    "dram.write.bytes": (("dram__bytes_write.sum",), 1),
}
MARKER = "smemkit_marker"
MARKER_PTX = f""".version 6.4
.target sm_75
.address_size 64
.visible .entry {MARKER}()
{{
ret;
}}
"""
OPTIONS = ("--cache-control", "none")  # of ncu
WORK_MOST = 5e11  # operations or bytes of a case; what is larger is left out
PASSES = re.compile(r"==PROF== Profiling .* (\d+) pass")


class Made(TypedDict):
    """A call that the child has made."""

    case: workloads.Case
    variant: str


def list_cases(families: Sequence[str]) -> list[workloads.Case]:
    """The records of families, the main ones first."""
    unknown = [family for family in families if family not in CLASSES]
    if unknown:
        raise _core.ArgumentError(
            f"--family: no family {unknown[0]!r}; known: {', '.join(CLASSES)}"
        )
    found = []
    for family in families or CLASSES:
        kind = CLASSES[family]
        for record in kind.records:
            words = workloads.make_case(kind, record)
            case = workloads.make_workload(*words)
            work = max(case.flops or 0.0, float(case.nbytes))
            if work <= WORK_MOST:
                found.append((not record.main, work if not record.main else 0.0, words))
    return [words for *_, words in sorted(found, key=lambda entry: entry[:2])]


# The child ----------------------------------------------------------------------------------------


def make_calls(
    cases: Iterable[workloads.Case], backend: Machine, late: Callable[[], bool]
) -> tuple[list[Made], list[str]]:
    """Makes all calls; (list of what each marked pair of launches encloses, what was left out).

    Parameters
    ----------
    cases : as list_cases gives them
    backend : "cuda", or "sim" without ncu
    late : callable
        Whether no new case is to be begun.
    """
    marker = smemkit.RawKernel(MARKER_PTX, MARKER)
    made: list[Made] = []
    left_out: list[str] = []
    for words in cases:
        case = workloads.make_workload(*words)
        if late():
            left_out.append(f"{case.name}: no time is left")
            continue
        try:
            inputs = case.make_inputs(numpy.random.default_rng(timing.SEED))
            ours = timing.Ours(case, inputs, backend)
        except Exception as error:  # of any kind: the other cases are still counted
            left_out.append(f"{case.name}: {error!r:.300}")
            continue
        for variant in timing.list_ours(case, whole=True):
            try:
                ours.run_checked(variant)
            except Exception as error:  # as above
                left_out.append(f"{case.name}: {variant}: {error!r:.300}")
                continue
            call = ours.make_call(variant)
            call()
            marker((1,), (1,), (), backend=backend)
            call()
            marker((1,), (1,), (), backend=backend)
            made.append({"case": words, "variant": variant})
    return made, left_out


class ChildOptions(argparse.Namespace):
    """The command line of the child."""

    child: str
    family: list[str]
    budget: float


def main() -> int:
    """The child that ncu watches."""
    parser = argparse.ArgumentParser(prog="python -m smemkit.bench.traffic")
    parser.add_argument("child", help="where the list of calls is written")
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--budget", type=float, required=True)
    chosen = parser.parse_args(namespace=ChildOptions())
    start = time.monotonic()
    try:
        made, left_out = make_calls(
            list_cases(chosen.family), "cuda", lambda: time.monotonic() - start > chosen.budget
        )
    except smemkit.Error as error:
        print(f"smemkit: {error}", file=sys.stderr)
        return 1
    Path(chosen.child).write_text(json.dumps({"made": made, "left_out": left_out}))
    return 0


# The rows -----------------------------------------------------------------------------------------


def split_launches(table: Iterable[ncu.Metrics]) -> list[list[ncu.Metrics]]:
    """The launches between each pair of markers, as lists of rows of ncu's table."""
    parts: list[list[ncu.Metrics]] = [[]]
    for row in table:
        if row.get("Kernel Name", "").split("(")[0] == MARKER:
            parts.append([])
        else:
            parts[-1].append(row)
    return parts[1::2]


def read_traffic(text: str, made: Sequence[Made]) -> list[Measurement]:
    """Rows of what ncu printed.

    Parameters
    ----------
    text : as ncu.parse_csv takes it
    made : the "made" of make_calls

    Returns
    -------
    list of Measurement without times, whose counters are those of COUNTERS

    Raises
    ------
    BackendError where the launches are not those of the calls, or a count is missing.
    """
    parts = split_launches(ncu.parse_csv(text))
    if len(parts) != len(made):
        raise _core.BackendError(f"ncu saw {len(parts)} marked calls, and {len(made)} were made")
    needed = {name: list(metrics) for name, (metrics, _) in COUNTERS.items()}
    rows = []
    for launches, call in zip(parts, made, strict=True):
        case = workloads.make_workload(*call["case"])
        if not launches:
            raise _core.BackendError(f"ncu saw no launch of {case.name}: {call['variant']}")
        tables = [ncu.read_counters(launch, needed) for launch in launches]
        counters = {
            name: size * sum(table[name] for table in tables)
            for name, (_, size) in COUNTERS.items()
        }
        rows.append(case.make_row(call["variant"], "cuda", cache="warm", counters=counters))
    return rows


def count_passes(text: str) -> int | None:
    """The most passes that ncu needed for a launch, or None where its log does not say so.

    With more than one pass ncu saves and restores what a kernel writes between them.
    """
    return max(map(int, PASSES.findall(text)), default=None)


def record_traffic(
    families: Sequence[str],
    budget: float,
    watch: Watch,
    device: DeviceInfo,
    keep: StrPath | None = None,
) -> tuple[list[Measurement], dict[str, Any]]:
    """The part "traffic" of the present GPU: counted calls, and last the bandwidth of L2.

    A bandwidth that cannot be measured is left out, and named in the provenance.

    Parameters
    ----------
    families : list of str
        Whose records are counted; an empty one stands for all.
    budget : float
        Seconds, after which no new case is begun.
    watch : Stopwatch, or what behaves like one
    device : dict
        Of smemkit.device_info.
    keep : path, optional
        Where to write what ncu printed.

    Returns
    -------
    (rows, provenance)

    Raises
    ------
    BackendError without a GPU or ncu, or where ncu may not count.
    """
    list_cases(families)  # ArgumentError before anything is started
    metrics = {metric for several, _ in COUNTERS.values() for metric in several}
    options = ["--budget", str(budget)]
    for family in families:
        options += ["--family", family]
    text, done = ncu.run_ncu(metrics, "smemkit.bench.traffic", options, OPTIONS)
    if keep is not None:
        Path(keep).write_text(text)
    facts = timing.describe_protocol("cuda")
    facts |= {
        "protocol": (__doc__ or "").partition("\n\n")[2].strip(),
        "ncu": ncu.read_version(),
        "ncu_options": list(OPTIONS),
        "ncu_passes": count_passes(text),
        "metrics": {name: list(several) for name, (several, _) in COUNTERS.items()},
        "left_out": done["left_out"],
    }
    rows = read_traffic(text, done["made"])
    try:
        rows.append(measure_l2(watch, device))
    except Exception as error:  # as above: what was counted is kept
        facts["left_out"].append(f"the bandwidth of L2: {error!r:.300}")
    return rows, describe_run(**facts)


if __name__ == "__main__":
    sys.exit(main())
