"""Modules of many parts: loading takes their length, kernels are made ready one by one, and a
signal ends it."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support import children

import smemkit

HEADER = ".version 8.7\n.target sm_90\n.address_size 64\n"
STORE = """\
.visible .entry {name}(.param .u64 a)
{{
.reg .b64 d; ld.param.u64 d, [a]; st.global.u32 [d], {value}; ret;
}}
"""


def entries(count):
    text = "".join(f".visible .entry k{i}() {{ ret; }}\n" for i in range(count))
    return HEADER + text + STORE.format(name="last", value=count)


def variables(count):
    text = "".join(f".global .b32 g{i} = {i};\n" for i in range(count))
    return HEADER + text + STORE.format(name="last", value=count)


def functions(count):
    text = "".join(f".func f{i}() {{ ret; }}\n" for i in range(count))
    return HEADER + text + STORE.format(name="last", value=count)


def constants(count):
    lines = "".join(f"add.u32 r{i % 97}, r{i * 7 % 91}, {i};\n" for i in range(count))
    return HEADER + (
        ".visible .entry last(.param .u64 a)\n{\n.reg .b32 r<100>; .reg .b64 d;\n"
        f"ld.param.u64 d, [a];\nmov.u32 r0, 0;\n{lines}st.global.u32 [d], {count};\nret;\n}}\n"
    )


def branches(count):
    lines = "".join(
        f"L{i}: add.u32 r{i % 97}, r{i * 7 % 91}, {i}; setp.eq.u32 p, r1, {i};\n"
        f"@p bra L{(i * 37 + 11) % count};\n"
        for i in range(count)
    )
    return HEADER + (
        ".visible .entry last(.param .u64 a)\n{\n.reg .b32 r<100>; .reg .pred p; .reg .b64 d;\n"
        f"ld.param.u64 d, [a];\n{lines}st.global.u32 [d], {count};\nret;\n}}\n"
    )


def call(module, name="last"):
    memory = np.zeros(1, np.uint32)
    module.get_function(name)((1,), (1,), (memory,))
    return int(memory[0])


# How long, how much ------------------------------------------------------------------------------

MEASURE = """
import resource, time
from sim.code import test_loading
import smemkit
build, count = getattr(test_loading, {build!r}), {count}
smemkit.RawModule(build(10), backend="sim")
text = build(count)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
module = smemkit.RawModule(text, backend="sim")
value = test_loading.call(module)
del module
seconds = time.process_time() - start
print(value, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def measure(build, count):
    """(seconds of the processor, kilobytes) that such a module takes to load and run."""
    program = MEASURE.format(build=build.__name__, count=count)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    value, seconds, kilobytes = done.stdout.split()
    assert int(value) == count
    return float(seconds), int(kilobytes)


@pytest.mark.parametrize(
    "build, count, seconds_most",
    [
        (entries, 100_000, 5),
        (variables, 80_000, 2),
        (functions, 100_000, 5),
        (constants, 50_000, 5),
    ],
    ids=["entries", "variables", "functions", "constants"],
)
def test_loading_is_linear(build, count, seconds_most):
    small, _ = measure(build, count // 10)
    seconds, kilobytes = measure(build, count)
    assert seconds < seconds_most
    assert seconds < 40 * max(small, 0.01)  # ten times the parts; with their square it is a hundred
    if build is not constants:
        assert kilobytes < 200_000


# One kernel at a time ----------------------------------------------------------------------------

HUGE = ".visible .entry huge()\n{ .shared .b8 s[60000]; ret; }\n"
ABSENT = ".extern .func nowhere();\n.visible .entry absent() { call nowhere; ret; }\n"


def test_a_kernel_that_cannot_run_leaves_the_others():
    module = smemkit.RawModule(
        HEADER + HUGE + ABSENT + STORE.format(name="good", value=7), backend="sim"
    )
    assert call(module, "good") == 7
    with pytest.raises(smemkit.SharedMemoryError, match="huge"):
        module.get_function("huge")
    for _ in range(2):
        with pytest.raises(smemkit.UnsupportedError, match="nowhere") as caught:
            module.get_function("absent")
        assert caught.value.ptx_line == 7
    late = smemkit.RawModule(HEADER + HUGE).get_function("huge")
    with pytest.raises(smemkit.SharedMemoryError, match="huge"):
        late((1,), (1,), (), backend="sim")


def test_an_entry_is_no_function():
    """Not by the address of the very entry that runs, either."""
    text = HEADER + (
        ".visible .entry k() { .reg .b64 f; mov.u64 f, k;\n"
        "P: .callprototype _ ();\ncall f, P;\nret; }\n"
    )
    with pytest.raises(smemkit.ExecutionError, match="not a function"):
        smemkit.RawModule(text, backend="sim").get_function("k")((1,), (1,), ())


def test_threads_ask_for_one_kernel_at_once():
    text = branches(300)
    for _ in range(5):
        module = smemkit.RawModule(text)
        start, results = threading.Barrier(8), []

        def run(module=module, start=start, results=results):
            memory = np.zeros(1, np.uint32)
            function = module.get_function("last")
            start.wait(30)
            function((1,), (1,), (memory,), backend="sim", max_steps=10**6)
            results.append(int(memory[0]))

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert results == [300] * 8


# Signals -----------------------------------------------------------------------------------------

CHILD = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from sim.code import test_loading
import smemkit
text = getattr(test_loading, {build!r})({count})
start = time.monotonic()
test_loading.call(smemkit.RawModule(text, backend="sim"))
whole = time.monotonic() - start
for share in (0.1, 0.3, 0.5, 0.7, 0.9):
    print(whole * share, flush=True)
    try:
        module = smemkit.RawModule(text, backend="sim")
        module.get_function("last")
        while True:
            time.sleep(0.01)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
assert test_loading.call(smemkit.RawModule(test_loading.entries(5), backend="sim")) == 5
assert test_loading.call(smemkit.RawModule(text, backend="sim")) == {count}
print("whole", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="no SIGINT here")
@pytest.mark.parametrize(
    "build, count",
    [(constants, 50_000), (branches, 10_000), (variables, 50_000), (entries, 50_000)],
    ids=["text", "branches", "variables", "entries"],
)
def test_interrupted(build, count):
    """Ctrl-C ends the reading and lowering of a large module, and all is as before."""
    program = CHILD.format(build=build.__name__, count=count)
    command = [sys.executable, "-c", program]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with children.started(command, **pipes) as child:
        late = []
        for _ in range(5):
            time.sleep(float(child.stdout.readline()))
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            late.append(float(child.stdout.readline()) - sent)
        rest, errors = child.communicate(timeout=120)
    assert rest == "whole\n", errors
    print(f"{build.__name__}: {', '.join(f'{1000 * t:.0f}' for t in late)} ms")
    assert sorted(late)[2] < 0.1  # other processes may delay one of them
    assert max(late) < 1.0
