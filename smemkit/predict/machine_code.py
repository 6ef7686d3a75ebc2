"""Machine code of a kernel: its instructions with their control bits, its blocks, and PTX lines.

ptxas assembles the PTX with a line table that names the line of the PTX text instead of that of
the CUDA source, so that every machine instruction tells which PTX instruction it was made of; the
code is the same. nvdisasm lists it.

The control bits are bits 105 to 125 of an instruction of 128 bits, from compute capability 7.0 on
(Z. Jia and others, "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018,
arXiv 1804.06826; what the units do with them: R. Huerta and others, "Dissecting and Modeling the
Architecture of Modern GPU Cores", 2025, arXiv 2503.20481):

    105-108  stall: clocks until the warp may issue its next instruction
    109      yield: whether the scheduler may prefer another warp (0: it should)
    110-112  write barrier: the scoreboard that falls when the result is written; 7 is none
    113-115  read barrier: the scoreboard that falls when the operands have been read; 7 is none
    116-121  wait mask: scoreboards that must have fallen before the instruction issues
    122-125  reuse: operands that stay in the operand cache
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import _core
from ..compile import PTXAS_VERSION, find_nvdisasm, find_ptxas
from .issue_steps import StepTable, tabulate
from .opcode_classes import classify
from .ptx_lines import Loop, list_loops, with_own_lines
from .register_reads import OperandCache

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_BARRIER = 7
# What ptxas says of an instruction that an architecture does not have.
NEEDED = re.compile(r"(?:Feature|Instruction|Modifier) '([^']+)'.* requires \.target sm_(\d+)")
TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)
LABEL = re.compile(r"(\.L_[\w.]+|\$[\w$.]+):")
POSITION = re.compile(r'//## File "ptx", line (\d+)')
INSTRUCTION = re.compile(
    r"\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?([A-Z]\w*(?:\.\w+)*)\s*([^;]*);"
    r"\s+/\* 0x[0-9a-f]{16} \*/"
)
UPPER = re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")
TARGETS = re.compile(r"(\.L_[\w.]+|\$[\w$.]+)")
# What ends a block.
ENDS = {"BRA", "BRX", "BRXU", "JMP", "JMX", "CALL", "RET", "EXIT", "BSYNC", "BREAK", "KILL"}


class Instruction(NamedTuple):
    """A machine instruction.

    opcode: with its suffixes, "LDS.128". kind: its class, a key of `opcode_classes.CLASSES`.
    guarded: under a predicate. ptx_line: of the PTX text, 0 where it is not known. stall, yields,
    write_barrier, read_barrier and wait_mask are the control bits. operands: as nvdisasm writes
    them, "" in carried facts. reads: of registers, by the even and the odd bank (register_reads).
    """

    opcode: str
    kind: str
    guarded: bool
    ptx_line: int
    stall: int
    yields: bool
    write_barrier: int
    read_barrier: int
    wait_mask: int
    operands: str = ""
    reads: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Block:
    """A basic block: instructions, blocks that may follow, and whether it is cold.

    callee: the block that its last instruction calls, or None. leaves: its last instruction may
    end the warp or return. cold: reached only where lanes of a warp have parted in code that
    expects them together.
    """

    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]
    callee: int | None = None
    leaves: bool = False
    cold: bool = False


@dataclass(frozen=True)
class MachineCode:
    """The machine code of one kernel for one architecture; block 0 is entered first.

    loops: of the PTX text, the innermost last. origin: "ptxas", or "carried" along.
    """

    entry: str
    architecture: str
    blocks: tuple[Block, ...]
    loops: tuple[Loop, ...] = ()
    origin: str = "ptxas"

    @functools.cached_property
    def steps(self) -> StepTable:
        """What a simulation of issue needs of the instructions."""
        return tabulate(self.blocks)

    def __iter__(self) -> Iterator[Instruction]:
        for block in self.blocks:
            yield from block.instructions

    def __len__(self) -> int:
        return sum(len(block.instructions) for block in self.blocks)


def decode_control(high: int) -> tuple[int, bool, int, int, int]:
    """(stall, yields, write barrier, read barrier, wait mask) of the upper 64 bits.

    >>> decode_control(0x000FF00000000800)
    (8, False, 7, 7, 0)
    """
    bits = high >> 41
    return (
        bits & 15,
        not bits >> 4 & 1,
        bits >> 5 & 7,
        bits >> 8 & 7,
        bits >> 11 & 63,
    )


def load(ptx: str, entry: str, architecture: str) -> MachineCode:
    """The machine code of a kernel of a PTX text for an architecture such as "90" or "86".

    That of kernels of the package is carried along (`carried`); of others ptxas and nvdisasm make
    it. Raises UnsupportedError, which says what to install, where one of them is missing, and where
    ptxas refuses the PTX for that architecture; BackendError where that lacks an instruction.
    """
    return _load(ptx, entry, choose_target(ptx, architecture))


def choose_target(ptx: str, architecture: str) -> str:
    """The architecture that ptxas is asked for: with the letter of the PTX, where it has one.

    >>> choose_target(".version 9.0\\n.target sm_90a\\n", "90")
    '90a'
    """
    found = TARGET.search(ptx)
    if found and found[2] and found[1] == architecture:
        return architecture + found[2]
    return architecture


def retarget(ptx: str, target: str) -> str:
    """The PTX for that architecture, where it names a newer one: compilers name the one they know.

    ptxas refuses what the older architecture does not have.

    >>> retarget(".version 9.0\\n.target sm_90\\n", "75").splitlines()[1]
    '.target sm_75'
    """
    found = TARGET.search(ptx)
    if found is None or found[2] or int(found[1]) <= int(target.rstrip("af")):
        return ptx
    return f"{ptx[: found.start(1)]}{target.rstrip('af')}{ptx[found.end(1) :]}"


@functools.lru_cache(maxsize=32)
def _load(ptx: str, entry: str, target: str) -> MachineCode:
    from . import carried  # which imports this module

    found = carried.find(ptx, entry, target)
    return found if found is not None else assemble(ptx, entry, target)


def assemble(ptx: str, entry: str, target: str) -> MachineCode:
    """The machine code of an entry by ptxas and nvdisasm, as load."""
    listing = disassemble(ptx, entry, target)
    blocks = tuple(make_blocks(read_listing(listing, entry)))
    return MachineCode(entry, target, blocks, tuple(list_loops(ptx, entry)))


def run_tool(*command: str | Path) -> str:
    """What the program prints; UnsupportedError with its first complaint where it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    text = done.stdout.decode(errors="replace")
    if done.returncode == 0:
        return text
    said = next((line for line in text.splitlines() if "error" in line or "fatal" in line), text)
    name = Path(command[0]).name
    needed = NEEDED.search(said)
    if needed is not None:
        raise _core.BackendError(
            f"it needs compute capability {needed[2][:-1]}.{needed[2][-1]}, for {needed[1]}"
        )
    raise _core.UnsupportedError(f"{name} makes no machine code of this PTX: {said.strip()[:300]}")


def demand_tools(entry: str, target: str) -> tuple[Path, Path]:
    """ptxas and nvdisasm; UnsupportedError where one of them is missing."""
    ptxas, nvdisasm = find_ptxas(), find_nvdisasm()
    if ptxas is None or nvdisasm is None:
        missing = "ptxas" if ptxas is None else "nvdisasm"
        raise _core.UnsupportedError(
            f"the machine code of {entry} for sm_{target} is not known: {missing} is not found; "
            f"pip install nvidia-cuda-nvcc=={PTXAS_VERSION} nvidia-cuda-nvdisasm"
        )
    return ptxas, nvdisasm


def disassemble(ptx: str, entry: str, target: str) -> str:
    """nvdisasm's listing of what ptxas makes of an entry, with encodings and lines of the PTX."""
    ptxas, nvdisasm = demand_tools(entry, target)
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        text, image = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(with_own_lines(retarget(ptx, target)), encoding="utf-8")
        run_tool(ptxas, f"-arch=sm_{target}", "-lineinfo", "-e", entry, text, "-o", image)
        return run_tool(nvdisasm, "-c", "-g", "-hex", image)


def read_listing(listing: str, entry: str) -> list[Instruction | str]:
    """Instructions of an entry in a listing, and the labels before them as texts.

    Raises InternalError where an opcode stands in no class.
    """
    found: list[Instruction | str] = []
    inside, line = False, 0
    pending: re.Match[str] | None = None
    cache = OperandCache()
    for row in listing.splitlines():
        if row.startswith(".text."):
            inside, line = row == f".text.{entry}:", 0
        elif not inside:
            continue
        elif label := LABEL.match(row):
            found.append(label[1])
        elif position := POSITION.search(row):
            line = int(position[1])
        elif instruction := INSTRUCTION.match(row):
            pending = instruction
        elif pending and (upper := UPPER.match(row)):
            made = _make_instruction(pending, int(upper[1], 16), line)
            reads = cache.read(made.opcode, made.kind, made.operands)
            found.append(made._replace(reads=reads))
            pending = None
    return found


def _make_instruction(row: re.Match[str], high: int, line: int) -> Instruction:
    guard, opcode, operands = row[1] or "", row[2], row[3].strip()
    kind = classify(opcode)
    if kind is None:
        raise _core.InternalError(f"opcode_classes has no class for {opcode}")
    return Instruction(opcode, kind, bool(guard), line, *decode_control(high), operands)


def make_blocks(listed: list[Instruction | str]) -> list[Block]:
    """The basic blocks of a listing, cut at labels and behind branches, exits and calls."""
    blocks: list[list[Instruction]] = [[]]
    labels: dict[str, int] = {}
    for item in listed:
        if isinstance(item, str):
            if blocks[-1]:
                blocks.append([])
            labels[item] = len(blocks) - 1
        else:
            blocks[-1].append(item)
            if item.opcode.partition(".")[0] in ENDS:
                blocks.append([])
    blocks = blocks if blocks[-1] else blocks[:-1]
    points = _find_reconvergence(blocks, labels)
    made = [_end_block(code, i, labels, points, len(blocks)) for i, code in enumerate(blocks)]
    made = [_turn_into_branch(made, block) for block in made]
    cold = _find_cold(made)
    return _join_blocks([replace(block, cold=cold[i]) for i, block in enumerate(made)])


def _find_reconvergence(blocks: list[list[Instruction]], labels: dict[str, int]) -> dict[int, int]:
    """{block that ends in BSYNC: the block where its lanes go on}, from the BSSY before it."""
    last: dict[str, int] = {}
    found = {}
    for i, code in enumerate(blocks):
        for instruction in code:
            word = instruction.opcode.partition(".")[0]
            register = instruction.operands.partition(",")[0].strip()
            target = TARGETS.search(instruction.operands)
            if word == "BSSY" and target and target[1] in labels:
                last[register] = labels[target[1]]
            elif word == "BSYNC" and register in last:
                found[i] = last[register]
    return found


def _end_block(
    code: list[Instruction], i: int, labels: dict[str, int], points: dict[int, int], count: int
) -> Block:
    end = code[-1]
    word = end.opcode.partition(".")[0]
    targets = [labels[name] for name in TARGETS.findall(end.operands) if name in labels]
    following = [i + 1] if i + 1 < count else []
    # BRA may carry a predicate as an operand: BRA P0, `(.L_x_1); BRA.DIV names a uniform register
    conditional = end.guarded or bool(re.match(r"!?U?[PR]\w+\s*,", end.operands))
    if word == "CALL":
        inner = targets[0] if targets else None
        return Block(tuple(code), tuple(following), callee=inner)
    if word in ("EXIT", "RET", "KILL"):
        return Block(tuple(code), tuple(following if end.guarded else ()), leaves=True)
    if word == "BSYNC":
        return Block(tuple(code), (points.get(i, following[0] if following else i),))
    if word in ("BRA", "JMP") or word in ("BRX", "BRXU", "JMX"):
        ways = [*(following if conditional else ()), *targets]
        return Block(tuple(code), tuple(dict.fromkeys(ways)))
    return Block(tuple(code), tuple(following))


def _turn_into_branch(blocks: list[Block], block: Block) -> Block:
    """The block; where it calls what never returns, with that as a way to go.

    ptxas writes the last exit of a loop as a call of code that ends the warp, where it lies far.
    """
    if block.callee is None:
        return block
    seen, stack = set(), [block.callee]
    while stack:
        i = stack.pop()
        if i not in seen:
            seen.add(i)
            stack += blocks[i].successors
            if blocks[i].instructions[-1].opcode.startswith("RET"):
                return block
    guarded = block.instructions[-1].guarded
    return replace(
        block, callee=None, successors=(*(block.successors if guarded else ()), block.callee)
    )


def _find_cold(blocks: list[Block]) -> list[bool]:
    """Which blocks are reached through BRA.DIV alone, or not at all."""
    warm, stack = [False] * len(blocks), [0]
    while stack:
        i = stack.pop()
        if warm[i]:
            continue
        warm[i] = True
        block = blocks[i]
        ways = block.successors
        if block.instructions[-1].opcode.startswith("BRA.DIV"):
            ways = ways[:1]
        stack += [*ways, *((block.callee,) if block.callee is not None else ())]
    return [not each for each in warm]


def _join_blocks(blocks: list[Block]) -> list[Block]:
    """The blocks, with those joined that follow each other alone: labels of cold code cut many."""
    entered = [0] * len(blocks)
    entered[0] = 1
    for block in blocks:
        for way in (*block.successors, *(() if block.callee is None else (block.callee,))):
            entered[way] += not block.cold
    number: dict[int, int] = {}
    joined: list[Block] = []
    for i, block in enumerate(blocks):
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.successors == (i,)
            and before.callee is None
            and not before.leaves
            and entered[i] == 1
            and before.cold == block.cold
        ):
            joined[-1] = replace(block, instructions=before.instructions + block.instructions)
        else:
            joined.append(block)
        number[i] = len(joined) - 1
    return [
        replace(
            block,
            successors=tuple(number[way] for way in block.successors),
            callee=None if block.callee is None else number[block.callee],
        )
        for block in joined
    ]
