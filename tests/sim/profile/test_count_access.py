"""What profile counts of memory accesses, by kernels small enough to count by hand."""

import numpy as np
import pytest
from sim.profile.count_tools import check, check_absent, profile
from support.handmade import build

# Constant memory ---------------------------------------------------------------------------------

CONSTANT = """
    mov.u32 %r1, %tid.x;
    mov.u64 %rd1, c;
    {index}
    mad.wide.u32 %rd2, %r1, {step}, %rd1;
    {access}"""


def constant(step, access="ld.const.u32 %r4, [%rd2];", index=""):
    body = CONSTANT.format(step=step, access=access, index=index)
    return build(body, before=".const .align 16 .b8 c[8192];")


@pytest.mark.parametrize(
    ("step", "addresses"), [(0, 1), (1, 8), (2, 16), (4, 32), (64, 32), (128, 32)]
)
def test_words_of_constant_memory(step, addresses):
    access = "ld.const.u32 %r4, [%rd2];" if step % 4 == 0 else "ld.const.u8 %r4, [%rd2];"
    launch = profile(constant(step, access), block=48)  # the second warp has 16 lanes
    second = min(16, -(-16 * step // 4)) if step else 1
    check(launch, "constant.load", requests=2, addresses=addresses + second)
    assert launch["counters"]["constant.load.addresses_per_request"] == (addresses + second) / 2
    check_absent(launch, "global", "local", "shared", "async")
    assert not launch["samples"]


def test_lanes_that_share_words_of_constant_memory():
    launch = profile(constant(4, index="and.b32 %r1, %r1, 3;"))
    check(launch, "constant.load", requests=1, addresses=4)


@pytest.mark.parametrize(
    ("access", "addresses"),
    [("ld.const.v2.u32 {%r4, %r5}, [%rd2];", 32), ("ld.const.u64 %rd3, [%rd2];", 32)],
)
def test_wide_words_of_constant_memory(access, addresses):
    check(profile(constant(8, access)), "constant.load", requests=1, addresses=addresses)
    check(profile(constant(0, access)), "constant.load", requests=1, addresses=1)


def test_constants_at_a_known_address_are_operands():
    launch = profile(constant(0, "ld.const.u32 %r4, [c+8];"))
    check_absent(launch, "constant")


def test_parameters_at_a_computed_address():
    body = """
    mov.u32 %r1, %tid.x;
    mov.b64 %rd1, p;
    and.b32 %r2, %r1, 15;
    mad.wide.u32 %rd2, %r2, 4, %rd1;
    ld.param.u32 %r3, [%rd2];
    ld.param.u32 %r4, [p+4];"""
    text = build(body, ".param .align 4 .b8 p[64]")
    launch = profile(text, np.zeros(1, dtype=[("w", "u4", 16)])[0])
    check(launch, "constant.load", requests=1, addresses=16)


def test_parameters_of_a_function_lie_in_its_frame():
    before = """.func g(.param .align 8 .b8 q[8]) {
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    mov.b64 %rd1, q; ld.param.u32 %r1, [%rd1]; ret; }"""
    body = "{ .param .align 8 .b8 a[8]; st.param.u64 [a], %rd1; call g, (a); }"
    launch = profile(build(body, before=before))
    check_absent(launch, "constant")


# Shared memory -----------------------------------------------------------------------------------

SHARED = """
    .shared .align 16 .b8 s[8192];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    mad.lo.u32 %r3, %r1, {step}, %r2;
    {access}"""


def shared(step, access):
    return build(SHARED.format(step=step, access=access))


@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize(
    ("step", "conflicts"), [(0, 0), (4, 0), (8, 1), (16, 3), (64, 15), (128, 31), (132, 0)]
)
def test_shared_strides(kind, step, conflicts):
    access = {"load": "ld.shared.u32 %r4, [%r3];", "store": "st.shared.u32 [%r3], %r1;"}[kind]
    launch = profile(shared(step, access))
    check(
        launch,
        f"shared.{kind}",
        instructions=1,
        wavefronts=1 + conflicts,
        ideal=1,
        conflicts=conflicts,
        bytes=128,
    )
    assert launch["counters"][f"shared.{kind}.conflicts_per_request"] == conflicts
    check_absent(launch, "global", "local", "async", "shared.atomic")
    (sample,) = launch["samples"]
    assert sample["space"] == "shared" and sample["op"] == kind and sample["bytes"] == 4
    assert sample["mask"] == 0xFFFFFFFF and sample["cost"] == 1 + conflicts
    assert sample["addresses"].dtype == np.uint64
    assert (sample["addresses"] == step * np.arange(32)).all()


@pytest.mark.parametrize(
    ("access", "step", "phases", "size"),
    [
        ("ld.shared.u8 %r4, [%r3];", 1, 1, 1),
        ("ld.shared.u16 %h1, [%r3];", 2, 1, 2),
        ("ld.shared.u64 %rd1, [%r3];", 8, 2, 8),
        ("ld.shared.v2.u32 {%r4, %r5}, [%r3];", 8, 2, 8),
        ("ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];", 16, 4, 16),
        ("ld.shared.v2.u64 {%rd1, %rd2}, [%r3];", 16, 4, 16),
    ],
)
def test_shared_widths(access, step, phases, size):
    launch = profile(shared(step, access))
    check(launch, "shared.load", instructions=1, wavefronts=phases, ideal=phases, bytes=32 * size)


def test_shared_atomics_count_lanes():
    launch = profile(shared(0, "atom.shared.add.u32 %r4, [%r3], 1;\n red.shared.add.u32 [%r3], 1;"))
    check(
        launch,
        "shared.atomic",
        instructions=2,
        wavefronts=64,
        ideal=2,
        conflicts=62,
        bytes=256,
    )
    assert [sample["op"] for sample in launch["samples"]] == ["atomic", "atomic"]
    check_absent(launch, "shared.load", "shared.store")


def test_shared_guarded_lanes():
    launch = profile(shared(128, "setp.lt.u32 %p1, %r1, 3;\n @%p1 ld.shared.u32 %r4, [%r3];"))
    check(launch, "shared.load", instructions=1, wavefronts=3, ideal=1, conflicts=2, bytes=12)
    (sample,) = launch["samples"]
    assert sample["mask"] == 7
    assert sample["addresses"].tolist() == [0, 128, 256] + [0] * 29


def test_one_access_with_another_pattern_each_time():
    text = build(
        """
    .shared .align 16 .b8 s[8192];
    mov.u32 %r1, %tid.x;
    mov.u32 %r4, 0;
again:
    mul.lo.u32 %r2, %r1, %r4;
    mov.u32 %r3, s;
    add.u32 %r3, %r3, %r2;
    ld.shared.u32 %r5, [%r3];
    add.u32 %r4, %r4, 4;
    setp.lt.u32 %p1, %r4, 136;
    @%p1 bra again;"""
    )
    launch = profile(text)
    steps = range(34)
    waves = [max(1, np.gcd(step, 32)) if step else 1 for step in steps]
    check(
        launch,
        "shared.load",
        instructions=34,
        wavefronts=sum(waves),
        ideal=34,
        conflicts=sum(waves) - 34,
        bytes=34 * 128,
    )
    (sample,) = launch["samples"]
    assert sample["cost"] == 32 and sample["addresses"][1] == 128


# Global memory -----------------------------------------------------------------------------------

GLOBAL = """
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, {step};
    add.u64 %rd3, %rd1, %rd2;
    {access}"""


def touch_global(step, access, **options):
    text = build(GLOBAL.format(step=step, access=access), ".param .u64 data")
    return profile(text, np.zeros(8192, np.uint8), **options)


@pytest.mark.parametrize("kind", ["load", "store", "atomic"])
@pytest.mark.parametrize(
    ("step", "offset", "sectors"),
    [(0, 0, 1), (4, 0, 4), (4, 4, 5), (8, 0, 8), (32, 0, 32), (64, 28, 32)],
)
def test_global_strides(kind, step, offset, sectors):
    access = {
        "load": f"ld.global.u32 %r2, [%rd3+{offset}];",
        "store": f"st.global.u32 [%rd3+{offset}], %r1;",
        "atomic": f"red.global.add.u32 [%rd3+{offset}], 1;",
    }[kind]
    launch = touch_global(step, access)
    check(
        launch,
        f"global.{kind}",
        requests=1,
        sectors=sectors,
        bytes=128,
        bytes_moved=32 * sectors,
    )
    assert launch["counters"][f"global.{kind}.sectors_per_request"] == sectors
    check_absent(launch, "shared", "local", "async")
    (sample,) = launch["samples"]
    assert sample["space"] == "global" and sample["op"] == kind and sample["cost"] == sectors
    assert (np.diff(sample["addresses"].astype(np.int64)) == step).all()


@pytest.mark.parametrize(
    ("access", "step", "sectors", "size"),
    [
        ("ld.global.u8 %r2, [%rd3];", 1, 1, 1),
        ("ld.global.u16 %h1, [%rd3];", 2, 2, 2),
        ("ld.global.v2.f32 {%f1, %f2}, [%rd3];", 8, 8, 8),
        ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];", 16, 16, 16),
        ("ld.global.nc.f64 %d1, [%rd3];", 8, 8, 8),
    ],
)
def test_global_widths(access, step, sectors, size):
    launch = touch_global(step, access)
    check(
        launch,
        "global.load",
        requests=1,
        sectors=sectors,
        bytes=32 * size,
        bytes_moved=32 * sectors,
    )


def test_partial_warp():
    launch = touch_global(4, "ld.global.u32 %r2, [%rd3];", block=40)
    check(launch, "global.load", requests=2, sectors=5, bytes=160, bytes_moved=160)


# Local memory, constants, generic addresses ------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "access", "requests", "sectors"),
    [
        ("0", "ld.local.u32 %r4, [%r3];", 1, 4),  # one word index: 32 words side by side
        ("4", "ld.local.u32 %r4, [%r3];", 1, 32),  # every lane another one
        ("0", "ld.local.u64 %rd4, [%r3];", 2, 8),  # a request for each word
        ("0", "ld.local.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];", 4, 16),
        ("0", "ld.local.u8 %r4, [%r3+1];", 1, 4),
        ("1", "ld.local.u8 %r4, [%r3];", 1, 8),  # lanes 0 to 3 in word 0, ...: 2 words for 8 lanes
    ],
)
def test_local(index, access, requests, sectors):
    access = access.replace("%r3", "%rd3")
    launch = profile(
        build(
            f"""
    .local .align 8 .b8 frame[256];
    mov.u32 %r1, %tid.x;
    mov.u64 %rd1, frame;
    mul.wide.u32 %rd2, %r1, {index};
    add.u64 %rd3, %rd1, %rd2;
    {access}
    st.local.u32 [frame], %r1;"""
        )
    )
    check(
        launch,
        "local",
        **{"load.requests": requests, "load.sectors": sectors},
        **{"store.requests": 1, "store.sectors": 4},
    )
    check_absent(launch, "shared", "global")
    assert launch["samples"] == []


def test_constants_and_parameters_are_not_counted():
    launch = profile(
        build(
            "ld.const.u32 %r1, [c];\n ld.param.u32 %r2, [n];",
            ".param .u32 n",
            before=".const .align 4 .u32 c[3] = {1, 2, 3};",
        ),
        7,
    )
    check_absent(launch, "shared", "global", "local")
    assert launch["samples"] == []


def test_generic_addresses_go_where_they_point():
    """Lanes 0 to 7 read shared memory, 8 to 23 global memory, the others local memory."""
    text = build(
        """
    .shared .align 8 .b8 s[128];
    .local .align 8 .b8 l[64];
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    setp.lt.u32 %p1, %r1, 8;
    setp.lt.u32 %p2, %r1, 24;
    mov.u64 %rd3, l;
    cvta.local.u64 %rd3, %rd3;
    add.u64 %rd4, %rd1, %rd2;
    @%p2 mov.u64 %rd3, %rd4;
    mov.u64 %rd5, s;
    cvta.shared.u64 %rd5, %rd5;
    add.u64 %rd5, %rd5, %rd2;
    @%p1 mov.u64 %rd3, %rd5;
    st.u32 [%rd3], %r1;
    ld.u32 %r2, [%rd3];""",
        ".param .u64 data",
    )
    data = np.zeros(32, np.uint32)
    launch = profile(text, data)
    assert data.tolist() == [0] * 8 + list(range(8, 24)) + [0] * 8
    for kind in ("load", "store"):
        check(launch, f"shared.{kind}", instructions=1, wavefronts=1, ideal=1, bytes=32)
        check(launch, f"global.{kind}", requests=1, sectors=2, bytes=64, bytes_moved=64)
        check(launch, f"local.{kind}", requests=1, sectors=1)
    spaces = [(sample["op"], sample["space"], sample["mask"]) for sample in launch["samples"]]
    assert spaces == [
        ("store", "shared", 0xFF),
        ("store", "global", 0xFFFF00),
        ("load", "shared", 0xFF),
        ("load", "global", 0xFFFF00),
    ]
    shared_sample = launch["samples"][0]
    assert shared_sample["addresses"].tolist() == [*range(0, 32, 4), *[0] * 24]


# cp.async ----------------------------------------------------------------------------------------

ASYNC = """
    .shared .align 16 .b8 s[8192];
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 16;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r2, s;
    mad.lo.u32 %r3, %r1, {step}, %r2;
    {copy}
    cp.async.commit_group;
    cp.async.wait_group 0;"""
SM_80 = ".version 7.8\n.target sm_80\n.address_size 64\n"


@pytest.mark.parametrize(
    ("step", "copy", "size", "wavefronts"),
    [
        (16, "cp.async.cg.shared.global [%r3], [%rd1], 16;", 16, 4),
        (16, "cp.async.ca.shared.global [%r3], [%rd1], 16;", 16, 4),
        (32, "cp.async.ca.shared.global [%r3], [%rd1], 16;", 16, 8),
    ],
)
def test_async(step, copy, size, wavefronts):
    text = build(ASYNC.format(step=step, copy=copy), ".param .u64 data", header=SM_80)
    launch = profile(text, np.arange(512, dtype=np.uint8))
    check(
        launch,
        "async",
        copies=1,
        bytes=32 * size,
        requests=1,
        sectors=16,
        wavefronts=wavefronts,
        ideal=4,
        conflicts=wavefronts - 4,
    )
    check_absent(launch, "shared", "global.load", "global.store", "local")
    assert [(one["space"], one["op"]) for one in launch["samples"]] == [
        ("shared", "async"),
        ("global", "async"),
    ]


def test_async_that_fills_with_zeros():
    copy = """setp.lt.u32 %p1, %r1, 8;
    selp.u32 %r4, 12, 0, %p1;
    cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;"""
    text = build(ASYNC.format(step=16, copy=copy), ".param .u64 data", header=SM_80)
    launch = profile(text, np.zeros(512, np.uint8))
    check(launch, "async", copies=1, bytes=96, requests=1, sectors=4, wavefronts=5, ideal=5)


def test_async_that_reads_nothing():
    copy = "mov.u32 %r4, 0;\n cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;"
    text = build(ASYNC.format(step=16, copy=copy), ".param .u64 data", header=SM_80)
    launch = profile(text, np.zeros(512, np.uint8))
    check(launch, "async", copies=1, wavefronts=4, ideal=4)


# What ptxas makes of it --------------------------------------------------------------------------


def fused_pair(model):
    text = build(
        """
    .shared .align 16 .b8 s[1024];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 3;
    mov.u32 %r3, s;
    add.u32 %r3, %r3, %r2;
    st.shared.v2.u32 [%r3], {%r1, %r2};
    bar.sync 0;
    ld.shared.u32 %r4, [%r3+4];
    ld.shared.u32 %r5, [%r3];
    add.u32 %r6, %r4, %r5;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;""",
        ".param .u64 out",
    )
    out = np.zeros(32, np.uint32)
    launch = profile(text, out, model=model)
    assert (out == 9 * np.arange(32)).all()
    assert launch["modelled"] is model
    return launch


def test_fused_accesses():
    launch = fused_pair(True)
    check(launch, "shared.load", instructions=1, wavefronts=2, ideal=2, bytes=256)
    roles = [one["role"] for one in launch["instructions"] if one["ptx"].startswith("ld.shared")]
    assert roles == ["leader", "member"]
    sample = next(one for one in launch["samples"] if one["op"] == "load")
    assert sample["bytes"] == 8 and (sample["addresses"] == 8 * np.arange(32)).all()


def test_accesses_as_written():
    launch = fused_pair(False)
    check(launch, "shared.load", instructions=2, wavefronts=4, ideal=2, conflicts=2, bytes=256)
    assert {one["role"] for one in launch["instructions"]} == {"alone"}
