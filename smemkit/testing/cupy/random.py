"""cupy.random: numpy.random, with arrays of the device."""

from __future__ import annotations

from typing import Any

import numpy

from ._array import adopt, strip
from ._refuse import refuse_attribute


class RandomState:
    """numpy.random.RandomState, which gives arrays of the device and takes dtype=."""

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        self._state = numpy.random.RandomState(None if seed is None else strip(seed))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(numpy.random.RandomState, name):
            raise AttributeError(name)
        return _forward(getattr(self._state, name))


class Generator:
    """numpy.random.Generator, which gives arrays of the device."""

    def __init__(self, bit_generator: Any = None) -> None:
        self._state = numpy.random.default_rng(bit_generator)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(numpy.random.Generator, name):
            raise AttributeError(name)
        function = getattr(self._state, name)
        return lambda *args, **words: adopt(function(*strip(args), **strip(words)))


def default_rng(seed: Any = None) -> Generator:
    """A generator of random numbers."""
    return Generator(seed)


_state = RandomState()


def seed(seed: Any = None) -> None:
    """Begins the sequence of random numbers again."""
    global _state
    _state = RandomState(seed)


def get_random_state() -> RandomState:
    """The state behind the functions."""
    return _state


def _forward(function: Any) -> Any:
    def forwarded(*args: Any, dtype: Any = None, **words: Any) -> Any:
        result = adopt(numpy.asarray(function(*strip(args), **strip(words))))
        return result if dtype is None else result.astype(dtype)

    return forwarded


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(numpy.random, name):
        refuse_attribute(__name__, name)
    if name == "random_integers":
        return lambda low, high=None, size=None: _state.randint(
            1 if high is None else low, (low if high is None else high) + 1, size
        )
    if name in ("random", "sample", "ranf"):
        name = "random_sample"
    return getattr(_state, name)
