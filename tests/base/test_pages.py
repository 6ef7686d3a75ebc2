"""Large memory: C code compiled by itself, and what the system says of a process that copies."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import smemkit

CSRC = Path(__file__).resolve().parents[2] / "csrc"


def test_ranges_at_the_edges(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program, source = tmp_path / "pages", Path(__file__).with_name("pages.c")
    command = [compiler, "-std=gnu11", "-O1", f"-I{CSRC}", source, CSRC / "base/pages.c"]
    subprocess.run([*command, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], check=False, timeout=60)
    assert done.returncode == 0, f"pages.c, line {done.returncode}"


@pytest.mark.parametrize("size", [1 << 25, (1 << 25) + 1, 5 * (1 << 24) - 3])
def test_copies_arrive(size):
    wanted = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    first, second = (smemkit.asarray(x, backend="sim") for x in (wanted, wanted[::-1].copy()))
    assert np.array_equal(smemkit.asnumpy(first), wanted)
    assert np.array_equal(smemkit.asnumpy(second), wanted[::-1])


def read_mappings():
    """Memory of mappings that ask for huge pages (kB), and the number of mappings."""
    mappings = Path("/proc/self/smaps").read_text().split("VmFlags:")
    asking = [
        size
        for size, after in zip(mappings, mappings[1:], strict=False)
        if " hg" in after.splitlines()[0]
    ]
    sizes = [re.findall(r"^Size: +(\d+) kB$", text, re.MULTILINE)[-1] for text in asking]
    return sum(map(int, sizes)), len(mappings) - 1


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists(),
    reason="the system knows no huge pages",
)
def test_copies_ask_for_huge_pages():
    """A page fault for each 2 MB, not for each 4 KB, and at most a mapping for each 16 MB."""
    source = np.ones(1 << 28, np.uint8)
    asking_kb, mappings = read_mappings()
    d = smemkit.asarray(source, backend="sim")
    with_copy_kb, with_copy = read_mappings()
    assert with_copy_kb - asking_kb > d.nbytes // 1024 * 3 // 4  # all but its ends
    assert with_copy - mappings <= d.nbytes // (1 << 24) + 4
