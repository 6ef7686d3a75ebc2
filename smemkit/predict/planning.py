"""Calls on the simulator that are planned for a card: its multiprocessors, its shared memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from .. import _core
from .fit import read_capability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .cards import Card


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
