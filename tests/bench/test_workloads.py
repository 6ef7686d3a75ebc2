"""What the benchmarks' own checks let pass: right results of any order, and nothing that cuts off.

Wrong kernels are imitated by NumPy: operands rounded to fewer bits, as a tensor core's TF32 or
bfloat16, and float32 products of which some parts are left out.
"""

import itertools
import types

import numpy as np
import pytest

from smemkit import bench
from smemkit.bench import timing, workloads
from smemkit.bench.families import _workload

LENGTHS = (256, 1024, 4096, 16384)
M, N = 40, 48
TUNED = ((0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0))  # the parts that gemm/tuned multiplies


def cut(x, bits):
    """Rounded to a significand of so many bits, ties to even."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits).astype(x.dtype)


def split(x):
    """Three bfloat16 that add up to a float32."""
    parts, rest = [], x.astype(np.float64)
    for _ in range(3):
        parts.append(cut(rest, 8))
        rest = rest - parts[-1]
    assert not rest.any()
    return parts


def add_up(a, b, step):
    """a @ b, in float32 beyond the products of `step` neighbours."""
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i in range(0, a.shape[1], step):
        c += (a[:, i : i + step].astype(np.float64) @ b[i : i + step]).astype(np.float32)
    return c


def add_parts(a, b, products):
    left, right = split(a), split(b)
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i in range(0, a.shape[1], 16):
        part = slice(i, i + 16)
        c += sum(left[p][:, part] @ right[q][part] for p, q in products).astype(np.float32)
    return c


def is_found(case, inputs, result):
    try:
        timing.check(case, case.expect(inputs), "it", result)
    except bench.WrongResultError:
        return True
    return False


@pytest.fixture(params=LENGTHS)
def product(request, rng):
    case = workloads.make_workload("gemm", (M, request.param, N))
    return case, case.make_inputs(rng)


def test_right_products_pass(product):
    case, (a, b) = product
    chain = add_up(a, b, 1)  # the order with the largest error
    for result in (chain, add_up(a, b, 16), a @ b, add_parts(a, b, TUNED)):
        assert not is_found(case, (a, b), result)


@pytest.mark.parametrize("bits", [11, 8, 16], ids=["tf32", "bfloat16", "two bfloat16"])
def test_products_of_rounded_operands_are_found(product, bits):
    case, (a, b) = product
    assert is_found(case, (a, b), add_up(cut(a, bits), cut(b, bits), 16))
    assert is_found(case, (a, b), add_up(cut(a, bits), b, 16))


def test_products_without_some_parts_are_found(product):
    case, (a, b) = product
    lost = [set(TUNED) - {one} for one in TUNED[1:]]
    lost += [{TUNED[0], *two} for two in itertools.combinations(TUNED[1:], 2)]
    for products in lost:
        assert is_found(case, (a, b), add_parts(a, b, products)), products


def test_a_right_product_is_far_from_the_bound(rng):
    """Room for the largest of many elements: the worst of these is below half of it."""
    case = workloads.make_workload("gemm", (256, 4096, 512))
    a, b = case.make_inputs(rng)
    rows, exact, bound = case.expect((a, b))
    error = abs(add_up(a[rows], b, 1) - exact)
    assert (error <= bound / 2).all()


def test_rows_name_the_precision_of_a_product_only_where_it_is_chosen():
    plain = workloads.make_workload("gemm", 32, parameters={"precision": "full"})
    rounded = workloads.make_workload("gemm", 32, parameters={"precision": "tf32"})
    assert (plain.name, plain.parameters) == ("gemm 32x32x32 float32", {})
    assert rounded.name == "gemm 32x32x32 float32 tf32"
    assert timing.list_ours(rounded, whole=True) == ["tf32", "overlapped"]
    assert "tf32" not in timing.list_ours(plain, whole=True)
    assert not plain.owns(rounded.make_row("tf32", "cuda"))


def test_torch_rounds_operands_only_in_its_call():
    case = workloads.make_workload("gemm", 32, parameters={"precision": "tf32"})
    switch, seen = types.SimpleNamespace(allow_tf32=False), []
    torch = types.SimpleNamespace(
        backends=types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=switch)),
        mm=lambda a, b, out: seen.append(switch.allow_tf32),
    )
    for one in (case, workloads.make_workload("gemm", 32)):
        one.call_torch(torch, ("a", "b"), None, None)()
    assert seen == [True, False] and not switch.allow_tf32
    assert case.call_cupy(None, None, ("a", "b"), None, None) is None


def test_a_tf32_product_has_eleven_bits(rng):
    case = workloads.make_workload("gemm", (M, 300, N), parameters={"precision": "tf32"})
    a, b = case.make_inputs(rng)
    assert not is_found(case, (a, b), add_up(cut(a, 11), cut(b, 11), 1))
    assert is_found(case, (a, b), add_up(cut(a, 8), cut(b, 8), 1))


def test_rows_and_pixels_are_others_each_time(rng):
    drawn = {place for _ in range(40) for place in _workload.choose_places(100_000, 16)}
    assert len(drawn) > 400 and {0, 99_999} <= drawn
    assert _workload.choose_places(5, 16).tolist() == [0, 1, 2, 3, 4]
    case = workloads.make_workload("conv2d", 200)
    inputs = case.make_inputs(rng)
    first, second = (case.expect(inputs)[0] for _ in range(2))
    assert not np.array_equal(first, second)


# The other families ------------------------------------------------------------------------------

FLOATS = [
    ("reduce", {"op": "sum"}),
    ("reduce", {"op": "max"}),
    ("dot", {}),
    ("smooth", {}),
    ("conv2d", {}),
    ("vector_add", {}),
    ("gather", {}),
    ("transpose", {}),
]


def compute(case, inputs):
    return np.asarray(case.compute(inputs), case.result_dtype).reshape(case.result_shape)


@pytest.mark.parametrize(("family", "parameters"), FLOATS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounded_operands_are_found(family, parameters, dtype, rng):
    case = workloads.make_workload(family, 300, dtype, parameters)
    for _ in range(5):
        inputs = case.make_inputs(rng)
        assert not is_found(case, inputs, compute(case, inputs))
        for i, x in enumerate(inputs):
            if x.dtype.kind != "f":
                continue  # indices
            for bits in (11, 16) if dtype == "float32" else (11, 24, 40):
                rounded = [*inputs]
                rounded[i] = cut(x, bits)
                assert is_found(case, inputs, compute(case, rounded)), bits


WHOLE = [("reduce", {"op": "sum"}), ("reduce", {"op": "max"}), ("vector_add", {}), ("gather", {})]
WHOLE += [("transpose", {})]


@pytest.mark.parametrize(("family", "parameters"), WHOLE, ids=str)
def test_whole_numbers_that_lose_their_upper_half_are_found(family, parameters, rng):
    case = workloads.make_workload(family, 300, "int32", parameters)
    inputs = case.make_inputs(rng)
    assert not is_found(case, inputs, compute(case, inputs))
    narrow = [x.astype(np.int16).astype(x.dtype) if x.dtype == np.int32 else x for x in inputs]
    assert is_found(case, inputs, compute(case, narrow))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_sum_of_whole_numbers_in_32_bits_is_found(dtype, rng):
    case = workloads.make_workload("reduce", 300, dtype)
    inputs = case.make_inputs(rng)
    total = compute(case, inputs)
    assert not is_found(case, inputs, total)
    assert is_found(case, inputs, total.astype(np.int32).astype(np.int64))
    assert is_found(case, inputs, total + 1)
