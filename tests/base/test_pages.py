"""Large memory: C code compiled by itself, and what the system says of a process that copies."""

import mmap
import shutil
import subprocess
import sys
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
    """Memory in huge pages (kB), and the number of mappings."""
    text = Path("/proc/self/smaps").read_text()
    huge_kb = sum(int(x.split()[1]) for x in text.splitlines() if x.startswith("AnonHugePages:"))
    return huge_kb, text.count("AnonHugePages:")


def require_huge_pages(size):
    """Skips the test where the system has no huge pages left for as much memory."""
    before = read_mappings()[0]
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory.write(bytes(size))
        given_kb = read_mappings()[0] - before
    if given_kb < size // 1024 * 3 // 4:
        pytest.skip("the system has no huge pages to give")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_copies_stand_in_huge_pages():
    """A page fault for each 2 MB, not for each 4 KB; the pieces of a copy become one mapping."""
    source = np.ones(1 << 28, np.uint8)
    require_huge_pages(source.nbytes)
    huge_kb, mappings = read_mappings()
    d = smemkit.asarray(source, backend="sim")
    with_copy_kb, with_copy = read_mappings()
    assert with_copy_kb - huge_kb > d.nbytes // 1024 // 2  # a busy system has fewer huge pages
    assert with_copy - mappings < 8
