"""What families that sort elements into bins have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ..types import Sizes

BYTE_BINS = 256


class Bins:
    """Sizes of n elements and b bins with e = b + 1 edges; bytes have a bin for each value."""

    usual_dtype = "uint8"
    usual_sizes: ClassVar[dict[str, int]] = {"e": BYTE_BINS + 1, "b": BYTE_BINS}
    target_rank = 3
    tied: ClassVar[tuple[str, ...]] = ("e", "b")

    @classmethod
    def spread(cls, n: int) -> tuple[int, ...]:
        """n elements, 256 bins."""
        return n, *cls.usual_sizes.values()

    @classmethod
    def find_conflict(cls, shape: tuple[int, ...], dtype: str) -> str | None:
        if shape[1] != shape[2] + 1:
            return f"{shape[2]} bins have {shape[2] + 1} edges, not {shape[1]}"
        if dtype == "uint8" and shape[2] != BYTE_BINS:
            return f"bytes have {BYTE_BINS} bins, not {shape[2]}"
        return None

    @classmethod
    def complete_sizes(cls, sizes: Sizes, dtype: str) -> Sizes:
        bins = BYTE_BINS if dtype == "uint8" else sizes["b"]
        return {**sizes, "b": bins, "e": bins + 1}
