"""gemm on the tensor cores of float64 without shared memory: blocks of all shapes, any layout."""

import numpy as np
import pytest
from support import shapes

import smemkit

# {part of the entry: (multiprocessors of a machine that takes it, products)}
PARTS = {
    "": (132, [(13, 33, 18), (33, 65, 17), (64, 32, 36), (1, 31, 36), (300, 33, 16)]),
    "large": (1, [(33, 9, 33), (40, 6, 36), (63, 3, 62), (64, 7, 64), (3, 5, 117)]),
    "apart": (132, [(70, 33, 15), (67, 9, 61), (64, 4, 34), (64, 32, 1)]),
    "apart_large": (1, [(70, 7, 61), (67, 3, 141), (64, 2, 130)]),
}


def predict(a, b):
    return smemkit.explain_choice(smemkit.gemm, a, b, device="h200")


def make(rng, m, k, n):
    return shapes.normal(rng, (m, k), "float64"), shapes.normal(rng, (k, n), "float64")


def check(a, b, got):
    """Each product and each sum is rounded once, in the order of k."""
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    bound = (a.shape[1] + 2) * np.finfo(np.float64).eps / 2 * (np.abs(a) @ np.abs(b))
    assert np.any(got) and (np.abs(got - exact) <= bound).all()


@pytest.mark.parametrize("part", PARTS)
def test_each_part(part, machine, rng, monkeypatch):
    count, products = PARTS[part]
    monkeypatch.setenv("SMEMKIT_SM_COUNT", str(count))
    for m, k, n in products:
        a, b = make(rng, m, k, n)
        (launch,) = smemkit.profile(smemkit.gemm, a, b, variant="unstaged", backend="sim").launches
        names = ("gemm", "unstaged", part, "float64")
        assert launch.kernel == "_".join(name for name in names if name)
        for x, y in shapes.turn_operands(a, b, machine):
            check(a, b, smemkit.asnumpy(smemkit.gemm(x, y, variant="unstaged")))


@pytest.mark.parametrize("n", [36, 37, 38])
@pytest.mark.parametrize("m", [21, 70])
def test_results_that_begin_anywhere(m, n, machine, rng):
    """What lies before a result, and behind it, is not written. 70 rows are taken apart."""
    a, b = make(rng, m, 7, n)
    for first in (1, 2, 3):
        room = smemkit.asarray(np.full(first + m * n + 1, np.pi), backend=machine)
        result = room[first : first + m * n].reshape(m, n)
        x, y = (smemkit.asarray(one, backend=machine) for one in (a, b))
        smemkit.gemm(x, y, variant="unstaged", out=result)
        got = smemkit.asnumpy(room)
        assert (got[:first] == np.pi).all() and got[-1] == np.pi
        check(a, b, got[first:-1].reshape(m, n))


def test_what_lies_outside_is_not_added(machine, rng):
    """Behind the rows and columns of the operands there is NaN."""
    m, k, n = 35, 9, 19
    rooms = [np.full(shape, np.nan) for shape in ((m + 5, k + 7), (k + 7, n + 5))]
    a, b = make(rng, m, k, n)
    rooms[0][:m, :k], rooms[1][:k, :n] = a, b
    x, y = (smemkit.asarray(room, backend=machine) for room in rooms)
    check(a, b, smemkit.asnumpy(smemkit.gemm(x[:m, :k], y[:k, :n], variant="unstaged")))


def test_infinities_and_nan_stay_in_their_rows_and_columns(machine, rng):
    a, b = make(rng, 40, 11, 30)
    a[5, 3], a[39, 10], b[0, 7], b[2, 29] = np.inf, np.nan, -np.inf, np.nan
    got = smemkit.gemm(a, b, variant="unstaged", backend=machine)
    with np.errstate(invalid="ignore"):
        expected = a @ b
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_products_fit_the_tensor_cores(rng):
    """mma makes 16 x 8 x 4 products, none twice; and nothing is staged."""
    a, b = make(rng, 64, 12, 32)
    counters = smemkit.profile(smemkit.gemm, a, b, variant="unstaged", backend="sim").counters
    assert counters["matrix.products"] == 64 * 12 * 32
    assert counters["matrix.instructions"] == 64 * 12 * 32 / (16 * 8 * 4)
    assert counters["shared.load.instructions"] == counters["shared.store.instructions"] == 0


def test_auto_takes_it_for_short_products_of_float64(rng):
    """On cards whose tensor cores are made for float64; float32 and others never."""
    for m, k, n in [(13, 23, 93), (20, 15, 59), (4101, 6, 30), (2203, 20, 162), (931, 42, 74)]:
        a, b = make(rng, m, k, n)
        assert predict(a, b).variant == "unstaged", (m, k, n)
        for device in ("a100", "rtx4090"):
            choice = smemkit.explain_choice(smemkit.gemm, a, b, device=device)
            assert choice.variant != "unstaged", device
    for m, k, n in [(300, 300, 300), (4000, 64, 4000), (100, 5000, 100), (1, 4000, 300)]:
        assert predict(*make(rng, m, k, n)).variant != "unstaged", (m, k, n)
