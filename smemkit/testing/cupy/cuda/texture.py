"""cupy.cuda.texture: its classes can be imported, and refuse to be made."""

from __future__ import annotations

from typing import Any

from .._refuse import refuse_attribute


class _Refused:
    def __init__(self, *args: Any, **words: Any) -> None:
        raise NotImplementedError(
            f"smemkit's stand-in of CuPy has no cupy.cuda.texture.{type(self).__name__}; pass a "
            "smemkit.Texture to a smemkit.RawKernel, or run the test with CuPy on a GPU"
        )


class ChannelFormatDescriptor(_Refused):
    """Refused."""


class CUDAarray(_Refused):
    """Refused."""


class ResourceDescriptor(_Refused):
    """Refused."""


class TextureDescriptor(_Refused):
    """Refused."""


class TextureObject(_Refused):
    """Refused."""


class SurfaceObject(_Refused):
    """Refused."""


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
