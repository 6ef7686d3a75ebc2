"""histogram_weighted: the sum of the weights of the elements in each bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._bins import BYTE_BINS, Bins
from ._workload import HIGH, LOW, Record, Workload, compare, draw_halves, list_chunks

if TYPE_CHECKING:
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Random, Sizes
    from ._workload import Hold


class HistogramWeighted(Bins, Workload):
    """histogram_weighted of numbers that are spread evenly over the bins; sums are exact."""

    family = "histogram_weighted"
    reads_values = True
    records = (Record(1 << 24, {}, main=True), Record(1 << 20, {}))
    sizes = ({"n": 8192, "e": 257, "b": 256}, {"n": 5003, "e": 257, "b": 256})

    @property
    def result_dtype(self) -> str:
        return "float64"

    @property
    def nbytes(self) -> int:
        return (self.itemsize + 8) * self.shape[0]

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        n, _, bins = self.shape
        dtype = numpy.dtype(self.dtype)
        edges = numpy.linspace(0, 1.0 if dtype.kind == "f" else float(bins), bins + 1)
        x = rng.random(n, dtype) if dtype.kind == "f" else rng.integers(0, bins, n, dtype)
        return x, draw_halves(rng, n, "float64"), edges

    @staticmethod
    def oracle(x: HostArray, weights: HostArray, edges: HostArray) -> HostArray:
        return numpy.histogram(x, edges, weights=weights)[0]

    def expect(self, inputs: Operands) -> HostArray:
        sums = numpy.zeros(self.shape[2])
        for part in list_chunks(self.shape[0]):
            sums += numpy.asarray(self.compute((inputs[0][part], inputs[1][part], inputs[2])))
        return sums

    def find_fault(self, expected: HostArray, result: HostArray) -> str | None:
        return compare(result, expected, 0, "bin")

    @classmethod
    def adjust_small(cls, arrays: list[HostArray], sizes: Sizes, random: Random) -> None:
        arrays[1] = arrays[1].astype("float64")
        if arrays[0].dtype == numpy.uint8:
            arrays[2] = numpy.arange(BYTE_BINS + 1.0)
        else:  # some elements lie outside
            arrays[2] = numpy.linspace(LOW + 1, HIGH, sizes["e"])

    def predict_reads(self, tile: tuple[int, int] = (1, 1), weights: bool = True) -> float:
        return float((self.itemsize + 8) * self.shape[0])

    @classmethod
    def adjust_command(
        cls,
        arrays: list[HostArray],
        sizes: Sizes,
        keywords: dict[str, Any],
        rng: numpy.random.Generator,
    ) -> tuple[list[HostArray], dict[str, Any]]:
        """smemkit.histogram_weighted takes a number of bins."""
        weights = arrays[1].astype("float64")
        return [arrays[0], weights], {"bins": sizes["e"] - 1, **keywords}

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        def count() -> None:
            hold(cupy.histogram(x[0], x[2], weights=x[1])[0])

        return count

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        def count() -> None:
            hold(torch.bincount(x[0], x[1], minlength=BYTE_BINS))

        return count if self.dtype == "uint8" else None
