"""gemm on the tensor cores of float64: tiles of all shapes, operands of all layouts."""

import numpy as np
import pytest
from support import shapes

import smemkit

# {part of the entry: products for which a machine of one multiprocessor takes that tile}
TILES = {
    "low": [(3, 200, 24), (8, 71, 32)],
    "thin": [(30, 200, 4), (40, 71, 5)],
    "small": [(60, 100, 24), (64, 100, 32)],
    "joint": [(33, 71, 31), (64, 200, 24)],
    "flat": [(8, 70, 129), (3, 70, 128), (8, 71, 128), (3, 71, 129)],
    "square": [(64, 300, 130), (33, 201, 130), (33, 201, 129)],
    "wide": [(33, 201, 250), (60, 301, 250)],
    "large": [(100, 602, 66), (120, 603, 67), (100, 603, 66)],
    "": [(128, 301, 130), (250, 300, 130)],
}

# The same for operands of which neighbours of a row do not lie side by side.
TURNED = {
    "low": [(3, 200, 24)],
    "thin": [(30, 200, 4)],
    "small": [(33, 71, 31)],
    "turned_square": [(33, 70, 34), (33, 201, 130)],
    "turned": [(66, 70, 66), (200, 71, 31)],
}

# {multiprocessors: products of which a machine with so many cuts k}
CUT = {2: [(8, 1300, 4), (24, 1300, 31), (24, 800, 31)], 8: [(8, 600, 31), (128, 2600, 62)]}


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


@pytest.mark.parametrize("part", TURNED)
def test_each_tile_of_turned_operands(part, rng, monkeypatch):
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "1")
    for m, k, n in TURNED[part]:
        a, b = shapes.normal(rng, (m, k), "float64"), shapes.normal(rng, (k, n), "float64")
        a, b = np.asfortranarray(a), np.asfortranarray(b)
        (launch,) = smemkit.profile(smemkit.gemm, a, b, variant="dmma", backend="sim").launches
        assert launch.kernel == f"gemm_dmma_{part}_float64"
        check(a, b, smemkit.gemm(a, b, variant="dmma", backend="sim"))


@pytest.mark.parametrize("count", CUT)
def test_the_sums_of_parts(count, machine, rng, monkeypatch):
    """The last block of a small tile adds them, and leaves 0 behind it; else a launch does."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", str(count))
    joined = set()
    for m, k, n in CUT[count]:
        a, b = shapes.normal(rng, (m, k), "float64"), shapes.normal(rng, (k, n), "float64")
        plan = smemkit.explain_choice(smemkit.gemm, a, b, backend="sim")["dmma"]
        assert plan.parts > 1
        joined.add(len(plan.launches) == 1)
        x, y = (smemkit.asarray(one, backend=machine) for one in (a, b))
        first, again = (smemkit.asnumpy(smemkit.gemm(x, y, variant="dmma")) for _ in range(2))
        check(a, b, first)
        assert np.array_equal(first, again)
    assert joined == ({True} if count == 2 else {True, False})


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


def test_two_blocks_a_multiprocessor_where_operands_come_from_memory():
    """One waits for memory longer than two; with operands that L2 holds one is enough."""
    blocks = []
    for k in (65536, 8192):
        a, b = np.empty((128, k)), np.empty((k, 128))
        plan = smemkit.explain_choice(smemkit.gemm, a, b, backend="sim")["dmma"]
        blocks.append(plan.launches[0][1][0])
    assert blocks[0] == 2 * 132 and blocks[1] <= 132
