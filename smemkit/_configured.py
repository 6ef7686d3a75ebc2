"""kernel[grid, block](*args): a kernel with its launch configuration, as Numba writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from ._types import StreamLike
    from .predict import Prediction
    from .report import CheckReport, Report

    Lengths = int | Sequence[int]


class ConfiguredKernel:
    """What kernel[grid, block] is: to be called with the arguments of the kernel.

    kernel, grid, block, stream and shared_mem are as given; profile(), check() and predict() take
    the arguments of the kernel, and the keywords of smemkit.profile, smemkit.check and
    smemkit.predict.
    """

    __slots__ = ("block", "grid", "kernel", "shared_mem", "stream")

    kernel: _core.RawKernel
    grid: Lengths
    block: Lengths
    stream: StreamLike | None
    shared_mem: int

    def __init__(
        self,
        kernel: _core.RawKernel,
        grid: Lengths,
        block: Lengths,
        stream: StreamLike | None = None,
        shared_mem: int = 0,
    ) -> None:
        self.kernel, self.grid, self.block = kernel, grid, block
        self.stream, self.shared_mem = stream, shared_mem

    def __call__(self, *args: Any, **keywords: Any) -> None:
        keywords.setdefault("shared_mem", self.shared_mem)
        keywords.setdefault("stream", self.stream)
        self.kernel(self.grid, self.block, args, **keywords)

    def profile(self, *args: Any, **keywords: Any) -> Report:
        return self.kernel.profile(
            self.grid, self.block, args, shared_mem=self.shared_mem, **keywords
        )

    def check(self, *args: Any, **keywords: Any) -> CheckReport:
        return self.kernel.check(
            self.grid, self.block, args, shared_mem=self.shared_mem, **keywords
        )

    def predict(self, *args: Any, **keywords: Any) -> Prediction:
        return self.kernel.predict(
            self.grid, self.block, args, shared_mem=self.shared_mem, **keywords
        )

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def source(self) -> str | None:
        return self.kernel.source

    def __repr__(self) -> str:
        more = ""
        if self.stream is not None or self.shared_mem:
            more = f", {0 if self.stream is None else self.stream!r}"
        if self.shared_mem:
            more += f", {self.shared_mem!r}"
        return f"{self.kernel!r}[{self.grid!r}, {self.block!r}{more}]"


def configure(kernel: _core.RawKernel, key: Any) -> ConfiguredKernel:
    """kernel[grid, block], or kernel[grid, block, stream, shared_mem]; stream 0 is none."""
    if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
        raise _core.ArgumentTypeError(
            "write kernel[grid, block](*args), or kernel[grid, block, stream, shared_mem](*args)"
        )
    stream = key[2] if len(key) > 2 else None
    if isinstance(stream, int) and not isinstance(stream, bool) and stream == 0:
        stream = None
    return ConfiguredKernel(kernel, key[0], key[1], stream, *key[3:])
