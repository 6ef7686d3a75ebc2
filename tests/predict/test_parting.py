"""Branches at which lanes of a warp part: what is executed, and the path of the warp."""

import numpy
import pytest
from support import disassemble

import smemkit
from smemkit.predict import parting, warp_path
from smemkit.predict.executed import ExecutedCode
from smemkit.predict.machine_code import Block

needs_tools = pytest.mark.skipif(
    not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")),
    reason="no ptxas and nvdisasm; the extra [test] brings them",
)


class Step:
    """A machine instruction, as far as a branch needs one."""

    def __init__(self, line):
        self.ptx_line, self.opcode = line, "BRA"


def make_blocks(*ways):
    """Blocks with these successors; one without any is the last."""
    return [Block((Step(10 * i),), way, None, not way) for i, way in enumerate(ways)]


def test_lanes_meet_where_all_ways_come_together():
    assert parting.find_joins(make_blocks((1, 2), (3,), (3,), ())) == [3, 3, 3, None]
    loop = make_blocks((1,), (1, 2), ())
    assert parting.find_joins(loop) == [1, 2, None]
    ends = make_blocks((1, 2), (), ())
    assert parting.find_joins(ends) == [None, None, None]


def test_only_branches_with_code_on_both_ways_part_warps():
    counted = [
        {"ptx_line": 0, "counters": {"branch.divergent": 3, "instructions.warp": 4}},
        {"ptx_line": 10, "counters": {"instructions.warp": 4}},
    ]
    shares = parting.find_shares(counted)
    assert shares == {0: 0.75}
    both = make_blocks((1, 2), (3,), (3,), ())
    assert parting.find_partings(both, shares) == {0: parting.Parting(3, 0.75)}
    assert parting.find_partings(make_blocks((1, 2), (2,), ()), shares) == {}  # one way leads on


@pytest.mark.parametrize(
    ("share", "passes", "paths"),
    [
        (1.0, (4, 4, 4, 4), {(0, 1, 2, 3)}),
        (0.5, (4, 3, 3, 4), {(0, 1, 2, 3), (0, 1, 3), (0, 2, 3)}),
    ],
)
def test_a_warp_takes_one_way_after_the_other(share, passes, paths):
    class Code:
        blocks = make_blocks((1, 2), (3,), (3,), ())

    flows = {(0, 1): passes[1], (0, 2): passes[2], (1, 3): passes[1], (2, 3): passes[2]}
    flows = {edge: float(flow) for edge, flow in flows.items()}
    partings = {0: parting.Parting(3, share)}
    executed = ExecutedCode(Code, numpy.array(passes, float), flows, 4.0, {}, {}, 0.0, partings)
    walker = warp_path.Walker(executed)
    found = {tuple(walker.walk((i + 0.5) / 8)) for i in range(8)}
    assert found <= paths | {(0, 2, 1, 3)}
    assert any(len(path) == 4 for path in found)
    assert share == 1.0 or any(len(path) == 3 for path in found)


SOURCE = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry part(.param .u64 data)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<4>;
    .reg .pred %p<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    and.b32 %r3, %r2, 1;
    setp.eq.u32 %p1, %r3, 0;
    mov.u32 %r4, 0;
    cvt.rn.f32.u32 %f1, %r2;
    mov.f32 %f2, 0f3F000000;
    @%p1 bra EVEN;
ODD:
    fma.rn.f32 %f1, %f1, %f1, %f2;
    fma.rn.f32 %f1, %f1, %f1, %f2;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p2, %r4, 100;
    @%p2 bra ODD;
    bra.uni DONE;
EVEN:
    fma.rn.f32 %f1, %f1, %f2, %f2;
    mul.rn.f32 %f1, %f1, %f1;
    mul.rn.f32 %f1, %f1, %f1;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p3, %r4, 100;
    @%p3 bra EVEN;
DONE:
    st.global.f32 [%rd3], %f1;
    ret;
}
"""


@needs_tools
def test_both_ways_of_a_parted_warp_are_executed():
    kernel, lanes = smemkit.RawKernel(SOURCE, "part"), numpy.arange(256, dtype="uint32")
    issued = {}
    for name, values in (
        ("odd", lanes * 2 + 1),
        ("even", lanes * 2),
        ("both", lanes),
        ("warps", lanes // 32),
    ):
        found = smemkit.predict(
            lambda given=values: kernel((1,), (256,), (given,), backend="sim"), device="h200"
        )
        issued[name] = found.terms["issue"].amount
    loops = issued["odd"] + issued["even"]
    assert issued["both"] == pytest.approx(loops, rel=0.1)
    assert issued["warps"] == pytest.approx(loops / 2, rel=0.1)
