"""Findings of `smemkit run --check`: names and advice as the program's source has them."""

import json
import subprocess
import sys

import pytest
from read_tables import read_rows
from support.paths import ROOT

from smemkit.cli.cuda_headers import ACTION
from smemkit.cli.run import FREED, HOST, OWN_WORDS

SOURCE = """
__global__ void turn(int *data)
{
    __shared__ int tile[4][32];
    int t = threadIdx.x;
    tile[t / 32][t % 32] = t;
    data[0] = tile[3 - t / 32][t % 32];
}
"""
PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry _Z4turnPi(.param .u64 data)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<6>;
    .shared .align 4 .b8 _ZZ4turnPiE4tile[512];
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, _ZZ4turnPiE4tile;
    mad.lo.u32 %r3, %r1, 4, %r2;
    .loc 1 6 1
    st.shared.u32 [%r3], %r1;
    xor.b32 %r4, %r1, 96;
    mad.lo.u32 %r4, %r4, 4, %r2;
    .loc 1 7 1
    ld.shared.u32 %r5, [%r4];
    mov.u32 %r5, 7;
    st.global.u32 [%rd1], %r5;
    ret;
}
"""
SCRIPT = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
module, function, context, address = (ctypes.c_void_p() for _ in range(4))
driver.cuInit(0)
driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
driver.cuModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read())
driver.cuModuleGetFunction(ctypes.byref(function), module, b"_Z4turnPi")
driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4))
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(address))
assert driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, None, parameters, None) == 0
assert driver.cuCtxSynchronize() == 0
"""
LOST = """
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(address))
if sys.argv[2] == "freed":
    assert driver.cuMemFree_v2(address) == 0
elif sys.argv[2] == "managed":
    assert driver.cuMemAllocManaged(ctypes.byref(address), ctypes.c_size_t(4096), 1) == 0
    address.value += 4096
else:
    memory = ctypes.create_string_buffer(1 << 16)
    address.value = ctypes.addressof(memory) + 8 & ~7
"""


def check(tmp_path, *options, script=SCRIPT, words=(), file="turn.cu", status=1):
    """The report of a check of the kernel, and what it says."""
    source, ptx, report = (tmp_path / name for name in (file, "turn.ptx", "report.json"))
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(SOURCE)
    ptx.write_text(PTX + f'.file 1 "{source}"\n')
    command = ["run", "--check", *options, "--json", report, sys.executable, "-c", script, ptx]
    command += words
    done = subprocess.run(
        [sys.executable, "-m", "smemkit", *map(str, command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(report.read_text()), done.stderr


def test_elements_of_shared_arrays_are_named(tmp_path):
    facts, text = check(tmp_path)
    races = [finding for finding in facts["findings"] if finding["kind"] == "race"]
    (race,) = races
    assert race["kernel_name"] == "turn"
    assert {race[side]["variable"] for side in ("first", "second")} == {"tile[2][0]"}
    assert "the same byte (tile[2][0])" in race["message"]
    assert "_ZZ4turn" not in text and "of block (0, 0, 0), tile[2][0]" in text


def test_races_of_one_value_can_be_left_out(tmp_path):
    facts, text = check(tmp_path)
    alike = [finding for finding in facts["findings"] if finding["same_value"]]
    assert len(alike) == 1 and alike[0]["kind"] == "global_race" and facts["ignored"] == 0
    assert "leave such races out with --ignore-same-value." in " ".join(text.split())
    less, _ = check(tmp_path, "--ignore-same-value")
    assert less["ignored"] == 1
    assert less["findings"] == [x for x in facts["findings"] if not x["same_value"]]


def test_findings_in_headers_of_cuda_can_be_left_out(tmp_path):
    header = "cuda-13.0/include/cccl/thrust/turn.h"
    facts, text = check(tmp_path, file=header)
    assert facts["findings"] and all(x["action"] == ACTION for x in facts["findings"])
    assert "__syncthreads" not in text
    less, text = check(tmp_path, "--ignore-headers", file=header, status=0)
    assert less["findings"] == [] and less["ignored"] == len(facts["findings"])
    assert f"no findings in 1 launch, {less['ignored']} left out" in text
    own, _ = check(tmp_path, "--ignore-headers")
    assert own["findings"] and own["ignored"] == 0


@pytest.mark.parametrize("lost", ["freed", "host", "managed"])
def test_memory_that_is_not_there_is_told(tmp_path, lost):
    script = SCRIPT.replace(SCRIPT.splitlines()[-3] + "\n", LOST.lstrip())
    facts, _ = check(tmp_path, script=script, words=(lost,))
    (finding,) = (one for one in facts["findings"] if one["kind"] == "out_of_bounds")
    if lost == "freed":
        assert finding["freed"]["bytes"] == 4 and finding["freed"]["launches"] == 0
        assert "that the program has freed, before the first launch" in finding["message"]
        assert finding["action"] == FREED
    elif lost == "managed":  # the page behind it is not taken for one of the host
        assert "host" not in finding and "past the end of" in finding["message"]
    else:
        assert finding["message"].endswith("it is an address of the host's own memory")
        assert finding["action"] == HOST


def test_words_of_python_are_those_of_the_advice():
    advice = [row["text"] for row in read_rows("sim/check/finding.def", "SMK_ACTION")]
    assert all(any(words in text for text in advice) for words in OWN_WORDS)
    assert "shared_mem" not in "".join(OWN_WORDS.values())
