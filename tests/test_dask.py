"""Dask: the page of the documentation runs; kernels, results and errors travel; workers share."""

import functools
import gc
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from support.paths import ROOT

import smemkit
from smemkit import bench, compile

REASON = "needs what pip install '.[dask]' brings"
for name in ("dask.array", "distributed"):
    pytest.importorskip(name, reason=REASON)

import dask.array  # noqa: E402
import distributed  # noqa: E402
from support import dask_tasks as tasks  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "libasan" in os.environ.get("LD_PRELOAD", ""),
        reason="the sanitizer's malloc hangs children",
    ),
]
needs_compiler = pytest.mark.skipif(
    compile.find_nvrtc() is None and compile.find_nvcc() is None,
    reason="no compiler of CUDA C here; the extra [test] brings one",
)
PAGE = ROOT / "docs/dask.md"
PATIENCE_S = 60
COMMON = {"dashboard_address": ":0", "memory_limit": None}  # :0 is any free port


@pytest.fixture(scope="module", autouse=True)
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    patch = pytest.MonkeyPatch()
    patch.setenv("SMEMKIT_BACKEND", "sim")
    with dask.config.set({"temporary-directory": str(folder)}):
        yield
    patch.undo()
    gc.collect()  # what Dask left open fails these tests, and not later ones


@pytest.fixture(scope="module")
def processes(settings):
    """A client of two processes, spawned, each with one thread."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, env={"SMEMKIT_THREADS": "1"}, **COMMON
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def kernels():
    module = smemkit.RawModule(tasks.SOURCE)
    return {name: module.get_function(name) for name in module.kernels}


@needs_compiler
def test_the_page_runs_and_prints_what_it_shows(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    shown = "".join(re.findall(r"```text\n(.*?)```", text, re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"DASK_TEMPORARY_DIRECTORY": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


# What travels ------------------------------------------------------------------------------------


def test_functions_as_tasks(processes, rng):
    a, b = rng.integers(-9, 9, (2, 40, 40)).astype("float32")
    product = processes.submit(smemkit.gemm, a, b, variant="padded")
    total = processes.submit(smemkit.reduce, processes.submit(np.ravel, product), "sum")
    assert np.array_equal(product.result(), a @ b) and total.result() == (a @ b).sum()


@needs_compiler
def test_kernels_as_arguments(processes, kernels):
    factors = range(10)
    found = processes.gather(processes.map(tasks.scale, factors, kernel=kernels["scale"]))
    assert [x.tolist() for x in found] == [[factor] * 100 for factor in factors]
    assert dask.base.tokenize(kernels["scale"]) == dask.base.tokenize(kernels["scale"])
    assert dask.base.tokenize(kernels["scale"]) != dask.base.tokenize(kernels["run_on"])


def test_reports_and_measurements_come_back(processes):
    x = np.ones((64, 64), np.float32)
    for function in (smemkit.profile, smemkit.check):
        found = processes.submit(function, smemkit.transpose, x, variant="shared").result()
        assert str(found) == str(function(smemkit.transpose, x, variant="shared"))
    families = ("gemm", "transpose", "dot")
    for family, future in zip(families, processes.map(tasks.measure, families), strict=True):
        found = future.result()
        assert isinstance(found, bench.Results) and {row.family for row in found} == {family}


FACTS = {"kernel": "f", "source_line": 3, "block": (1, 0, 2), "thread": (31, 0, 0)}


def test_every_error_comes_back_as_what_it_is(processes):
    classes = [getattr(smemkit, name) for name in smemkit.__all__ if name.endswith("Error")]
    classes += [bench.WrongResultError]
    assert len(classes) > 20
    futures = processes.map(functools.partial(tasks.fail, facts=FACTS), classes)
    for cls, future in zip(classes, futures, strict=True):
        error = future.exception()
        assert type(error) is cls and str(error) == "what is wrong"
        assert {key: getattr(error, key) for key in FACTS} == FACTS
        assert future.traceback() is not None


@needs_compiler
def test_a_fault_of_a_kernel_comes_back_with_its_place(processes, kernels):
    future = processes.submit(tasks.scale, 2, kernels["scale"], n=128)
    with pytest.raises(smemkit.OutOfBoundsError, match=r"past the end of args\[0\] \(x, float32"):
        future.result()
    error = future.exception()
    assert (error.kernel, error.block, error.thread) == ("scale", (0, 0, 0), (100, 0, 0))
    assert tasks.SOURCE.split("\n")[error.source_line - 1] == "        x[i] *= factor;"


def test_a_device_array_says_how_it_travels(processes):
    future = processes.submit(tasks.make_device_array)
    with pytest.raises(TypeError, match=r"pickle smemkit.asnumpy\(d\)"):
        future.result()


# Arrays by chunks --------------------------------------------------------------------------------

BORDERS = {"constant": 0, "reflect": "reflect", "nearest": "nearest", "wrap": "periodic"}


@pytest.mark.parametrize("mode", BORDERS)
def test_conv2d_by_chunks(processes, rng, mode):
    """Unequal chunks, and a filter with an even side; of whole numbers, so that all is exact."""
    pixels = rng.integers(-99, 99, (50, 47)).astype("float32")
    weights = rng.integers(-9, 9, (5, 4)).astype("float32")
    image = dask.array.from_array(pixels, chunks=((20, 30), (47,)))
    found = dask.array.map_overlap(
        smemkit.conv2d, image, depth=(2, 2), boundary=BORDERS[mode], weights=weights, dtype="f4"
    )
    assert np.array_equal(found.compute(), smemkit.conv2d(pixels, weights, mode))


def test_gemm_by_blocks(processes, rng):
    a = rng.integers(-9, 9, (70, 50)).astype("float32")
    b = rng.integers(-9, 9, (50, 33)).astype("float32")
    found = tasks.gemm(
        dask.array.from_array(a, chunks=(40, 20)), dask.array.from_array(b, chunks=(20, 33))
    )
    assert found.shape == (70, 33) and found.dtype == np.float32
    assert np.array_equal(found.compute(), a @ b)


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_reduce_by_chunks(processes, rng, op):
    values = rng.integers(-99, 99, (60, 41)).astype("int32")
    x = dask.array.from_array(values, chunks=(25, 20))
    step = functools.partial(tasks.reduce, op=op)
    found = dask.array.reduction(x, step, step, dtype="int32")
    assert found.compute() == getattr(values, op)()


# Workers -----------------------------------------------------------------------------------------


def test_workers_take_the_threads_they_are_given(processes):
    found = list(processes.run(tasks.count_threads).values())
    assert [one[:2] for one in found] == [("1", 1)] * 2
    assert len({pid for *_, pid in found} | {os.getpid()}) == 3


@needs_compiler
def test_cancelled_tasks_do_not_begin_and_a_restart_ends_what_runs(processes, kernels):
    busy = [processes.submit(tasks.run_on, kernels["run_on"], 2**62, pure=False) for _ in range(2)]
    waiting = processes.map(tasks.fill_matrix, range(20))
    wait_until(lambda: all(processes.processing().values()) and not any(f.done() for f in waiting))
    time.sleep(0.2)
    processes.cancel([*busy, *waiting])
    assert all(future.cancelled() for future in (*busy, *waiting))
    before = {pid for *_, pid in get_processes(processes)}
    processes.restart(timeout=PATIENCE_S)
    found = processes.gather(processes.map(tasks.fill_matrix, range(4)))
    assert [int(one[0, 0]) for one in found] == list(range(4))
    assert not before & {pid for *_, pid in get_processes(processes)}


def get_processes(client):
    return [(address, pid) for address, pid in client.run(os.getpid).items()]


@needs_compiler
def test_a_budget_ends_a_kernel_and_the_worker_goes_on(processes, kernels):
    error = processes.submit(tasks.run_on, kernels["run_on"], 10_000).exception()
    assert type(error) is smemkit.StepBudgetError and isinstance(error, TimeoutError)
    assert error.kernel == "run_on"
    assert processes.submit(tasks.fill_matrix, 7).result()[0, 0] == 7


def wait_until(reached):
    limit = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.fixture(scope="module")
def threads(settings):
    """A client of four threads of this process."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=4, processes=False, **COMMON
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_threads_profile_each_its_own_launches(threads):
    variants = list(smemkit.variants("transpose")) * 4
    futures = threads.map(tasks.count_conflicts, variants, pure=False)
    expected = {variant: tasks.count_conflicts(variant) for variant in variants}
    found = dict(zip(variants, threads.gather(futures), strict=True))
    assert found == expected and len(set(expected.values())) > 1


@needs_compiler
def test_threads_simulate_at_once(threads, kernels):
    """A kernel waits for what another task's kernel writes: neither has the GIL meanwhile."""
    tasks.flag[:] = [smemkit.zeros(1, "int32", backend="sim")]
    waiting = [threads.submit(tasks.touch_flag, kernels["wait_for"], pure=False) for _ in range(3)]
    time.sleep(0.1)
    assert not any(future.done() for future in waiting)
    ended = [*waiting, threads.submit(tasks.touch_flag, kernels["raise_flag"])]
    names = [future.result(timeout=PATIENCE_S) for future in ended]
    assert names == ["wait_for"] * 3 + ["raise_flag"]
    tasks.flag.clear()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python's, of fork beside threads
@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_workers_that_are_forked(method):
    """Also of a process that has simulated."""
    assert tasks.fill_matrix(3)[0, 0] == 3
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": method}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **COMMON) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = client.gather(client.map(tasks.fill_matrix, range(6)))
        assert [int(one[0, 0]) for one in found] == list(range(6))


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")  # beside a client
@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_schedulers_without_a_cluster(scheduler):
    values = [dask.delayed(tasks.fill_matrix)(value) for value in range(4)]
    found = dask.compute(*values, scheduler=scheduler, num_workers=2)
    assert [int(one[0, 0]) for one in found] == list(range(4))
