"""CudaKernel beside its fixture: what it takes, what it refuses, how it compares."""

import doctest

import numpy
import pytest

import smemkit
from smemkit import compile, testing

COUNT = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 p)
{
    .reg .u64 %a;
    .reg .b32 %r<2>;
    ld.param.u64 %a, [p];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %a, %r0, 4, %a;
    st.global.u32 [%a], %r0;
    ret;
}
"""


@pytest.fixture(scope="module")
def count():
    return testing.CudaKernel(code=COUNT)


@pytest.mark.parametrize("name", testing.__all__)
def test_examples(name, monkeypatch):
    if not (compile.find_nvrtc() or compile.find_nvcc()):
        pytest.skip("no compiler here")
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(getattr(testing, name), name, module=False, globs={})
    log = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=log.append).failed == 0, "".join(log)


def test_a_device_array_is_compared(count):
    y = smemkit.zeros(32, dtype="uint32", backend="sim")
    run = count(1, 32, (y,), expected=numpy.arange(32))
    assert run.profiled is None and run.checked
    with pytest.raises(testing.KernelFailure, match=r"args\[0\] is not what was expected"):
        count(1, 32, (y,), expected=numpy.arange(1, 33))


def test_expected_names_the_argument(count):
    y = numpy.zeros(32, "uint32")
    assert count(1, 32, (y,), expected={0: lambda y: y + numpy.arange(32)}).args[0] is y
    with pytest.raises(smemkit.ArgumentError, match=r"args\[1\], which is no array"):
        count(1, 32, (y,), expected={1: 0})
    with pytest.raises(smemkit.ArgumentError, match="there is no array among args"):
        count(1, 32, (0,), expected=0)


def test_a_shape_that_does_not_fit_is_said(count):
    with pytest.raises(testing.KernelFailure, match=r"its shape is \(32,\).*\(31,\)"):
        count(1, 32, (numpy.zeros(32, "uint32"),), expected=numpy.arange(31))


def test_counts_without_claims(count):
    run = count(1, 32, (numpy.zeros(32, "uint32"),), claims=())
    assert run.counters["global.store.sectors"] == 4
    with pytest.raises(smemkit.ArgumentError, match="was not counted"):
        count(1, 32, (numpy.zeros(32, "uint32"),)).counters["global.store.sectors"]


def test_a_claim_without_a_value_fails(count):
    with pytest.raises(testing.KernelFailure, match="no value"):
        claim = "global.load.sectors_per_request < 5"
        count(1, 32, (numpy.zeros(32, "uint32"),), claims=claim)


def test_arrays_out_of_bounds_are_findings(count):
    with pytest.raises(testing.KernelFailure, match="out_of_bounds in count"):
        count(1, 64, (numpy.zeros(32, "uint32"),))
    with pytest.raises(smemkit.OutOfBoundsError):
        count(1, 64, (numpy.zeros(32, "uint32"),), check=False, backend="sim")


def test_floats_may_differ_by_some_ulps():
    # compared by the same rule as kernels, without a launch
    from smemkit.testing import _messages

    one = numpy.ones(4, "float32")
    near = one * numpy.float32(1 + 8 * 2.0**-23)
    assert _messages.compare_arrays(near, one, None, 0.0) is None
    assert _messages.compare_arrays(near, one, 0.0, 0.0)
    assert _messages.compare_arrays(one * numpy.nan, one * numpy.nan, None, 0.0) is None
    words = _messages.compare_arrays(one + 1, one, None, 0.0)
    assert words == [
        "4 of 4 elements differ",
        "the first at [0]: 2.0, expected 1.0",
        "the largest difference is 1",
    ]
    assert _messages.compare_arrays(numpy.array([2**53 + 1]), numpy.array([2**53]), None, 0.0)


def test_what_is_no_kernel_is_refused(tmp_path):
    with pytest.raises(smemkit.ArgumentTypeError, match="a path or code="):
        testing.CudaKernel()
    two = COUNT + COUNT[COUNT.index(".visible") :].replace("count", "other")
    with pytest.raises(smemkit.ArgumentError, match="has 2 kernels; name one: count, other"):
        testing.CudaKernel(code=two)
    assert testing.CudaKernel(code=two, name="other").name == "other"
    with pytest.raises(smemkit.ArgumentError, match="cannot be read"):
        testing.CudaKernel(tmp_path / "nothing.cu")
