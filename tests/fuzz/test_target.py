"""The libFuzzer target follows the interfaces that it calls: only those who fuzz compile it."""

import subprocess

import pytest
from support.paths import ROOT


@pytest.mark.parametrize("more", [[], ["-DSMK_FUZZ_MAIN"], ["-DSMK_FUZZ_EXECUTE"]], ids=str)
def test_it_compiles_without_a_warning(more):
    words = "gcc -std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only".split()
    command = [*words, "-iquote", "csrc", *more, "tests/fuzz/fuzz_ptx.c"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
