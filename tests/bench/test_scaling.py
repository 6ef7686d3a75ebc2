"""The time of a product over several devices, here over the only one."""

import pytest

import smemkit
from smemkit.bench import WrongResultError, scaling


@pytest.mark.parametrize("counts", [None, [1]])
def test_rows(counts):
    (row,) = scaling.measure_scaling(counts, size=70, samples=3, backend="sim")
    assert (row["device"], row["devices"], row["size"]) == ("smemkit simulator", 1, 70)
    assert len(row["samples_ms"]) == 3 and sorted(row["samples_ms"])[1] == row["time_ms"] > 0
    assert row["tflop_per_s"] == pytest.approx(2 * 70**3 / row["time_ms"] / 1e9)
    assert row["speedup"] == 1


def test_a_wrong_product_is_not_timed(monkeypatch):
    monkeypatch.setattr(smemkit, "gemm", lambda a, b, out, devices: out.fill(0))
    with pytest.raises(WrongResultError, match="gemm over devices: row 0 of the result is wrong"):
        scaling.measure_scaling(size=40, backend="sim")
