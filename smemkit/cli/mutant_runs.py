"""A command that tests kernels, run with the kernels as they are, and with mutants of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .ptx_mutations import Mutant
    from .ptx_statements import Statement

VARIABLE = "SMEMKIT_MUTATION"  # csrc/base/mutation.h says what processes do with its folder
SAID_LETTERS = 20_000
TELLING = re.compile(r"^smemkit( run)?: |^failed |\bfindings?\b")  # of smemkit's own commands
running: set[subprocess.Popen[bytes]] = set()
lock = threading.Lock()


class Outcome(NamedTuple):
    """How a run of the command ended; the status is None where it took too long."""

    status: int | None
    seconds: float
    test: str | None  # the first one that failed, by pytest
    said: str  # the end of its output


class Verdict(NamedTuple):
    """What became of a mutant: "killed", "survived", "invalid" PTX, or "unloaded"."""

    result: str
    by: str | None
    seconds: float
    said: str


def name_test(case: xml.etree.ElementTree.Element) -> str:
    """ "tests/test_x.py::test_y" of a test case in pytest's JUnit file."""
    file, name = case.get("file"), case.get("name", "?")
    return f"{file}::{name}" if file else f"{case.get('classname', '?')}::{name}"


def find_failed(path: Path) -> str | None:
    """The first test that failed, from a JUnit file; None where there is none."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return None
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            return name_test(case)
    return None


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a command and what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def stop_all() -> None:
    """Ends all commands that run."""
    with lock:
        processes = list(running)
    for process in processes:
        stop(process)


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """Ends the commands where this process is told to end."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, end) if is_main else None
    try:
        yield
    finally:
        stop_all()
        if is_main:
            signal.signal(signal.SIGTERM, before)


def execute(command: Sequence[str], folder: Path, limit_s: float | None) -> Outcome:
    """Runs the command, which finds the folder by the variable; leaves no process behind."""
    junit = folder / "junit.xml"
    junit.unlink(missing_ok=True)
    present = os.environ.get("PYTEST_ADDOPTS", "")
    ours = f"-x -o junit_family=xunit1 --junitxml={shlex.quote(str(junit))}"
    environment = {
        "SMEMKIT_BACKEND": "sim",  # a GPU loads no mutants
        **os.environ,
        VARIABLE: str(folder),
        "PYTEST_ADDOPTS": f"{present} {ours}".strip(),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"{command[0]} cannot be run: {error.strerror}") from None
        with lock:
            running.add(process)
        status: int | None
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            stop(process)
            with lock:
                running.discard(process)
        output.seek(max(0, output.seek(0, os.SEEK_END) - SAID_LETTERS))
        said = output.read().decode(errors="replace")
    return Outcome(status, time.monotonic() - begun, find_failed(junit), said)


class Loaded(NamedTuple):
    """A PTX text that the command has loaded, and the CUDA C that it was compiled from.

    lines of the PTX, and all of some functions, were executed; lines is None where that is not
    known, because the command ran on a GPU.
    """

    ptx: str
    source: str | None
    lines: frozenset[int] | None
    functions: frozenset[str]

    def is_executed(self, statement: Statement) -> bool:
        """Whether a launch has executed an instruction."""
        return (
            self.lines is None
            or statement.number in self.lines
            or statement.function in self.functions
        )


def read_executed(path: Path) -> tuple[frozenset[int], frozenset[str]]:
    """(lines, functions) of a file <hash>.executed; none of either where there is no file."""
    if not path.exists():
        return frozenset(), frozenset()
    words = set(path.read_text(encoding="utf-8").splitlines())
    functions = {word.removeprefix("function ") for word in words if word.startswith("function ")}
    return frozenset(int(word) for word in words if word.isdigit()), frozenset(functions)


def run_baseline(command: Sequence[str], folder: Path) -> tuple[Outcome, list[Loaded]]:
    """Runs the command on the kernels as they are; UsageError where it fails."""
    outcome = execute(command, folder, None)
    if outcome.status != 0:
        test = f" ({outcome.test})" if outcome.test else ""
        raise UsageError(
            f"the command fails without any mutant: exit status {outcome.status}{test}\n"
            f"{outcome.said[-2000:].rstrip()}"
        )
    sources = {}
    for path in sorted(folder.glob("*.source.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        sources[row["ptx"]] = row["source"]
    is_known = any(folder.glob("*.executed"))
    found = []
    for path in sorted(folder.glob("*.ptx")):
        text = path.read_bytes().decode(errors="surrogateescape")
        lines, functions = read_executed(path.with_suffix(".executed"))
        found.append(Loaded(text, sources.get(text), lines if is_known else None, functions))
    return outcome, found


def say_killer(outcome: Outcome, limit_s: float) -> str:
    """What has seen the mutant, in words."""
    if outcome.status is None:
        return f"time: more than {limit_s:.0f} s"
    if outcome.test:
        return outcome.test
    lines = [line.strip() for line in outcome.said.splitlines() if line.strip()]
    said = next((line for line in lines if TELLING.search(line)), "".join(lines[-1:]))
    return f"exit status {outcome.status}" + (f": {said:.100}" if said else "")


def judge(
    command: Sequence[str], ptx: str, mutant: Mutant, folder: Path, limit_s: float
) -> Verdict:
    """Runs the command on a mutant."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("before.ptx", ptx), ("after.ptx", mutant.apply(ptx))):
        (folder / name).write_bytes(text.encode(errors="surrogateescape"))
    applied = folder / "applied"
    applied.unlink(missing_ok=True)
    outcome = execute(command, folder, limit_s)
    if not applied.exists():
        return Verdict("unloaded", None, outcome.seconds, outcome.said)
    if outcome.status == 0:
        return Verdict("survived", None, outcome.seconds, outcome.said)
    return Verdict("killed", say_killer(outcome, limit_s), outcome.seconds, outcome.said)
