"""Types that annotations of several modules share. Type checkers read it; nothing imports it."""

import os
from collections.abc import Sequence
from typing import Literal, TypeAlias

from numpy.typing import ArrayLike

from ._core import Device, DeviceArray

Array: TypeAlias = ArrayLike | DeviceArray
Backend: TypeAlias = Literal["auto", "cuda", "sim"]
Machine: TypeAlias = Literal["cuda", "sim"]
DeviceLike: TypeAlias = int | str | Device
Capability: TypeAlias = str | tuple[int, int]
Shape: TypeAlias = int | Sequence[int]
StrPath: TypeAlias = str | os.PathLike[str]
