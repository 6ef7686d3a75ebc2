"""cupy.cuda: one device, streams on which work ends at once, events, and memory."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy

from .... import _core
from .._memory import (
    Memory,
    MemoryPointer,
    UnownedMemory,
    alloc,
    allocate,
    get_allocator,
    set_allocator,
    using_allocator,
)
from . import compiler, driver, runtime
from .runtime import CUDARuntimeError

__all__ = [
    "BaseMemory",
    "CUDARuntimeError",
    "Device",
    "Event",
    "ExternalStream",
    "ManagedMemory",
    "Memory",
    "MemoryAsyncPool",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemory",
    "PinnedMemoryPointer",
    "PinnedMemoryPool",
    "Stream",
    "UnownedMemory",
    "alloc",
    "alloc_pinned_memory",
    "compiler",
    "driver",
    "get_allocator",
    "get_cuda_path",
    "get_current_stream",
    "get_device_id",
    "get_elapsed_time",
    "get_local_runtime_version",
    "get_nvcc_path",
    "is_available",
    "malloc_managed",
    "runtime",
    "set_allocator",
    "set_pinned_memory_allocator",
    "using_allocator",
]

BaseMemory = ManagedMemory = Memory
malloc_managed = alloc


def is_available() -> bool:
    """True: the simulator is always there."""
    return True


def get_local_runtime_version() -> int:
    """The version of CUDA, as 13000."""
    return runtime.runtimeGetVersion()


def get_device_id() -> int:
    """0."""
    return 0


def get_cuda_path() -> str | None:
    """The folder of the CUDA toolkit that smemkit finds, or None."""
    path = get_nvcc_path()
    return None if path is None else os.path.dirname(os.path.dirname(path))


def get_nvcc_path() -> str | None:
    """The nvcc that smemkit finds, or None."""
    from ....compile import find_nvcc

    path = find_nvcc()
    return None if path is None else str(path)


class Device:
    """The device of the simulator, 0; any other is refused as a GPU that is not there.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> with cupy.cuda.Device(0) as device:
    ...     device.id, device.compute_capability
    (0, '90')
    """

    id: int

    def __init__(self, device: Any = None) -> None:
        self.id = 0 if device is None else int(device)

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __lt__(self, other: Device) -> bool:
        return self.id < other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Device:
        self.use()
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def use(self) -> None:
        """Makes it the present device."""
        runtime.setDevice(self.id)

    def synchronize(self) -> None:
        """Nothing: launches have ended when they return."""
        self.use()

    @property
    def compute_capability(self) -> str:
        """ "90"."""
        facts = _core.device_info(backend="sim")
        return f"{facts['compute_capability_major']}{facts['compute_capability_minor']}"

    @property
    def mem_info(self) -> tuple[int, int]:
        """(free, total) bytes."""
        return runtime.memGetInfo()

    @property
    def attributes(self) -> dict[str, int]:
        """Attributes of the device by CUDA's names, those that the simulator knows."""
        return runtime.list_attributes()

    @property
    def pci_bus_id(self) -> str:
        """A name of the form of a bus address."""
        return "0000:00:00.0"


class Stream:
    """A stream. Its work has ended when the call that gives it returns, so order is kept.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> with cupy.cuda.Stream() as stream:
    ...     x = cupy.arange(3)
    >>> stream.synchronize(), stream.done
    (None, True)
    """

    null: Stream
    ptds: Stream
    ptr: int
    _current: list[Stream] = []
    _number = 2

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int = 0
    ) -> None:
        self.non_blocking, self.priority, self.device_id = non_blocking, priority, 0
        self.is_null, self.ptr = null, 0 if null else 2 if ptds else self._count()

    @classmethod
    def _count(cls) -> int:
        Stream._number += 1
        return Stream._number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device 0)>"

    def __enter__(self) -> Stream:
        Stream._current.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        Stream._current.pop()

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def use(self) -> Stream:
        """Makes it the present stream."""
        Stream._current[-1:] = [self]
        return self

    @property
    def done(self) -> bool:
        """True."""
        return True

    def synchronize(self) -> None:
        """Nothing: work has ended when the call that gave it returned."""

    def record(self, event: Event | None = None) -> Event:
        """Records an event."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Nothing: the event has happened."""

    def launch_host_func(self, callback: Any, arg: Any) -> None:
        """Calls the function."""
        callback(arg)

    def add_callback(self, callback: Any, arg: Any) -> None:
        """Calls the function."""
        callback(self, 0, arg)

    def begin_capture(self, mode: Any = None) -> None:
        """Refused: there are no graphs here."""
        raise NotImplementedError(
            "smemkit's stand-in of CuPy has no cupy.cuda.Stream.begin_capture (CUDA graphs)"
        )

    def is_capturing(self) -> bool:
        """False."""
        return False


class ExternalStream(Stream):
    """A stream by the number that another library gave."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        super().__init__()
        self.ptr = int(ptr)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)
Stream._current.append(Stream.null)


def get_current_stream(device_id: int | None = None) -> Stream:
    """The stream of the innermost `with`, or of use()."""
    return Stream._current[-1]


class Event:
    """An event: the time on the host when it was recorded. It says nothing about a GPU's time."""

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
    ) -> None:
        self._time: float | None = None
        self.disable_timing, self.ptr = disable_timing, id(self)

    def record(self, stream: Any = None) -> None:
        """Records the present time."""
        self._time = time.perf_counter()

    @property
    def done(self) -> bool:
        """True."""
        return True

    def synchronize(self) -> None:
        """Nothing."""


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds of the host between two events."""
    if start_event._time is None or end_event._time is None:
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle", "invalid resource handle")
    return 1000 * (end_event._time - start_event._time)


# Memory ------------------------------------------------------------------------------------------

PinnedMemory = numpy.ndarray


class PinnedMemoryPointer(numpy.ndarray):
    """Memory of the host, as an array of bytes."""

    @property
    def ptr(self) -> int:
        """The address."""
        return int(self.__array_interface__["data"][0])

    mem = property(lambda self: self)


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Memory of the host."""
    return numpy.zeros(int(size), numpy.uint8).view(PinnedMemoryPointer)


class MemoryPool:
    """A pool that keeps nothing: memory is given back when its array is gone."""

    def __init__(self, allocator: Any = None) -> None:
        self._limit = 0

    def malloc(self, size: int) -> MemoryPointer:
        """New memory."""
        return allocate(size)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Nothing."""

    def free_all_free(self) -> None:
        """Nothing."""

    def n_free_blocks(self) -> int:
        """0."""
        return 0

    def used_bytes(self) -> int:
        """0: nothing is counted."""
        return 0

    free_bytes = total_bytes = used_bytes

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Keeps the limit, which nothing enforces."""
        self._limit = 0 if size is None else int(size)

    def get_limit(self) -> int:
        """The limit that was set, or 0."""
        return self._limit


class PinnedMemoryPool(MemoryPool):
    """A pool of memory of the host, which keeps nothing."""

    def malloc(self, size: int) -> Any:
        """Memory of the host."""
        return alloc_pinned_memory(size)


MemoryAsyncPool = MemoryPool


def set_pinned_memory_allocator(allocator: Any = None) -> None:
    """Nothing: memory of the host comes from NumPy."""


def __getattr__(name: str) -> Any:
    from .._refuse import find_module

    return find_module(__name__, name)
