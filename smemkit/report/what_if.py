"""Recorded requests with other addresses: their wavefronts with a pad, a swizzle, or no pad."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from .._types import BankOp
    from .counts import Sample

SECTOR = 32  # bytes
BANKED = 128  # bytes of one row of all banks


def list_pieces(sample: Sample) -> list[tuple[int, int]]:
    """(start, end) of the contiguous pieces of memory that a request touches."""
    pieces: list[tuple[int, int]] = []
    for address in sorted({address for _, address in sample.active()}):
        end = address + sample.bytes
        if pieces and address <= pieces[-1][1]:
            pieces[-1] = pieces[-1][0], max(pieces[-1][1], end)
        else:
            pieces.append((address, end))
    return pieces


def find_runs(sample: Sample) -> list[int]:
    """Lengths in bytes of the contiguous pieces of memory that a request touches."""
    return [end - start for start, end in list_pieces(sample)]


TYPE_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


def read_width(ptx: str) -> int | None:
    """Bytes that a PTX load or store moves for a lane: ld.shared.v2.f32 -> 8; None if unknown."""
    opcode = re.sub(r"^@!?%\w+\s+", "", ptx.strip()).partition(" ")[0].partition("\t")[0]
    kind = re.search(r"\.[a-z]+?x?(8|16|32|64|128)(?:x2)?$", opcode)
    if kind is None:
        return None
    many = 4 if ".v4" in opcode else 2 if ".v2" in opcode else 1
    return many * TYPE_BYTES[kind[1]]


def count_cost(addresses: ArrayLike, width: int, mask: int, op: BankOp) -> tuple[int, int]:
    """(wavefronts, conflicts) by the bank rule."""
    lanes = numpy.asarray(addresses, dtype=numpy.uint64)
    access = _core.bank_access(lanes, width, mask=mask, op=op)
    return int(access.wavefronts), int(access.conflicts)


def rank_waste(sample: Sample) -> tuple[int, int, int]:
    """Sort key of recorded requests: conflicts of shared memory, then sectors or wavefronts."""
    if sample.space != "shared":
        needed = -(-sum(find_runs(sample)) // SECTOR)
        return (0, sample.cost - needed, sample.cost)
    wavefronts, conflicts = count_cost(sample.addresses, sample.bytes, sample.mask, sample.rule)
    if sample.op == "async":  # the cost of a copy depends on its source addresses too
        conflicts = max(0, conflicts + sample.cost - wavefronts)
    return (conflicts, 0, sample.cost)


def find_step(addresses: ArrayLike) -> int | None:
    """The most frequent distance in bytes between neighbouring lanes, or None."""
    steps = abs(numpy.diff(numpy.asarray(addresses, dtype=numpy.int64)))
    values, counts = numpy.unique(steps[steps > 0], return_counts=True)
    if not len(values) or 2 * counts.max() <= counts.sum():
        return None
    return int(values[counts.argmax()])


def find_pitch(addresses: NDArray[numpy.int64], width: int) -> int | None:
    """The distance in bytes between rows: that of neighbouring lanes, or of the starts of runs."""
    step = find_step(addresses)
    if step != width:
        return step
    starts = addresses[numpy.diff(addresses, prepend=addresses[0] - 2 * width) != width]
    return find_step(starts) or step


def try_cures(sample: Sample, element: int) -> list[tuple[str, int]]:
    """(words, wavefronts) of each pad or swizzle that removes a request's conflicts."""
    lanes = numpy.array([int(address) for address in sample.addresses], dtype=numpy.int64)
    active = [lane for lane, _ in sample.active()]
    width = sample.bytes
    pitch = find_pitch(lanes[active], width)
    if pitch is None or pitch % element or pitch < element:
        return []
    low = lanes[active].min()
    offset = numpy.zeros(32, dtype=numpy.int64)
    offset[active] = lanes[active] - low
    low -= low // 128 * 128
    row, column = offset // pitch, offset % pitch
    trials = [
        (
            f"one pad element ({element} bytes) a row of {pitch} bytes",
            offset + row * element,
            element,
        )
    ]
    if width > element:
        trials.append(
            (
                f"{width} pad bytes a row of {pitch} bytes, which keeps the {width}-byte accesses",
                offset + row * width,
                width,
            )
        )
    if pitch < 128 and width == element:
        trials.append(
            (
                f"one spare element ({element} bytes) after every {128 // element} elements, "
                f"index i + i / {128 // element}",
                offset + offset // 128 * element,
                element,
            )
        )
    chunks = pitch // width
    if chunks > 1 and chunks & (chunks - 1) == 0 and pitch % width == 0:
        moved = row * pitch + ((column // width) ^ (row % chunks)) * width + column % width
        trials.append(("an xor swizzle (column ^ row)", moved, width))
    cures = []
    for words, moved, size in trials:
        parts = [
            count_cost(low + moved + start, size, sample.mask, sample.rule)
            for start in range(0, width, size)
        ]
        if not any(conflicts for _, conflicts in parts):
            cures.append((words, sum(wavefronts for wavefronts, _ in parts)))
    spared = [cure for cure in cures if cure[0].startswith("one spare")]
    # No rows, but a step between lanes, and other steps at other times: as in a tree.
    if spared and pitch < BANKED and width < 16:
        cures = spared
    return cures or try_wider_pads(sample, low + offset, row, element, pitch)


def try_wider_pads(
    sample: Sample,
    addresses: NDArray[numpy.int64],
    row: NDArray[numpy.int64],
    element: int,
    pitch: int,
) -> list[tuple[str, int]]:
    """The smallest pad up to a whole period that removes the conflicts, as in try_cures."""
    for count in range(2, BANKED // math.gcd(element, BANKED) + 1):
        pad = count * element
        if pad % sample.bytes == 0:
            moved = addresses + row * pad
            wavefronts, conflicts = count_cost(moved, sample.bytes, sample.mask, sample.rule)
            if not conflicts:
                return [(f"{count} pad elements ({pad} bytes) a row of {pitch} bytes", wavefronts)]
    return []


ADDRESS = re.compile(r"\[\s*(%\w+)\s*(?:\+\s*(-?\d+))?\s*\]")


DEFINITION = re.compile(r"^\s*([a-z][\w.]*)\s+(%\w+)\s*,\s*(.*?)\s*;")


def find_row_bytes(ptx: Sequence[str], ptx_line: int, register: str) -> int | None:
    """The row length in bytes from which an address is computed, where it is odd; else None.

    Follows the register's definitions up the text, through additions and shifts, to a product with
    a constant that is no power of two.
    """
    made: dict[str, tuple[str, list[str]]] = {}
    for text in reversed(ptx[: ptx_line - 1]):
        if text.startswith("{"):
            break
        found = DEFINITION.match(text)
        if found:
            made.setdefault(found[2], (found[1], [part.strip() for part in found[3].split(",")]))
    pending = [(register, 1)]
    seen: set[str] = set()
    while pending:
        name, scale = pending.pop()
        if name in seen or name not in made:
            continue
        seen.add(name)
        opcode, operands = made[name]
        base = opcode.partition(".")[0]
        constants = [int(part) for part in operands if re.fullmatch(r"\d+", part)]
        if base in ("mul", "mad") and len(operands) > 1 and operands[1].isdigit():
            factor = int(operands[1])
            if factor & (factor - 1):
                return factor * scale
            pending += [(operands[0], scale * factor), *((part, scale) for part in operands[2:])]
        elif base == "shl" and constants and constants[0] < 16:
            pending.append((operands[0], scale << constants[0]))
        elif base in ("add", "sub", "mov", "cvt", "cvta", "or"):
            pending += [(part, scale) for part in operands if part.startswith("%")]
    return None


def compare_padding(sample: Sample, pitch: int, width: int) -> tuple[int, int | None]:
    """Wavefronts for 16 bytes a lane: now, and of one load without the pad (or None)."""
    lanes = numpy.zeros(32, dtype=numpy.int64)
    for lane, address in sample.active():
        lanes[lane] = address
    active = [lane for lane, _ in sample.active()]
    offset = lanes - lanes[active].min()
    row, column = offset // pitch, offset % pitch
    if (column[active] % 16).any():
        return 0, None
    moved = numpy.where(offset < 0, 0, row * (pitch - width) + column)
    now = 16 // width * count_cost(sample.addresses, width, sample.mask, "load")[0]
    wavefronts, conflicts = count_cost(moved, 16, sample.mask, "load")
    return now, None if conflicts else wavefronts


def count_crowd(sample: Sample) -> int:
    """The largest number of lanes of a request on one address."""
    addresses = [address for _, address in sample.active()]
    return max((addresses.count(address) for address in set(addresses)), default=0)
