"""Views that begin at any element, as operands and as out: kernels access 16 bytes at once."""

import numpy as np
import pytest

import smemkit
from smemkit.bench import workloads
from smemkit.bench.families import CLASSES

LENGTHS = {
    1: 4096
}  # of the dimensions of a family, by their number; large enough for the fast variants
MOVED = (None, "inputs", "out", "both")


def shift(array, machine):
    """The array on the machine, one element behind a multiple of 16 bytes."""
    room = smemkit.zeros((array.size + 1,), array.dtype, backend=machine)
    view = room[1:].reshape(array.shape) if array.size else room[1:]
    view[...] = smemkit.asarray(array, backend=machine)
    assert view.pointer % 16 == array.dtype.itemsize % 16
    return view


def place(array, machine, moved):
    return shift(array, machine) if moved else smemkit.asarray(array, backend=machine)


@pytest.mark.parametrize("family", CLASSES)
@pytest.mark.parametrize("moved", MOVED)
def test_every_family(family, moved, machine, rng):
    kind = CLASSES[family]
    shape = kind.spread(LENGTHS.get(kind.target_rank, 64))
    dtype = kind.usual_dtype
    case = workloads.make_workload(family, shape, dtype, {})
    inputs = case.make_inputs(rng)
    there = [place(np.asarray(x), machine, moved in ("inputs", "both")) for x in inputs]
    out = place(np.zeros(case.result_shape, case.result_dtype), machine, moved in ("out", "both"))
    for variant in ("auto", *smemkit.variants(family)):
        if not case.accepts(smemkit.variants(family).get(variant, {"dtypes": (dtype,)})["dtypes"]):
            continue
        case.call(there, out, variant)
        expected = case.expect_of(variant, inputs, case.expect(inputs))
        assert case.find_fault(expected, smemkit.asnumpy(out)) is None, variant


def test_out_is_returned_and_nothing_beside_it_changes(machine, rng):
    room = smemkit.full((4 * 4 + 2,), 7, "float32", backend=machine)
    out = room[1:-1].reshape(4, 4)
    a = rng.standard_normal((4, 4), "float32")
    for _ in range(3):  # the second call repeats the first where it can
        assert smemkit.transpose(smemkit.asarray(a, backend=machine), out=out) is out
    assert np.array_equal(smemkit.asnumpy(out), a.T)
    assert smemkit.asnumpy(room[:1]).item() == smemkit.asnumpy(room[-1:]).item() == 7


def test_a_call_like_one_with_aligned_arrays(machine, rng):
    a = rng.standard_normal((64, 64), "float32")
    out = smemkit.empty((64, 64), "float32", backend=machine)
    for moved in (False, True, False, True):
        smemkit.transpose(place(a, machine, moved), out=out)
        assert np.array_equal(smemkit.asnumpy(out), a.T)
