"""reduce_axis: sum, mean, largest or smallest element along an axis, or its index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import Goal, Record, Workload, draw_halves, draw_wide

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Result, Size
    from ._workload import Hold

OPERATIONS = ("sum", "max", "min", "mean", "argmax", "argmin")
LIBRARIES = ("cupy", "torch")

# (m, n, k): a table of few columns, one of few rows and a square one, down and along.
TABLES = {
    "tall, down": (1, 10_000_000, 8),
    "tall, along": (10_000_000, 8, 1),
    "wide, down": (1, 8, 10_000_000),
    "wide, along": (8, 10_000_000, 1),
    "square, down": (1, 8192, 8192),
    "square, along": (8192, 8192, 1),
}


class ReduceAxis(Workload):
    """reduce_axis: x of (m, n, k) -> a result for each of (m, k)."""

    family = "reduce_axis"
    choices = {"op": OPERATIONS}
    callers = LIBRARIES
    compared_always = True
    target_rank = 2
    usual_sizes = {"m": 1, "k": 1}
    records = (
        Record(TABLES["square, down"], {}, main=True),
        *(Record(shape, {}) for name, shape in TABLES.items() if name != "square, down"),
    )
    sizes = ({"m": 2, "n": 64, "k": 32}, {"m": 3, "n": 131, "k": 37})
    tied = ("m",)  # rows are alike, and many take long where every access is checked
    more_ragged = ({"m": 1, "n": 2100, "k": 8},)

    @property
    def op(self) -> str:
        """Which of the operations."""
        return self.parameters.get("op", "sum")

    @property
    def keywords(self) -> dict[str, str]:
        return {"op": self.op}

    @property
    def result_dtype(self) -> str:
        return find_result(self.op, self.dtype)

    @property
    def nbytes(self) -> int:
        m, n, k = self.shape
        return m * k * (n * self.itemsize + numpy.dtype(self.result_dtype).itemsize)

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        """Among numbers of few bits one that needs all of them, so that none may be cut off."""
        x = draw_halves(rng, self.shape[0] * self.shape[1] * self.shape[2], self.dtype)
        if len(x):
            x[rng.integers(len(x))] = draw_wide(rng, self.dtype)
        return (x.reshape(self.shape),)

    @staticmethod
    def oracle(x: HostArray, op: str = "sum") -> Result:
        if op == "mean":  # of whole numbers in float64; each sum of floats is exact here
            result = x.sum(axis=1, dtype="float64") / x.shape[1]
        else:
            wide = {"dtype": find_result(op, x.dtype)} if op == "sum" else {}
            result = getattr(x, op)(axis=1, **wide)
        made: HostArray = result.astype(find_result(op, x.dtype))
        return made

    @classmethod
    def list_keywords(cls, regular: bool = True) -> list[dict[str, str]]:
        return [{"op": op} for op in (OPERATIONS if regular else ("sum", "argmax"))]

    @classmethod
    def bound_small(cls, arrays: Operands, expected: Result) -> float:
        """A mean is rounded once, in either of two ways."""
        return 1e-6

    def find_fault(self, expected: HostArray, result: HostArray) -> str | None:
        """A mean of floats may be rounded in its last place."""
        error = abs(result - expected)
        if (error <= abs(expected) * self.eps if self.op == "mean" else error == 0).all():
            return None
        return f"element {int(numpy.argmax(error))} differs"

    @property
    def eps(self) -> float:
        return float(numpy.finfo(self.dtype if self.dtype[0] == "f" else "float64").eps)

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        if size == "small":
            return [cls("sum of rows", (64, 64, 1))]
        return [
            cls(f"sum: {name} {dtype}", shape, dtype, goals=(Goal(LIBRARIES, 1.0),))
            for name, shape in TABLES.items()
            for dtype in ("float32", "float64", "int32")
        ]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: hold(getattr(x[0], self.op)(axis=1))

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        if self.op == "mean" and self.dtype[0] != "f":
            return None
        function = getattr(torch, {"max": "amax", "min": "amin"}.get(self.op, self.op))
        return lambda: hold(function(x[0], 1))


def find_result(op: str, dtype: Any) -> str:
    """The element type of the result."""
    name = numpy.dtype(dtype).name
    if op in ("argmax", "argmin") or (op == "sum" and name == "int32"):
        return "int64"
    return "float64" if op == "mean" and name[0] == "i" else name
