"""The plugin of pytest: options, markers, the fixture cuda_kernel, the check of all launches."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from .. import _core, _pytest_backend
from .._version import __version__
from ._kernel import CudaKernel, call_plainly, checks
from ._watch import Rules, Watch

watch_key = pytest.StashKey[Watch]()
totals_key = pytest.StashKey[dict[str, Any]]()

MARKERS = (
    "cuda_kernel(path, name=None, *, code=None, options=()): the kernel that the fixture "
    "cuda_kernel gives; a path is relative to the test's file.",
    "smemkit_check(on=True, *, ignore=()): check the test's launches on the simulator, with or "
    "without --smemkit-check, or do not; ignore names kinds of findings, and 'same_value'.",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("smemkit", "CUDA kernels without a GPU")
    group.addoption(
        "--smemkit-check",
        action="store_true",
        help="check every launch on the simulator; a finding fails the test that made it",
    )
    group.addoption(
        "--smemkit-ignore",
        action="append",
        default=[],
        metavar="KIND",
        help="findings of this kind fail no test; same_value: races of stores of one value. "
        "May be given several times",
    )
    group.addoption(
        "--smemkit-cupy",
        action="store_const",
        const="missing",
        help="import cupy gives smemkit's stand-in where CuPy is not installed",
    )
    group.addoption(
        "--smemkit-replace-cupy",
        action="store_const",
        const="always",
        dest="smemkit_cupy",
        help="import cupy gives smemkit's stand-in, also where CuPy is installed",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Installs the stand-in before a conftest.py imports cupy."""
    _install_cupy(early_config.known_args_namespace.smemkit_cupy)


def _install_cupy(mode: str | None) -> None:
    if mode is not None:
        from . import cupy  # large, and only those need it

        if cupy.install(replace=mode == "always"):
            cupy.install_in_children()


def pytest_configure(config: pytest.Config) -> None:
    """Begins the check of all launches, where it was asked for."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    _install_cupy(config.getoption("smemkit_cupy"))  # where a conftest.py has named the plugin
    watch = config.stash[watch_key] = Watch()
    config.stash[totals_key] = {"launches": 0, "kernels": set(), "before": checks.copy()}
    if config.getoption("smemkit_check"):
        _pytest_backend.take_simulator(config)  # launches on a GPU are not checked
        watch.rules = Rules(frozenset(config.getoption("smemkit_ignore")))
        watch.turn(True)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the check, and gives the name cupy back."""
    if watch_key in config.stash:
        config.stash[watch_key].turn(False)
    if config.getoption("smemkit_cupy"):
        from . import cupy

        cupy.uninstall()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says what is done to the launches."""
    words = []
    if config.getoption("smemkit_check"):
        words.append("every launch on the simulator is checked")
    if config.getoption("smemkit_cupy"):
        from . import cupy

        words.append("cupy is the stand-in" if cupy.is_installed() else "cupy is CuPy")
    return f"smemkit {__version__}: {'; '.join(words)}" if words else None


# Checks ------------------------------------------------------------------------------------------


def _read_marker(item: pytest.Item) -> tuple[bool, frozenset[str]]:
    """(whether the test's launches are checked, the kinds of findings that are left out)."""
    on = bool(item.config.getoption("smemkit_check"))
    ignored = frozenset(item.config.getoption("smemkit_ignore"))
    marker = item.get_closest_marker("smemkit_check")
    if marker is None:
        return on, ignored
    strange = set(marker.kwargs) - {"on", "ignore"}
    if strange or len(marker.args) > 1:
        raise pytest.UsageError(
            f"{item.nodeid}: the marker smemkit_check takes on and ignore, not "
            f"{', '.join(sorted(strange)) or 'several values'}"
        )
    more = marker.kwargs.get("ignore", ())
    ignored |= {more} if isinstance(more, str) else frozenset(more)
    return bool(marker.args[0] if marker.args else marker.kwargs.get("on", True)), ignored


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Gives the watch the rules of the test."""
    watch = item.config.stash[watch_key]
    always = bool(item.config.getoption("smemkit_check"))
    before = watch.rules
    on, ignored = _read_marker(item)
    watch.rules = Rules(ignored)
    chosen = on and _pytest_backend.set_simulator()
    if on != always:
        watch.turn(on)
    try:
        return (yield)
    finally:
        if chosen:
            _pytest_backend.take_away()
        watch.rules = before
        if on != always:
            watch.turn(always)


def _judge(item: pytest.Item, when: str) -> Generator[None, Any, Any]:
    """Fails the phase of a test in which launches had findings."""
    watch = item.config.stash[watch_key]
    try:
        result = yield
    except pytest.skip.Exception:
        text = watch.take()
        if not text:
            raise
    except BaseException:
        text = watch.take()
        if text:
            item.add_report_section(when, "smemkit check", text)
        raise
    else:
        text = watch.take()
    if text:
        pytest.fail(text, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Findings of fixtures fail the test that needed them first."""
    return (yield from _judge(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Findings of a test fail it."""
    return (yield from _judge(item, "call"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Findings of the end of fixtures are errors of the test before."""
    return (yield from _judge(item, "teardown"))


# Summary -----------------------------------------------------------------------------------------


def _add(config: pytest.Config, launches: int, kernels: Any) -> None:
    totals = config.stash[totals_key]
    totals["launches"] += launches
    totals["kernels"].update(kernels)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Adds up launches; a worker of xdist hands them to its controller."""
    launches, kernels = _count(session.config)
    output = getattr(session.config, "workeroutput", None)
    if output is None:
        _add(session.config, launches, kernels)
    else:
        output["smemkit"] = {"launches": launches, "kernels": sorted(kernels)}


def _count(config: pytest.Config) -> tuple[int, set[str]]:
    """(launches, kernels) that were checked, by the watch and by cuda_kernel."""
    watch = config.stash[watch_key]
    own: collections.Counter[str] = collections.Counter()
    if config.getoption("smemkit_check"):
        own = checks - config.stash[totals_key]["before"]
    return watch.launches + own.total(), watch.kernels | set(own)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receives the sums of a worker of xdist."""
    found = getattr(node, "workeroutput", {}).get("smemkit")
    if found:
        _add(node.config, found["launches"], found["kernels"])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says how much was checked."""
    totals = config.stash[totals_key]
    launches, kernels = totals["launches"], len(totals["kernels"])
    if launches or config.getoption("smemkit_check"):
        terminalreporter.write_line(
            f"smemkit check: {launches:,} launch{'' if launches == 1 else 'es'} of {kernels:,} "
            f"kernel{'' if kernels == 1 else 's'} on the simulator checked"
        )


# The fixture -------------------------------------------------------------------------------------


@pytest.fixture
def cuda_kernel(request: pytest.FixtureRequest) -> CudaKernel | Callable[..., CudaKernel]:
    """The kernel of the marker cuda_kernel; without it a function of CudaKernel's arguments.

    Paths are relative to the file of the test.
    """
    folder = Path(request.path).parent

    def load(path: Any = None, name: str | None = None, **words: Any) -> CudaKernel:
        __tracebackhide__ = True
        if path is not None:
            path = folder / os.fsdecode(path)
        made: CudaKernel = call_plainly(CudaKernel, path, name, **words)
        return made

    marker = request.node.get_closest_marker("cuda_kernel")
    if marker is None:
        return load
    try:
        return load(*marker.args, **marker.kwargs)
    except (_core.Error, TypeError) as error:
        wrong = f"the marker cuda_kernel gives no kernel: {type(error).__name__}: {error}"
    return pytest.fail(wrong, pytrace=False)  # the marker or the file is wrong: no line here is
