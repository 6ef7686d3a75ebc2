"""scan: the running sum, maximum or minimum of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import CUB, Goal, Record, Workload, compare, draw_halves, draw_wide

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Size
    from ._workload import Hold

OPERATIONS = {"sum": numpy.add, "max": numpy.maximum, "min": numpy.minimum}
KINDS = ("inclusive", "exclusive")


class Scan(Workload):
    """scan: x -> the sum, max or min of each element and all before it."""

    family = "scan"
    choices = {"op": tuple(OPERATIONS), "kind": KINDS}
    library, callers = "cub", CUB
    needs_cub = True
    compared_always = True
    target_rank = 1
    records = (Record(1 << 24, {}, main=True), *(Record(1 << n, {}) for n in (12, 16, 20, 28)))
    sizes = ({"n": 8192}, {"n": 12_507})

    @property
    def op(self) -> str:
        """Which of the operations."""
        return self.parameters.get("op", "sum")

    @property
    def kind(self) -> str:
        """Whether an element counts in its own result."""
        return self.parameters.get("kind", "inclusive")

    @property
    def keywords(self) -> dict[str, str]:
        return {"op": self.op, "kind": self.kind}

    @property
    def result_dtype(self) -> str:
        whole = numpy.dtype(self.dtype).kind == "i"
        return "int64" if whole and self.op == "sum" else self.dtype

    @property
    def nbytes(self) -> int:
        sizes = (numpy.dtype(name).itemsize for name in (self.dtype, self.result_dtype))
        return self.shape[0] * sum(sizes)

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        """Among numbers of few bits one that needs all of them, so that none may be cut off."""
        x = draw_halves(rng, self.shape[0], self.dtype)
        if len(x):
            x[rng.integers(len(x))] = draw_wide(rng, self.dtype)
        return (x,)

    @staticmethod
    def oracle(x: HostArray, op: str = "sum", kind: str = "inclusive") -> HostArray:
        result = "int64" if op == "sum" and x.dtype.kind == "i" else x.dtype
        made: HostArray = OPERATIONS[op].accumulate(x.astype(result))
        if kind == "inclusive":
            return made
        return numpy.concatenate([numpy.array([find_neutral(op, made.dtype)], made.dtype), made])[
            : len(x)
        ]

    def expect(self, inputs: Operands) -> HostArray:
        x = inputs[0].astype("float64") if self.op == "sum" else inputs[0]
        return self.oracle(x, self.op, self.kind)

    def find_fault(self, expected: HostArray, result: HostArray) -> str | None:
        return compare(result, expected, 0)

    @classmethod
    def list_keywords(cls, regular: bool = True) -> list[dict[str, str]]:
        more = {} if regular else {"kind": "exclusive"}
        return [{"op": op} | more for op in OPERATIONS]

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        if size == "small":
            return [cls("scan 2^12", (1 << 12,))]
        factors = {20: 1.2, 24: 1.0, 28: 0.98}
        return [
            cls(f"scan 2^{n}", (1 << n,), goals=(Goal(CUB, factor),))
            for n, factor in factors.items()
        ]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        fits = self.op == "sum" and self.kind == "inclusive"
        return (lambda: cupy.cumsum(x[0], out=out)) if fits else None

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        fits = self.op == "sum" and self.kind == "inclusive"
        return (lambda: torch.cumsum(x[0], 0, out=out)) if fits else None

    def find_cub(self) -> tuple[str, str] | None:
        fits = self.dtype == "float32" and self.op == "sum" and self.kind == "inclusive"
        return ("peer_scan", self.result_dtype) if fits else None


def find_neutral(op: str, dtype: numpy.dtype[Any]) -> Any:
    """What changes no result: the value of nothing."""
    if op == "sum":
        return 0
    if dtype.kind == "f":
        return -numpy.inf if op == "max" else numpy.inf
    return numpy.iinfo(dtype).min if op == "max" else numpy.iinfo(dtype).max
