"""Rates of a GPU that predictions rest on and that the ceilings and probes leave open.

Starts of blocks, barriers, streams through the L2 cache and memory, scattered words, and atomics:
each a launch of a small kernel in PTX, so that no compiler is needed and none merges steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

import smemkit

from .results import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._facts import DeviceInfo
    from .._types import Machine
    from .types import Call, Watch

THREADS, WARP, VECTOR = 256, 32, 16
EMPTY_BLOCKS = 1 << 18
EMPTY_THREADS = (32, 1024)
BARRIERS = 2000
LANES = 1 << 24  # of a launch that scatters words
ATOMIC_BLOCKS, ATOMIC_ROUNDS = 8, 16  # a multiprocessor; of a thread
STREAM_BYTES = 1 << 30  # of memory
LINE_BYTES = 128
FAR_BYTES = 4096  # between sectors of which a part is written, as a transpose writes them
SPREAD_WORDS = 1 << 16  # that random atomics visit: more lines than the L2 cache has parts
HASH = 2654435761  # a multiplier that scatters numbers (D. Knuth, The Art of Computer Programming)

HEAD = """.version 6.4
.target sm_75
.address_size 64
"""
# Each kernel has %r1 the thread of all, %r2 the number of threads, %rd1 and %rd2 two arrays, %r3
# rounds, %r4 a mask of bytes, %r5 a step of bytes; the rest is its own.
PARAMETERS = (
    ".param .u64 out, .param .u64 in, .param .u32 rounds, .param .u32 mask, .param .u32 step"
)
FRAME = """.visible .entry {name}({parameters})
{{
.reg .b32 %r<24>;
.reg .f32 %f<4>;
.reg .b64 %rd<8>;
.reg .pred %p;
ld.param.u64 %rd1, [out];
ld.param.u64 %rd2, [in];
cvta.to.global.u64 %rd1, %rd1;
cvta.to.global.u64 %rd2, %rd2;
ld.param.u32 %r3, [rounds];
ld.param.u32 %r4, [mask];
ld.param.u32 %r5, [step];
mov.u32 %r6, %tid.x;
mov.u32 %r7, %ctaid.x;
mov.u32 %r8, %ntid.x;
mov.u32 %r9, %nctaid.x;
mad.lo.u32 %r1, %r7, %r8, %r6;
mul.lo.u32 %r2, %r8, %r9;
mov.u32 %r10, 0;
mov.u32 %r11, 0;
mov.u32 %r12, 0;
mov.u32 %r13, 0;
mov.u32 %r20, 0;
mov.f32 %f1, 0f3F800000;
again:
{body}
sub.u32 %r3, %r3, 1;
setp.ne.u32 %p, %r3, 0;
@%p bra again;
{end}
ret;
}}
"""
# A byte offset in %rd3: of the next vector of a stream, of a word some steps on, of a random word.
NEXT = """shl.b32 %r21, %r1, 4;
and.b32 %r21, %r21, %r4;
add.u32 %r1, %r1, %r2;
cvt.u64.u32 %rd3, %r21;"""
STRIDED = """mul.lo.u32 %r21, %r1, %r5;
and.b32 %r21, %r21, %r4;
add.u32 %r1, %r1, %r2;
cvt.u64.u32 %rd3, %r21;"""
RANDOM = f"""mul.lo.u32 %r21, %r1, {HASH};
shr.u32 %r22, %r21, 15;
xor.b32 %r21, %r21, %r22;
mul.lo.u32 %r21, %r21, 739982445;
shr.u32 %r22, %r21, 12;
xor.b32 %r21, %r21, %r22;
shl.b32 %r21, %r21, 2;
and.b32 %r21, %r21, %r4;
add.u32 %r1, %r1, %r2;
cvt.u64.u32 %rd3, %r21;"""
FROM, TO = "add.u64 %rd4, %rd2, %rd3;", "add.u64 %rd5, %rd1, %rd3;"
LOAD = "ld.global.cg.v4.u32 {%r14, %r15, %r16, %r17}, [%rd4];"
SUM = "\n".join(f"xor.b32 %r{j}, %r{j}, %r{j + 4};" for j in range(10, 14))
STORE = "st.global.v4.u32 [%rd5], {%r14, %r15, %r16, %r17};"
# What is read is used: written where no number is that is never summed up.
USED = """xor.b32 %r10, %r10, %r11;
xor.b32 %r12, %r12, %r13;
xor.b32 %r10, %r10, %r12;
setp.ne.u32 %p, %r10, 0x7fffffff;
@%p bra done;
st.global.u32 [%rd1], %r10;
done:"""
READ_WORD = f"{FROM}\nld.global.cg.u32 %r14, [%rd4];\nxor.b32 %r10, %r10, %r14;"
WRITE_WORD = f"{TO}\nst.global.u32 [%rd5], %r20;"
ADD = f"{TO}\nred.global.add.u32 [%rd5], 1;"
ADD_FLOAT = f"{TO}\nred.global.add.f32 [%rd5], %f1;"
ZEROS = "\n".join(f"mov.u32 %r{j}, 0;" for j in range(14, 18))
KERNELS = {
    "barriers": ("bar.sync 0;", ""),
    "stream_read": ("\n".join([NEXT, FROM, LOAD, SUM] * 4), USED),
    "stream_write": ("\n".join([ZEROS, *[NEXT, TO, STORE] * 4]), ""),
    "stream_copy": ("\n".join([NEXT, FROM, TO, LOAD, STORE] * 4), ""),
    "strided_read": (f"{STRIDED}\n{READ_WORD}", USED),
    "strided_write": (f"{STRIDED}\n{WRITE_WORD}", ""),
    "random_read": (f"{RANDOM}\n{READ_WORD}", USED),
    "strided_add": (f"{STRIDED}\n{ADD}", ""),
    "strided_add_float": (f"{STRIDED}\n{ADD_FLOAT}", ""),
    "random_add": (f"{RANDOM}\n{ADD}", ""),
}


class Rate(NamedTuple):
    """A launch that measures a rate.

    name: of its row. kernel: a key of KERNELS. nbytes: of the array that it visits, a power of two.
    step: bytes between the words of neighbouring threads. amount: what it does, in all; unit: of
    the amount.
    """

    name: str
    kernel: str
    blocks: int
    threads: int
    rounds: int
    nbytes: int
    step: int
    amount: float
    unit: str


def write_kernel(name: str) -> str:
    """The PTX of a kernel.

    >>> "bar.sync" in write_kernel("barriers")
    True
    """
    if name == "starts":
        return f"{HEAD}.visible .entry starts({PARAMETERS})\n{{\nret;\n}}\n"
    body, end = KERNELS[name]
    return HEAD + FRAME.format(name=name, parameters=PARAMETERS, body=body, end=end)


def round_down(nbytes: float) -> int:
    """The greatest power of two that is not above it.

    >>> round_down(60 * 2**20) == 2**25
    True
    """
    return 1 << (max(int(nbytes), 1).bit_length() - 1)


def list_rates(facts: DeviceInfo) -> Iterator[Rate]:
    """The launches for a card with these facts."""
    many = facts["multiprocessors"]
    memory = min(STREAM_BYTES, round_down(facts["global_memory_bytes"] / 16))
    cached = round_down(facts["l2_cache_bytes"] / 3)
    for threads in EMPTY_THREADS:
        yield Rate(
            f"starts_{threads}", "starts", EMPTY_BLOCKS, threads, 1, 4, 0, EMPTY_BLOCKS, "blocks"
        )
    for threads in EMPTY_THREADS:
        yield Rate(
            f"barriers_{threads}", "barriers", 1, threads, BARRIERS, 4, 0, BARRIERS, "barriers"
        )
    blocks = 8 * many
    for place, nbytes in (("l2", cached), ("dram", memory)):
        least = 4 * VECTOR * THREADS * blocks  # of a round of all threads
        rounds = max(1, (memory if place == "dram" else 16 * cached) // least)
        for kind in ("read", "write", "copy"):
            moved = rounds * least * (2 if kind == "copy" else 1)
            yield Rate(
                f"{kind}_{place}", f"stream_{kind}", blocks, THREADS, rounds, nbytes, 0, moved,
                "bytes",
            )  # fmt: skip
    blocks = LANES // THREADS
    for name, kernel, nbytes, step in (
        ("lines_l2", "strided_read", cached, LINE_BYTES),
        ("partial_l2", "strided_write", memory, FAR_BYTES),
        ("random_dram", "random_read", memory, 0),
    ):
        yield Rate(name, kernel, blocks, THREADS, 1, nbytes, step, LANES, "lanes")
    blocks = ATOMIC_BLOCKS * many
    lanes = float(blocks * THREADS * ATOMIC_ROUNDS)
    for name, kernel, words, step in (
        ("atomics_address", "strided_add", 1, 0),
        ("atomics_address_float", "strided_add_float", 1, 0),
        ("atomics_line", "strided_add", LINE_BYTES // 4, 4),
        ("atomics_spread", "random_add", SPREAD_WORDS, 0),
    ):
        yield Rate(name, kernel, blocks, THREADS, ATOMIC_ROUNDS, 4 * words, step, lanes, "lanes")


def prepare(rate: Rate, array: smemkit.DeviceArray, backend: Machine) -> Call:
    """The call of a rate on an array of uint32 that has twice its bytes."""
    kernel = smemkit.RawKernel(write_kernel(rate.kernel), rate.kernel)
    half = array.shape[0] // 2
    out, given = array[:half], array[half:]
    arguments = (
        out,
        given,
        numpy.uint32(rate.rounds),
        numpy.uint32(rate.nbytes - 1),
        numpy.uint32(rate.step),
    )
    return lambda: kernel((rate.blocks,), (rate.threads,), arguments, backend=backend)


def measure_rates(watch: Watch, facts: DeviceInfo) -> Iterator[Measurement]:
    """A row for each rate. `facts` are those of smemkit.device_info."""
    rates = list(list_rates(facts))
    most = max(rate.nbytes for rate in rates)
    array = smemkit.zeros((2 * most // 4,), "uint32", backend=watch.backend)
    for rate in rates:
        call = prepare(rate, array, watch.backend)
        yield Measurement(
            "rate",
            rate.name,
            (rate.nbytes,),
            "uint32",
            "cuda",
            times_ms=watch.time(call, "warm"),
            cache="warm",
            nbytes=rate.amount if rate.unit == "bytes" else None,
            parameters={
                "kernel": rate.kernel,
                "blocks": rate.blocks,
                "threads": rate.threads,
                "rounds": rate.rounds,
                "step_bytes": rate.step,
                "amount": rate.amount,
                "unit": rate.unit,
            },
        )
