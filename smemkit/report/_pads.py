"""Pads and swizzles of a shared array with rows, tried on all requests that were recorded of it.

A pad moves every access of the array, so one that mends a load may spoil a store: the sum over all
accesses decides, each by its costliest request and the number of its executions.
"""

from dataclasses import dataclass

import numpy

from .._declarations import fit_shared_array
from ._variables import read_names
from .counts import say_count
from .what_if import BANKED, count_cost, read_width

MOST_REQUESTS = 32  # of the costliest accesses of an array
WORTH = 0.8  # of the wavefronts at most are left, where not all conflicts go


@dataclass(frozen=True)
class SharedArray:
    """A shared array of two dimensions or more: its place, and how the source declares it."""

    name: str
    offset: int
    size: int  # bytes of an element
    lengths: tuple

    @property
    def pitch(self):
        """Bytes of a row."""
        return self.size * self.lengths[-1]

    def declare(self, pad=0):
        """As the source has it, with a pad behind each row."""
        lengths = (*self.lengths[:-1], self.lengths[-1] + pad)
        return self.name + "".join(f"[{length}]" for length in lengths)


def find_array(kernel, sample):
    """The SharedArray in which a request lies, or None: it has no rows, or is not known."""
    addresses = [address for _, address in sample.active()]
    launch = next((one for one in kernel.launches if one.kernel == sample.kernel), None)
    rows = [row for row in launch.shared if row[1] <= min(addresses)] if launch else []
    if not rows:
        return None
    name, offset, nbytes = max(rows, key=lambda row: row[1])
    if not nbytes or max(addresses) + sample.bytes > offset + nbytes:
        return None
    text = "\n".join(kernel.sources.lines(sample.file) or [])
    array = fit_shared_array(text, read_names(name), nbytes) if text else None
    if array is None or len(array.lengths) < 2 or not array.bytes:
        return None
    return SharedArray(read_names(name), offset, array.bytes, array.lengths)


def guess_array(kernel, sample, element, pitch):
    """As find_array, of rows that the source does not declare, but a request walks through."""
    first = min(address for _, address in sample.active())
    launch = next((one for one in kernel.launches if one.kernel == sample.kernel), None)
    rows = [row for row in launch.shared if row[1] <= first] if launch else []
    name, offset, _ = max(rows, key=lambda row: row[1], default=("", 0, 0))
    return SharedArray(read_names(name), offset, element, (0, pitch // element))


def is_worth(kernel, sample, array, pad):
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
    pitch, wide = array.pitch, array.pitch + pad * array.size
    now = _try(requests, array, "", lambda at: at)
    then = _try(requests, array, "", lambda at: at // pitch * wide + at % pitch)
    return now is not None and then is not None and then.wavefronts < now.wavefronts


@dataclass
class Request:
    """A recorded request as offsets in the array; weight: executions of its access."""

    offsets: numpy.ndarray
    active: list
    sample: object
    part: int  # bytes of what the source accesses at once; more only where ptxas fused accesses
    weight: int

    def cost(self, array, move):
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
        return tuple(sum(numbers) for numbers in zip(*parts, strict=True))


def _list_requests(kernel, array):
    """The requests of an array (None: of all shared memory), without those that do the same."""
    requests = {}
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
    costs: tuple = ()  # (wavefronts, conflicts) by request


def _try(requests, array, words, move, pad=0):
    costs = [request.cost(array, move) for request in requests]
    if None in costs:
        return None
    sums = [
        sum(request.weight * cost[i] for request, cost in zip(requests, costs, strict=True))
        for i in range(2)
    ]
    return Cure(words, *sums, pad, tuple(costs))


def _list_pads(requests, array):
    """Each pad up to a whole period of the banks."""
    pitch, size = array.pitch, array.size
    for pad in range(1, BANKED // numpy.gcd(size, BANKED) + 1):
        wide = pitch + pad * size
        elements = "1 element" if pad == 1 else f"{pad} elements"
        words = (
            f"declare {array.declare(pad)} in place of {array.declare()}, a pad of {elements} "
            f"({say_count(pad * size, 'byte')}) behind each row"
        )
        cure = _try(
            requests, array, words, lambda at, wide=wide: at // pitch * wide + at % pitch, pad
        )
        if cure is not None:
            yield cure


def _list_swizzles(requests, array):
    """Columns by exclusive or with the row: by elements, or by the widest accesses."""
    pitch, widths = array.pitch, {array.size, max(one.sample.bytes for one in requests)}
    for chunk in sorted(widths):
        chunks = pitch // chunk
        if pitch % chunk or chunks < 2 or chunks & (chunks - 1):
            continue

        def move(at, chunk=chunk, chunks=chunks):
            row, column = at // pitch, at % pitch
            return row * pitch + (column // chunk ^ row % chunks) * chunk + column % chunk

        unit = "column" if chunk == array.size else f"column in pieces of {chunk} bytes"
        cure = _try(requests, array, f"an xor swizzle ({unit} ^ row)", move)
        if cure is not None:
            yield cure


def find_cures(kernel, array):
    """(what is now, cures, best first): those without conflicts, or the one that leaves least."""
    requests = _list_requests(kernel, array)
    now = _try(requests, array, "", lambda at: at)
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
