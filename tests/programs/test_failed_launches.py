"""Launches that fail or are refused under `smemkit run`: none of them ends as if all was right."""

import json
import os
import subprocess
import sys

import pytest
from support.paths import ROOT, TESTS

from smemkit.cli.run import write_text

SCRIPT = TESTS / "programs" / "failing_script.py"
# Kernel, threads: what becomes of the launch, its code, words of the message.
CASES = {
    ("stop", 32): ("failed", "cudaErrorLaunchFailure", "trap"),
    ("hang", 32): ("failed", "cudaErrorLaunchTimeout", "waits for ever"),
    ("count", 32): ("failed", "cudaErrorLaunchTimeout", "SMEMKIT_MAX_STEPS"),
    ("plain", 1025): ("refused", None, "larger than (1024, 1024, 64)"),
}


def run(tmp_path, *words, mode="--check", status):
    """The report of `smemkit run`, and what it says."""
    report = tmp_path / "report.json"
    command = ["run", *([mode] if mode else []), "--json", report, sys.executable, SCRIPT, *words]
    done = subprocess.run(
        [sys.executable, "-m", "smemkit", *map(str, command)],
        cwd=ROOT,
        env=os.environ | ({"SMEMKIT_MAX_STEPS": "100000"} if words[0] == "count" else {}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(report.read_text()), done.stderr


@pytest.mark.parametrize(("kernel", "threads"), list(CASES))
def test_a_launch_that_is_not_checked_to_its_end(tmp_path, kernel, threads):
    outcome, code, words = CASES[kernel, threads]
    facts, text = run(tmp_path, kernel, threads, status=2)
    (failure,) = facts["failures"]
    assert not facts["findings"]
    assert failure["outcome"] == outcome and failure["kernel_name"] == kernel
    assert failure["block_size"] == [threads, 1, 1] and failure["launches"] == 1
    assert code in (None, failure["code"]) and words in failure["message"]
    failed = outcome == "failed"
    assert facts["launches"] == 2  # before it and itself, or before it and behind it
    assert facts["skipped"] == failed
    assert "not all launches were checked to their end" in text
    assert f"a launch of {kernel} {'failed' if failed else 'was refused'}: " in text
    assert ("1 launch behind a kernel that failed did not run" in text) == failed
    assert (f"PTX:{failure['ptx_line']}" in text) == failed


def test_a_profile_of_a_launch_that_does_not_end(tmp_path):
    facts, text = run(tmp_path, "hang", 32, mode="--profile", status=0)
    assert [kernel["name"] for kernel in facts["kernels"]] == ["plain"] and "hang: " in text
    (line,) = write_text(facts | {"kernels": []})
    assert line == "smemkit run: no kernel ran to its end, so nothing was counted"
    (line,) = write_text(facts | {"kernels": [], "failures": []})
    assert line == "smemkit run: no kernel was launched"


def test_a_run_without_a_check_tells_errors_of_launches(tmp_path):
    facts, _ = run(tmp_path, "store", 32, mode=None, status=0)
    (failure,) = facts["failures"]
    assert failure["code"] == "cudaErrorIllegalAddress" and failure["outcome"] == "failed"
    assert failure["thread"] == [0, 0, 0] and failure["ptx_line"] > 0
    assert facts["launches"] == 2 and facts["skipped"] == 1


def test_findings_count_more_than_failures(tmp_path):
    facts, text = run(tmp_path, "store", 32, status=1)
    assert [finding["kind"] for finding in facts["findings"]] == ["out_of_bounds"]
    assert not facts["failures"] and "1 finding in 3 launches" in text


def test_a_program_that_is_killed_has_its_launches_counted(tmp_path):
    facts, text = run(tmp_path, "plain", 32, "abort", status=128 + 6)
    assert not facts["ended"] and facts["launches"] == 3
    assert "no findings in 3 launches" in text


def test_a_kernel_that_is_refused(tmp_path):
    facts, text = run(tmp_path, "nest", 32, status=2)
    (failure,) = facts["failures"]
    assert failure["outcome"] == "refused" and failure["kernel"] == "nest"
    assert failure["code"] == "cudaErrorNotSupported"
    assert "a launch of nest was refused: cudaErrorNotSupported" in text
