"""What findings say to do: done in the source, it leaves nothing to find."""

import re

import numpy
import pytest

import smemkit

REVERSE = r"""
extern "C" __global__ void k(int *x)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
TILES = r"""
extern "C" __global__ void k(int *x, int turns)
{
    __shared__ int tile[64];
    int sum = 0;
#pragma unroll UNROLL
    for (int turn = 0; turn < turns; turn++) {
        tile[threadIdx.x] = x[threadIdx.x] + turn;
        __syncthreads();
        sum += tile[63 - threadIdx.x];
    }
    x[threadIdx.x] = sum;
}
"""
TREE = r"""
extern "C" __global__ void k(int *x)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            tile[threadIdx.x] += tile[threadIdx.x + step];
        }
    }
    x[threadIdx.x] = threadIdx.x == 0 ? tile[0] : 0;
}
"""
SHIFT = r"""
extern "C" __global__ void k(int *x)
{
    __shared__ int tile[65];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 0) {
        tile[64] = 0;
    }
    __syncthreads();
    tile[threadIdx.x] = tile[threadIdx.x + 1];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x];
}
"""


def make(source):
    return smemkit.RawKernel(source, "k")


def check(source, *values, threads=64):
    x = numpy.arange(threads, dtype="int32")
    return make(source).check(1, threads, (x, *map(numpy.int32, values)))


def insert(source, line, text="__syncthreads();"):
    """The source with a statement before a line of it."""
    lines = source.splitlines()
    return "\n".join([*lines[: line - 1], text, *lines[line - 1 :]])


def find(report, kind="race"):
    """The action of the finding of that kind, of which there is one."""
    (finding,) = [finding for finding in report.findings if finding.kind == kind]
    return finding.action


def end_of_body(source, line):
    """The line of the bracket that closes the loop around a line: the outermost but the last."""
    lines = source.splitlines()
    return next(n for n, text in enumerate(lines, 1) if n > line and text == "    }")


def test_a_barrier_between_two_lines():
    report = check(REVERSE)
    found = re.match(
        r"A barrier is missing between lines (\d+) and (\d+): put __sync", find(report)
    )
    first, second = map(int, found.groups())
    assert "tile[threadIdx.x] =" in REVERSE.splitlines()[first - 1]
    assert "tile[63" in REVERSE.splitlines()[second - 1]
    assert check(insert(REVERSE, second))
    assert not check(insert(REVERSE, first)) and not check(insert(REVERSE, second + 1))


def test_a_barrier_of_a_warp():
    source = REVERSE.replace("63", "31").replace("64", "32")
    action = find(check(source, threads=32), "warp_hazard")
    found = re.match(r"A barrier is missing between lines (\d+) and (\d+): put __syncwarp", action)
    assert check(insert(source, int(found[2]), "__syncwarp();"), threads=32)


@pytest.mark.parametrize("unroll", [1, 4])
@pytest.mark.parametrize("turns", [2, 9])
def test_a_barrier_at_the_end_of_a_loop(unroll, turns):
    """The barrier that stands there already is not asked for again."""
    source = TILES.replace("UNROLL", str(unroll))
    action = find(check(source, turns))
    found = re.match(r"A barrier is missing between line (\d+) and the next execution of", action)
    assert "sum += tile" in source.splitlines()[int(found[1]) - 1]
    assert "at the end of the loop's body" in action
    assert check(insert(source, end_of_body(source, int(found[1]))), turns)


def test_a_barrier_behind_a_line_that_repeats():
    """The tree's sum: lanes of a warp, two warps, and the last line, which needs a barrier too."""
    source = TREE.replace("64", "128").replace("32", "64")
    actions = {(one.kind, one.action) for one in check(source, threads=128).findings}
    start = "A barrier is missing between "
    texts = sorted(action for found, action in actions if found == "race")
    first, last = (text.removeprefix(start) for text in texts)
    line, end = map(int, re.match(r"lines (\d+) and (\d+): put __syncthreads\(\)", first).groups())
    assert "+=" in source.splitlines()[line - 1]
    assert last.startswith(f"one execution of line {line} and the next: put __syncthreads() behind")
    assert {action for found, action in actions if found == "warp_hazard"} == {
        f"The __syncthreads() that cures the race of {lines} cures this too."
        for lines in (f"lines {line} and {end}", f"line {line}")
    }
    assert check(insert(source, end_of_body(source, line)), threads=128)


def test_a_line_that_reads_and_writes():
    """No loop, so it is split in two."""
    action = find(check(SHIFT))
    found = re.match(r"Line (\d+) reads what another thread writes in it: read into a reg", action)
    line = SHIFT.splitlines()[int(found[1]) - 1]
    assert "= tile[threadIdx.x + 1];" in line
    parts = [
        "int next = tile[threadIdx.x + 1];",
        "__syncthreads();",
        "tile[threadIdx.x] = next;",
    ]
    assert check(SHIFT.replace(line, "\n".join(parts)))


@pytest.mark.parametrize("value", ["1", "(int)threadIdx.x"])
def test_stores_of_one_element(value):
    """Of one value, and of several."""
    source = f'extern "C" __global__ void k(int *x) {{ x[0] = {value}; }}'
    report = check(source)
    (finding,) = report.findings
    assert finding.same_value == (value == "1")
    assert finding.message.endswith("both write the same value.") == finding.same_value
    start = "Both write the same value, so nothing is lost" if value == "1" else "Threads write one"
    assert finding.action.startswith(start)
    assert check(source.replace("x[0]", "if (threadIdx.x == 0) x[0]"))
    if finding.same_value:
        x = numpy.zeros(64, dtype="int32")
        assert make(source).check(1, 64, (x,), ignore_same_value=True)


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_plain_read_before_an_exchange(blocks):
    """The sum of the CUDA Programming Guide: a barrier cannot stand in its loop, and need not."""
    source = """
    extern "C" __global__ void k(int *x)
    {
        int old = *x, assumed;
        do {
            assumed = old;
            old = atomicCAS(x, assumed, assumed + 1);
        } while (assumed != old);
    }
    """
    x = numpy.zeros(1, dtype="int32")
    action = find(make(source).check(blocks, 64, (x,)), "global_race")
    assert "is a plain load of what atomicCAS() changes" in action and "volatile" in action
    assert "__syncthreads" not in action
    mended = source.replace("old = *x", "old = *(volatile int *)x")
    assert make(mended).check(blocks, 64, (x,))


def test_an_index_past_the_end():
    source = 'extern "C" __global__ void k(int *x, int n) { int i = threadIdx.x; x[i] = i; }'
    x = numpy.zeros(50, dtype="int32")
    report = make(source).check(1, 64, (x, numpy.int32(50)))
    assert "as in if (0 <= i && i < n)" in find(report, "out_of_bounds")
    guarded = source.replace("x[i]", "if (0 <= i && i < n) x[i]")
    assert make(guarded).check(1, 64, (x, numpy.int32(50)))


def test_ptx_without_source_lines():
    """The lines of the PTX stand in their place."""
    lines = make(REVERSE).ptx.splitlines()
    ptx = "\n".join(line for line in lines if not re.match(r"\s*\.(loc|file)\b", line))
    report = make(ptx).check(1, 64, (numpy.arange(64, dtype="int32"),))
    finding = next(one for one in report.findings if one.kind == "race")
    numbers = sorted(side.ptx_line for side in (finding.first, finding.second))
    assert "between PTX lines {} and {}: put".format(*numbers) in finding.action
