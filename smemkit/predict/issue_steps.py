"""The steps that a simulation of issue takes: an array of numbers, one row for each instruction.

What the machine code says of them is known for each code once (`tabulate`); latencies and clocks of
pipes are filled in for each launch (`fill`). The columns are those of smk_partition_step in
csrc/sim/issue/partition.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from .latency import Latencies, LineAccess
    from .machine_code import Block, Instruction

COLUMNS = (
    *("kind", "queued", "service", "latency", "stall", "write_barrier", "read_barrier"),
    *("wait_mask", "is_barrier", "group", "left", "even", "odd", "share", "idle", "more", "misses"),
)
SERVICE, LATENCY, STALL = map(COLUMNS.index, ("service", "latency", "stall"))
SHARE, IDLE, MORE, MISSES = map(COLUMNS.index, ("share", "idle", "more", "misses"))
QUEUE, GROUP, LEFT = map(COLUMNS.index, ("queued", "group", "left"))
FACTS = [COLUMNS.index(name) for name in ("kind", "queued", "is_barrier", "group")]  # of opcodes
CONTROL = [*map(COLUMNS.index, ("stall", "write_barrier", "read_barrier", "wait_mask"))]
READS = [COLUMNS.index(name) for name in ("even", "odd")]
FIRST_KINDS = ("barrier", "async")  # which the simulation knows by their numbers
OTHER_LATENCY = 12.0  # of what has a scoreboard and stands in no class of WAITS
# Class -> the field of Latencies, of what a scoreboard waits for.
WAITS = {
    "load.shared": "shared",
    "matrix.shared": "shared",
    "store.shared": "shared",
    "atomic.shared": "atomic_shared",
    "load.global": "global_load",
    "load.local": "global_load",
    "store.global": "shared",
    "store.local": "shared",
    "async": "global_load",
    "atomic.global": "atomic_global",
    "load.constant": "constant",
    "uniform_constant": "constant",
    "texture": "texture",
    "special": "special",
    "convert": "special",
    "double": "double",
    "tensor": "tensor",
    "shuffle": "shuffle",
    "vote": "shuffle",
    "special_register": "special_register",
    "uniform": "uniform",
    "barrier": "barrier",
    "fence": "fence",
}
QUEUED = {
    *("load.shared", "store.shared", "atomic.shared", "matrix.shared", "load.global", "shuffle"),
    *("store.global", "atomic.global", "load.local", "store.local", "async", "texture"),
}


@dataclass(frozen=True)
class StepTable:
    """What machine code says of its steps.

    rows: (instructions, columns). first: the first row of each block, and the end of the last one.
    kinds: by their numbers. causes: why nothing is issued, by their numbers. opcodes: by the
    numbers in `opcode_of`, with their kinds. by_line: {line of the PTX: rows of its accesses}.
    guarded: rows.
    """

    rows: NDArray[np.float64]
    first: NDArray[np.uint32]
    kinds: tuple[str, ...]
    causes: tuple[str, ...]
    opcodes: tuple[tuple[str, str], ...]
    opcode_of: NDArray[np.int64]
    by_line: Mapping[int, Sequence[int]]
    guarded: NDArray[np.bool_]


def tabulate(blocks: Sequence[Block]) -> StepTable:
    """The table of code without its latencies."""
    code = [each for block in blocks for each in block.instructions]
    opcodes = tuple(dict.fromkeys((each.opcode, each.kind) for each in code))
    kinds = tuple(dict.fromkeys((*FIRST_KINDS, *(kind for _, kind in opcodes))))
    kind_of = {name: i for i, name in enumerate(kinds)}
    number = {name: i for i, name in enumerate(opcodes)}
    facts = np.array([(kind_of[name[1]], *_describe_opcode(*name)) for name in opcodes], float)
    opcode_of = np.array([number[each.opcode, each.kind] for each in code], np.int64)
    rows = np.zeros((len(code), len(COLUMNS)))
    rows[:, FACTS] = facts.reshape(-1, len(FACTS))[opcode_of]
    rows[:, (SERVICE, SHARE)] = 1.0
    rows[:, CONTROL] = np.array(
        [(each.stall, each.write_barrier, each.read_barrier, each.wait_mask) for each in code]
    ).reshape(-1, len(CONTROL))
    rows[:, STALL] = np.maximum(rows[:, STALL], 1.0)
    rows[:, READS] = np.array([each.reads for each in code]).reshape(-1, len(READS))
    for i in np.flatnonzero(rows[:, GROUP]).tolist():
        rows[i, LEFT] = _read_left(code[i])
    by_line: dict[int, list[int]] = {}
    for i, each in enumerate(code):
        if each.ptx_line and (each.kind in QUEUED or each.kind == "load.constant"):
            by_line.setdefault(code[i].ptx_line, []).append(i)
    first = np.cumsum([0, *(len(block.instructions) for block in blocks)]).astype(np.uint32)
    causes = tuple(cause for kind in kinds for cause in (kind, f"read.{kind}", f"pipe.{kind}")) + (
        "start",
        "stall",
        "registers",
    )
    guarded = np.array([each.guarded for each in code], bool)
    return StepTable(rows, first, kinds, causes, opcodes, opcode_of, by_line, guarded)


def _describe_opcode(opcode: str, kind: str) -> tuple[bool, bool, int]:
    """(enters the queue, waits for other warps, 1: ends a group of copies; 2: waits for some)."""
    word = opcode.partition(".")[0]
    is_barrier = kind == "barrier" and word == "BAR" and ".ARV" not in opcode
    return kind in QUEUED, is_barrier, {"LDGDEPBAR": 1, "DEPBAR": 2}.get(word, 0)


def _read_left(each: Instruction) -> int:
    """Groups of copies that may stay open, of an instruction that waits for the others."""
    left = each.operands.rpartition(",")[2].strip()
    return int(left, 0) if left.startswith("0x") else 0


def fill(
    table: StepTable,
    latencies: Latencies,
    service: Mapping[str, float],
    lines: Mapping[int, LineAccess],
) -> NDArray[np.float64]:
    """The rows of a table, as a partition with these latencies and pipes treats them.

    service: clocks by opcode, or else by kind. lines: what is known of accesses, by their lines.
    """
    rows = table.rows.copy()
    clocks, waits = [], []
    for opcode, kind in table.opcodes:
        clocks.append(service.get(opcode, service.get(kind, 1.0)))
        named = WAITS.get(kind)
        waits.append(getattr(latencies, named) if named else OTHER_LATENCY)
    rows[:, SERVICE] = np.array(clocks)[table.opcode_of]
    rows[:, LATENCY] = np.array(waits)[table.opcode_of]
    held = np.array([_is_fence(opcode) for opcode, _ in table.opcodes], bool)[table.opcode_of]
    rows[held, STALL] = np.maximum(rows[held, STALL], latencies.fence)
    for line, answer in latencies.lines.items():
        for i in _list_loads(table, line):
            rows[i, LATENCY], rows[i, MORE], rows[i, MISSES] = answer
    for line, known in lines.items():
        for i in table.by_line.get(line, ()):
            rows[i, SERVICE] = known.service
            rows[i, SHARE] = known.share if table.guarded[i] else 1.0
            rows[i, IDLE] = known.idle
            rows[i, LATENCY] += known.later
    return rows


def _is_fence(opcode: str) -> bool:
    """Whether the warp stops until all the device sees its stores; no scoreboard says so."""
    return opcode.startswith("MEMBAR") and not opcode.endswith(".CTA")


def _list_loads(table: StepTable, line: int) -> Iterable[int]:
    """The rows of a line that load from global or local memory."""
    return (
        i
        for i in table.by_line.get(line, ())
        if WAITS.get(table.opcodes[table.opcode_of[i]][1]) == "global_load"
    )
