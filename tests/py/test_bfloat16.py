"""bfloat16 in arrays: with ml_dtypes, and without it as a structure of bits."""

import subprocess
import sys

import numpy as np
import pytest

import smemkit
from smemkit import _bfloat16
from smemkit._bfloat16 import STRUCTURE

VALUES = np.array([[0.0, 1.0, -2.5], [np.inf, 1e-40, 3e38]], "float32")


@pytest.fixture(params=["structure", "ml_dtypes"])
def kind(request):
    if request.param == "structure":
        return STRUCTURE
    reason = "ml_dtypes is not installed: pip install 'smemkit[bfloat16]'"
    return np.dtype(pytest.importorskip("ml_dtypes", reason=reason).bfloat16)


def test_numbers_are_rounded_to_nearest_even():
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0xFF7FFFFF, 0x7F800001], "uint32")
    made = _bfloat16.narrow(bits.view("float32")).view("uint16")
    assert made.tolist() == [0x3F80, 0x3F82, 0x3F81, 0xFF80, 0x7FC0]
    assert np.array_equal(_bfloat16.widen(_bfloat16.narrow(VALUES[0])), VALUES[0])
    assert _bfloat16.narrow(np.zeros((0, 3))).shape == (0, 3)


def test_names(kind):
    assert _bfloat16.name_of(kind) == _bfloat16.name_of("bfloat16") == "bfloat16"
    assert _bfloat16.name_of("float32") == "float32"
    assert _bfloat16.complete("bfloat16").itemsize == 2


def test_to_a_device_and_back(kind, machine):
    host = _bfloat16.narrow(VALUES).view(kind)
    array = smemkit.asarray(host, backend=machine)
    assert array.dtype == kind and array.shape == (2, 3)
    assert smemkit.asnumpy(array).tobytes() == host.tobytes()
    assert smemkit.asnumpy(array.T).tobytes() == host.T.tobytes()


def test_by_dlpack(kind, machine):
    """The tensor says bfloat16, and comes back as the type that is there."""
    array = smemkit.asarray(_bfloat16.narrow(VALUES).view(kind), backend=machine)
    again = smemkit.from_dlpack(array)
    assert again.dtype == _bfloat16.find_type()
    assert smemkit.asnumpy(again).tobytes() == smemkit.asnumpy(array).tobytes()


def test_by_name(machine):
    made = smemkit.zeros((2, 3), "bfloat16", backend=machine)
    assert made.dtype == _bfloat16.find_type() and made.nbytes == 12
    assert smemkit.kernel("gemm", "tensor", "bfloat16").name == "gemm_tensor_bfloat16"


def test_other_structures_are_none(machine):
    two = np.zeros((4, 4), [("bfloat16", "u2"), ("other", "u2")])
    with pytest.raises(smemkit.ArgumentTypeError, match="gemm takes arrays of"):
        smemkit.gemm(two, two, backend=machine)


PROGRAM = """
import sys
sys.modules["ml_dtypes"] = None  # as where it is not installed
import numpy, smemkit
bits = numpy.full((4, 4), 0x3F80, "uint16").view([("bfloat16", "u2")])
array = smemkit.from_dlpack(smemkit.asarray(bits, backend="sim"))
assert array.dtype == bits.dtype, array.dtype
assert (smemkit.gemm(bits, bits, backend="sim") == 4).all()
assert smemkit.zeros(3, "bfloat16", backend="sim").dtype == bits.dtype
"""


def test_without_ml_dtypes():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)
