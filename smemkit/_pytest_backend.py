"""The backend of a run of pytest whose plugins need the simulator: they see nothing on a GPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

VARIABLE = "SMEMKIT_BACKEND"


def set_simulator() -> bool:
    """Launches of this process, and of those that it starts, go to the simulator.

    Where a backend is named already, nothing is done. Says whether the variable was set: whoever
    sets it takes it away.
    """
    if VARIABLE in os.environ:
        return False
    os.environ[VARIABLE] = "sim"
    return True


def take_away() -> None:
    """Ends what set_simulator has begun; a test may have taken the variable away itself."""
    os.environ.pop(VARIABLE, None)


def take_simulator(config: pytest.Config) -> None:
    """The same until the run ends: a process may make several, as pytester does."""
    if set_simulator():
        config.add_cleanup(take_away)
