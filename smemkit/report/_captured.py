"""What the extension tells of captured launches, and what saved reports keep of them.

Type checkers read it; nothing imports it. A dict that a file gave has lists in place of tuples.
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict, TypeVar, final

from numpy import uint64
from numpy.typing import NDArray

from .._types import BankOp

Place: TypeAlias = tuple[str, int]  # file and line
Triple: TypeAlias = tuple[int, int, int]
Sums: TypeAlias = dict[str, int]  # by counter; what is 0 may be missing
Reach: TypeAlias = Literal["none", "lanes", "threads"]  # whose accesses a barrier orders
Variable: TypeAlias = tuple[str, int, int]  # of shared memory: name, offset, bytes


class Origin(TypedDict):
    """Of a report: date (UTC), version and machines."""

    date: str
    smemkit: str
    counted_on: str
    timed_on: str | None
    host: str


class SavedSources(TypedDict):
    """Texts by file name; variant: (family, variant) of a module of the package."""

    texts: dict[str, list[str]]
    variant: list[str] | None


class Location(TypedDict):
    """Where an instruction stands; file and line are None without a source line."""

    function: str
    ptx_line: int
    file: str | None
    line: int | None


class Instruction(Location):
    """An instruction and its counts; reach: of a barrier."""

    ptx: str
    role: str
    reach: Reach | None
    counters: Sums


class Request(Location):
    """The costliest request of one access, as Sample shows it."""

    space: str
    op: str
    rule: BankOp
    bytes: int
    mask: int
    cost: int
    block: Triple
    warp: int
    addresses: NDArray[uint64]


class FindingSide(Location):
    """One of the two accesses of a finding."""

    ptx: str
    op: str
    block: Triple
    thread: Triple
    space: str
    address: int
    bytes: int
    variable: str


class FoundFault(TypedDict):
    """A finding of check."""

    kind: str
    message: str
    action: str
    count: int
    same_value: NotRequired[bool]
    first: FindingSide
    second: FindingSide | None


class Launched(TypedDict):
    """What all launches that ran have in common."""

    kernel: str
    grid: Triple
    block: Triple
    shared_bytes: int


@final
class Timed(Launched):
    """A launch on a GPU."""

    time_ms: float


class InModule(Launched):
    """A launch on the simulator; source and sources: of a saved report."""

    ptx: str
    blocks: int
    blocks_total: int
    source: NotRequired[str]
    sources: NotRequired[SavedSources]


class CountedLine(TypedDict):
    """The sums of a source line."""

    file: str | None
    line: int | None
    counters: dict[str, float | None]


@final
class Counted(InModule):
    """A launch that was profiled; times_ms: of a saved report."""

    modelled: bool
    cleared: NotRequired[int]  # bytes that the call has cleared before
    early: NotRequired[bool]  # it may begin before the launch before it has ended
    footprint: NotRequired[list[tuple[int, int, bool, *tuple[int, ...]]]]
    busiest: NotRequired[tuple[int, int, list[int]]]  # of a warp, of a block, by instruction
    counters: dict[str, float | None]
    lines: NotRequired[list[CountedLine]]
    instructions: list[Instruction]
    shared: NotRequired[list[Variable]]
    samples: list[Request]
    times_ms: NotRequired[list[float]]


@final
class Checked(InModule):
    """A launch that was checked."""

    truncated: bool
    incomplete: NotRequired[int]
    stopped: str | None
    findings: list[FoundFault]


@final
class Refused(TypedDict):
    """A launch that failed, where the function went on."""

    kernel: str
    refused: str


Ran = TypeVar("Ran", Counted, Checked)
