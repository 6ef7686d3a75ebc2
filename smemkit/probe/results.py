"""Results of probes: counts of the simulator, times of a GPU, and numbers derived from both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy

from ..report.counts import median

if TYPE_CHECKING:
    from typing import Any

    from .._types import Machine

LANES, SECTOR_BYTES = 32, 32


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What one kernel did: kernel, backend, counters (simulated), times_ms (of a GPU, or ())."""

    kernel: str
    backend: Machine
    counters: Mapping[str, Any] = field(repr=False)
    times_ms: tuple[float, ...] = field(repr=False, default=())

    @property
    def time_ms(self) -> float | None:
        """The median of times_ms; None without a GPU."""
        return median(self.times_ms)

    def _derive(self) -> dict[str, Any]:
        """{name: value} of the properties, which are derived from the fields."""
        names = [
            name
            for kind in reversed(type(self).__mro__)
            for name, value in vars(kind).items()
            if isinstance(value, property)
        ]
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write; derived numbers too."""
        facts = {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}
        return facts | {name: _plain(value) for name, value in self._derive().items()}

    def __str__(self) -> str:
        """The parameters, then the results, a line each."""
        shown = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.repr}
        shown |= {name: value for name, value in self._derive().items() if value is not None}
        shown = {name: f"{v:,.6g}" if isinstance(v, float) else v for name, v in shown.items()}
        width = max(map(len, shown))
        return "\n".join(f"{name:{width}}  {value}" for name, value in shown.items())


def _plain(value: Any) -> Any:
    """Mappings and tuples as dicts and lists; results of probes by their to_dict."""
    if isinstance(value, ProbeResult):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _per_ms(amount: float, time_ms: float | None, scale: float) -> float | None:
    """amount / time in units of `scale` a second; None without a time."""
    return amount / (time_ms * 1e-3) / scale if time_ms else None


@dataclass(frozen=True, kw_only=True)
class GlobalAccess(ProbeResult):
    """What probe.global_access found.

    Attributes
    ----------
    kernel, backend, dtype : str
    stride, offset : int
        In elements.
    random : bool
    elements : int
        Of the timed launch; without a GPU of the counted one.
    counters : Mapping
        Of the simulator.
    times_ms, time_ms : tuple, float or None
        The GPU's samples and their median; () and None without a GPU.

    Example
    -------
    >>> from smemkit import probe
    >>> probe.global_access(stride=8, backend="sim").sectors_per_request
    32.0
    """

    dtype: str
    stride: int
    offset: int
    random: bool
    elements: int

    @property
    def sectors_per_request(self) -> float:
        """Sectors of 32 bytes that an average read of a warp touched."""
        return float(self.counters["global.load.sectors_per_request"])

    @property
    def used_bytes(self) -> int:
        """Bytes that the kernel needs: each element read once and written once."""
        return 2 * self.elements * numpy.dtype(self.dtype).itemsize

    @property
    def moved_bytes(self) -> int:
        """Bytes of all sectors that its requests touch, by the counted sectors per request."""
        requests = self.elements / LANES
        stored = float(self.counters["global.store.sectors_per_request"])
        return round(requests * (self.sectors_per_request + stored) * SECTOR_BYTES)

    @property
    def used_gb_per_s(self) -> float | None:
        """Useful bytes a second, in GB/s; None without a GPU."""
        return _per_ms(self.used_bytes, self.time_ms, 1e9)

    @property
    def moved_gb_per_s(self) -> float | None:
        """Moved bytes a second, in GB/s; None without a GPU."""
        return _per_ms(self.moved_bytes, self.time_ms, 1e9)


@dataclass(frozen=True, kw_only=True)
class SharedAccess(ProbeResult):
    """Reads of shared memory; requests is how many a multiprocessor made while it was timed."""

    width: int
    requests: float = field(repr=False)

    @property
    def wavefronts_per_request(self) -> float:
        """Passes through shared memory that an average read of a warp took."""
        loads = self.counters["shared.load.instructions"]
        return float(self.counters["shared.load.wavefronts"] / loads)

    @property
    def conflicts_per_request(self) -> float:
        """Passes beyond those that the bytes need."""
        return float(self.counters["shared.load.conflicts_per_request"])

    @property
    def ns_per_request(self) -> float | None:
        """Nanoseconds of a multiprocessor for one read of a warp; None without a GPU."""
        return self.time_ms * 1e6 / self.requests if self.time_ms else None


@dataclass(frozen=True, kw_only=True)
class BankAccess(SharedAccess):
    """What probe.bank_access found.

    Attributes
    ----------
    kernel, backend : str
    stride : int
        Between neighbouring lanes, in elements.
    width : int
        Bytes of an element.
    requests : float
        How many a multiprocessor made while it was timed.
    counters : Mapping
        Of the simulator.
    times_ms, time_ms : tuple, float or None
        The GPU's samples and their median; () and None without a GPU.

    Example
    -------
    >>> from smemkit import probe
    >>> found = probe.bank_access(2, backend="sim")
    >>> found.wavefronts_per_request, found.conflicts_per_request
    (2.0, 1.0)
    """

    stride: int


@dataclass(frozen=True, kw_only=True)
class RowColumn:
    """What probe.row_column found.

    Attributes
    ----------
    padded : bool
        Whether the tile has one more column.
    width : int
        Bytes of an element.
    row, column : SharedAccess
        The reads of rows and of columns, with wavefronts_per_request, conflicts_per_request,
        ns_per_request (None without a GPU), counters and times_ms.

    Example
    -------
    >>> from smemkit import probe
    >>> probe.row_column(backend="sim").wavefronts_ratio
    32.0
    """

    padded: bool
    width: int
    row: SharedAccess
    column: SharedAccess

    @property
    def wavefronts_ratio(self) -> float:
        """Passes of a column read for each of a row read."""
        return self.column.wavefronts_per_request / self.row.wavefronts_per_request

    @property
    def time_ratio(self) -> float | None:
        """Time of columns over that of rows; None without a GPU."""
        row, column = self.row.time_ms, self.column.time_ms
        return column / row if row and column is not None else None

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        names = ("padded", "width", "row", "column", "wavefronts_ratio", "time_ratio")
        return {name: _plain(getattr(self, name)) for name in names}


@dataclass(frozen=True, kw_only=True)
class Divergence(ProbeResult):
    """What probe.divergence found.

    Attributes
    ----------
    kernel, backend, pattern : str
    elements, steps : int
        Of the timed launch; without a GPU of the counted one.
    counters : Mapping
        Of the simulator.
    times_ms, time_ms : tuple, float or None
        The GPU's samples and their median; () and None without a GPU.

    Example
    -------
    >>> from smemkit import probe
    >>> probe.divergence("warp", backend="sim").divergent_branches
    0
    """

    pattern: str
    elements: int
    steps: int

    @property
    def divergent_branches(self) -> int:
        """Branches at which the lanes of a warp parted, in the counted launch."""
        return int(self.counters["branch.divergent"])

    @property
    def active_lanes(self) -> float:
        """Lanes of 32 that an average instruction had work for."""
        return float(self.counters["instructions.active_lanes"])

    @property
    def steps_per_s(self) -> float | None:
        """Steps of all elements a second; None without a GPU."""
        return _per_ms(self.elements * self.steps, self.time_ms, 1)


@dataclass(frozen=True, kw_only=True)
class Latency:
    """What probe.latency found; it needs a GPU.

    Attributes
    ----------
    level : str
    footprint_bytes : int
        Of the ring that is walked.
    steps : int
        Dependent reads of a sample.
    samples_ns : tuple of float
        Nanoseconds of one read, a sample each; ns is their median.

    Example
    -------
    >>> from smemkit import probe
    >>> probe.Latency(level="l2", footprint_bytes=1 << 22, steps=4096, samples_ns=(190.0, 210.0)).ns
    200.0
    """

    level: str
    footprint_bytes: int
    steps: int
    samples_ns: tuple[float, ...] = field(repr=False)

    @property
    def ns(self) -> float:
        """The median of samples_ns; NaN without samples."""
        middle = median(self.samples_ns)
        return math.nan if middle is None else middle

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        facts = {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}
        return facts | {"ns": self.ns}


@dataclass(frozen=True, kw_only=True)
class SharedLimits:
    """What probe.shared_limits found: each size ran and gave the right result.

    Attributes
    ----------
    backend : str
    static_bytes, dynamic_bytes, optin_bytes : int
        Static, dynamic without opt-in, dynamic with it.
    mixed_static_bytes, mixed_dynamic_bytes : int
        With which a kernel with both kinds ran.
    refusal : str
        What one word more brought.
    carveout_bytes : int or None
        The part of the L1 cache that one block of the largest kernel needs as shared memory; None
        where the machine has no such table.
    carveout_percents : tuple of int
        The preferences with which that kernel ran too: a preference is a wish, and a launch gets
        what it needs.

    Example
    -------
    >>> from smemkit import probe
    >>> found = probe.shared_limits(backend="sim")
    >>> found.static_bytes, found.optin_bytes
    (49152, 232448)
    """

    backend: Machine
    static_bytes: int
    dynamic_bytes: int
    optin_bytes: int
    mixed_static_bytes: int
    mixed_dynamic_bytes: int
    refusal: str
    carveout_bytes: int | None
    carveout_percents: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}
