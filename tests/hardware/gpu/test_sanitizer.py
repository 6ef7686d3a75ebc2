"""NVIDIA's compute-sanitizer over every kernel of the package: it has nothing to report."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("sanitized.py")
FOLDERS = (*os.environ.get("PATH", "").split(os.pathsep), "/usr/local/cuda/bin")
TIMEOUT_S = 600
# What each tool is asked beside its own question. A launch that asks for much shared memory is
# refused once before it opts in: calls of the runtime that fail are no report.
OPTIONS = {
    "memcheck": ("--report-api-errors", "no"),
    "racecheck": ("--racecheck-report", "all"),
    "initcheck": (),
    "synccheck": (),
}
MARK = "========= "
# "at kernel+0x90 in file.cu:9"; older: "at 0x90 in file.cu:9:kernel(int*)".
PLACES = (r"\b([A-Za-z]\w*)(?:\(.*?\))?\+0x", r"\b0x[0-9a-f]+ in (?:\S+:\d+:)?([A-Za-z]\w*)")
FRAME = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY")


def read_reports(log):
    """(kernel or "", text) of each report in what a tool wrote, each once, and its last line."""
    reports, summary = [], ""
    for line in log.splitlines():
        if not line.startswith(MARK):
            continue
        words = line.removeprefix(MARK)
        if words.startswith(FRAME):
            summary = words
        elif words.startswith(" ") and reports:
            reports[-1] += f"\n{words}"
        elif words.strip():
            reports.append(words)
    return [(find_kernel(text), text) for text in reports], summary


def find_kernel(report):
    """The name of the kernel that a report is of; "" where it is of none."""
    found = [match[1] for place in PLACES if (match := re.search(place, report))]
    return found[0] if found else ""


def list_complaints(reports):
    """A line for each kernel and kind of report, with the first such report whole."""
    first = {}
    for kernel, text in reports:
        first.setdefault((kernel, text.splitlines()[0]), text)
    return [f"{kernel or 'no kernel'}: {text}" for (kernel, _), text in first.items()]


# The reader: no GPU needed -----------------------------------------------------------------------

CLEAN = """\
========= COMPUTE-SANITIZER
gemm naive: m=64
========= ERROR SUMMARY: 0 errors
"""
STRAY = """\
========= COMPUTE-SANITIZER
gemm naive: m=64
========= Invalid __global__ read of size 4 bytes
=========     at gemm_naive_float32+0x3a0 in naive.cu:27
=========     by thread (31,0,0) in block (0,0,0)
=========     Address 0x7f0000000400 is out of bounds
=========
========= Invalid __global__ read of size 4 bytes
=========     at gemm_naive_float32+0x3a0 in naive.cu:27
=========     by thread (30,0,0) in block (0,0,0)
========= ERROR SUMMARY: 2 errors
"""
RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at reduce_shuffle_sum_int32+0x30 in shuffle.cu:9
=========     and Read access at reduce_shuffle_sum_int32+0x90 in shuffle.cu:12 [64 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_reports_are_read():
    kernel_name = "gemm_naive_float32"
    assert read_reports(CLEAN) == ([], "ERROR SUMMARY: 0 errors")
    reports, summary = read_reports(STRAY)
    assert [kernel for kernel, _ in reports] == [kernel_name] * 2
    assert summary == "ERROR SUMMARY: 2 errors"
    (complaint,) = list_complaints(reports)
    assert complaint.startswith("gemm_naive_float32: Invalid __global__ read of size 4 bytes\n")
    assert "naive.cu:27" in complaint and "thread (31,0,0)" in complaint
    assert (
        find_kernel("Invalid\n    at 0x90 in naive.cu:9:gemm_naive_float32(float*)") == kernel_name
    )
    assert find_kernel("Host API uninitialized memory access of 4 bytes") == ""
    ((kernel, text),), summary = read_reports(RACE)
    assert kernel == "reduce_shuffle_sum_int32" and text.count("\n") == 1
    assert summary.startswith("RACECHECK SUMMARY: 1 hazard")


# The tools ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sanitizer(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")
    found = shutil.which("compute-sanitizer", path=os.pathsep.join(FOLDERS))
    if found is None:
        pytest.skip("no compute-sanitizer on PATH or in /usr/local/cuda/bin")
    return found


def run(sanitizer, tool, what, folder):
    """(finished process of the driver under a tool, what the tool wrote)."""
    log = folder / f"{tool}.txt"
    command = [sanitizer, "--tool", tool, *OPTIONS[tool], "--log-file", str(log)]
    done = subprocess.run(
        [*command, sys.executable, str(DRIVER), what],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "SMEMKIT_POOL": "0"},
    )
    return done, log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


@pytest.mark.parametrize("tool", OPTIONS)
def test_the_package_is_clean(sanitizer, tool, tmp_path):
    done, log = run(sanitizer, tool, "package", tmp_path)
    reports, summary = read_reports(log)
    assert not reports, "\n\n".join(list_complaints(reports)[:20])
    assert re.search(r"SUMMARY: 0 ", summary), log[-2000:] + done.stderr[-2000:]
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("WRONG ")]
    assert len(lines) > 300, "a line for each call: " + done.stdout[-500:]
    assert done.returncode == 0, "\n".join(wrong) or done.stdout[-500:] + done.stderr[-2000:]


@pytest.mark.parametrize("tool", OPTIONS)
def test_a_fault_is_reported(sanitizer, tool, tmp_path):
    """The tool sees what it is for, in arrays of ours: no report is worth something."""
    done, log = run(sanitizer, tool, tool, tmp_path)
    kernels = {kernel for kernel, _ in read_reports(log)[0]}
    assert f"fault_{tool}" in kernels, log[-2000:] + done.stdout[-500:] + done.stderr[-2000:]
