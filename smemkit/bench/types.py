"""Types that annotations of this package share. Type checkers read it; nothing imports it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy

from .._types import HostArray
from .families import Workload
from .results import Measurement
from .timing import Ours

Cache: TypeAlias = Literal["warm", "cold"]
Call: TypeAlias = Callable[[], object]
DType: TypeAlias = numpy.dtype[Any]
Operands: TypeAlias = Sequence[HostArray]
Peers: TypeAlias = "bool | str | Sequence[str] | Sequence[Peer] | None"  # which are wanted
Random: TypeAlias = numpy.random.Generator | numpy.random.RandomState
Result: TypeAlias = HostArray | numpy.generic  # a number, where the result has no dimension
Say: TypeAlias = Callable[[Workload, Measurement], object]
Size: TypeAlias = Literal["full", "small"]  # of the cases that have goals
Sizes: TypeAlias = Mapping[str, int]
Warn: TypeAlias = Callable[[str], object]


class Peer(Protocol):
    """A library that our kernels are compared with."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str | None: ...
    def prepare(self, case: Workload, inputs: Operands, ours: Ours) -> "Subject | None":
        """The call, and what fetches its result; None where the library has no such call."""

    def forget(self) -> None:
        """Gives the memory of the last call back."""


Subject: TypeAlias = tuple[Call, Callable[[], HostArray] | None]


class Watch(Protocol):
    """What times calls: a Stopwatch, or what behaves like one."""

    @property
    def backend(self) -> Literal["cuda", "sim"]: ...
    def time(self, call: Call, cache: Cache, samples: int | None = None) -> tuple[float, ...]: ...
    def time_alone(
        self, call: Call, cache: Cache, samples: int | None = None
    ) -> tuple[float, ...]: ...
