"""Reuse in the caches, from what a few blocks touch.

Assumptions: the blocks that are resident together run in lock step, and so do the warps of a block.
Then a sector that a block has touched is in its L1 cache for as long as it is needed again, also by
other blocks of its multiprocessor, a
sector that several blocks touch is read from memory once for all blocks that are resident
together, and the L2 cache keeps from one wave of blocks to the next what fits into it.

An access touches ranges that begin at an address which depends on the block's index: where that
is an affine function of it, which a fit finds, the addresses of all other blocks follow.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Triple = tuple[int, int, int]
    Fit = tuple[int, list[int], NDArray[numpy.float64], NDArray[numpy.float64]]

SECTOR, LINE = 32, 128
SECTORS_OF_LINE = LINE // SECTOR
SCATTERED = 8  # lines of an average request from which on its lanes are not neighbours
# A cold cache is full of what others have written last: this share of its bytes must go to memory
# before a launch can use their room (an H200 after a fill; "evicted" of rates_h200.json in tests).
DIRTY = 0.67
WIDTH_MOST = 1024  # that is tried, where a kernel may take two indices from x
NOTED_ALL = 16  # blocks, up to which each is noted (csrc/sim/profile/footprint.c)
SPARE = 2  # more blocks than unknowns, so that a width is not fitted by chance
POINTS_MOST = 1 << 14  # of blocks whose addresses are computed; of more, evenly spread ones


@dataclass(frozen=True, eq=False)
class Access:
    """What one access of the counted blocks touches.

    blocks: linear indices. low, high: for each of them, the first byte and the one behind the last.
    sectors: those that no other access of a block touches, for each block; pairs: the same of 64
    bytes. crowds: of atomics, for each block the line from which on 512 bytes have most passes
    of its atomics, and how many. waves, lines, requests, serial, waits: sums over the blocks;
    waves: passes through the L1 cache, of which each serves a bank once and looks up four lines;
    serial: of atomics, lanes that meet at one address, at most, for each request and sector; waits:
    requests of which the warp had not touched some sector before.
    """

    instruction: int
    writes: bool
    blocks: Sequence[int]
    low: Sequence[int]
    high: Sequence[int]
    sectors: Sequence[int]
    pairs: Sequence[int]
    crowds: Sequence[tuple[int, int]]
    waves: int
    lines: int
    requests: int
    serial: int
    waits: int


def collect_accesses(
    rows: Iterable[tuple[int, int, bool, *tuple[int, ...]]],
) -> list[Access]:
    """The rows of a launch's footprint, by access."""
    found: dict[tuple[int, bool], list[tuple[int, ...]]] = {}
    for block, instruction, writes, *rest in rows:
        found.setdefault((instruction, writes), []).append((block, *rest))
    accesses = []
    for (instruction, writes), parts in sorted(found.items()):
        blocks, low, high, sectors, pairs, places, crowds, *sums = zip(*sorted(parts), strict=True)
        accesses.append(
            Access(
                instruction,
                writes,
                blocks,
                low,
                high,
                sectors,
                pairs,
                tuple(zip(places, crowds, strict=True)),
                *map(sum, sums),
            )
        )
    return accesses


def count_noted(facts: Mapping[str, Any]) -> int:
    """The counted blocks of which the footprint has what they touch: a few, where many ran."""
    blocks: int = facts["blocks"]
    noted = len({row[0] for row in facts.get("footprint", ())})
    return blocks if blocks <= NOTED_ALL else max(noted, 1)


class Steps(NamedTuple):
    """How an access moves with its block: bytes for x % width, x // width, y and z of the index.

    width is that of the grid but where the kernel takes two indices from x.
    """

    width: int
    bytes: tuple[float, float, float, float]


def split_index(numbers: NDArray[numpy.int64], grid: Triple, width: int) -> NDArray[numpy.float64]:
    """x % width, x // width, y and z of linear indices of blocks, and 1, as columns."""
    x, rest = numbers % grid[0], numbers // grid[0]
    columns = [x % width, x // width, rest % grid[1], rest // grid[1], numpy.ones_like(x)]
    return numpy.stack(columns, 1).astype(float)


def list_fits(blocks: tuple[int, ...], grid: Triple) -> Iterator[Fit]:
    """(width, columns that vary, their values, pseudoinverse) of all widths that blocks tell.

    Blocks on a diagonal tell none. A width other than the grid's must be told by more blocks than
    there are unknowns.
    """
    most = min(grid[0] // 2, WIDTH_MOST)
    for width in (grid[0], *(each for each in range(2, most + 1) if grid[0] % each == 0)):
        found = find_fit(blocks, grid, width)
        if found is not None:
            yield found


@functools.lru_cache(maxsize=1024)
def find_fit(blocks: tuple[int, ...], grid: Triple, width: int) -> Fit | None:
    """As list_fits, of one width; None where the blocks do not tell it."""
    index = split_index(numpy.asarray(blocks, numpy.int64), grid, width)
    varies = (width > 1, width < grid[0], grid[1] > 1, grid[2] > 1, True)
    used = [axis for axis in range(5) if varies[axis]]
    chosen = index[:, used]
    spare = len(blocks) - len(used)
    if spare < (0 if width == grid[0] else SPARE):
        return None
    if numpy.linalg.matrix_rank(chosen) < len(used):
        return None
    return width, used[:-1], chosen, numpy.asarray(numpy.linalg.pinv(chosen), numpy.float64)


@functools.lru_cache(maxsize=1024)
def fit_origin(access: Access, grid: Triple) -> Steps | None:
    """How the access moves with its block; None where that is no affine function of its index."""
    if max(grid[1:]) == 1 and len(access.blocks) < grid[0] and is_sequence(access):
        return None  # blocks take numbers in turn: those that were counted have the first ones
    low = numpy.asarray(access.low, float)
    for width, used, chosen, inverse in list_fits(tuple(access.blocks), grid):
        steps = inverse @ (low - low[0])
        steps[:-1] = numpy.round(steps[:-1])  # addresses are whole numbers, and their distances
        missed = chosen @ steps - (low - low[0])
        if missed.max() - missed.min() <= SECTOR:
            whole = dict(zip(used, steps[:-1].tolist(), strict=True))
            return Steps(width, tuple(whole.get(axis, 0.0) for axis in range(4)))
    return None


def is_sequence(access: Access) -> bool:
    """Do the blocks touch ranges one behind the other, in whatever order?"""
    if len(access.low) < 2:
        return False
    extent = sum(access.high) / len(access.high) - sum(access.low) / len(access.low)
    steps = numpy.diff(sorted(access.low))
    return bool(steps.min() >= 0.5 * extent and steps.max() <= 1.5 * extent)


def count_union(access: Access, grid: Triple, first: int, count: int) -> tuple[float, bool]:
    """(sectors that so many consecutive blocks touch together, whether this is known).

    Where the addresses are no affine function of the block, the range that the counted blocks
    have touched tells more: where they fill it, one behind the other, so do the others (blocks that
    take numbers in turn); else other blocks touch random parts of it.
    """
    mine = sum(access.sectors) / len(access.blocks)  # of an average block
    extents = [high - low for low, high in zip(access.low, access.high, strict=True)]
    extent = sum(extents) / len(extents)
    if mine == 0 or count <= 1:
        return mine, True
    steps = fit_origin(access, grid)
    if steps is None:
        room = max((max(access.high) - min(access.low)) / SECTOR, mine)
        if is_sequence(access):
            return mine * count, False
        everything = len(access.blocks) >= math.prod(grid)
        return room * -math.expm1(-mine * count / room), everything
    distinct, width = count_origins(steps, grid, first, count)
    return min(distinct * mine, max((width + extent) / SECTOR, mine)), True


def find_origins(
    steps: Steps, grid: Triple, numbers: NDArray[numpy.int64]
) -> NDArray[numpy.float64]:
    """Where the access of each block begins, in bytes from that of the first one."""
    x, rest = numbers % grid[0], numbers // grid[0]
    low, high, y, z = steps.bytes
    origins = numpy.zeros(len(numbers))
    if low:
        origins += low * (x % steps.width)
    if high:
        origins += high * (x // steps.width)
    if y:
        origins += y * (rest % grid[1])
    if z:
        origins += z * (rest // grid[1])
    return origins


def count_distinct(numbers: NDArray[numpy.float64]) -> int:
    """How many different numbers there are; numpy.unique would import its masked arrays first.

    >>> count_distinct(numpy.array([2.0, 1.0, 2.0]))
    2
    """
    ordered = numpy.sort(numbers)
    return 1 + int(numpy.count_nonzero(ordered[1:] != ordered[:-1]))


@functools.lru_cache(maxsize=256)
def count_origins(steps: Steps, grid: Triple, first: int, count: int) -> tuple[int, float]:
    """(sectors in which an access of consecutive blocks begins, bytes between the outer ones)."""
    numbers = numpy.linspace(0, count - 1, min(count, POINTS_MOST)).astype(numpy.int64)
    origins = find_origins(steps, grid, first + numbers)
    distinct = count_distinct(origins // SECTOR)
    if distinct > 0.9 * len(numbers):
        distinct = distinct * count // len(numbers)
    return distinct, float(origins.max() - origins.min())


def bound_unions(
    accesses: Sequence[Access], grid: Triple, first: int, count: int
) -> dict[int, tuple[float, bool]]:
    """{id of the access: count_union of so many consecutive blocks}.

    Together, accesses whose addresses are no affine functions of the block touch no more than the
    ranges that the counted blocks have touched, and a part more for the blocks at the edges.
    """
    unions = {id(access): count_union(access, grid, first, count) for access in accesses}
    for writes in (False, True):
        guessed = [
            access
            for access in accesses
            if access.writes == writes and fit_origin(access, grid) is None
        ]
        ranges = sorted(
            pair for access in guessed for pair in zip(access.low, access.high, strict=True)
        )
        seen, end = 0, 0
        for low, high in ranges:
            seen += max(0, high - max(low, end))
            end = max(end, high)
        together = sum(unions[id(access)][0] for access in guessed)
        counted = max((len(access.blocks) for access in accesses), default=1)
        most = seen * (1 + 1 / counted) / SECTOR
        ticketed = any(unions[id(access)][0] * SECTOR > 2 * seen for access in guessed)
        if together > most and not ticketed:
            for access in guessed:
                unions[id(access)] = unions[id(access)][0] * most / together, unions[id(access)][1]
    return unions


def count_shared(access: Access, grid: Triple, multiprocessors: int, resident: int) -> float:
    """The share of an access's sectors that no other block of its multiprocessor has brought.

    Blocks are dealt out to multiprocessors one after the other, so that those which are resident
    together in one are as many blocks apart as there are multiprocessors.
    """
    steps, total = fit_origin(access, grid), math.prod(grid)
    count = min(resident, -(-total // multiprocessors))
    if steps is None or count < 2:
        return 1.0
    first = max(0, (total - multiprocessors * count) // 2)
    numbers = first + multiprocessors * numpy.arange(count)
    origins = find_origins(steps, grid, numpy.minimum(numbers, total - 1))
    return count_distinct(origins // SECTOR) / count


def is_scattered(access: Access, grid: Triple) -> bool:
    """Do the lanes of a warp touch sectors anywhere, as in gathers?"""
    return fit_origin(access, grid) is None and access.lines > SCATTERED * access.requests


def find_missing(room: float, touched: float, beside: float, kept: float) -> float:
    """The share of random sectors that a cache lacks when they are read.

    room: lines of which each is as likely. touched: reads of their sectors. beside: other lines
    that come in with each of them. kept: lines that the cache has place for. A line stays until
    `kept` others have come in behind its last read (H. Che, Y. Tung, Z. Wang, Hierarchical Web
    Caching Systems, 2002), and as long a sector of it that has been read.

    >>> find_missing(1000, 1e6, 0.0, 2000) < 0.01, round(find_missing(1000, 1e6, 0.0, 500), 2)
    (True, 0.8)
    """
    low, high = 0.0, touched  # reads until a line that nobody reads again is gone
    for _ in range(40):
        middle = (low + high) / 2
        if room * -math.expm1(-middle / room) + beside * middle > kept:
            high = middle
        else:
            low = middle
    sectors = SECTORS_OF_LINE * room
    first = sectors * -math.expm1(-low / sectors)  # while nothing is gone
    there = -math.expm1(-low / room)  # the line; of four reads before one was of this sector
    hit = there / SECTORS_OF_LINE / (1 - there * (1 - 1 / SECTORS_OF_LINE))
    return min(1.0, (first + (touched - low) * (1 - hit)) / max(touched, 1e-9))


@dataclass(frozen=True)
class Traffic:
    """What a launch moves, and how its loads are answered.

    read: sectors from the L2 cache to the L1 caches. store_waves: passes of stores through the
    L1 cache. dram_read, dram_written: bytes between the L2 cache and memory. repeated: of
    those that are read, what an earlier wave of blocks has read and the cache has not kept, as far
    as addresses are known. footprint: bytes that the launch touches. miss: the share of loads that
    wait for the L2 cache or memory. far: of these, the share that waits for memory. lines: that
    loads name, by which the L1 cache looks up. scattered: the share of the traffic with memory that
    is single sectors anywhere.
    known: False where the addresses of blocks that were not counted are guessed.
    """

    read: float
    store_waves: float
    dram_read: float
    dram_written: float
    footprint: float
    miss: float
    far: float
    lines: float
    waves: float
    scattered: float
    known: bool
    repeated: float = 0.0


def find_lacking(
    loads: Sequence[Access],
    near: Mapping[int, float],
    grid: Triple,
    multiprocessors: int,
    near_bytes: float,
) -> dict[int, float]:
    """{id of a gather: the share of its sectors that the L1 cache lacks}.

    near: {id of a load: sectors that all its blocks touch}. Other blocks of a multiprocessor have
    brought what random lanes read, as long as it has place.
    """
    found = {}
    whole = sum(near.values())
    for access in loads:
        if near_bytes and near[id(access)] and is_scattered(access, grid):
            room = max((max(access.high) - min(access.low)) / LINE, 1.0)
            touched = near[id(access)] / multiprocessors
            beside = (whole / near[id(access)] - 1) / SECTORS_OF_LINE
            found[id(access)] = find_missing(room, touched, beside, near_bytes / LINE)
    return found


def find_traffic(
    accesses: Sequence[Access],
    grid: Triple,
    counted: int,
    resident: int,
    cache_bytes: float,
    warm: bool,
    whole_cache: float = 0.0,
    multiprocessors: int = 1,
    near_bytes: float = 0.0,
) -> Traffic:
    """The traffic of a launch.

    counted: blocks that were counted. resident: blocks that run at once. cache_bytes: of the L2
    cache, what data can fill. warm: the call has just run before, so that what fits is there.
    whole_cache: bytes of the L2 cache. multiprocessors: that have these blocks. near_bytes: of the
    L1 cache of one.
    """
    total = math.prod(grid)
    wave = min(resident, total)
    scale = total / counted
    loads = [access for access in accesses if not access.writes]
    stores = [access for access in accesses if access.writes]
    unions = bound_unions(accesses, grid, 0, total)
    wave_unions = bound_unions(accesses, grid, (total - wave) // 2, wave)
    shares = {id(access): len(access.blocks) / counted for access in accesses}
    footprint = sum(unions[id(each)][0] * shares[id(each)] * SECTOR for each in accesses)
    fits = footprint <= cache_bytes
    dram_read = anywhere = repeated = 0.0
    for access in loads if not (fits and warm) else []:
        whole = unions[id(access)][0] * shares[id(access)]
        moved = sum(access.sectors) * scale
        if fits:
            again = whole
        elif is_scattered(access, grid):  # any sector may still be there
            again = max(whole, moved * (1.0 - cache_bytes / footprint))
        else:  # the same ranges again and again, one wave of blocks after the other
            in_wave = wave_unions[id(access)][0] * shares[id(access)]
            kept = max(0.0, 1.0 - in_wave * SECTOR / cache_bytes)
            again = whole + max(in_wave * total / wave - whole, 0.0) * (1.0 - kept)
            again = min(again, max(moved, whole))
        fetched = again * 2 * SECTOR * sum(access.pairs) / max(sum(access.sectors), 1)
        dram_read += fetched
        anywhere += fetched if is_scattered(access, grid) else 0.0
        if again > whole and fit_origin(access, grid) is not None:
            repeated += fetched * (1 - whole / again)
    requests = sum(access.requests for access in loads)
    waits = sum(access.waits for access in loads)
    written = sum(unions[id(each)][0] * shares[id(each)] * SECTOR for each in stores)
    moved_bytes, evicted = dram_read + written, 0.0
    if not warm and whole_cache and moved_bytes:  # what others wrote goes; of ours, some stays
        left = min(DIRTY, written / moved_bytes)
        evicted = (DIRTY - left) * whole_cache * -math.expm1(-moved_bytes / whole_cache)
    near = {
        id(access): scale
        * sum(access.sectors)
        * count_shared(access, grid, multiprocessors, resident // multiprocessors)
        for access in loads
    }
    lacking = find_lacking(loads, near, grid, min(multiprocessors, total), near_bytes)
    return Traffic(
        read=sum(near[id(access)] * lacking.get(id(access), 1.0) for access in loads),
        store_waves=sum(access.waves for access in stores) * scale,
        dram_read=dram_read,
        dram_written=evicted + (0.0 if fits else written),
        footprint=footprint,
        miss=waits / requests if requests else 0.0,
        far=0.0 if fits and warm else 1.0,
        lines=sum(access.lines for access in loads) * scale,
        waves=sum(access.waves for access in loads) * scale,
        scattered=anywhere / max(dram_read + evicted + (0.0 if fits else written), 1.0),
        known=all(sure for _, sure in unions.values()),
        repeated=repeated,
    )
