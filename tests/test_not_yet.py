"""Kernels not yet measured on hardware: the summary names them, a release refuses them."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import children

TESTS = Path(__file__).resolve().parent
NEW = """
def test_counts(not_yet):
    not_yet("not yet counted on hardware", ["gemm/one", "gemm/two", "gemm/one"], "Count it.")

def test_times(not_yet):
    not_yet("not yet timed on hardware", {names!r}, "Time it.")
"""


def run(folder, *options, names=("gemm/one",)):
    """(exit status, what is printed) of a run of tests that note kernels."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_new.py").write_text(NEW.format(names=list(names)))
    environment = children.leave_out_pytest()
    environment["PYTHONPATH"] = f"{TESTS}:{environment['PYTHONPATH']}"
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [*command, *options, str(folder)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "with workers"])
def test_summary_names_them_and_the_run_passes(tmp_path, options):
    if options:
        pytest.importorskip("xdist")
    status, text = run(tmp_path, *options)
    assert status == 0, text
    assert "= not yet counted on hardware: 2 =" in text and "\ngemm/one, gemm/two\n" in text
    assert "= not yet timed on hardware: 1 =" in text and "\ngemm/one\n" in text


def test_release_refuses_them_by_name(tmp_path):
    status, text = run(tmp_path, "--release")
    assert status == 1
    assert "not yet counted on hardware: gemm/one, gemm/two. Count it." in text
    assert "not yet timed on hardware: gemm/one. Time it." in text
    status, text = run(tmp_path, "--release", "-k", "times", names=())
    assert status == 0 and "hardware" not in text
