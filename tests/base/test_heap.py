"""The heap of the C code, compiled by itself: sizes at the edges."""

import shutil
import subprocess
from pathlib import Path

import pytest

CSRC = Path(__file__).resolve().parents[2] / "csrc"


def test_sizes_at_the_edges(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program, source = tmp_path / "heap", Path(__file__).with_name("heap.c")
    command = [compiler, "-std=gnu11", "-O1", f"-I{CSRC}", source, CSRC / "base/heap.c"]
    subprocess.run([*command, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], check=False, timeout=60)
    assert done.returncode == 0, f"heap.c, line {done.returncode}"
