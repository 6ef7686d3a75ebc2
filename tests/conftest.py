"""Fixtures that every test may use: a seeded random generator and the two machines."""

import contextlib
import faulthandler
import importlib.util
import os
import secrets
import signal
import threading
import zlib
from pathlib import Path

import numpy
import pytest

SEED = "SMEMKIT_TEST_SEED"
TEST_LIMIT_S = 900  # of one test; the slowest takes some 20 s, with sanitizers ten times as long
# Who asks for more of something than usual waits as long as that takes.
LONGER = ("SMEMKIT_ROBUST_EXAMPLES", "SMEMKIT_TEST_PROGRAMS")
# Folders of modules that tests import: their assertions say what they compared, as those of tests.
HELPERS = ("fuzz", "hardware", "mutants", "programs", "sim", "support")
pytest.register_assert_rewrite(*HELPERS)
screen = pytest.StashKey()
NOT_YET = "not yet on hardware"


def pytest_addoption(parser):
    parser.addoption(
        "--programs", action="store_true", help="compile and run all whole programs, in minutes"
    )
    parser.addoption(
        "--release",
        action="store_true",
        help="fail for kernels that have not been measured on hardware yet, which are else listed",
    )


def pytest_configure(config):
    # A fresh seed each run; set here so that worker processes share it.
    os.environ.setdefault(SEED, str(secrets.randbits(32)))
    # Python processes that tests start import the smemkit that is tested here: not the sources of
    # the present folder where smemkit is installed, nor what is installed where it was built here.
    folder = Path(importlib.util.find_spec("smemkit").origin).resolve().parents[1]
    os.environ["PYTHONSAFEPATH"] = "1"
    # Those that import modules of the tests find them as tests do.
    tests = Path(__file__).resolve().parent
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (folder, tests, tests.parent / "csrc")))
    os.environ["SMEMKIT_CACHE"] = "none"  # what a test compiles is compiled here and now
    receive_signals()
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        config.stash[screen] = os.dup(2)


def receive_signals():
    """Ctrl-C works here and in processes that tests start, where this one was told to ignore it.

    nohup and services that run commands in the background do that, and children inherit it.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    used = {signal.SIGINT, signal.SIGALRM, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, used)
    for number in used:
        if signal.getsignal(number) == signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)


def pytest_unconfigure(config):
    if screen in config.stash:
        os.close(config.stash[screen])
        del config.stash[screen]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test that hangs ends the run, with the stacks of all threads: no run hangs for good."""
    if not any(name in os.environ for name in LONGER):
        faulthandler.dump_traceback_later(TEST_LIMIT_S, exit=True, file=item.config.stash[screen])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_report_header(config):
    return [
        f"seed: {SEED}={os.environ[SEED]} repeats this run's random values",
        f"GPU: {find_missing_reason('cuda') or 'present'}",
    ]


def pytest_terminal_summary(terminalreporter):
    """Names what the tests that passed have let pass because it was not measured on hardware."""
    found = {}
    for report in terminalreporter.stats.get("passed", ()):
        for key, value in report.user_properties:
            if key == NOT_YET:
                found.setdefault(value[0], []).append(value[1])
    for what, names in found.items():
        terminalreporter.section(f"{what}: {len(names)}", yellow=True)
        terminalreporter.line(", ".join(names))


@pytest.fixture
def not_yet(request):
    """A function of (what, names, how): kernels without a record of the hardware.

    They are named in the summary of the run, and the test goes on. With --release it fails, and
    says how the record is made.
    """

    def note(what, names, how):
        names = list(dict.fromkeys(names))
        if names and request.config.getoption("--release"):
            pytest.fail(f"{what}: {', '.join(names)}. {how}", pytrace=False)
        request.node.user_properties += [(NOT_YET, (what, name)) for name in names]

    return note


@pytest.fixture
def rng(request):
    """A random generator of the test's own, by the run's seed and the test's name."""
    print(f"{SEED}={os.environ[SEED]}")
    name = zlib.crc32(request.node.nodeid.encode())
    return numpy.random.default_rng([int(os.environ[SEED]), name])


def find_missing_reason(backend):
    """Why a machine is not here, or None where it is."""
    import smemkit

    try:
        smemkit.device_info(backend=backend)
    except smemkit.BackendError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def cuda_missing():
    """Why there is no GPU, or None where there is one."""
    return find_missing_reason("cuda")


def pytest_runtest_teardown(item, nextitem):
    """Behind a file, other processes get the memory of the device that this one keeps."""
    last = nextitem is None or nextitem.path != item.path
    if last and int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
        import smemkit

        smemkit.release_memory()


@pytest.fixture
def whole_device():
    """For tests that take most of a device's memory: they skip where others run beside them."""
    from support import alone

    alone.skip_without_its_memory()


@pytest.fixture
def quiet_device():
    """For tests that compare times: they skip where other tests have the device too."""
    from support import alone

    alone.skip_without_its_time()


@pytest.fixture(params=["sim", "cuda"])
def machine(request):
    """The name of a backend: each test that asks for it runs on both machines."""
    if request.param == "cuda":
        if request.getfixturevalue("cuda_missing") is not None:
            pytest.skip("no GPU (the head of this report says why)")
    return request.param
