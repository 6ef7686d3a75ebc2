"""Counts of a profile: counters, source lines, launches and recorded accesses."""

from __future__ import annotations

import functools
import linecache
import math
import operator
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from ._moved import list_lines_without_access
from .languages import find_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy import uint64
    from numpy.typing import NDArray

    from .._types import BankOp
    from ._captured import (
        Counted,
        InModule,
        Instruction,
        Location,
        Place,
        Ran,
        Refused,
        Request,
        SavedSources,
        Sums,
        Variable,
    )
    from ._report import Report

# {ratio: (numerator, denominator, scale)}. A ratio is computed from sums, so that it stays right
# where launches or lines are added. A test compares this table with counters.def.
RATIOS = {
    "instructions.active_lanes": ("instructions.thread", "instructions.warp", 1),
    "constant.load.addresses_per_request": (
        "constant.load.addresses",
        "constant.load.requests",
        1,
    ),
    "branch.efficiency": ("branch.uniform", "branch.instructions", 100),
    "async.sectors_per_request": ("async.sectors", "async.requests", 1),
}
for _op in ("load", "store", "atomic"):
    RATIOS[f"shared.{_op}.conflicts_per_request"] = (
        f"shared.{_op}.conflicts",
        f"shared.{_op}.instructions",
        1,
    )
    RATIOS[f"global.{_op}.sectors_per_request"] = (
        f"global.{_op}.sectors",
        f"global.{_op}.requests",
        1,
    )
ACCESSES = tuple(
    name
    for op in ("load", "store", "atomic")
    for name in (f"shared.{op}.instructions", f"global.{op}.requests")
)
COUNT_LANES = ("atomic", "cas", "async")  # rules by which a bank serves each lane on a word apart
PTX_FILE = "ptx"  # stands for the file of lines that have no source file
ACCESS = re.compile(r"\b(ld|ldmatrix|st|atom|red|cp)\.")


def counters() -> dict[str, dict[str, str]]:
    """Every counter that smemkit.profile fills: unit, meaning, and what Nsight Compute calls it.

    Shapes
    ------
    None.

    Returns
    -------
    dict from name to {"unit": str, "meaning": str, "ncu": str}; ncu is "" where there is none.

    Raises
    ------
    Nothing.

    Example
    -------
    >>> import smemkit
    >>> smemkit.counters()["shared.load.conflicts"]["unit"]
    'wavefronts'
    """
    return {
        row["name"]: {"unit": row["unit"], "meaning": row["meaning"], "ncu": row["ncu"]}
        for row in _core._counters()
    }


class UnknownCounterError(_core.Error, KeyError):
    """An unknown counter name; the message suggests similar names."""

    def __str__(self) -> str:
        return str(self.args[0])


class UncountedError(_core.Error, ValueError):
    """A requested value was not counted: a launch was refused, or a ratio has no value."""


OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def read_condition(text: str) -> tuple[str, str, float]:
    """ "shared.load.conflicts>0" -> (name, operator, number)."""
    found = re.fullmatch(r"\s*([\w.]+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*", str(text))
    try:
        limit = float(found[3]) if found else math.nan
    except ValueError:
        limit = math.nan
    if found is None or math.isnan(limit):
        raise _core.ArgumentError(
            f"{text!r} is not a condition; write COUNTER OPERATOR NUMBER, as in "
            f"'shared.load.conflicts>0' (operators: {' '.join(OPERATORS)})"
        )
    names = list(counters())
    if found[1] not in names:
        raise refuse_name(found[1], names)
    return found[1], found[2], limit


def refuse_name(name: object, names: Iterable[str]) -> UnknownCounterError:
    """The error for a name that is not among `names`, with similar ones."""
    import difflib  # needed for errors only

    near = difflib.get_close_matches(str(name), list(names), n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "smemkit.counters() lists them"
    return UnknownCounterError(f"there is no counter {name!r}; {hint}")


class Counters(Mapping[str, Any]):
    """Read-only mapping from counter to number; a ratio whose denominator is 0 is None.

    Its names are those of smemkit.counters(), and any other is an UnknownCounterError (KeyError).

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> report.counters["global.load.sectors_per_request"]
    4.0
    >>> report.counters["shared.atomic.conflicts_per_request"] is None  # it makes no atomics
    True
    """

    def __init__(self, sums: Mapping[str, float]) -> None:
        self._values: dict[str, float | None] = {
            row["name"]: sums.get(row["name"], 0) for row in _core._counters()
        }
        for name in self._values.keys() & RATIOS.keys():
            above, below, scale = RATIOS[name]
            divisor = sums.get(below, 0)
            self._values[name] = scale * sums.get(above, 0) / divisor if divisor else None

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except (KeyError, TypeError):
            raise refuse_name(name, self._values) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        filled = {name: value for name, value in self._values.items() if value}
        return f"Counters({filled})"

    def total(self, *names: str) -> int:
        """The sum of several counters."""
        return sum(self[name] for name in names)


def split_refused(
    launches: Iterable[Ran | Refused],
) -> tuple[list[Ran], tuple[tuple[str, str], ...]]:
    """(the launches that ran, (kernel, message) of those that were refused or failed)."""
    ran: list[Ran] = []
    refused: list[tuple[str, str]] = []
    for launch in launches:
        if "refused" in launch:
            refused.append((launch["kernel"], launch["refused"]))
        else:
            ran.append(launch)
    return ran, tuple(refused)


def count_blocks(launches: Iterable[InModule]) -> tuple[int, int]:
    """The blocks of launches that were counted or checked, and all of them."""
    counted = total = 0
    for launch in launches:
        counted += launch["blocks"]
        total += launch["blocks_total"]
    return counted, total


def say_count(number: float, noun: str) -> str:
    """As in "1 block", "2,000 blocks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def add_sums(tables: Iterable[Mapping[str, Any]]) -> Sums:
    """Adds the counters of several mappings, without ratios: Counters computes these."""
    sums: Sums = {}
    for table in tables:
        for name, value in table.items():
            if name not in RATIOS and value:
                sums[name] = sums.get(name, 0) + value
    return sums


class Sources:
    """Source text by file name, for one module. variant: its (family, variant), or None.

    given is the CUDA C of a kernel that came as a string; saved is what a saved report brings.
    """

    ptx: list[str]
    variant: tuple[str, str] | None
    given: str | None
    _saved: bool
    _texts: dict[str, list[str] | None]
    _without_access: dict[str, frozenset[int]]

    def __init__(
        self,
        kernel: str,
        ptx: str,
        given: str | None = None,
        saved: SavedSources | None = None,
    ) -> None:
        self.ptx, self.variant = ptx.splitlines(), None
        self.given, self._saved = given, saved is not None
        self._texts, self._without_access = {}, {}
        if saved is None:
            self.variant = _find_variant(kernel, ptx)
        else:
            if saved["variant"]:
                family, variant = saved["variant"]
                self.variant = family, variant
            self._texts = {file: list(lines) for file, lines in saved["texts"].items()}

    @classmethod
    def of(cls, facts: InModule, given: str | None = None) -> Sources:
        """The sources of a captured launch, or of a saved one."""
        source = facts.get("source") or given
        return cls(facts["kernel"], facts["ptx"], source, facts.get("sources"))

    @functools.cached_property
    def package(self) -> str | None:
        """The package that compiled the kernel from Python: "Triton", "Numba", or None."""
        return find_package(self.ptx)

    def lines(self, file: str) -> list[str] | None:
        """The lines of a file, or None where it cannot be read."""
        if file == PTX_FILE:
            return self.ptx
        if file not in self._texts:
            self._texts[file] = self._read(file)
        return self._texts[file]

    def _read(self, file: str) -> list[str] | None:
        if self._saved:  # a file of that name here may be another one
            return None
        from ..compile import FILE_NAME  # slow to import, and not needed to call kernels

        name = os.path.basename(file)
        if self.variant is not None and name == f"{self.variant[1]}.cu":
            return _core.source(*self.variant).splitlines()
        if self.given is not None and name == FILE_NAME:
            return self.given.splitlines()
        try:
            with open(file, encoding="utf-8", errors="replace") as stream:
                return stream.read().splitlines()
        except (OSError, ValueError):
            cell = linecache.getlines(file) if self.package else []  # of a notebook
            return [line.rstrip("\n") for line in cell] or None

    def is_moved(self, file: str, line: int) -> bool:
        """True where an access of that line is not its own: the compiler has moved it there."""
        if file not in self._without_access:
            lines = self.lines(file) if file != PTX_FILE and not self.package else None
            found = list_lines_without_access("\n".join(lines)) if lines else frozenset()
            self._without_access[file] = found
        return line in self._without_access[file]

    def text(self, file: str, line: int, otherwise: str = "") -> str:
        """One line without its margins; `otherwise` (the PTX) where the file is not at hand."""
        lines = self.lines(file)
        if lines is not None and 0 < line <= len(lines):
            return lines[line - 1].strip()
        return otherwise.strip()


def _find_variant(kernel: str, ptx: str) -> tuple[str, str] | None:
    """(family, variant) where the module is one of the package's, else None."""
    for family, facts in _core.families().items():
        for variant in facts["variants"]:
            if kernel.startswith(f"{family}_{variant}_") and _core.ptx(family, variant) == ptx:
                return family, variant
    return None


class Line:
    """A source line and what it did.

    Attributes
    ----------
    file, line : str, int
        Where it stands; place is "file:line".
    text : str
        The line itself; empty where the source is not known.
    counters : Counters
    kernels : tuple of str
        The names of the kernels that ran it.
    moved : bool
        Whether its accesses are not its own: the compiler has moved them there, as out of a loop,
        from a line that PTX does not tell.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> line = next(one for one in report.lines if one.line == 37)
    >>> line.place, line.counters["shared.load.instructions"]
    ('column.cu:37', 4096)
    """

    file: str
    line: int
    text: str
    counters: Counters
    kernels: tuple[str, ...]
    module: str  # its PTX
    moved: bool

    def __init__(
        self,
        file: str,
        line: int,
        text: str,
        sums: Mapping[str, float],
        kernels: Iterable[str],
        ptx: str,
        moved: bool = False,
    ) -> None:
        self.file, self.line, self.text = file, line, text
        self.counters = Counters(sums)
        self.kernels = tuple(kernels)
        self.module = ptx
        self.moved = moved and self.counters.total(*ACCESSES) > 0

    @property
    def place(self) -> str:
        """Where it stands: "file:line", a str."""
        return f"{self.file}:{self.line}"

    def __repr__(self) -> str:
        return f"Line({self.place!r}, {self.text!r})"

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {
            "file": self.file,
            "line": self.line,
            "text": self.text,
            "moved": self.moved,
            "kernels": list(self.kernels),
            "counters": dict(self.counters),
        }


class Sample:
    """The costliest request of one access; Report.access gives one.

    Attributes
    ----------
    addresses : numpy.ndarray of 32 ints
        In bytes, one a lane. Those of shared memory count from the block's first byte of it.
    mask : int
        Bit i is set where lane i takes part.
    bytes : int
        Of each lane.
    cost : int
        Wavefronts for shared memory, sectors for global memory.
    space, op : str
        "shared", "global" or "local"; "load", "store", "atomic" or "async".
    rule : str
        The op of smemkit.bank_access that the access follows: of atomics "atomic", "cas" or
        "increment"; of ldmatrix "matrix".
    kernel, file, line, text, block, warp
        Where it was made.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> sample = report.access()
    >>> sample.place, sample.cost
    ('column.cu:37', 32)
    >>> smemkit.bank_access(sample.addresses, sample.bytes, mask=sample.mask).wavefronts
    32
    """

    addresses: NDArray[uint64]
    mask: int
    bytes: int
    cost: int
    space: str
    op: str
    rule: BankOp
    kernel: str
    function: str
    ptx_line: int
    file: str
    line: int
    text: str
    block: tuple[int, ...]
    warp: int

    def __init__(self, facts: Request, kernel: str, sources: Sources) -> None:
        self.cost, self.warp = facts["cost"], facts["warp"]
        self.function, self.ptx_line = facts["function"], facts["ptx_line"]
        self.space, self.op = facts["space"], facts["op"]
        self.rule, self.addresses = facts["rule"], facts["addresses"]
        self.bytes, self.mask = facts["bytes"], facts["mask"]
        self.kernel = kernel
        self.block = tuple(facts["block"])
        self.file, self.line = place_of(facts)
        self.text = sources.text(self.file, self.line, sources.text(PTX_FILE, self.ptx_line))

    @property
    def place(self) -> str:
        """Where it stands: "file:line", a str."""
        return f"{self.file}:{self.line}"

    def active(self) -> list[tuple[int, int]]:
        """(lane, address) of each lane that takes part."""
        return [(i, int(a)) for i, a in enumerate(self.addresses) if self.mask >> i & 1]

    def __repr__(self) -> str:
        return (
            f"Sample({self.place!r}, {self.space} {self.op}, {self.bytes} bytes a lane, "
            f"cost={self.cost})"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        names = ("kernel", "file", "line", "ptx_line", "space", "op", "rule", "bytes", "mask")
        facts = {name: getattr(self, name) for name in names}
        facts |= {"cost": self.cost, "warp": self.warp, "block": list(self.block)}
        return facts | {"addresses": [int(address) for address in self.addresses]}


def place_of(facts: Location) -> Place:
    """(file, line) of an instruction; without a source line those of the PTX."""
    file, line = facts.get("file"), facts.get("line")
    if file is None or not line:
        return PTX_FILE, facts["ptx_line"]
    return file, line


class Launch:
    """One launch of a kernel.

    Attributes
    ----------
    kernel : str
    grid, block : tuple of int
        Blocks of the grid, threads of a block.
    shared_bytes : int
        Dynamic shared memory of a block.
    blocks, blocks_total : int
        The blocks that were counted, and all.
    counters : Counters
    samples : list of Sample
    times_ms, time_ms : tuple, float or None
        The GPU's samples and their median; () and None without a GPU.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> report.launches
    (Launch('gemm_column_float32', grid=(2, 2, 1), block=(32, 32, 1)),)
    """

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    blocks: int
    blocks_total: int
    modelled: bool  # whether the accesses are those of the machine code
    ptx: str
    instructions: list[Instruction]
    shared: list[Variable]
    counters: Counters
    sources: Sources
    samples: list[Sample]
    times_ms: tuple[float, ...]

    def __init__(self, facts: Counted, given: str | None = None) -> None:
        self.kernel = facts["kernel"]
        self.grid, self.block = tuple(facts["grid"]), tuple(facts["block"])
        self.shared_bytes = facts["shared_bytes"]
        self.blocks, self.blocks_total = facts["blocks"], facts["blocks_total"]
        self.modelled = facts["modelled"]
        self.ptx = facts["ptx"]
        self.instructions = facts["instructions"]
        self.shared = facts.get("shared", [])
        self.counters = Counters(add_sums([facts["counters"]]))
        self.sources = Sources.of(facts, given)
        self.samples = [Sample(sample, self.kernel, self.sources) for sample in facts["samples"]]
        self.times_ms = ()

    @property
    def time_ms(self) -> float | None:
        """The median of times_ms, in milliseconds; None without a GPU."""
        return median(self.times_ms)

    def __repr__(self) -> str:
        return f"Launch({self.kernel!r}, grid={self.grid}, block={self.block})"

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared_bytes": self.shared_bytes,
            "blocks": self.blocks,
            "blocks_total": self.blocks_total,
            "modelled": self.modelled,
            "time_ms": self.time_ms,
            "times_ms": list(self.times_ms),
            "counters": dict(self.counters),
        }


def median(values: Iterable[float]) -> float | None:
    """The median, or None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def choose_ptx(kept: str | None, text: str) -> str:
    """The PTX to show for a line whose source is missing: its first access or instruction."""
    if kept is None or (ACCESS.search(text) and not ACCESS.search(kept)):
        return text
    return kept


def collect_lines(launches: Iterable[Launch]) -> list[Line]:
    """The lines of several launches by file and line; those of one module are added up."""
    rows: dict[tuple[str, int, str], list[tuple[Launch, Instruction]]] = {}
    for launch in launches:
        for instruction in launch.instructions:
            key = (*place_of(instruction), launch.ptx)
            rows.setdefault(key, []).append((launch, instruction))
    lines = []
    for (file, line, module), row in rows.items():
        sources, ptx = row[0][0].sources, None
        for _, instruction in row:
            ptx = choose_ptx(ptx, instruction["ptx"])
        lines.append(
            Line(
                file,
                line,
                sources.text(file, line, ptx or ""),
                add_sums(instruction["counters"] for _, instruction in row),
                dict.fromkeys(launch.kernel for launch, _ in row),
                module,
                sources.is_moved(file, line),
            )
        )
    return sorted(lines, key=lambda line: (line.file, line.line))  # stable: then by launch


CONFLICTS = (
    "shared.load.conflicts",
    "shared.store.conflicts",
    "shared.atomic.conflicts",
    "async.conflicts",
)
WAVEFRONTS = tuple(name.replace("conflicts", "wavefronts") for name in CONFLICTS)


def count_conflicts(table: Counters) -> int:
    """All bank conflicts of a line or a report."""
    return table.total(*CONFLICTS)


def count_excess_sectors(table: Counters) -> int:
    """Sectors of global memory beyond the least: one a request, and as many as the bytes fill."""
    excess = 0
    for op in ("load", "store", "atomic"):
        least = max(table[f"global.{op}.requests"], -(-table[f"global.{op}.bytes"] // 32))
        excess += max(0, table[f"global.{op}.sectors"] - least)
    return excess


def count_waste(table: Sums, space: str, op: str) -> int:
    """What one kind of access costs beyond its least: bank conflicts, or sectors."""
    if space == "shared":
        return table.get("async.conflicts" if op == "async" else f"shared.{op}.conflicts", 0)
    stem = "async" if op == "async" else f"global.{op}"
    requests, sectors, nbytes = (
        table.get(f"{stem}.{unit}", 0) for unit in ("requests", "sectors", "bytes")
    )
    return max(0, sectors - max(requests, -(-nbytes // 32)))


def get_sources(report: Report) -> Iterator[tuple[str, list[str] | None, list[Line]]]:
    """(file, lines of the file or None, Line objects in it) for each source file, for listings."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in report.lines:
        groups.setdefault((line.file, line.module), []).append(line)
    by_module = {launch.ptx: launch.sources for launch in report.launches}
    for (file, module), lines in groups.items():
        text = None if file == PTX_FILE else by_module[module].lines(file)
        yield file, text, lines
