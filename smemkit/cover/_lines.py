"""Counts by line: of each instance of a line the most executed instruction, summed over instances.

An instance is a function of a module (a template has several) and where the line was inlined.
Copies that the compiler makes of a line within an instance, as when it unrolls a loop, count once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._mangled import demangle
from ._places import Places

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from ._places import Place
    from .data import Json, Modules

    Outcomes: TypeAlias = dict[tuple[Any, ...], list[int]]

RUN, BRANCH, GUARD, TABLE = range(4)
DECISION_COUNTERS = 3
END = 0  # the number of the line behind a function


@dataclass
class LineCount:
    """How often a line was executed.

    Attributes
    ----------
    warps, lanes : int
        Executions by warps, and by their active lanes.
    instances : int
        How often the compiler has put the line somewhere: instances of templates, inlined copies.

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.ones(100, dtype="float32")
    >>> with smemkit.coverage(package=True) as covered:
    ...     y = smemkit.vector_add(x, x, variant="naive", backend="sim")
    >>> (file,) = covered.files.values()
    >>> max(line.lanes for line in file.lines.values())
    256
    """

    warps: int = 0
    lanes: int = 0
    instances: int = 0


@dataclass
class Branch:
    """A decision of a line: where it may go, and how often it did.

    Attributes
    ----------
    line : int
    targets : tuple
        The line to which each way goes, 0: the end of the function. Of an instruction that a
        condition guards: its own line, twice.
    kind : str
        "branch", "guard" (an instruction that some lanes skip) or "table" (switch).
    warps, lanes : list of int
        For each way, the executions in which at least one lane took it, and those lanes.
    divergent : int
        Executions in which the lanes of a warp took several ways.

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.ones(100, dtype="float32")
    >>> with smemkit.coverage(package=True) as covered:
    ...     y = smemkit.vector_add(x, x, variant="naive", backend="sim")
    >>> (file,) = covered.files.values()
    >>> [(branch.kind, branch.divergent) for branch in file.branches]
    [('branch', 1)]
    """

    line: int
    targets: tuple[int, ...]
    kind: str
    warps: list[int]
    lanes: list[int]
    divergent: int = 0

    @property
    def missed(self) -> list[int]:
        """The numbers of the ways that no lane took."""
        return [number for number, lanes in enumerate(self.lanes) if not lanes]

    def name_way(self, number: int) -> str:
        """What a way is called in reports."""
        if self.kind == "guard":
            return "skipped" if number else "executed"
        target = self.targets[number]
        if target == END:
            return "the end"
        if self.targets.count(target) > 1:
            return f"line {target} ({'not taken' if number else 'taken'})"
        return f"line {target}"


@dataclass
class FunctionCount:
    """A function of the source: its first line, instances, launches and executions by warps.

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.ones(100, dtype="float32")
    >>> with smemkit.coverage(package=True) as covered:
    ...     y = smemkit.vector_add(x, x, variant="naive", backend="sim")
    >>> (file,) = covered.files.values()
    >>> file.functions["vector_add_naive_float32"].launches
    1
    """

    name: str
    line: int
    instances: int = 0
    launches: int = 0
    warps: int = 0
    is_kernel: bool = False


@dataclass
class FileCount:
    """What was counted of a file; `text` where it lies on no disk.

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.ones(100, dtype="float32")
    >>> with smemkit.coverage(package=True) as covered:
    ...     y = smemkit.vector_add(x, x, variant="naive", backend="sim")
    >>> (file,) = covered.files.values()
    >>> len(file.lines) > 3, file.path.endswith(".cu")
    (True, True)
    """

    path: str
    text: str | None = None
    lines: dict[int, LineCount] = field(default_factory=dict)
    branches: list[Branch] = field(default_factory=list)
    functions: dict[str, FunctionCount] = field(default_factory=dict)


class _Instance:
    """The counts of one function, by instruction."""

    def __init__(self, function: Json, places: Places) -> None:
        count = function["instructions"]
        self.function, self.places = function, places
        self.location: list[int] = []
        flat = function["location"]
        for times, number in zip(flat[::2], flat[1::2], strict=True):
            self.location += [number] * times
        self.warps, self.lanes = [0] * count, [0] * count
        self.decisions: list[tuple[list[int], list[int]]] = []  # (point, its counters)
        self._spread()

    def _spread(self) -> None:
        """Gives each instruction the counts of its run."""
        counters, at = self.function["counters"], 0
        starts: list[tuple[int, int, int]] = []
        for point in self.function["points"]:
            if point[0] == RUN:
                starts.append((point[1], counters[at], counters[at + 1]))
                at += 2
            else:
                size = DECISION_COUNTERS + 2 * (len(point) - 3)
                self.decisions.append((point, counters[at : at + size]))
                at += size
        ends = [start for start, _, _ in starts[1:]] + [len(self.warps)]
        for (start, warps, lanes), end in zip(starts, ends, strict=True):
            self.warps[start:end] = [warps] * (end - start)
            self.lanes[start:end] = [lanes] * (end - start)

    def chain(self, instruction: int) -> tuple[Place, ...]:
        """The places of an instruction."""
        if instruction >= len(self.location):
            return ()
        return self.places.chain(self.location[instruction])

    def line_behind(self, instruction: int, path: str) -> int:
        """The line of the file at which execution goes on, END where the function ends."""
        for at in range(instruction, len(self.location)):
            for place, line in self.chain(at):
                if place == path:
                    return line
        return END


class Counter:
    """Adds up modules to files."""

    def __init__(self) -> None:
        self.files: dict[str, FileCount] = {}
        self.unmapped: set[str] = set()  # kernels without lines
        self._branches: dict[tuple[str, int, str, tuple[int, ...]], Branch] = {}

    def _file(self, path: str, places: Places) -> FileCount:
        if path not in self.files:
            self.files[path] = FileCount(path, places.texts.get(path))
        return self.files[path]

    def add(self, modules: Modules) -> None:
        """Adds all functions of modules."""
        for module in modules.values():
            places = Places(module)
            for function in module["functions"]:
                instance = _Instance(function, places)
                if not self._add_lines(instance) and function["entry"]:
                    self.unmapped.add(demangle(function["name"]))
                self._add_function(instance)
                for point, counters in instance.decisions:
                    self._add_decision(instance, point, counters)
        for (path, *_), branch in sorted(self._branches.items()):
            self.files[path].branches.append(branch)
        self._branches.clear()

    def _add_lines(self, instance: _Instance) -> bool:
        """False where no instruction has a line."""
        own: dict[tuple[Place, ...], list[int]] = {}
        calls: dict[tuple[Place, ...], list[int]] = {}
        for at, (warps, lanes) in enumerate(zip(instance.warps, instance.lanes, strict=True)):
            chain = instance.chain(at)
            if not chain:
                continue
            best = own.setdefault(chain, [0, 0])
            best[0], best[1] = max(best[0], warps), max(best[1], lanes)
            for depth in range(1, len(chain)):  # the lines of calls: as often as they are entered
                calls.setdefault(chain[depth:], [warps, lanes])
        for chain, (warps, lanes) in (calls | own).items():
            path, line = chain[0]
            count = self._file(path, instance.places).lines.setdefault(line, LineCount())
            count.warps += warps
            count.lanes += lanes
            count.instances += 1
        return bool(own)

    def _add_function(self, instance: _Instance) -> None:
        """Adds the function to the file in which it begins."""
        outer = [chain[-1] for at in range(len(instance.location)) if (chain := instance.chain(at))]
        if not outer:
            return
        path = outer[0][0]
        line = min(number for place, number in outer if place == path)
        name = demangle(instance.function["name"])
        file = self._file(path, instance.places)
        count = file.functions.setdefault(name, FunctionCount(name, line))
        count.line = min(count.line, line)
        count.instances += 1
        count.launches += instance.function["launches"]
        count.warps += instance.warps[0] if instance.warps else 0
        count.is_kernel = count.is_kernel or instance.function["entry"]

    def _add_decision(self, instance: _Instance, point: list[int], counters: list[int]) -> None:
        kind, at, target = point[0], point[1], point[2]
        chain = instance.chain(at)
        if not chain:
            return
        path, line = chain[0]
        warps, lanes = instance.warps[at], instance.lanes[at]
        all_of_them, some, taken = counters[:DECISION_COUNTERS]
        if kind == TABLE:
            ways: dict[int, list[int]] = {}
            for number, way in enumerate(point[3:]):
                sums = ways.setdefault(instance.line_behind(way, path), [0, 0])
                sums[0] += counters[DECISION_COUNTERS + 2 * number]
                sums[1] += counters[DECISION_COUNTERS + 2 * number + 1]
            targets = tuple(sorted(ways))
            branch = self._branch(path, line, "table", targets)
            for number, way in enumerate(targets):
                branch.warps[number] += ways[way][0]
                branch.lanes[number] += ways[way][1]
            branch.divergent += max(0, sum(counters[DECISION_COUNTERS::2]) - warps)
            return
        counts = [(all_of_them + some, taken), (warps - all_of_them, lanes - taken)]
        if kind == BRANCH:
            pair = [instance.line_behind(way, path) for way in (target, at + 1)]
            if pair[0] > pair[1]:
                pair.reverse()
                counts.reverse()
            branch = self._branch(path, line, "branch", tuple(pair))
        else:
            branch = self._branch(path, line, "guard", (line, line))
        for number, (more_warps, more_lanes) in enumerate(counts):
            branch.warps[number] += more_warps
            branch.lanes[number] += more_lanes
        branch.divergent += some

    def _branch(self, path: str, line: int, kind: str, targets: tuple[int, ...]) -> Branch:
        key = (path, line, kind, targets)
        if key not in self._branches:
            zeros = [0] * len(targets)
            self._branches[key] = Branch(line, targets, kind, zeros, list(zeros))
        return self._branches[key]
