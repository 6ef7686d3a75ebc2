"""Measured ceilings of a GPU: copies, multiply-adds, reads of shared memory and of L2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

import smemkit

from .. import _core
from .results import Measurement, Results, describe_run
from .stopwatch import Stopwatch
from .timing import WrongResultError, describe_protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike

    from .._facts import DeviceInfo
    from .._types import Backend, HostArray, Machine
    from .types import Call, Watch

COPY_BYTES = 1 << 30
THREADS = 256
CHAINS, UNROLLED = 8, 16  # independent sums of a thread; steps of each in a round
FMA_BLOCKS, FMA_ROUNDS = 8, 2048  # a multiprocessor; of a timed launch
SHARED_BLOCKS, SHARED_ROUNDS = 8, 4096 + 3
SHARED = {"banks": ("uint32", 4), "banks_wide": ("uint32", 16)}  # type, bytes a lane and read
LANES_READ, TILE, STEP, EACH = 32, 2048, 32, 8  # of csrc/kernels/probe/banks.cu
L2_BLOCKS, L2_ROUNDS, L2_READS = 8, 256, 8  # a multiprocessor; of a timed launch; of a round
L2_PART, L2_BYTES = 3, 1 << 24  # of the cache that is read; bytes where its size is not known
VECTOR_BYTES = 16  # of a read of L2
FLOATS = {"float32": ("f32", "%f", 4), "float64": ("f64", "%fd", 8)}
NO_CLOCK = (
    "bench.ceilings measures time, and the simulator has no clock: it needs a GPU "
    '(bench.recorded("h200") has the ceilings of an H200)'
)


@dataclass
class Ceilings(Results):
    """Measured ceilings: rows of the family "ceiling", and the rates that follow from them.

    Attributes
    ----------
    rows : list of Measurement
    provenance : dict

    Example
    -------
    >>> from smemkit import bench
    >>> recorded = bench.recorded("h200")
    >>> ceilings = bench.Ceilings(recorded.rows, recorded.provenance)
    >>> 1000 < ceilings.gb_per_s < 10000 and ceilings.gflop_per_s > ceilings.gb_per_s
    True
    """

    def _select(self, *variants: str) -> Iterator[Measurement]:
        """The rows of some variants."""
        for row in self.rows:
            if row.family == "ceiling" and row.variant in variants:
                yield row

    @property
    def gb_per_s(self) -> float | None:
        """Bytes read and written by a copy, 10^9 a second; None where it was not measured."""
        return max((row.gb_per_s for row in self._select("copy")), default=None)

    @property
    def gflop_per_s(self) -> float | None:
        """Operations of float32 multiply-adds, two each, 10^9 a second; None as above."""
        return self.rate_of("float32")

    @property
    def shared_gb_per_s(self) -> float | None:
        """Bytes that lanes read from shared memory without conflicts, 10^9 a second; or None."""
        return max((row.gb_per_s for row in self._select(*SHARED)), default=None)

    @property
    def l2_gb_per_s(self) -> float | None:
        """Bytes that the L2 cache delivers, 10^9 a second; None where it was not measured."""
        return max((row.gb_per_s for row in self._select("l2")), default=None)

    def rate_of(self, dtype: DTypeLike) -> float | None:
        """10^9 operations a second of multiply-adds of that type; None where not measured."""
        rows = [row for row in self._select("multiply_add") if row.dtype == str(dtype)]
        return max((row.gflop_per_s for row in rows), default=None)

    def __str__(self) -> str:
        words = [f"ceilings of {self.provenance.get('device')}"]
        for name, rate, unit in (
            ("copy", self.gb_per_s, "GB/s"),
            ("multiply-add, float32", self.rate_of("float32"), "GFLOP/s"),
            ("multiply-add, float64", self.rate_of("float64"), "GFLOP/s"),
            ("shared memory, reads", self.shared_gb_per_s, "GB/s"),
            ("L2 cache, reads", self.l2_gb_per_s, "GB/s"),
        ):
            words.append(f"{name:22} {rate:10,.0f} {unit}" if rate else f"{name:22} not measured")
        return "\n".join(words)


# Multiply-adds ------------------------------------------------------------------------------------


def write_multiply_add(dtype: str) -> str:
    """PTX: each thread makes CHAINS sums of its number, x = x * factor + addend, round by round.

    It is PTX and not CUDA C, so that no compiler merges steps.
    """
    kind, register, size = FLOATS[dtype]
    chains = [f"{register}{j + 10}" for j in range(CHAINS)]
    start = [f"add.{kind} {chains[0]}, {register}3, {register}2;"]
    start += [
        f"add.{kind} {after}, {before}, {register}2;"
        for before, after in zip(chains, chains[1:], strict=False)
    ]
    steps = [f"fma.rn.{kind} {x}, {x}, {register}1, {register}2;" for x in chains] * UNROLLED
    ends = [f"add.{kind} {chains[0]}, {chains[0]}, {x};" for x in chains[1:]]
    lines = [
        ".version 6.4",
        ".target sm_75",
        ".address_size 64",
        f".visible .entry multiply_add_{dtype}(",
        f".param .u64 out, .param .{kind} factor, .param .{kind} addend, .param .u32 rounds)",
        f".maxntid {THREADS}, 1, 1",
        "{",
        f".reg .{kind} {register}<{CHAINS + 10}>;",
        ".reg .b32 %r<6>;",
        ".reg .b64 %rd<4>;",
        ".reg .pred %p;",
        "ld.param.u64 %rd1, [out];",
        "cvta.to.global.u64 %rd1, %rd1;",
        f"ld.param.{kind} {register}1, [factor];",
        f"ld.param.{kind} {register}2, [addend];",
        "ld.param.u32 %r1, [rounds];",
        "mov.u32 %r2, %tid.x;",
        "mov.u32 %r3, %ctaid.x;",
        f"mad.lo.u32 %r4, %r3, {THREADS}, %r2;",
        f"cvt.rn.{kind}.u32 {register}3, %r2;",
        *start,
        "again:",
        *steps,
        "sub.u32 %r1, %r1, 1;",
        "setp.ne.u32 %p, %r1, 0;",
        "@%p bra again;",
        *ends,
        f"mul.wide.u32 %rd2, %r4, {size};",
        "add.u64 %rd3, %rd1, %rd2;",
        f"st.global.{kind} [%rd3], {chains[0]};",
        "ret;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def run_multiply_add(
    kernel: smemkit.RawKernel, out: smemkit.DeviceArray, rounds: int, backend: Machine
) -> None:
    """Launches the kernel with factor and addend 1: each step adds one, and every sum is exact."""
    one = out.dtype.type(1)
    grid = out.shape[0] // THREADS
    kernel((grid,), (THREADS,), (out, one, one, numpy.uint32(rounds)), backend=backend)


def expect_multiply_add(rounds: int, threads: int) -> HostArray:
    """The expected values that the threads of a block write."""
    first = numpy.arange(threads, dtype="float64") % THREADS
    steps = rounds * UNROLLED
    found: HostArray = numpy.sum([first + 1 + j + steps for j in range(CHAINS)], axis=0)
    return found


def prepare_multiply_add(
    dtype: str, backend: Machine, multiprocessors: int, rounds: int
) -> tuple[Call, float]:
    """(call, operations) of a launch that fills the machine, after a check of its result."""
    kernel = smemkit.RawKernel(write_multiply_add(dtype), f"multiply_add_{dtype}")
    threads = THREADS * FMA_BLOCKS * multiprocessors
    out = smemkit.empty((threads,), dtype, backend=backend)
    run_multiply_add(kernel, out, 3, backend)
    if not numpy.array_equal(smemkit.asnumpy(out), expect_multiply_add(3, threads)):
        raise WrongResultError(f"the multiply-adds of {dtype} give a wrong result")
    flops = 2.0 * threads * CHAINS * UNROLLED * rounds
    return lambda: run_multiply_add(kernel, out, rounds, backend), flops


# Shared memory ------------------------------------------------------------------------------------


def expect_shared(variant: str, rounds: int) -> HostArray:
    """The expected values of the lanes of probe/banks and banks_wide with stride 1."""
    first, found = numpy.arange(LANES_READ), numpy.zeros(LANES_READ, "int64")
    for _ in range(rounds % 16):  # after 16 rounds every element was read twice
        for k in range(EACH):
            i = first + k * STEP
            found ^= i if variant == "banks" else i ^ (i + 1) ^ (i + 2) ^ (i + 3)
        first = (first + EACH * STEP) & (TILE - 1)
    return found


def prepare_shared(
    variant: str, backend: Machine, multiprocessors: int, rounds: int
) -> tuple[Call, float]:
    """(call, bytes that lanes read) of a launch without conflicts, after a check of its result."""
    dtype, width = SHARED[variant]
    kernel = _core.kernel("probe", variant, dtype)
    grid = SHARED_BLOCKS * multiprocessors
    out = smemkit.empty((grid * THREADS,), dtype, backend=backend)

    def call() -> None:
        kernel((grid,), (THREADS,), (out, 1, rounds), backend=backend)

    call()
    expected = numpy.tile(expect_shared(variant, rounds), grid * THREADS // LANES_READ)
    if not numpy.array_equal(smemkit.asnumpy(out), expected):
        raise WrongResultError(f"probe/{variant} gives a wrong result")
    return call, float(grid * THREADS) * EACH * rounds * width


# The L2 cache -------------------------------------------------------------------------------------


def write_l2_reads(grid: int, nbytes: int) -> str:
    """PTX: each thread adds up vectors of 16 bytes of an array of nbytes, a power of two.

    A thread's next vector lies as far on as all threads read together, and the array is a ring.
    The loads are ld.global.cg, which pass L1 by.
    """
    step = grid * THREADS * VECTOR_BYTES
    reads = []
    for _ in range(L2_READS):
        reads += [
            "cvt.u64.u32 %rd3, %r4;",
            "add.u64 %rd4, %rd2, %rd3;",
            "ld.global.cg.v4.u32 {%r10, %r11, %r12, %r13}, [%rd4];",
            *(f"add.u32 %r{j + 6}, %r{j + 6}, %r{j + 10};" for j in range(4)),
            f"add.u32 %r4, %r4, {step % nbytes};",
            f"and.b32 %r4, %r4, {nbytes - 1};",
        ]
    lines = [
        ".version 6.4",
        ".target sm_75",
        ".address_size 64",
        ".visible .entry l2_reads(.param .u64 out, .param .u64 in, .param .u32 rounds)",
        f".maxntid {THREADS}, 1, 1",
        "{",
        ".reg .b32 %r<14>;",
        ".reg .b64 %rd<6>;",
        ".reg .pred %p;",
        "ld.param.u64 %rd1, [out];",
        "ld.param.u64 %rd2, [in];",
        "cvta.to.global.u64 %rd1, %rd1;",
        "cvta.to.global.u64 %rd2, %rd2;",
        "ld.param.u32 %r1, [rounds];",
        "mov.u32 %r2, %tid.x;",
        "mov.u32 %r3, %ctaid.x;",
        f"mad.lo.u32 %r3, %r3, {THREADS}, %r2;",
        f"mul.lo.u32 %r4, %r3, {VECTOR_BYTES};",
        f"and.b32 %r4, %r4, {nbytes - 1};",
        *(f"mov.u32 %r{j + 6}, 0;" for j in range(4)),
        "again:",
        *reads,
        "sub.u32 %r1, %r1, 1;",
        "setp.ne.u32 %p, %r1, 0;",
        "@%p bra again;",
        *(f"add.u32 %r6, %r6, %r{j + 7};" for j in range(3)),
        "mul.wide.u32 %rd5, %r3, 4;",
        "add.u64 %rd5, %rd1, %rd5;",
        "st.global.u32 [%rd5], %r6;",
        "ret;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def expect_l2_reads(grid: int, nbytes: int, rounds: int) -> HostArray:
    """The expected sums of all threads, where each word of the array is its own number."""
    words = numpy.arange(nbytes // 4, dtype="uint32")
    vectors = words.reshape(-1, 4).sum(axis=1, dtype="uint32")
    threads = numpy.arange(grid * THREADS)
    found = numpy.zeros(threads.size, "uint32")
    for number in range(rounds * L2_READS):
        found += vectors[(threads + number * threads.size) % vectors.size]
    return found


def prepare_l2(
    backend: Machine, multiprocessors: int, rounds: int, l2_bytes: int | None = None
) -> tuple[Call, float, int]:
    """(call, bytes read, bytes of the array) of a launch that stays in L2, after a check."""
    nbytes = 1 << ((l2_bytes // L2_PART).bit_length() - 1) if l2_bytes else L2_BYTES
    grid = L2_BLOCKS * multiprocessors
    kernel = smemkit.RawKernel(write_l2_reads(grid, nbytes), "l2_reads")
    array = smemkit.asarray(numpy.arange(nbytes // 4, dtype="uint32"), backend=backend)
    out = smemkit.empty((grid * THREADS,), "uint32", backend=backend)

    def call(number: int = rounds) -> None:
        kernel((grid,), (THREADS,), (out, array, numpy.uint32(number)), backend=backend)

    call(3)
    if not numpy.array_equal(smemkit.asnumpy(out), expect_l2_reads(grid, nbytes, 3)):
        raise WrongResultError("the reads of L2 give a wrong result")
    return call, float(grid * THREADS) * VECTOR_BYTES * L2_READS * rounds, nbytes


# All ceilings -------------------------------------------------------------------------------------


def prepare_copy(backend: Machine, nbytes: int) -> tuple[Call, float]:
    """(call, bytes read and written) of the device's own copy."""
    source = smemkit.empty((nbytes,), "uint8", backend=backend)
    target = smemkit.empty((nbytes,), "uint8", backend=backend)
    return lambda: _core._copy(target, source), 2.0 * nbytes


def make_row(
    variant: str,
    length: int,
    dtype: str,
    times_ms: tuple[float, ...],
    *,
    nbytes: float | None = None,
    flops: float | None = None,
) -> Measurement:
    """The row of a ceiling."""
    return Measurement(
        "ceiling",
        variant,
        (length,),
        dtype,
        "cuda",
        times_ms,
        cache="warm",
        nbytes=nbytes,
        flops=flops,
    )


def measure_ceilings(watch: Watch, facts: DeviceInfo) -> Iterator[Measurement]:
    """A row for each ceiling. `facts` are those of smemkit.device_info."""
    many = facts["multiprocessors"]
    nbytes = min(COPY_BYTES, facts["global_memory_bytes"] // 16)
    call, moved = prepare_copy(watch.backend, nbytes)
    times = watch.time(call, "warm")
    yield make_row("copy", nbytes, "uint8", times, nbytes=moved)
    for dtype in FLOATS:
        call, flops = prepare_multiply_add(dtype, watch.backend, many, FMA_ROUNDS)
        times = watch.time(call, "warm")
        yield make_row("multiply_add", FMA_ROUNDS, dtype, times, flops=flops)
    yield from measure_shared(watch, facts)
    yield measure_l2(watch, facts)


def measure_shared(watch: Watch, facts: DeviceInfo) -> Iterator[Measurement]:
    """The rows of shared memory. `facts` as above."""
    for variant, (dtype, _) in SHARED.items():
        call, moved = prepare_shared(
            variant, watch.backend, facts["multiprocessors"], SHARED_ROUNDS
        )
        times = watch.time(call, "warm")
        yield make_row(variant, SHARED_ROUNDS, dtype, times, nbytes=moved)


def measure_l2(watch: Watch, facts: DeviceInfo) -> Measurement:
    """The row of the L2 cache. `facts` as above."""
    many, size = facts["multiprocessors"], facts.get("l2_cache_bytes")
    call, moved, nbytes = prepare_l2(watch.backend, many, L2_ROUNDS, size)
    return make_row("l2", nbytes // 4, "uint32", watch.time(call, "warm"), nbytes=moved)


def ceilings(*, seconds: float = 0.5, backend: Backend | None = None) -> Ceilings:
    """Measure what the present GPU reaches: memory, arithmetic, shared memory, and L2.

    Parameters
    ----------
    seconds : float
        That the samples of each may take.
    backend : "auto" or "cuda", optional
        The simulator has no clock.

    Shapes
    ------
    None.

    Returns
    -------
    Ceilings: Results with the rows, and gb_per_s (a copy's bytes, read and written), gflop_per_s
    (float32 multiply-adds; rate_of("float64") for the others), shared_gb_per_s, l2_gb_per_s.
    plot.roofline takes them.

    Raises
    ------
    BackendError without a GPU; WrongResultError where a kernel's result is wrong.

    Example
    -------
    >>> from smemkit import BackendError, bench
    >>> try:
    ...     bench.ceilings(backend="sim")
    ... except BackendError as error:
    ...     print(str(error).partition(":")[0])
    bench.ceilings measures time, and the simulator has no clock
    """
    if _core.empty(1, "uint8", backend=backend).backend != "cuda":
        raise smemkit.BackendError(NO_CLOCK)
    facts = smemkit.device_info(backend="cuda")
    rows = list(measure_ceilings(Stopwatch(seconds), facts))
    return Ceilings(rows, describe_run(**describe_protocol("cuda")))
