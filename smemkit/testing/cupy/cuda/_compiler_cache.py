"""cupy.cuda._compiler_cache: a folder that tests name; smemkit's own cache serves all kernels."""

from __future__ import annotations


class DiskKernelCacheBackend:
    """A name for a folder, into which nothing is written."""

    def __init__(self, cache_dir: str) -> None:
        self._cache_dir = cache_dir

    def load(self, name: str) -> None:
        """None: it holds nothing."""

    def save(self, name: str, cubin: bytes, source: str) -> None:
        """Nothing."""
