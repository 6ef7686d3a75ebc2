"""Clusters of one block, which every launch without cluster dimensions is made of."""

import numpy as np
import pytest

import smemkit

SPECIALS = (
    *(f"%{name}.{axis}" for name in ("clusterid", "nclusterid") for axis in "xyz"),
    *(f"%{name}.{axis}" for name in ("cluster_ctaid", "cluster_nctaid") for axis in "xyz"),
    *("%cluster_ctarank", "%cluster_nctarank"),
)


def make(body, registers="", machine="sim"):
    text = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
.reg .b32 %r<8>; .reg .b64 %rd<8>; {registers}
ld.param.u64 %rd1, [out];
{body}
ret;
}}"""
    return smemkit.RawModule(text, backend=machine).get_function("k")


def test_special_registers(machine):
    width = len(SPECIALS)
    body = """mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x;
mad.lo.u32 %r1, %r2, %r3, %r1; mov.u32 %r2, %ctaid.z; mov.u32 %r3, 6;
mad.lo.u32 %r1, %r2, %r3, %r1;
"""
    body += f"mad.wide.u32 %rd1, %r1, {4 * width}, %rd1;\n"
    for i, special in enumerate(SPECIALS):
        body += f"mov.u32 %r4, {special}; st.global.u32 [%rd1+{4 * i}], %r4;\n"
    out = np.full((2, 2, 3, width), 99, "int32")
    make(body, machine=machine)((3, 2, 2), 1, (out,), backend=machine)
    for z, y, x in np.ndindex(2, 2, 3):
        assert out[z, y, x].tolist() == [x, y, z, 3, 2, 2, 0, 0, 0, 1, 1, 1, 0, 1]


SHARED = ".shared .align 4 .b8 words[512];"
# Each thread reads what a thread of another warp wrote.
EXCHANGE = """
mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, words; add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
BETWEEN
xor.b32 %r2, %r2, 128; add.u32 %r4, %r3, %r2; ld.shared.u32 %r5, [%r4];
mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.u32 [%rd1], %r5;
"""


@pytest.mark.parametrize(
    "between",
    [
        "barrier.cluster.arrive; barrier.cluster.wait;",
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
        "barrier.cluster.arrive; mov.u32 %r6, 1; barrier.cluster.wait; barrier.sync 0;",
    ],
)
def test_barrier_orders_the_block(between, machine):
    text = EXCHANGE.replace("BETWEEN", between), SHARED
    out = np.zeros(128, "int32")
    make(*text, machine)(1, 128, (out,), backend=machine)
    assert out.tolist() == [i ^ 32 for i in range(128)]
    assert smemkit.check(make(*text), 1, 128, (out,)).findings == []


def test_without_barrier_is_a_race():
    report = smemkit.check(
        make(EXCHANGE.replace("BETWEEN", ""), SHARED), 1, 128, (np.zeros(128, "int32"),)
    )
    assert {finding.kind for finding in report.findings} == {"race"}


def test_lanes_that_have_exited_are_not_waited_for(machine):
    body = """mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 40; @%p1 exit;
barrier.cluster.arrive; barrier.cluster.wait;
mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.u32 [%rd1], %r1;"""
    out = np.full(96, 7, "int32")
    make(body, ".reg .pred %p1;", machine)(1, 96, (out,), backend=machine)
    assert out.tolist() == [*range(40), *[7] * 56]


def test_number_16_is_no_barrier_of_a_kernel():
    with pytest.raises(smemkit.BarrierError, match="below 16"):
        make("mov.u32 %r1, 16;\nbarrier.sync %r1;")(1, 32, (np.zeros(1, "int32"),))
