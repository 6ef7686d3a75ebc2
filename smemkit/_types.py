"""Types that annotations of several modules share. Type checkers read it; nothing imports it."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

from numpy.typing import ArrayLike, NDArray

from ._core import Device, DeviceArray, Stream

Array: TypeAlias = ArrayLike | DeviceArray
Backend: TypeAlias = Literal["auto", "cuda", "sim"]
Machine: TypeAlias = Literal["cuda", "sim"]
BankOp: TypeAlias = Literal["load", "store", "atomic", "async", "cas", "increment", "matrix"]
Capability: TypeAlias = str | tuple[int, int]
Count: TypeAlias = int | float | None  # of a counter; a ratio whose denominator is 0 is None
HostArray: TypeAlias = NDArray[Any]
Order: TypeAlias = Literal["forward", "reverse", "both"]  # of the blocks and warps of a check
Shape: TypeAlias = int | Sequence[int]
StrPath: TypeAlias = str | os.PathLike[str]


class NumberedDevice(Protocol):
    """Of CuPy or JAX."""

    @property
    def id(self) -> int: ...


class TorchDevice(Protocol):
    """Of PyTorch."""

    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int | None: ...


DeviceLike: TypeAlias = int | str | Device | NumberedDevice | TorchDevice


class CudaStream(Protocol):
    """By NVIDIA's protocol."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


class CupyStream(Protocol):
    """Of CuPy."""

    @property
    def ptr(self) -> int: ...


class TorchStream(Protocol):
    """Of PyTorch."""

    @property
    def cuda_stream(self) -> int: ...


class NumbaStream(Protocol):
    """Of Numba."""

    @property
    def handle(self) -> Any: ...


StreamLike: TypeAlias = int | Stream | CudaStream | CupyStream | TorchStream | NumbaStream
