"""The times by which gemm's kernels are chosen, beside those that were measured on an H200."""

import numpy as np
import pytest

import smemkit
from smemkit.bench import records, shapes

RECORD, GROUPS = "h200", ("float32, named shapes", "float32, random shapes")


@pytest.fixture(scope="module")
def measured():
    """{(m, k, n): microseconds} of variant="auto"."""
    if "shapes" not in records.find_records().get(RECORD, {}):
        pytest.skip("nothing recorded: smemkit record --shapes on an H200 makes the record")
    rows = records.load_record(None, RECORD, "shapes").rows
    return {
        tuple(row.shape): 1e3 * row.median_ms
        for row in rows
        if row.parameters["group"] in GROUPS and row.variant == shapes.OURS
    }


def predict(shape):
    m, k, n = shape
    a, b = (np.broadcast_to(np.float32(1), sides) for sides in ((m, k), (k, n)))
    choice = smemkit.explain_choice(smemkit.gemm, a, b, backend="sim")
    return choice[choice.variant].time_us


def test_predicted_times_are_near_the_measured_ones(measured, monkeypatch):
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "132")
    assert len(measured) > 150
    ratios = np.array([predict(shape) / time_us for shape, time_us in measured.items()])
    assert 0.8 < np.median(ratios) < 1.2
    assert 0.55 < np.quantile(ratios, 0.05) and np.quantile(ratios, 0.95) < 1.6


# On 132 multiprocessors: (m, k, n), and the variants that are right.
PLAIN = [
    ((4096, 4096, 4096), ["tuned"]),
    ((8192, 8192, 8192), ["tuned"]),
    ((256, 256, 256), ["fma"]),
    ((1, 16384, 16384), ["vector"]),
    ((16384, 16384, 1), ["vector"]),
    ((4096, 2, 4096), ["fma", "lean", "short_k"]),
    ((3, 2, 3), ["lean", "short_k"]),
    ((64, 4096, 4096), ["direct"]),
]


@pytest.mark.parametrize(("shape", "right"), PLAIN, ids=str)
def test_plain_cases(shape, right, monkeypatch):
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "132")
    (m, k, n) = shape
    a, b = (np.broadcast_to(np.float32(1), sides) for sides in ((m, k), (k, n)))
    assert smemkit.explain_choice(smemkit.gemm, a, b, backend="sim").variant in right


def test_times_grow_with_the_work(monkeypatch):
    """Twice the work of a large product, or of a stack, takes nearly twice as long."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "132")
    for first, second in [((4096, 4096, 4096), (4096, 8192, 4096)), ((64,) * 3, (64, 640, 64))]:
        assert predict(first) < predict(second)
    assert 1.8 < predict((4096, 8192, 4096)) / predict((4096, 4096, 4096)) < 2.2


def test_a_long_k_of_float64_takes_short_k_as_long_as_measured(monkeypatch):
    """The record of variants has it: its products decide there, and not what it reads."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "132")
    rows = records.load_record(None, RECORD, "variants").rows
    found = [
        row
        for row in rows
        if (row.family, row.variant, row.dtype) == ("gemm", "short_k", "float64")
        and row.shape[1] >= 1024
    ]
    assert found
    for row in found:
        m, k, n = row.shape
        a, b = (np.broadcast_to(np.float64(1), sides) for sides in ((m, k), (k, n)))
        choice = smemkit.explain_choice(smemkit.gemm, a, b, backend="sim")
        assert choice["short_k"].time_us == pytest.approx(1e3 * row.median_ms, rel=0.1)


def test_the_simulator_has_the_multiprocessors_of_an_h200(monkeypatch):
    monkeypatch.delenv("SMEMKIT_SM_COUNT", raising=False)
    usual = predict((3000, 3000, 3000))
    count = int(smemkit.card("h200").multiprocessors)
    for said, is_same in ((count, True), (count + 1, False)):
        monkeypatch.setenv("SMEMKIT_SM_COUNT", str(said))
        assert (predict((3000, 3000, 3000)) == usual) == is_same
