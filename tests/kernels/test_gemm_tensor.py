"""gemm of float16, bfloat16, int8 and TF32: whole numbers, errors, layouts, stacks, types."""

import numpy as np
import pytest

import smemkit
from smemkit import _bfloat16

SUMS = {"float16": "float32", "bfloat16": "float32", "int8": "int32"}
FLOATS = ("float16", "bfloat16")
SHAPES = [
    (1, 1, 1),
    (64, 128, 128),
    (128, 64, 256),
    (33, 35, 37),
    (31, 4, 32),
    (40, 3, 70),
    (33, 0, 7),
    (1, 1000, 2),
    (130, 70, 258),
    (129, 200, 264),
]

each_type = pytest.mark.parametrize("dtype", SUMS)
each_variant = pytest.mark.parametrize("variant", ["tensor", "overlapped"])


def skip_old_gpus(machine, variant):
    """Launches wait for each other before compute capability 9.0."""
    if machine == "cuda" and variant == "overlapped":
        if float(smemkit.device_info(backend="cuda")["compute_capability"]) < 9:
            pytest.skip("the GPU is too old for gemm/overlapped")


def draw(rng, shape, dtype, most=9):
    return _bfloat16.convert(rng.integers(-most, most + 1, shape), dtype)


def exact(a, b):
    return _bfloat16.widen(a).astype("float64") @ _bfloat16.widen(b).astype("float64")


def transpose(array):
    """The same matrices, of which each lies column by column."""
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


@each_type
@pytest.mark.parametrize("variant", ["auto", "tensor", "overlapped"])
def test_integers_bit_for_bit(variant, dtype, machine, rng):
    skip_old_gpus(machine, variant)
    for m, k, n in SHAPES:
        a, b = draw(rng, (m, k), dtype), draw(rng, (k, n), dtype)
        before = a.copy(), b.copy()
        c = smemkit.gemm(a, b, variant=variant, backend=machine)
        assert type(c) is np.ndarray and c.dtype == SUMS[dtype] and c.shape == (m, n)
        assert np.array_equal(c, exact(a, b))
        assert (a == before[0]).all() and (b == before[1]).all()


@each_type
def test_large_tiles_with_columns_to_spare(dtype, rng, monkeypatch):
    """Tiles that a machine of one multiprocessor takes, the last warps of which have no columns."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "1")
    a, b = draw(rng, (128, 96), dtype), draw(rng, (96, 206), dtype)
    report = smemkit.profile(smemkit.gemm, a, b, variant="tensor", backend="sim")
    assert report.launches[-1].kernel == f"gemm_tensor_{dtype}"
    assert np.array_equal(report.result, exact(a, b))


@each_variant
def test_whole_range_of_int8(variant, machine, rng):
    skip_old_gpus(machine, variant)
    a, b = (rng.integers(-128, 128, shape).astype("int8") for shape in ((70, 400), (400, 130)))
    c = smemkit.gemm(a, b, variant=variant, backend=machine)
    assert np.array_equal(c, a.astype(int) @ b.astype(int))


@each_variant
@each_type
def test_a_long_k_is_cut_and_repeats_bit_for_bit(dtype, variant, machine, rng):
    skip_old_gpus(machine, variant)
    a, b = draw(rng, (9, 6000), dtype), draw(rng, (6000, 70), dtype)
    a[3, 7:] = a[0, 0]
    report = smemkit.profile(smemkit.gemm, a, b, variant=variant, backend="sim")
    assert any("_add_" in launch.kernel for launch in report.launches)
    first = smemkit.gemm(a, b, variant=variant, backend=machine)
    assert np.array_equal(first, exact(a, b))
    assert np.array_equal(first, smemkit.gemm(a, b, variant=variant, backend=machine))


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_data_within_the_bound(dtype, machine, rng):
    """Products are exact in float32; what is lost is that of the sums."""
    for m, k, n in [(70, 300, 130), (128, 2000, 64)]:
        a = _bfloat16.convert(rng.standard_normal((m, k)), dtype)
        b = _bfloat16.convert(rng.standard_normal((k, n)), dtype)
        wide = [np.abs(_bfloat16.widen(x).astype("float64")) for x in (a, b)]
        error = np.abs(smemkit.gemm(a, b, backend=machine) - exact(a, b))
        assert (error <= np.finfo("float32").eps * np.sqrt(k) * (wide[0] @ wide[1])).all()


@each_variant
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinity(dtype, variant, machine):
    skip_old_gpus(machine, variant)
    a, b = np.ones((40, 40), "float32"), np.ones((40, 40), "float32")
    a[1, 39], a[2, 0], b[5, 7] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = a @ b
    operands = (_bfloat16.convert(x, dtype) for x in (a, b))
    c = smemkit.gemm(*operands, variant=variant, backend=machine)
    assert np.array_equal(c, expected, equal_nan=True)


@each_variant
@each_type
def test_layouts_on_a_device(dtype, variant, machine, rng):
    """Transposed, and views that begin anywhere: read as they lie."""
    skip_old_gpus(machine, variant)
    a, b = draw(rng, (70, 66), dtype), draw(rng, (66, 90), dtype)
    expected = exact(a, b)
    whole = [smemkit.asarray(x, backend=machine) for x in (a, b)]
    turned = [smemkit.asarray(np.ascontiguousarray(x.T), backend=machine).T for x in (a, b)]
    framed = np.zeros((72, 77), a.dtype)
    framed[1:71, 3:69] = a
    view = smemkit.asarray(framed, backend=machine)[1:71, 3:69]
    for x in (whole[0], turned[0], view):
        for y in (whole[1], turned[1]):
            c = smemkit.gemm(x, y, variant=variant)
            assert np.array_equal(smemkit.asnumpy(c), expected)
    assert np.array_equal(smemkit.gemm(transpose(a), transpose(b), backend=machine), expected)
    if machine == "sim":
        assert smemkit.check(smemkit.gemm, view, turned[1], variant=variant).findings == []


@each_variant
@each_type
@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [
        ((3, 40, 32), (3, 32, 48)),
        ((3, 40, 24), (3, 24, 33)),
        ((5, 40, 24), (24, 33)),
        ((40, 24), (5, 24, 33)),
        ((2, 1, 33, 16), (1, 3, 16, 40)),
        ((2, 9, 700), (2, 700, 8)),
        ((0, 4, 3), (3, 2)),
    ],
)
def test_stacks(dtype, variant, shape_a, shape_b, machine, rng):
    skip_old_gpus(machine, variant)
    a, b = draw(rng, shape_a, dtype), draw(rng, shape_b, dtype)
    for y in (b, transpose(b)):
        c = smemkit.gemm(a, y, variant=variant, backend=machine)
        assert np.array_equal(c, exact(a, b))


@pytest.mark.parametrize("words", [{"dtype": d} for d in SUMS] + [{"precision": "tf32"}], ids=str)
def test_over_devices(words, machine, rng):
    """Each computes some rows; operands and results have elements of other sizes."""
    dtype, more = words.get("dtype", "float32"), {k: v for k, v in words.items() if k != "dtype"}
    a, b = draw(rng, (70, 40), dtype), draw(rng, (40, 50), dtype)
    got = smemkit.gemm(a, b, devices=[0, 0, 0], backend=machine, **more)
    assert got.dtype == SUMS.get(dtype, dtype) and np.array_equal(got, exact(a, b))
    on_device = [smemkit.asarray(x, backend=machine) for x in (a, b)]
    got = smemkit.gemm(*on_device, devices=[0, 0], **more)
    assert np.array_equal(smemkit.asnumpy(got), exact(a, b))


@pytest.mark.parametrize("words", [{"dtype": "float16"}, {"precision": "tf32"}], ids=str)
def test_parts_of_wider_rows(words, machine):
    """Rows begin at multiples of 16 bytes and end anywhere: what follows them is not added."""
    more = dict(words)
    dtype = more.pop("dtype", "float32")
    room = np.full((20, 24), np.nan, dtype)
    room[:, :17] = 1
    x = smemkit.asarray(room, backend=machine)[:, :17]
    y = smemkit.asarray(np.ones((17, 16), dtype), backend=machine)
    assert np.all(smemkit.asnumpy(smemkit.gemm(x, y, **more)) == 17)


@each_variant
@each_type
def test_check_finds_nothing(dtype, variant, rng):
    for m, k, n in [(128, 128, 256), (130, 70, 258), (20, 0, 9), (100, 1000, 90)]:
        a, b = draw(rng, (m, k), dtype), draw(rng, (k, n), dtype)
        assert smemkit.check(smemkit.gemm, a, b, variant=variant).findings == []


@each_type
def test_both_tiles_of_c(dtype, rng):
    """The plan takes the larger tile where there are enough of them."""
    names = set()
    for m, n in [(64, 64), (1024, 4096)]:
        a, b = draw(rng, (m, 16), dtype), draw(rng, (16, n), dtype)
        report = smemkit.profile(smemkit.gemm, a, b, variant="tensor")
        assert np.array_equal(report.result, exact(a, b))
        names |= {launch.kernel for launch in report.launches}
    assert names == {f"gemm_tensor_{dtype}", f"gemm_tensor_small_{dtype}"}


OVERLAPPED = {"": (64, 128), "_square": (64, 64), "_small": (32, 64), "_low": (16, 128)}


@pytest.mark.parametrize("part", OVERLAPPED)
@pytest.mark.parametrize("dtype", [*SUMS, "float32"])
def test_tiles_of_overlapped(dtype, part, rng, monkeypatch):
    """Each where the machine has one multiprocessor and c one tile, whole or not: no conflicts."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "1")
    m, n = OVERLAPPED[part]
    more = {"precision": "tf32"} if dtype == "float32" else {}
    for rows, k, columns in [(m, 1280, n), (m - 3, 208, n - 16)]:
        a, b = draw(rng, (rows, k), dtype), draw(rng, (k, columns), dtype)
        report = smemkit.profile(smemkit.gemm, a, b, variant="overlapped", backend="sim", **more)
        assert np.array_equal(report.result, exact(a, b))
        names = [launch.kernel for launch in report.launches if "lay_out" not in launch.kernel]
        kind = "tf32" if more else dtype
        if (rows, columns) == (m, n):
            assert names[0] == f"gemm_overlapped{part}_{kind}"
        for launch in report.launches[-len(names) :]:
            assert launch.counters["shared.load.conflicts"] == 0
            assert launch.counters["async.conflicts"] == 0


def test_overlapped_waits_before_it_touches_memory():
    entries = smemkit.ptx("gemm", "overlapped").split(".entry ")[1:]
    assert len(entries) == 6 * 4
    for entry in entries:
        before, waits, _ = entry.partition("griddepcontrol.wait")
        assert waits and "ld.global" not in before and "cp.async" not in before


def test_auto_takes_overlapped_for_few_tiles_alone(monkeypatch):
    """And where the machine can: cards before compute capability 9.0 keep gemm/tensor."""
    for dtype, more in [("float16", {}), ("int8", {}), ("float32", {"precision": "tf32"})]:
        for side, card, expected in [
            (512, "H200", "overlapped"),
            (8192, "H200", "tf32" if more else "tensor"),
            (512, "A100", "tf32" if more else "tensor"),
        ]:
            x = np.broadcast_to(np.zeros((1, 1), dtype), (side, side))
            found = smemkit.explain_choice(smemkit.gemm, x, x, device=card, **more)
            assert found.variant == expected


@each_type
def test_out(dtype, machine, rng):
    a, b = draw(rng, (20, 30), dtype), draw(rng, (30, 40), dtype)
    out = np.empty((20, 40), SUMS[dtype])
    assert smemkit.gemm(a, b, out=out, backend=machine) is out
    assert np.array_equal(out, exact(a, b))
    for other in ("float16", "float64", "int64"):
        with pytest.raises(smemkit.ArgumentTypeError, match=f"the result has {SUMS[dtype]}, as"):
            smemkit.gemm(a, b, out=np.empty((20, 40), other), backend=machine)


@each_type
def test_other_variants_refuse(dtype, machine, rng):
    a = draw(rng, (4, 4), dtype)
    with pytest.raises(smemkit.ArgumentTypeError, match=f"float32 or float64, not {dtype}"):
        smemkit.gemm(a, a, variant="tiled", backend=machine)
    other = np.ones((4, 4), "float32")
    with pytest.raises(smemkit.ArgumentTypeError, match=f"b has {dtype}; all inputs must have one"):
        smemkit.gemm(other, a, backend=machine)


# TF32 --------------------------------------------------------------------------------------------


def round_to_tf32(array):
    """The nearest numbers with 11 significant bits, ties away from zero."""
    bits = array.astype("float32").view("uint32") + np.uint32(0x1000)
    return (bits & np.uint32(0xFFFFE000)).view("float32").astype("float64")


each_rounding = pytest.mark.parametrize("variant", ["tf32", "overlapped"])


def multiply_tf32(a, b, machine, **more):
    return smemkit.gemm(a, b, precision="tf32", backend=machine, **more)


@each_rounding
def test_tf32_rounds_its_operands(variant, machine, rng):
    """And nothing else: what differs from that product is less than float32 has in sums."""
    skip_old_gpus(machine, variant)
    for m, k, n in [*SHAPES, (100, 4000, 90)]:
        a, b = (rng.standard_normal(shape, "float32") for shape in ((m, k), (k, n)))
        c = multiply_tf32(a, b, machine, variant=variant)
        rounded = round_to_tf32(a), round_to_tf32(b)
        sizes = np.abs(rounded[0]) @ np.abs(rounded[1])
        assert c.dtype == np.float32
        assert (np.abs(c - rounded[0] @ rounded[1]) <= 2.0**-22 * np.sqrt(k) * sizes).all()
        error = np.abs(c - a.astype("float64") @ b)
        assert (error <= 2.0**-10 * (np.abs(a).astype("float64") @ np.abs(b)) * 1.01).all()
    assert np.array_equal(c, smemkit.gemm(a, b, variant=variant, precision="tf32", backend=machine))
    assert not np.array_equal(c, smemkit.gemm(a, b, backend=machine)), "full is the default"


@each_rounding
def test_tf32_of_integers_layouts_and_stacks(variant, machine, rng):
    skip_old_gpus(machine, variant)
    a, b = draw(rng, (3, 70, 66), "float32"), draw(rng, (66, 90), "float32")
    for x, y in [(a, b), (transpose(a), b), (a[0], transpose(b)), (a[:, 1:, 3:60], b[3:60, 1:])]:
        assert np.array_equal(multiply_tf32(x, y, machine, variant=variant), exact(x, y))
        on_device = (smemkit.asarray(z, backend=machine) for z in (x, y))
        got = smemkit.gemm(*on_device, precision="tf32", variant=variant)
        assert np.array_equal(smemkit.asnumpy(got), exact(x, y))


@each_rounding
def test_tf32_of_nan_and_infinity(variant, machine):
    skip_old_gpus(machine, variant)
    a, b = np.ones((8, 8), "float32"), np.ones((8, 8), "float32")
    a.view("uint32")[1, 3], a[2, 0], b[5, 7] = 0x7FFFFFFF, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = a @ b
    got = multiply_tf32(a, b, machine, variant=variant)
    assert np.array_equal(got, expected, equal_nan=True)


@each_rounding
def test_tf32_is_clean(variant, rng):
    words = {"variant": variant, "precision": "tf32"}
    for m, k, n in [(130, 70, 258), (20, 0, 9)]:
        a, b = draw(rng, (m, k), "float32"), draw(rng, (k, n), "float32")
        assert smemkit.check(smemkit.gemm, a, b, **words).findings == []
        assert smemkit.check(smemkit.gemm, a, b.T.copy().T, **words).findings == []


def test_tf32_is_for_float32(machine, rng):
    a = draw(rng, (4, 4), "float16")
    with pytest.raises(
        smemkit.ArgumentTypeError, match="to multiply float32, and a has the type f"
    ):
        multiply_tf32(a, a, machine)
    with pytest.raises(smemkit.ArgumentTypeError, match="takes arrays of float32, not float16"):
        smemkit.gemm(a, a, variant="tf32", backend=machine)
    a = draw(rng, (4, 4), "float32")
    with pytest.raises(smemkit.ArgumentError, match="'padded' does not multiply by 'tf32'"):
        multiply_tf32(a, a, machine, variant="padded")
    with pytest.raises(smemkit.ArgumentError, match="precision is 'half', accepted are: full tf32"):
        smemkit.gemm(a, a, precision="half", backend=machine)
    assert smemkit.kernel("gemm", "tf32", "float32").name == "gemm_tf32_tf32"
