"""cupy.fft: numpy.fft, with arrays of the device."""

from __future__ import annotations

from typing import Any

import numpy

from ._functions import forward
from ._refuse import refuse_attribute


def __getattr__(name: str) -> Any:
    value = getattr(numpy.fft, name, None)
    if name.startswith("_") or value is None:
        refuse_attribute(__name__, name)
    if isinstance(value, type) or not callable(value):
        return value
    return forward(value, f"fft.{name}")
