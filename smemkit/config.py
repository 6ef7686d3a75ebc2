"""How smemkit was built, and what it found on this computer."""

from __future__ import annotations

import os
import platform
from typing import Literal, TypedDict, overload

import numpy

from . import _core
from ._version import __version__

MISSING = "not found"


class Config(TypedDict):
    """The facts of show_config; a version or a path that is missing is MISSING."""

    smemkit: str
    python: str
    numpy: str
    backend: Literal["cuda", "sim"]
    reason: str
    simulator_isa: str
    simulator_threads: int
    simulator_memory_bytes: int
    cuda_devices: int
    cuda_absence: str | None
    cuda_runtime: str
    cuda_driver: str
    nvrtc: str
    nvcc: str
    kernel_cache: str
    kernels: int


def _cuda_version(number: int) -> str:
    """13000 -> "13.0": CUDA encodes its versions as integers."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else MISSING


def _threads(cores: int) -> int:
    """Host threads of a launch of many blocks: SMEMKIT_THREADS, else the available cores."""
    wanted = os.environ.get("SMEMKIT_THREADS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) else cores


def _collect() -> Config:
    from . import compile  # slow to import, and only needed here

    facts = _core._config()
    try:
        nvcc = str(compile.find_nvcc() or MISSING)
    except _core.ArgumentError as error:  # of SMEMKIT_NVCC: here it is seen best
        nvcc = str(error)
    try:
        cache = compile.describe_cache()
    except _core.ArgumentError as error:  # of SMEMKIT_CACHE_MB
        cache = str(error)
    return {
        "smemkit": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "backend": facts["backend"],
        "reason": facts["reason"],
        "simulator_isa": facts["isa"],
        "simulator_threads": _threads(facts["threads"]),
        "simulator_memory_bytes": facts["memory_bytes"],
        "cuda_devices": facts["cuda_devices"],
        "cuda_absence": facts["cuda_absence"] or None,
        "cuda_runtime": _cuda_version(facts["cuda_runtime"]),
        "cuda_driver": _cuda_version(facts["cuda_driver"]),
        "nvrtc": str(compile.find_nvrtc() or MISSING),
        "nvcc": nvcc,
        "kernel_cache": cache,
        "kernels": facts["kernels"],
    }


@overload
def show_config(mode: Literal["print"] = "print") -> None: ...
@overload
def show_config(mode: Literal["dict"]) -> Config: ...
def show_config(mode: Literal["print", "dict"] = "print") -> Config | None:
    """Say how smemkit was built and which machine it uses, and why.

    Parameters
    ----------
    mode : "print" or "dict"

    Shapes
    ------
    None.

    Returns
    -------
    None after printing one fact a line, or the facts as a dict.

    Raises
    ------
    ArgumentError (ValueError) for another mode; BackendError where SMEMKIT_BACKEND asks for a GPU
    and there is none.

    Example
    -------
    >>> import smemkit
    >>> smemkit.show_config(mode="dict")["backend"] in ("cuda", "sim")
    True
    """
    if mode not in ("print", "dict"):
        raise _core.ArgumentError(f"mode is {mode!r}; accepted are 'print' and 'dict'")
    facts = _collect()
    if mode == "dict":
        return facts
    width = max(map(len, facts))
    for name, value in facts.items():
        if value is not None:
            print(f"{name:{width}}  {value}")
    return None
