"""kernel[grid, block](*args): a kernel with its launch configuration, as Numba writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from .report import CheckReport, Report

    Lengths = int | Sequence[int]


class ConfiguredKernel:
    """What kernel[grid, block] is: to be called with the arguments of the kernel.

    kernel, grid, block and shared_mem are as given; profile() and check() take the arguments of the
    kernel, and the keywords of smemkit.profile and smemkit.check.
    """

    __slots__ = ("block", "grid", "kernel", "shared_mem")

    def __init__(
        self, kernel: _core.RawKernel, grid: Lengths, block: Lengths, shared_mem: int = 0
    ) -> None:
        self.kernel, self.grid, self.block, self.shared_mem = kernel, grid, block, shared_mem

    def __call__(self, *args: Any, **keywords: Any) -> None:
        keywords.setdefault("shared_mem", self.shared_mem)
        self.kernel(self.grid, self.block, args, **keywords)

    def profile(self, *args: Any, **keywords: Any) -> Report:
        return self.kernel.profile(
            self.grid, self.block, args, shared_mem=self.shared_mem, **keywords
        )

    def check(self, *args: Any, **keywords: Any) -> CheckReport:
        return self.kernel.check(
            self.grid, self.block, args, shared_mem=self.shared_mem, **keywords
        )

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def source(self) -> str | None:
        return self.kernel.source

    def __repr__(self) -> str:
        shared = f", 0, {self.shared_mem!r}" if self.shared_mem else ""
        return f"{self.kernel!r}[{self.grid!r}, {self.block!r}{shared}]"


def configure(kernel: _core.RawKernel, key: Any) -> ConfiguredKernel:
    """kernel[grid, block], or kernel[grid, block, 0, shared_mem]: there is one stream, 0."""
    if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
        raise _core.ArgumentTypeError(
            "write kernel[grid, block](*args), or kernel[grid, block, 0, shared_mem](*args)"
        )
    if len(key) > 2 and key[2] is not None and (isinstance(key[2], bool) or key[2] != 0):
        raise _core.ArgumentError(f"stream is {key[2]!r:.80}; launches have one stream, 0 or None")
    return ConfiguredKernel(kernel, key[0], key[1], *key[3:])
