"""Kernels of Numba: results, counters by line of Python, findings, and what is refused."""

import inspect

import numpy
import pytest
from support.numba_here import find_obstacle

import smemkit
from smemkit import compile

if find_obstacle() is not None:
    pytest.skip(find_obstacle(), allow_module_level=True)
from python_kernels import numba_kernels as kernels
from python_kernels.marked_lines import find_mark


def make_matmul(rng):
    a = rng.standard_normal((40, 50), dtype="float32")
    b = rng.standard_normal((30, 50), dtype="float32").T  # in Fortran's order
    return ((2, 3), (16, 16)), (a, b, numpy.zeros((40, 30), "float32")), a @ b


def make_total(rng):
    x = rng.integers(0, 9, 1000).astype("float32")
    return (8, 128), (x, numpy.zeros(1, "float32")), [x.sum()]


def make_histogram(rng):
    x = rng.integers(0, 32, 1000, dtype="int32")
    return (2, 128), (x, numpy.zeros(32, "int32")), numpy.bincount(x, minlength=32)


def make_add(rng):
    x, y = rng.random((2, 1000), dtype="float32")
    return (8, 128), (x, y, numpy.zeros_like(x)), x + y


CASES = {
    "matmul": make_matmul,
    "total": make_total,
    "histogram": make_histogram,
    "add": make_add,
}


@pytest.mark.parametrize("name", CASES)
def test_result_and_lines(name, rng):
    """Values are NumPy's, nothing is found, and barriers count for lines that have them."""
    launch, args, right = CASES[name](rng)
    kernel = smemkit.from_numba(getattr(kernels, name))
    report = kernel[launch].profile(*args)
    assert numpy.allclose(args[-1], right, rtol=1e-5, atol=1e-5)
    args[-1][...] = 0
    checked = kernel[launch].check(*args)
    assert checked, str(checked)
    source, first = inspect.getsourcelines(kernels.__dict__[name].py_func)
    lines = {line.line: line for line in report.lines if line.file == kernels.__file__}
    assert all(lines[number].text == source[number - first].strip() for number in lines)
    barriers = {number for number, line in lines.items() if line.counters["barrier.count"]}
    assert barriers == {first + i for i, text in enumerate(source) if "syncthreads" in text}


@pytest.mark.parametrize("name", CASES)
def test_fault_is_found(name, rng):
    launch, args, _ = CASES[name](rng)
    kind, line = find_mark(kernels.__dict__[f"{name}_faulty"].py_func)
    checked = smemkit.from_numba(kernels.__dict__[f"{name}_faulty"])[launch].check(*args)
    sides = {
        (one.kind, side.file, side.line)
        for one in checked.findings
        for side in (one.first, one.second)
        if side is not None
    }
    assert (kind, kernels.__file__, line) in sides, str(checked)


def test_shared_arrays_have_their_names(rng):
    launch, args, _ = make_matmul(rng)
    checked = smemkit.from_numba(kernels.matmul_faulty)[launch].check(*args)
    assert {one.first.variable.partition(",")[0].partition("[")[0] for one in checked.findings} <= {
        "left",
        "right",
    }


def test_signature_in_advance(rng):
    launch, args, right = make_add(rng)
    for signature in ("void(float32[:], float32[::1], float32[::1])", None):
        kernel = smemkit.from_numba(kernels.add, signature)
        assert kernel.compile(*(() if signature else args)).name == "add"
        kernel[launch](*args)
        assert numpy.array_equal(args[-1], right)
        args[-1][...] = 0


def test_numbers_tuples_and_complex_numbers():
    x = numpy.zeros(100, "float32")
    kernel = smemkit.from_numba(kernels.shift)
    kernel[1, 128](x, 2, (numpy.float32(3), 4), True, 10 + 7j)
    assert (x == 100).all()
    kernel[1, 128](x, numpy.int8(0), (0, numpy.float64(1)), False, numpy.complex64(0 + 2j))
    assert (x == 202).all()


def test_views_go_as_they_lie(rng):
    room = rng.standard_normal((20, 30), dtype="float32")
    kernel = smemkit.from_numba(kernels.rows)
    for view in (room, room[::2, ::3], room.T, room[3:, 5:]):
        out = numpy.zeros(view.shape[0], "float32")
        kernel[1, 32](view, out)
        assert numpy.allclose(out, view.sum(axis=1), rtol=1e-4, atol=1e-4)
    device = smemkit.asarray(room, backend="sim")
    out = smemkit.zeros(20, "float32", backend="sim")
    kernel[1, 32](device, out)
    assert numpy.allclose(smemkit.asnumpy(out), room.sum(axis=1), rtol=1e-4, atol=1e-4)


def test_device_functions_need_no_driver():
    """Numba asks the driver for which GPU it compiles them; their lines are counted too."""
    x = numpy.arange(100, dtype="float32")
    report = smemkit.from_numba(kernels.squares)[1, 128].profile(x)
    assert numpy.array_equal(x, numpy.arange(100, dtype="float32") ** 2)
    assert "return value * value" in {line.text for line in report.lines}


def test_time_on_a_card():
    x = numpy.arange(100, dtype="float32")
    found = smemkit.from_numba(kernels.squares)[1, 128].predict(x, device="t4")
    assert found.card.name == "T4" and found.low_ms < found.time_ms < found.high_ms


needs_compiler = pytest.mark.skipif(
    not (compile.find_nvrtc() or compile.find_nvcc()),
    reason="needs NVRTC: pip install 'smemkit[nvrtc]'",
)


@needs_compiler
def test_half_precision_brings_cuda_c_of_numba():
    """Numba compiles its operators on float16 from CUDA C."""
    x = numpy.linspace(0, 1, 100).astype("float16")
    right = x * x + x
    assert smemkit.from_numba(kernels.halves)[1, 128].check(x)
    assert numpy.allclose(x, right, rtol=1e-3)


@needs_compiler
def test_blocks_wait_for_each_other():
    """cuda.cg.this_grid().sync() makes the launch a cooperative one."""
    x = numpy.arange(128, dtype="int32")
    kernel = smemkit.from_numba(kernels.reverse)
    assert kernel[2, 64].check(x)
    assert x.tolist() == [*range(127, -1, -1)]
    assert kernel.compile(x).enable_cooperative_groups


def test_plain_function_and_dynamic_shared_memory():
    x = numpy.ones(100, "float32")
    kernel = smemkit.from_numba(kernels.doubled)
    kernel[1, 128, 0, 512](x)
    assert (x == 2).all()
    with pytest.raises(smemkit.OutOfBoundsError):
        kernel[1, 128](x)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: smemkit.from_numba(len), smemkit.ArgumentTypeError, "a Python function"),
        (lambda: smemkit.from_numba(kernels.add, "what"), smemkit.ArgumentError, "no signature"),
        (lambda: smemkit.from_numba(kernels.add, "void(int32)"), smemkit.ArgumentError, "1 types"),
        (lambda: smemkit.from_numba(kernels.add)[1](1), smemkit.ArgumentTypeError, "threads"),
        (lambda: smemkit.from_numba(kernels.add)[1, 32](1), smemkit.ArgumentTypeError, "takes 3"),
        (
            lambda: smemkit.from_numba(kernels.add)[1, 32](*numpy.zeros((3, 2)), depth=1),
            smemkit.ArgumentTypeError,
            "by position; 'depth'",
        ),
        (
            lambda: smemkit.from_numba(kernels.add)[1, 32](1, 2, 3),
            smemkit.CompileError,
            "add: numba-cuda",
        ),
        (
            lambda: smemkit.from_numba(kernels.add, "void(f4[:], f4[:], f4[:])")[1, 32](
                *numpy.zeros((3, 8))
            ),
            smemkit.ArgumentTypeError,
            "takes an array of float32 with 1 dimensions, not of float64",
        ),
        (
            lambda: smemkit.from_numba(kernels.add)[1, 32](object(), 2, 3),
            smemkit.ArgumentTypeError,
            "x: ",
        ),
    ],
)
def test_refusals(make, error, says):
    with pytest.raises(error, match=says):
        make()
