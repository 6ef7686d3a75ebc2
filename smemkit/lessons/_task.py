"""The parts of an exercise, as the files of catalog/ declare them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from ..report.counts import read_condition

LAUNCH = "launch."  # begins the name of a fact of the launch, which is no counter


@dataclass(frozen=True)
class Case:
    """One launch that the judge makes, and the arrays that it must leave.

    label names the sizes ("n = 1000"). args maps the names of the parameters, in their order, to
    their values. expected maps the names of the arrays that the kernel writes to what they must
    hold; every other array must stay as it is. tolerance is relative to the largest element of an
    array; 0 demands equal values.
    """

    label: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Mapping[str, Any]
    expected: Mapping[str, numpy.ndarray[Any, Any]]
    tolerance: float = 0.0
    shared_mem: int = 0


@dataclass(frozen=True)
class Limit:
    """A condition on a counter of the first case, and words for a kernel that misses it.

    condition is written as for Report.holds; "launch.shared_bytes" is the shared memory of a block.
    words complete the sentence "Your kernel gives the right result, but ..."; {value} is the count.
    """

    condition: str
    words: str

    def read(self) -> tuple[str, str, float]:
        """The condition's parts: counter, operator, bound."""
        if self.condition.startswith(LAUNCH):
            name, sign, bound = self.condition.split()
            return name, sign, float(bound)
        return read_condition(self.condition)


@dataclass(frozen=True)
class Mistake:
    """A wrong attempt that is often made: the solution with a text replaced.

    says is what the verdict on it must contain. Tests judge every mistake.
    """

    old: str
    new: str
    says: str


@dataclass(frozen=True)
class Task:
    """An exercise.

    notebook and number say where it stands: the notebook, and the exercise within it, from 1. title
    and text say what is to be done (Markdown). kernel is the kernel's name. start is the CUDA C to
    begin with, and start_says is what the verdict on it must contain. solution is CUDA C that
    passes. make returns the Case for sizes and a random generator; sizes are the sizes of all
    cases, and the counters of limits come from the first.
    """

    notebook: int
    number: int
    title: str
    text: str
    kernel: str
    start: str
    start_says: str
    hints: tuple[str, ...]
    solution: str
    make: Callable[..., Case]
    sizes: tuple[tuple[int, ...], ...]
    limits: tuple[Limit, ...]
    mistakes: tuple[Mistake, ...]

    def make_case(self, sizes: tuple[int, ...]) -> Case:
        """The case of these sizes; equal for every attempt."""
        seed = zlib.crc32(self.kernel.encode())
        return self.make(numpy.random.default_rng([seed, *sizes]), *sizes)
