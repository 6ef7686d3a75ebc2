"""The plugin of pytest: --smemkit-cov reports which lines of kernels the tests execute."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .. import _core, _pytest_backend
from . import load_coverage
from .data import DEFAULT_FILE, VARIABLE, _saving, begin_process, find_files, leave_all
from .result import ENDINGS

if TYPE_CHECKING:
    from typing import Any

base_key = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("smemkit", "CUDA kernels without a GPU")
    group.addoption(
        "--smemkit-cov",
        action="store_true",
        help="report which lines and branches of kernels the tests execute on the simulator",
    )
    group.addoption(
        "--smemkit-cov-report",
        action="append",
        default=[],
        metavar="FILE",
        help=f"also write that report to a file that ends in {', '.join(ENDINGS)} (lcov is .info)",
    )
    group.addoption(
        "--smemkit-cov-package",
        action="store_true",
        help="also report the kernels of smemkit itself",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begins to count, here and in the processes that this one starts, as xdist's workers."""
    reports = config.getoption("smemkit_cov_report")
    for name in reports:
        if Path(name).suffix not in ENDINGS:
            raise pytest.UsageError(
                f"--smemkit-cov-report: {name!r} does not end in {', '.join(ENDINGS)}"
            )
    if not config.getoption("smemkit_cov") and not reports:
        return
    _pytest_backend.take_simulator(config)  # launches on a GPU are not counted
    if hasattr(config, "workerinput"):
        return  # its environment has the variable: importing smemkit.cover has begun to count
    base = config.stash[base_key] = Path(config.rootpath, DEFAULT_FILE)
    for path in find_files(base):
        path.unlink()
    os.environ[VARIABLE] = str(base)
    begin_process(str(base))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leaves what was counted; a worker of xdist ends without atexit."""
    if base_key in session.config.stash or hasattr(session.config, "workerinput"):
        leave_all()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Prints the table, and writes the reports."""
    base = config.stash.get(base_key, None)
    if base is None:
        return
    terminalreporter.section("coverage of kernels")
    if not find_files(base):
        terminalreporter.write_line("no test loaded a kernel on the simulator")
        return
    covered = load_coverage(base, package=config.getoption("smemkit_cov_package"))
    terminalreporter.write_line(str(covered))
    for name in config.getoption("smemkit_cov_report"):
        covered.save(name)
        terminalreporter.write_line(f"written: {name}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the counting."""
    if config.stash.get(base_key, None) is not None:
        os.environ.pop(VARIABLE, None)
        _saving.clear()
        _core._coverage_stop()
