"""Threads that use at once what calls share; without the GIL where Python can do that."""

import subprocess
import sys
import sysconfig

import pytest
from support import children

ROUNDS = 6

# A process of its own, so that the first uses of kernels, machine and memory meet each other.
SHARE = """
import sys, threading
import numpy as np
import smemkit

threads, rounds = 6, int(sys.argv[1])
together = threading.Barrier(threads)
rng = np.random.default_rng(3)
a = rng.integers(-4, 5, (24, 24)).astype(np.float32)
numbers = [float(i) for i in range(1 << 20)]
rows = [numbers[:1024] for _ in range(1024)]
variants = [n for n, x in smemkit.variants("gemm").items() if "float32" in x["dtypes"]]
ptx = smemkit.kernel("vector_add", "naive", dtype="float32").ptx
shared = smemkit.kernel("smooth", "shared", dtype="float32")
failures = []

def call_families(turn):
    for i in range(len(variants)):
        variant = variants[(i + turn) % len(variants)]
        assert np.array_equal(smemkit.gemm(a, a, variant=variant), a @ a)

def choose_machines(turn):
    for word in ("sim", "auto", None):
        smemkit.set_backend(word)
        assert smemkit.get_backend() in ("sim", "cuda") and smemkit.device_info()["name"]
    try:
        smemkit.set_backend("cuda")
        smemkit.set_backend(None)
    except smemkit.BackendError:
        pass

def load_modules(turn):
    for _ in range(3):
        module = smemkit.RawModule(ptx, backend="sim")
        kernels = [module.get_function(name) for name in module.kernels]
        assert len(kernels) == len(module.kernels) > 0 and repr(module)

stream, array = smemkit.Stream(backend="sim"), smemkit.asarray(a, backend="sim")

def share_streams(turn):
    event = smemkit.Event()
    with stream, smemkit.Stream(backend="sim") as own:
        own.wait(stream)
        product = smemkit.gemm(array, array, stream=stream if turn % 2 else own)
        event.record(own)
    assert np.array_equal(smemkit.asnumpy(product), a @ a) and event.done

def change_lists(turn):
    if turn % 2:
        for row in rows[:200]:
            row.append(0.0)
            row.pop()
        numbers[turn] = float(turn)
    else:
        assert smemkit.asarray(numbers, backend="sim").shape == (1 << 20,)
        try:
            smemkit.asarray(rows, backend="sim")
        except ValueError:  # NumPy has seen a row while it was longer
            pass

def measure(turn):
    report = smemkit.profile(smemkit.transpose, a, variant="padded")
    assert len(report.launches) == 1
    assert not smemkit.check(smemkit.smooth, a[0], variant="shared").findings

def use_arrays(turn):
    array = smemkit.asarray(a, backend="sim")
    assert np.array_equal(smemkit.asnumpy(smemkit.transpose(array, variant="shared")), a.T)
    shared.preferred_shared_memory_carveout = turn % 101
    assert -1 <= shared.preferred_shared_memory_carveout <= 100

WORK = (call_families, choose_machines, load_modules, change_lists, measure, use_arrays,
        share_streams)

def work(number):
    try:
        for turn in range(rounds):
            together.wait(60)
            WORK[(number + turn) % len(WORK) if turn % 2 else turn // 2 % len(WORK)](number + turn)
    except BaseException as error:
        failures.append(error)
        together.abort()

workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
if failures:
    raise failures[0]
print(getattr(sys, "_is_gil_enabled", lambda: True)())
"""


def run(code, *arguments):
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    with children.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    return out.strip()


def test_threads_share_everything():
    assert run(SHARE, str(2 * ROUNDS)) in ("True", "False")


def test_a_free_threaded_python_stays_without_the_gil():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python always has the GIL")
    assert run(SHARE, str(2 * ROUNDS)) == "False"
