"""How long work asks whether it is to end (csrc/base/poll.c, compiled by itself)."""

import ctypes
import shlex
import subprocess
import sysconfig
import time

import pytest
from support.paths import ROOT

PATIENCE_S = 10
CALL = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("poll") / "poll.so"
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    sources = [str(ROOT / "csrc/base" / name) for name in ("poll.c", "status.c")]
    words = ["-std=gnu11", "-O1", "-fPIC", "-shared", f"-I{ROOT / 'csrc'}", *sources]
    subprocess.run([*compiler, *words, "-o", str(path)], check=True, timeout=120)
    found = ctypes.CDLL(str(path))
    found.smk_poll_stop.restype = ctypes.c_bool
    return found


def ask_until_stopped(library):
    """Askings until work is to end."""
    start = time.monotonic()
    askings = 1
    while not library.smk_poll_stop():
        assert time.monotonic() < start + PATIENCE_S, "the work was never told to end"
        askings += 1
    return askings


def test_the_caller_is_asked_again_and_again(library):
    """A call that wants the work to end only the third time it is asked, 20 ms apart."""
    times = []

    @CALL
    def ends_the_third_time(_):
        times.append(time.monotonic())
        return len(times) == 3

    poll = ctypes.create_string_buffer(256)  # larger than the structure
    start = time.monotonic()
    library.smk_poll_begin(poll, ends_the_third_time, None)
    try:
        assert ask_until_stopped(library) >= 3 * 64  # the clock is looked at once in 64 askings
        assert library.smk_poll_stop()  # and so it stays, without another call
        assert len(times) == 3
    finally:
        library.smk_poll_end(poll)
    gaps = [b - a for a, b in zip([start, *times], times, strict=False)]
    assert min(gaps) > 0.019, gaps
    assert not library.smk_poll_stop()  # nobody is named any more


def test_work_inside_work_asks_its_own_caller(library):
    outer, inner = ctypes.create_string_buffer(256), ctypes.create_string_buffer(256)
    never, always = CALL(lambda _: False), CALL(lambda _: True)
    library.smk_poll_begin(outer, never, None)
    library.smk_poll_begin(inner, always, None)
    ask_until_stopped(library)
    library.smk_poll_end(inner)
    stopped = library.smk_poll_stop()
    library.smk_poll_end(outer)
    assert not stopped
