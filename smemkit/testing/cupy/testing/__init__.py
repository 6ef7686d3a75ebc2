"""cupy.testing, as far as tests of kernels need it: comparisons, arrays, loops over types."""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from typing import Any

import numpy

from .._functions import asnumpy
from .._refuse import refuse_attribute

BOOL = (numpy.bool_,)
SIGNED = (numpy.int8, numpy.int16, numpy.int32, numpy.int64)
UNSIGNED = (numpy.uint8, numpy.uint16, numpy.uint32, numpy.uint64)
FLOATS = (numpy.float16, numpy.float32, numpy.float64)
COMPLEX = (numpy.complex64, numpy.complex128)


# Comparisons -------------------------------------------------------------------------------------


def _compare(name: str) -> Any:
    function = getattr(numpy.testing, name)

    @functools.wraps(function)
    def compare(x: Any, y: Any, *args: Any, **words: Any) -> None:
        words.pop("strides_check", None)
        function(asnumpy(x), asnumpy(y), *args, **words)

    return compare


assert_allclose = _compare("assert_allclose")
assert_array_almost_equal = _compare("assert_array_almost_equal")
assert_array_almost_equal_nulp = _compare("assert_array_almost_equal_nulp")
assert_array_equal = _compare("assert_array_equal")
assert_array_less = _compare("assert_array_less")
assert_array_max_ulp = _compare("assert_array_max_ulp")
assert_warns = numpy.testing.assert_warns


def assert_array_list_equal(
    xlist: Any, ylist: Any, err_msg: str = "", verbose: bool = True
) -> None:
    """Compares lists of arrays."""
    assert len(xlist) == len(ylist), f"{len(xlist)} arrays and {len(ylist)}"
    for x, y in zip(xlist, ylist, strict=True):
        assert_array_equal(x, y, err_msg=err_msg, verbose=verbose)


# Arrays ------------------------------------------------------------------------------------------


def _cupy() -> Any:
    import sys

    return sys.modules[__name__.rpartition(".")[0]]


def _into(xp: Any, host: Any) -> Any:
    return host if xp is numpy else _cupy().array(host)


def shaped_arange(shape: Any, xp: Any = None, dtype: Any = numpy.float32, order: Any = "C") -> Any:
    """1, 2, 3 and so on; of bool: odd numbers."""
    dtype = numpy.dtype(dtype)
    numbers = numpy.arange(1, int(numpy.prod(shape, dtype=object)) + 1)
    host = numbers % 2 if dtype.kind == "?" or dtype.kind == "b" else numbers
    if dtype.kind == "c":
        host = host + host * 1j
    return _into(xp or _cupy(), numpy.array(host.astype(dtype).reshape(shape), order=order))


def shaped_reverse_arange(shape: Any, xp: Any = None, dtype: Any = numpy.float32) -> Any:
    """The numbers of shaped_arange from the last one on."""
    host = asnumpy(shaped_arange(shape, numpy, dtype)).reshape(-1)[::-1].reshape(shape)
    return _into(xp or _cupy(), numpy.array(host))


def shaped_random(
    shape: Any,
    xp: Any = None,
    dtype: Any = numpy.float32,
    scale: float = 10,
    seed: int | None = 0,
    order: Any = "C",
) -> Any:
    """Random numbers from 0 to scale, the same in each run."""
    dtype = numpy.dtype(dtype)
    state = numpy.random.RandomState(seed)
    if dtype.kind == "b":
        host = state.randint(2, size=shape)
    elif dtype.kind == "c":
        host = state.rand(*shape) + 1j * state.rand(*shape)
        host = host * scale
    else:
        host = state.rand(*shape) * scale
    return _into(xp or _cupy(), numpy.array(numpy.asarray(host).astype(dtype), order=order))


# Loops -------------------------------------------------------------------------------------------


def _without(function: Any, *names: str) -> Any:
    """Parameters that a decorator gives are none of the test's fixtures."""
    signature = inspect.signature(function)
    kept = [one for name, one in signature.parameters.items() if name not in names]
    return signature.replace(parameters=kept)


def for_dtypes(dtypes: Any, name: str = "dtype") -> Any:
    """Runs a test for each type, as the keyword `name`."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def run(*args: Any, **words: Any) -> None:
            for dtype in dtypes:
                try:
                    function(*args, **{**words, name: numpy.dtype(dtype).type})
                except Exception:
                    print(f"{name} is {numpy.dtype(dtype)}")
                    raise

        run.__signature__ = _without(function, name)  # type: ignore[attr-defined]
        return run

    return decorate


def _list_types(
    no_float16: bool = False, no_bool: bool = False, no_complex: bool = False
) -> tuple[Any, ...]:
    floats = FLOATS[1:] if no_float16 else FLOATS
    return (
        *floats,
        *SIGNED,
        *UNSIGNED,
        *(() if no_bool else BOOL),
        *(() if no_complex else COMPLEX),
    )


def for_all_dtypes(
    name: str = "dtype",
    no_float16: bool = False,
    no_bool: bool = False,
    no_complex: bool = False,
    **words: Any,
) -> Any:
    """Runs a test for each type of number."""
    return for_dtypes(_list_types(no_float16, no_bool, no_complex), name)


def for_float_dtypes(name: str = "dtype", no_float16: bool = False) -> Any:
    """Runs a test for each type of real numbers."""
    return for_dtypes(FLOATS[1:] if no_float16 else FLOATS, name)


def for_int_dtypes(name: str = "dtype", no_bool: bool = False) -> Any:
    """Runs a test for each type of integers."""
    return for_dtypes((*SIGNED, *UNSIGNED, *(() if no_bool else BOOL)), name)


def for_signed_dtypes(name: str = "dtype") -> Any:
    """Runs a test for each type of signed integers."""
    return for_dtypes(SIGNED, name)


def for_unsigned_dtypes(name: str = "dtype") -> Any:
    """Runs a test for each type of unsigned integers."""
    return for_dtypes(UNSIGNED, name)


def for_complex_dtypes(name: str = "dtype") -> Any:
    """Runs a test for each type of complex numbers."""
    return for_dtypes(COMPLEX, name)


def for_dtypes_combination(types: Any, names: Any = ("dtype",), full: Any = None) -> Any:
    """Runs a test for all combinations of types."""

    def decorate(function: Any) -> Any:
        for name in names:
            function = for_dtypes(types, name)(function)
        return function

    return decorate


def for_all_dtypes_combination(
    names: Any = ("dtypes",),
    no_float16: bool = False,
    no_bool: bool = False,
    full: Any = None,
    no_complex: bool = False,
) -> Any:
    """Runs a test for all combinations of all types."""
    return for_dtypes_combination(_list_types(no_float16, no_bool, no_complex), names)


def for_orders(orders: Any, name: str = "order") -> Any:
    """Runs a test for each order of elements."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def run(*args: Any, **words: Any) -> None:
            for order in orders:
                function(*args, **{**words, name: order})

        run.__signature__ = _without(function, name)  # type: ignore[attr-defined]
        return run

    return decorate


def for_CF_orders(name: str = "order") -> Any:
    """Runs a test for C order and Fortran's."""
    return for_orders(["C", "F"], name)


def _run_both(function: Any, name: str, args: Any, words: Any) -> list[tuple[Any, Any]]:
    """(result, error) with numpy and with cupy."""
    found: list[tuple[Any, Any]] = []
    for xp in (numpy, _cupy()):
        try:
            found.append((function(*args, **{**words, name: xp}), None))
        except Exception as error:
            found.append((None, error))
    return found


def _make_both(compare: Any) -> Any:
    """A decorator that runs a test with xp=numpy and xp=cupy, and compares what it returns."""

    def make(
        *limits: Any,
        name: str = "xp",
        type_check: bool = True,
        accept_error: Any = False,
        sp_name: Any = None,
        scipy_name: Any = None,
        contiguous_check: bool = True,
        strides_check: bool = False,
        **words: Any,
    ) -> Any:
        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def run(*args: Any, **keywords: Any) -> None:
                (expected, refusal), (found, error) = _run_both(function, name, args, keywords)
                if refusal or error:
                    accepted = accept_error if accept_error is not True else Exception
                    both = refusal is not None and error is not None
                    if both and accepted and isinstance(refusal, accepted):
                        return
                    raise error or refusal
                _compare_results(found, expected, compare, type_check, limits, words)

            run.__signature__ = _without(function, name)  # type: ignore[attr-defined]
            return run

        return decorate

    return make


def _compare_results(
    found: Any, expected: Any, compare: Any, type_check: bool, limits: Any, words: Any
) -> None:
    several = isinstance(expected, tuple | list)
    pairs = zip(found, expected, strict=True) if several else [(found, expected)]
    for one, other in pairs:
        if type_check and hasattr(one, "dtype") and hasattr(other, "dtype"):
            assert one.dtype == other.dtype, f"cupy gives {one.dtype}, numpy {other.dtype}"
        compare(one, other, *limits, **words)


def _close(
    x: Any, y: Any, rtol: Any = 1e-7, atol: Any = 0, err_msg: str = "", **words: Any
) -> None:
    if isinstance(rtol, dict):
        rtol = rtol.get(numpy.dtype(asnumpy(x).dtype).type, rtol.get("default", 1e-7))
    if isinstance(atol, dict):
        atol = atol.get(numpy.dtype(asnumpy(x).dtype).type, atol.get("default", 0))
    assert_allclose(x, y, rtol, atol, err_msg)


numpy_cupy_allclose = _make_both(_close)
numpy_cupy_array_almost_equal = _make_both(assert_array_almost_equal)
numpy_cupy_array_equal = _make_both(assert_array_equal)
numpy_cupy_array_less = _make_both(assert_array_less)
numpy_cupy_array_list_equal = _make_both(assert_array_equal)
numpy_cupy_equal = _make_both(lambda x, y: numpy.testing.assert_equal(asnumpy(x), asnumpy(y)))


# Parameters and marks ----------------------------------------------------------------------------


def product(parameter: Any) -> list[Any]:
    """All combinations: of a dict of lists a list of dicts, of a list of lists a list of tuples."""
    if isinstance(parameter, dict):
        rows = itertools.product(*parameter.values())
        return [dict(zip(parameter, row, strict=True)) for row in rows]
    return list(itertools.product(*parameter))


def product_dict(*parameters: Any) -> list[dict[str, Any]]:
    """All combinations of dicts of several lists, each combination as one dict."""
    return [
        {key: value for part in row for key, value in part.items()}
        for row in itertools.product(*parameters)
    ]


def parameterize(*params: Any, **words: Any) -> Any:
    """A class of tests for each dict, whose values are attributes; or arguments of a function."""
    import pytest

    def decorate(thing: Any) -> Any:
        if not isinstance(thing, type):
            names = list(params[0])
            return pytest.mark.parametrize(
                names, [[row[name] for name in names] for row in params]
            )(thing)
        module = inspect.getmodule(thing) or types.ModuleType("")
        for number, row in enumerate(params):
            name = f"{thing.__name__}_param_{number}"
            made = type(name, (thing,), {**row, "__module__": thing.__module__, "__test__": True})
            setattr(module, name, made)
            # a module that is being imported is not in inspect's reach under every import mode
            inspect.stack()[1].frame.f_globals[name] = made
        return None

    return decorate


def slow(*args: Any) -> Any:
    """Marks a slow test, with or without a call."""
    import pytest

    return pytest.mark.slow(*args) if args else pytest.mark.slow


def multi_gpu(gpu_num: int) -> Any:
    """Skips a test that needs several GPUs: there is one device."""
    import pytest

    return pytest.mark.skipif(gpu_num > 1, reason=f"needs {gpu_num} GPUs, and there is one device")


def gpu(*args: Any) -> Any:
    """Marks nothing: the device is there."""
    return args[0] if args else lambda test: test


def with_requires(*requirements: str) -> Any:
    """Skips a test where packages are missing: "numpy>=2"."""
    import pytest

    return pytest.mark.skipif(not installed(*requirements), reason=f"requires {requirements}")


def installed(*requirements: str) -> bool:
    """Whether packages of these versions are installed."""
    from importlib import metadata

    from packaging.requirements import Requirement

    for text in requirements:
        wanted = Requirement(text)
        try:
            if not wanted.specifier.contains(metadata.version(wanted.name), prereleases=True):
                return False
        except metadata.PackageNotFoundError:
            return False
    return True


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
