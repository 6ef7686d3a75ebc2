"""Small kernels in PTX whose counts can be told by hand, for the tests of reports and advice."""

import smemkit

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
# Each thread writes a word of shared memory, `step` words from its neighbour's, and reads it back.
STRIDE = (
    HEAD
    + """\
.visible .entry stride(.param .u64 out, .param .u32 step)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[4096];
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [step];
    mov.u32 %r2, %tid.x;
    mul.lo.s32 %r3, %r2, %r1;
    shl.b32 %r3, %r3, 2;
    mov.u32 %r4, tile;
    add.s32 %r5, %r4, %r3;
    st.shared.u32 [%r5], %r2;
    bar.sync 0;
    ld.shared.u32 %r6, [%r5];
    cvta.to.global.u64 %rd1, %rd1;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;
    ret;
}
"""
)
STRIDE_INSTRUCTIONS = 15
STORE_LINE, BARRIER_LINE, LOAD_LINE = 16, 17, 18


def make_stride(code=STRIDE):
    return smemkit.RawKernel(code, "stride")


def make_kernel(body, shared=""):
    """A kernel named k of one pointer (%rd1, global) and its thread number (%r1)."""
    return smemkit.RawKernel(
        f"{HEAD}.visible .entry k(.param .u64 data)\n{{\n"
        "    .reg .b32 %r<16>;\n    .reg .b64 %rd<16>;\n    .reg .pred %p<4>;\n"
        f"    {shared}\n"
        "    ld.param.u64 %rd1, [data];\n    cvta.to.global.u64 %rd1, %rd1;\n"
        f"    mov.u32 %r1, %tid.x;\n{body}\n    ret;\n}}\n",
        "k",
    )
