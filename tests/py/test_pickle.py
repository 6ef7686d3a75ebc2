"""Pickles and copies of kernels, results and errors, as multiprocessing and Dask send them."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import smemkit
from smemkit import _core, bench, compile, functions

PTX = b"""// \xe4: no UTF-8
.version 7.0
.target sm_75
.address_size 64
.global .u32 calls = 5;
.visible .entry count(.param .u64 to)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [to];
    atom.global.add.u32 %r1, [calls], 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""
SOURCE = r"""
template <typename T> __global__ void fill(T *x, T value)
{
    x[threadIdx.x] = value;
}
extern "C" __global__ void beyond(float *x)
{
    x[threadIdx.x + 1] = STEP;
}
"""
NO_COMPILER = compile.find_nvrtc() is None and compile.find_nvcc() is None
needs_compiler = pytest.mark.skipif(
    NO_COMPILER, reason="no compiler of CUDA C here; the extra [test] brings one"
)
COPIES = {"pickle": lambda thing: pickle.loads(pickle.dumps(thing)), "deepcopy": copy.deepcopy}


@pytest.fixture(params=COPIES)
def again(request):
    return COPIES[request.param]


def count(kernel):
    x = np.zeros(1, np.uint32)
    kernel(1, 1, (x,), backend="sim")
    return int(x[0])


def test_a_kernel_of_ptx(again):
    """Its variables begin anew; the carve-out goes along."""
    kernel = smemkit.RawKernel(PTX, "count")
    kernel.preferred_shared_memory_carveout = 40
    assert [count(kernel), count(kernel)] == [5, 6]
    other = again(kernel)
    assert [count(other), count(kernel), count(other)] == [5, 7, 6]
    assert other.ptx == kernel.ptx and other.source is None and other.name == "count"
    assert other.preferred_shared_memory_carveout == 40
    assert pickle.dumps(other) == pickle.dumps(kernel)  # Dask names tasks by these bytes


def test_a_module_keeps_its_machine(again):
    module = smemkit.RawModule(PTX, backend="sim")
    first, second = again([module.get_function("count")] * 2)
    assert first is second
    with pytest.raises(smemkit.ArgumentError, match="backend is 'son'"):
        pickle.loads(pickle.dumps(module).replace(b"sim", b"son"))


def test_kernels_of_one_module_stay_so(again):
    module = smemkit.RawModule(PTX)
    kernel, other = again([module.get_function("count"), module.get_function("count")])
    assert kernel is not other and [count(kernel), count(other)] == [5, 6]


@needs_compiler
def test_cuda_c_needs_no_compiler_to_be_read(monkeypatch, again, tmp_path):
    header = tmp_path / "step.h"
    header.write_text("#define STEP 2.5f\n", encoding="utf-8")
    path = tmp_path / "kernel.cu"
    path.write_text(f'#include "step.h"\n{SOURCE}', encoding="utf-8")
    module = smemkit.RawModule(path=path, name_expressions=("fill<float>", "fill<int>"))
    kernel = module.get_function("beyond")
    for file in (header, path):
        file.unlink()
    monkeypatch.setenv("SMEMKIT_NVCC", "none")
    monkeypatch.setattr(compile, "compile_by", None)
    module, kernel, configured = again((module, kernel, kernel[2, 4]))
    x = np.zeros(4, np.float32)
    module.get_function("fill<float>")[1, 4](x, 3, backend="sim")
    assert x.tolist() == [3] * 4
    with pytest.raises(smemkit.ArgumentTypeError, match="the array is float64"):
        module.get_function("fill<float>")[1, 4](np.zeros(4), 3, backend="sim")
    kernel(1, 3, (x,), backend="sim")
    assert x.tolist() == [3, 2.5, 2.5, 2.5]
    with pytest.raises(smemkit.OutOfBoundsError) as caught:
        configured(x, backend="sim")
    assert caught.value.source_file == str(path)
    report = kernel.profile(1, 3, (x,))
    assert "STEP" in report._repr_html_()  # its line of the source


def test_kernels_of_the_package(again):
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            kernel = smemkit.kernel(family, variant)
            other = again(kernel)
            assert (other.name, other.source) == (kernel.name, kernel.source)
            assert len(pickle.dumps(kernel)) < 300  # by name, not with their code
    kernel = again(smemkit.kernel("reduce", "shuffle", "int32", "max"))
    assert kernel.name == "reduce_shuffle_max_int32"


def test_pickles_that_are_not_ours():
    module = smemkit.RawModule(PTX)
    with pytest.raises(smemkit.ArgumentError, match="gemm has no variant 'fastest'; there are: "):
        _core._restore_package_module("gemm", "fastest")
    with pytest.raises(
        smemkit.ArgumentError, match="the module has no kernel 'sum'; it has: count"
    ):
        _core._restore_kernel(module, "sum", -1)
    with pytest.raises(smemkit.ArgumentError, match="carveout is 101"):
        _core._restore_kernel(module, "count", 101)
    with pytest.raises(smemkit.PtxError):
        _core._restore_module(b"no PTX", None, None, {}, (), "sim")
    for arguments in (
        ("text", None, None, {}, (), None),
        (PTX, 1, None, {}, (), None),
        (PTX, None, b"bytes", {}, (), None),
        (PTX, None, None, [], (), None),
        (PTX, None, None, {}, [], None),
        (PTX, None, None, {}, (), 1),
    ):
        with pytest.raises(TypeError):
            _core._restore_module(*arguments)


def test_functions_go_by_their_name(again):
    names = ("profile", "check", "explain", "asarray", "empty", "DeviceArray", "Error")
    for function in (*(getattr(smemkit, name) for name in (*functions.__all__, *names)), bench.run):
        assert again(function) is function


# Results -----------------------------------------------------------------------------------------


def test_reports(again):
    x = np.ones((32, 32), np.float32)
    for function in (smemkit.profile, smemkit.check):
        report = function(smemkit.transpose, x, variant="shared")
        other = again(report)
        assert type(other) is type(report) and str(other) == str(report)
        assert other._repr_html_() == report._repr_html_()
    kernel = smemkit.RawKernel(PTX, "count")
    report = kernel.profile(2, 1, (np.zeros(1, np.uint32),))
    assert again(report).counters == report.counters and again(report).result is None
    report = kernel.check(2, 1, (np.zeros(1, np.uint32),))
    other = again(report)
    assert (
        not other
        and list(map(str, other.findings)) == list(map(str, report.findings))
        and str(other) == str(report)
    )


def test_reports_of_calls_on_device_arrays():
    """A pickle has the result of the call as a NumPy array."""
    x = smemkit.full((4, 8), 3, "float32", backend="sim")
    for function in (smemkit.profile, smemkit.check):
        report = function(smemkit.transpose, x)
        other = pickle.loads(pickle.dumps(report))
        assert isinstance(report.result, smemkit.DeviceArray)
        assert isinstance(other.result, np.ndarray) and other.result.tolist() == [[3] * 4] * 8
        assert str(other) == str(report)


def test_results_of_benchmarks(again):
    results = bench.run("transpose", ("naive", "padded"), 64, backend="sim")
    other = again(results)
    assert type(other) is bench.Results and str(other) == str(results)
    assert list(map(dataclasses.asdict, other)) == list(map(dataclasses.asdict, results))


def test_named_tuples(again):
    found = again(smemkit.bank_access(4 * np.arange(32)))
    assert found.wavefronts == 1 and found.words.tolist() == [1] * 32
    fits = smemkit.occupancy(("gemm", "padded"))
    assert again(fits) == fits


# Errors ------------------------------------------------------------------------------------------

PLACE = {
    "kernel": "f",
    "ptx_line": 7,
    "ptx_column": 2,
    "source_file": "f.cu",
    "source_line": 3,
    "block": (1, 0, 2),
    "thread": (31, 0, 0),
}


def list_errors(cls):
    """A class of errors and all that derive from it; those of the command line end its process."""
    if cls.__module__.split(".")[0] == "smemkit" and ".cli" not in cls.__module__:
        yield cls
    for other in cls.__subclasses__():
        yield from list_errors(other)


ERRORS = list(dict.fromkeys(list_errors(smemkit.Error)))


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_errors_keep_what_they_say(cls, again):
    error = cls("what is wrong")
    vars(error).update(PLACE)
    error.add_note("in the second run")
    other = again(error)
    assert type(other) is cls and other.args == error.args and str(other) == str(error)
    assert vars(other) == vars(error) == {**PLACE, "__notes__": ["in the second run"]}


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_errors_are_made_by_new(cls):
    """As libraries make them that pickle tracebacks too."""
    error = cls.__new__(cls, "text")
    error.args = ("what is wrong",)
    assert type(error) is cls and error.kernel is None and "what is wrong" in str(error)


def test_every_error_of_the_package_is_tested():
    names = {cls.__name__ for cls in ERRORS}
    assert {name for name in smemkit.__all__ if name.endswith("Error")} <= names
    assert {"WrongResultError", "UnknownCounterError", "ArgumentIndexError"} <= names
