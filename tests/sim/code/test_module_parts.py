"""Aliases, variables of a function's scope, declarations: what they do when a kernel runs."""

import numpy as np
import pytest

import smemkit

HEADER = ".version 8.7\n.target sm_90\n.address_size 64\n"
ADD = """\
.func (.param .b32 r) {name}(.param .b32 x)
{{
.reg .b32 t; ld.param.b32 t, [x]; add.u32 t, t, {step}; st.param.b32 [r], t; ret;
}}
"""
DECLARE = ".func (.param .b32 r) {name}(.param .b32 x);\n"
CALL = """\
.visible .entry k(.param .u64 a)
{{
.reg .b64 d, e; .reg .b32 r;
ld.param.u64 d, [a]; ld.global.u32 r, [d];
{{ .param .b32 x0; .param .b32 r0; st.param.b32 [x0], r; {call} ld.param.b32 r, [r0]; }}
st.global.u32 [d], r;
ret;
}}
"""
DIRECT = "call (r0), {}, (x0);"
POINTER = (
    "mov.u64 e, {}; P: .callprototype (.param .b32 _) _ (.param .b32 _); call (r0), e, (x0), P;"
)


def run(text, value, machine="sim", block=1, entry="k"):
    """What the kernel makes of a word."""
    memory = np.array([value], np.uint32)
    function = smemkit.RawModule(HEADER + text, backend=machine).get_function(entry)
    function((1,), (block,), (memory,), backend=machine)
    return int(memory[0])


def declare(*names):
    return "".join(DECLARE.format(name=name) for name in names)


FIVE = ADD.format(name="f", step=5)


@pytest.mark.parametrize("call", [DIRECT, POINTER], ids=["direct", "pointer"])
@pytest.mark.parametrize(
    "parts",
    [
        FIVE + declare("g") + ".alias g, f;\n",
        declare("f", "g") + ".alias g, f;\n" + FIVE,
        FIVE + declare("g") + ".alias g, f;\n" + ADD.format(name="g", step=9),
    ],
    ids=["behind", "before", "unused body"],
)
def test_alias(call, parts, machine):
    assert run(parts + CALL.format(call=call.format("g")), 10, machine) == 15


@pytest.mark.parametrize("call", [DIRECT, POINTER], ids=["direct", "pointer"])
@pytest.mark.parametrize(
    "aliases", [".alias h, g;\n.alias g, f;\n", ".alias g, f;\n.alias h, g;\n"]
)
def test_alias_of_an_alias(call, aliases):
    parts = FIVE + declare("g", "h") + aliases
    assert run(parts + CALL.format(call=call.format("h")), 10) == 15


def test_alias_in_a_table(machine):
    table = "T: .calltargets g, f; .reg .b64 e2; mov.u64 e2, g; call (r0), e2, (x0), T;"
    text = ADD.format(name="f", step=5) + declare("g") + ".alias g, f;\n"
    assert run(text + CALL.format(call=table), 10, machine) == 15


SCOPED = """\
.global .b32 x = 100;
.visible .entry k(.param .u64 a)
{
.reg .b64 d; .reg .b32 r, s;
ld.param.u64 d, [a];
.global .b32 x = 10;
ld.global.u32 r, [x]; add.u32 s, r, 1; st.global.u32 [x], s;
{ .global .b32 x[2] = {1000, 2000}; .const .b32 c = 20000; .reg .b32 t;
  ld.global.u32 t, [x+4]; add.u32 r, r, t; ld.const.u32 t, [c]; add.u32 r, r, t; }
st.global.u32 [d], r;
ret;
}
.visible .entry other(.param .u64 a)
{
.reg .b64 d; .reg .b32 r;
ld.param.u64 d, [a]; ld.global.u32 r, [x]; st.global.u32 [d], r; ret;
}
"""


def test_variables_of_a_function(machine):
    """They live as long as the module, and only their scope sees them."""
    module = smemkit.RawModule(HEADER + SCOPED, backend=machine)
    memory = np.zeros(1, np.uint32)
    found = []
    for name in ("k", "k", "other"):
        module.get_function(name)((1,), (1,), (memory,), backend=machine)
        found.append(int(memory[0]))
    assert found == [22010, 22011, 100]


def test_declarations_without_semicolons(machine):
    text = ".extern .func nowhere()\n.extern .func vprintf2(.param .b64 x)\n"
    text += ADD.format(name="f", step=5) + CALL.format(call=DIRECT.format("f"))
    assert run(text, 1, machine) == 6


ELECT = """\
.visible .entry k(.param .u64 a, .param .u32 mask)
{
.reg .b64 d; .reg .b32 lane, m, leader, r; .reg .pred p, in;
ld.param.u64 d, [a]; ld.param.u32 m, [mask];
mov.u32 lane, %laneid; shr.u32 r, m, lane; and.b32 r, r, 1; setp.ne.u32 in, r, 0;
mov.u32 leader, 99; mov.u32 r, 0;
@!in bra END;
elect.sync leader|p, m;
selp.u32 r, 100, 0, p;
elect.sync _|p, m;
selp.u32 r, 200, r, p;
END:
add.u32 r, r, leader;
mad.wide.u32 d, lane, 4, d; st.global.u32 [d], r;
ret;
}
"""


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0xFFFFFFF0, 0x80000000, 0x0A00])
def test_elect(mask, machine):
    memory = np.zeros(32, np.uint32)
    function = smemkit.RawModule(HEADER + ELECT, backend=machine).get_function("k")
    function((1,), (32,), (memory, np.uint32(mask)), backend=machine)
    first = (mask & -mask).bit_length() - 1
    expected = [99 if not mask >> lane & 1 else first + 200 * (lane == first) for lane in range(32)]
    assert memory.tolist() == expected


NOBODY_TAKES = """\
.visible .entry k(.param .u64 a)
{
.reg .b64 d, now; .reg .b32 lane, r; .reg .pred p;
ld.param.u64 d, [a]; mov.u32 lane, %laneid;
elect.sync _|p, -1;
mov.u64 now, %clock64;
xor.b32 r, lane, -1;
mad.wide.u32 d, lane, 4, d; st.global.u32 [d], r;
ret;
}
"""


def test_what_nobody_takes_leaves_constants_alone(machine):
    """A clock, of 64 bits, comes after the 32 bits that `_` stands for."""
    memory = np.zeros(32, np.uint32)
    function = smemkit.RawModule(HEADER + NOBODY_TAKES, backend=machine).get_function("k")
    function((1,), (32,), (memory,), backend=machine)
    assert memory.tolist() == [0xFFFFFFFF - lane for lane in range(32)]


def test_elect_by_a_lane_outside_the_mask():
    function = smemkit.RawModule(HEADER + ELECT.replace("@!in bra END;", ""), backend="sim")
    with pytest.raises(smemkit.BarrierError, match="elect"):
        function.get_function("k")((1,), (32,), (np.zeros(32, np.uint32), np.uint32(15)))
