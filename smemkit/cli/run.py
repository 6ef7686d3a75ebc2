"""The command run: a CUDA program, as nvcc built it, on the simulator."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from .._mangled import demangle, shorten
from ..report.variables import SharedVariables
from . import cuda_headers
from .errors import UsageError
from .options import output_file

if TYPE_CHECKING:
    from typing import Any

    from ._types import Commands

FOLDER = Path(smemkit.__file__).parent / "cudart"
NEEDED = re.compile(rb"\0libcudart\.so\.(\d+)(?=\0)")
# Runtimes that are linked into programs, each with a function that older ones lack.
NEWEST_FUNCTIONS = {13: b"\0cudaLogsCurrent\0", 12: b"\0cudaGetDeviceProperties_v2\0"}
OLDEST = 11  # or one that is older still
EVERY_RUNTIME = b"\0__cudaRegisterFatBinary\0"  # linked into each program with kernels
FINDINGS_SHOWN = 20
FAILURES_SHOWN = 20
# What advice calls an argument of Python, as this command and its programs have it.
OWN_WORDS = {
    "ignore_same_value=True": "--ignore-same-value",
    "pass shared_mem=N in the call, N the bytes that the kernel uses (--shared-mem N on the "
    "command line)": "launch with <<<blocks, threads, N>>>, N the bytes that the kernel uses",
    "(smemkit.asarray of a NumPy array, cudaMemset)": "(cudaMemcpy, cudaMemset)",
}
FREED = "Free the memory behind the last launch that uses it, or pass an array that is still there."
HOST = (
    "Pass memory that kernels reach: copy the data to an array of cudaMalloc, or allocate it with "
    "cudaMallocManaged or cudaMallocHost."
)
UNCHECKED = 2  # the exit status where nothing was found, but not all was checked
WIDTH = 100
NAME_WIDTH = 60
# CuPy compiles to PTX, and leaves out the kernels that nvcc has compiled into it.
CUPY = {"CUPY_COMPILE_WITH_PTX": "1", "CUPY_ACCELERATORS": ""}
# PyCUDA asks nvcc for machine code, kernel.cubin: the last of two such words counts, so that the
# file has PTX. With a cache it would preprocess by the same words.
PYCUDA = {
    "PYCUDA_DEFAULT_NVCC_FLAGS": "-ptx -lineinfo -o kernel.cubin",
    "PYCUDA_DISABLE_CACHE": "1",
}
COLUMNS = (
    ("launches", None),
    ("warp instructions", "instructions.warp"),
    ("global sectors", "global.load.sectors"),
    ("stored sectors", "global.store.sectors"),
    ("bank conflicts", "shared.load.conflicts"),
    ("divergent branches", "branch.divergent"),
)


class Options(argparse.Namespace):
    """The command line of `smemkit run`."""

    program: str
    arguments: list[str]
    check: bool
    profile: bool
    json: str | None
    card: str | None
    ignore_same_value: bool
    ignore_headers: bool
    lockstep: bool


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    words = "runs a CUDA program on the simulator, without a GPU"
    parser = commands.add_parser(
        "run",
        help=words,
        description=f"{words}. nvcc of CUDA 12 or 13 has built it (with -lineinfo, so that "
        "messages name lines of the source). Its exit status is that of the program. With --check, "
        "where that is 0, it is 1 if something was found, and 2 if nothing was, but a launch "
        "failed or was refused, so that it was not checked to its end.",
    )
    parser.set_defaults(run=run)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--check",
        action="store_true",
        help="find races, wrong barriers, and accesses that are out of bounds or of memory that "
        "was never written, in every launch",
    )
    mode.add_argument("--profile", action="store_true", help="count accesses, by kernel")
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="write the report to a file, as JSON"
    )
    parser.add_argument(
        "--card", metavar="NAME", help="the GPU that the program sees (default: H200)"
    )
    parser.add_argument(
        "--ignore-same-value",
        action="store_true",
        help="with --check, leave out races of stores that all write one value",
    )
    parser.add_argument(
        "--ignore-headers",
        action="store_true",
        help="with --check, leave out findings of which all lines are in headers of CUDA, as those "
        "of Thrust and CUB",
    )
    parser.add_argument(
        "--lockstep",
        action="store_true",
        help="run the lanes of a warp in lock step, so that lanes that wait for each other are a "
        "deadlock, as on GPUs before Volta",
    )
    parser.add_argument("program", help="the program")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="its own arguments"
    )


def find_program(name: str) -> Path:
    """The file of a program; UsageError where there is none that can run."""
    found = shutil.which(name) or (shutil.which(f"./{name}") if "/" not in name else None)
    if found is None:
        words = "cannot be executed" if Path(name).is_file() else "is no program"
        raise UsageError(f"{name!r:.200} {words}")
    return Path(found).absolute()  # a name without a folder would be looked for on PATH


def check_program(path: Path) -> None:
    """Refuses a program whose CUDA runtime smemkit cannot stand in for."""
    content = path.read_bytes()
    if not content.startswith(b"\x7fELF"):
        return  # a script, which may start programs
    versions = {int(version) for version in NEEDED.findall(content)}
    own = {int(path.suffix[1:]) for path in FOLDER.glob("libcudart.so.*")}
    if not versions and b"\0.nv_fatbin\0" in content:  # nvcc has linked the runtime into it
        if b"\0.symtab\0" not in content:
            raise UsageError(
                f"{path.name} has a CUDA runtime and no symbols, so nothing can stand in for it: "
                "build it with nvcc -cudart shared, or do not strip it"
            )
        known = (version for version, name in NEWEST_FUNCTIONS.items() if name in content)
        if EVERY_RUNTIME in content:  # else it calls the driver alone
            versions = {next(known, OLDEST)}
    if versions and not versions & own:
        raise UsageError(
            f"{path.name} was built with CUDA {min(versions)}; smemkit stands in for the runtimes "
            f"of CUDA {' and '.join(map(str, sorted(own)))}"
        )


def make_environment(options: Options, report: str) -> dict[str, str]:
    """The variables under which the loader finds the stand-in, and what that is asked for."""
    variables = CUPY | PYCUDA | dict(os.environ)
    libraries = sorted(map(str, FOLDER.glob("libcudart.so.*")), reverse=True)  # CUDA 13 first
    present = variables.get("LD_LIBRARY_PATH")
    variables["LD_LIBRARY_PATH"] = f"{FOLDER}:{present}" if present else str(FOLDER)
    present = variables.get("LD_PRELOAD")  # sanitizers must come first
    variables["LD_PRELOAD"] = ":".join([present, *libraries] if present else libraries)
    mode = "check" if options.check else "profile" if options.profile else "run"
    variables |= {"SMEMKIT_RUN_MODE": mode, "SMEMKIT_RUN_REPORT": report}
    if options.card:
        variables["SMEMKIT_RUN_CARD"] = options.card
    if options.lockstep:
        variables["SMEMKIT_INDEPENDENT"] = "0"
    return variables


def execute(command: list[str], variables: dict[str, str]) -> int:
    """The exit status of a program, as a shell would have it."""
    process = subprocess.Popen(command, env=variables)
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:  # the program has had the signal too
            continue
        return status if status >= 0 else 128 - status


def read_events(path: str) -> list[dict[str, Any]]:
    """What the stand-in has written; a last line may be cut off."""
    events = []
    for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    return events


def read_lines(file: str) -> list[str] | None:
    """The lines of a source that findings name; None where it is not here."""
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None


def translate(event: dict[str, Any]) -> dict[str, Any]:
    """A finding with names, elements and advice as the program's source has them."""
    sides = [event[side] for side in ("first", "second") if side in event]
    sizes = {
        side["variable"].partition(",")[0]: side["variable_bytes"]
        for side in sides
        if "variable_bytes" in side
    }
    shared = SharedVariables(sizes, read_lines)
    for side in sides:
        side["variable"] = shared.translate(side["variable"], side["file"])
    if sides:
        event["message"] = shared.translate(event["message"], sides[0]["file"])
    if "freed" in event:
        freed = event["freed"]
        when = (
            f"after launch {freed['launches']}" if freed["launches"] else "before the first launch"
        )
        event["message"] += (
            f"; it lies in {freed['bytes']} bytes at {freed['address']:#x} that the program has "
            f"freed, {when}"
        )
        event["action"] = FREED
    elif event.get("host"):
        event["message"] += "; it is an address of the host's own memory"
        event["action"] = HOST
    elif cuda_headers.are_alone(event):
        event["action"] = cuda_headers.ACTION
    for words, own in OWN_WORDS.items():
        event["action"] = event["action"].replace(words, own)
    return event


def merge_findings(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings of all launches: those of one kind and one pair of lines are one."""
    merged: dict[tuple[object, ...], dict[str, Any]] = {}
    launches: dict[tuple[object, ...], set[int]] = {}
    for event in events:
        if event["event"] != "finding":
            continue
        sides = [event.get(side) for side in ("first", "second")]
        places = [side and (side["file"], side["line"] or side["ptx_line"]) for side in sides]
        key = (event["kind"], event["kernel"], *places)
        if key in merged:
            merged[key]["count"] += event["count"]
            launches[key].add(event["launch"])
        else:
            event["kernel_name"] = demangle(event["kernel"])
            merged[key] = translate(dict(event))
            launches[key] = {event["launch"]}
    for key, finding in merged.items():
        finding["launches"] = len(launches[key])
        del finding["event"]
    return list(merged.values())


def merge_failures(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The launches that failed or were refused: those of one kernel and one reason are one."""
    merged: dict[tuple[object, ...], dict[str, Any]] = {}
    for event in events:
        if event["event"] != "failure":
            continue
        key = tuple(event[name] for name in ("outcome", "kernel", "code", "message", "line"))
        if key not in merged:
            merged[key] = event | {"kernel_name": demangle(event["kernel"]), "launches": 0}
            del merged[key]["event"]
        merged[key]["launches"] += 1
    return list(merged.values())


def count_launches(events: list[dict[str, Any]]) -> int:
    """The launches that ran. A program that was killed has told those that were checked alone."""
    counted = sum(event["launches"] for event in events if event["event"] == "end")
    return int(max(counted, sum(event["event"] == "launch" for event in events)))


def make_report(options: Options, events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the report says, of plain types."""
    counts = [event for event in events if event["event"] == "counts"]
    ends = [event for event in events if event["event"] == "end"]
    findings = merge_findings(events)
    kept = [
        finding
        for finding in findings
        if not (options.ignore_same_value and finding["same_value"])
        and not (options.ignore_headers and cuda_headers.are_alone(finding))
    ]
    return {
        "mode": "check" if options.check else "profile" if options.profile else "run",
        "program": options.program,
        "arguments": options.arguments,
        "launches": count_launches(events),
        "skipped": sum(end["skipped"] for end in ends),
        "unprinted": sum(end["unprinted"] for end in ends),
        "ended": bool(ends),
        "findings": kept,
        "ignored": len(findings) - len(kept),
        "failures": merge_failures(events),
        "kernels": [
            {
                "kernel": event["kernel"],
                "name": demangle(event["kernel"]),
                **{name: event[name] for name in ("launches", "blocks", "counters")},
            }
            for event in counts
        ],
        "missing": sorted({event["function"] for event in events if event["event"] == "missing"}),
        "libraries": sorted({event["name"] for event in events if event["event"] == "library"}),
        "stripped": sorted({event["name"] for event in events if event["event"] == "stripped"}),
    }


def wrap(text: str, indent: int) -> list[str]:
    """Lines of a paragraph, each behind so many blanks."""
    margin = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=margin, subsequent_indent=margin)


def say(count: int, word: str, words: str = "") -> str:
    """ "1 launch", "2 launches", "no launches"."""
    return f"{count or 'no'} {word if count == 1 else words or word + 's'}"


def write_kernel(event: dict[str, Any]) -> str:
    """The name of the kernel of a finding or a failure, short enough to be read."""
    return shorten(event["kernel_name"], WIDTH)


def write_place(side: dict[str, Any]) -> str:
    """Where an access or a failure stands, and of which thread."""
    place = f"{side['file']}:{side['line']}" if side["line"] else f"PTX:{side['ptx_line']}"
    if "thread" not in side:
        return place
    return f"{place}  thread {tuple(side['thread'])} of block {tuple(side['block'])}"


def write_side(side: dict[str, Any]) -> str:
    """Where an access stands, by which thread, and to what."""
    return write_place(side) + (f", {side['variable']}" if side["variable"] else "")


def write_check(report: dict[str, Any]) -> list[str]:
    """The lines of text that tell what a check found, and what it did not check."""
    findings, failures, skipped = (report[name] for name in ("findings", "failures", "skipped"))
    found = f"{say(len(findings), 'finding')} in {say(report['launches'], 'launch', 'launches')}"
    lost = "; not all launches were checked to their end" if failures or skipped else ""
    ignored = f", {report['ignored']} left out" if report["ignored"] else ""
    return [
        f"smemkit run: {found}{ignored}{lost}",
        *write_findings(findings),
        *write_failures(failures, skipped),
    ]


def write_findings(findings: list[dict[str, Any]]) -> list[str]:
    """The lines of text that tell the findings of a check."""
    lines = []
    for finding in findings[:FINDINGS_SHOWN]:
        times = f", in {finding['launches']} launches" if finding["launches"] > 1 else ""
        lines += ["", f"  {finding['kind']} in {write_kernel(finding)}{times}"]
        lines += wrap(finding["message"], 4)
        lines += [
            f"    {write_side(finding[side])}" for side in ("first", "second") if side in finding
        ]
        lines += wrap(finding["action"], 4)
    if len(findings) > FINDINGS_SHOWN:
        lines += ["", f"  and {len(findings) - FINDINGS_SHOWN} more; --json FILE has all"]
    if any(not finding["first"]["line"] for finding in findings if "first" in finding):
        lines += ["", "  nvcc -lineinfo lets findings name lines of the source"]
    return lines


def write_failures(failures: list[dict[str, Any]], skipped: int) -> list[str]:
    """The lines of text that tell which launches were not checked, or not to their end."""
    lines = []
    for failure in failures[:FAILURES_SHOWN]:
        failed = failure["outcome"] == "failed"
        times = f", {failure['launches']} times" if failure["launches"] > 1 else ""
        name = write_kernel(failure) or "a kernel that is not known"
        outcome = "failed" if failed else "was refused"
        lines += ["", f"  a launch of {name} {outcome}: {failure['code']}{times}"]
        lines += wrap(failure["message"], 4)
        if failure["line"] or failure["ptx_line"]:
            lines.append(f"    {write_place(failure)}")
        words = "was checked until then" if failed else "did not run, so it was not checked"
        lines.append(f"    It {words}.")
    if len(failures) > FAILURES_SHOWN:
        lines += ["", f"  and {len(failures) - FAILURES_SHOWN} more; --json FILE has all"]
    if skipped:
        words = say(skipped, "launch", "launches")
        lines += ["", f"  {words} behind a kernel that failed did not run, so nothing was checked"]
    return lines


def write_kernels(kernels: list[dict[str, Any]]) -> list[str]:
    """A table of the counters of each kernel."""
    rows = [["kernel", *(title for title, _ in COLUMNS)]]
    for kernel in kernels:
        values = [
            kernel["launches"] if name is None else kernel["counters"][name] for _, name in COLUMNS
        ]
        rows.append([shorten(kernel["name"], NAME_WIDTH), *(f"{value:,}" for value in values)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [
                f"{row[0]:{widths[0]}}",
                *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]


def write_text(report: dict[str, Any]) -> list[str]:
    """The lines of the report for a reader."""
    lines = []
    if report["mode"] == "check":
        lines += write_check(report)
    if report["kernels"]:
        lines += write_kernels(report["kernels"])
    elif report["mode"] == "profile":
        none = "ran to its end, so nothing was counted" if report["failures"] else "was launched"
        lines.append(f"smemkit run: no kernel {none}")
    if report["unprinted"]:
        lines.append(
            "smemkit run: the program ended before it synchronized with its last kernel, so what "
            "that kernel printed is lost, as it is on a GPU: cudaDeviceSynchronize() prints it"
        )
    if report["missing"]:
        lines += wrap(
            "smemkit run: the program called functions that are not there, which returned "
            f"cudaErrorNotSupported: {', '.join(report['missing'])}",
            0,
        )
    if report["libraries"] and report["status"] != 0:
        lines += wrap(
            f"smemkit run: the program has loaded {', '.join(report['libraries'])}. The kernels of "
            "these libraries are machine code, which only a GPU executes, so their calls fail here",
            0,
        )
    stripped = [name for name in report["stripped"] if name not in report["libraries"]]
    if stripped and report["status"] != 0:
        lines += wrap(
            f"smemkit run: {', '.join(stripped)} has a CUDA runtime and no symbols, so nothing can "
            "stand in for it: build it with nvcc -cudart shared, or do not strip it",
            0,
        )
    return lines


def run(options: Options) -> int:
    """Runs the program; its exit status, or that of the check."""
    program = find_program(options.program)
    check_program(program)
    with tempfile.TemporaryDirectory(prefix="smemkit-run-") as folder:
        events_file = os.path.join(folder, "events")
        Path(events_file).touch()
        start = time.perf_counter()
        status = execute([str(program), *options.arguments], make_environment(options, events_file))
        seconds = time.perf_counter() - start
        events = read_events(events_file)
    if any(event["event"] == "card" for event in events):
        return status  # the program did not begin, and why has been said
    report = make_report(options, events)
    report |= {"status": status, "seconds": round(seconds, 3)}
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for line in write_text(report):
        print(line, file=sys.stderr)
    if status != 0 or not options.check:
        return status
    lost = report["failures"] or report["skipped"]
    return 1 if report["findings"] else UNCHECKED if lost else 0
