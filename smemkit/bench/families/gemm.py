"""gemm: the product of two matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ... import _bfloat16
from ._workload import (
    CHUNK,
    CUBLAS,
    ERROR_MOST,
    Checked,
    Goal,
    Record,
    Tiles,
    Workload,
    choose_places,
    compare,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Size
    from ._workload import Hold

ROWS_CHECKED = 16
LONE_ROWS = 8  # of a, that have few terms,
LONE_TERMS = 4  # so many each


PRECISIONS = ("full", "tf32")
# A product of two factors that are rounded to 11 bits is off by 2^-10 at most: of so many eps is
# the bound of one term. A hundredth more is for the sums.
TF32_EPS = 1.01 * 2.0**-10 / ERROR_MOST
SUMS = {"float16": "float32", "bfloat16": "float32", "int8": "int32"}  # else the type itself


def multiply(a: HostArray, b: HostArray, precision: str = "full") -> HostArray:
    """The product by NumPy, of the type of gemm's sums; small whole numbers have any precision."""
    name = _bfloat16.name_of(a.dtype)
    if name not in SUMS:
        product: HostArray = numpy.matmul(a, b)
        return product
    wide = numpy.matmul(*(_bfloat16.widen(x).astype("float64") for x in (a, b)))
    return wide.astype(SUMS[name])


class Gemm(Workload):
    """gemm: a @ b."""

    family = "gemm"
    choices = {"precision": PRECISIONS}
    unnamed = ("precision",)
    usual_length = 4096
    library, callers = "cublas", CUBLAS
    compared_always = True
    target_rank = 6
    records = (
        Record(4096, {}, main=True),
        *(Record(n, {}) for n in (256, 512, 1024, 2048, 8192)),
        Record(4096, {}, "float64"),
    )
    tiles = Tiles(
        variants=("tiled", "padded", "column", "column_padded"),
        sides=(4, 8, 16, 32),
        axes=("n", "m"),
    )
    sizes = (
        {"m": 64, "k": 64, "n": 64},
        {"m": 100, "k": 70, "n": 90},
        {"m": 256, "k": 64, "n": 256},  # the greatest tile of all variants
    )
    oracle = staticmethod(multiply)

    @property
    def by_flops(self) -> bool:
        return True

    @classmethod
    def list_regular(cls) -> list[dict[str, int]]:
        return [{"m": 64, "k": 64, "n": 64}, {"m": 32, "k": 32, "n": 32}]

    @classmethod
    def list_ragged(cls) -> list[dict[str, int]]:
        shapes = [(33, 35, 37), (40, 3, 70), (31, 4, 32), (33, 0, 7), (1000, 1, 2), (9, 19, 21)]
        return [dict(zip("mkn", shape, strict=True)) for shape in shapes]

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        """Some rows of a have a few terms alone.

        In a long sum the roundings of a right kernel hide what one loses that cuts its operands
        off, or leaves out products of their parts; where terms are few, there is nothing to hide.
        """
        m, k, n = self.shape
        if self.dtype == "int8":
            return tuple(rng.integers(-128, 128, shape, "int8") for shape in ((m, k), (k, n)))
        dtype = numpy.dtype("float32" if self.dtype in SUMS else self.dtype)
        a, b = rng.standard_normal((m, k), dtype), rng.standard_normal((k, n), dtype)
        lone = rng.choice(m, min(LONE_ROWS, (m + 2) // 4), replace=False)
        for row in lone:
            kept = rng.choice(k, min(LONE_TERMS, k), replace=False)
            terms = a[row, kept]
            a[row] = 0
            a[row, kept] = terms
        return _bfloat16.convert(a, self.dtype), _bfloat16.convert(b, self.dtype)

    @property
    def precision(self) -> str:
        """Whether float32 is multiplied as it is, or rounded for tensor cores."""
        return self.parameters.get("precision", "full")

    @property
    def keywords(self) -> dict[str, str]:
        return {} if self.precision == "full" else {"precision": self.precision}

    @classmethod
    def find_misfit(cls, dtype: str, parameters: Mapping[str, str]) -> str | None:
        if dtype == "float32" or parameters.get("precision", "full") == "full":
            return None
        return f"precision 'tf32' is a way to multiply float32, not {dtype}"

    def accepts(self, dtypes: Sequence[str]) -> bool:
        return "tf32" in dtypes if self.precision == "tf32" else super().accepts(dtypes)

    @property
    def result_dtype(self) -> str:
        return SUMS.get(self.dtype, self.dtype)

    @property
    def eps(self) -> float:
        if self.precision == "tf32":
            return TF32_EPS
        return 0.0 if self.dtype == "int8" else float(numpy.finfo(self.result_dtype).eps)

    @property
    def nbytes(self) -> int:
        m, k, n = self.shape
        return self.itemsize * k * (m + n) + numpy.dtype(self.result_dtype).itemsize * m * n

    def expect(self, inputs: Operands) -> Checked:
        m, k, n = self.shape
        inputs = [_bfloat16.widen(x) for x in inputs]
        terms = numpy.count_nonzero(inputs[0], axis=1)
        lone = numpy.flatnonzero(terms <= LONE_TERMS)[:LONE_ROWS]
        rows = numpy.union1d(choose_places(m, ROWS_CHECKED), lone)
        a = inputs[0][rows].astype("float64")
        exact, squares = numpy.empty((2, len(rows), n))
        width = max(1, CHUNK // k)
        for start in range(0, n, width):
            b = inputs[1][:, start : start + width].astype("float64")
            exact[:, start : start + width] = a @ b
            squares[:, start : start + width] = a**2 @ b**2
        bound = ERROR_MOST * self.eps * numpy.sqrt(terms[rows, numpy.newaxis] * squares)
        return Checked(rows, exact, bound)

    def find_fault(self, expected: Checked, result: HostArray) -> str | None:
        rows, exact, bound = expected
        return compare(result[rows], exact, bound, "checked element")

    def predict_reads(self, tile: tuple[int, int] = (1, 1), weights: bool = True) -> float:
        (x, y), (m, k, n) = tile, self.shape
        return float(self.itemsize * k * (m * -(-n // x) + n * -(-m // y)))

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        if size == "small":
            return [cls("gemm 96", (96, 96, 96)), cls("gemm 95x97x93", (95, 97, 93))]
        return [
            cls("gemm 4096", (4096, 4096, 4096), goals=(Goal(CUBLAS, 0.95),)),
            cls("gemm 8192", (8192, 8192, 8192), goals=(Goal(CUBLAS, 0.95),)),
            cls("gemm 4095x4097x4093", (4095, 4097, 4093), goals=(Goal(CUBLAS, 1.0),)),
        ]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        if self.precision == "tf32":  # of which only a variable of the environment tells CuPy
            return None
        return lambda: cupy.matmul(x[0], x[1], out=out)

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        switch = torch.backends.cuda.matmul

        def multiply() -> None:
            torch.mm(x[0], x[1], out=out)

        def multiply_rounded() -> None:
            switch.allow_tf32 = True
            multiply()
            switch.allow_tf32 = False

        return multiply if self.precision == "full" else multiply_rounded
