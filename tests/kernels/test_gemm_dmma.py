"""gemm on the tensor cores of float64: tiles of all shapes, operands of all layouts."""

import numpy as np
import pytest
from support import shapes

import smemkit

# {part of the entry: products for which a machine of one multiprocessor takes that tile}
TILES = {
    "low": [(3, 200, 24), (8, 71, 32)],
    "thin": [(30, 200, 4), (40, 71, 5)],
    "small": [(64, 200, 24)],
    "joint": [(33, 71, 31), (24, 72, 62)],
    "square": [(33, 70, 33), (33, 70, 34), (33, 71, 48)],
    "wide": [(66, 300, 250), (66, 301, 250)],
    "large": [(128, 600, 250), (128, 602, 128), (128, 601, 251)],
    "": [(128, 301, 130), (250, 300, 130)],
}


def check(a, b, got):
    """Each product and each sum is rounded once, in some order."""
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    bound = (a.shape[1] + 2) * np.finfo(np.float64).eps / 2 * (np.abs(a) @ np.abs(b))
    assert np.any(got) and (np.abs(got - exact) <= bound).all()


@pytest.mark.parametrize("part", TILES)
def test_each_tile(part, machine, rng, monkeypatch):
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "1")
    for m, k, n in TILES[part]:
        a, b = shapes.normal(rng, (m, k), "float64"), shapes.normal(rng, (k, n), "float64")
        report = smemkit.profile(smemkit.gemm, a, b, variant="dmma", backend="sim", blocks=1)
        names = ("gemm", "dmma", part, "float64")
        assert report.launches[0].kernel == "_".join(name for name in names if name)
        for x, y in shapes.turn_operands(a, b, machine):
            check(a, b, smemkit.asnumpy(smemkit.gemm(x, y, variant="dmma")))


def test_rows_at_odd_addresses(machine, rng):
    """Operands and results that begin at an odd multiple of 8 bytes."""
    m, k, n = 70, 64, 36
    room = smemkit.zeros(1 + m * n, "float64", backend=machine)
    a, b = shapes.normal(rng, (m, k), "float64"), shapes.normal(rng, (k, n), "float64")
    x = smemkit.asarray(np.append(0.0, a), backend=machine)[1:].reshape(m, k)
    y = smemkit.asarray(np.append(0.0, b), backend=machine)[1:].reshape(k, n)
    smemkit.gemm(x, y, variant="dmma", out=room[1:].reshape(m, n))
    got = smemkit.asnumpy(room)
    assert got[0] == 0
    check(a, b, got[1:].reshape(m, n))


def test_parts_of_wider_rows(machine, rng):
    """Rows begin at even places and have an odd length: what lies behind them is not added."""
    a, b = shapes.normal(rng, (70, 65), "float64"), shapes.normal(rng, (65, 35), "float64")
    rooms = [np.full(shape, np.nan) for shape in ((70, 66), (66, 36))]
    rooms[0][:, :65], rooms[1][:65, :35] = a, b
    x, y = (smemkit.asarray(room, backend=machine) for room in rooms)
    check(a, b, smemkit.asnumpy(smemkit.gemm(x[:, :65], y[:65, :35], variant="dmma")))


def test_products_fit_the_tiles(rng):
    """mma makes 16 x 8 x 8 products, and nothing is computed twice."""
    a, b = shapes.normal(rng, (128, 64), "float64"), shapes.normal(rng, (64, 128), "float64")
    counters = smemkit.profile(smemkit.gemm, a, b, variant="dmma", backend="sim").counters
    assert counters["matrix.products"] == 128 * 64 * 128
    assert counters["matrix.instructions"] == 128 * 64 * 128 / (16 * 8 * 8)


@pytest.mark.parametrize(("m", "k", "n"), [(33, 70, 34), (66, 300, 250)])
def test_what_k_leaves_over_comes_first(m, k, n, machine, rng, monkeypatch):
    """Copies of 16 bytes serve every even k, and nothing outside the operands is added."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "1")
    for depth in (k - 2, k - 14, k):
        a, b = shapes.normal(rng, (m, depth), "float64"), shapes.normal(rng, (depth, n), "float64")
        x, y = (smemkit.asarray(one, backend=machine) for one in (a, b))
        check(a, b, smemkit.asnumpy(smemkit.gemm(x, y, variant="dmma")))
        if machine == "sim":
            assert not smemkit.check(smemkit.gemm, x, y, variant="dmma").findings
