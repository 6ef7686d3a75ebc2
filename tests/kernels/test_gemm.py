"""gemm in every variant, type, shape and layout, on both machines, against NumPy."""

import threading

import numpy as np
import pytest
from support import alone, fma, shapes, tables

import smemkit

DTYPES = ("float32", "float64")
WIDE = np.longdouble  # more digits than float64 has, where the machine has such a type

# Rows of 16-byte vectors and such that are not, in each operand, over tiles that end in the middle.
ROWS = [(34, 36, 132), (34, 37, 132), (34, 36, 134), (34, 38, 133), (130, 9, 260), (131, 17, 259)]

KERNELS = tables.list_plain()
VARIANTS = tuple(dict.fromkeys(name for name, _ in KERNELS))

TYPE = {name: facts["dtypes"][0] for name, facts in smemkit.variants("gemm").items()}

# Those that add in the order of k. Others sum parts of numbers on tensor cores, or several parts
# of a sum: test_gemm_tuned.py, and those of direct, fma and dmma, have them.
OTHER_ORDER = {
    ("tuned", "float32"),
    ("direct", "float32"),
    ("fma", "float32"),
    ("lean", "float32"),
    ("dmma", "float64"),
    *((name, d) for name in ("stream_k", "vector") for d in DTYPES),
}
IN_ORDER = [kernel for kernel in KERNELS if kernel not in OTHER_ORDER]

each_kernel = pytest.mark.parametrize(("variant", "dtype"), KERNELS)
each_kernel_and_auto = pytest.mark.parametrize(
    ("variant", "dtype"), [*KERNELS, *(("auto", dtype) for dtype in DTYPES)]
)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def tile_of(variant):
    """The larger side of a variant's tile."""
    return 32 if variant == "auto" else max(smemkit.variants("gemm")[variant]["tile"])


def check_bits(got, a, b):
    """`got` is exactly a @ b for operands of small integers."""
    expected = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
    assert type(got) is np.ndarray
    assert got.dtype == np.asarray(a).dtype.newbyteorder("=")
    assert got.shape == expected.shape
    assert np.array_equal(got, expected)
    if np.any(expected):
        assert np.any(got)


def bound_of(a, b):
    """The largest error that any order of summation may have, by element."""
    eps = np.finfo(a.dtype).eps
    size = np.abs(np.asarray(a, np.float64)) @ np.abs(np.asarray(b, np.float64))
    return 4 * np.sqrt(a.shape[1]) * eps * size


def check_near(got, a, b):
    wide = WIDE if a.dtype == np.float64 else np.float64
    error = np.abs(got - a.astype(wide) @ b.astype(wide))
    assert (error <= bound_of(a, b)).all()
    assert np.any(got)


@each_kernel_and_auto
def test_integers_bit_for_bit(variant, dtype, machine, rng):
    for m, k, n in shapes.gemm_shapes(tile_of(variant)):
        a, b = shapes.integers(rng, (m, k), dtype), shapes.integers(rng, (k, n), dtype)
        before = a.copy(), b.copy()
        check_bits(smemkit.gemm(a, b, variant=variant, backend=machine), a, b)
        assert np.array_equal(a, before[0])
        assert np.array_equal(b, before[1])


@each_kernel_and_auto
def test_normal_data_within_the_bound(variant, dtype, machine, rng):
    for m, k, n in [(129, 65, 70), (33, 200, 31), (7, 1000, 3), (96, 96, 96), *ROWS]:
        a, b = shapes.normal(rng, (m, k), dtype), shapes.normal(rng, (k, n), dtype)
        check_near(smemkit.gemm(a, b, variant=variant, backend=machine), a, b)


@pytest.mark.parametrize(("variant", "dtype"), IN_ORDER)
def test_one_fma_a_term_in_order(variant, dtype, machine, rng):
    """The order of summation is fixed: k ascending, rounded once a term."""
    shape = (34, 75, 35) if dtype == "float32" else (5, 40, 6)
    a, b = shapes.normal(rng, shape[:2], dtype), shapes.normal(rng, shape[1:], dtype)
    got = smemkit.gemm(a, b, variant=variant, backend=machine)
    bits = np.uint32 if dtype == "float32" else np.uint64
    assert np.array_equal(got.view(bits), fma.gemm_in_order(a, b).view(bits))


@pytest.mark.parametrize("variant", ["naive", "tiled"])
@each_dtype
def test_layouts(variant, dtype, machine, rng):
    for name_a, layout_a in shapes.LAYOUTS.items():
        for name_b, layout_b in shapes.LAYOUTS.items():
            a = layout_a(shapes.integers(rng, (6, 5), dtype))
            b = layout_b(shapes.integers(rng, (5, 9), dtype))
            before = np.array(a), np.array(b)
            try:
                check_bits(smemkit.gemm(a, b, variant=variant, backend=machine), a, b)
            except (AssertionError, smemkit.Error) as error:
                raise AssertionError(f"a {name_a}, b {name_b}") from error
            assert np.array_equal(a, before[0]) and np.array_equal(b, before[1])


@pytest.mark.parametrize("layout", sorted(shapes.LAYOUTS))
def test_layouts_over_several_blocks(layout, machine, rng):
    a = shapes.LAYOUTS[layout](shapes.integers(rng, (67, 45), "float32"))
    b = shapes.LAYOUTS[layout](shapes.integers(rng, (45, 81), "float32"))
    check_bits(smemkit.gemm(a, b, backend=machine), a, b)


def test_layouts_of_nothing(machine):
    for layout in shapes.LAYOUTS.values():
        a, b = layout(np.zeros((0, 4), np.float32)), layout(np.zeros((4, 3), np.float32))
        assert smemkit.gemm(a, b, backend=machine).shape == (0, 3)
        a, b = layout(np.zeros((3, 0), np.float32)), layout(np.zeros((0, 2), np.float32))
        assert np.array_equal(smemkit.gemm(a, b, backend=machine), np.zeros((3, 2)))


@each_kernel
def test_out(variant, dtype, machine, rng):
    for m, k, n in [(33, 7, 40), (1, 1, 1), (5, 0, 6), (0, 3, 2)]:
        a, b = shapes.integers(rng, (m, k), dtype), shapes.integers(rng, (k, n), dtype)
        out = shapes.poisoned((m, n), dtype)
        assert smemkit.gemm(a, b, variant=variant, out=out, backend=machine) is out
        check_bits(out, a, b)


def test_out_none_is_no_out(machine, rng):
    a, b = shapes.integers(rng, (3, 4), "float32"), shapes.integers(rng, (4, 2), "float32")
    check_bits(smemkit.gemm(a, b, out=None, backend=None), a, b)
    check_bits(smemkit.gemm(a, b, out=None, backend=machine), a, b)


@pytest.mark.parametrize("layout", sorted(set(shapes.LAYOUTS) - {"read_only", "broadcast"}))
def test_out_layouts(layout, machine, rng):
    """An out of any layout is filled, or refused and left alone; nothing beside it is touched."""
    a, b = shapes.integers(rng, (6, 5), "float32"), shapes.integers(rng, (5, 9), "float32")
    out = shapes.LAYOUTS[layout](shapes.poisoned((6, 9), "float32"))
    base = out.base if out.base is not None else out
    untouched = np.array(base).tobytes()
    try:
        result = smemkit.gemm(a, b, out=out, backend=machine)
    except (ValueError, TypeError) as error:
        assert isinstance(error, smemkit.Error)
        assert np.array(base).tobytes() == untouched
        return
    assert result is out
    assert np.array_equal(np.asarray(out, np.float64), a @ b)
    out[...] = np.nan
    assert np.isnan(np.asarray(base).view(out.dtype) if layout != "unaligned" else out).all()


def test_out_refused(machine, rng):
    a, b = shapes.integers(rng, (3, 4), "float32"), shapes.integers(rng, (4, 2), "float32")
    for bad in ((2, 3), (3, 3), (4, 2), (3,), (3, 2, 1), (0, 0)):
        out = shapes.poisoned(bad, "float32")
        with pytest.raises(smemkit.ShapeError):
            smemkit.gemm(a, b, out=out, backend=machine)
        assert np.isnan(out).all()
    for dtype in ("float64", "int32", "float16", "complex64"):
        with pytest.raises(TypeError, match="float32") as caught:
            smemkit.gemm(a, b, out=np.zeros((3, 2), dtype), backend=machine)
        assert isinstance(caught.value, smemkit.Error)
    locked = shapes.read_only(shapes.poisoned((3, 2), "float32"))
    with pytest.raises(ValueError, match=r"(?i)read.?only|writ") as caught:
        smemkit.gemm(a, b, out=locked, backend=machine)
    assert isinstance(caught.value, smemkit.Error)
    assert np.isnan(locked).all()
    with pytest.raises(TypeError):
        smemkit.gemm(a, b, out=[[0.0] * 2] * 3, backend=machine)


@each_dtype
def test_out_that_overlaps_an_operand(dtype, machine, rng):
    """The right result, or a refusal: never a wrong one."""
    n = 40
    cases = []
    a, b = shapes.integers(rng, (n, n), dtype), shapes.integers(rng, (n, n), dtype)
    cases += [(a.copy(), b.copy(), 0, lambda a, b: a), (a.copy(), b.copy(), 1, lambda a, b: b)]
    memory = shapes.integers(rng, (3 * n, n), dtype)
    cases += [(memory[:n], memory[n : 2 * n], None, lambda a, b: memory[n // 2 : n // 2 + n])]
    square = shapes.integers(rng, (n, n), dtype)
    cases += [(square, square, None, lambda a, b: a), (square, square.T, None, lambda a, b: a.T)]
    for left, right, _, pick in cases:
        expected = left.astype(np.float64) @ right.astype(np.float64)
        out = pick(left, right)
        before = out.copy()
        try:
            assert smemkit.gemm(left, right, out=out, backend=machine) is out
        except smemkit.Error as error:
            assert isinstance(error, ValueError)
            assert np.array_equal(out, before)
        else:
            assert np.array_equal(out, expected)


def test_one_array_for_both_operands(machine, rng):
    a = shapes.integers(rng, (37, 37), "float64")
    check_bits(smemkit.gemm(a, a, backend=machine), a, a)
    check_bits(smemkit.gemm(a, a.T, backend=machine), a, a.T)


@each_kernel_and_auto
def test_nan_and_infinity(variant, dtype, machine, rng):
    """They reach exactly the elements that they reach in NumPy, across edges of tiles too."""
    for n in (41, 44):
        check_nan_and_infinity(variant, dtype, machine, rng, n)


def check_nan_and_infinity(variant, dtype, machine, rng, n):
    a, b = shapes.integers(rng, (35, 37), dtype), shapes.integers(rng, (37, n), dtype)
    a[3, 36] = np.nan
    a[33, 2] = np.inf
    a[5, 0] = -np.inf
    a[5, 35] = np.inf
    b[36, 40] = np.inf
    b[0, 7] = np.nan
    b[10, 11] = 0
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    got = smemkit.gemm(a, b, variant=variant, backend=machine)
    assert np.array_equal(got, expected, equal_nan=True)
    assert np.isfinite(got).sum() == np.isfinite(expected).sum() > 0


@each_kernel_and_auto
def test_edges_of_nan(variant, dtype, machine, rng):
    """What lies in the last row and column of a ragged tile stays in its own row and column."""
    m, k, n = 131, 11, 261
    a, b = shapes.integers(rng, (m, k), dtype), shapes.integers(rng, (k, n), dtype)
    a[-1] = np.nan
    b[:, -1] = np.inf
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    got = smemkit.gemm(a, b, variant=variant, backend=machine)
    assert np.array_equal(got, expected, equal_nan=True)
    assert np.isfinite(got[:-1, :-1]).all() and not np.isfinite(got[-1]).any()


@each_dtype
def test_overflow_and_denormals(dtype, machine):
    """Sums overflow to infinity, and small results are not flushed to zero."""
    info = np.finfo(dtype)
    a = np.array([[info.max, info.max], [info.smallest_subnormal, 0]], dtype)
    b = np.array([[1, 2], [1, -2]], dtype)
    got = smemkit.gemm(a, b, backend=machine)
    assert got[0, 0] == np.inf
    assert got[0, 1] == 0 or np.isnan(got[0, 1]) or got[0, 1] == -np.inf or got[0, 1] == np.inf
    assert got[1, 0] == info.smallest_subnormal
    assert got[1, 1] == 2 * info.smallest_subnormal


def test_types_refused(machine):
    good = np.ones((2, 2), np.float32)
    for dtype in (
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "complex64",
        "longdouble",
        "O",
        "S4",
    ):
        bad = np.ones((2, 2), dtype)
        for a, b in ((bad, bad), (good, bad), (bad, good)):
            with pytest.raises(TypeError, match=r"float32.*float64") as caught:
                smemkit.gemm(a, b, backend=machine)
            assert isinstance(caught.value, smemkit.ArgumentTypeError)


def test_types_are_not_mixed(machine):
    a, b = np.ones((2, 2), np.float32), np.ones((2, 2), np.float64)
    for left, right in ((a, b), (b, a)):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"float(32|64).*float(32|64)"):
            smemkit.gemm(left, right, backend=machine)


def test_not_arrays(machine):
    a = np.ones((2, 2), np.float32)
    for bad in (None, 3, 2.5, "text", object(), {}):
        for left, right in ((a, bad), (bad, a)):
            with pytest.raises((TypeError, ValueError)):
                smemkit.gemm(left, right, backend=machine)
    with pytest.raises(TypeError):
        smemkit.gemm(a)
    with pytest.raises(TypeError):
        smemkit.gemm(a, a, "full", "tiled")
    with pytest.raises(TypeError):
        smemkit.gemm(a, a, colour="red")


def test_unknown_variant(machine):
    a = np.ones((2, 2), np.float32)
    with pytest.raises(ValueError, match="paddded") as caught:
        smemkit.gemm(a, a, variant="paddded", backend=machine)
    assert isinstance(caught.value, smemkit.ArgumentError)
    for known in VARIANTS:
        assert known in str(caught.value)
    for bad in (3, None, b"tiled"):
        with pytest.raises((TypeError, ValueError)):
            smemkit.gemm(a, a, variant=bad, backend=machine)


def test_unknown_backend():
    a = np.ones((2, 2), np.float32)
    with pytest.raises(ValueError, match="sim"):
        smemkit.gemm(a, a, backend="tpu")


def test_shape_errors_name_the_dimension(machine):
    a, b = np.ones((5, 64), np.float32), np.ones((48, 7), np.float32)
    with pytest.raises(smemkit.ShapeError, match="k is 64 in a and 48 in b"):
        smemkit.gemm(a, b, backend=machine)
    b = np.ones((64, 7), np.float32)
    with pytest.raises(smemkit.ShapeError, match="n is 7 in b and 8 in out"):
        smemkit.gemm(a, b, out=np.ones((5, 8), np.float32), backend=machine)
    with pytest.raises(smemkit.ShapeError, match="m is 5 in a and 6 in out"):
        smemkit.gemm(a, b, out=np.ones((6, 7), np.float32), backend=machine)


@pytest.mark.parametrize("rank", [0, 1])
def test_other_ranks_are_refused(rank, machine):
    good, bad = np.ones((1, 1), np.float32), np.ones((1,) * rank, np.float32)
    for a, b, name in ((good, bad, "b"), (bad, good, "a")):
        with pytest.raises(smemkit.ShapeError, match=rf"\b{name}\b") as caught:
            smemkit.gemm(a, b, backend=machine)
        assert isinstance(caught.value, ValueError)


@each_kernel
def test_device_arrays(variant, dtype, machine, rng):
    a, b = shapes.integers(rng, (35, 20), dtype), shapes.integers(rng, (20, 33), dtype)
    da, db = smemkit.asarray(a, backend=machine), smemkit.asarray(b, backend=machine)
    result = smemkit.gemm(da, db, variant=variant)
    assert isinstance(result, smemkit.DeviceArray)
    assert result.backend == machine
    assert result.shape == (35, 33) and result.dtype == dtype
    check_bits(smemkit.asnumpy(result), a, b)
    out = smemkit.asarray(shapes.poisoned((35, 33), dtype), backend=machine)
    assert smemkit.gemm(da, db, variant=variant, out=out, backend=machine) is out
    check_bits(smemkit.asnumpy(out), a, b)
    assert np.array_equal(smemkit.asnumpy(da), a) and np.array_equal(smemkit.asnumpy(db), b)


def test_device_arrays_of_nothing(machine):
    a = smemkit.empty((3, 0), "float64", backend=machine)
    b = smemkit.empty((0, 4), "float64", backend=machine)
    out = smemkit.asarray(shapes.poisoned((3, 4), "float64"), backend=machine)
    smemkit.gemm(a, b, out=out)
    assert np.array_equal(smemkit.asnumpy(out), np.zeros((3, 4)))
    assert smemkit.gemm(b, smemkit.empty((4, 0), "float64", backend=machine)).shape == (0, 0)


def test_device_out_that_overlaps(machine, rng):
    a = shapes.integers(rng, (40, 40), "float32")
    d = smemkit.asarray(a, backend=machine)
    try:
        smemkit.gemm(d, d, out=d)
    except smemkit.Error as error:
        assert isinstance(error, ValueError)
        assert np.array_equal(smemkit.asnumpy(d), a)
    else:
        assert np.array_equal(smemkit.asnumpy(d), a @ a)


def test_numpy_and_device_arrays_do_not_mix(machine):
    a = np.ones((2, 2), np.float32)
    d = smemkit.asarray(a, backend=machine)
    for left, right, out in ((a, d, None), (d, a, None), (d, d, a.copy()), (a, a, d)):
        with pytest.raises(TypeError, match=r"asarray|asnumpy") as caught:
            smemkit.gemm(left, right, out=out)
        assert isinstance(caught.value, smemkit.Error)


def test_device_array_on_the_other_machine(machine):
    d = smemkit.asarray(np.ones((2, 2), np.float32), backend=machine)
    other = "sim" if machine == "cuda" else "cuda"
    with pytest.raises(smemkit.Error):
        smemkit.gemm(d, d, backend=other)


def test_more_rows_than_a_grid_has_blocks(machine, rng):
    """Beyond 65,535 blocks along y the grid folds into z."""
    rows = smemkit.variants("gemm")["naive"]["tile"][1] * 65535 + 9
    a, b = shapes.integers(rng, (rows, 1), "float32"), np.full((1, 1), 3, np.float32)
    got = smemkit.gemm(a, b, variant="naive", backend=machine)
    assert np.array_equal(got, a * 3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_more_elements_than_32_bits_count(variant, machine, rng):
    """Elements behind the 2^31st are right (the simulator gets a shape of the same kind)."""
    if machine == "cuda":
        alone.skip_without_its_memory()
    side, dtype = 46_400 if machine == "cuda" else 400, TYPE[variant]
    a, b = shapes.integers(rng, (side, 1), dtype), shapes.integers(rng, (1, side), dtype)
    da, db = smemkit.asarray(a, backend=machine), smemkit.asarray(b, backend=machine)
    try:
        got = smemkit.asnumpy(smemkit.gemm(da, db, variant=variant))
    except smemkit.OutOfMemoryError:
        if machine != "cuda":
            raise
        pytest.skip("the device has too little memory free")
    for row in [*range(0, side, 997), side - 2, side - 1]:
        assert np.array_equal(got[row], a[row] * b[0]), row


def test_threads_of_the_caller(machine, rng):
    """Several Python threads may multiply at once."""
    operands = [
        (shapes.integers(rng, (50 + i, 40), "float32"), shapes.integers(rng, (40, 60), "float32"))
        for i in range(4)
    ]
    failures = []

    def work(a, b):
        try:
            for _ in range(5):
                check_bits(smemkit.gemm(a, b, backend=machine), a, b)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in operands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("variant", VARIANTS)
def test_large_ragged(variant, machine, rng):
    m, k, n = (4097, 1023, 4095) if machine == "cuda" else (161, 97, 129)
    dtype = TYPE[variant]
    a, b = shapes.integers(rng, (m, k), dtype), shapes.integers(rng, (k, n), dtype)
    assert np.array_equal(smemkit.gemm(a, b, variant=variant, backend=machine), a @ b)
    a, b = shapes.normal(rng, (m, k), dtype), shapes.normal(rng, (k, n), dtype)
    check_near(smemkit.gemm(a, b, variant=variant, backend=machine), a, b)
