"""The capture behind profile and check: what a captured call gives, and what it leaves behind."""

import doctest
import gc
import io
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from support import children
from support.handmade import GOOD, build, check_still_works, load

import smemkit
from smemkit import _core

LIMIT = 5000  # more allocations than any of these calls makes


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")  # launches on a GPU are not watched
    yield
    _core._fail_after(0)
    assert watch("profile", int) == (0, [])  # no watch is installed


def watch(mode, function, *args, blocks=0, model=True, **kwargs):
    return _core._capture(mode, function, args, kwargs, blocks, model)


def call_good(n=1, out=None):
    out = np.zeros(32, np.uint32) if out is None else out
    kernel = load(GOOD, "good", backend=None)
    for _ in range(n):
        kernel(1, 32, (out,))
    return out


# What comes back ---------------------------------------------------------------------------------


def test_result_and_launches_in_order():
    def work(n, *, name):
        call_good()
        c = smemkit.gemm(np.ones((n, n)), np.ones((n, n)), variant="tiled")
        return c, name

    (c, name), launches = watch("profile", work, 40, name="x")
    assert (c == 40).all() and name == "x"
    assert [launch["kernel"] for launch in launches] == ["good", "gemm_tiled_float64"]
    good = launches[0]
    assert good.keys() == {
        "kernel",
        "grid",
        "block",
        "shared",
        "shared_bytes",
        "blocks",
        "blocks_total",
        "modelled",
        "ptx",
        "counters",
        "lines",
        "instructions",
        "samples",
        "footprint",
        "busiest",
    }
    assert good["ptx"] == GOOD and good["grid"] == (1, 1, 1) and good["block"] == (32, 1, 1)
    assert good["counters"]["global.store.requests"] == 1
    (sample,) = good["samples"]
    assert sample.keys() == {
        "function",
        "ptx_line",
        "file",
        "line",
        "space",
        "op",
        "bytes",
        "mask",
        "cost",
        "block",
        "warp",
        "addresses",
        "rule",
    }


def test_results_are_those_of_a_plain_call(rng):
    a, b = rng.standard_normal((70, 33)), rng.standard_normal((33, 50))
    for variant in (n for n, v in smemkit.variants("gemm").items() if "float64" in v["dtypes"]):
        plain = smemkit.gemm(a, b, variant=variant, backend="sim")
        for mode in ("profile", "check"):
            watched, _ = watch(mode, smemkit.gemm, a, b, variant=variant)
            assert (watched == plain).all()


def test_check_launches():
    _, (launch,) = watch("check", call_good)
    assert launch.keys() == {
        "kernel",
        "grid",
        "block",
        "shared_bytes",
        "blocks",
        "blocks_total",
        "ptx",
        "truncated",
        "stopped",
        "findings",
        "incomplete",
    }
    assert launch["findings"] == [] and launch["stopped"] is None and not launch["truncated"]
    assert launch["incomplete"] == 0


def test_check_findings():
    out = np.zeros(20, np.uint32)
    _, (launch,) = watch("check", call_good, 1, out)
    (finding,) = launch["findings"]
    assert finding["kind"] == "out_of_bounds" and finding["count"] >= 1 and finding["message"]
    assert finding["second"] is None
    side = finding["first"]
    assert side["op"] == "store" and side["space"] == "global" and side["bytes"] == 4
    assert side["ptx"] == "st.global.u32 [%rd1], %r2;" and side["function"] == "good"
    assert side["thread"] == (20, 0, 0) and side["block"] == (0, 0, 0)
    assert side["address"] % 4 == 0 and isinstance(side["variable"], str)
    assert (side["file"], side["line"]) == (None, None)


def test_without_launches():
    assert watch("profile", lambda: 5) == (5, [])
    c, launches = watch("profile", smemkit.gemm, np.ones((0, 3)), np.ones((3, 4)))
    assert c.shape == (0, 4) and launches == []


def test_kernels_that_are_gone():
    """Facts are taken while the code is there."""
    _, launches = watch("profile", lambda: [call_good() is None for _ in range(3)])
    gc.collect()
    assert [launch["ptx"] for launch in launches] == [GOOD] * 3


def test_counters_door():
    rows = _core._counters()
    assert isinstance(rows, tuple) and all(isinstance(row["ratio"], bool) for row in rows)


def test_sample_of_blocks_is_copied_out():
    text = build(
        """
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], 1;""",
        ".param .u64 out",
    )
    out = np.zeros(100, np.uint32)
    _, (launch,) = watch("profile", load(text), 100, 1, (out,), blocks=10)
    assert launch["blocks"] == 10 and launch["blocks_total"] == 100
    assert np.flatnonzero(out).tolist() == list(range(0, 100, 10))


# The machine -------------------------------------------------------------------------------------


@pytest.fixture
def no_choice():
    yield
    smemkit.set_backend(None)


@pytest.mark.parametrize("mode", ["profile", "check"])
def test_everything_runs_on_the_simulator(mode, monkeypatch, no_choice):
    monkeypatch.setenv("SMEMKIT_BACKEND", "cuda")

    def work(**options):
        assert smemkit.get_backend() == "sim"
        assert smemkit.asarray([1.0]).backend == "sim"
        return smemkit.gemm(np.ones((2, 2)), np.ones((2, 2)), **options)

    for options in ({}, {"backend": "auto"}, {"backend": "sim"}, {"backend": None}):
        _, launches = watch(mode, work, **options)
        assert len(launches) == 1


@pytest.mark.parametrize(("mode", "word"), [("profile", "counts"), ("check", "watches")])
def test_cuda_by_name(mode, word):
    a = np.ones((2, 2))
    for function, args in [
        (smemkit.gemm, (a, a)),
        (load(GOOD, "good"), (1, 32, (np.zeros(32, np.uint32),))),
        (smemkit.asarray, (a,)),
        (smemkit.empty, (3,)),
    ]:
        with pytest.raises(smemkit.BackendError, match=f"{mode} {word} on the simulator"):
            watch(mode, function, *args, backend="cuda")


def test_arrays_on_the_gpu(machine):
    a = smemkit.asarray(np.ones((2, 2)), backend=machine)
    if machine == "cuda":
        with pytest.raises(smemkit.BackendError, match="simulator"):
            watch("profile", smemkit.gemm, a, a)
    else:
        c, launches = watch("profile", smemkit.gemm, a, a)
        assert len(launches) == 1 and (smemkit.asnumpy(c) == 2).all()


def test_time(machine):
    a = np.ones((64, 64), np.float32)
    _, launches = watch("time", smemkit.gemm, a, a, backend=machine, variant="tiled")
    if machine == "sim":
        assert launches == []
    else:
        (launch,) = launches
        assert launch.keys() == {"kernel", "grid", "block", "shared_bytes", "time_ms"}
        assert launch["kernel"] == "gemm_tiled_float32" and 0 < launch["time_ms"] < 1000
        assert launch["shared_bytes"] == 2 * 32 * 32 * 4


# What goes wrong ---------------------------------------------------------------------------------


def test_arguments():
    for mode, blocks in [("trace", 0), ("profile", -1), ("profile", 2**64)]:
        with pytest.raises(smemkit.ArgumentError):
            watch(mode, int, blocks=blocks)
    with pytest.raises(smemkit.ArgumentTypeError, match="blocks must be an int, not bool"):
        watch("profile", int, blocks=True)
    with pytest.raises(smemkit.ArgumentTypeError, match="blocks must be an int, not str"):
        watch("profile", int, blocks="3")
    with pytest.raises(smemkit.ArgumentTypeError, match="mode"):
        watch(3, int)
    for args in [(), ("profile", int, (), {}, 0), ("profile", int, [], {}, 0, True)]:
        with pytest.raises(TypeError):
            _core._capture(*args)
    with pytest.raises(TypeError, match="not callable"):
        watch("profile", 3)


def test_exception_goes_through():
    error = ZeroDivisionError("x")

    def work():
        call_good()
        raise error

    with pytest.raises(ZeroDivisionError) as caught:
        watch("profile", work)
    assert caught.value is error


def test_kernel_error_is_that_of_a_plain_call():
    out = np.zeros(20, np.uint32)
    kernel = load(GOOD, "good")
    errors = []
    for function in (kernel, lambda *args: watch("profile", kernel, *args)):
        with pytest.raises(smemkit.OutOfBoundsError) as caught:
            function(1, 32, (out,))
        errors.append(caught.value)
    plain, watched = errors
    for name in ("kernel", "ptx_line", "source_file", "source_line", "block", "thread"):
        assert getattr(plain, name) == getattr(watched, name)
    assert not out.any()
    check_still_works()


def test_step_budget():
    with pytest.raises(smemkit.StepBudgetError):
        watch("profile", load(build("again:\n bra again;")), 1, 32, (), max_steps=10000)


def test_watch_in_watch():
    def work():
        call_good()
        with pytest.raises(smemkit.ArgumentError, match="already recorded by profile or predict"):
            watch("check", int)
        call_good()

    _, launches = watch("profile", work)
    assert len(launches) == 2


def test_other_threads_are_not_watched():
    def work():
        call_good()
        seen = []
        other = threading.Thread(target=lambda: seen.append(watch("profile", call_good, 3)))
        plain = threading.Thread(target=call_good)
        for thread in (other, plain):
            thread.start()
        for thread in (other, plain):
            thread.join()
        return seen

    seen, launches = watch("profile", work)
    assert len(launches) == 1 and len(seen[0][1]) == 3


def test_launches_from_within_a_launch():
    """What a kernel prints goes to Python code, which may launch kernels itself."""
    text = build(
        """
    .local .align 8 .b8 l[8];
    mov.u64 %rd1, words;
    cvta.global.u64 %rd1, %rd1;
    mov.u64 %rd2, 0;
    {
    .param .b64 x;
    .param .b64 y;
    .param .b32 z;
    st.param.b64 [x], %rd1;
    st.param.b64 [y], %rd2;
    call.uni (z), vprintf, (x, y);
    ld.param.b32 %r1, [z];
    }""",
        before="""
.global .align 1 .b8 words[4] = {104, 105, 10, 0};
.extern .func (.param .b32 z) vprintf(.param .b64 x, .param .b64 y);""",
    )

    class Screen(io.StringIO):
        def write(self, piece):
            call_good()
            return super().write(piece)

    kernel = load(text)
    screen, before = Screen(), sys.stdout
    sys.stdout = screen
    try:
        _, launches = watch("profile", kernel, 1, 1, ())
    finally:
        sys.stdout = before
    assert screen.getvalue() == "hi\n"
    assert sorted(launch["kernel"] for launch in launches) == ["good", "k"]


INTERRUPTED = """
import smemkit
from smemkit import _core
kernel = smemkit.RawKernel('''
.version 7.0
.target sm_75
.address_size 64
.visible .entry spin()
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 0;
again:
    add.u64 %rd1, %rd1, 1; // so that it is not found to repeat its steps for ever
    bra again;
}''', "spin")
print("ready", flush=True)
try:
    _core._capture("profile", kernel, (1, 32, ()), {"max_steps": 2**63}, 0, True)
except KeyboardInterrupt as error:
    print(type(error).__name__, _core._capture("profile", int, (), {}, 0, True), flush=True)
"""


def test_interrupt():
    command = [sys.executable, "-c", INTERRUPTED]
    with children.started(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        children.wait_until_busy(process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert out == "KeyboardInterrupt (0, [])\n"


@pytest.mark.parametrize("mode", ["profile", "check"])
def test_memory_failures(mode):
    """Every allocation fails once: MemoryError, no watch is left, and then it works."""
    text = build(
        """
    .shared .align 4 .b8 s[128];
    .local .align 4 .b8 l[16];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    mad.lo.u32 %r2, %r1, 4, %r2;
    st.shared.u32 [%r2], %r1;
    bar.sync 0;
    ld.shared.u32 %r3, [%r2];
    st.local.u32 [l], %r3;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r3;""",
        ".param .u64 out",
    )
    for n in range(1, LIMIT):
        kernel = load(text)
        out = np.zeros(32, np.uint32)
        _core._fail_after(n)
        try:
            _, launches = watch(mode, kernel, 1, 32, (out,))
        except MemoryError as error:
            assert isinstance(error, smemkit.OutOfMemoryError)
        else:
            break
        finally:
            _core._fail_after(0)
        assert watch(mode, int) == (0, [])
    else:
        pytest.fail("no end of allocations")
    assert n > 20 and len(launches) == 1 and (out == np.arange(32)).all()


def test_nothing_leaks():
    def count():
        gc.collect()
        return sys.getrefcount(GOOD), len(gc.get_objects())

    for mode in ("profile", "check"):
        watch(mode, call_good, 3)
        before = count()
        for _ in range(5):
            watch(mode, call_good, 3)
        references, objects = count()
        # objects of others, of an earlier test, may go meanwhile
        assert references == before[0] and objects <= before[1]


# Kernels of one's own ----------------------------------------------------------------------------


def test_source():
    module = smemkit.RawModule(GOOD)
    assert module.source is None and module.get_function("good").source is None


def test_source_of_cuda_c(monkeypatch):
    from smemkit import compile as compiler

    monkeypatch.setattr(compiler, "compile_by", lambda source, options=(): (GOOD, "a test"))
    text = 'extern "C" __global__ void good() {} // \u00e9'
    for code in (text, text.encode()):
        assert smemkit.RawKernel(code, "good").source == text
        assert smemkit.RawModule(code).source == text


@pytest.mark.parametrize("name", ["profile", "check"])
def test_methods(name, monkeypatch):
    """They hand everything to smemkit.report, and their examples run."""
    from smemkit import report

    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    method = getattr(smemkit.RawKernel, name)
    (test,) = doctest.DocTestFinder().find(method, name, module=False, globs={})
    log = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=log.append)
    assert result.attempted > 3 and result.failed == 0, "".join(log)

    calls = []
    monkeypatch.setattr(report, name, lambda *args, **kwargs: calls.append((args, kwargs)) or 7)
    kernel = load(GOOD, "good")
    assert getattr(kernel, name)(1, 32, (3,), blocks=2) == 7
    assert calls == [((kernel, 1, 32, (3,)), {"blocks": 2})]


# The watch ---------------------------------------------------------------------------------------


def test_a_watch_hears_of_launches_that_nobody_captures():
    heard = []
    assert _core._watch(heard.extend) is None
    try:
        call_good(2)
        watch("check", call_good)
        watch("profile", call_good)
    finally:
        assert _core._watch(None) is not None
    call_good()
    assert [launch["kernel"] for launch in heard] == ["good", "good"]
    assert [launch["findings"] for launch in heard] == [[], []]


def test_what_a_listener_raises_ends_the_call():
    def refuse(launches):
        raise KeyError(launches[0]["kernel"])

    with pytest.raises(smemkit.ArgumentTypeError, match="callable or None, not int"):
        _core._watch(3)
    _core._watch(refuse)
    try:
        with pytest.raises(KeyError, match="good"):
            call_good()
    finally:
        _core._watch(None)
