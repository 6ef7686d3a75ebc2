"""Calls on the simulator that are planned for a card, and the memory that their arrays take."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from .. import _core
from .cards import MEMORY_GB
from .fit import read_capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .cards import Card

LARGE_BYTES = 1 << 28  # arrays that are smaller need no second look
MEMORY = Path("/proc/meminfo")
GIB = 2.0**30


@contextlib.contextmanager
def plan_for(card: Card) -> Iterator[None]:
    """While it lasts, calls of this thread on the simulator launch what they would on the card."""
    major, minor = read_capability(card.compute_capability)
    machine = card.name.replace("\0", ""), 10 * major + minor, max(1, int(card.multiprocessors))
    before = _core._plan_for(machine)
    try:
        yield
    finally:
        _core._plan_for(before)


def find_free_bytes() -> int:
    """Memory that arrays can take at present."""
    limit: int = _core._config()["memory_bytes"]
    if not MEMORY.exists():
        return limit
    words = dict(line.split(":", 1) for line in MEMORY.read_text(encoding="utf-8").splitlines())
    free = words.get("MemAvailable")
    return limit if free is None else min(limit, 1024 * int(free.split()[0]))


def demand_memory(what: str, needed: float) -> None:
    """OutOfMemoryError where so many bytes are not free, with the way to do without them."""
    free = find_free_bytes() if needed > LARGE_BYTES else needed
    if needed > free:
        raise _core.OutOfMemoryError(
            f"{what} take {needed / GIB:.1f} GiB, and {free / GIB:.1f} GiB of memory are free. "
            "Where the values do not decide what a kernel does, predict arrays that take memory "
            'only where it writes: smemkit.empty(shape, dtype, backend="sim")'
        )


def check_arrays(values: Iterable[Any]) -> None:
    """OutOfMemoryError where the simulator has no memory for its copies of NumPy arrays."""
    arrays = [value for value in values if isinstance(value, numpy.ndarray)]
    demand_memory("copies of the arrays", sum(array.nbytes for array in arrays))


def list_arrays(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays of NumPy and of devices among values, and those in their tuples and lists."""
    for value in values:
        if isinstance(value, tuple | list):
            yield from list_arrays(value)
        elif isinstance(value, numpy.ndarray | _core.DeviceArray):
            yield value


def check_room(values: Iterable[Any], card: Card) -> None:
    """OutOfMemoryError where the arrays are larger than the memory of the card."""
    needed = sum({id(array): array.nbytes for array in list_arrays(values)}.values())
    room = MEMORY_GB.get(card.name, math.inf)
    if needed > room * 1e9:
        raise _core.OutOfMemoryError(
            f"the arrays have {needed / 1e9:.1f} GB, and the memory of {card.name} has {room} GB"
        )


def make_sparse(shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> _core.DeviceArray:
    """An array of zeros on the simulator, of any size: what no kernel writes takes no memory."""
    words = {"dtype": dtype, "backend": "sim"}
    made: _core.DeviceArray = _core._capture("profile", _core.empty, (shape,), words, 1, True)[0]
    return made
