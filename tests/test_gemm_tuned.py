"""gemm on tensor cores: what three parts a number hold of it, and where they do not."""

import numpy as np
import pytest
import shapes

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


def test_a_row_of_one_is_no_column(machine, rng):
    """With k = 1, a and b lie in memory alike, and are laid out differently all the same."""
    a, b = shapes.integers(rng, (400, 1), "float32"), shapes.integers(rng, (1, 400), "float32")
    for dtype in ("float32", "float64"):
        got = multiply(a.astype(dtype), b.astype(dtype), machine)
        assert np.array_equal(got, a.astype(dtype) * b)


def test_each_step_is_profiled(rng):
    """The two launches that lay out the operands, and the product."""
    a = shapes.normal(rng, (20, 30), "float32")
    launches = smemkit.profile(smemkit.gemm, a, a.T, variant="tuned", backend="sim").launches
    names = [launch.kernel for launch in launches]
    assert names == ["gemm_tuned_arrange_float32"] * 2 + ["gemm_tuned_float32"]
