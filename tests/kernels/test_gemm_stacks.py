"""Stacks of products, and operands that do not lie in C order, with all variants."""

import numpy as np
import pytest
from support.tables import VARIANTS

import smemkit

RNG = np.random.default_rng(16)
GEMM = [name for family, name in VARIANTS if family == "gemm"]
FAST = ["auto", "direct", "fma", "lean", "short_k", "tuned", "unstaged", "vector"]


def numbers(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def accepts(variant, dtype):
    return variant == "auto" or dtype in VARIANTS["gemm", variant]["types"]


def check(a, b, variant, backend):
    """The product of NumPy arrays, of device arrays, and into out."""
    expected = np.matmul(a.astype("float64"), b.astype("float64"))
    device = [smemkit.asarray(x, backend=backend) for x in (a, b)]
    out = np.full(expected.shape, np.nan, a.dtype)
    results = [
        smemkit.gemm(a, b, variant=variant, backend=backend),
        smemkit.gemm(a, b, variant=variant, backend=backend, out=out),
        smemkit.asnumpy(smemkit.gemm(*device, variant=variant)),
    ]
    assert results[1] is out
    for result in results:
        assert result.shape == expected.shape and result.dtype == a.dtype
        np.testing.assert_allclose(result, expected, atol=2e-4)


STACKS = [
    ((3, 20, 7), (3, 7, 9)),
    ((3, 20, 7), (7, 9)),  # one product of 60 rows
    ((20, 7), (4, 7, 9)),
    ((2, 1, 5, 6), (3, 6, 4)),
    ((2, 3, 5, 6), (2, 3, 6, 4)),
    ((2, 1, 2, 1, 3, 4), (2, 1, 2, 4, 3)),
    ((1, 1, 5, 6), (6, 4)),
    ((6, 1, 5), (5, 3)),
    ((3, 1, 5), (3, 5, 1)),
    ((2, 5, 0), (0, 4)),
]


@pytest.mark.parametrize(("a", "b"), STACKS, ids=str)
@pytest.mark.parametrize("variant", ["auto", *GEMM])
def test_stacks(variant, a, b, machine):
    for dtype in ("float32", "float64"):
        if accepts(variant, dtype):
            check(numbers(*a, dtype=dtype), numbers(*b, dtype=dtype), variant, machine)


@pytest.mark.parametrize(
    ("a", "b"), [((0, 5, 6), (6, 4)), ((2, 0, 6), (2, 6, 4)), ((0, 3, 0), (0, 3))]
)
def test_empty_stacks(a, b, machine):
    check(numbers(*a), numbers(*b), "auto", machine)


def test_a_stack_of_products_whose_parts_of_k_are_added(machine):
    for m, k, n in [(64, 700, 64), (1, 900, 16), (40, 800, 2)]:
        a, b = numbers(2, m, k), numbers(2, k, n)
        for variant in FAST:
            dtype = "float32" if accepts(variant, "float32") else "float64"
            check(a.astype(dtype), b.astype(dtype), variant, machine)


def test_one_launch_makes_a_stack():
    a, b = numbers(5, 40, 30), numbers(5, 30, 20)
    for variant in ("auto", "direct", "short_k", "vector"):
        launches = smemkit.profile(smemkit.gemm, a, b, variant=variant, backend="sim").launches
        assert len(launches) == 1, variant
    launches = smemkit.profile(smemkit.gemm, a, b, variant="tuned", backend="sim").launches
    assert [launch.kernel for launch in launches] == [
        "gemm_tuned_arrange_float32",
        "gemm_tuned_narrow_float32",
    ]
    assert len(smemkit.profile(smemkit.gemm, a, b, variant="tiled", backend="sim").launches) == 5
    assert len(smemkit.profile(smemkit.gemm, a, b[0], variant="tiled", backend="sim").launches) == 1


def test_more_products_than_a_grid_has_rows():
    a, b = numbers(65537, 1, 2), numbers(65537, 2, 1)
    for variant in ("auto", "short_k"):
        result = smemkit.gemm(a, b, variant=variant, backend="sim")
        np.testing.assert_allclose(result, a @ b, atol=1e-5)


VIEWS = {
    "transposed": (lambda m, k: (k, m), lambda x: x.T),
    "every second row": (lambda m, k: (2 * m, k), lambda x: x[::2]),
    "some columns": (lambda m, k: (m, k + 3), lambda x: x[:, 3:]),
    "every third column": (lambda m, k: (m, 3 * k), lambda x: x[:, ::3]),
    "backwards": (lambda m, k: (m, k), lambda x: x[::-1, ::-1]),
}


@pytest.mark.parametrize("shape", [(20, 30, 40), (1, 30, 5), (33, 17, 1), (3, 40, 70)], ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_layouts(view, shape, machine):
    (m, k, n), (base, look) = shape, VIEWS[view]
    for dtype in ("float32", "float64"):
        a, b = numbers(*base(m, k), dtype=dtype), numbers(*base(k, n), dtype=dtype)
        expected = look(a).astype("float64") @ look(b)
        on_device = [smemkit.asarray(x, backend=machine) for x in (a, b)]
        for variant in [*FAST, "padded"]:
            if accepts(variant, dtype):
                result = smemkit.gemm(look(a), look(b), variant=variant, backend=machine)
                np.testing.assert_allclose(result, expected, atol=2e-4)
                result = smemkit.gemm(*map(look, on_device), variant=variant)
                np.testing.assert_allclose(smemkit.asnumpy(result), expected, atol=2e-4)


def test_stacks_of_views(machine):
    for variant in [*FAST, "padded"]:
        dtype = "float32" if accepts(variant, "float32") else "float64"
        a, b = numbers(6, 10, 20, dtype=dtype), numbers(6, 20, 12, dtype=dtype)
        device = [smemkit.asarray(x, backend=machine) for x in (a, b)]
        for look in (
            lambda x: x[::2],
            lambda x: x[1:2],
            lambda x: x[::-1],
            lambda x: x[:, ::2, ::2],
        ):
            x, y = look(a), look(b)
            y = y[:, : x.shape[2]]
            expected = x.astype("float64") @ y
            result = smemkit.gemm(x, y, variant=variant, backend=machine)
            np.testing.assert_allclose(result, expected, atol=2e-4)
            x, y = look(device[0]), look(device[1])
            result = smemkit.gemm(x, y[:, : x.shape[2]], variant=variant)
            np.testing.assert_allclose(smemkit.asnumpy(result), expected, atol=2e-4)


def test_transposed_operands_are_not_copied():
    a, b = (smemkit.asarray(numbers(64, 64), backend="sim") for _ in range(2))
    for x, y in [(a.T, b), (a, b.T), (a.T, b.T), (a[::2], b[:, :32])]:
        launches = smemkit.profile(smemkit.gemm, x, y).launches
        assert all(launch.kernel.startswith("gemm_") for launch in launches)


def test_a_view_of_the_memory_of_out_is_read_before(machine):
    memory = smemkit.asarray(numbers(16, 16), backend=machine)
    b = smemkit.asarray(numbers(8, 8), backend=machine)
    expected = smemkit.asnumpy(memory)[:, :8] @ smemkit.asnumpy(b)
    out = memory.reshape(32, 8)[:16]
    assert smemkit.gemm(memory[:, :8], b, out=out) is out
    np.testing.assert_allclose(smemkit.asnumpy(out), expected, atol=1e-4)


def test_what_does_not_fit():
    a, b = numbers(3, 4, 5), numbers(2, 5, 6)
    with pytest.raises(smemkit.ShapeError, match=r"b is a stack of shape \(2,\).* of \(3,\)"):
        smemkit.gemm(a, b, backend="sim")
    with pytest.raises(smemkit.ShapeError, match=r"out has the shape \(2, 4, 6\), .* \(3, 4, 6\)"):
        smemkit.gemm(a, b[0], out=np.empty((2, 4, 6), "float32"), backend="sim")
    with pytest.raises(smemkit.ShapeError, match="a has 1 dimension, "):
        smemkit.gemm(a[0, 0], b[0], backend="sim")
    with pytest.raises(smemkit.ShapeError, match="k is 5 in a and 6 in b"):
        smemkit.gemm(a, b.transpose(0, 2, 1)[:1], backend="sim")
    deep = np.ones((2, 1) * 10 + (3, 3), "float32")
    wide = np.ones((1, 2) * 10 + (3, 3), "float32")
    with pytest.raises(smemkit.ShapeError, match="no more than 9 of them"):
        smemkit.gemm(deep, wide, backend="sim")
    with pytest.raises(smemkit.ArgumentError, match="a stack of them"):
        smemkit.gemm(a, b[:1], devices=[0, 0], backend="sim")
