"""The stand-in of CuPy: arrays, kernels, and the name `cupy` in a run of pytest."""

import doctest
import importlib
import os
import pickle
import sys

import numpy
import pytest

import smemkit
from smemkit import compile
from smemkit.testing import cupy

pytest_plugins = ["pytester"]
compiled = pytest.mark.skipif(
    not (compile.find_nvrtc() or compile.find_nvcc()), reason="no compiler here"
)
# The extension keeps the function of this module that it has called once: runs of pytest in this
# process must not import the module anew.
importlib.import_module("smemkit._kernel_code")
NAMES = """
ndarray RawKernel RawModule ElementwiseKernel ReductionKernel array asarray asnumpy install
is_installed uninstall cuda.Device cuda.Stream
""".split()


@compiled
@pytest.mark.parametrize("name", NAMES)
def test_examples(name):
    thing = cupy
    for part in name.split("."):
        thing = getattr(thing, part)
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(thing, name, module=False, globs={})
    assert test.examples
    log = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=log.append).failed == 0, "".join(log)


# Arrays ------------------------------------------------------------------------------------------


def test_views_lie_in_the_memory_of_their_array():
    x = cupy.arange(12, dtype="int32").reshape(3, 4)
    y = x[1:, ::2]
    y += 100
    assert x.get().tolist() == [[0, 1, 2, 3], [104, 5, 106, 7], [108, 9, 110, 11]]
    assert y.data.ptr == x.data.ptr + 16
    assert x.T.strides == (4, 16) and x.T.data.ptr == x.data.ptr
    assert x.view("int64").shape == (3, 2) and x.ravel()[0].shape == ()
    x[0, 0] = 7
    assert int(x.ravel()[0]) == 7 and x[0].tolist() == [7, 1, 2, 3]


def test_results_are_arrays_of_the_device():
    x = cupy.asarray([[1.0, 4.0], [9.0, 16.0]])
    for made in (x + 1, 1 - x, cupy.sqrt(x), numpy.sqrt(x), x.sum(), x.max(axis=0), -x, x > 2):
        assert isinstance(made, cupy.ndarray)
    assert cupy.sqrt(x).tolist() == [[1, 2], [3, 4]]
    assert cupy.concatenate([x, x]).shape == (4, 2) and bool(cupy.allclose(x, x.copy()))
    assert cupy.linalg.norm(x[0]).get() == pytest.approx(17**0.5)
    out = cupy.empty_like(x)
    assert cupy.add(x, 1, out=out) is out and out.tolist() == [[2, 5], [10, 17]]
    values, counts = cupy.unique(cupy.asarray([3, 3, 1]), return_counts=True)
    assert values.tolist() == [1, 3] and counts.tolist() == [1, 2]
    assert cupy.random.random(3, dtype="float32").dtype == "float32"
    assert cupy.get_array_module(x) is cupy and cupy.get_array_module(x.get()) is numpy
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_arrays_of_numpy_do_not_mix_unasked():
    x, host = cupy.ones(3), numpy.ones(3)
    for mix in (
        lambda: x + host,
        lambda: host + x,
        lambda: cupy.add(x, host),
        lambda: cupy.sum(host),
        lambda: numpy.asarray(x),
    ):
        with pytest.raises(TypeError):
            mix()
    assert (x + numpy.float64(1)).tolist() == [2, 2, 2]
    assert not isinstance(x, numpy.ndarray)
    x.set(host * 5)
    assert cupy.asnumpy(x).tolist() == [5, 5, 5]


def test_what_is_missing_is_refused_by_name():
    with pytest.raises(AttributeError, match=r"stand-in of CuPy has no cupy\.no_such_function"):
        cupy.no_such_function  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no cupy\.cuda\.runtime\.graphLaunch"):
        cupy.cuda.runtime.graphLaunch  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no cupy\.random\.no_such"):
        cupy.random.no_such  # noqa: B018
    with pytest.raises(NotImplementedError, match="begin_capture"):
        cupy.cuda.Stream().begin_capture()
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
        cupy.cuda.Device(1).use()
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cupy.array(["a"])


def test_pointers_copy():
    x = cupy.arange(4, dtype="int32")
    memory = cupy.cuda.alloc(16)
    memory.copy_from(x.data, 16)
    y = cupy.ndarray((2,), "int32", memory + 8)
    assert y.tolist() == [2, 3] and y.data.ptr == memory.ptr + 8
    host = numpy.zeros(4, "int32")
    cupy.cuda.runtime.memcpy(host.ctypes.data, x.data.ptr, 16, 2)
    assert host.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="exceed an allocation of 16"):
        memory.copy_from(x.data, 17)


# Kernels -----------------------------------------------------------------------------------------

SHIFT = r"""
extern "C" __global__ void shift(const float *x, float *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = x[i + 1];
}
__constant__ float table[4];
template <typename T> __global__ void look(T *x) { x[threadIdx.x] = T(table[threadIdx.x]); }
"""


@compiled
def test_a_module_has_kernels_templates_and_variables():
    module = cupy.RawModule(code=SHIFT, name_expressions=["look<float>", "shift"])
    pointer = module.get_global("table")
    cupy.ndarray((4,), "float32", pointer)[...] = cupy.arange(4, dtype="float32")
    x = cupy.zeros(4, "float32")
    module.get_function("look<float>")((1,), (4,), (x,))
    assert x.tolist() == [0, 1, 2, 3]
    shift = pickle.loads(pickle.dumps(module.get_function("shift")))
    y = cupy.empty(3, "float32")
    shift((1,), (32,), (x, y, numpy.int32(3)), stream=cupy.cuda.Stream())
    assert y.tolist() == [1, 2, 3] and shift.max_threads_per_block == 1024
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="named symbol not found"):
        module.get_function("look<double>")
    with pytest.raises(smemkit.OutOfBoundsError, match=r"args\[0\] \(x, float32\[4\]\)"):
        shift((1,), (32,), (x, y, numpy.int32(4)))
    x[...] = 1
    shift((1,), (32,), (x.view("int32"), y[:2], numpy.int32(2)))  # types and views as they come
    assert y.tolist() == [1, 1, 3]
    kernel = shift.kernel  # check and profile take it
    assert smemkit.check(kernel, 1, 32, (x.data.ptr, y.data.ptr, 3))
    fresh = cupy.empty(4, "float32")
    report = smemkit.check(kernel, 1, 32, (fresh.data.ptr, y.data.ptr, 3))
    assert {finding.kind for finding in report.findings} == {"uninitialized"}


@compiled
def test_texts_that_do_not_compile_have_the_error_of_cupy():
    with pytest.raises(cupy.cuda.compiler.CompileException, match="identifier"):
        cupy.RawKernel('extern "C" __global__ void f() { g(); }', "f").compile()
    with pytest.raises(TypeError, match="Exactly one of"):
        cupy.RawModule()
    with pytest.raises(ValueError, match="nvrtc"):
        cupy.RawModule(code="", backend="nvcc", name_expressions=["f<int>"])


def test_machine_code_is_refused(tmp_path):
    (tmp_path / "a.cubin").write_bytes(b"\x7fELF and more")
    with pytest.raises(NotImplementedError, match="machine code"):
        cupy.RawModule(path=str(tmp_path / "a.cubin")).get_function("f")
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="CUDA_ERROR_FILE_NOT_FOUND"):
        cupy.RawModule(path=str(tmp_path / "b.ptx")).get_function("f")


@compiled
def test_elements():
    kernel = cupy.ElementwiseKernel(
        "T x, raw S table, int32 shift",
        "T y, S z",
        "y = x * 2; z = table[i % table.size()] + shift",
        "both",
    )
    x = cupy.arange(6, dtype="float32").reshape(2, 3)
    y, z = kernel(x.T, cupy.asarray([10, 20], dtype="int64"), 1)
    assert y.dtype == "float32" and y.tolist() == (2 * x.T).tolist()
    assert z.dtype == "int64" and z.tolist() == [[11, 21], [11, 21], [11, 21]]
    add = cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
    for dtype in ("float16", "complex64"):
        a, b = cupy.ones((2, 1), dtype), cupy.ones(3, dtype)
        assert add(a, b).tolist() == (a + b).tolist() and add(a, b).dtype == dtype
    with pytest.raises(TypeError, match="Type is mismatched"):
        add(cupy.ones(2), cupy.ones(2, "float32"))
    with pytest.raises(ValueError, match="Loop size is undecided"):
        add(1, 2)
    with pytest.raises(ValueError, match="Out shape is mismatched"):
        add(cupy.ones((2, 3)), cupy.ones(3), cupy.ones(3))


@compiled
def test_reductions():
    x = cupy.testing.shaped_random((3, 4, 5), dtype="float32")
    host = x.get()
    total = cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    for axis in (None, 1, (0, 2)):
        cupy.testing.assert_allclose(total(x, axis=axis), host.sum(axis=axis), rtol=1e-6)
    assert total(x, axis=1, keepdims=True).shape == (3, 1, 5)
    assert total(cupy.zeros((0, 2, 2), "float32"), axis=1).shape == (0, 2)
    largest = cupy.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")
    assert largest(-x, axis=(0, 1)).tolist() == (-host).max(axis=(0, 1)).tolist()
    with pytest.raises(ValueError, match="which has no identity"):
        largest(cupy.zeros(0))


# The name ----------------------------------------------------------------------------------------

USES = r"""
import subprocess, sys
import cupy as cp
import numpy, pytest
from cupy import testing
from cupy.cuda import runtime
from cupyx import scatter_add


def test_scale():
    scale = cp.RawKernel(r'''
extern "C" __global__ void scale(float *x, float a)
{
    x[threadIdx.x + 1] = a * x[threadIdx.x];
}''', "scale")
    x = cp.ones(33, dtype=cp.float32)
    scale((1,), (32,), (x, cp.float32(2)))
    testing.assert_array_equal(x[1:], numpy.full(32, 2, "float32"))


@testing.for_dtypes(["int32", "float64"])
@testing.numpy_cupy_array_equal()
def test_both(xp, dtype):
    return xp.arange(3, dtype=dtype) + 1


def test_missing():
    with pytest.raises(ModuleNotFoundError, match="no module cupy.cuda.cudnn"):
        import cupy.cuda.cudnn


def test_child():
    code = "import cupy, cupyx; print(cupy.is_installed())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.stdout.split() == [b"True"], done.stderr
"""


@compiled
def test_a_run_imports_it_as_cupy(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take seconds to import
    pytester.makeini("[pytest]\n")
    pytester.makepyfile(test_uses=USES)
    before = os.environ.get("PYTHONPATH")
    for name in [n for n in sys.modules if n.split(".")[0] in ("cupy", "cupyx")]:
        monkeypatch.delitem(sys.modules, name)  # a test before may have imported CuPy
    result = pytester.runpytest_inprocess(
        "-p",
        "smemkit.testing",
        "--smemkit-replace-cupy",
        "--smemkit-check",
        "-p",
        "no:cacheprovider",
    )
    assert not cupy.is_installed() and os.environ.get("PYTHONPATH") == before
    result.assert_outcomes(passed=3, failed=1)
    text = result.stdout.str()
    assert "cupy is the stand-in" in text
    assert "warp_hazard in scale" in text or "global_race in scale" in text
    assert "kernel.cu:4  x[threadIdx.x + 1] = a * x[threadIdx.x];" in text
    assert "launched at test_uses.py:" in text
