"""Warp-wide accesses to measure on a GPU: kernels of one access each, and what the lanes address.

record_banks.py runs them under Nsight Compute; the tests run the kernels on the simulator and
compare the rules with what was recorded.
"""

import dataclasses
import random

import smemkit

LANES = 32
ALL = 0xFFFFFFFF
SHARED_BYTES = 48 * 1024
GLOBAL_BYTES = 1 << 20
MODULE_HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"
ENTRY = """
.visible .entry {name}(.param .align 4 .b8 pattern[132], .param .u64 memory)
{{
.shared .align 128 .b8 room[{shared_bytes}];
.reg .pred %p;
.reg .b32 %lane, %offset, %mask, %bit, %shared, %r<9>, %sum;
.reg .b64 %at, %step, %global, %sink, %d<9>;
.reg .f32 %f<3>;
.reg .f64 %e<3>;
mov.u32 %lane, %tid.x;
mul.wide.u32 %step, %lane, 4;
mov.b64 %at, pattern;
add.s64 %at, %at, %step;
ld.param.u32 %offset, [%at];
ld.param.u32 %mask, [pattern+128];
shr.u32 %bit, %mask, %lane;
and.b32 %bit, %bit, 1;
setp.ne.u32 %p, %bit, 0;
ld.param.u64 %sink, [memory];
{body}
ret;
}}
"""
# Where the access is: shared memory at the lane's offset; cp.async from one row of global memory.
IN_SHARED = """mov.u32 %shared, room;
add.u32 %shared, %shared, %offset;
mul.wide.u32 %step, %lane, 16;
add.s64 %global, %sink, %step;
"""
# Global memory at the lane's offset; cp.async to one row of shared memory.
IN_GLOBAL = """cvt.u64.u32 %step, %offset;
add.s64 %global, %sink, %step;
mov.u32 %shared, room;
shl.b32 %r8, %lane, 4;
add.u32 %shared, %shared, %r8;
"""
ZERO = "mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;\n"
SUM = "xor.b32 %sum, %r0, %r1; xor.b32 %sum, %sum, %r2; xor.b32 %sum, %sum, %r3;\n"
# What was read goes to the other memory, so that it is used and does not count.
SINK = {
    "shared": "mul.wide.u32 %step, %lane, 4; add.s64 %sink, %sink, %step;\n"
    "st.global.u32 [%sink], %sum;\n",
    "global": "st.shared.u32 [%shared], %sum;\n",
}
VALUES = "mov.b64 {%r0, %r1}, %sink; xor.b32 %r2, %r0, %lane; mov.b32 %r3, %lane;\n"
WIDE = (
    "mov.b64 %d0, {%r0, %r1}; mov.b64 %d1, {%r2, %r3};\n"
    "mov.b32 %f0, %r0; mov.f32 %f1, 0f3F800000; mov.f64 %e1, 0d3FF0000000000000;\n"
)
# From the register that an atomic of this type gives to those that SUM reads.
UNPACK = {"u64": "mov.b64 {%r0, %r1}, %d0;\n", "f32": "mov.b32 %r0, %f0;\n"}
UNPACK["b64"] = UNPACK["u64"]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One access of one warp."""

    name: str
    space: str  # whose addresses vary: "shared" or "global"
    op: str  # as smemkit.bank_access has it: load, store, atomic, async, matrix
    width: int
    body: str
    metric: str  # how Nsight Compute calls this kind of access
    count: int  # how many patterns to measure
    loop: bool = False  # machine code repeats the access until every lane has had its turn
    matrices: int = 0  # of an ldmatrix, to which as many times 8 lanes give an address

    def ptx(self):
        start = IN_SHARED if self.space == "shared" else IN_GLOBAL
        return ENTRY.format(name=self.name, body=start + self.body, shared_bytes=SHARED_BYTES)


PLACE = {"shared": "%shared", "global": "%global"}
LOADS = {
    1: "@%p ld.{space}.u8 %r0, [{at}];",
    2: "@%p ld.{space}.u16 %r0, [{at}];",
    4: "@%p ld.{space}.u32 %r0, [{at}];",
    8: "@%p ld.{space}.v2.u32 {{%r0, %r1}}, [{at}];",
    16: "@%p ld.{space}.v4.u32 {{%r0, %r1, %r2, %r3}}, [{at}];",
}
STORES = {
    1: "@%p st.{space}.u8 [{at}], %r0;",
    2: "@%p st.{space}.u16 [{at}], %r0;",
    4: "@%p st.{space}.u32 [{at}], %r0;",
    8: "@%p st.{space}.v2.u32 [{at}], {{%r0, %r1}};",
    16: "@%p st.{space}.v4.u32 [{at}], {{%r0, %r1, %r2, %r3}};",
}
# name: (bytes, text); "red" where the old value is not asked for
ATOMICS = {
    "atom_add_u32": (4, "atom.{space}.add.u32 %r0, [{at}], %r2;"),
    "atom_add_one_u32": (4, "atom.{space}.add.u32 %r0, [{at}], 1;"),
    "atom_max_s32": (4, "atom.{space}.max.s32 %r0, [{at}], %r2;"),
    "atom_exch_b32": (4, "atom.{space}.exch.b32 %r0, [{at}], %r2;"),
    "atom_cas_b32": (4, "atom.{space}.cas.b32 %r0, [{at}], %r2, %r3;"),
    "red_add_u32": (4, "red.{space}.add.u32 [{at}], %r2;"),
    "red_add_one_u32": (4, "red.{space}.add.u32 [{at}], 1;"),
    "red_max_s32": (4, "red.{space}.max.s32 [{at}], %r2;"),
    "red_or_b32": (4, "red.{space}.or.b32 [{at}], %r2;"),
    "atom_exch_b64": (8, "atom.{space}.exch.b64 %d0, [{at}], %d1;"),
    "atom_cas_b64": (8, "atom.{space}.cas.b64 %d0, [{at}], %d1, %d0;"),
    "atom_add_u64": (8, "atom.{space}.add.u64 %d0, [{at}], %d1;"),
    "red_add_u64": (8, "red.{space}.add.u64 [{at}], %d1;"),
    "atom_add_f32": (4, "atom.{space}.add.f32 %f0, [{at}], %f1;"),
    "red_add_f32": (4, "red.{space}.add.f32 [{at}], %f1;"),
    "red_add_f64": (8, "red.{space}.add.f64 [{at}], %e1;"),
}
LOOPS = {"atom_add_u64", "red_add_u64", "atom_add_f32", "red_add_f32", "red_add_f64"}
MANY = {"atom_add_u32", "red_add_u32", "red_add_one_u32", "atom_exch_b64", "atom_cas_b64"}
IN_GLOBAL_TOO = {"atom_add_u32", "atom_cas_b32", "red_add_u32", "red_add_f32", "red_add_f64"}
IN_GLOBAL_TOO |= {"atom_add_u64", "atom_exch_b64"}
MATRICES = {1: "{%r0}", 2: "{%r0, %r1}", 4: "{%r0, %r1, %r2, %r3}"}
COPIES = {
    "ca_4": (4, "cp.async.ca.shared.global [%shared], [%global], 4;"),
    "ca_8": (8, "cp.async.ca.shared.global [%shared], [%global], 8;"),
    "ca_16": (16, "cp.async.ca.shared.global [%shared], [%global], 16;"),
    "cg_16": (16, "cp.async.cg.shared.global [%shared], [%global], 16;"),
}


def build_atomic(space, name):
    width, text = ATOMICS[name]
    red = name.startswith("red")
    body = VALUES + WIDE + f"@%p {text.format(space=space, at=PLACE[space])}\n"
    if not red:
        body += UNPACK.get(name[-3:], "") + SUM + SINK[space]
    loop = space == "shared" and name in LOOPS
    count = 45 if space == "shared" and name in MANY else 16
    metric = "red" if red and space == "global" else "atom"
    return Kernel(f"{space}_{name}", space, "atomic", width, body, metric, count, loop)


def build_kernels():
    for space, at in PLACE.items():
        for width, text in LOADS.items():
            body = f"{ZERO}{text.format(space=space, at=at)}\n{SUM}{SINK[space]}"
            count = 32 if space == "global" else 80 if width < 4 else 120
            yield Kernel(f"{space}_load_{width}", space, "load", width, body, "ld", count)
        for width, text in STORES.items():
            body = VALUES + text.format(space=space, at=at)
            count = 45 if space == "shared" and width >= 4 else 32
            yield Kernel(f"{space}_store_{width}", space, "store", width, body, "st", count)
        for name in ATOMICS:
            if space == "shared" or name in IN_GLOBAL_TOO:
                yield build_atomic(space, name)
        for many, results in MATRICES.items() if space == "shared" else ():
            text = f"ldmatrix.sync.aligned.m8n8.x{many}.shared.b16 {results}, [{at}];"
            body, name = f"{ZERO}{text}\n{SUM}{SINK[space]}", f"{space}_matrix_{many}"
            yield Kernel(name, space, "matrix", 16, body, "ldsm", 16 * many, matrices=many)
        for name, (width, text) in COPIES.items():
            body = f"@%p {text}\ncp.async.wait_all;"
            yield Kernel(f"{space}_async_{name}", space, "async", width, body, "ldgsts", 24)


KERNELS = {kernel.name: kernel for kernel in build_kernels()}


def write_ptx(kernels):
    return MODULE_HEAD + "".join(kernel.ptx() for kernel in kernels)


# Layouts -----------------------------------------------------------------------------------------


def lanes(function):
    return [function(lane) for lane in range(LANES)]


def list_regular(width):
    """(rank, name, address of a lane): everything but random ones; those of rank 0 come first."""
    for step in range(34):
        rank = 0 if step in (0, 1, 2, 3, 4, 8, 16, 32, 33) else 0.5
        yield rank, f"stride{step}", lambda lane, s=step: lane * s * width
    for step in range(34 if width < 4 else 0):
        yield (1 if step % 8 < 3 else 2), f"words{step}", lambda lane, s=step: lane * s * 4
    for group in (2, 4, 8, 16):
        yield 0, f"group{group}", lambda lane, g=group: lane // g * width
        yield 0, f"cycle{group}", lambda lane, g=group: lane % g * width
        for step in (2, 16, 33):
            yield 1, f"group{group}x{step}", lambda lane, g=group, s=step: lane // g * s * width
            yield 2, f"cycle{group}x{step}", lambda lane, g=group, s=step: lane % g * s * width
    yield 0, "reversed", lambda lane: (LANES - 1 - lane) * width
    for flip in (1, 2, 4, 8, 21):
        yield (1 if flip < 4 else 2), f"xor{flip}", lambda lane, f=flip: (lane ^ f) * width
        yield 1, f"column_xor{flip}", lambda lane, f=flip: (32 * lane + (lane ^ f)) * width
    yield 1, "transposed4x8", lambda lane: (lane % 4 * 8 + lane // 4) * width
    yield 1, "column_of_pairs", lambda lane: (lane // 2 * 32 + lane % 2) * width
    yield 1, "column_of_quads", lambda lane: (lane // 4 * 32 + lane % 4) * width
    for offset in (1, 3, 8):
        rank = 0 if offset == 1 else 1
        yield rank, f"offset{offset}", lambda lane, o=offset: (lane + o) * width
        yield 2, f"offset{offset}x2", lambda lane, o=offset: (2 * lane + o) * width


def list_random(width):
    """(rank, name, addresses)"""
    dice = random.Random(width)
    for number in range(4):
        order = list(range(LANES))
        dice.shuffle(order)
        yield number // 2 + 1, f"permuted{number}", [width * k for k in order]
    for window in (2, 6, 20, 64, 200, 700, 2000):
        for number in range(4):
            addresses = lanes(lambda lane, w=window: width * dice.randrange(w))
            yield min(number, 2), f"random{window}_{number}", addresses
    for window in (40, 600):
        for number in range(2):
            base = lanes(lambda lane, w=window: width * dice.randrange(w))
            tag = f"{window}_{number}"
            yield 0, f"pairs{tag}", lanes(lambda lane, b=base: b[lane & ~1])
            yield 0, f"pairs_apart{tag}", lanes(lambda lane, b=base: b[lane & ~2])
            yield 1, f"pairs_far{tag}", lanes(lambda lane, b=base: b[lane & ~4])
            yield 1, f"halves{tag}", lanes(lambda lane, b=base: b[lane & ~16])
            yield 1, f"quads{tag}", lanes(lambda lane, b=base: b[lane & ~3])
            yield 1, f"crossed{tag}", lanes(lambda lane, b=base: b[min(lane, lane ^ 3)])
            yield 1, f"mixed{tag}", lanes(lambda lane, b=base: b[lane & (~1 if lane < 16 else ~2)])
            broken = lanes(lambda lane, b=base: b[lane & ~1])
            broken[dice.randrange(LANES)] = width * (window + 1)
            yield 1, f"pairs_broken{tag}", broken


def list_far(width):
    """Layouts for global memory only."""
    for step in (48, 64, 128, 256, 4096):
        yield 0, f"bytes{step}", lanes(lambda lane, s=step: lane * s)
    for offset in (4, 16, 20, 32, 96):
        if offset % width == 0:
            yield 0, f"shifted{offset}", lanes(lambda lane, o=offset: lane * width + o)
            yield 1, f"shifted{offset}x2", lanes(lambda lane, o=offset: 2 * lane * width + o)
    dice = random.Random(100 + width)
    for number in range(3):
        anywhere = [width * dice.randrange(GLOBAL_BYTES // width) for _ in range(LANES)]
        yield number, f"anywhere{number}", anywhere


MASKS = (
    *(0x1, 0x80000000, 0x3, 0x5, 0x10001, 0xFF, 0xFFFF, 0xFFFF0000, 0x55555555, 0xAAAAAAAA),
    *(0x33333333, 0x0F0F0F0F, 0x00FF00FF, 0x7FFFFFFF, 0x12345678, 0xDEADBEEF),
)
MASKED = ("stride1", "stride2", "stride4", "stride32", "group2", "pairs40_0", "pairs_apart600_0")
MASKED += ("pairs_broken40_1", "random64_0", "random700_0")


def list_layouts(space, width):
    """(rank, name, addresses): bytes from the start of a memory that is aligned to 128 bytes."""
    for rank, name, function in list_regular(width):
        yield rank, name, lanes(function)
    yield from list_random(width)
    if space == "global":
        yield from list_far(width)


def list_patterns(kernel):
    """(name of the layout, addresses, mask) of every access to measure with this kernel."""
    dice = random.Random(kernel.name)
    layouts = {name: (r, lanes) for r, name, lanes in list_layouts(kernel.space, kernel.width)}
    end = SHARED_BYTES if kernel.space == "shared" else GLOBAL_BYTES
    rows = []
    for name, (rank, addresses) in layouts.items():
        assert all(0 <= a <= end - kernel.width and a % kernel.width == 0 for a in addresses)
        every = ALL >> LANES - 8 * kernel.matrices if kernel.matrices else ALL
        rows.append((rank, dice.random(), name, every))
    for name in MASKED if not kernel.matrices else ():
        for mask in MASKS:
            rank = 0 if dice.random() < 0.06 else dice.choice((1, 2))
            rows.append((rank, dice.random(), name, mask))
    for _, _, name, mask in sorted(rows)[: kernel.count]:
        yield f"{kernel.width}/{name}", layouts[name][1], mask


# What was measured -------------------------------------------------------------------------------


def list_rows(table):
    """(kernel, layout, addresses, mask, counts by name) of everything in a recorded table."""
    for group, rows in table["rows"].items():
        names = list(table["metrics"][group])
        for name, layout, mask, counts in rows:
            addresses = table["layouts"][layout]
            yield KERNELS[name], layout, addresses, mask, dict(zip(names, counts, strict=True))


def expect(kernel, addresses, mask):
    """What smemkit says of the numbers that Nsight Compute gives; nothing where it has no rule.

    That is: loops; and copies whose cost depends on both sides, which profile counts: those that
    meet themselves in the L1 cache's banks, and those past the L1 cache (cg).
    """
    if kernel.loop:
        return {}
    result = {"requests": 1}
    source = [16 * lane for lane in range(LANES)] if kernel.space == "shared" else addresses
    banks = kernel.space == "shared" and (kernel.op != "async" or kernel.name.endswith("ca_16"))
    if banks:
        op = (
            "cas" if "_cas_" in kernel.name else "increment" if "red_add_one" in kernel.name else ""
        )
        cost = smemkit.bank_access(addresses, kernel.width, mask=mask, op=op or kernel.op)
        wavefronts = "wavefronts" if kernel.op == "async" else "wavefronts_l1tex"
        result |= {wavefronts: cost.wavefronts, "conflicts": cost.conflicts}
    if (kernel.op == "async" or kernel.space == "global") and "_cg_" not in kernel.name:
        result["sectors"] = smemkit.sectors(source, kernel.width, mask=mask)
    return result
