"""histogram: how many elements lie in each bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._bins import BYTE_BINS, Bins
from ._workload import CUB, HIGH, LOW, Goal, Record, Workload, compare, list_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Random, Size, Sizes
    from ._workload import Hold


class Histogram(Bins, Workload):
    """histogram of numbers that are spread evenly over the bins, or of one number."""

    family = "histogram"
    reads_values = True
    choices = {"values": ("uniform", "constant")}
    library, callers = "cub", CUB
    needs_cub = True
    compared_always = True
    records = (
        Record(1 << 24, {}, main=True),
        Record(1 << 24, {"values": "constant"}, main=True),
        *(
            Record(1 << n, {"values": values})
            for n in (20, 28)
            for values in ("uniform", "constant")
        ),
    )
    sizes = ({"n": 32768, "e": 257, "b": 256}, {"n": 20011, "e": 257, "b": 256})

    @property
    def result_dtype(self) -> str:
        return "int64"

    @property
    def nbytes(self) -> int:
        return self.itemsize * self.shape[0]

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        n, _, bins = self.shape
        dtype = numpy.dtype(self.dtype)
        top = 1.0 if dtype.kind == "f" else float(bins)
        edges = numpy.linspace(0, top, bins + 1)
        if self.parameters.get("values") == "constant":
            return numpy.full(n, 7 * top / 16, dtype), edges
        if dtype.kind == "f":
            return rng.random(n, dtype=dtype), edges
        return rng.integers(0, bins, n, dtype=dtype), edges

    @staticmethod
    def oracle(x: HostArray, edges: HostArray) -> HostArray:
        if x.dtype == numpy.uint8:
            return numpy.bincount(x, minlength=BYTE_BINS)
        return numpy.histogram(x, edges)[0]

    def expect(self, inputs: Operands) -> HostArray:
        counts = numpy.zeros(self.shape[2], "int64")
        for part in list_chunks(self.shape[0]):
            counts += self.compute((inputs[0][part], inputs[1]))
        return counts

    def find_fault(self, expected: HostArray, result: HostArray) -> str | None:
        return compare(result, expected, 0, "bin")

    @classmethod
    def adjust_small(cls, arrays: list[HostArray], sizes: Sizes, random: Random) -> None:
        if arrays[0].dtype == numpy.uint8:
            arrays[1] = numpy.arange(BYTE_BINS + 1.0)
        else:  # some elements lie outside
            arrays[1] = numpy.linspace(LOW + 1, HIGH, sizes["e"])

    @classmethod
    def adjust_command(
        cls,
        arrays: list[HostArray],
        sizes: Sizes,
        keywords: dict[str, Any],
        rng: numpy.random.Generator,
    ) -> tuple[list[HostArray], dict[str, Any]]:
        """smemkit.histogram takes a number of bins."""
        return arrays[:1], {"bins": sizes["e"] - 1, **keywords}

    def predict_reads(self, tile: tuple[int, int] = (1, 1), weights: bool = True) -> float:
        return float(self.itemsize * self.shape[0])

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        bins = (BYTE_BINS + 1, BYTE_BINS)
        bits = 14 if size == "small" else 30
        factors = {"uniform": 1.9, "constant": 1.15}
        return [
            cls(
                f"histogram 2^{bits} {values}",
                (1 << bits, *bins),
                "uint8",
                {"values": values},
                () if size == "small" else (Goal(CUB, factor),),
            )
            for values, factor in factors.items()
        ]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        def count() -> None:
            hold(cupy.histogram(x[0], bins=BYTE_BINS, range=(0, BYTE_BINS))[0])

        return count if self.dtype == "uint8" else None

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        def count() -> None:
            hold(torch.bincount(x[0], minlength=BYTE_BINS))

        return count if self.dtype == "uint8" else None

    def find_cub(self) -> tuple[str, str] | None:
        return ("peer_histogram", "int32") if self.dtype == "uint8" else None
