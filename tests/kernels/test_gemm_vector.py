"""gemm of a vector with rows that lie along k, wherever they begin."""

import numpy as np
import pytest
from support import shapes

import smemkit

DTYPES = ["float32", "float64"]


def check(a, b, got):
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    bound = (a.shape[1] + 2) * np.finfo(a.dtype).eps / 2 * (np.abs(a) @ np.abs(b))
    assert got.shape == exact.shape and (np.abs(got - exact) <= bound).all()


def find_kernel(a, b):
    return smemkit.profile(smemkit.gemm, a, b, variant="vector", backend="sim").launches[0].kernel


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_begin_anywhere(dtype, machine, rng):
    """Before a row, behind it, and beside the vector, there is NaN, in whole packs too."""
    for m, k in [(70, 37), (9, 1), (300, 5), (33, 101), (6, 1031), (5, 64)]:
        for first in range(4):
            room = np.full((m, k + 9), np.nan, dtype)
            around = np.full(k + 7, np.nan, dtype)
            a = room[:, first : first + k] = shapes.normal(rng, (m, k), dtype)
            b = shapes.normal(rng, (k, 1), dtype)
            around[first : first + k] = b[:, 0]
            matrix = smemkit.asarray(room, backend=machine)[:, first : first + k]
            vector = smemkit.asarray(around, backend=machine)[first : first + k].reshape(k, 1)
            check(a, b, smemkit.asnumpy(smemkit.gemm(matrix, vector, variant="vector")))
            # the same rows as columns of b
            turned = smemkit.gemm(vector.T, matrix.T, variant="vector")
            check(a, b, smemkit.asnumpy(turned).T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_which_rows_have_the_kernel_of_their_own(dtype, rng):
    """Short rows, and long ones that are no whole packs; the other kernel cuts k."""
    long = 4096 // np.dtype(dtype).itemsize

    def name(m, k):
        return find_kernel(shapes.normal(rng, (m, k), dtype), shapes.normal(rng, (k, 1), dtype))

    assert name(40, 64) == name(40, long) == name(40, long + 5) == f"gemm_vector_row_{dtype}"
    assert name(40, long + 8) == name(2, 8 * long + 1) == f"gemm_vector_{dtype}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_pack_is_read_once(dtype, rng):
    """Of a matrix whose rows begin between packs, the reads of a warp are as wide as of others."""
    k = 512 if dtype == "float64" else 1024
    b = smemkit.asarray(shapes.normal(rng, (k, 1), dtype), backend="sim")
    room = smemkit.asarray(shapes.normal(rng, (8, k + 4), dtype), backend="sim")
    counted = [
        smemkit.profile(smemkit.gemm, room[:, first : first + k], b, variant="vector").counters[
            "global.load.sectors"
        ]
        for first in (0, 1)
    ]
    assert counted[1] < 1.05 * counted[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_across_that_begin_anywhere(dtype, machine, rng):
    """Of a matrix without gaps; before and behind it there is NaN, in whole packs too."""
    for k, n, first in [(523, 517, 0), (600, 601, 1), (300, 999, 2), (90_011, 3, 3), (3001, 93, 1)]:
        room = np.full(k * n + 8, np.nan, dtype)
        b = room[first : first + k * n] = shapes.normal(rng, k * n, dtype)
        a, b = shapes.normal(rng, (1, k), dtype), b.reshape(k, n)
        matrix = smemkit.asarray(room, backend=machine)[first : first + k * n].reshape(k, n)
        vector = smemkit.asarray(a, backend=machine)
        check(a, b, smemkit.asnumpy(smemkit.gemm(vector, matrix, variant="vector")))


@pytest.mark.parametrize("dtype", DTYPES)
def test_which_columns_have_stripes(dtype, rng, monkeypatch):
    """16 bytes a lane of a large matrix; no parts of k where stripes are many, nor gaps in rows."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "132")
    vector = smemkit.asarray(shapes.normal(rng, (1, 700), dtype), backend="sim")
    room = smemkit.asarray(np.zeros((700, 1008), dtype), backend="sim")
    short = smemkit.asarray(np.zeros((700, 1001), dtype), backend="sim")

    def find(matrix):
        plan = smemkit.explain_choice(smemkit.gemm, vector, matrix)["vector"]
        return plan.launches[0][0].removeprefix("gemm_vector_"), plan.parts

    assert find(room) == (f"across_{dtype}", 1)
    assert find(short) == (f"slant_{dtype}", 1)
    assert find(room[:, 1:]) == (f"stripe_{dtype}", 1)
    assert find(short[:, :60]) == (f"stripe_{dtype}", 1)
