"""Races of stores of one value: told as such, and left out on request."""

import json

import numpy as np
import pytest

import smemkit

# Every thread stores VALUE in one word; a test fills in which space, width and value.
TEXT = r"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry flag(.param .u64 out, .param .u32 limit)
{{
    .reg .b32 %r<16>;
    .reg .f32 %f<2>;
    .reg .pred %p<4>;
    .reg .b64 %rd<8>;
    .shared .align 16 .b8 word[64];
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r7, [limit];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;      // thread of the grid
    mov.u32 %r6, word;
    setp.lt.u32 %p1, %r4, %r7;
    selp.b32 %r5, 7, 9, %p1;            // 7 up to the limit, 9 behind it
    {store}
    ret;
}}
"""
STORES = {
    "global": "st.global.u32 [%rd1], %r5;",
    "shared": "st.shared.u32 [%r6], %r5;",
    "bytes": "st.global.u8 [%rd1+3], %r5;",
    "wide": "cvt.u64.u32 %rd2, %r5; st.global.v2.u64 [%rd1], {%rd2, %rd2};",
    "twice": "st.global.u32 [%rd1], 7; st.global.u32 [%rd1], %r5;",
}
# Each thread of a block has a word of its own, which the threads of other blocks have too.
OWN = "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd3, %rd1, %rd3;"
STORES_OF_ROWS = {
    "one value": (OWN + "st.global.u32 [%rd3], %r5;", True),
    "one value twice": (OWN + "st.global.u32 [%rd3], %r5; st.global.u32 [%rd3], %r5;", True),
    "two values": (OWN + "st.global.u32 [%rd3], 5; st.global.u32 [%rd3], %r5;", False),
}


def check(store, grid, block, limit, **keywords):
    text = TEXT.format(store=STORES.get(store, store))
    module = smemkit.RawModule(text, backend="sim")
    kernel = module.get_function("flag")
    args = (np.zeros(64, np.int32), np.uint32(limit))
    return kernel.check(grid, block, args, backend="sim", **keywords)


@pytest.mark.parametrize("name", STORES_OF_ROWS)
def test_rows_of_two_blocks(name):
    """Whole warps store rows of words; what stood there before the last value counts too."""
    store, same = STORES_OF_ROWS[name]
    report = check(store, 2, 32, 1 << 20)
    assert report.findings and all(one.same_value == same for one in report.findings), str(report)


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("grid", [1, 40])
@pytest.mark.parametrize("store", STORES)
def test_one_value_is_told_and_left_out(monkeypatch, store, grid, threads):
    monkeypatch.setenv("SMEMKIT_THREADS", threads)
    report = check(store, grid, 64, 1 << 20)
    assert report.findings and all(one.same_value for one in report.findings), str(report)
    assert all(one.message.endswith("; both write the same value.") for one in report.findings)
    assert report.to_dict()["findings"][0]["same_value"] is True
    less = check(store, grid, 64, 1 << 20, ignore_same_value=True)
    assert less and not less.findings and less.ignored == len(report.findings)
    assert "left out" in str(less)


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("store", sorted(set(STORES) - {"shared"}))
@pytest.mark.parametrize("limit", [64, 32 * 64, 39 * 64, 39 * 64 + 32])
def test_one_other_value_in_the_grid_is_enough(monkeypatch, store, limit, threads):
    """Also where neither of the two blocks that a finding names has written it."""
    monkeypatch.setenv("SMEMKIT_THREADS", threads)
    report = check(store, 40, 64, limit, ignore_same_value=True)
    assert report.findings and not any(one.same_value for one in report.findings)
    assert all("same value" not in one.message for one in report.findings)


@pytest.mark.parametrize("store", ["global", "shared", "bytes"])
@pytest.mark.parametrize("limit", [32, 64, 96])
def test_one_other_value_in_the_block_is_enough(store, limit):
    report = check(store, 1, 128, limit, ignore_same_value=True)
    assert [one.same_value for one in report.findings] == [False]
    assert report.ignored == 0


def test_a_value_that_a_block_overwrites_counts():
    """Each thread stores 7 and then 9: the last ones are alike, the stores are not."""
    report = check("twice", 4, 1, 0, ignore_same_value=True)
    assert report.findings and not any(one.same_value for one in report.findings)


def test_what_is_no_bool_is_refused():
    with pytest.raises(smemkit.ArgumentTypeError, match="ignore_same_value is True or False"):
        check("global", 1, 64, 1, ignore_same_value=1)


def test_the_command_leaves_them_out(tmp_path, capsys):
    from smemkit.__main__ import main

    path = tmp_path / "flag.ptx"
    path.write_text(TEXT.format(store=STORES["global"]))
    words = ["check", str(path), "--grid", "4", "--block", "64"]
    words += ["--arg", "int32[64]", "--arg", "100000", "--json", "-"]
    assert main(words) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["same_value"] is True
    assert main([*words, "--ignore-same-value"]) == 0
    assert json.loads(capsys.readouterr().out)["ignored"] == 1
