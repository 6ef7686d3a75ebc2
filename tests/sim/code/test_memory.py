"""The simulator's memory, compiled by itself: addresses that only years of use would reach."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

CSRC = ROOT / "csrc"
OTHERS = ("sim/code/memory.c", "sim/code/array_name.c")


def test_addresses_are_given_again(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program, source = tmp_path / "memory", Path(__file__).with_name("memory.c")
    others = [*sorted((CSRC / "base").glob("*.c")), *(CSRC / name for name in OTHERS)]
    command = [compiler, "-std=gnu11", "-O1", f"-I{CSRC}", source, *others, "-lpthread", "-lm"]
    subprocess.run([*command, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], check=False, timeout=60)
    assert done.returncode == 0, f"memory.c, line {done.returncode}"
