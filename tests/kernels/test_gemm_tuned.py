"""gemm on tensor cores: what three parts a number hold of it, and where they do not."""

import numpy as np
import pytest
from support import shapes

import smemkit

BOUND = 2 * np.finfo(np.float32).eps
SMALLEST = 2.0**-149  # a float32 result is rounded to a multiple of it
SHAPES = [(1, 1, 1), (3, 40, 1), (1, 40, 5), (129, 70, 131), (40, 1, 260)]


def multiply(a, b, machine):
    return smemkit.gemm(a, b, variant="tuned", backend=machine)


def check(a, b, machine, bound):
    """Every error is at most `bound` times the sum of the products' magnitudes."""
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    got = multiply(a, b, machine)
    error = np.abs(got - a64 @ b64)
    assert (error <= bound * (np.abs(a64) @ np.abs(b64)) + a.shape[1] * SMALLEST).all()
    assert np.any(got)


@pytest.mark.parametrize("shape", SHAPES)
def test_parts_lose_nothing(shape, machine, rng):
    """Nearer than a chain of fma's may be, whatever the length of the sum."""
    m, k, n = shape
    check(
        shapes.normal(rng, (m, k), "float32"), shapes.normal(rng, (k, n), "float32"), machine, BOUND
    )


@pytest.mark.parametrize("powers", [(-120, 100), (100, -120), (-140, 0), (0, -140), (-63, -63)])
def test_small_numbers_keep_their_parts(powers, machine, rng):
    """Parts of numbers down to the smallest float32 are scaled, and so not lost."""
    a = (shapes.normal(rng, (35, 50), "float64") * 2.0 ** powers[0]).astype(np.float32)
    b = (shapes.normal(rng, (50, 33), "float64") * 2.0 ** powers[1]).astype(np.float32)
    check(a, b, machine, BOUND)


@pytest.mark.parametrize("powers", [(-149, 16), (-149, 120), (-140, 100), (-130, 90), (60, -145)])
def test_subnormal_numbers_are_off_by_half_the_smallest(powers, machine, rng):
    """Products with their first parts, which are 0, are among the six: large factors show it."""
    a, b = (
        (rng.integers(-99, 100, shape) * np.float64(2) ** power).astype(np.float32)
        for shape, power in zip([(35, 50), (50, 33)], powers, strict=True)
    )
    b += np.float32(2.0 ** (powers[1] - 20))  # all three parts
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    got = multiply(a, b, machine)
    off = np.where(np.abs(a64) < 2.0**-126, SMALLEST / 2, 0) @ np.abs(b64)
    off += np.abs(a64) @ np.where(np.abs(b64) < 2.0**-126, SMALLEST / 2, 0)
    bound = BOUND * (np.abs(a64) @ np.abs(b64)) + off + a.shape[1] * SMALLEST
    assert (np.abs(got - a64 @ b64) <= bound).all()
    assert np.any(got)


def test_numbers_of_all_sizes(machine, rng):
    a = (shapes.normal(rng, (35, 50), "float64") * 2.0 ** rng.integers(-60, 60, (35, 50))).astype(
        "f4"
    )
    b = (shapes.normal(rng, (50, 33), "float64") * 2.0 ** rng.integers(-60, 60, (50, 33))).astype(
        "f4"
    )
    check(a, b, machine, BOUND)


@pytest.mark.parametrize(
    "value", [np.inf, -np.inf, np.nan, np.finfo("f4").max, -np.finfo("f4").max]
)
def test_what_has_no_parts(value, machine, rng):
    """Infinities, NaN and the numbers that round to infinity: what a chain of fma's gives."""
    a, b = shapes.integers(rng, (131, 21), "float32"), shapes.integers(rng, (21, 67), "float32")
    a[5, 3] = value
    a[130, 20] = value
    b[:, 7] = 0
    b[3, 66] = 1
    got, plain = multiply(a, b, machine), smemkit.gemm(a, b, variant="naive", backend=machine)
    assert np.array_equal(got, plain, equal_nan=True)
    assert not np.array_equal(got[5], got[6])


MOST = np.finfo("f4").max
STRANGE = {
    "nan": [np.nan],
    "inf": [np.inf],
    "both infinities": [np.inf, -np.inf],
    "most": [MOST],
    "near the most": [np.float32(3.39e38), np.float32(-3.395e38), np.float32(3.38e38)],
    "all": [np.nan, np.inf, -np.inf, MOST, -MOST, 0, 2.0**-149],
}


def place(rng, x, values, each):
    """`each` of the values in each row, at random."""
    for row in x:
        row[rng.choice(x.shape[1], each, replace=False)] = rng.choice(values, each)


@pytest.mark.parametrize("each", [1, 8, 9, 40])
@pytest.mark.parametrize("where", ["a", "b", "both"])
@pytest.mark.parametrize("kind", STRANGE)
def test_what_has_no_parts_in_every_line(kind, where, each, machine, rng):
    """Few and many in each row of a, in each column of b: what the chain of fma's gives.

    Beside them are small whole numbers, whose sums no order changes; several of the largest are
    another thing: a chain may pass infinity or not, and what is small is lost beside them or not.
    """
    a, b = shapes.integers(rng, (130, 70), "f4", 2), shapes.integers(rng, (70, 135), "f4", 2)
    if where != "b":
        place(rng, a, STRANGE[kind], each)
    if where != "a":
        place(rng, b.T, STRANGE[kind], each)
    got, plain = multiply(a, b, machine), smemkit.gemm(a, b, variant="naive", backend=machine)
    size = sum_sizes(a, b)
    alike = (got == plain) | (np.isnan(got) & np.isnan(plain))
    finite = np.isfinite(got) & np.isfinite(plain)
    off = np.abs(got[finite].astype("f8") - plain[finite])
    alike[finite] = off <= 1e-6 * size[finite]
    if kind in ("most", "near the most", "all") and (each > 1 or where == "both"):
        alike[size > MOST] = True
    assert alike.all(), (np.argwhere(~alike)[:3], got[~alike][:3], plain[~alike][:3])


def sum_sizes(a, b):
    """Of the finite products."""
    with np.errstate(all="ignore"):
        a64, b64 = (np.where(np.isfinite(x), np.abs(x), 0).astype("f8") for x in (a, b))
        return a64 @ b64


def test_infinity_times_what_has_a_zero_for_a_part(machine):
    """Subnormal numbers and whole ones: no NaN comes of their parts."""
    a = np.full((3, 20), 2.0**-149, "float32")
    a[0, 3], a[1, 4] = np.inf, -np.inf
    b = np.full((20, 5), 2.0**-140, "float32")
    b[:, 1], b[:, 2], b[:, 3] = 1, -3, 0
    inf, nan = np.inf, np.nan
    expected = [[inf, inf, -inf, nan, inf], [-inf, -inf, inf, nan, -inf]]
    assert np.array_equal(multiply(a, b, machine)[:2], np.float32(expected), equal_nan=True)


def test_sums_that_overflow(machine, rng):
    """Finite where every chain of fma's is, though sums of parts are not; else infinite."""
    a, b = np.full((140, 33), 2.0**125, "f4"), np.full((33, 140), 1.0, "f4")
    a[:, 1::2] *= -1
    a[::3] *= 0.99
    b[:, 7] = rng.uniform(-0.2, 0.2, 33)
    b[:, 9], b[:, 11] = 4 * np.sign(a[0]), -4 * np.sign(a[0])
    got, plain = multiply(a, b, machine), smemkit.gemm(a, b, variant="naive", backend=machine)
    assert (got[:, 9] == np.inf).all() and (got[:, 11] == -np.inf).all()
    assert np.isfinite(np.delete(got, [9, 11], axis=1)).all()
    assert np.allclose(got, plain, rtol=1e-5, atol=2.0**106)


@pytest.mark.parametrize("kind", ["nan", "inf", "most"])
@pytest.mark.parametrize("where", ["a", "b", "both"])
def test_what_has_no_parts_costs_little(kind, where, rng):
    """Instructions of a warp; a chain for each element took 30 times as many."""
    a, b = shapes.integers(rng, (128, 512), "float32", 2), shapes.integers(rng, (512, 128), "f4", 2)

    def spend():
        launches = smemkit.profile(multiply, a, b, "sim").launches
        return sum(launch.counters["instructions.warp"] for launch in launches)

    plain = spend()
    if where != "b":
        place(rng, a, STRANGE[kind], 1)
    if where != "a":
        place(rng, b.T, STRANGE[kind], 1)
    assert spend() < 2 * plain


def test_a_row_of_one_is_no_column(machine, rng):
    """With k = 1, a and b lie in memory alike, and are laid out differently all the same."""
    a, b = shapes.integers(rng, (400, 1), "float32"), shapes.integers(rng, (1, 400), "float32")
    for dtype in ("float32", "float64"):
        got = multiply(a.astype(dtype), b.astype(dtype), machine)
        assert np.array_equal(got, a.astype(dtype) * b)


def test_each_step_is_profiled(rng):
    """The launch that lays out the operands, and the product, in the tile of a small one."""
    a = shapes.normal(rng, (20, 30), "float32")
    launches = smemkit.profile(smemkit.gemm, a, a.T, variant="tuned", backend="sim").launches
    names = [launch.kernel for launch in launches]
    assert names == ["gemm_tuned_arrange_float32", "gemm_tuned_narrow_float32"]


def test_a_workspace_that_64_bits_do_not_count(machine):
    """One row is laid out as a whole tile: of 2^56 elements more bytes than there are addresses."""
    a = np.broadcast_to(np.float32(1), (1, 2**56))
    with pytest.raises(smemkit.OutOfMemoryError, match="laid out for k = 72057594037927936"):
        multiply(a, a.T, machine)
