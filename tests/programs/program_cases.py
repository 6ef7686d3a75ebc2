"""Expected values of the CUDA C files of this folder: what the modules cases_*.py share.

There is one function a file, decorated with @case. It calls run(entry, grid, block, *args,
shared=0) and asserts; expected values come from NumPy or plain Python. Either machine may run it.
"""

import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def poisoned(shape, dtype):
    """An output full of bytes that no kernel writes by accident."""
    array = np.empty(shape, dtype)
    array.view(np.uint8)[...] = 0xCD
    return array


def wrap(value, bits=32):
    """The signed integer that `bits` bits of value hold."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def truncated(a, b):
    """Quotient and remainder as C has them."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def close(got, expected, ulps, eps):
    """All equal within ulps units of relative size eps, NaN and infinity in the same places."""
    expected = np.asarray(expected, np.float64)
    got = np.asarray(got, np.float64)
    assert (np.isnan(got) == np.isnan(expected)).all()
    finite = np.isfinite(expected)
    assert (got[~finite & ~np.isnan(expected)] == expected[~finite & ~np.isnan(expected)]).all()
    error = np.abs(got[finite] - expected[finite])
    bound = ulps * eps * np.abs(expected[finite])
    worst = int(np.argmax(error - bound)) if error.size else 0
    assert (error <= bound).all(), (got[finite][worst], expected[finite][worst])
