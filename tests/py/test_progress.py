"""Progress bars: on a terminal after two seconds, else silent; they do not change the work."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import numpy
import pytest
from support import children

import smemkit
from smemkit import _progress

SPIN = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry spin(.param .u32 count)
{
    .reg .b32 %r<3>;
    .reg .pred %p;
    ld.param.u32 %r1, [count];
L:  sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra L;
    ret;
}
"""
CALL = """
import signal, numpy, smemkit
from smemkit import _progress
signal.signal(signal.SIGINT, signal.default_int_handler)
_progress.DELAY_S = {delay}
kernel = smemkit.RawKernel({ptx!r}, "spin")
arguments = (({blocks},), (32,), (numpy.uint32({count}),))
try:
    {verb}
except KeyboardInterrupt:
    print("interrupted")
print("threads", smemkit._progress.threading.active_count())
"""


def run_at_terminal(
    verb, *, count, blocks=400, delay=0.1, interrupt_s=None, size=(30, 100), **environment
):
    """(what the terminal shows, what the process prints) of a child whose stderr is a terminal."""
    code = CALL.format(ptx=SPIN, verb=verb, count=count, blocks=blocks, delay=delay)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environment = {**os.environ, "SMEMKIT_BACKEND": "sim", "SMEMKIT_THREADS": "1", **environment}
    command = [sys.executable, "-c", code]
    shown = b""
    with children.started(
        command, 60, stderr=theirs, stdout=subprocess.PIPE, env=environment
    ) as child:
        os.close(theirs)
        while True:
            ready = select.select([ours], [], [], 0.05)[0]
            try:
                shown += os.read(ours, 65536) if ready else b""
            except OSError:  # the child has closed it
                break
            if interrupt_s is not None and b"%|" in shown:
                time.sleep(interrupt_s)
                child.send_signal(signal.SIGINT)
                interrupt_s = None
        printed = child.stdout.read()
    os.close(ours)
    return shown.decode(errors="replace"), printed


@pytest.fixture
def has_tqdm():
    pytest.importorskip("tqdm", reason="bars need tqdm; pip install 'smemkit[plot]'")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("kernel(*arguments)", "\rspin: "),
        ("kernel.profile(*arguments)", "\rprofile spin: "),
        ("kernel.check(*arguments)", "\rcheck spin: "),
    ],
)
def test_a_long_launch_shows_its_blocks(verb, words, has_tqdm):
    shown, printed = run_at_terminal(verb, count=200_000)
    assert words in shown and "/400 blocks" in shown
    assert shown.rstrip(" \r").endswith("]") and shown.endswith("\r")  # the bar is wiped
    assert printed == "threads 1\n"


@pytest.mark.slow
def test_interrupt_while_a_bar_is_shown(has_tqdm):
    shown, printed = run_at_terminal(
        "kernel.profile(*arguments)", count=2_000_000_000, blocks=2, interrupt_s=0.3
    )
    assert "profile spin: " in shown and "/2 blocks" in shown and "instructions" in shown
    assert shown.endswith(" \r") and printed == "interrupted\nthreads 1\n"


@pytest.mark.slow
@pytest.mark.parametrize("case", ["short", "off", "no tqdm"])
def test_nothing_is_shown(case, tmp_path):
    environment = {"SMEMKIT_PROGRESS": "0"} if case == "off" else {}
    if case == "no tqdm":
        (tmp_path / "tqdm.py").write_text("raise ImportError('none')")
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        environment = {"PYTHONPATH": path}
    delay = 2.0 if case == "short" else 0.1
    shown, printed = run_at_terminal(
        "kernel(*arguments)", count=100_000, blocks=300, delay=delay, **environment
    )
    assert shown == "" and printed == "threads 1\n"


def test_nothing_is_shown_without_a_terminal(monkeypatch, capfd):
    monkeypatch.setattr(_progress, "DELAY_S", 0.0)
    _make_spin()((300,), (32,), (numpy.uint32(10_000),))
    assert capfd.readouterr() == ("", "")


def _make_spin():
    return smemkit.RawModule(SPIN, backend="sim").get_function("spin")


@pytest.fixture
def told(monkeypatch):
    """What the extension tells: (kernel, launch, done, total, steps), or "end"."""
    heard = []
    monkeypatch.setattr(_progress, "tell", lambda *words: heard.append(words))
    monkeypatch.setattr(_progress, "end", lambda: heard.append("end"))
    monkeypatch.setenv("SMEMKIT_THREADS", "1")
    return heard


def test_what_the_extension_tells(told):
    _make_spin()((300,), (32,), (numpy.uint32(100_000),))
    *launch, last = told
    assert last == "end" and launch
    for (kernel, number, done, total, steps), after in zip(launch, launch[1:], strict=False):
        assert (kernel, number, total) == ("spin", 1, 300)
        assert done <= after[2] <= total and steps < after[4]


def test_a_short_launch_tells_nothing(told):
    _make_spin()((3,), (32,), (numpy.uint32(10),))
    assert told == []


def test_an_error_of_the_bar_does_not_end_the_work(monkeypatch):
    monkeypatch.setattr(_progress, "DELAY_S", 0.0)
    monkeypatch.setattr(_progress, "is_shown", lambda: True)
    asked = []

    def fail():
        asked.append(True)
        raise OSError("the terminal is gone")

    monkeypatch.setattr(_progress, "_find_class", fail)
    monkeypatch.setenv("SMEMKIT_THREADS", "1")
    _make_spin()((300,), (32,), (numpy.uint32(100_000),))
    assert asked == [True]  # and it is not asked again


def test_an_interrupt_of_the_bar_ends_the_work(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    ended = []
    monkeypatch.setattr(_progress, "tell", interrupt)
    monkeypatch.setattr(_progress, "end", lambda: ended.append(True))
    with pytest.raises(KeyboardInterrupt):
        _make_spin()((2,), (32,), (numpy.uint32(2_000_000_000),))
    assert ended == [True]


def test_other_threads_show_nothing(monkeypatch):
    drawn = []
    monkeypatch.setattr(_progress._Work, "draw", lambda *words: drawn.append(words))
    monkeypatch.setenv("SMEMKIT_THREADS", "1")
    call = (300,), (32,), (numpy.uint32(100_000),)
    thread = threading.Thread(target=_make_spin().profile, args=call, kwargs={"blocks": 100})
    thread.start()
    thread.join()
    assert drawn == [] and _progress._open == [] and _progress._alone is None


class Drawn:
    """A class of bars that remembers what it shows."""

    made = []

    def __init__(self, **words):
        self.__dict__.update(words, is_open=True, shown=[], n=words["initial"])
        Drawn.made.append(self)

    def reset(self, total):
        self.total = total

    def set_description_str(self, words, refresh):
        self.desc = words

    def set_postfix_str(self, words, refresh):
        self.postfix = words

    def refresh(self):
        self.shown.append((self.desc, self.n, self.total, self.unit, self.postfix))

    def close(self):
        self.is_open = False


@pytest.fixture
def bars(monkeypatch):
    Drawn.made = []
    monkeypatch.setattr(_progress, "DELAY_S", 0.0)
    monkeypatch.setattr(_progress, "is_shown", lambda: True)
    monkeypatch.setattr(_progress, "_find_class", lambda: Drawn)
    return Drawn.made


def test_launches_of_one_operation_share_a_bar(bars):
    with _progress.operation("profile"):
        _progress.tell("one", 1, 3, 10, 1000)
        _progress.end()
        _progress.tell("two", 1, 0, 5, 2_000_000_000)
        with _progress.operation("check"):  # a part of the other
            _progress.tell("two", 1, 1, 500, 0)
    (bar,) = bars
    assert bar.shown == [
        ("profile one", 3, 10, "blocks", "1,000 instructions"),
        ("profile two", 0, 5, "blocks", "2.0 billion instructions"),
        ("profile two", 1, 500, "blocks", ""),
    ]
    assert not bar.is_open and _progress._open == []


def test_copies_have_a_bar(bars):
    """A call on a GPU may copy for long; what Python tells of it is the bytes of all its copies."""
    _progress.tell_copy(3_000_000, 2_000_000_000)
    _progress.tell_copy(1_500_000_000, 2_000_000_000)
    _progress.end()
    with _progress.Steps(2) as steps:
        steps.begin("gemm")
        _progress.tell_copy(5_000_000_000, 8_000_000_000)
    assert [bar.shown for bar in bars] == [
        [("copies", 3, 2000, "MB", ""), ("copies", 1500, 2000, "MB", "")],
        [("gemm", 0, 2, "steps", ""), ("gemm", 0, 2, "steps", "copies: 5,000 of 8,000 MB")],
    ]
    assert not any(bar.is_open for bar in bars)


def test_a_benchmark_shows_its_steps_and_their_launches(bars):
    with _progress.Steps(2) as steps:
        steps.begin("gemm")
        _progress.tell("one", 1, 3, 1000, 0)
        _progress.end()
        steps.advance()
    (bar,) = bars
    assert bar.shown == [
        ("gemm", 0, 2, "steps", ""),
        ("gemm", 0, 2, "steps", "one: block 3 of 1,000"),
        ("gemm", 1, 2, "steps", ""),
    ]
    assert not bar.is_open
    with _progress.Steps(2, wanted=False) as steps:
        steps.begin("gemm")
        _progress.tell("one", 1, 3, 1000, 0)
    assert len(bars) == 1


@pytest.mark.parametrize(
    ("variable", "terminal", "shown"),
    [(None, True, True), ("1", True, True), ("0", True, False), (None, False, False)],
)
def test_when_bars_are_shown(variable, terminal, shown, monkeypatch):
    monkeypatch.delenv("SMEMKIT_PROGRESS", raising=False)
    if variable is not None:
        monkeypatch.setenv("SMEMKIT_PROGRESS", variable)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    assert _progress.is_shown() is shown


def test_without_a_standard_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    assert _progress.is_shown() is False


@pytest.mark.slow
def test_a_terminal_without_a_width(has_tqdm):
    """A pseudoterminal may tell a size of 0 x 0; a bar of no columns would be invisible."""
    shown, _ = run_at_terminal(
        "kernel.profile(*arguments)", count=50_000, size=(0, 0), COLUMNS="60"
    )
    assert "\rprofile spin: " in shown and "/400 blocks" in shown
    assert max(map(len, shown.split("\r"))) <= 60
