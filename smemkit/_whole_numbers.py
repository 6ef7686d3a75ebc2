"""Whole numbers that callers give."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from . import _core


def read_int(value: object) -> int | None:
    """The value as an int; None for what is no whole number, and for a bool."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array that holds no whole number
        return None


def read_blocks(blocks: object) -> int:
    """How many blocks of each launch are counted, 0 for all; errors for what is no such number."""
    if blocks is None:
        return 0
    number = read_int(blocks)
    if number is None:
        raise _core.ArgumentTypeError(f"blocks must be an int or None, not {blocks!r}")
    if not 1 <= number < 2**63:
        raise _core.ArgumentError(f"blocks is {number}; 1 or more is needed, or None for all")
    return number
