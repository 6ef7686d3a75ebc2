"""cupy._util, as far as tests reach it."""

from __future__ import annotations

from typing import Any

from ._refuse import refuse_attribute


class PerformanceWarning(RuntimeWarning):
    """Given by CuPy for copies between GPUs."""


def clear_memo() -> None:
    """Nothing: smemkit compiles a module once for each object."""


def memoize(for_each_device: bool = False) -> Any:
    """A decorator: results are kept by the arguments."""
    import functools

    return functools.cache


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
