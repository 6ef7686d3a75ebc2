"""Predictions of large calls: their arrays take memory only where a kernel writes."""

import re
import subprocess
import sys

import numpy
import pytest

import smemkit
from smemkit import __main__ as command
from smemkit.predict import planning

# What a process holds at most, in MiB, behind what it has imported.
LARGE = """
import resource, smemkit
from smemkit.predict.planning import make_sparse
small = make_sparse((1000,), "float32")
smemkit.predict(smemkit.vector_add, small, small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
x, y = (make_sparse((2_000_000_000,), "float32") for _ in range(2))
found = smemkit.predict(smemkit.vector_add, x, y, device="h200")
scanned = smemkit.predict(smemkit.scan, x, device="h200")
assert 5 < found.time_ms < 8 and 3 < scanned.time_ms < 6, (found, scanned)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_arrays_of_many_gigabytes_take_no_memory():
    done = subprocess.run(
        [sys.executable, "-c", LARGE], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 400


def test_sparse_arrays_are_zeros_and_can_be_written():
    x = planning.make_sparse((1 << 24,), numpy.dtype("float32"))
    assert x.shape == (1 << 24,) and not smemkit.asnumpy(x)[::4096].any()
    x[:3] = 7
    assert smemkit.asnumpy(x)[:5].tolist() == [7, 7, 7, 0, 0]


def test_arrays_that_are_not_written_may_exceed_memory_and_others_not():
    most = smemkit._core._config()["memory_bytes"]
    x = planning.make_sparse((2 * most,), numpy.dtype("uint8"))
    with pytest.raises(smemkit.OutOfMemoryError, match="has no memory for"):
        x[:1] = 1
    with pytest.raises(smemkit.OutOfMemoryError, match="has no memory for"):
        smemkit.empty(2 * most, "uint8", backend="sim")


def test_copies_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(planning, "find_free_bytes", lambda: 1 << 28)
    x = numpy.zeros(1 << 26, "float32")
    with pytest.raises(smemkit.OutOfMemoryError, match=r"0\.5 GiB, and 0\.2 GiB of memory are fr"):
        smemkit.predict(smemkit.vector_add, x, x)
    assert smemkit.predict(smemkit.reduce, x).time_ms > 0


def test_free_memory_is_that_of_the_system(monkeypatch, tmp_path):
    assert 0 < planning.find_free_bytes() <= smemkit._core._config()["memory_bytes"]
    monkeypatch.setattr(planning, "MEMORY", tmp_path / "meminfo")
    assert planning.find_free_bytes() == smemkit._core._config()["memory_bytes"]
    planning.MEMORY.write_text("MemTotal: 64 kB\nMemAvailable:   48 kB\n")
    assert planning.find_free_bytes() == 48 * 1024


def test_the_command_predicts_large_calls(capsys):
    assert command.main(["predict", "gemm/naive", "--shape", "40000", "--blocks", "1"]) == 0
    assert re.search(r"gemm_naive_float32: [\d.]+ s on H200", capsys.readouterr().out)


def test_the_command_refuses_values_that_do_not_fit(monkeypatch, capsys):
    monkeypatch.setattr(planning, "find_free_bytes", lambda: 1 << 20)
    assert command.main(["predict", "sort", "--shape", "100000000"]) != 0
    assert "random operands of --shape 100000000 take 1.5 GiB" in capsys.readouterr().err
