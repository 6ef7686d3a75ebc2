"""What the case files here share: a case is a kernel with one launch and its right answer."""

import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
CASES = []


@dataclass
class Launch:
    """Arguments of one launch and what the outputs must hold, by argument index."""

    grid: tuple
    block: tuple
    args: list
    expected: dict
    shared: int = 0
    before: list = field(default_factory=list)

    def __post_init__(self):
        self.before = [a.copy() if isinstance(a, np.ndarray) else a for a in self.args]

    def check(self):
        """Raises AssertionError unless outputs are as expected and inputs as they were."""
        for index, (argument, before) in enumerate(zip(self.args, self.before, strict=True)):
            if isinstance(argument, np.ndarray):
                expected = self.expected.get(index, before)
                assert argument.shape == expected.shape, f"argument {index} has another shape"
                same = argument == expected
                wrong = np.argwhere(~same)
                assert same.all(), (
                    f"argument {index} differs at {len(wrong)} places, first {tuple(wrong[0])}: "
                    f"{argument[tuple(wrong[0])]}, not {expected[tuple(wrong[0])]}"
                )


@dataclass(frozen=True)
class Case:
    """A kernel of ptx/ and one shape to launch it with."""

    name: str
    entry: str
    shape: dict
    build: object

    @property
    def label(self):
        return ", ".join(f"{name}={value}" for name, value in self.shape.items())

    @property
    def ptx(self):
        return (FOLDER / "ptx" / f"{self.name}.ptx").read_text()

    def make(self):
        """A fresh Launch: the same numbers each time, with any NumPy (RandomState is frozen)."""
        seed = zlib.crc32(f"{self.name} {self.label}".encode())
        return self.build(np.random.RandomState(seed), **self.shape)


def case(*shapes):
    """Registers a function of (random, **shape) -> Launch for each shape."""

    def register(build):
        CASES.extend(Case(build.__name__, build.__name__, shape, build) for shape in shapes)
        return build

    return register


def poisoned(shape, dtype):
    """An output full of bytes that no kernel writes by accident."""
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8)[...] = 0x3D
    return array


def small(random, shape, dtype, low=-9, high=10):
    """Small integers of any type: sums of them are exact in any order."""
    return random.randint(low, high, shape).astype(dtype)


def blocks(count, size):
    return -(-count // size)


def per_block(values, size, fill=0):
    """Rows of one block each, the last one filled up."""
    padded = np.full(blocks(len(values), size) * size, fill, values.dtype)
    padded[: len(values)] = values
    return padded.reshape(-1, size)
