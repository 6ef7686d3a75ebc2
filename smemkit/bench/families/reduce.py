"""reduce: the sum, the largest or the smallest element of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import CUB, Goal, Record, Workload, compare, draw_halves, draw_wide

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Result, Size
    from ._workload import Hold

OPERATIONS = ("sum", "max", "min")


class Reduce(Workload):
    """reduce: x -> sum, max or min."""

    family = "reduce"
    choices = {"op": OPERATIONS}
    library, callers = "cub", CUB
    needs_cub = True
    compared_always = True
    target_rank = 0
    records = (Record(1 << 24, {}, main=True), *(Record(1 << n, {}) for n in (12, 16, 20, 28)))
    sizes = ({"n": 8192}, {"n": 5003})

    @property
    def op(self) -> str:
        """Which of the operations."""
        return self.parameters.get("op", "sum")

    @property
    def keywords(self) -> dict[str, str]:
        return {"op": self.op}

    @property
    def result_dtype(self) -> str:
        whole = numpy.dtype(self.dtype).kind == "i"
        return "int64" if whole and self.op == "sum" else self.dtype

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        """Among numbers of few bits one that needs all of them, so that none may be cut off."""
        x = draw_halves(rng, self.shape[0], self.dtype)
        count = 1 if x.dtype.kind == "f" else 2  # whole numbers are summed in 64 bits
        for at in rng.choice(len(x), min(count, len(x)), replace=False):
            x[at] = draw_wide(rng, self.dtype)
        return (x,)

    @staticmethod
    def oracle(x: HostArray, op: str = "sum") -> Result:
        dtype = "int64" if op == "sum" and x.dtype.kind == "i" else x.dtype
        result: Result = getattr(x, op)().astype(dtype)
        return result

    def compute(self, inputs: Operands) -> Result:
        result: numpy.generic = getattr(inputs[0], self.op)()
        return result

    def expect(self, inputs: Operands) -> float:
        if self.op == "sum":
            return float(inputs[0].sum(dtype="float64"))
        return float(self.compute(inputs).item())

    def find_fault(self, expected: float, result: HostArray) -> str | None:
        return compare(result.reshape(1), numpy.array([expected]), 0, self.op)

    @classmethod
    def list_keywords(cls, regular: bool = True) -> list[dict[str, str]]:
        return [{"op": op} for op in OPERATIONS]

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        op = {"op": "sum"}
        if size == "small":
            return [cls("sum 2^12", (1 << 12,), parameters=op)]
        factors = {20: 1.5, 24: 1.0, 28: 1.0}
        return [
            cls(f"sum 2^{n}", (1 << n,), parameters=op, goals=(Goal(CUB, factor),))
            for n, factor in factors.items()
        ]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: getattr(x[0], self.op)(out=out)

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        function = {"sum": torch.sum, "max": torch.amax, "min": torch.amin}[self.op]
        return lambda: hold(function(x[0]))

    def find_cub(self) -> tuple[str, str] | None:
        fits = self.dtype == "float32" and self.op == "sum"
        return ("peer_sum", self.result_dtype) if fits else None
