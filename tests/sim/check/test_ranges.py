"""What check remembers of an access: exactly its bytes, who it was, and how.

Two warps, one access each, nothing between them: a race where they share a byte, and none where the
one ends just before the other begins. How the first lies decides how it is remembered (as a shape,
cell by cell, lane by lane), so all of that is tried.
"""

import numpy as np
import pytest
from support.handmade import build, load

import smemkit

LANE = np.arange(32)
BYTES = 4096
MOVES = {
    1: ("b8", "%h1"),
    2: ("b16", "%h1"),
    4: ("b32", "%r7"),
    8: ("b64", "%rd7"),
    16: ("v2.b64", "{%rd7, %rd8}"),
}
# Offsets of the lanes' elements, in elements.
SHAPES = {
    "neighbours": LANE,
    "backwards": 31 - LANE,
    "one address": 0 * LANE,
    "in pairs": LANE // 2,
    "groups of eight": LANE % 8,
    "scattered": LANE * 5 % 32,
}
PARAMETERS = ".param .u64 data, .param .u64 places, .param .u32 at, .param .u32 mask"
KINDS = {"global": "global_race", "shared": "race"}


def write_access(op, space, place, type_, register):
    if op == "load":
        return f"ld.{space}.{type_} {register}, {place};"
    if op == "store":
        return f"st.{space}.{type_} {place}, {register};"
    return f"red.{space}.add.u{type_[1:]} {place}, {register};"


def write_kernel(space, first, width, second):
    """Warp 0 accesses data[places[lane]], then one lane of warp 1 the byte `at`."""
    type_, register = MOVES[width]
    begin = "ld.param.u64 %rd1, [data];"
    if space == "shared":  # all of it written, and all threads know
        begin = f"""
    mov.u64 %rd1, tile;
    mul.wide.u32 %rd5, %r1, {BYTES // 64};
    add.u64 %rd5, %rd1, %rd5;
    mov.u64 %rd7, 0;
    mov.u64 %rd8, 0;
""" + "".join(
            f"    st.shared.v2.b64 [%rd5+{k}], {{%rd7, %rd8}};\n" for k in range(0, BYTES // 64, 16)
        )
    body = f"""
    mov.u32 %r1, %tid.x;
    {begin}
    ld.param.u64 %rd2, [places];
    ld.param.u32 %r2, [at];
    ld.param.u32 %r3, [mask];
    and.b32 %r4, %r1, 31;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd3, %rd2, %rd3;
    ld.global.u32 %r5, [%rd3];
    cvt.u64.u32 %rd3, %r5;
    add.u64 %rd3, %rd1, %rd3;
    cvt.u64.u32 %rd4, %r2;
    add.u64 %rd4, %rd1, %rd4;
    shr.u32 %r6, %r3, %r4;
    and.b32 %r6, %r6, 1;
    setp.eq.u32 %p2, %r6, 1;
    mov.u16 %h1, 0;
    mov.u32 %r7, 0;
    mov.u64 %rd7, 0;
    mov.u64 %rd8, 0;
    bar.sync 0;
    setp.lt.u32 %p1, %r1, 32;
    @!%p1 bra other;
    @%p2 {write_access(first, space, "[%rd3]", type_, register)}
    bra end;
other:
    setp.eq.u32 %p3, %r4, 0;
    @%p3 {write_access(second, space, "[%rd4]", "b8", "%h1")}
end:"""
    return build(body, PARAMETERS, before=f".shared .align 16 .b8 tile[{BYTES}];")


def find(kernel, places, at, mask):
    args = (np.zeros(BYTES, np.uint8), places.astype(np.uint32), at, mask)
    report = kernel.check((1,), (64,), args, backend="sim")
    return [finding.kind for finding in report.findings]


PAIRS = [
    ("load", "store"),
    ("store", "load"),
    ("store", "store"),
    ("atomic", "load"),
    ("atomic", "store"),
]


@pytest.mark.parametrize("space", KINDS)
@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
@pytest.mark.parametrize("width", MOVES)
def test_a_record_has_the_bytes_of_its_access(space, pair, width):
    first, second = pair
    if first == "atomic" and width not in (4, 8):
        pytest.skip("no atomic has that width")
    kernel = load(write_kernel(space, first, width, second))
    for name, shape in SHAPES.items():
        for mask in (0xFFFFFFFF, 0x0000FF00, 1 << 9):
            for begin in (256, 256 + 4 * width, 320, 352 + width):  # with and without a whole line
                begin -= begin % width
                places = begin + width * shape
                touched = {
                    int(place) + k
                    for lane, place in enumerate(places)
                    for k in range(width)
                    if mask >> lane & 1
                }
                low, high = min(touched), max(touched)
                for at in (low - 1, low, high, high + 1):
                    kinds = find(kernel, places, at, mask)
                    where = f"{name}, mask {mask:#x}, from {begin}, byte {at} of {low}..{high}"
                    assert kinds == ([KINDS[space]] if at in touched else []), where


# What has been written ---------------------------------------------------------------------------

WRITE = """
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [begin];
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r2, WIDTH, %r1;
    cvt.u64.u32 %rd2, %r3;
    add.u64 %rd3, %rd1, %rd2;
    mov.u16 %h1, 0;
    mov.u32 %r7, 0;
    mov.u64 %rd7, 0;
    mov.u64 %rd8, 0;
    st.global.TYPE [%rd3], REGISTER;
"""
READ = """
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [begin];
    cvt.u64.u32 %rd2, %r1;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.b8 %h1, [%rd3];
"""
PLACE = ".param .u64 data, .param .u32 begin"


@pytest.mark.parametrize("threads", [1, 3, 32])
@pytest.mark.parametrize("width", MOVES)
def test_what_one_launch_writes_the_next_may_read(width, threads):
    """And nothing beside it: what lies there is still uninitialised."""
    type_, register = MOVES[width]
    body = WRITE.replace("WIDTH", str(width)).replace("TYPE", type_).replace("REGISTER", register)
    write, read = load(build(body, PLACE)), load(build(READ, PLACE))
    for begin in (width, 16 + width, 64, 240 // width * width):
        data = smemkit.empty((1024,), np.uint8, backend="sim")
        assert not write.check((1,), (threads,), (data, begin)).findings
        end = begin + width * threads
        for at in (0, begin - 1, begin, (begin + end) // 2, end - 1, end, 1023):
            kinds = [f.kind for f in read.check((1,), (1,), (data, at)).findings]
            assert kinds == ([] if begin <= at < end else ["uninitialized"]), (begin, end, at)


@pytest.mark.parametrize("threads", [1, 3, 32])
@pytest.mark.parametrize("width", MOVES)
def test_what_a_block_writes_it_may_read(width, threads):
    type_, register = MOVES[width]
    body = f"""
    ld.param.u32 %r1, [begin];
    ld.param.u32 %r6, [at];
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r2, {width}, %r1;
    mov.u32 %r4, tile;
    add.u32 %r5, %r4, %r3;
    add.u32 %r6, %r4, %r6;
    mov.u16 %h1, 0;
    mov.u32 %r7, 0;
    mov.u64 %rd7, 0;
    mov.u64 %rd8, 0;
    st.shared.{type_} [%r5], {register};
    bar.sync 0;
    ld.shared.b8 %h1, [%r6];"""
    kernel = load(
        build(body, ".param .u32 begin, .param .u32 at", before=".shared .align 16 .b8 tile[1024];")
    )
    for begin in (width, 16 + width, 64, 240 // width * width):
        end = begin + width * threads
        for at in (begin - 1, begin, end - 1, end):
            report = kernel.check((1,), (threads,), (begin, at), backend="sim")
            kinds = [finding.kind for finding in report.findings]
            assert kinds == ([] if begin <= at < end else ["uninitialized"]), (begin, end, at)


# How it was --------------------------------------------------------------------------------------


def write_loads(order):
    """Loads of one word by one warp, each an instruction of its own; a strong store by another."""
    words = {"s": "ld.volatile.shared.u32 %r2, [tile];", "w": "ld.shared.u32 %r2, [tile];"}
    lines = "\n    ".join(words[letter] for letter in order)
    return f"""
    mov.u32 %r1, %tid.x;
    mov.u32 %r3, 0;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 st.shared.u32 [tile], %r3;
    bar.sync 0;
    setp.lt.u32 %p1, %r1, 32;
    @!%p1 bra other;
    {lines}
    bra end;
other:
    st.volatile.shared.u32 [tile], %r3;
end:"""


@pytest.mark.parametrize("order", ["s", "sss", 40 * "s"], ids=len)
def test_strong_accesses_do_not_race(order):
    kernel = load(build(write_loads(order), before=".shared .align 4 .b8 tile[4];"))
    assert not kernel.check((1,), (33,), (), backend="sim").findings


@pytest.mark.parametrize("weak", [*range(10), 20, 39])
def test_a_weak_access_among_strong_ones_is_not_lost(weak):
    """However many there are before and behind it: more than are kept one by one."""
    order = "s" * weak + "w" + "s" * (39 - weak)
    kernel = load(build(write_loads(order), before=".shared .align 4 .b8 tile[4];"))
    report = kernel.check((1,), (33,), (), backend="sim")
    assert [finding.kind for finding in report.findings] == ["race"]


# Copies that are under way -----------------------------------------------------------------------

USES = {
    "load": "ld.shared.u32 %r2, [%r5];",
    "load of a byte": "ld.shared.u8 %h1, [%r5+3];",
    "store": "st.shared.u32 [%r5], %r2;",
    "atomic": "atom.shared.add.u32 %r2, [%r5], 1;",
}
ISSUE = """
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [data];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r4, tile;
    mad.lo.u32 %r3, %r1, 4, %r4;
    xor.b32 %r6, %r1, OTHER;
    mad.lo.u32 %r5, %r6, 4, %r4;
    mov.u32 %r2, 0;
    GUARD cp.async.ca.shared.global [%r3], [%rd1], 4;
    cp.async.commit_group;
"""
WAYS = {  # what stands between the copy and the use, and whether that will do: own, another's
    "nothing": ("", False, False),
    "a barrier": ("bar.sync 0;", False, False),
    "a wait": ("cp.async.wait_group 0;", True, False),
    "barrier, wait": ("bar.sync 0;\n cp.async.wait_all;", True, False),
    "wait, barrier": ("cp.async.wait_group 0;\n bar.sync 0;", True, True),
    "a wait for older ones": ("cp.async.wait_group 1;\n bar.sync 0;", False, False),
}


@pytest.mark.parametrize("lanes", ["all", "one"])
@pytest.mark.parametrize("other", [0, 1, 32], ids=["own", "of the warp", "of another warp"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("use", USES)
def test_no_use_of_a_copy_before_it_has_landed(use, way, other, lanes):
    between, own_will_do, others_will_do = WAYS[way]
    guard = "" if lanes == "all" else "setp.eq.u32 %p1, %r1, 5;\n    @%p1"
    body = ISSUE.replace("OTHER", str(other)).replace("GUARD", guard) + f"    {between}\n"
    user = 5 ^ other
    body += f"    setp.eq.u32 %p2, %r1, {user};\n    @%p2 " if lanes == "one" else "    "
    text = build(
        body + USES[use], ".param .u64 data", before=".shared .align 16 .b8 tile[256];"
    ).replace(".target sm_75", ".target sm_80")
    data = np.zeros(64, np.uint32)
    report = load(text).check((1,), (64,), (data,), backend="sim")
    kinds = {finding.kind for finding in report.findings}
    good = own_will_do if other == 0 else others_will_do
    assert bool(kinds) != good, report
    if not good:
        assert kinds <= {"async_read", "race", "warp_hazard", "uninitialized"}
    if way in ("a barrier", "barrier, wait") and not good or (other == 0 and not good):
        assert "async_read" in kinds, report
