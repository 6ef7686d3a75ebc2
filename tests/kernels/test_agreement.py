"""GPU and simulator agree, bit for bit where the arithmetic says so. Skipped without a GPU."""

import numpy as np
import pytest
from support import shapes, tables

import smemkit

DTYPES = ("float32", "float64")
KERNELS = tables.list_plain()
VARIANTS = tuple(dict.fromkeys(name for name, _ in KERNELS))


@pytest.fixture(autouse=True)
def both_machines(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


@pytest.mark.parametrize(("variant", "dtype"), KERNELS)
def test_gemm_of_integers(variant, dtype, rng):
    for m, k, n in shapes.gemm_shapes(32):
        a, b = shapes.integers(rng, (m, k), dtype), shapes.integers(rng, (k, n), dtype)
        results = [smemkit.gemm(a, b, variant=variant, backend=name) for name in ("sim", "cuda")]
        assert np.array_equal(bits(results[0]), bits(results[1]))


@pytest.mark.parametrize(("variant", "dtype"), KERNELS)
def test_gemm_of_normal_data(variant, dtype, rng):
    """One fma a term, in one order, on both machines: the same bits."""
    for m, k, n in ((65, 130, 70), (33, 500, 31), (128, 128, 128)):
        a, b = shapes.normal(rng, (m, k), dtype), shapes.normal(rng, (k, n), dtype)
        results = [smemkit.gemm(a, b, variant=variant, backend=name) for name in ("sim", "cuda")]
        assert np.array_equal(bits(results[0]), bits(results[1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_variants_agree(dtype, rng):
    """All that add in the order of k give the same bits on both machines."""
    a, b = shapes.normal(rng, (50, 77), dtype), shapes.normal(rng, (77, 45), dtype)
    results = [
        smemkit.gemm(a, b, variant=variant, backend=name)
        for variant, accepted in KERNELS
        if accepted == dtype
        and variant not in ("vector", "direct", "dmma", "fma", "lean", "tuned", "stream_k")
        for name in ("sim", "cuda")
    ]
    for result in results[1:]:
        assert np.array_equal(bits(result), bits(results[0]))


@pytest.mark.parametrize("variant", [name for name, dtype in KERNELS if dtype == "float32"])
def test_wild_values(variant, rng):
    """Denormals, huge values, infinities: the same values (NaN has no one pattern of bits)."""
    a = shapes.normal(rng, (40, 40), "float32") * np.float32(10.0) ** rng.integers(
        -37, 37, (40, 40)
    )
    b = shapes.normal(rng, (40, 40), "float32") * np.float32(10.0) ** rng.integers(
        -37, 37, (40, 40)
    )
    a, b = a.astype(np.float32), b.astype(np.float32)
    a[3, 5], b[7, 9] = np.inf, np.nan
    results = [smemkit.gemm(a, b, variant=variant, backend=name) for name in ("sim", "cuda")]
    assert np.array_equal(*results, equal_nan=True)


def test_auto_takes_the_gpu():
    assert smemkit.get_backend() in ("cuda", "sim")
    smemkit.set_backend("auto")
    try:
        assert smemkit.get_backend() == "cuda"
    finally:
        smemkit.set_backend(None)  # a name would go before SMEMKIT_BACKEND in later tests
