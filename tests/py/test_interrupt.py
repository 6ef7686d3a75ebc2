"""Ctrl-C at many moments of calls that take long: they end soon, and the library works on.

A child makes the call again and again; the signal comes later each time. How long a call goes on
after it is told in seconds that its thread runs, which other processes do not lengthen.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import children

ROUNDS = 8
PATIENCE_S = 60
SOON_S = 0.3  # of most rounds, of which a quiet machine needs a third at most;
LATEST_S = 0.5  # of all, also where the system needs long to find memory

CHILD = """
import signal, sys, time
import numpy as np, smemkit

signal.signal(signal.SIGINT, signal.default_int_handler)
setup, call, whole = sys.argv[1:4]
names = {"np": np, "smemkit": smemkit}
exec(setup, names)
code, check = compile(call, "call", "eval"), compile(whole, "whole", "eval")
small = np.arange(64.0 * 64, dtype=np.float32).reshape(64, 64)

start = time.monotonic()
names["result"] = eval(code, names)
assert eval(check, names)
print(time.monotonic() - start, flush=True)

for _ in sys.stdin:
    names["result"] = None
    try:
        print("go", flush=True)
        names["result"] = eval(code, names)
        time.sleep(60)
    except KeyboardInterrupt:
        spent = time.thread_time()
    state = "ended" if names["result"] is not None else "stopped"
    assert eval(check, names), state
    print(state, spent, flush=True)
    assert np.array_equal(smemkit.transpose(small, backend="sim"), small.T)
    assert not smemkit.check(smemkit.transpose, small, variant="padded").findings
    round_trip = smemkit.asnumpy(smemkit.asarray(small.T, "f8", backend="sim"))
    assert np.array_equal(round_trip, small.T)
"""

MANY = 30_000_000
CASES = {
    "asarray": (f"x = np.ones({2 * MANY}, 'f4')", "smemkit.asarray(x, backend='sim')", "True"),
    "asarray_strided": (
        "x = np.ones((6000, 5000), 'f4').T",
        "smemkit.asarray(x, backend='sim')",
        "True",
    ),
    "asarray_swapped": (f"x = np.ones({MANY}, '>f4')", "smemkit.asarray(x, backend='sim')", "True"),
    "asarray_dtype": (
        f"x = np.ones({MANY}, 'f4')",
        "smemkit.asarray(x, 'f8', backend='sim')",
        "True",
    ),
    "asarray_of_another_type": (
        f"d = smemkit.asarray(np.ones({MANY}, 'f4'), backend='sim')",
        "smemkit.asarray(d, dtype='f8')",
        "(smemkit.asnumpy(d) == 1).all()",
    ),
    "asarray_list": (
        f"x = [0.5] * {MANY}",
        "smemkit.asarray(x, backend='sim')",
        "True",
    ),
    "list_operand": (
        "x = [[0.5] * 5000] * 6000",
        "smemkit.reduce(x, backend='sim')",
        "True",
    ),
    "asnumpy": (
        f"d = smemkit.asarray(np.ones({2 * MANY}, 'f4'), backend='sim')",
        "smemkit.asnumpy(d)",
        "True",
    ),
    "asnumpy_out": (
        "d = smemkit.asarray(np.ones((5000, 6000), 'f4'), backend='sim')\n"
        "out = np.zeros((6000, 5000), 'f4').T",
        "smemkit.asnumpy(d, out=out)",
        "result is None or (out == 1).all()",
    ),
    "copied_in_and_out": (
        f"x = np.ones({MANY}, 'f4')\nout = np.zeros_like(x)",
        "smemkit.vector_add(x, x, out=out, backend='sim')",
        "(x == 1).all() and ((out == 2).all() or (out == 0).all())",  # all of it, or nothing
    ),
    "strided_operands": (
        f"x = np.ones({MANY}, 'f4')[::2]",
        "smemkit.vector_add(x, x, backend='sim')",
        "True",
    ),
    "check": (
        f"x = np.ones({1 << 22}, 'f4')",
        "smemkit.check(smemkit.vector_add, x, x)",
        "True",
    ),
    "check_column": (
        "x = np.ones((2048, 1024), 'f4')",
        "smemkit.check(smemkit.transpose, x, variant='naive')",
        "True",
    ),
    "check_long": (
        "x = np.ones((300, 300), 'f4')",
        "smemkit.check(smemkit.gemm, x, x, variant='tiled')",
        "True",
    ),
    "profile": (
        "x = np.ones((400, 400), 'f4')",
        "smemkit.profile(smemkit.gemm, x, x, variant='tiled')",
        "True",
    ),
    "report": (
        "x = np.ones((64, 64), 'f4')\n"
        "found = smemkit.profile(smemkit.conv2d, x, x[:9, :9], variant='register')",
        "[found._repr_html_() for _ in range(4)]",
        "True",
    ),
}


def read_spent(process):
    """Seconds that the main thread of a process has run."""
    task = Path(f"/proc/{process.pid}/task/{process.pid}/schedstat")
    return int(task.read_text().split()[0]) / 1e9


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="no /proc/self/schedstat")
@pytest.mark.parametrize("name", CASES)
def test_ctrl_c(name):
    late = []
    with children.started(
        [sys.executable, "-c", CHILD, *CASES[name]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "SMEMKIT_THREADS": "1"},
    ) as process:
        whole_s = float(process.stdout.readline())
        for number in range(ROUNDS):
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "go\n"
            time.sleep(whole_s * number / ROUNDS)
            before = read_spent(process)
            process.send_signal(signal.SIGINT)
            _, spent = process.stdout.readline().split()
            late.append(float(spent) - before)
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
    print(name, f"{whole_s:.2f} s;", " ".join(f"{1e3 * s:.0f}" for s in late), "ms")
    assert sorted(late)[ROUNDS * 3 // 4] < SOON_S, late
    assert max(late) < LATEST_S, late
