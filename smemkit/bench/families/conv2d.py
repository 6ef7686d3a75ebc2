"""conv2d: convolution of an image with a filter of any size."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy

from ._workload import ERROR_MOST, Checked, Goal, Record, Workload, compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from ..._types import HostArray
    from ..types import Call, Operands, Result, Size
    from ._workload import Hold

    Form = Literal["convolve", "correlate"]
    Mode = Literal["constant", "reflect", "nearest", "wrap"]

PIXELS_CHECKED = 4000
PAD_MODES: dict[Mode, Literal["constant", "symmetric", "edge", "wrap"]] = {
    "constant": "constant",
    "reflect": "symmetric",
    "nearest": "edge",
    "wrap": "wrap",
}
LARGE_FILTER = 50  # weights; with more of them operations say more than bytes


class Conv2d(Workload):
    """conv2d: convolution, zeros beyond the image; filters of any size."""

    family = "conv2d"
    usual_length = 4096
    usual_sizes = {"p": 5, "q": 5}
    target_rank = 5
    records = (
        Record(4096, {}, main=True),
        Record(1024, {}),
        Record((4096, 4096, 11, 11), {}),
        Record(8192, {}),
    )
    constant_variants = ("constant", "register")
    # A filter that does not fit into one piece of what a kernel stages of it.
    more_ragged = ({"h": 21, "w": 40, "p": 19, "q": 70},)
    sizes = ({"h": 64, "w": 128, "p": 5, "q": 5}, {"h": 45, "w": 84, "p": 18, "q": 7})

    @classmethod
    def spread(cls, n: int) -> tuple[int, ...]:
        """A square image and a filter of 5 x 5."""
        return n, n, *cls.usual_sizes.values()

    @property
    def by_flops(self) -> bool:
        return self.shape[2] * self.shape[3] > LARGE_FILTER

    @property
    def nbytes(self) -> int:
        return 2 * self.itemsize * self.shape[0] * self.shape[1]

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        h, w, p, q = self.shape
        dtype = numpy.dtype(self.dtype)
        return rng.standard_normal((h, w), dtype), rng.standard_normal((p, q), dtype)

    @staticmethod
    def oracle(
        image: HostArray, weights: HostArray, mode: Mode = "constant", form: Form = "convolve"
    ) -> HostArray:
        """By the definition of scipy.ndimage, a weight at a time."""
        (h, w), (p, q) = image.shape, weights.shape
        wide = numpy.pad(image, ((p, p), (q, q)), mode=PAD_MODES[mode])
        result = numpy.zeros_like(image)
        for i, j in itertools.product(range(p), range(q)):
            row, column = (
                (p // 2 - i, q // 2 - j) if form == "convolve" else (i - p // 2, j - q // 2)
            )
            result += weights[i, j] * wide[p + row : p + row + h, q + column : q + column + w]
        return result

    def compute(self, inputs: Operands) -> Result:
        image, weights = inputs
        h, w, p, q = self.shape
        wide = numpy.pad(image, ((p - 1 - p // 2, p // 2), (q - 1 - q // 2, q // 2)))
        result = numpy.zeros_like(image)
        for i in range(p):
            for j in range(q):
                result += weights[p - 1 - i, q - 1 - j] * wide[i : i + h, j : j + w]
        return result

    def expect(self, inputs: Operands) -> Checked:
        image, weights = inputs
        h, w, p, q = self.shape
        rng = numpy.random.default_rng()  # each time other pixels
        y, x = rng.integers(0, h, PIXELS_CHECKED), rng.integers(0, w, PIXELS_CHECKED)
        y[:4], x[:4] = (0, 0, h - 1, h - 1), (0, w - 1, 0, w - 1)
        exact, squares = numpy.zeros(len(y)), numpy.zeros(len(y))
        for i in range(p):
            for j in range(q):
                row, column = y + p // 2 - i, x + q // 2 - j
                inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
                value = image[row % h, column % w] * inside * float(weights[i, j])
                exact += value
                squares += value**2
        return Checked((y, x), exact, ERROR_MOST * self.eps * numpy.sqrt(p * q * squares))

    def find_fault(self, expected: Checked, result: HostArray) -> str | None:
        pixels, exact, bound = expected
        return compare(result[pixels], exact, bound, "checked pixel")

    @classmethod
    def list_keywords(cls, regular: bool = True) -> list[dict[str, str]]:
        return [{}] if regular else [{"mode": "reflect", "form": "correlate"}]

    def predict_reads(self, tile: tuple[int, int] = (1, 1), weights: bool = True) -> float:
        """The weights are never staged: read for each use, or (weights=False) constant memory."""
        (x, y), (h, w, p, q) = tile, self.shape
        uses = h * w * p * q
        if tile == (1, 1):
            return float(self.itemsize * uses * (1 + weights))  # a pixel and a weight each
        tiles = -(-w // x) * -(-h // y)
        halo = tiles * ((x + q - 1) * (y + p - 1) - x * y)
        return float(self.itemsize * (h * w + halo + uses * weights))

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        if size == "small":
            return [cls("conv2d 64 5x5", (64, 64, 5, 5))]
        factors = {5: 6.0, 11: 8.0}
        return [
            cls(f"conv2d 8192 {p}x{p}", (8192, 8192, p, p), goals=(Goal(("cupy",), factor),))
            for p, factor in factors.items()
        ]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: filters.convolve(x[0], x[1], output=out, mode="constant")

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        p, q = self.shape[2:]
        turned = torch.flip(x[1], (0, 1))

        def convolve() -> None:
            image, weights = x[0][None, None], turned[None, None]
            hold(torch.nn.functional.conv2d(image, weights, padding=(p // 2, q // 2))[0, 0])

        return convolve if p % 2 and q % 2 else None
