"""Local memory at addresses that differ by lane, and of elements narrower than a word."""

import numpy as np
import pytest
from support.handmade import build, launch

import smemkit

# %rd3: the thread's own word of out
BEGIN = """
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
"""


def launch_in_warps(body):
    """What 64 threads write."""
    out = np.zeros(64, np.uint32)
    launch(build(BEGIN + body, ".param .u64 out"), out, block=64)
    return out


@pytest.mark.parametrize(("kind", "size"), [("u8", 1), ("s16", 2), ("u32", 4), ("u64", 8)])
def test_local_memory_at_addresses_that_differ_by_lane(kind, size):
    """One lane uses another half of the array than the rest; then a store leaves the array."""
    wide = "rd5" if kind == "u64" else "r5"
    body = f"""
    .local .align 8 .b8 own[512];
    .reg .b64 %at;
    mov.u64 %at, own;
    and.b32 %r2, %r1, 31;
    mul.wide.u32 %rd4, %r2, {size};
    add.u64 %at, %at, %rd4;
    add.u32 %r5, %r1, 40;
    cvt.u64.u32 %rd5, %r5;
    setp.ne.u32 %p1, %r1, 3;
    st.local.{kind} [%at], %{wide};
    @%p1 st.local.{kind} [%at + {32 * size}], %{wide};
    mov.u32 %r5, 0;
    mov.u64 %rd5, 0;
    @%p1 ld.local.{kind} %{wide}, [%at + {32 * size}];
    @!%p1 ld.local.{kind} %{wide}, [%at];
    """
    back = "cvt.u32.u64 %r5, %rd5;\n" if kind == "u64" else ""
    out = launch_in_warps(f"{body}{back}st.global.u32 [%rd3], %r5;")
    assert (out == np.arange(64) + 40).all()
    with pytest.raises(smemkit.OutOfBoundsError, match="local memory"):
        launch_in_warps(f"{body}st.local.{kind} [%at + {496 - size}], %{wide};")
