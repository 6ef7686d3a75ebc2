"""Types that annotations of several modules share. Type checkers read it; nothing imports it."""

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from numpy.typing import ArrayLike, NDArray

from ._core import Device, DeviceArray

Array: TypeAlias = ArrayLike | DeviceArray
Backend: TypeAlias = Literal["auto", "cuda", "sim"]
Machine: TypeAlias = Literal["cuda", "sim"]
DeviceLike: TypeAlias = int | str | Device
Capability: TypeAlias = str | tuple[int, int]
Count: TypeAlias = int | float | None  # of a counter; a ratio whose denominator is 0 is None
HostArray: TypeAlias = NDArray[Any]
Shape: TypeAlias = int | Sequence[int]
StrPath: TypeAlias = str | os.PathLike[str]
