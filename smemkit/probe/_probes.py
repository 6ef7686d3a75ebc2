"""The probes: small kernels of csrc/kernels/probe, launched with chosen access patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from .. import _core
from .._whole_numbers import read_int
from ..report.capture import REPEATS, WARM_UPS
from .results import (
    LANES,
    BankAccess,
    Divergence,
    GlobalAccess,
    Latency,
    RowColumn,
    SharedAccess,
    SharedLimits,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, TypeAlias, TypedDict, TypeVar

    from numpy.typing import DTypeLike, NDArray

    from .._core import DeviceArray, RawKernel
    from .._facts import DeviceInfo
    from .._types import Backend, Machine
    from ..report import Counters

    Arguments: TypeAlias = tuple[numpy.ndarray[Any, Any] | DeviceArray | int, ...]
    MakeLaunch: TypeAlias = Callable[[], tuple[int, Arguments]]  # grid and arguments
    Choice = TypeVar("Choice", bound=str | int)

    class Measured(TypedDict):
        """The fields of a ProbeResult."""

        kernel: str
        backend: Machine
        counters: Counters
        times_ms: tuple[float, ...]

    class SharedMeasured(Measured):
        """The fields of a SharedAccess."""

        width: int
        requests: float


COUNTED = 1 << 14  # elements of a counted launch; the cost of a request does not depend on it
TIMED_BYTES = 1 << 28  # of memory that a timed launch reads: more than any cache holds
THREADS, LINE_BYTES = 256, 128
PATTERNS = {
    "lane": "branch_lane",
    "warp": "branch_warp",
    "random": "branch_random",
    "lane_grouped": "lane_grouped",
    "lane_selected": "lane_selected",
    "random_grouped": "random_grouped",
}
CARVEOUT_PERCENTS = (0, 50, 100)  # of the L1 storage, as preferences of the largest launch
LEVELS = ("shared", "l1", "l2", "global")
NO_CLOCK = (
    "probe.latency measures time, and the simulator has no clock: it executes and counts, but its "
    "running time says nothing about a GPU's; this probe needs a GPU"
)


# Running -----------------------------------------------------------------------------------------


def _choose(backend: Backend | None) -> Machine:
    """ "cuda" or "sim": the machine of a call with that keyword."""
    return _core.empty(1, "uint8", backend=backend).backend


def _whole(name: str, value: object, least: int, most: int = 2**31 - 1) -> int:
    """The argument as an int in [least, most]."""
    number = read_int(value)
    if number is None:
        raise _core.ArgumentTypeError(f"{name} must be an int, not {value!r}")
    if not least <= number <= most:
        raise _core.ArgumentError(f"{name} is {number}; accepted is {least} to {most}")
    return number


def _one_of(name: str, value: Choice, accepted: Collection[Choice]) -> Choice:
    if not isinstance(value, str | int) or isinstance(value, bool) or value not in accepted:
        words = ", ".join(map(repr, accepted))
        raise _core.ArgumentError(f"{name} is {value!r}; accepted: {words}")
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool | numpy.bool_):
        raise _core.ArgumentTypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def _count(kernel: RawKernel, grid: int, args: Arguments) -> Counters:
    """Counters of a launch on the simulator."""
    return kernel.profile(grid, THREADS, args, backend="sim").counters


def _time_once(kernel: RawKernel, grid: int, block: int, args: Arguments) -> float:
    """Milliseconds of a launch on the GPU, between two events."""
    options = {"backend": "cuda"}
    return _core._capture("time", kernel, (grid, block, args), options, 0, True)[1][0]["time_ms"]


def _time(kernel: RawKernel, grid: int, args: Arguments) -> tuple[float, ...]:
    """All samples of a launch on the GPU, after warm-up launches."""
    samples = [_time_once(kernel, grid, THREADS, args) for _ in range(WARM_UPS + REPEATS)]
    return tuple(samples[WARM_UPS:])


def _measure(
    variant: str,
    dtype: DTypeLike,
    backend: Backend | None,
    counted: MakeLaunch,
    timed: MakeLaunch,
) -> Measured:
    """Counts a launch on the simulator, and times another one where there is a GPU."""
    kernel = _core.kernel("probe", variant, dtype)
    machine = _choose(backend)
    return {
        "kernel": f"probe/{variant}",
        "backend": machine,
        "counters": _count(kernel, *counted()),
        "times_ms": _time(kernel, *timed()) if machine == "cuda" else (),
    }


def _blocks(elements: int, each: int = 1) -> int:
    """The blocks of a launch in which a thread has `each` elements."""
    return -(-elements // (THREADS * each))


# The probes --------------------------------------------------------------------------------------


def global_access(
    stride: int = 1,
    offset: int = 0,
    random: bool = False,
    *,
    elements: int | None = None,
    dtype: DTypeLike = "float32",
    seed: int = 0,
    backend: Backend | None = None,
) -> GlobalAccess:
    """Read global memory with a stride, an offset or in no order: y[i] = x[i * stride + offset].

    Parameters
    ----------
    stride, offset : int
        In elements; stride is 1 or more, offset 0 or more.
    random : bool
        Read at scrambled places instead (then stride is 1 and offset 0).
    elements : int, optional
        How many are read; by default as many as walk through 256 MiB with that stride. Counted are
        16384 of them at most: a request's cost does not depend on their number.
    dtype : dtype-like
        Of 4 or 8 bytes.
    seed : int
        Of the scrambled places.
    backend : "auto", "cuda" or "sim", optional
        "cuda" adds measured times to the simulated counts.

    Shapes
    ------
    None.

    Returns
    -------
    GlobalAccess: sectors_per_request, used_bytes, moved_bytes, counters; with a GPU times_ms,
    time_ms, used_gb_per_s, moved_gb_per_s.

    Raises
    ------
    ArgumentError (ValueError), ArgumentTypeError (TypeError); BackendError without the GPU that was
    asked for; OutOfMemoryError.

    Example
    -------
    >>> from smemkit import probe
    >>> [probe.global_access(stride, backend="sim").sectors_per_request for stride in (1, 2, 8)]
    [4.0, 8.0, 32.0]
    """
    stride = _whole("stride", stride, 1)
    offset, seed = _whole("offset", offset, 0), _whole("seed", seed, 0)
    random, dtype = _flag("random", random), numpy.dtype(dtype)
    if random and (stride, offset) != (1, 0):
        raise _core.ArgumentError("random=True takes no stride and no offset")
    if dtype.itemsize not in (4, 8):
        raise _core.ArgumentTypeError(
            f"probe.global_access takes types of 4 or 8 bytes, not {dtype}"
        )
    most = max(1, (TIMED_BYTES // dtype.itemsize - offset) // stride)
    elements = most if elements is None else _whole("elements", elements, 1, 2**40)
    few = min(elements, COUNTED)
    numbers = (seed,) if random else (stride, offset)

    def counted() -> tuple[int, Arguments]:
        x = numpy.zeros((few - 1) * stride + offset + 1, dtype)
        return _blocks(few, 4), (x, numpy.empty(few, dtype), few, *numbers)

    def timed() -> tuple[int, Arguments]:
        x = _core.empty((elements - 1) * stride + offset + 1, dtype, backend="cuda")
        y = _core.empty(elements, dtype, backend="cuda")
        return _blocks(elements, 4), (x, y, elements, *numbers)

    facts = _measure("random" if random else "strided", dtype, backend, counted, timed)
    return GlobalAccess(
        dtype=dtype.name,
        stride=stride,
        offset=offset,
        random=random,
        elements=elements if facts["backend"] == "cuda" else few,
        **facts,
    )


def _measure_shared(
    variant: str, width: int, backend: Backend | None, each: int, numbers: tuple[int, ...] = ()
) -> SharedMeasured:
    """The fields of a SharedAccess; each of a block's 8 warps makes `each` reads a round."""
    dtype = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint32"}[width]
    blocks, rounds = 4, 1024  # a multiprocessor: enough warps to keep shared memory busy
    requests = blocks * rounds * each * (THREADS // LANES)

    def counted() -> tuple[int, Arguments]:
        return 1, (numpy.empty(THREADS, dtype), *numbers, 4)

    def timed() -> tuple[int, Arguments]:
        grid = blocks * _core.device_info(backend="cuda")["multiprocessors"]
        return grid, (_core.empty(grid * THREADS, dtype, backend="cuda"), *numbers, rounds)

    facts = _measure(variant, dtype, backend, counted, timed)
    return {**facts, "width": width, "requests": requests if facts["backend"] == "cuda" else 0}


def bank_access(stride: int, width: int = 4, *, backend: Backend | None = None) -> BankAccess:
    """Read shared memory with a stride: lane l of each warp reads element l * stride.

    Parameters
    ----------
    stride : int
        In elements, 0 (all lanes read one: a broadcast) or more.
    width : 1, 2, 4, 8 or 16
        Bytes of an element.
    backend : "auto", "cuda" or "sim", optional
        "cuda" adds measured times to the simulated counts.

    Shapes
    ------
    None.

    Returns
    -------
    BankAccess: wavefronts_per_request, conflicts_per_request, counters; with a GPU times_ms,
    time_ms, ns_per_request.

    Raises
    ------
    ArgumentError (ValueError), ArgumentTypeError (TypeError); BackendError without the GPU that was
    asked for.

    Example
    -------
    >>> from smemkit import probe
    >>> [probe.bank_access(n, backend="sim").wavefronts_per_request for n in (0, 1, 2, 32, 33)]
    [1.0, 1.0, 2.0, 32.0, 1.0]
    """
    stride, width = _whole("stride", stride, 0), _one_of("width", width, (1, 2, 4, 8, 16))
    variant = "banks_wide" if width == 16 else "banks"
    facts = _measure_shared(variant, width, backend, 8, (stride,))
    return BankAccess(stride=stride, **facts)


def row_column(
    padded: bool = False, width: int = 4, *, backend: Backend | None = None
) -> RowColumn:
    """Read a 32 x 32 tile in shared memory by rows and by columns.

    Parameters
    ----------
    padded : bool
        Whether the tile has one more column: 32 x 33.
    width : 4 or 8
        Bytes of an element.
    backend : "auto", "cuda" or "sim", optional
        "cuda" adds measured times to the simulated counts.

    Shapes
    ------
    None.

    Returns
    -------
    RowColumn: row and column (each with wavefronts_per_request, conflicts_per_request, counters;
    with a GPU times_ms, time_ms, ns_per_request), wavefronts_ratio, time_ratio.

    Raises
    ------
    ArgumentError (ValueError), ArgumentTypeError (TypeError); BackendError without the GPU that was
    asked for.

    Example
    -------
    >>> from smemkit import probe
    >>> [probe.row_column(padded, backend="sim").wavefronts_ratio for padded in (False, True)]
    [32.0, 1.0]
    """
    padded, width = _flag("padded", padded), _one_of("width", width, (4, 8))
    ending = "_padded" if padded else ""
    row, column = (
        SharedAccess(**_measure_shared(walk + ending, width, backend, 4))
        for walk in ("row", "column")
    )
    return RowColumn(padded=padded, width=width, row=row, column=column)


def divergence(pattern: str, *, seed: int = 0, backend: Backend | None = None) -> Divergence:
    """Run one of two loops for each element, as a condition says that lanes of a warp may share.

    Parameters
    ----------
    pattern : str
        "lane" (odd elements), "warp" (elements of odd warps), "random" (the data decide); and what
        cures them: "lane_grouped" (a warp takes elements that agree), "lane_selected" (numbers are
        selected, not loops), "random_grouped" (the block sorts its elements in shared memory).
    seed : int
        Of the random data.
    backend : "auto", "cuda" or "sim", optional
        "cuda" adds measured times to the simulated counts.

    Shapes
    ------
    None.

    Returns
    -------
    Divergence: divergent_branches, active_lanes, counters; with a GPU times_ms, time_ms,
    steps_per_s.

    Raises
    ------
    ArgumentError (ValueError), ArgumentTypeError (TypeError); BackendError without the GPU that was
    asked for.

    Example
    -------
    >>> from smemkit import probe
    >>> [probe.divergence(name, backend="sim").divergent_branches for name in ("lane", "warp")]
    [512, 0]
    """
    variant = PATTERNS[_one_of("pattern", pattern, PATTERNS)]
    seed = _whole("seed", seed, 0)

    few, many = (COUNTED, 64), (1 << 22, 1024)

    def make_data(elements: int) -> NDArray[numpy.float32]:
        return numpy.random.default_rng(seed).standard_normal(elements, dtype=numpy.float32)

    def counted() -> tuple[int, Arguments]:
        x = make_data(few[0])
        return _blocks(few[0]), (x, numpy.empty_like(x), *few)

    def timed() -> tuple[int, Arguments]:
        x = _core.asarray(make_data(many[0]), backend="cuda")
        return _blocks(many[0]), (x, _core.empty(many[0], backend="cuda"), *many)

    facts = _measure(variant, "float32", backend, counted, timed)
    elements, steps = many if facts["backend"] == "cuda" else few
    return Divergence(pattern=pattern, elements=elements, steps=steps, **facts)


def _make_ring(places: int, spacing: int, seed: int, dtype: str) -> NDArray[Any]:
    """next[index] of one random ring through all multiples of `spacing`."""
    order = numpy.random.default_rng(seed).permutation(places) * spacing
    ring = numpy.zeros(places * spacing, dtype)
    ring[order] = numpy.roll(order, -1)
    return ring


def _plan_ring(level: str, facts: DeviceInfo) -> tuple[str, int, int, int]:
    """(kernel, elements, spacing, steps) of a pointer chase through that level."""
    spacing = LINE_BYTES // 8
    if level == "shared":
        return "chase_shared", 1024, 1, 1 << 16
    if level == "l1":
        return "chase", 128, spacing, 1 << 16  # 16 KiB
    if level == "l2":
        least = 2 * facts["shared_bytes_per_multiprocessor"]  # about the size of the L1 cache
        return "chase", max(least, facts["l2_cache_bytes"] // 12) // LINE_BYTES, spacing, 1 << 16
    footprint = max(8 * facts["l2_cache_bytes"], TIMED_BYTES)
    return "chase", footprint // LINE_BYTES, spacing, 1 << 15


def latency(level: str, *, seed: int = 0, backend: Backend | None = None) -> Latency:
    """Time a chain of dependent reads through one level of the memory: a pointer chase.

    Parameters
    ----------
    level : "shared", "l1", "l2" or "global"
        What holds the ring that is walked: shared memory, a cache, or memory itself.
    seed : int
        Of the ring's order.
    backend : "auto" or "cuda", optional
        The simulator has no clock.

    Shapes
    ------
    None.

    Returns
    -------
    Latency: ns (the median), samples_ns, footprint_bytes, steps. A sample is the difference of a
    long and a short walk, so that starting and staging are not in it; making the address of a read
    is.

    Raises
    ------
    BackendError without a GPU; ArgumentError (ValueError).

    Example
    -------
    >>> from smemkit import BackendError, probe
    >>> try:
    ...     print(probe.latency("l2").ns > 0)
    ... except BackendError:
    ...     print("no GPU")  # doctest: +SKIP
    """
    level, seed = _one_of("level", level, LEVELS), _whole("seed", seed, 0)
    if _choose(backend) != "cuda":
        raise _core.BackendError(NO_CLOCK)
    variant, places, spacing, steps = _plan_ring(level, _core.device_info(backend="cuda"))
    dtype = "uint32" if level == "shared" else "uint64"
    kernel = _core.kernel("probe", variant, dtype)
    ring = _core.asarray(_make_ring(places, spacing, seed, dtype), backend="cuda")
    state = _core.asarray(numpy.zeros(1, dtype), backend="cuda")
    # Each walk starts where the last one ended, so that no cache holds what it reads.
    short = min(2 * places, steps // 8)
    warm = -(-places // (steps + short)) if level == "l2" else 0  # loads the whole ring into L2
    samples = []
    for _ in range(WARM_UPS + warm + REPEATS):
        brief = _time_once(kernel, 1, 1, (ring, state, short))
        whole = _time_once(kernel, 1, 1, (ring, state, short + steps))
        samples.append((whole - brief) * 1e6 / steps)
    return Latency(
        level=level,
        footprint_bytes=ring.nbytes,
        steps=steps,
        samples_ns=tuple(samples[-REPEATS:]),
    )


def _turn_round(
    variant: str, words: int, dynamic_bytes: int, backend: Machine, carveout: int = -1
) -> RawKernel:
    """Runs one block that reverses `words` in shared memory, checks it, and returns the kernel."""
    kernel = _core.kernel("probe", variant, "uint32")
    kernel.preferred_shared_memory_carveout = carveout
    x = numpy.arange(1, words + 1, dtype="uint32")
    y = numpy.zeros_like(x)
    kernel(1, THREADS, (x, y, words), shared_mem=dynamic_bytes, backend=backend)
    if not numpy.array_equal(y, x[::-1]):
        raise _core.InternalError(f"probe/{variant}: {4 * words} bytes came back in wrong order")
    return kernel


def _read_carveout(kernel: RawKernel, dynamic_bytes: int) -> int | None:
    """Bytes of the L1 cache that the launch needs as shared memory; None for unknown machines."""
    try:
        found = _core.occupancy(kernel, THREADS, dynamic_bytes)
    except (_core.BackendError, _core.ArgumentError, _core.UnsupportedError):
        return None
    return found.carveout_bytes


def shared_limits(*, backend: Backend | None = None) -> SharedLimits:
    """Run kernels at the limits of shared memory: static, dynamic, with opt-in, and mixed.

    Parameters
    ----------
    backend : "auto", "cuda" or "sim", optional
        The simulator has the limits of compute capability 9.0.

    Shapes
    ------
    None.

    Returns
    -------
    SharedLimits: static_bytes, dynamic_bytes, optin_bytes, mixed_static_bytes, mixed_dynamic_bytes
    (each ran), refusal (what one word more than the machine has brings, a SharedMemoryError),
    carveout_bytes (the part of the L1 cache that the largest of them needs), carveout_percents (the
    values of RawKernel.preferred_shared_memory_carveout with which it ran: one that is too small
    does not keep a kernel from its shared memory). Without a preference the driver chooses.

    Raises
    ------
    BackendError without the GPU that was asked for; InternalError where a result is wrong.

    Example
    -------
    >>> from smemkit import probe
    >>> found = probe.shared_limits(backend="sim")
    >>> found.static_bytes, found.optin_bytes
    (49152, 232448)
    """
    machine = _choose(backend)
    facts = _core.device_info(backend=machine)
    dynamic, optin = facts["shared_bytes_per_block"], facts["shared_bytes_per_block_optin"]
    static = _core.variants("probe")["static_shared"]["tile"][0] * 4
    _turn_round("static_shared", static // 4, 0, machine)
    _turn_round("dynamic_shared", dynamic // 4, dynamic, machine)
    largest = _turn_round("dynamic_shared", optin // 4, optin, machine)
    for percent in CARVEOUT_PERCENTS:
        _turn_round("dynamic_shared", optin // 4, optin, machine, percent)
    head = 1024 * 4  # static shared memory of probe/mixed_shared
    _turn_round("mixed_shared", optin // 4, optin - head, machine)
    refusal = ""
    try:
        _turn_round("mixed_shared", optin // 4 + 1, optin - head + 4, machine)
    except _core.SharedMemoryError as error:
        refusal = str(error)
    return SharedLimits(
        backend=machine,
        static_bytes=static,
        dynamic_bytes=dynamic,
        optin_bytes=optin,
        mixed_static_bytes=head,
        mixed_dynamic_bytes=optin - head,
        refusal=refusal,
        carveout_bytes=_read_carveout(largest, optin),
        carveout_percents=CARVEOUT_PERCENTS,
    )
