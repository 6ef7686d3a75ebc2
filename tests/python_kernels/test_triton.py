"""Kernels of Triton: results, counters by line of Python, findings, and what is refused."""

import importlib.util
import inspect
import linecache

import numpy
import pytest

import smemkit

if importlib.util.find_spec("triton") is None:
    pytest.skip("needs Triton: pip install 'smemkit[triton]'", allow_module_level=True)
import triton
from python_kernels import triton_kernels as kernels
from python_kernels.marked_lines import find_mark

VERSION = tuple(map(int, triton.__version__.split(".")[:2]))


@pytest.fixture(autouse=True)
def fused(monkeypatch):
    """Says what Triton 3.9 warns of where it is not said."""
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")


def get_strides(*arrays):
    return [stride // array.itemsize for array in arrays for stride in array.strides]


def make_add(rng):
    x, y = rng.random((2, 1000), dtype="float32")
    return (4,), (x, y, numpy.zeros_like(x), 1000), {"BLOCK": 256}, (2, x + y)


def make_softmax(rng):
    x = rng.standard_normal((5, 100), dtype="float32")
    top = numpy.exp(x - x.max(axis=1, keepdims=True))
    right = top / top.sum(axis=1, keepdims=True)
    return (5,), (x, numpy.zeros_like(x), 100, 100), {"BLOCK": 128}, (1, right)


def make_layer_norm(rng):
    x = rng.standard_normal((4, 100), dtype="float32")
    weight, bias = rng.random((2, 100), dtype="float32")
    centred = x - x.mean(axis=1, keepdims=True)
    right = centred / numpy.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * weight + bias
    return (4,), (x, weight, bias, numpy.zeros_like(x), 100, 1e-5), {"BLOCK": 128}, (3, right)


def make_matmul(rng, dtype="float16"):
    a = rng.standard_normal((50, 40), dtype="float32").astype(dtype)
    b = rng.standard_normal((60, 40), dtype="float32").astype(dtype).T  # read along its columns
    c = numpy.zeros((50, 60), "float32")
    right = a.astype("float64") @ b.astype("float64")
    args = (a, b, c, 50, 60, 40, *get_strides(a, b, c))
    return (2, 2), args, {"M": 32, "N": 32, "K": 32}, (2, right)


def make_total(rng):
    x = rng.integers(-9, 9, 1000, dtype="int32")
    return (4,), (x, numpy.zeros(1, "int32"), 1000), {"BLOCK": 256}, (1, [x.sum()])


def make_histogram(rng):
    x = rng.integers(0, 16, 1000, dtype="int32")
    right = numpy.bincount(x, minlength=16)
    words = {"BINS": 16, "BLOCK": 256}
    return (4,), (x, numpy.zeros(16, "int32"), 1000), words, (1, right)


def make_attention(rng):
    q, k, v = rng.standard_normal((3, 50, 32), dtype="float32").astype("float16")
    score = q.astype("float64") @ k.T.astype("float64") * 0.125
    share = numpy.exp(score - score.max(axis=1, keepdims=True))
    right = share / share.sum(axis=1, keepdims=True) @ v.astype("float64")
    args = (q, k, v, numpy.zeros((50, 32), "float32"), 50, 0.125)
    return (2,), args, {"D": 32, "M": 32, "N": 32}, (3, right)


CASES = {
    "add": make_add,
    "softmax": make_softmax,
    "layer_norm": make_layer_norm,
    "matmul": make_matmul,
    "total": make_total,
    "histogram": make_histogram,
    "attention": make_attention,
}


def test_time_on_a_card(rng):
    grid, args, words, _ = CASES["total"](rng)
    found = smemkit.from_triton(kernels.total)[grid].predict(*args, **words, device="rtx 4090")
    assert found.card.name == "RTX 4090" and found.low_ms < found.time_ms < found.high_ms


@pytest.mark.parametrize("name", CASES)
def test_result_and_lines(name, rng):
    """Values are NumPy's, nothing is found, and accesses count for lines that make some."""
    grid, args, words, (out, right) = CASES[name](rng)
    kernel = smemkit.from_triton(getattr(kernels, name))
    report = kernel[grid].profile(*args, **words)
    assert numpy.allclose(args[out], right, rtol=2e-3, atol=2e-3)
    args[out][...] = 0
    checked = kernel[grid].check(*args, **words)
    assert checked, str(checked)
    accesses = {
        line.line: line.text
        for line in report.lines
        if line.file == kernels.__file__
        and any(line.counters[f"{word}.requests"] for word in ("global.load", "global.store"))
    }
    source, first = inspect.getsourcelines(getattr(kernels, name).fn)
    wanted = {
        first + i: text.strip()
        for i, text in enumerate(source)
        if "tl.load(" in text or "tl.store(" in text
    }
    assert accesses.items() <= wanted.items()
    moved = report.counters["async.requests"] > 0  # loads that became copies to shared memory
    assert moved or set(accesses) == set(wanted)


@pytest.mark.parametrize("name", CASES)
def test_fault_is_found(name, rng):
    grid, args, words, _ = CASES[name](rng)
    kind, line = find_mark(getattr(kernels, f"{name}_faulty").fn)
    checked = smemkit.from_triton(getattr(kernels, f"{name}_faulty"))[grid].check(*args, **words)
    found = {(one.kind, one.first.file, one.first.line) for one in checked.findings}
    assert (kind, kernels.__file__, line) in found, str(checked)


@pytest.mark.parametrize(
    ("dtype", "error"), [("float16", 1e-4), ("float32", 0.05), ("bfloat16", 1e-4)]
)
def test_products_on_tensor_cores(dtype, error, rng):
    """tl.dot of f16, tf32 and bf16."""
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    grid, args, words, (out, right) = make_matmul(rng, dtype)
    report = smemkit.from_triton(kernels.matmul)[grid].profile(*args, **words)
    assert numpy.abs(args[out] - right).max() < error
    line = next(line for line in report.lines if "tl.dot" in line.text)
    assert line.counters["matrix.instructions"] == report.counters["matrix.instructions"] > 0


def test_floats_of_8_bits(rng):
    dtype = pytest.importorskip("ml_dtypes").float8_e5m2
    a, b = (rng.standard_normal((32, 32), dtype="float32").astype(dtype) for _ in "ab")
    c = numpy.zeros((32, 32), "float32")
    args = (a, b, c, 32, 32, 32, *get_strides(a, b, c))
    smemkit.from_triton(kernels.matmul)[(1, 1)](*args, M=32, N=32, K=32)
    assert numpy.allclose(c, a.astype("float32") @ b.astype("float32"), atol=1e-3)


def test_bfloat16_without_its_package(rng):
    """A structure of bits, as device arrays without ml_dtypes have it."""
    a = rng.standard_normal((32, 32), dtype="float32")
    bits = (a.view("uint32") >> 16).astype("uint16")
    kept = (bits.astype("uint32") << 16).view("float32")
    packed = bits.view([("bfloat16", "uint16")])
    c = numpy.zeros((32, 32), "float32")
    kernel = smemkit.from_triton(kernels.matmul)
    args = (packed, packed, c, 32, 32, 32, *get_strides(packed, packed, c))
    kernel[(1, 1)](*args, M=32, N=32, K=32)
    assert numpy.allclose(c, kept @ kept, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(
    VERSION < (3, 6), reason="older Triton does not say which line calls its library"
)
def test_library_counts_for_the_line_that_calls_it(rng):
    """What Triton's own tl.max and tl.sum do has no file of its own in a report."""
    grid, args, words, _ = make_softmax(rng)
    report = smemkit.from_triton(kernels.softmax)[grid].profile(*args, **words)
    files = {line.file for line in report.lines}
    assert kernels.__file__ in files
    assert files <= {kernels.__file__, "ptx"}
    barriers = {line.text for line in report.lines if line.counters["barrier.count"]}
    assert barriers <= {
        "top = tl.exp(row - tl.max(row, axis=0))",
        "return top / tl.sum(top, axis=0)",
    }


def test_signature_in_advance(rng):
    grid, args, words, (out, right) = make_add(rng)
    kernel = smemkit.from_triton(kernels.add, "*fp32:16, *fp32:16, *fp32:16, i32, 256")
    assert kernel.compile().attributes["maxntid"] == (128, 1, 1)
    kernel[grid](*args)
    assert numpy.array_equal(args[out], right)
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    slow = smemkit.from_triton(kernels.add, types, {"BLOCK": 256}, num_warps=2)
    args[out][...] = 0
    slow[grid](*args)
    assert numpy.array_equal(args[out], right)
    assert slow.compile().attributes["maxntid"] == (64, 1, 1)


def test_divisibility_makes_accesses_wide(rng):
    """As on a GPU: a length that is a multiple of 16 lets Triton load 16 bytes at once."""
    x, y, out = rng.random((3, 1024), dtype="float32")
    kernel = smemkit.from_triton(kernels.add)
    wide = kernel[(2,)].profile(x, y, out, 1024, BLOCK=512)
    narrow = kernel[(2,)].profile(x, y, out, 1023, BLOCK=512)
    assert wide.counters["global.load.requests"] * 4 == narrow.counters["global.load.requests"]


def test_grid_of_a_function_device_arrays_and_words(rng):
    x, y = (smemkit.asarray(one, backend="sim") for one in rng.random((2, 1000), dtype="float32"))
    out = smemkit.zeros(1000, "float32", backend="sim")
    kernel = smemkit.from_triton(kernels.add)
    launch = kernel[lambda given: (triton.cdiv(given["n"], given["BLOCK"]),)]
    launch(x, y, out, n=1000, BLOCK=256, num_warps=2, backend="sim", max_steps=10**6)
    assert numpy.array_equal(smemkit.asnumpy(out), smemkit.asnumpy(x) + smemkit.asnumpy(y))
    with pytest.raises(smemkit.StepBudgetError):
        launch(x, y, out, 1000, 256, max_steps=10)


def test_autotune_and_heuristics():
    x = numpy.ones(512, "float32")
    first = smemkit.from_triton(kernels.scale)
    first[lambda given: (triton.cdiv(given["n"], given["BLOCK"]),)](x, 3.0, 512)
    assert (x == 3).all()
    second = smemkit.from_triton(kernels.scale, config=1)
    report = second[(2,)].profile(x, 2.0, 500)
    assert report.launches[0].block == (128, 1, 1)
    assert (x[:500] == 6).all() and (x[500:] == 3).all()
    with pytest.raises(smemkit.ArgumentError, match="has 2 configurations"):
        smemkit.from_triton(kernels.scale, config=2)


def test_constants_none_bool_and_one():
    x, bias = numpy.ones(100, "float32"), numpy.full(100, 5, "float32")
    kernel = smemkit.from_triton(kernels.options)
    kernel[(1,)](x, None, 2.5, False, 100)
    assert (x == 2.5).all()
    kernel[(1,)](x, bias, 2, True, numpy.int32(100))
    assert (x == -10).all()
    seen = numpy.zeros(3, "int64")
    smemkit.from_triton(kernels.count_up)[3](seen, 1)
    assert seen.tolist() == [1, 2, 3]


def test_numbers_of_16_bits():
    x = numpy.zeros(2, "float32")
    kernel = smemkit.from_triton(kernels.fill, {"x": "*fp32", "half": "fp16", "brain": "bf16"})
    kernel[(1,)](x, 0.1, -2.5)
    assert x.tolist() == [numpy.float16(0.1), -2.5]


@pytest.mark.skipif(VERSION < (3, 6), reason="older Gluon asks the driver for the GPU")
def test_gluon():
    gluon = pytest.importorskip("triton.experimental.gluon")
    language = gluon.language
    path = "/tmp/no_such_folder/gluon.py"
    text = "@gluon.jit\ndef double(x, n, BLOCK: gl.constexpr, LAYOUT: gl.constexpr):\n"
    text += "    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LAYOUT)\n"
    text += "    gl.store(x + i, gl.load(x + i, mask=i < n) * 2, mask=i < n)\n"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    names = {"gluon": gluon, "gl": language}
    exec(compile(text, path, "exec"), names)
    x = numpy.arange(100, dtype="float32")
    layout = language.BlockedLayout([1], [32], [4], [0])
    assert smemkit.from_triton(names["double"])[(1,)].check(x, 100, BLOCK=128, LAYOUT=layout)
    assert numpy.array_equal(x, 2 * numpy.arange(100))


@pytest.mark.parametrize("path", ["/tmp/no_such_folder/1.py", "/tmp/no_such_folder/2.py"])
def test_cells_of_a_notebook_have_names(path):
    """IPython keeps their text in linecache, under the path of a file that is not there.

    Triton's cache gives the second one the PTX of the first, with the other path in it.
    """
    text = "import triton.language as tl\nimport triton\n\n\n@triton.jit\ndef first(x):\n"
    text += "    tl.store(x + tl.arange(0, 64), 1)\n"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    names = {}
    exec(compile(text, path, "exec"), names)
    report = smemkit.from_triton(names["first"])[(1,)].check(numpy.zeros(60, "int32"))
    place = report.findings[0].first
    assert (place.file, place.line) == ("<cell of first>", 7)
    assert place.text == "tl.store(x + tl.arange(0, 64), 1)"


def test_views_go_as_they_lie(rng):
    """A view of every second column: its strides count, and what lies between stays."""
    room = rng.standard_normal((32, 64), dtype="float32")
    before = room.copy()
    a, c = room[:, 0:32], numpy.zeros((32, 32), "float32")
    b = rng.standard_normal((64, 64), dtype="float32")[::2, ::2]
    args = (a, b, c, 32, 32, 32, *get_strides(a, b, c))
    smemkit.from_triton(kernels.matmul)[(1, 1)](*args, M=32, N=32, K=32)
    assert numpy.abs(c - a @ b).max() < 0.05
    assert numpy.array_equal(room, before)
    with pytest.raises(smemkit.ArgumentError, match="runs backwards"):
        smemkit.from_triton(kernels.add)[(1,)](a[::-1], a, a, 8, BLOCK=16)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"n": 2.5, "signature": "i32"}, smemkit.ArgumentTypeError, "n"),
        ({"x": 3}, smemkit.ArgumentTypeError, "x is .fp32, a pointer: it takes an array, not int"),
        ({"x": "float64"}, smemkit.ArgumentTypeError, "takes an array of float32, not float64"),
        ({"n": "float32"}, smemkit.ArgumentTypeError, "n is i32, a number, and an array"),
        ({"n": 2**40}, smemkit.ArgumentError, "n"),
    ],
)
def test_arguments_that_do_not_fit(change, error, says):
    kernel = smemkit.from_triton(kernels.add, "*fp32, *fp32, *fp32, i32, 256")
    args = {name: numpy.zeros(256, "float32") for name in ("x", "y", "out")} | {"n": 256}
    for name in args.keys() & change.keys():
        value = change[name]
        args[name] = numpy.zeros(256, value) if isinstance(value, str) else value
    with pytest.raises(error, match=says):
        kernel[(1,)](*args.values())


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: smemkit.from_triton(len), smemkit.ArgumentTypeError, "@triton.jit"),
        (lambda: smemkit.from_triton(kernels.add, "*fp33"), smemkit.ArgumentError, "a type is"),
        (lambda: smemkit.from_triton(kernels.add, "*fp32"), smemkit.ArgumentError, "no type for y"),
        (lambda: smemkit.from_triton(kernels.add, {"z": "i32"}), smemkit.ArgumentError, "'z'"),
        (lambda: smemkit.from_triton(kernels.add, arch="new"), smemkit.ArgumentError, "sm_80"),
        (lambda: smemkit.from_triton(kernels.add, warps=3), smemkit.ArgumentTypeError, "'warps'"),
        (
            lambda: smemkit.from_triton(kernels.add, None, {"BLOCK": 4}),
            smemkit.ArgumentError,
            "each call gives them",
        ),
        (
            lambda: smemkit.from_triton(kernels.add)[(1,)](numpy.zeros(4, "f4"), BLOCK=16),
            smemkit.ArgumentTypeError,
            "missing a required argument: 'y'",
        ),
        (
            lambda: smemkit.from_triton(kernels.add, "*fp32, *fp32, *fp32, i32, 100"),
            smemkit.CompileError,
            "power of 2",
        ),
    ],
)
def test_refusals(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_hopper_is_refused_by_its_name(monkeypatch):
    """Products of sm_90 use wgmma and its fences; the error says which arch= has none of it."""
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    types = "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16, "
    types += "i32:16, 1, i32:16, 1, i32:16, 1, 64, 64, 64"
    made = smemkit.from_triton(kernels.matmul, types, arch=80)
    assert ".target sm_80" in made.compile().ptx
    with pytest.raises(smemkit.UnsupportedError, match="arch=90(.|\n)*With arch=80"):
        smemkit.from_triton(kernels.matmul, types, arch=90)
    plain = smemkit.from_triton(kernels.add, "*fp32:16, *fp32:16, *fp32:16, i32, 256", arch="9.0")
    assert ".target sm_90" in plain.compile().ptx
