"""cupy.cuda.driver: the error of the driver."""

from __future__ import annotations

from typing import Any

from .._refuse import refuse_attribute


class CUDADriverError(RuntimeError):
    """What the driver refuses: a kernel or a file that is not there."""

    def __init__(self, status: int, name: str, message: str) -> None:
        self.status = status
        super().__init__(f"{name}: {message}")


def get_build_version() -> int:
    """The version of CUDA, as 13000."""
    from .runtime import runtimeGetVersion

    return runtimeGetVersion()


def _is_cuda_python() -> bool:
    return False


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
