"""cupy._core._accelerator: there are none."""

from __future__ import annotations

from typing import Any

ACCELERATOR_CUB, ACCELERATOR_CUTENSOR = 1, 2


def get_reduction_accelerators() -> list[int]:
    """[]: the simulator runs the kernels themselves."""
    return []


def set_reduction_accelerators(accelerators: Any) -> None:
    """Nothing."""


get_routine_accelerators, set_routine_accelerators = (
    get_reduction_accelerators,
    set_reduction_accelerators,
)
