"""What messages say of an access out of bounds: on which side, how far, and of what."""

import re

import numpy as np
import pytest
from sim.check.altered import altered
from support.handmade import build, load

import smemkit

VARIABLES = """\
.shared .align 8 .b8 tile[28];
.shared .align 8 .b8 other[8];
.const .align 4 .b8 table[16];
"""
LOCAL = ".local .align 4 .b8 own[16];\n"


def store(setup, access, variables=VARIABLES):
    return load(build(f"{setup}\nmov.u32 %r1, 1;\n{access}", ".param .u64 out", before=variables))


def catch(kernel, **options):
    """The message of a plain run, without its place, and the finding of a checked one."""
    out = np.zeros(8, np.uint32)
    with pytest.raises(smemkit.OutOfBoundsError) as caught:
        kernel(1, 1, (out,), backend="sim", **options)
    (finding,) = kernel.check(1, 1, (out,), **options).findings
    assert finding.kind == "out_of_bounds"
    message = str(caught.value).partition(" [kernel")[0]
    # the array lies elsewhere in each run
    assert re.sub("0x[0-9a-f]+", "", message) == re.sub("0x[0-9a-f]+", "", finding.message)
    return message.partition("out of bounds: ")[2], finding


@pytest.mark.parametrize(
    ("setup", "access", "expected", "variable"),
    [
        (
            "mov.u64 %rd1, tile;",
            "st.shared.u32 [%rd1+-4], %r1;",
            "the block has 40 bytes; the access begins 4 bytes before tile (28 bytes)",
            "tile, byte -4",
        ),
        (
            "mov.u32 %r2, tile; sub.u32 %r2, %r2, 1024;",
            "st.shared.u32 [%r2], %r1;",
            "the block has 40 bytes; the access begins 1024 bytes before tile (28 bytes)",
            "tile, byte -1024",
        ),
        (
            "mov.u64 %rd1, other;",
            "st.shared.u32 [%rd1+12], %r1;",
            "the block has 40 bytes; the access begins 4 bytes past the end of other (8 bytes)",
            "other, byte 12",
        ),
        (
            "mov.u64 %rd1, tile; cvta.shared.u64 %rd1, %rd1;",
            "st.u32 [%rd1+-4], %r1;",
            "it begins 4 bytes before the block's shared memory",
            "",
        ),
        (
            LOCAL + "mov.u64 %rd1, own;",
            "st.local.u32 [%rd1+-8], %r1;",
            "the thread has 16 bytes of it in use; the access begins 8 bytes before them",
            "",
        ),
        (
            LOCAL + "mov.u64 %rd1, own; cvta.local.u64 %rd1, %rd1;",
            "st.u32 [%rd1+-8], %r1;",
            "it begins 8 bytes before the thread's local memory",
            "",
        ),
        (
            "mov.u64 %rd1, 0; sub.u64 %rd1, %rd1, 8;",
            "ld.param.u32 %r2, [%rd1];",
            "the kernel has 8 bytes of parameters; the access begins 8 bytes before them",
            "",
        ),
        (
            "ld.param.u64 %rd1, [out];",
            "st.global.u32 [%rd1+-8], %r1;",
            "it begins 8 bytes before args[0] (uint32[8]), where element -2 would be",
            "",
        ),
        (
            "mov.u64 %rd1, 0;",
            "st.global.u32 [%rd1+-4], %r1;",
            "a null pointer was dereferenced",
            "",
        ),
    ],
)
def test_sides(setup, access, expected, variable):
    used = "mov.u64 %rd2, tile; st.shared.u32 [%rd2], 1; mov.u64 %rd2, other;"
    used += "st.shared.u32 [%rd2], 1;" if "shared" in access else ""
    said, finding = catch(store(used + setup if "shared" in access else setup, access))
    assert (said, finding.first.variable) == (expected, variable)


def test_an_access_that_begins_inside():
    said, finding = catch(store("mov.u64 %rd1, tile;", "st.shared.u64 [%rd1+24], %rd1;"))
    assert said == "the block has 28 bytes; the access begins inside tile (28 bytes)"
    assert finding.first.variable == "tile, byte 24"


def test_dynamic_memory_that_the_launch_does_not_ask_for():
    variables = ".shared .align 4 .b8 tile[5];\n.extern .shared .align 16 .b8 pool[];"
    uses = "mov.u64 %rd1, tile; st.shared.u8 [%rd1], 1; mov.u64 %rd1, pool;"
    said, _ = catch(store(uses, "st.shared.u32 [%rd1+16], %r1;", variables))
    assert said.endswith(
        "; the access begins 16 bytes past the end of pool (0 bytes, "
        "by shared_mem= of the call, or --shared-mem)"
    )
    said, _ = catch(store(uses, "st.shared.u32 [%rd1+16], %r1;", variables), shared_mem=8)
    assert said.endswith(
        "; the access begins 8 bytes past the end of pool (8 bytes, "
        "by shared_mem= of the call, or --shared-mem)"
    )


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("tile+28", "begins 0 bytes past the end of tile (28 bytes)"),
        ("tile+32", "begins 4 bytes past the end of tile (28 bytes)"),
        ("other+-4", "begins 4 bytes before other (8 bytes)"),
        ("other+-8", "begins 8 bytes before other (8 bytes)"),
    ],
)
def test_of_two_variables_the_nearer_is_named(at, said):
    """Padding puts a gap between variables: an access there has one on each side."""
    kernel = store("mov.u64 %rd1, tile; mov.u64 %rd2, other;", f"st.shared.u32 [{at}], %r1;")
    (finding,) = kernel.check(1, 1, (np.zeros(8, np.uint32),), padding=64).findings
    assert said in finding.message
    assert finding.first.variable == at.replace("+", ", byte ")


def test_constants_are_only_read():
    kernel = store("mov.u64 %rd1, table; cvta.const.u64 %rd1, %rd1;", "st.u32 [%rd1], %r1;")
    (finding,) = kernel.check(1, 1, (np.zeros(8, np.uint32),)).findings
    assert "kernels may only read the variable table (16 bytes at 0x" in finding.message


SOURCE = """\
extern "C" __global__ void before(float *y)
{
    __shared__ float line[64], tile[2][33];
    const int t = threadIdx.x;
    line[t] = tile[t / 32][t % 32] = t;
    __syncthreads();
    y[t] = line[t - 3] + tile[0][t];
}
"""


@pytest.mark.skipif(
    not smemkit.compile.find_nvrtc() and not smemkit.compile.find_nvcc(), reason="no compiler here"
)
def test_elements_before_an_array_have_their_index():
    kernel = smemkit.RawKernel(SOURCE, "before")
    report = kernel.check(1, 1, (np.zeros(1, np.float32),))
    assert [finding.first.variable for finding in report.findings] == ["line[-3]"]


# The workspace of a call -------------------------------------------------------------------------

WORKSPACE = """
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1+{offset}], %r1;"""


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (0, "touch the same byte (the workspace of reduce, byte 0)"),
        (512, "bytes past the end of the workspace of reduce ("),
        (-4, "it begins 4 bytes before the workspace of reduce ("),
        (
            -11268,
            "by way of the workspace of reduce (512 bytes) begins 11268 bytes before its start",
        ),
    ],
)
def test_the_workspace_has_a_name(offset, said):
    text = build(
        WORKSPACE.format(offset=offset),
        ".param .u64 x, .param .u64 out, .param .u64 n",
        name="reduce_sequential_sum_float32",
    )
    x = np.ones(8192, np.float32)
    with altered("reduce", "sequential", text) as core:
        report = smemkit.check(core.reduce, x, variant="sequential", backend="sim")
        first = report.findings[0]
        assert said in first.message
        if offset == 0:
            assert first.first.variable == "the workspace of reduce, byte 0"
        elif first.kind == "out_of_bounds":
            with pytest.raises(core.OutOfBoundsError, match=re.escape(said)):
                core.reduce(x, variant="sequential", backend="sim")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("buf", "buf"),
        ("_ZN3foo3bufE", "foo::buf"),
        ("_ZL3buf", "_ZL3buf"),
        ("_ZN3foo3bufIiE1xE", "_ZN3foo3bufIiE1xE"),
        ("_ZN3foo99bufE", "_ZN3foo99bufE"),
        (
            "_ZN31_INTERNAL_2a5bb683_5_b1_cu_main33_GLOBAL__N__2a5bb683_5_b1_cu_main6hiddenE",
            "(anonymous namespace)::hidden",
        ),
        ("__nv_static_22__2a5bb683_5_b1_cu_main_buf", "buf"),
        ("__nv_static_22__2a5bb683_5_b1_cu_main__ZN3foo3bufE", "foo::buf"),
        ("__nv_static_99__2a5bb683", "__nv_static_99__2a5bb683"),
        ("_ZN" + "9namespace" * 9 + "1xE", ("_ZN" + "9namespace" * 9)[:63]),
    ],
)
def test_variables_have_the_names_of_the_source(name, said):
    """A name without namespaces is no mangled one; those of one file carry what nvcc adds."""
    kernel = store(
        f"mov.u64 %rd1, {name};",
        "st.global.u32 [%rd1+16], %r1;",
        f".global .align 4 .b8 {name}[16];\n",
    )
    message, finding = catch(kernel)
    assert f"of the variable {said} (16 bytes" in message
    assert f"of the variable {said} (16 bytes" in finding.message
