"""A word that is unknown or not executed refuses its function, those that call it, and no other."""

import numpy as np
import pytest

import smemkit
from smemkit import _core

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
GOOD = """.visible .entry good(.param .u64 a)
{
.reg .b64 d; .reg .b32 r;
ld.param.u64 d, [a]; mov.u32 r, 7; st.global.u32 [d], r; ret;
}
"""
# the body of a kernel, or what stands in front of it, and what the error says
REFUSED = {
    "known word": (
        "{ multimem.u32 %r1, 8; }",
        "'multimem' is not supported: the simulator does not",
    ),
    "inside a list": (
        "{ .reg .b32 r; mov.b64 {r, %current_graph_exec}, 1; }",
        "'%current_graph_exec' is not supported",
    ),
    "unknown opcode": (
        "{ { frobnicate.u32 {a, b}, 3; } ret; }",
        "unknown instruction 'frobnicate'",
    ),
    "unknown word": (
        "{ .reg .b32 r; add.wobble.u32 r, r, r; }",
        "unknown word '.wobble' behind 'add'",
    ),
    "words together": ("{ .reg .b32 r; add.hi.u32 r, r, r; }", "'add' does not take '.hi'"),
    "type": ("{ .reg .b32 r; add.b32 r, r, r; }", "'add' does not take the type '.b32' here"),
    "directive": (
        ".reqnctapercluster 2 .maxntid 64 { ret; }",
        "'.reqnctapercluster' is not supported",
    ),
    "in a section": ("{ .section x { .b8 1 } multimem.u32 r, 8; }", "'multimem' is not supported"),
}


def launch_good(module):
    out = np.zeros(1, "int32")
    module.get_function("good")(1, 1, (out,))
    assert out[0] == 7


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("last", [False, True])
def test_the_others_run(name, last):
    body, words = REFUSED[name]
    bad = f".visible .entry bad()\n{body}\n"
    module = smemkit.RawModule(HEAD + (GOOD + bad if last else bad + GOOD), backend="sim")
    assert set(module.kernels) == {"good", "bad"}
    launch_good(module)
    with pytest.raises(smemkit.PtxError) as caught:
        module.get_function("bad")
    assert words in str(caught.value)
    assert (caught.value.kernel, caught.value.ptx_line) == (
        "bad",
        10 if last else 5,
    )


def test_a_module_of_refused_kernels_is_refused():
    with pytest.raises(smemkit.UnsupportedError, match="multimem"):
        smemkit.RawModule(
            HEAD + ".entry a() { multimem.u32 r, 8; } .entry b() { clusterlaunchcontrol r; }",
            backend="sim",
        )
    with pytest.raises(smemkit.UnsupportedError, match="multimem"):
        smemkit.RawModule(HEAD + ".func f() { multimem.u32 r, 8; }", backend="sim")


@pytest.mark.parametrize(
    "body", ["{ mov.u32 r 5; }", "{ mov.u32 %r1, 5; }", "{ bra L; }", "{ multimem"]
)
def test_faulty_text_fails_the_module(body):
    """What no assembler takes is a mistake, and not a word that is not known yet."""
    with pytest.raises(smemkit.PtxError):
        smemkit.RawModule(HEAD + GOOD + f".entry bad() {body}", backend="sim")


INNER = ".func inner() { multimem.u32 r, 8; }\n.func middle() { call inner; ret; }\n"


def test_callers_are_refused_with_the_chain():
    text = HEAD + INNER + GOOD + ".visible .entry bad() { call middle; ret; }\n"
    module = smemkit.RawModule(text, backend="sim")
    launch_good(module)
    with pytest.raises(smemkit.UnsupportedError) as caught:
        module.get_function("bad")
    assert str(caught.value).startswith("bad calls middle, which calls inner: 'multimem' is not")
    assert (caught.value.kernel, caught.value.ptx_line) == ("bad", 4)


def test_recursion_is_no_endless_search():
    text = ".func a(); .func b() { call a; ret; } .func a() { call b; call inner; ret; }\n"
    module = smemkit.RawModule(
        HEAD + INNER + text + GOOD + ".visible .entry bad() { call b; ret; }", backend="sim"
    )
    with pytest.raises(
        smemkit.UnsupportedError, match=r"^bad calls b, which calls a, which calls inner: "
    ):
        module.get_function("bad")


def test_calls_by_address_fail_when_they_happen():
    by_address = """.visible .entry pointer(.param .u32 n)
{
.reg .b64 p; .reg .b32 r; .reg .pred q;
mov.u64 p, inner; ld.param.u32 r, [n]; setp.eq.u32 q, r, 0;
P: .callprototype _ ();
@q ret;
call p, P;
ret;
}
"""
    kernel = smemkit.RawModule(HEAD + INNER + by_address, backend="sim").get_function("pointer")
    kernel(1, 32, (np.uint32(0),))
    with pytest.raises(
        smemkit.UnsupportedError, match="inner, called by its address: 'multimem'"
    ) as caught:
        kernel(1, 32, (np.uint32(1),))
    assert (caught.value.kernel, caught.value.ptx_line) == ("pointer", 4)


def test_printing_refuses():
    for ask in (_core._ptx_print, lambda text: _core._ptx_equal(text, text)):
        with pytest.raises(smemkit.UnsupportedError, match="multimem"):
            ask(HEAD + INNER)


def test_profile_and_check_refuse():
    text = HEAD + INNER + GOOD + ".visible .entry bad() { call middle; ret; }\n"
    kernel = smemkit.RawModule(text, backend="sim").get_function("good")
    out = np.zeros(1, "int32")
    assert smemkit.check(kernel, 1, 1, (out,)).findings == []
    assert smemkit.profile(kernel, 1, 1, (out,)).counters["global.store.requests"] == 1


def test_too_much_shared_memory_of_one_kernel():
    big = (
        ".visible .entry big() { .shared .b8 s[50000]; .reg .b32 r; ld.shared.u32 r, [s]; ret; }\n"
    )
    module = smemkit.RawModule(HEAD + big + GOOD, backend="sim")
    launch_good(module)
    with pytest.raises(smemkit.SharedMemoryError, match="big declares 50000 bytes"):
        module.get_function("big")


# Ignored -----------------------------------------------------------------------------------------

IGNORED = """.visible .entry k(.param .u64 a)
{
.reg .b64 d, p; .reg .b32 r; .reg .f32 f;
ld.param.u64 d, [a];
griddepcontrol.wait;
createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 p, 0.5;
ld.global.L2::cache_hint.u32 r, [d], p;
createpolicy.range.global.L2::evict_last.b64 p, [d], 128, 256;
createpolicy.cvt.L2.b64 p, p;
add.u32 r, r, 1;
st.global.L2::cache_hint.u32 [d], r, p;
griddepcontrol.launch_dependents;
ret;
}
"""


def test_hints_are_ignored():
    out = np.array([41], "int32")
    kernel = smemkit.RawModule(HEAD + IGNORED, backend="sim").get_function("k")
    kernel(1, 1, (out,))
    assert out[0] == 42
    assert smemkit.check(kernel, 1, 1, (out,)).findings == []


def test_managed_variables_are_device_variables():
    text = GOOD.replace("mov.u32 r, 7;", "ld.global.u32 r, [m];")
    for words in (".attribute(.managed)", ".attribute(.managed, .unified(1, 2))"):
        whole = f"{HEAD}.global {words} .align 4 .u32 m = 7;\n{text}"
        launch_good(smemkit.RawModule(whole, backend="sim"))
        assert ".attribute(.managed)" in _core._ptx_print(whole)
    with pytest.raises(smemkit.PtxError, match=r"expected '\.managed' or '\.unified'"):
        smemkit.RawModule(HEAD + ".global .attribute(.other) .u32 m;\n" + GOOD, backend="sim")


def test_reserved_shared_memory():
    """Wide tiles of cooperative groups keep their barriers there; nobody initialises it."""
    text = """.visible .entry k(.param .u64 a)
{
.reg .b64 d; .reg .b32 r, s, t;
ld.param.u64 d, [a];
mov.u32 r, %reserved_smem_offset_1;
red.shared.and.b32 [r], 0;
ld.shared.u32 t, [r];
mov.u32 s, %reserved_smem_offset_end;
sub.u32 s, s, r;
add.u32 s, s, t;
st.global.u32 [d], s;
mov.u32 s, %reserved_smem_offset_cap;
st.global.u32 [d+4], s;
ret;
}
"""
    out = np.zeros(2, "int32")
    kernel = smemkit.RawModule(HEAD + text, backend="sim").get_function("k")
    kernel(1, 1, (out,))
    assert out.tolist() == [288, 288]
    assert smemkit.check(kernel, 1, 1, (out,)).findings == []
