"""Pads and swizzles of a shared array with rows, tried on all requests that were recorded of it.

A pad moves every access of the array, so one that mends a load may spoil a store: the sum over all
accesses decides, each by its costliest request and the number of its executions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from .._declarations import fit_shared_array
from .counts import say_count
from .variables import read_names
from .what_if import BANKED, count_cost, read_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    from ._captured import Variable
    from ._kernel import Kernel
    from .counts import Sample

    Offsets: TypeAlias = NDArray[numpy.int64]
    Move: TypeAlias = Callable[[Offsets], Offsets]  # from offsets in an array to other ones

MOST_REQUESTS = 32  # of the costliest accesses of an array
WORTH = 0.8  # of the wavefronts at most are left, where not all conflicts go


@dataclass(frozen=True)
class SharedArray:
    """A shared array of two dimensions or more: its place, and how the source declares it."""

    name: str
    offset: int
    size: int  # bytes of an element
    lengths: tuple[int, ...]

    @property
    def pitch(self) -> int:
        """Bytes of a row."""
        return self.size * self.lengths[-1]

    def declare(self, pad: int = 0) -> str:
        """As the source has it, with a pad behind each row."""
        lengths = (*self.lengths[:-1], self.lengths[-1] + pad)
        return self.name + "".join(f"[{length}]" for length in lengths)


def _find_variable(kernel: Kernel, sample: Sample) -> Variable | None:
    """The shared variable in which a request begins."""
    first = min(address for _, address in sample.active())
    launch = next((one for one in kernel.launches if one.kernel == sample.kernel), None)
    rows = [row for row in launch.shared if row[1] <= first] if launch else []
    return max(rows, key=lambda row: row[1], default=None)


def find_array(kernel: Kernel, sample: Sample) -> SharedArray | None:
    """The SharedArray in which a request lies, or None: it has no rows, or is not known."""
    addresses = [address for _, address in sample.active()]
    variable = _find_variable(kernel, sample)
    if variable is None:
        return None
    name, offset, nbytes = variable
    if not nbytes or max(addresses) + sample.bytes > offset + nbytes:
        return None
    text = "\n".join(kernel.sources.lines(sample.file) or [])
    array = fit_shared_array(text, read_names(name), nbytes) if text else None
    if array is None or not array.bytes:
        return None
    lengths = tuple(length for length in array.lengths if length is not None)  # all are known
    return SharedArray(read_names(name), offset, array.bytes, lengths) if lengths[1:] else None


def guess_array(kernel: Kernel, sample: Sample, element: int, pitch: int) -> SharedArray:
    """As find_array, of rows that the source does not declare, but a request walks through."""
    name, offset, _ = _find_variable(kernel, sample) or ("", 0, 0)
    return SharedArray(read_names(name), offset, element, (0, pitch // element))


def is_worth(kernel: Kernel, array: SharedArray, pad: int) -> bool:
    """Whether a pad makes all recorded accesses of a guessed array together cheaper."""
    ends = [row[1] for row in kernel.launches[0].shared if row[1] > array.offset]
    requests = [
        request
        for request in _list_requests(kernel, None)
        if array.offset
        <= min(address for _, address in request.sample.active())
        < min(ends, default=1 << 62)
    ]
    for request in requests:
        request.offsets = numpy.where(
            numpy.isin(numpy.arange(32), request.active), request.offsets - array.offset, 0
        )
    now = _try(requests, array, "", _stay)
    then = _try(requests, array, "", _pad_rows(array.pitch, pad * array.size))
    return now is not None and then is not None and then.wavefronts < now.wavefronts


@dataclass
class Request:
    """A recorded request as offsets in the array; weight: executions of its access."""

    offsets: Offsets
    active: list[int]
    sample: Sample
    part: int  # bytes of what the source accesses at once; more only where ptxas fused accesses
    weight: int

    def cost(self, array: SharedArray, move: Move) -> tuple[int, int] | None:
        """(wavefronts, conflicts) where `move` gives each element its offset; None: impossible."""
        width, part = self.sample.bytes, self.part
        starts = numpy.arange(0, width, part)
        moved = numpy.stack([move(self.offsets + start) for start in starts]) + array.offset
        places = moved[:, self.active]
        step = min(array.size, part)
        for start in range(step, part, step):  # an access of the source stays in one piece
            inner = numpy.stack([move(self.offsets + one + start) for one in starts])
            if (inner[:, self.active] + array.offset != places + start).any():
                return None
        if (places % part).any():
            return None
        if (places - places[0] == starts[:, None]).all() and not (places[0] % width).any():
            return count_cost(moved[0], width, self.sample.mask, self.sample.rule)
        parts = [count_cost(row, part, self.sample.mask, self.sample.rule) for row in moved]
        return sum(wavefronts for wavefronts, _ in parts), sum(conflicts for _, conflicts in parts)


def _list_requests(kernel: Kernel, array: SharedArray | None) -> list[Request]:
    """The requests of an array (None: of all shared memory), without those that do the same."""
    requests: dict[tuple[Any, ...], Request] = {}
    for facts in kernel.instructions:
        for op in ("load", "store", "async"):
            sample = kernel.sample(facts, "shared", op)
            if sample is None or (array is not None and find_array(kernel, sample) != array):
                continue
            executed = "async.copies" if op == "async" else f"shared.{op}.instructions"
            weight = facts["counters"].get(executed, 0)
            offsets = numpy.array([int(one) for one in sample.addresses], dtype=numpy.int64)
            active = [lane for lane, _ in sample.active()]
            idle = numpy.ones(32, dtype=bool)
            idle[active] = False
            start = 0 if array is None else array.offset
            offsets = numpy.where(idle, 0, offsets - start)
            part = min(read_width(facts["ptx"]) or sample.bytes, sample.bytes)
            key = (op, sample.bytes, sample.mask, part, tuple(offsets.tolist()))
            if key in requests:
                requests[key].weight += weight
            else:
                requests[key] = Request(offsets, active, sample, part, weight)
    found = sorted(requests.values(), key=lambda one: -one.weight * one.sample.cost)
    return found[:MOST_REQUESTS]


@dataclass(frozen=True)
class Cure:
    """What was tried: words, and the wavefronts and conflicts that it leaves of those recorded."""

    words: str
    wavefronts: int
    conflicts: int
    pad: int = 0  # elements
    costs: tuple[tuple[int, int], ...] = ()  # (wavefronts, conflicts) by request


def _try(
    requests: Sequence[Request], array: SharedArray, words: str, move: Move, pad: int = 0
) -> Cure | None:
    """What a move of an array's elements costs all its requests; None where one is impossible."""
    wavefronts = conflicts = 0
    costs = []
    for request in requests:
        cost = request.cost(array, move)
        if cost is None:
            return None
        wavefronts += request.weight * cost[0]
        conflicts += request.weight * cost[1]
        costs.append(cost)
    return Cure(words, wavefronts, conflicts, pad, tuple(costs))


def _stay(at: Offsets) -> Offsets:
    """The move that changes nothing."""
    return at


def _pad_rows(pitch: int, nbytes: int) -> Move:
    """The move of elements where so many bytes more stand behind each row."""
    return lambda at: at // pitch * (pitch + nbytes) + at % pitch


def _swizzle(pitch: int, chunk: int) -> Move:
    """The move of columns, in pieces of `chunk` bytes, by exclusive or with the row."""

    def move(at: Offsets) -> Offsets:
        row, column = at // pitch, at % pitch
        return row * pitch + (column // chunk ^ row % (pitch // chunk)) * chunk + column % chunk

    return move


def _list_pads(requests: Sequence[Request], array: SharedArray) -> Iterator[Cure]:
    """Each pad up to a whole period of the banks."""
    for pad in range(1, BANKED // math.gcd(array.size, BANKED) + 1):
        nbytes = pad * array.size
        elements = "1 element" if pad == 1 else f"{pad} elements"
        words = (
            f"declare {array.declare(pad)} in place of {array.declare()}, a pad of {elements} "
            f"({say_count(nbytes, 'byte')}) behind each row"
        )
        cure = _try(requests, array, words, _pad_rows(array.pitch, nbytes), pad)
        if cure is not None:
            yield cure


def _list_swizzles(requests: Sequence[Request], array: SharedArray) -> Iterator[Cure]:
    """Columns by exclusive or with the row: by elements, or by the widest accesses."""
    pitch, widths = array.pitch, {array.size, max(one.sample.bytes for one in requests)}
    for chunk in sorted(widths):
        chunks = pitch // chunk
        if pitch % chunk or chunks < 2 or chunks & (chunks - 1):
            continue
        unit = "column" if chunk == array.size else f"column in pieces of {chunk} bytes"
        words = f"an xor swizzle ({unit} ^ row)"
        cure = _try(requests, array, words, _swizzle(pitch, chunk))
        if cure is not None:
            yield cure


def find_cures(kernel: Kernel, array: SharedArray) -> tuple[Cure | None, list[Cure], list[Request]]:
    """What is now, cures (best first), and the requests on which they were tried.

    The cures are those without conflicts, or the one that leaves least.
    """
    requests = _list_requests(kernel, array)
    now = _try(requests, array, "", _stay)
    if now is None or not requests:
        return None, [], requests
    pads, swizzles = list(_list_pads(requests, array)), list(_list_swizzles(requests, array))
    clean = [cure for cure in pads if not cure.conflicts]
    if clean:
        least = min(cure.wavefronts for cure in clean)
        clean = [cure for cure in clean if cure.wavefronts == least][:1]
    clean += [cure for cure in swizzles if not cure.conflicts][:1]
    if clean:
        return now, clean, requests
    best = min(pads + swizzles, key=lambda cure: cure.wavefronts, default=None)
    if best is None or best.wavefronts > WORTH * now.wavefronts:
        return now, [], requests
    return now, [best], requests
