"""cupy_backends.cuda.libs.nvrtc: the version of the compiler."""

from __future__ import annotations


def getVersion() -> tuple[int, int]:
    """(13, 0)."""
    from ....cuda.runtime import runtimeGetVersion

    version = runtimeGetVersion()
    return version // 1000, version % 1000 // 10
