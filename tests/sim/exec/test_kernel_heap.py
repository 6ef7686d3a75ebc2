"""malloc and free in a kernel."""

import numpy as np
import pytest

import smemkit

HEAD = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 bytes);
.extern .func free (.param .b64 at);
"""
BEGIN = """.visible .entry {name}(.param .u64 out, .param .u64 bytes)
{{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<16>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [bytes];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
mad.wide.u32 %rd3, %r1, 8, %rd1;
"""
MALLOC = """{ .param .b64 size; st.param.b64 [size], %rd2; .param .b64 got;
call (got), malloc, (size); ld.param.b64 %rd4, [got]; }
"""
FREE = "{ .param .b64 at; st.param.b64 [at], %rd4; call free, (at); }\n"
END = "ret;\n}\n"
GET = BEGIN.format(name="get") + MALLOC + "st.global.u64 [%rd3], %rd4;\n"
FILL = "st.u32 [%rd4], %r1;\n"
SUM = (
    BEGIN.format(name="use")
    + "ld.global.u64 %rd4, [%rd3];\nld.u32 %r4, [%rd4];\ncvt.u64.u32 %rd5, %r4;\n"
    + "st.global.u64 [%rd3], %rd5;\n"
)


def make(*kernels):
    text = HEAD + "".join(kernel + END for kernel in kernels)
    return smemkit.RawModule(text, backend="sim")


@pytest.mark.parametrize("n", [1, 100])
def test_pieces_do_not_overlap(n):
    pointers = np.zeros(4 * 64, np.uint64)
    make(GET).get_function("get")(4, 64, (pointers, np.uint64(n)))
    assert (pointers % 16 == 0).all() and pointers.all()
    assert (np.diff(np.sort(pointers)) >= n).all()


def test_what_a_launch_allocates_another_uses_and_frees():
    module = make(GET + FILL, SUM + FREE)
    pointers = np.zeros(64, np.uint64)
    module.get_function("get")(2, 32, (pointers, np.uint64(4)))
    first = pointers.copy()
    module.get_function("use")(2, 32, (pointers, np.uint64(0)))
    assert pointers.tolist() == list(range(64))
    module.get_function("get")(2, 32, (pointers, np.uint64(4)))
    assert set(pointers) == set(first)


def test_modules_share_the_heap():
    """As those of a CUDA context do: one frees what the other has allocated, and checks know it."""
    first, second = make(GET + FILL), make(SUM + FREE, GET)
    pointers = np.zeros(64, np.uint64)
    first.get_function("get")(2, 32, (pointers, np.uint64(4)))
    addresses, given = pointers.copy(), set(pointers)
    kernel = second.get_function("use")
    assert kernel.check(2, 32, (pointers, np.uint64(0))).findings == []
    assert pointers.tolist() == list(range(64))
    (freed,) = make(SUM).get_function("use").check(1, 1, (addresses, np.uint64(0))).findings
    assert freed.kind == "out_of_bounds" and "that free or delete has taken back" in freed.message
    del first
    second.get_function("get")(2, 32, (pointers, np.uint64(4)))
    assert set(pointers) == given


def test_an_exhausted_heap_gives_null():
    pointers = np.ones(32, np.uint64)
    kernel = make(GET).get_function("get")
    kernel(1, 32, (pointers, np.uint64(1 << 40)))
    assert not pointers.any()
    kernel(1, 32, (pointers, np.uint64(0)))
    assert not pointers.any()
    kernel(1, 32, (pointers, np.uint64(16 << 20)))
    assert 0 < np.count_nonzero(pointers) < 32
    assert not pointers[np.count_nonzero(pointers) :].any()


def test_free_of_null_does_nothing():
    text = GET.replace(MALLOC, "mov.u64 %rd4, 0;\n" + FREE)
    make(text).get_function("get")(1, 32, (np.zeros(32, np.uint64), np.uint64(4)))


@pytest.mark.parametrize("way", ["twice", "inside", "elsewhere"])
def test_free_of_what_malloc_has_not_given(way):
    second = {"twice": FREE + FREE, "inside": "add.u64 %rd4, %rd4, 16;\n" + FREE}
    kernel = make(GET + second.get(way, "mov.u64 %rd4, %rd1;\n" + FREE)).get_function("get")
    with pytest.raises(smemkit.ExecutionError, match="which malloc of a kernel has not given"):
        kernel(1, 1, (np.zeros(1, np.uint64), np.uint64(64)))


def test_checked_and_counted():
    kernel = make(GET + FILL + FREE).get_function("get")
    arguments = (np.zeros(64, np.uint64), np.uint64(4))
    assert smemkit.check(kernel, 2, 32, arguments).findings == []
    assert smemkit.profile(kernel, 2, 32, arguments).counters["global.store.requests"] == 4
