"""Memory of the simulator's device, which NumPy arrays and kernels see alike."""

from __future__ import annotations

import weakref
from typing import Any

import numpy

from ... import _core


class Memory:
    """An allocation. ptr and size are those of CuPy; bytes is the same memory as a NumPy array.

    Memory that only kernels have touched counts as not written until `bytes` is asked for, so check
    finds what reads cupy.empty.
    """

    size: int
    device_id = 0

    _all: weakref.WeakSet[Memory] = weakref.WeakSet()

    def __init__(self, size: int, array: _core.DeviceArray | None = None) -> None:
        self.size = int(size)
        if array is None and self.size > 0:
            array = _core.empty((self.size,), numpy.uint8, backend="sim")
        self._array = array
        self._bytes: numpy.ndarray[Any, Any] | None = None
        Memory._all.add(self)

    @classmethod
    def list_all(cls) -> list[Memory]:
        """All that is in use, for who knows an address alone."""
        return list(cls._all)

    @property
    def ptr(self) -> int:
        """The address that kernels know; 0 of no bytes."""
        return self._array.pointer if self._array is not None else 0

    @property
    def array(self) -> _core.DeviceArray | None:
        """The allocation itself; None of no bytes."""
        return self._array

    @property
    def bytes(self) -> numpy.ndarray[Any, Any]:
        """The memory, as a flat array of bytes."""
        if self._bytes is None:
            if self._array is None:
                self._bytes = numpy.empty(0, numpy.uint8)
            else:
                host = numpy.asarray(memoryview(self._array))
                self._bytes = host.reshape(-1).view(numpy.uint8)
        return self._bytes

    @property
    def device(self) -> Any:
        """The one device there is."""
        from .cuda import Device

        return Device(0)

    def free(self) -> None:
        """Nothing: the memory goes when nobody has it any more."""


class UnownedMemory(Memory):
    """Memory that somebody else allocated on the simulator, and keeps: ptr, size, owner."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = 0) -> None:
        found = find_memory(ptr, owner)
        if found is None:
            raise NotImplementedError(
                "smemkit's stand-in of CuPy: UnownedMemory takes memory of its own arrays alone; "
                "make an array by cupy.asarray"
            )
        super().__init__(size, None if size == 0 else found._array)
        self._bytes = found.bytes
        self._offset = ptr - found.ptr

    @property
    def ptr(self) -> int:
        """The address that was given."""
        return super().ptr + self._offset

    @property
    def bytes(self) -> numpy.ndarray[Any, Any]:
        """The memory from that address on."""
        assert self._bytes is not None
        return self._bytes[self._offset : self._offset + self.size]


def find_memory(ptr: int, owner: Any) -> Memory | None:
    """The memory of an array or pointer in which an address lies."""
    data = getattr(owner, "data", owner)
    memory = getattr(data, "mem", data)
    if isinstance(memory, Memory) and memory.ptr <= ptr <= memory.ptr + memory.size:
        return memory
    return None


class MemoryPointer:
    """An address in an allocation: mem and offset, as CuPy's."""

    mem: Memory

    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem, self._offset = mem, int(offset)

    @property
    def ptr(self) -> int:
        """The address."""
        return self.mem.ptr + self._offset

    @property
    def device(self) -> Any:
        """The one device there is."""
        return self.mem.device

    @property
    def device_id(self) -> int:
        """0."""
        return 0

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self._offset + int(offset))

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self._offset - int(offset))

    def view(self, size: int) -> numpy.ndarray[Any, Any]:
        """So many bytes from here on, as a NumPy array."""
        end = self._offset + int(size)
        if self._offset < 0 or end > self.mem.size:
            raise ValueError(
                f"{size} bytes at offset {self._offset} exceed an allocation of {self.mem.size}"
            )
        return self.mem.bytes[self._offset : end]

    def copy_from(self, mem: Any, size: int) -> None:
        """Copies from another pointer, or from an address of the host (ctypes.c_void_p)."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device(mem, size)
        else:
            self.copy_from_host(mem, size)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copies from another pointer."""
        self.view(size)[...] = src.view(size)

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copies from the host."""
        self.view(size)[...] = read_host(mem, size)

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copies to the host."""
        read_host(mem, size)[...] = self.view(size)

    def memset(self, value: int, size: int) -> None:
        """Sets bytes."""
        self.view(size)[...] = value

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """As copy_from; it has ended when it returns."""
        self.copy_from(mem, size)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """As copy_from_device."""
        self.copy_from_device(src, size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """As copy_from_host."""
        self.copy_from_host(mem, size)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """As copy_to_host."""
        self.copy_to_host(mem, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """As memset."""
        self.memset(value, size)


def read_host(address: Any, size: int) -> numpy.ndarray[Any, Any]:
    """Bytes of the host by an address, a ctypes.c_void_p, or an object with a buffer."""
    import ctypes

    if isinstance(address, numpy.ndarray):
        return address.reshape(-1).view(numpy.uint8)[:size]
    if isinstance(address, ctypes.c_void_p):
        address = address.value
    if not isinstance(address, int | numpy.integer):
        return numpy.frombuffer(address, numpy.uint8)[:size]
    return numpy.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(int(address)))


def allocate(size: int) -> MemoryPointer:
    """New memory of so many bytes from the simulator."""
    return MemoryPointer(Memory(size), 0)


def allocate_array(shape: tuple[int, ...], dtype: Any) -> MemoryPointer:
    """New memory for an array, whose shape and type findings then name."""
    dtype = numpy.dtype(dtype)
    size = int(numpy.prod(shape, dtype=object)) * dtype.itemsize
    if size == 0 or dtype.kind == "V" or _allocators[-1] is not allocate:
        return alloc(size)
    return MemoryPointer(Memory(size, _core.empty(shape, dtype, backend="sim")), 0)


_allocators: list[Any] = [allocate]  # the last one serves


def alloc(size: int) -> MemoryPointer:
    """New memory of so many bytes, by the allocator that was set."""
    found: MemoryPointer = _allocators[-1](size)
    return found


def get_allocator() -> Any:
    """The allocator that serves now."""
    return _allocators[-1]


def set_allocator(allocator: Any = None) -> None:
    """Lets a function from bytes to a MemoryPointer serve; None: the simulator."""
    _allocators[-1] = allocate if allocator is None else allocator


class using_allocator:
    """A block in which an allocator serves."""

    def __init__(self, allocator: Any = None) -> None:
        self._wanted = allocate if allocator is None else allocator

    def __enter__(self) -> None:
        _allocators.append(self._wanted)

    def __exit__(self, *exception: object) -> None:
        _allocators.pop()
