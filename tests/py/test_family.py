"""The seam that all families share: binding, attributes, types, out, device arrays, kernel()."""

import inspect
import re

import numpy as np
import pytest
from read_tables import read_rows
from support.tables import CHOICES, FAMILIES, VARIANTS, list_entries

import smemkit
from smemkit import _core
from smemkit.bench import workloads
from smemkit.bench.families import CLASSES

NAMES = workloads.list_families()
OTHER_SIZE = 11  # of a dimension that stands not here
SIZES = {"m": 9, "k": 5, "n": 12, "h": 10, "w": 13, "p": 3, "q": 2, "e": 257, "b": 256}
ATTRIBUTES = read_rows("registry/attributes.def", "SMK_ATTRIBUTE")
ATTRIBUTES = [row for row in ATTRIBUTES if row["kind"] != "DEVICES"]  # tests/py/test_panels.py
WORDS = [(row["family"], row["name"], row["choices"].split()) for row in ATTRIBUTES]
CHOSEN = [row for row in WORDS if row[2]]

each_family = pytest.mark.parametrize("family", NAMES)


def make(family, rng, dtype=None, keywords=None):
    dtype = dtype or next(iter(smemkit.variants(family).values()))["dtypes"][-1]
    _, _, dimensions = workloads.read_signature(FAMILIES[family]["signature"])
    sizes = {name: SIZES.get(name, OTHER_SIZE) for name in dimensions}
    return workloads.make_sample(family, sizes, dtype, rng, keywords)


def call(sample, *args, **keywords):
    return getattr(_core, sample.family)(*args, **keywords)


def empty_out(sample, **changes):
    """An out that fits, or one that differs from it."""
    expected = np.asarray(sample.expect())
    shape = changes.get("shape", expected.shape)
    return np.full(shape, 77, changes.get("dtype", expected.dtype))


def options_of(sample, machine):
    """What a call needs: a result of unknown length has its out."""
    options = {**sample.keywords, "backend": machine}
    return options | ({"out": empty_out(sample)} if CLASSES[sample.family].needs_out() else {})


# Binding -----------------------------------------------------------------------------------------


@each_family
def test_inputs_by_position_and_by_name(family, machine, rng):
    sample = make(family, rng)
    names = [word.split(":")[0] for word in FAMILIES[family]["inputs"].split()]
    options = options_of(sample, machine)
    sample.check(call(sample, *sample.arrays, **options))
    sample.check(call(sample, **dict(zip(names, sample.arrays, strict=True)), **options))
    first, rest = sample.arrays[0], dict(zip(names[1:], sample.arrays[1:], strict=True))
    sample.check(call(sample, first, **rest, **options))
    with pytest.raises(
        TypeError, match=f"{family}.. got multiple values for argument '{names[0]}'"
    ):
        call(sample, *sample.arrays, **{names[0]: first}, **options)


@each_family
def test_what_is_missing_or_unknown_is_named(family, rng):
    sample = make(family, rng)
    names = [word.split(":")[0] for word in FAMILIES[family]["inputs"].split()]
    with pytest.raises(TypeError, match=rf"{family}\(\) missing required argument '{names[0]}'"):
        call(sample)
    with pytest.raises(TypeError, match=f"missing required argument '{names[-1]}'"):
        call(sample, *sample.arrays[:-1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'varant'"):
        call(sample, *sample.arrays, varant="auto")
    positional = len(names) + len([row for row in WORDS if row[0] == family])
    with pytest.raises(TypeError, match=f"{positional} positional argument"):
        call(sample, *[sample.arrays[0]] * (positional + 1))


@each_family
def test_words_for_every_family(family, rng):
    sample = make(family, rng)
    known = "auto, " + ", ".join(smemkit.variants(family))
    with pytest.raises(smemkit.ArgumentError, match=f"no variant 'none'; there are: {known}"):
        call(sample, *sample.arrays, variant="none", backend="sim")
    for name in ("variant", "backend"):
        with pytest.raises(smemkit.ArgumentTypeError, match=f"{name} must be a str, not int"):
            call(sample, *sample.arrays, **{name: 3})
    with pytest.raises(smemkit.ArgumentError, match="'auto', 'cuda' and 'sim'"):
        call(sample, *sample.arrays, backend="gpu")
    with pytest.raises(smemkit.ArgumentError, match="NUL"):
        call(sample, *sample.arrays, variant="na\0ive")


# Attributes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "name", "choices"), CHOSEN)
def test_attributes_by_position_and_by_name(family, name, choices, machine, rng):
    place = [row[1] for row in WORDS if row[0] == family].index(name)
    before = [row[2][0] if row[2] else None for row in WORDS if row[0] == family][:place]
    default = make(family, rng, "float32" if name == "precision" else None)
    for word in choices:
        sample = workloads.Sample(
            family, default.sizes, default.dtype, default.arrays, {name: word}
        )
        sample.check(call(sample, *sample.arrays, **{name: word}, backend=machine))
        sample.check(call(sample, *sample.arrays, *before, word, backend=machine))
    default.check(call(default, *default.arrays, backend=machine))
    with pytest.raises(TypeError, match=f"multiple values for argument '{name}'"):
        call(default, *default.arrays, *before, choices[0], **{name: choices[0]})


@pytest.mark.parametrize(("family", "name", "choices"), CHOSEN)
def test_wrong_words_list_the_right_ones(family, name, choices, rng):
    sample = make(family, rng)
    wrong = ["", " ", "none", choices[0].upper(), choices[0][:-1], f"{choices[0]} "]
    wrong.append(" ".join(choices))
    for word in wrong:
        with pytest.raises(smemkit.ArgumentError) as caught:
            call(sample, *sample.arrays, **{name: word})
        expected = f"{family}: {name} is '{word}', accepted are: {' '.join(choices)}"
        assert str(caught.value) == expected
    for value in (0, None, b"sum", ["sum"]):
        with pytest.raises(smemkit.ArgumentTypeError, match=f"{name} must be a str, not"):
            call(sample, *sample.arrays, **{name: value})
    with pytest.raises(smemkit.ArgumentError, match="NUL"):
        call(sample, *sample.arrays, **{name: f"{choices[0]}\0"})


def test_an_attribute_of_another_family_is_unknown():
    for row in ATTRIBUTES:
        for family in {*NAMES} - {other["family"] for other in ATTRIBUTES}:
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{row['name']}'"):
                getattr(_core, family)(np.ones(3), **{row["name"]: "sum"})


# out ---------------------------------------------------------------------------------------------


@each_family
def test_out_is_filled_and_returned(family, machine, rng):
    sample = make(family, rng)
    out = empty_out(sample)
    assert call(sample, *sample.arrays, out=out, backend=machine) is out
    sample.check(out)


@each_family
def test_out_of_another_type(family, machine, rng):
    sample = make(family, rng)
    dtype = np.asarray(sample.expect()).dtype
    for other in {"float16", "float32", "int64", "complex64"} - {dtype.name}:
        out = empty_out(sample, dtype=other)
        with pytest.raises(smemkit.ArgumentTypeError) as caught:
            call(sample, *sample.arrays, out=out, backend=machine)
        words = f"{family}: out has the type {np.dtype(other)}, the result has {dtype}"
        assert str(caught.value) == words
        assert (out == 77).all()


@each_family
def test_out_of_another_shape(family, machine, rng):
    sample = make(family, rng)
    shape = np.shape(sample.expect())
    larger = tuple(size + 1 for size in shape)
    for other in {larger, (1, *shape), shape[1:], (0,) * len(shape)} - {shape}:
        out = empty_out(sample, shape=other)
        with pytest.raises((smemkit.ShapeError, smemkit.ArgumentError), match=f"{family}: .*out"):
            call(sample, *sample.arrays, out=out, backend=machine)
        assert (out == 77).all()


@each_family
def test_out_of_another_kind(family, machine, rng):
    sample = make(family, rng)
    out = empty_out(sample)
    for other in (out.tolist(), out.tobytes(), memoryview(out), 1):
        with pytest.raises(smemkit.ArgumentTypeError, match=f"{family}: out must be a numpy.nd"):
            call(sample, *sample.arrays, out=other, backend=machine)
    on_device = smemkit.asarray(out, backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=f"{family}: .* do not mix"):
        call(sample, *sample.arrays, out=on_device, backend=machine)
    out.flags.writeable = False
    with pytest.raises(smemkit.ArgumentError, match=f"{family}: out is read-only"):
        call(sample, *sample.arrays, out=out, backend=machine)
    assert (out == 77).all()


# Device arrays -----------------------------------------------------------------------------------


def to_device(sample, machine):
    return [smemkit.asarray(array, backend=machine) for array in sample.arrays]


@each_family
def test_device_arrays(family, machine, rng):
    for dtype in {word for row in smemkit.variants(family).values() for word in row["dtypes"]}:
        sample = make(family, rng, dtype)
        arrays = to_device(sample, machine)
        out = smemkit.asarray(empty_out(sample), backend=machine)
        assert call(sample, *arrays, out=out) is out
        sample.check(smemkit.asnumpy(out))
        if not CLASSES[family].needs_out():
            result = call(sample, *arrays)
            assert isinstance(result, smemkit.DeviceArray) and result.backend == machine
            assert result.dtype == np.asarray(sample.expect()).dtype
            sample.check(smemkit.asnumpy(result))
        for before, after in zip(sample.arrays, arrays, strict=True):
            assert np.array_equal(before, smemkit.asnumpy(after)), "an input was changed"


@each_family
def test_device_arrays_and_others_do_not_mix(family, machine, rng):
    sample = make(family, rng)
    arrays = to_device(sample, machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=f"{family}: .* do not mix"):
        call(sample, *arrays, out=empty_out(sample))
    for i in range(len(arrays)):
        mixed = [*arrays[:i], sample.arrays[i], *arrays[i + 1 :]]
        if len(arrays) > 1:
            with pytest.raises(smemkit.ArgumentTypeError, match="smemkit.asarray"):
                call(sample, *mixed)
    with pytest.raises(smemkit.ArgumentTypeError, match="out must be a smemkit.DeviceArray"):
        call(sample, *arrays, out=empty_out(sample).tolist())
    other = {"sim": "cuda", "cuda": "sim"}[machine]
    with pytest.raises((smemkit.ArgumentError, smemkit.BackendError)):
        call(sample, *arrays, backend=other)


def test_a_device_out_that_is_an_input(machine):
    x = smemkit.asarray(np.arange(5.0), backend=machine)
    y = smemkit.asarray(np.ones(5), backend=machine)
    for bad, name in ((x, "x"), (y, "y")):
        with pytest.raises(smemkit.ArgumentError, match=f"out is {name} itself"):
            smemkit.vector_add(x, y, out=bad)


# Inputs with a type of their own -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", ">i8", ">i2", "?"])
def test_indices_are_converted_where_nothing_is_lost(dtype, machine):
    x, index = np.arange(10.0, 15.0), np.array([1, 0, 1, 1]).astype(dtype)
    assert np.array_equal(_core.gather(x, index, backend=machine), x[index.astype("int64")])


@pytest.mark.parametrize("dtype", ["uint64", "float32", "float64", "complex64", "M8[s]", "U1"])
def test_indices_that_lose_are_refused(dtype, machine):
    index = np.zeros(3).astype(dtype)
    with pytest.raises(smemkit.ArgumentTypeError) as caught:
        _core.gather(np.arange(3.0), index, backend=machine)
    words = (
        f"gather: index has the type {index.dtype}, which does not convert to int64 without loss"
    )
    assert str(caught.value) == words


def test_edges_are_float64(machine):
    x, out = np.array([0.5, 1.5, 1.6], "float32"), np.zeros(2, "int64")
    for edges in ([0, 1, 2], np.arange(3, dtype="float32"), np.arange(3, dtype=">f8")):
        assert _core.histogram(x, edges, out=out, backend=machine).tolist() == [1, 2]
    with pytest.raises(smemkit.ArgumentTypeError, match="histogram: edges has the type complex128"):
        _core.histogram(x, [0j, 1, 2], out=out, backend=machine)


def test_device_arrays_are_never_converted(machine):
    x = smemkit.asarray(np.arange(3.0), backend=machine)
    for dtype in ("int32", "uint64"):
        index = smemkit.asarray(np.zeros(3, dtype), backend=machine)
        with pytest.raises(smemkit.ArgumentTypeError, match=f"{dtype}, a device array for it must"):
            _core.gather(x, index)


PAIRED = [name for name, row in FAMILIES.items() if re.fullmatch(r"\w+ \w+", row["inputs"])]


@pytest.mark.parametrize("family", PAIRED)
def test_all_inputs_have_one_type(family, machine, rng):
    sample = make(family, rng, "float32")
    arrays = [sample.arrays[0], sample.arrays[1].astype("float64")]
    with pytest.raises(smemkit.ArgumentTypeError, match=f"{family}: .*float32 .*float64"):
        call(sample, *arrays, backend=machine)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", ">f4"])
def test_lists_of_whole_numbers_have_the_type_of_the_array(dtype, machine):
    """As numbers of Python have in NumPy."""
    a = np.array([[1, 2], [3, 4]], dtype)
    for b in ([[5, 6], [7, 8]], ([5, 6], (7, 8)), [[True, False], [False, True]]):
        expected = smemkit.gemm(a, np.array(b, dtype), backend=machine)
        for found in (smemkit.gemm(a, b, backend=machine), smemkit.gemm(b, a, backend=machine).T):
            assert found.dtype == expected.dtype
        assert (smemkit.gemm(a, b, backend=machine) == expected).all()
    assert smemkit.gemm(a[:0], [[5], [6]], backend=machine).shape == (0, 1)
    assert smemkit.vector_add(np.zeros(0, "f4"), [], backend=machine).shape == (0,)


@pytest.mark.parametrize(
    ("dtype", "b"),
    [
        ("float32", [[2**24 + 1]]),
        ("float64", [[2**53 + 1]]),
        ("int8", [[300]]),
        ("float32", [[2**70]]),
        ("float32", [[0.5]]),
        ("float32", np.array([[1]])),
    ],
)
def test_what_would_lose_values_or_is_no_list_keeps_its_type(dtype, b, machine):
    with pytest.raises(smemkit.ArgumentTypeError, match="int64|object|float64"):
        smemkit.gemm(np.ones((1, 1), dtype), b, backend=machine)


@pytest.mark.parametrize(
    ("a", "b", "advice"),
    [
        ("int8", "float32", r"a\.astype\('float32'\)$"),
        ("float64", "float32", r"b\.astype\('float64'\)$"),
        ("float32", "float16", r"b\.astype\('float32'\)$"),
        ("float16", "bfloat16", "all inputs must have one type$"),  # NumPy knows none for both
        ("complex64", "float32", "not complex64$"),
        ("datetime64[s]", "float32", r"not datetime64\[s\]$"),
        ("int32", "int32", r"a can be converted with a\.astype\(\.\.\.\)$"),
    ],
)
def test_advice_on_types_loses_no_values(a, b, advice, machine):
    """It never says to round, nor to drop the imaginary parts."""
    types = [a, b]
    if "bfloat16" in types:
        types[types.index("bfloat16")] = pytest.importorskip("ml_dtypes").bfloat16
    with pytest.raises(smemkit.ArgumentTypeError, match=advice):
        smemkit.gemm(*(np.zeros((2, 2), dtype) for dtype in types), backend=machine)


# Any type of an item size ------------------------------------------------------------------------

PLAIN = ["M8[ns]", "m8[s]", ">M8[D]", ">m8", "S1", "S2", "S4", "S8", "U1", "U2", ">U1", ">U2"]
MOVED = [*PLAIN, "V4", [("a", "i1"), ("b", "u1")], [("a", ">f4"), ("b", "i4")]]


def fill(dtype, size):
    """Different elements, as far as the type has them."""
    dtype = np.dtype(dtype)
    if dtype.kind in "SU":
        letters = [chr(97 + i % 26) * (1 + i % 2) for i in range(size)]
        return np.array(letters).astype(dtype)
    if dtype.kind in "mM":
        return np.arange(size).astype("int64").astype(dtype)
    return np.arange(size * dtype.itemsize, dtype="uint8").view(dtype)


@pytest.mark.parametrize("dtype", MOVED, ids=str)
def test_transpose_and_gather_move_anything(dtype, machine):
    a = fill(dtype, 35 * 3).reshape(35, 3)
    native = a.dtype.newbyteorder("=")
    for variant in ("auto", *smemkit.variants("transpose")):
        if variant != "copy":
            turned = smemkit.transpose(a, variant=variant, backend=machine)
            assert turned.dtype == native and np.array_equal(turned, a.T)
    x, index = a.ravel(), np.array([3, -1, 0, 3])
    for variant in ("auto", *smemkit.variants("gather")):
        taken = smemkit.gather(x, index, variant=variant, backend=machine)
        assert taken.dtype == native and np.array_equal(taken, x[index])
    out = np.empty((3, 35), native)
    assert smemkit.transpose(a[::-1], out=out, backend=machine) is out
    assert np.array_equal(out, a[::-1].T)


def test_dates_that_are_none(machine):
    x = np.array(["2000-01-01", "NaT", "1969-12-31T23:59:59"], "M8[s]")
    taken = smemkit.gather(x, [1, 2, 0], backend=machine)
    assert np.isnat(taken[0]) and taken[1:].tolist() == x[[2, 0]].tolist()


REFUSED = [
    "O",
    "S3",
    "S16",
    "U3",
    "c16",
    "V3",
    *(["T"] if hasattr(np.dtypes, "StringDType") else []),
]


@pytest.mark.parametrize("dtype", REFUSED)
def test_what_cannot_be_moved(dtype, machine):
    a = np.zeros((2, 3), np.int8).astype(dtype)
    if a.itemsize == 16 and a.dtype.kind in "ScU":  # which transpose moves
        assert np.array_equal(smemkit.transpose(a, backend=machine), a.T)
    else:
        words = "transpose takes arrays of 1-byte items or"
        with pytest.raises(smemkit.ArgumentTypeError, match=words):
            smemkit.transpose(a, backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match="gather"):
        smemkit.gather(np.zeros(2, np.int8).astype(dtype), [0], backend=machine)


def test_dates_stay_out_of_arithmetic_and_of_devices(machine):
    dates = np.array([1, 2], "M8[s]")
    for function in (smemkit.reduce, smemkit.smooth):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"not datetime64\[s\]"):
            function(dates, backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError):
        smemkit.vector_add(dates, dates, backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match="does not exist on a device"):
        smemkit.asarray(dates, backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"out has the type datetime64\[D\]"):
        smemkit.transpose(dates.reshape(1, 2), out=np.empty((2, 1), "M8[D]"), backend=machine)


# kernel() ----------------------------------------------------------------------------------------


def numpy_type(word):
    word = word.replace("bits128", "complex128").replace("bits", "uint")
    return word.replace("tf32", "float32")


@pytest.mark.parametrize(("family", "variant"), sorted(VARIANTS))
def test_every_kernel_by_its_type_and_choice(family, variant):
    words = VARIANTS[family, variant]["types"].split()
    choices = [
        row["choice"] for row in CHOICES if row["family"] == family and row["type"] == words[0]
    ]
    found = [
        smemkit.kernel(family, variant, numpy_type(dtype), choice)
        for dtype in words
        for choice in (choices or [None])
    ]
    assert [kernel.name for kernel in found] == list(list_entries(family, variant))
    assert smemkit.kernel(family, variant).name == found[0].name, "the first of each by default"
    assert all(isinstance(kernel, smemkit.RawKernel) for kernel in found)
    limit = found[0].attributes["maxntid"]
    assert limit[0] * limit[1] * limit[2] == np.prod(smemkit.variants(family)[variant]["block"])


def test_kernel_runs(machine):
    x, y, out = np.arange(5, dtype="float32"), np.ones(5, "float32"), np.zeros(5, "float32")
    kernel = smemkit.kernel(family="vector_add", variant="naive", dtype=np.float32)
    kernel(1, 256, (x, y, out, 5), backend=machine)
    assert out.tolist() == [1, 2, 3, 4, 5]
    data, total = np.array([3.0, 9.0, 4.0]), np.zeros(1)
    largest = smemkit.kernel("reduce", "sequential", "float64", "max")
    largest(1, 256, (data, total, 3), backend=machine)
    assert total[0] == 9


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float32", "bits32"),
        (np.complex64, "bits64"),
        ("?", "bits8"),
        (">i2", "bits16"),
        ("M8[ns]", "bits64"),
        (np.dtype([("a", "i2"), ("b", "i2")]), "bits32"),
        (None, "bits8"),
    ],
)
def test_kernel_of_any_type_of_a_size(dtype, name):
    assert smemkit.kernel("transpose", "padded", dtype).name == f"transpose_padded_{name}"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            ("gemn", "naive"),
            ValueError,
            "no kernel family 'gemn'; did you mean 'gemm'? There are: gemm",
        ),
        (("gemm", "fast"), ValueError, "gemm has no variant 'fast'; there are: naive"),
        (("gemm", "naive", "int32"), TypeError, "compiled for float32 float64, not int32"),
        (("gemm", "naive", "float16"), TypeError, "compiled for float32 float64, not float16"),
        (("transpose", "naive", "U3"), TypeError, "not text"),
        (("gemm", "naive", "nothing"), TypeError, "nothing"),
        (("reduce", "shuffle", None, "mean"), ValueError, "choice is 'mean', accepted are: sum"),
        (("gemm", "naive", None, "sum"), ValueError, "gemm has no choices that are compiled in"),
        (("conv2d", "naive", None, "wrap"), ValueError, "conv2d has no choices that are compiled"),
        (("reduce", "shuffle", None, 1), TypeError, "choice must be a str, not int"),
        ((1, "naive"), TypeError, "family must be a str, not int"),
        (("gemm", 1), TypeError, "variant must be a str, not int"),
        (("gemm",), TypeError, "missing required argument 'variant'"),
        (("gemm", "naive", None, None, None), TypeError, "positional argument"),
    ],
)
def test_kernel_refuses(arguments, error, words):
    with pytest.raises(error, match=re.escape(words)):
        smemkit.kernel(*arguments)


def test_kernel_takes_no_other_keyword():
    with pytest.raises(TypeError, match="unexpected keyword argument 'op'"):
        smemkit.kernel("reduce", "shuffle", op="max")


def test_an_input_that_no_array_is_made_of(machine):
    """An input of a type of its own: edges are float64."""
    with pytest.raises(ValueError, match="inhomogeneous"):
        smemkit._core.histogram(np.ones(5, np.float32), [[1], [1, 2]], backend=machine)


@each_family
def test_findings_name_the_operand(family, rng):
    """What messages call an operand: its name in the signature, its type and its shape."""
    sample = make(family, rng, CLASSES[family].usual_dtype)
    options = options_of(sample, "sim")
    if "out" in options:
        options["out"] = smemkit.asarray(options["out"], backend="sim")
    blank = smemkit.empty(sample.arrays[0].shape, sample.arrays[0].dtype, backend="sim")
    arrays = [smemkit.asarray(array, backend="sim") for array in sample.arrays[1:]]
    function = getattr(_core, family)
    report = smemkit.check(function, blank, *arrays, **options)
    name = next(iter(inspect.signature(function).parameters))
    shape = ",".join(map(str, blank.shape))
    assert f"{name} ({blank.dtype}[{shape}]), element" in str(report.findings[0])


def test_a_call_after_another_has_a_plan_of_its_own(rng):
    """The plan of the last call serves the next one only where all of it is the same."""
    a = rng.integers(-9, 9, (70, 40)).astype("f4")
    for _ in range(2):
        for shape in ((70, 40), (33, 40), (70, 7), (70, 40)):
            x = a[: shape[0], : shape[1]]
            for dtype in ("f4", "f8"):
                for variant in ("auto", "naive", "tiled"):
                    y = x.astype(dtype)
                    product = smemkit.gemm(y, y.T, variant=variant, backend="sim")
                    assert np.array_equal(product, y @ y.T) and product.dtype == y.dtype
            for operation, wanted in (("sum", x.sum()), ("max", x.max()), ("min", x.min())):
                assert smemkit.reduce(x, operation, backend="sim") == wanted
            for mode in ("reflect", "nearest", "constant"):
                weights = np.arange(9, dtype="f4").reshape(3, 3)
                kept = smemkit.conv2d(x, weights, mode=mode, backend="sim")
                again = smemkit.conv2d(x, weights, mode=mode, variant="naive", backend="sim")
                assert np.array_equal(kept, again)
