"""Copies of a kernel's arguments, so that it can be launched more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterable


def copy_arguments(args: Iterable[Any]) -> tuple[Any, ...]:
    """The arguments with copies of their arrays, NumPy arrays or device arrays of the simulator.

    An array that occurs twice is copied once, so that the copies overlap as the arrays do.
    """
    made: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, _core.DeviceArray):
            return _core.asarray(_core.asnumpy(value), backend="sim")
        if isinstance(value, numpy.ndarray):
            result = numpy.array(value, order="K", copy=True, subok=True)
            result.flags.writeable = value.flags.writeable
            return result
        return value

    found = []
    for value in args:
        if id(value) not in made:
            made[id(value)] = copy(value)
        found.append(made[id(value)])
    return tuple(found)
