"""Copies (cp.async) of one warp from anywhere to anywhere: kernels, and rows of copies_h200.json.

record_copies.py measures the rows under Nsight Compute; the tests count them on the simulator.
"""

import dataclasses
import json
from pathlib import Path

import numpy

import smemkit

TABLE = Path(__file__).with_name("copies_h200.json")
SHARED_BYTES = 48 * 1024
GLOBAL_BYTES = 4 << 20
WHOLE_AT = 40 * 1024
# As many bytes as the copy has, and a z where lanes may write zeros instead, by predicate P0 of the
# machine code; y: by P1, before a second copy, of all lanes from a row to a row, that takes P0.
KERNELS = {
    f"{cache}_{width}{zeros}": (cache, width, zeros)
    for cache, width, kinds in (
        ("ca", 4, ("", "z", "y")),
        ("ca", 8, ("", "z")),
        ("ca", 16, ("", "z")),
        ("cg", 16, ("", "z", "y")),
    )
    for zeros in kinds
}
HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"
ENTRY = """
.visible .entry {name}(.param .align 4 .b8 pattern[264], .param .u64 memory)
{{
.shared .align 1024 .b8 room[{shared_bytes}];
.reg .pred %p, %zero, %never;
.reg .b32 %lane, %from, %to, %mask, %zeros, %bit, %shared, %size, %whole;
.reg .b64 %at, %step, %global;
mov.u32 %lane, %tid.x;
mul.wide.u32 %step, %lane, 4;
mov.b64 %at, pattern;
add.s64 %at, %at, %step;
ld.param.u32 %from, [%at];
ld.param.u32 %to, [%at+128];
ld.param.u32 %mask, [pattern+256];
ld.param.u32 %zeros, [pattern+260];
{first}shr.u32 %bit, %zeros, %lane;
and.b32 %bit, %bit, 1;
setp.ne.u32 %zero, %bit, 0;
selp.u32 %size, 0, {width}, %zero;
cvt.u64.u32 %step, %from;
ld.param.u64 %global, [memory];
add.s64 %global, %global, %step;
mov.u32 %shared, room;
add.u32 %shared, %shared, %to;
shr.u32 %bit, %mask, %lane;
and.b32 %bit, %bit, 1;
setp.eq.u32 %p, %bit, 0;
@%p bra done;
cp.async.{cache}.shared.global [%shared], [%global], {width}{size};
{second}done:
cp.async.wait_all;
ret;
}}
"""
FIRST = """setp.eq.u32 %never, %mask, 0;
selp.u32 %whole, 0, {width}, %never;
"""
SECOND = """cp.async.commit_group;
mul.wide.u32 %step, %lane, 16;
ld.param.u64 %global, [memory];
add.s64 %global, %global, %step;
mad.lo.u32 %shared, %lane, 16, {whole_at};
mov.u32 %to, room;
add.u32 %shared, %shared, %to;
cp.async.{cache}.shared.global [%shared], [%global], {width}, %whole;
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """The addresses are of the lanes in `mask`, in order; `zeros` has lanes that read nothing.

    `counts` has no metric that was not measured.
    """

    kernel: str
    name: str
    mask: int
    zeros: int
    source: tuple
    target: tuple
    counts: dict

    def __str__(self):
        return f"{self.kernel} {self.name} {self.mask:#010x} {self.zeros:#010x}"


def list_rows(table):
    for *head, source, target, counts in table["rows"]:
        named = zip(table["metrics"], counts, strict=True)
        measured = {name: value for name, value in named if value is not None}
        yield Row(*head, tuple(source), tuple(target), measured)


def load_table():
    return json.loads(TABLE.read_text(encoding="utf-8"))


def write_ptx():
    entries = (
        ENTRY.format(
            name=name,
            cache=cache,
            width=width,
            size=", %size" if zeros else "",
            shared_bytes=SHARED_BYTES,
            first=FIRST.format(width=width) * (zeros == "y"),
            second=SECOND.format(cache=cache, width=width, whole_at=WHOLE_AT) * (zeros == "y"),
        )
        for name, (cache, width, zeros) in KERNELS.items()
    )
    return HEAD + "".join(entries)


def pack(row):
    """The kernel's first argument."""
    words = numpy.zeros(66, numpy.uint32)
    lanes = [lane for lane in range(32) if row.mask >> lane & 1]
    words[lanes] = row.source
    words[[32 + lane for lane in lanes]] = row.target
    words[64:] = row.mask, row.zeros
    return words.tobytes()


def load_kernels(backend):
    """The functions by name, and the memory that they copy from."""
    module = smemkit.RawModule(write_ptx(), backend=backend)
    memory = smemkit.asarray(numpy.zeros(GLOBAL_BYTES, numpy.uint8), backend=backend)
    return {name: module.get_function(name) for name in KERNELS}, memory
