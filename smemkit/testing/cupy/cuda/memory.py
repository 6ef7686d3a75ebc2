"""cupy.cuda.memory."""

from __future__ import annotations

from typing import Any

from .._memory import Memory, MemoryPointer, UnownedMemory, alloc
from .._refuse import refuse_attribute

__all__ = ["BaseMemory", "Memory", "MemoryPointer", "OutOfMemoryError", "UnownedMemory", "alloc"]

BaseMemory = Memory


class OutOfMemoryError(MemoryError):
    """The memory of the simulator is used up."""


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
