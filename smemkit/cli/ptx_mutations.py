"""Mutants of PTX: small faults as people make them, each in one instruction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from . import ptx_statements
from .ptx_statements import Statement, split_operands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Change = tuple[str, str]  # what it does, in a few words; the text in place of the instruction

KINDS = {
    "barrier": "a barrier, or a wait for copies, is removed",
    "boundary": "a comparison is off by one: < for <=, > for >=",
    "inverted": "a comparison is inverted: < for >=, == for !=",
    "index": "an access is off by one element",
    "row": "an access to shared memory goes to the next row of the banks, 128 bytes on",
    "mask": "a mask of lanes is narrowed by its highest lane",
    "atomic": "an atomic is made plain: a load, the operation, and a store",
    "guard": "a guard is removed: what stands under a condition always runs",
}
BOUNDARY = dict(
    pair
    for a, b in (("lt", "le"), ("gt", "ge"), ("lo", "ls"), ("hi", "hs"), ("ltu", "leu"))
    for pair in ((a, b), (b, a))
) | {"gtu": "geu", "geu": "gtu"}
INVERTED = dict(
    pair
    for a, b in (
        *(("eq", "ne"), ("lt", "ge"), ("gt", "le"), ("lo", "hs"), ("hi", "ls")),
        *(("equ", "neu"), ("ltu", "geu"), ("gtu", "leu"), ("num", "nan")),
    )
    for pair in ((a, b), (b, a))
)
ROW_BYTES = 128
ADDRESS = re.compile(r"\[\s*([\w$%]+)\s*(?:\+\s*(-?\s*\d+)\s*)?\]")
SPACES = ("global", "shared", "shared::cta", "shared::cluster")
UNTOUCHED = {"param", "local", "const"}
WITH_MASK = {"shfl": -1, "vote": -1, "match": -1, "redux": -1, "bar": 0, "elect": -1}
WAITS = {"wait_group", "wait_all"}


class Mutant(NamedTuple):
    """One fault in one instruction; after is the text in its place."""

    kind: str
    words: str
    statement: Statement
    after: str

    def apply(self, text: str) -> str:
        """The PTX with the fault."""
        return text[: self.statement.start] + self.after + text[self.statement.end :]


# Kinds -------------------------------------------------------------------------------------------


def _remove_barrier(one: Statement, _: ptx_statements.Listing) -> Iterator[Change]:
    parts = one.parts
    is_barrier = parts[0] in ("bar", "barrier") and "sync" in parts
    if is_barrier and parts[0] == "barrier" and "cluster" in parts:
        is_barrier = False
    if is_barrier or (parts[:2] == ["cp", "async"] and WAITS & set(parts)):
        yield f"{one.opcode} removed", ""


def _change_comparison(one: Statement, table: dict[str, str]) -> Iterator[Change]:
    parts = one.parts
    if parts[0] in ("setp", "set") and len(parts) > 2 and parts[1] in table:
        opcode = ".".join([parts[0], table[parts[1]], *parts[2:]])
        yield f"{table[parts[1]]} for {parts[1]}", f"{one.guard_text}{opcode} {one.operands};"


def _move_boundary(one: Statement, _: ptx_statements.Listing) -> Iterator[Change]:
    yield from _change_comparison(one, BOUNDARY)


def _invert(one: Statement, _: ptx_statements.Listing) -> Iterator[Change]:
    yield from _change_comparison(one, INVERTED)


def _find_space(parts: list[str]) -> str | None:
    """ "shared", "global" or "generic" of an access to memory that threads share; else None."""
    if UNTOUCHED & set(parts):
        return None
    if parts[:2] == ["cp", "async"]:
        return None if {"bulk", *WAITS, "commit_group", "mbarrier"} & set(parts) else "shared"
    if parts[0] == "ldmatrix":
        return "shared"
    if parts[0] not in ("ld", "st", "atom", "red"):
        return None
    return next((word.partition("::")[0] for word in parts[1:] if word in SPACES), "generic")


def _measure(one: Statement) -> int | None:
    """The bytes of an element of an access: what its index counts."""
    parts = one.parts
    if parts[0] == "ldmatrix":
        return 16
    if parts[0] == "cp":
        size = split_operands(one.operands)[2:3]
        return int(size[0], 0) if size and re.fullmatch(r"\d+", size[0]) else 16
    bits = re.fullmatch(r"[a-z]+(\d+)(x2)?", parts[-1])
    if bits is None:
        return None
    count = {"v2": 2, "v4": 4, "v8": 8}
    lanes = next((count[word] for word in parts if word in count), 1)
    return int(bits[1]) * (2 if bits[2] else 1) // 8 * lanes


def _shift(one: Statement, step: int, nth: int = 0) -> str | None:
    """The instruction with its nth address so many bytes further."""
    found = list(ADDRESS.finditer(one.operands))
    if nth >= len(found):
        return None
    address = found[nth]
    offset = int(address[2].replace(" ", "")) if address[2] else 0
    moved = f"[{address[1]}+{offset + step}]"
    operands = one.operands[: address.start()] + moved + one.operands[address.end() :]
    return f"{one.guard_text}{one.opcode} {operands};"


def _move_index(one: Statement, _: ptx_statements.Listing) -> Iterator[Change]:
    step = _measure(one) if _find_space(one.parts) else None
    if step:
        nth = 1 if one.parts[0] == "cp" else 0  # of a copy: what is read
        after = _shift(one, step, nth)
        if after:
            yield f"address {step} bytes on", after


def _move_row(one: Statement, _: ptx_statements.Listing) -> Iterator[Change]:
    if _find_space(one.parts) == "shared":
        after = _shift(one, ROW_BYTES)
        if after:
            yield f"shared address {ROW_BYTES} bytes on", after


def _narrow_mask(one: Statement, _: ptx_statements.Listing) -> Iterator[Change]:
    parts, operands = one.parts, split_operands(one.operands)
    at = WITH_MASK.get(parts[0])
    if at is None or "sync" not in parts or (parts[0] == "bar" and "warp" not in parts):
        return
    if not operands:
        return
    mask = operands[at]
    if re.fullmatch(r"-?\d+|0[xX][0-9a-fA-F]+", mask):
        lanes = int(mask, 0) % 2**32
        operands[at] = str(lanes & ~(1 << (lanes.bit_length() - 1))) if lanes else mask
        if operands[at] not in (mask, "0"):
            words = f"mask {lanes:#x} narrowed"
            yield words, f"{one.guard_text}{one.opcode} {', '.join(operands)};"
    elif mask.startswith("%"):
        operands[at] = "%mutant_mask"
        narrowed = f"and.b32 %mutant_mask, {mask}, 2147483647;"
        call = f"{one.guard_text}{one.opcode} {', '.join(operands)};"
        yield "mask without lane 31", f"{{ .reg .b32 %mutant_mask; {narrowed} {call} }}"


PLAIN = {
    "add": "add.{t} %mutant_new, %mutant_old, {a};",
    "min": "min.{t} %mutant_new, %mutant_old, {a};",
    "max": "max.{t} %mutant_new, %mutant_old, {a};",
    "and": "and.{t} %mutant_new, %mutant_old, {a};",
    "or": "or.{t} %mutant_new, %mutant_old, {a};",
    "xor": "xor.{t} %mutant_new, %mutant_old, {a};",
    "exch": "mov.{t} %mutant_new, {a};",
    "inc": "setp.ge.{t} %mutant_is, %mutant_old, {a}; add.{t} %mutant_new, %mutant_old, 1; "
    "selp.{t} %mutant_new, 0, %mutant_new, %mutant_is;",
    "dec": "sub.{t} %mutant_new, %mutant_old, 1; min.{t} %mutant_new, %mutant_new, {a};",
    "cas": "setp.eq.{t} %mutant_is, %mutant_old, {a}; "
    "selp.{t} %mutant_new, {b}, %mutant_old, %mutant_is;",
}


def _make_plain(one: Statement, _: ptx_statements.Listing) -> Iterator[Change]:
    parts = one.parts
    action = next((word for word in parts[1:] if word in PLAIN), None)
    kind = parts[-1]
    if parts[0] not in ("atom", "red") or action is None:
        return
    if not re.fullmatch(r"[usbf](32|64)", kind):
        return
    operands = split_operands(one.operands)
    target = operands.pop(0) if parts[0] == "atom" else "_"
    if len(operands) < 2 or "cache_hint" in one.opcode:
        return
    address, a, b = operands[0], operands[1], operands[2] if len(operands) > 2 else ""
    space = next((f".{word}" for word in parts[1:] if word in SPACES), "")
    steps = [f"ld{space}.{kind} %mutant_old, {address};"]
    steps += [f"{step.strip()};" for step in PLAIN[action].format(t=kind, a=a, b=b).split(";")[:-1]]
    steps.append(f"st{space}.{kind} {address}, %mutant_new;")
    if target != "_":
        steps.append(f"mov.{kind} {target}, %mutant_old;")
    registers = f".reg .{kind} %mutant_old, %mutant_new; .reg .pred %mutant_is;"
    body = " ".join(one.guard_text + step for step in steps)
    yield f"{one.opcode} made plain", f"{{ {registers} {body} }}"


def _remove_guard(one: Statement, listing: ptx_statements.Listing) -> Iterator[Change]:
    if one.guard is None:
        return
    head = one.parts[0]
    if head in ("ret", "exit"):
        yield "guarded return removed", ""
    elif head == "bra":
        target = listing.labels.get((one.function, one.operands.strip()), 0)
        if target > one.number:  # a loop's branch back is none
            yield "branch around the guarded code removed", ""
    else:
        yield f"guard {one.guard_text.strip()} removed", f"{one.opcode} {one.operands};"


MAKERS: dict[str, Callable[[Statement, ptx_statements.Listing], Iterator[Change]]] = {
    "barrier": _remove_barrier,
    "boundary": _move_boundary,
    "inverted": _invert,
    "index": _move_index,
    "row": _move_row,
    "mask": _narrow_mask,
    "atomic": _make_plain,
    "guard": _remove_guard,
}


HIGH_HALF = "-4294967296"


def find_choices(listing: ptx_statements.Listing) -> set[int]:
    """Offsets of comparisons and branches that choose between divisions of 32 and 64 bits.

    The compiler makes them, of no condition in the source: both ways give the same quotient.
    """
    found: set[int] = set()
    halves: set[tuple[str, str]] = set()
    predicates: set[tuple[str, str]] = set()
    for one in listing.statements:
        operands = split_operands(one.operands)
        if one.opcode == "and.b64" and operands[2:] == [HIGH_HALF]:
            halves.add((one.function, operands[0]))
        elif one.parts[0] == "setp" and operands[2:] == ["0"]:
            if (one.function, operands[1]) in halves:
                predicates.add((one.function, operands[0]))
                found.add(one.start)
        elif one.guard and (one.function, one.guard) in predicates:
            found.add(one.start)
    return found


def list_mutants(listing: ptx_statements.Listing) -> list[Mutant]:
    """Every mutant of a text, in its order."""
    choices = find_choices(listing)
    return [
        Mutant(kind, words, statement, after)
        for statement in listing.statements
        if statement.start not in choices
        for kind, make in MAKERS.items()
        for words, after in make(statement, listing)
    ]
