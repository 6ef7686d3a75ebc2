"""cupy.cuda.runtime: the device's facts, and copies by address."""

from __future__ import annotations

import re
from typing import Any

from .... import _core
from .._refuse import refuse_attribute

is_hip = False
memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost = 0, 1, 2
memcpyDeviceToDevice, memcpyDefault = 3, 4
streamDefault, streamNonBlocking = 0, 1
eventDefault, eventBlockingSync, eventDisableTiming = 0, 1, 2
VERSION = 13000
ATTRIBUTES = {
    "MaxThreadsPerBlock": "max_threads_per_block",
    "MaxSharedMemoryPerBlock": "max_shared_bytes_per_block",
    "MaxSharedMemoryPerBlockOptin": "max_shared_bytes_per_block_optin",
    "MultiProcessorCount": "multiprocessor_count",
    "WarpSize": "warp_size",
    "ComputeCapabilityMajor": "compute_capability_major",
    "ComputeCapabilityMinor": "compute_capability_minor",
}


class CUDARuntimeError(RuntimeError):
    """What the CUDA runtime refuses, with its name."""

    def __init__(self, name: str, message: str) -> None:
        self.status = name
        super().__init__(f"{name}: {message}")


def runtimeGetVersion() -> int:
    """13000."""
    return VERSION


driverGetVersion = runtimeGetVersion


def getDeviceCount() -> int:
    """1."""
    return 1


def getDevice() -> int:
    """0."""
    return 0


def setDevice(device: int) -> None:
    """Refuses all devices but 0."""
    if device != 0:
        raise CUDARuntimeError("cudaErrorInvalidDevice", "invalid device ordinal")


def deviceSynchronize() -> None:
    """Nothing: launches have ended when they return."""


def streamSynchronize(stream: int) -> None:
    """Nothing."""


def deviceCanAccessPeer(device: int, peer: int) -> int:
    """0: there is one device."""
    return 0


def memGetInfo() -> tuple[int, int]:
    """(free, total) bytes of the simulator's memory."""
    memory = _core.Device(backend="sim").memory
    return memory.free_bytes, memory.total_bytes


def list_attributes() -> dict[str, int]:
    """Attributes by CUDA's names."""
    facts: dict[str, Any] = {**_core.limits("9.0"), **_core.device_info(backend="sim")}
    found = {}
    for name, key in ATTRIBUTES.items():
        if key in facts:
            found[name] = int(facts[key])
    found.update(
        {"MaxBlockDimX": 1024, "MaxBlockDimY": 1024, "MaxBlockDimZ": 64, "MaxGridDimX": 2**31 - 1}
    )
    found.update({"MaxGridDimY": 65535, "MaxGridDimZ": 65535, "MaxPitch": 2**31 - 1})
    return found


def deviceGetAttribute(attribute: int, device: int) -> int:
    """The attributes that programs ask for most."""
    names = {1: "MaxThreadsPerBlock", 10: "WarpSize", 16: "MultiProcessorCount"}
    names |= {75: "ComputeCapabilityMajor", 76: "ComputeCapabilityMinor"}
    found = list_attributes().get(names.get(attribute, ""))
    if found is None:
        raise NotImplementedError(
            f"smemkit's stand-in of CuPy has no cupy.cuda.runtime.deviceGetAttribute({attribute})"
        )
    return found


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Facts of the device by the names of cudaDeviceProp."""
    setDevice(device)
    facts = list_attributes()
    plain = {re.sub(r"^Max", "max", name): value for name, value in facts.items()}
    return {
        "name": str(_core.device_info(backend="sim")["name"]).encode(),
        "uuid": bytes(16),
        "totalGlobalMem": memGetInfo()[1],
        "sharedMemPerBlock": facts.get("MaxSharedMemoryPerBlock", 49152),
        "sharedMemPerBlockOptin": facts.get("MaxSharedMemoryPerBlockOptin", 232448),
        "warpSize": facts["WarpSize"] if "WarpSize" in facts else 32,
        "maxThreadsPerBlock": plain.get("maxThreadsPerBlock", 1024),
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535),
        "major": 9,
        "minor": 0,
        "multiProcessorCount": facts.get("MultiProcessorCount", 132),
        "maxThreadsPerMultiProcessor": 2048,
        "regsPerBlock": 65536,
        "pciBusID": 0,
        "pciDeviceID": 0,
        "pciDomainID": 0,
    }


def _copy(dst: int, src: int, size: int, kind: int) -> None:
    from .._memory import read_host

    to, from_ = _find(dst, size), _find(src, size)
    target = to if to is not None else read_host(dst, size)
    target[...] = from_ if from_ is not None else read_host(src, size)


def _find(address: int, size: int) -> Any:
    """The bytes at an address of the device; None for one of the host."""
    from .._memory import Memory

    for memory in Memory.list_all():
        offset = address - memory.ptr
        if memory.size and 0 <= offset < memory.size:
            return memory.bytes[offset : offset + size]
    return None


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copies bytes between addresses of the host and of the device's arrays."""
    _copy(int(dst), int(src), int(size), kind)


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    """As memcpy."""
    memcpy(dst, src, size, kind)


def memset(ptr: int, value: int, size: int) -> None:
    """Sets bytes of an array of the device."""
    found = _find(int(ptr), int(size))
    if found is None:
        raise CUDARuntimeError("cudaErrorInvalidValue", "invalid argument")
    found[...] = value


def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    """As memset."""
    memset(ptr, value, size)


def profilerStart() -> None:
    """Nothing."""


profilerStop = profilerStart


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
