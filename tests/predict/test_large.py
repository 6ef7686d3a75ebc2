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


# The same of arrays of NumPy, whose pages nobody has touched.
BORROWED = """
import resource, numpy, smemkit
small = numpy.ones((64, 64), "float32")
smemkit.predict(smemkit.transpose, small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
x, y = (numpy.zeros((10_000, 20_000), "float32") for _ in range(2))
found = smemkit.predict(smemkit.transpose, x, out=y.reshape(20_000, 10_000))
assert 0.3 < found.time_ms < 0.6, found
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_arrays_of_numpy_are_not_copied():
    done = subprocess.run(
        [sys.executable, "-c", BORROWED], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200  # of 1,500


def test_a_prediction_touches_what_its_blocks_touch():
    a = numpy.arange(1 << 20, dtype="float32").reshape(1024, 1024)
    a.setflags(write=False)
    kept, out = a.copy(), numpy.full((1024, 1024), -1, "float32")
    smemkit.predict(smemkit.transpose, a, variant="padded", out=out)
    assert (a == kept).all()
    written = out != -1
    assert 0 < written.sum() <= 6 * 32 * 32
    assert (out[written] == a.T[written]).all()


def test_it_does_not_matter_where_arrays_lie():
    a = numpy.ones((512, 513), "float32")
    there = smemkit.asarray(a, backend="sim")
    apart = numpy.ones(512 * 513 + 1, "float32")[1:].reshape(512, 513)
    found = {smemkit.predict(smemkit.reduce, each, axis=1).time_ms for each in (a, there, apart)}
    assert len(found) == 1


WRITER = """.version 8.0
.target sm_75
.address_size 64
.visible .entry write(.param .u64 to) {
    .reg .b64 %rd<2>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, 5;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""


def test_what_a_kernel_of_others_may_change_is_copied():
    kernel = smemkit.RawModule(code=WRITER).get_function("write")
    x = numpy.zeros(32, "int32")
    assert kernel.predict((1,), (1,), (x,)).time_ms > 0
    assert x.tolist() == [5] + 31 * [0]
    x[0] = 0
    x.setflags(write=False)
    with pytest.raises(smemkit.ArgumentError, match="read-only"):
        kernel.predict((1,), (1,), (x,))
    assert not x.any()


@pytest.mark.parametrize(
    ("blocks", "error", "said"),
    [
        (0, smemkit.ArgumentError, "blocks is 0; 1 or more is needed, or None for all"),
        (-1, smemkit.ArgumentError, "blocks is -1; 1 or more"),
        (1.5, smemkit.ArgumentTypeError, "blocks must be an int or None, not 1.5"),
    ],
)
def test_a_number_of_blocks_that_is_none_is_refused(blocks, error, said):
    a = numpy.ones((64, 64), numpy.float32)
    with pytest.raises(error, match=said):
        smemkit.predict(smemkit.transpose, a, blocks=blocks)
