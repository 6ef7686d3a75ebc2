"""Device arrays too large to be made on the host and copied: filled where they are."""

from support import handmade

import smemkit

THREADS = 256

FILL = handmade.build(
    """
    ld.param.u64 %rd1, [words];
    ld.param.u64 %rd2, [count];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mul.wide.u32 %rd3, %r2, %r3;
    cvt.u64.u32 %rd4, %r4;
    add.u64 %rd3, %rd3, %rd4;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 ret;
    shl.b64 %rd3, %rd3, 2;
    add.u64 %rd1, %rd1, %rd3;
    st.global.u32 [%rd1], %r1;""",
    ".param .u64 words, .param .u64 count, .param .u32 value",
    name="fill",
)


def fill(shape, dtype, word, backend):
    """A device array whose every 32-bit word is `word`."""
    array = smemkit.empty(shape, dtype, backend=backend)
    count = array.nbytes // 4
    assert count * 4 == array.nbytes
    kernel = handmade.load(FILL, "fill", backend)
    kernel((-(-count // THREADS),), (THREADS,), (array, count, word), backend=backend)
    return array
