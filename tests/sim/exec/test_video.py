"""Video instructions against exact integers."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from sim.exec import video_rows
from support.handmade import build, launch

import smemkit

RECORDED = Path(__file__).with_name("video_h200.json")
EACH = 16  # of 256 lanes, one in so many is computed here: the model of all of them takes long
LOAD = """
    ld.param.u64 %rd1, [sources];
    ld.param.u64 %rd2, [results];
    mov.u32 %r5, %tid.x;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r1, [%rd1];
    ld.global.u32 %r2, [%rd1+1024];
    ld.global.u32 %r3, [%rd1+2048];"""


def run(texts):
    """The results of each instruction in all lanes."""
    body = LOAD
    for i, text in enumerate(texts):
        body += f"\n    mov.u32 %r4, 0;\n    {text}"
        body += f"\n    st.global.u32 [%rd2+{4 * video_rows.LANES * i}], %r4;"
    results = np.zeros((len(texts), video_rows.LANES), np.uint32)
    text = build(body, ".param .u64 sources, .param .u64 results")
    launch(text, video_rows.make_operands(), results, block=video_rows.LANES)
    return results


@pytest.fixture(scope="module")
def table():
    return json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def computed(table):
    texts = list(table["forms"])
    return dict(zip(texts, run(texts), strict=True))


def test_every_form_against_integers(computed):
    operands = video_rows.make_operands()[:, ::EACH].T.tolist()
    for text, results in computed.items():
        form = video_rows.Form(text)
        assert [form(*row) for row in operands] == results[::EACH].tolist(), text


def test_every_form_against_an_h200(computed, table):
    """By checksums of all lanes."""
    assert table["device"] == "NVIDIA H200"
    for text, results in computed.items():
        assert f"{zlib.crc32(results.tobytes()):08x}" == table["forms"][text], text


def test_constants_and_guards():
    body = """
    ld.param.u64 %rd1, [results];
    mov.u32 %r1, 0x01020384;
    mov.u32 %r4, 7;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 vadd.u32.u32.u32 %r4, %r1.b0, 5;
    vadd.s32.s32.u32 %r5, %r1.b0, 5;
    vmad.u32.u32.u32 %r6, %r1.b1, 3, 1;
    st.global.u32 [%rd1], %r4;
    st.global.u32 [%rd1+4], %r5;
    st.global.u32 [%rd1+8], %r6;"""
    results = np.zeros(3, np.uint32)
    launch(build(body, ".param .u64 results"), results, block=1)
    assert results.tolist() == [7, 2**32 - 0x7C + 5, 10]


@pytest.mark.parametrize(
    "text",
    [
        "vadd.u32.u32.u32 %r1, %r2.b4, %r3;",
        "vadd.u32.u32.u32 %r1, %r2.h2, %r3;",
        "vadd.u32.u32.u32 %r1, %r2.b01, %r3;",
        "vadd.u32.u32.u32 %r1.b0, %r2, %r3;",
        "vadd.u32.u32.u32.add %r1.b0, %r2, %r3, %r4;",
        "vadd2.u32.u32.u32 %r1, %r2.h4, %r3, %r4;",
        "vadd2.u32.u32.u32 %r1, %r2.b10, %r3, %r4;",
        "vadd2.u32.u32.u32 %r1.h01, %r2, %r3, %r4;",
        "vadd4.u32.u32.u32 %r1, %r2.b321, %r3, %r4;",
        "vadd4.u32.u32.u32 %r1.b33, %r2, %r3, %r4;",
        "vadd4.u32.u32.u32.sat.add %r1, %r2, %r3, %r4;",
        "vadd4.u32.u32.u32 %r1, %r2, %r3;",
        "vmad.u32.u32.u32.po %r1, -%r2, %r3, %r4;",
        "vadd.u32.u32.u32 %r1, -%r2, %r3;",
        "vote.sync.any.pred %p1.b0, %p2, 1;",
        "add.u32 %r1, %r2.b0, %r3;",
        "vset.u32.u32.lo %r1, %r2, %r3;",
        "vshl.u32.u32.s32.clamp %r1, %r2, %r3;",
    ],
)
def test_what_ptxas_refuses_too(text):
    with pytest.raises((smemkit.PtxError, smemkit.PtxTypeError)):
        smemkit.RawModule(build("    " + text), backend="sim")
