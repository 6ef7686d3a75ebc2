"""cupy.cuda.function."""

from __future__ import annotations

from typing import Any

from .._raw import RawKernel as Function
from .._refuse import refuse_attribute

__all__ = ["Function"]


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
