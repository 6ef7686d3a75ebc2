"""Predictions from PTX alone, as where nvdisasm is not installed."""

import json

import pytest
from predict import unseen

import smemkit
from smemkit.predict import carried, machine_code

# A loop behind a load of c[i]: BEFORE runs once, BODY in each of `passes` iterations.
KERNEL = """
.version 9.0
.target sm_75
.address_size 64
.visible .entry chain(.param .u64 c, .param .u32 passes)
{
    .reg .pred %p<3>;
    .reg .f32 %f<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    .shared .align 4 .b8 tile[1024];
    ld.param.u64 %rd2, [c];
    ld.param.u32 %r3, [passes];
    cvta.to.global.u64 %rd3, %rd2;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %ctaid.x;
    mov.u32 %r6, %tid.x;
    mad.lo.s32 %r7, %r5, %r4, %r6;
    mul.wide.s32 %rd4, %r7, 4;
    add.s64 %rd1, %rd3, %rd4;
    mov.f32 %f2, 0f3F800347;
    BEFORE
    mov.u32 %r8, 0;
again:
    .pragma "nounroll";
    BODY
    add.s32 %r8, %r8, 1;
    setp.lt.s32 %p2, %r8, %r3;
    @%p2 bra again;
    st.global.f32 [%rd1], %f1;
    ret;
}
"""
LOAD = "ld.global.f32 %f1, [%rd1];"
FMA = "fma.rn.f32 %f1, %f1, %f2, 0f3F000000;"


@pytest.fixture
def bare(monkeypatch):
    """Neither nvdisasm nor machine code that is carried along."""
    monkeypatch.setattr(machine_code, "find_nvdisasm", lambda: None)
    monkeypatch.setattr(carried, "find", lambda *_: None)
    machine_code._load.cache_clear()
    yield
    machine_code._load.cache_clear()


def predict(before, body, blocks=132, passes=10_000):
    kernel = smemkit.RawKernel(KERNEL.replace("BEFORE", before).replace("BODY", body), "chain")
    c = smemkit.empty(blocks * 256, "float32", backend="sim")
    return kernel.predict(blocks, 256, (c, passes), device="h200")


@pytest.mark.parametrize(("blocks", "measured_ms"), [(132, 0.157), (1024, 0.433)])
def test_a_load_before_a_loop_is_waited_for_once(bare, blocks, measured_ms):
    found = predict(LOAD, FMA, blocks)
    assert any("machine code" in note for note in found.notes)
    assert found.time_ms == pytest.approx(measured_ms, rel=0.15)


def test_what_a_loop_only_reads_is_waited_for_once(bare):
    fixed = predict("mov.f32 %f1, 0f3F800000;", FMA)
    loaded = predict("ld.global.f32 %f2, [%rd1];\nmov.f32 %f1, 0f3F800000;", FMA)
    assert loaded.time_ms == pytest.approx(fixed.time_ms, rel=0.02)


def test_a_load_whose_address_is_loaded_is_waited_for_in_each_iteration(bare):
    chase = "ld.shared.u32 %r2, [%r2];\nand.b32 %r2, %r2, 1020;"
    found = predict(f"{LOAD}\nmov.u32 %r2, 0;", chase)
    clocks = found.time_ms * found.card.clocks_per_ms / 10_000
    assert found.card.shared_clk < clocks < 3 * found.card.shared_clk


def test_a_chain_is_told_from_independent_work(bare):
    names = [f"%f{i}" for i in (3, 4, 5, 6)]
    before = "\n".join(f"mov.f32 {name}, 0f3F800000;" for name in ("%f1", *names))
    each = "\n".join(f"fma.rn.f32 {name}, {name}, %f2, %f2;" for name in 3 * names)
    beside = predict(before, each)
    behind = predict(before, each.replace("%f4", "%f3").replace("%f5", "%f3").replace("%f6", "%f3"))
    clocks = behind.time_ms * behind.card.clocks_per_ms / 10_000
    assert 12 * 4 < clocks < 12 * 4.5 + 30
    assert behind.time_ms > 1.3 * beside.time_ms


# kernel: how far the time may be from that on an H200
@pytest.mark.parametrize(("name", "off"), [("half_pairs_chain", 0.3), ("chase", 0.15)])
def test_ptx_tells_of_real_kernels_what_an_h200_takes(bare, name, off):
    rows = json.loads(unseen.FOUND.read_text(encoding="utf-8"))["rows"]
    row = next(row for row in rows if row["kernel"] == name)
    assert unseen.predict(name).time_ms == pytest.approx(row["measured_ms"], rel=off)
