"""cupy.testing._protocol_helpers: objects that hand out an array by one protocol alone."""

from __future__ import annotations

from typing import Any


class DummyObjectWithCuPyGetNDArray:
    """Hands out its array by __cupy_get_ndarray__."""

    def __init__(self, a: Any) -> None:
        self.a = a

    def __cupy_get_ndarray__(self) -> Any:
        return self.a


class DummyObjectWithCudaArrayInterface:
    """Hands out its array by __cuda_array_interface__."""

    def __init__(self, a: Any, ver: int = 3, **facts: Any) -> None:
        self.a, self.ver = a, ver

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.a.__cuda_array_interface__, "version": self.ver}
