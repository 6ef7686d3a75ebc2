"""Without the GIL: threads that simulate at once, Ctrl-C, and what kernels print."""

import io
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support import children, tables

import smemkit

SPIN = """
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
}
.visible .entry wait(.param .u64 flag)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [flag];
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra again;
    ret;
}
.visible .entry raise_flag(.param .u64 flag)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [flag];
    st.volatile.global.u32 [%rd1], 1;
    ret;
}
"""

INTERRUPTED = f"""
import threading, time, smemkit
kernel = smemkit.RawKernel('''{SPIN}''', "spin")
print("ready", flush=True)
try:
    kernel(1, 32, (), backend="sim", max_steps=2**63)
except KeyboardInterrupt as error:
    print(type(error).__name__, flush=True)
    try:
        kernel(1, 32, (), backend="sim", max_steps=1000)
    except smemkit.StepBudgetError:
        print("goes on", flush=True)
"""


def start(code):
    command = [sys.executable, "-c", code]
    return children.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_interrupt():
    with start(INTERRUPTED) as process:
        assert process.stdout.readline() == "ready\n"
        children.wait_until_busy(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.split("\n")[:2] == ["KeyboardInterrupt", "goes on"]


def test_a_signal_that_does_not_raise_changes_nothing():
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(smemkit.StepBudgetError):
            smemkit.RawKernel(SPIN, "spin")(1, 32, (), backend="sim", max_steps=60_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls == [1]


def test_an_exception_of_a_signal_handler_comes_out():
    def fail(*_):
        raise LookupError("mine")

    before = signal.signal(signal.SIGALRM, fail)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(LookupError, match="mine"):
            smemkit.RawKernel(SPIN, "spin")(1, 32, (), backend="sim", max_steps=2**63)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_two_simulations_at_once():
    """One kernel waits for what another one writes: it ends only if both run at the same time."""
    module = smemkit.RawModule(SPIN, backend="sim")
    flag = smemkit.asarray(np.zeros(1, np.uint32), backend="sim")
    failures = []

    def wait():
        try:
            module.get_function("wait")(1, 1, (flag,), max_steps=10**12)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    module.get_function("raise_flag")(1, 1, (flag,))
    thread.join(60)
    assert not thread.is_alive() and not failures


def test_python_goes_on_meanwhile():
    module = smemkit.RawModule(SPIN, backend="sim")
    flag = smemkit.asarray(np.zeros(1, np.uint32), backend="sim")
    thread = threading.Thread(target=module.get_function("wait"), args=(1, 1, (flag,)))
    thread.start()
    beats = 0
    while beats < 1000:
        beats += 1
    assert thread.is_alive()
    module.get_function("raise_flag")(1, 1, (flag,))
    thread.join(60)
    assert not thread.is_alive()


def test_one_kernel_in_many_threads(rng):
    a = rng.integers(-8, 8, (40, 40)).astype(np.float32)
    failures = []

    def work(variant):
        try:
            for _ in range(3):
                assert np.array_equal(smemkit.gemm(a, a, variant=variant, backend="sim"), a @ a)
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(variant,))
        for variant in [name for name, dtype in tables.list_plain() if dtype == "float32"] * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_simulation_at_the_end_of_the_process():
    code = f"""
import threading, smemkit
kernel = smemkit.RawKernel('''{SPIN}''', "spin")
call = lambda: kernel(1, 32, (), backend="sim", max_steps=2**63)
threading.Thread(target=call, daemon=True).start()
print("ends", flush=True)
"""
    with start(code) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "ends\n"), err


# What kernels print ------------------------------------------------------------------------------

PRINT = """
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[11] = {116, 104, 114, 101, 97, 100, 32, 37, 117, 10, 0};
.visible .entry say()
{
    .local .align 8 .b8 stack[8];
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x;
    st.local.u32 [stack], %r1;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd2, %rd1;
    mov.u64 %rd3, stack;
    cvta.local.u64 %rd3, %rd3;
    {
        .param .b64 format;
        st.param.b64 [format], %rd2;
        .param .b64 values;
        st.param.b64 [values], %rd3;
        .param .b32 status;
        call.uni (status), vprintf, (format, values);
        ld.param.b32 %r2, [status];
    }
    ret;
}
"""


def test_print_goes_to_standard_output(monkeypatch):
    kernel = smemkit.RawKernel(PRINT, "say")
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    kernel(20, 1, (), backend="sim")
    lines = stream.getvalue().splitlines()
    assert sorted(lines) == sorted(f"thread {i}" for i in range(20))
    monkeypatch.setattr(sys, "stdout", None)
    kernel(2, 1, (), backend="sim")


def test_a_stream_that_fails(monkeypatch):
    class Broken:
        def write(self, text):
            raise OSError("full")

        def flush(self):
            pass

    kernel = smemkit.RawKernel(PRINT, "say")
    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(OSError, match="full"):
        kernel(1, 1, (), backend="sim")
