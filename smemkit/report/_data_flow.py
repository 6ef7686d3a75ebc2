"""What values of a kernel follow from: a data flow over its PTX, without regard to order.

An observation of one launch holds for others only where indices and constants choose the addresses.
"""

from __future__ import annotations

import collections
import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ._kernel import Kernel

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
HEAD = re.compile(r"\.(?:entry|func)\b")
LABEL = re.compile(r"^[\w$.]+:(?!:)\s*")
STATEMENT = re.compile(r"^(?:@!?(%[\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)
REGISTER = re.compile(r"%[\w$]+(?:\.[xyz])?")
RESULT = re.compile(r"^(?:\{([^}]*)\}|(%[\w$|%_]+|_))\s*,?")
BRACKET = re.compile(r"\[([^\]]*)\]")
FETCHES = ("ld", "ldu", "ldmatrix", "atom", "tex", "tld4", "suld", "wmma", "call", "mbarrier")
SHAPE = ("%ctaid", "%nctaid", "%ntid")  # the same for all threads of a block
PLACE = (*SHAPE, "%tid", "%laneid", "%lanemask_lt", "%lanemask_le", "%lanemask_eq")


class Statement:
    """An instruction: its line, guard, opcode, registers that it defines and that it reads."""

    def __init__(self, number: int, guard: str | None, opcode: str, operands: str) -> None:
        self.number, self.guard, self.opcode = number, guard, opcode
        self.base = opcode.partition(".")[0]
        found = RESULT.match(operands) if self.base not in ("st", "red", "bra", "brx") else None
        self.results = REGISTER.findall(found[0]) if found else []
        rest = operands[found.end() :] if found else operands
        self.reads = REGISTER.findall(rest) + ([guard] if guard else [])
        address = BRACKET.search(operands)
        self.address = REGISTER.findall(address[1]) if address else []


@functools.lru_cache(maxsize=8)
def _read(text: str) -> list[list[Statement]]:
    """The statements of each function of a module."""
    text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    functions: list[list[Statement]] = []
    number = 1
    for chunk in text.split(";"):
        words: list[str] = []
        at = number
        for offset, line in enumerate(chunk.split("\n")):
            line = line.strip()
            if HEAD.search(line):
                functions.append([])
            line = LABEL.sub("", line.lstrip("{} \t"))
            if not words and (not line or line[0] in ".)({"):
                continue
            at = at if words else number + offset
            words.append(line)
        number += chunk.count("\n")
        found = STATEMENT.match(" ".join(words))
        if found and functions:
            functions[-1].append(Statement(at, found[1], found[2], found[3]))
    return functions


def _is_fetched(statement: Statement) -> bool:
    return statement.base in FETCHES


def _is_of_others(statement: Statement) -> bool:
    """Whether a value may differ from lane to lane by what it is made of."""
    return statement.base in FETCHES and not statement.opcode.startswith("ld.param")


def _of(names: Collection[str]) -> Callable[[str], bool]:
    """Whether a special register, such as %tid.x, is one of some names, such as %tid."""
    return lambda name: name.partition(".")[0] in names


def _spread(
    statements: Sequence[Statement],
    is_source: Callable[[Statement], bool],
    is_kept: Callable[[str], bool],
    is_by_branches: bool = True,
) -> tuple[set[str], bool]:
    """The registers that follow from a source, or from a special register that is not kept.

    Where such a register decides on a branch, so do all with several definitions, as the branch
    may choose between these: loop counters and values that an if has changed. The second result
    is whether one decides on a branch.
    """
    defined = collections.Counter(name for one in statements for name in one.results)
    special = {name for one in statements for name in one.reads} - set(defined)
    marked, is_parted = {name for name in special if not is_kept(name)}, False
    while True:
        before = len(marked)
        for one in statements:
            if is_source(one) or marked.intersection(one.reads):
                marked.update(one.results)
                is_parted = is_parted or one.base in ("bra", "brx") and bool(one.reads)
        if is_parted and is_by_branches:
            marked.update(name for name, times in defined.items() if times > 1)
        if len(marked) == before:
            return marked, is_parted


def _list_functions(kernel: Kernel) -> list[list[Statement]]:
    """The statements of the functions that a kernel has executed."""
    executed = {facts["ptx_line"] for facts in kernel.instructions}
    functions = _read("\n".join(kernel.sources.ptx))
    return [one for one in functions if any(statement.number in executed for statement in one)]


def _is_by_all(kernel: Kernel, numbers: Collection[int]) -> bool:
    """Whether all lanes of all warps execute the instructions of some lines."""
    warps = threads = 0
    for launch in kernel.launches:
        size = 1
        for extent in launch.block:
            size *= int(extent)
        threads += launch.blocks * size
        warps += launch.blocks * -(-size // 32)
    counted = {facts["ptx_line"]: facts["counters"] for facts in kernel.instructions}
    for number in numbers:
        counters = counted.get(number, {})
        times, rest = divmod(counters.get("instructions.warp", 0), warps)
        if not times or rest or counters.get("instructions.thread", 0) != times * threads:
            return False
    return True


def is_shared_by_index(kernel: Kernel) -> bool:
    """Whether indices of threads and blocks, and constants, choose all addresses of shared memory.

    False in doubt: where loaded data or arguments of the launch are part of an address, choose
    between addresses, or keep an access from some lane in the launches that were counted.
    """
    touched = {
        facts["ptx_line"]
        for facts in kernel.instructions
        if any(name.startswith("shared.") and n for name, n in facts["counters"].items())
    }
    for statements in _list_functions(kernel):
        accesses = [one for one in statements if ".shared" in one.opcode or one.number in touched]
        accesses = [one for one in accesses if not one.base.startswith(("cvta", "mapa", "isspace"))]
        marked, is_parted = _spread(statements, _is_fetched, _of(PLACE))
        if any(marked.intersection(one.address) for one in accesses):
            return False
        is_parted = is_parted or any(one.guard in marked for one in accesses)
        if is_parted and not _is_by_all(kernel, {one.number for one in accesses}):
            return False
    return True


def is_merged(kernel: Kernel, ptx_line: int) -> bool:
    """Whether ptxas adds up the lanes of an atomic on integers in global memory by itself.

    It does where the address is the same for all threads of a block and nobody uses the result.
    """
    for statements in _list_functions(kernel):
        atomic = next((one for one in statements if one.number == ptx_line), None)
        if atomic is None:
            continue
        words = atomic.opcode.split(".")
        if words[-1] not in ("u32", "s32", "b32", "u64", "s64") or {"cas", "exch"} & set(words):
            return False
        used = {name for one in statements for name in one.reads}
        marked, _ = _spread(statements, _is_of_others, _of(SHAPE))
        return not marked.intersection(atomic.address) and not used.intersection(atomic.results)
    return False


def find_axes(kernel: Kernel, ptx_line: int) -> str:
    """The axes of a block whose thread index is part of the address of an access, as "xy".

    Branches that choose between values are left out: guards at the edges do not move an address.
    """
    for statements in _list_functions(kernel):
        access = next((one for one in statements if one.number == ptx_line), None)
        if access is not None:
            return "".join(axis for axis in "xyz" if _is_by_axis(statements, access, axis))
    return ""


def _is_by_axis(statements: Sequence[Statement], access: Statement, axis: str) -> bool:
    varied = (f"%tid.{axis}", "%laneid", "%warpid")
    marked, _ = _spread(
        statements,
        lambda one: one.base in ("shfl", "atom", "call"),
        lambda name: name not in varied,
        is_by_branches=False,
    )
    return bool(marked.intersection(access.address))
