"""Large lists of numbers become the arrays that NumPy makes of them."""

import signal
import warnings

import numpy as np
import pytest

import smemkit

COUNT = (1 << 20) + 3
FLOATS = np.random.default_rng(0).standard_normal(COUNT).tolist()
INTS = list(range(-5, COUNT - 5))
LISTS = {
    "floats": FLOATS,
    "special floats": [*FLOATS, float("nan"), float("-inf"), -0.0, 1e-310],
    "ints": [*INTS, 2**63 - 1, -(2**63)],
    "rows": [FLOATS[i : i + 1000] for i in range(0, COUNT, 1000)][:-1] + [FLOATS[:1000]] * 9,
    "three axes": [[INTS[:1024]] * 32] * 33,
    "short rows": [[1.5, 2.5]] * COUNT,
    "large ints": [*INTS, 2**63, *(2**62 + 2**38 + i for i in (-1, 1))],
    "too large": [*INTS, 2**1024],
    "an int last": [*FLOATS, 1],
    "a float last": [*INTS, 1.5],
    "a bool last": [*INTS, True],
    "a scalar last": [*FLOATS, np.float32(1.25)],
    "complex last": [*FLOATS, 1j],
    "bools": [True] * COUNT,
    "tuples": [(1.5, 2.5)] * COUNT,
    "an array as a row": [[1.5, 2.5]] * COUNT + [np.array([1.5, 3.5])],
}
REFUSED = {
    "uneven rows": [[1.5, 2.5]] * COUNT + [[1.5]],
    "a number among rows": [[1.5, 2.5]] * COUNT + [1.5],
    "a row among numbers": [*FLOATS, [1.5]],
    "huge ints": [*INTS, 2**64],
    "text": [*FLOATS, "text"],
    "none": [*FLOATS, None],
}


def are_same(found, wanted):
    return (
        found.dtype == wanted.dtype
        and found.shape == wanted.shape
        and found.tobytes() == wanted.tobytes()
    )


@pytest.mark.parametrize("name", LISTS)
def test_as_numpy_converts(name):
    wanted = np.asarray(LISTS[name])
    if wanted.dtype == object:
        pytest.skip("no type of a device")
    found = smemkit.asnumpy(smemkit.asarray(LISTS[name], backend="sim"))
    assert are_same(found, wanted)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "c8", ">f4", "?"])
@pytest.mark.parametrize(
    "name", ["floats", "special floats", "ints", "large ints", "too large", "rows", "an int last"]
)
def test_to_a_type(name, dtype):
    def convert(function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                result = function()
            except (ValueError, OverflowError) as error:
                result = (type(error), str(error))
        return result, {str(warning.message) for warning in caught}

    wanted, wanted_warnings = convert(lambda: np.asarray(LISTS[name], np.dtype(dtype)))
    found, found_warnings = convert(lambda: smemkit.asarray(LISTS[name], dtype, backend="sim"))
    if isinstance(wanted, np.ndarray):
        assert are_same(smemkit.asnumpy(found), wanted.astype(wanted.dtype.newbyteorder("=")))
    else:
        assert found == wanted
    assert found_warnings == wanted_warnings


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_numpy(name):
    try:
        wanted = np.asarray(REFUSED[name])
    except ValueError as error:
        with pytest.raises(ValueError) as caught:
            smemkit.asarray(REFUSED[name], backend="sim")
        assert str(caught.value) == str(error)
    else:
        with pytest.raises(smemkit.ArgumentTypeError, match=wanted.dtype.name[:3]):
            smemkit.asarray(REFUSED[name], backend="sim")


def test_as_an_operand():
    rows = [FLOATS[i : i + 1024] for i in range(1100)]
    assert np.array_equal(smemkit.transpose(rows, backend="sim"), np.asarray(rows).T)


@pytest.mark.parametrize("change", ["x.clear()", "x[0].clear()", "x.__setitem__(-1, None)"])
def test_a_handler_may_change_the_list(change):
    """Lengths are read again after the handler, and NumPy has the last word."""
    for delay in (0.001, 0.004, 0.01, 0.02):
        x = [FLOATS[:100] for _ in range(40_000)]
        code = compile(change, "change", "eval")
        before = signal.signal(signal.SIGALRM, lambda *_, code=code, x=x: eval(code, {"x": x}))
        signal.setitimer(signal.ITIMER_REAL, delay)
        try:
            found = smemkit.asarray(x, backend="sim")
            assert found.dtype == np.float64
        except (ValueError, smemkit.ArgumentTypeError):
            assert x != [FLOATS[:100]] * 40_000
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
