"""Advice on pads and swizzles: done in the source, it gives what it promises."""

import re

import numpy
import pytest

import smemkit

COLUMNS = r"""
extern "C" __global__ void k(TYPE *y, const TYPE *x)
{
    __shared__ TYPE t[ROWS][LENGTH];
    int i = threadIdx.x, j = threadIdx.y, at = j * blockDim.x + i;
    t[j][i] = x[at];
    __syncthreads();
    y[at] = t[i][j];
}
"""
STENCIL = r"""
extern "C" __global__ void k(TYPE *y, const TYPE *x)
{
    __shared__ TYPE t[ROWS][LENGTH];
    int i = threadIdx.x, j = threadIdx.y, at = j * blockDim.x + i;
    t[j + 2][i + 2] = x[at];
    __syncthreads();
    TYPE sum = 0;
    for (int d = -2; d <= 2; d++) {
        sum += t[j + 2 + d][i + 2 - d];
    }
    y[at] = sum;
}
"""
TWO_TILES = r"""
extern "C" __global__ void k(TYPE *y, const TYPE *x)
{
    __shared__ TYPE s[7], t[2][ROWS][LENGTH];
    int i = threadIdx.x, j = threadIdx.y, at = j * blockDim.x + i;
    s[i % 7] = 0;
    t[0][j][i] = x[at];
    t[1][i][j] = x[at];
    __syncthreads();
    y[at] = t[0][i][j] + t[1][j][i] + s[j % 7];
}
"""


def profile(source, block):
    kernel = smemkit.RawKernel(source, "k")
    dtype = {"float": "f4", "double": "f8", "short": "i2"}[re.search(r"k\((\w+)", source)[1]]
    x = numpy.arange(block[0] * block[1], dtype=dtype)
    report = kernel.profile(1, block, (x.copy(), x))
    return report, [one for one in report.advice if one.kind == "bank_conflict"]


def count_conflicts(report):
    return sum(report.counters[f"shared.{op}.conflicts"] for op in ("load", "store"))


def write(source, kind, rows, length):
    values = {"TYPE": kind, "ROWS": rows, "LENGTH": length}
    return re.sub("TYPE|ROWS|LENGTH", lambda found: str(values[found[0]]), source)


CASES = (
    (COLUMNS, "float", 32, 32, (32, 32), 1),
    (COLUMNS, "double", 32, 32, (32, 32), 1),
    (COLUMNS, "float", 32, 64, (32, 32), 1),
    (COLUMNS, "float", 32, 34, (32, 32), 1),
    (COLUMNS, "float", 64, 32, (32, 32), 1),
    (STENCIL, "float", 20, 20, (16, 16), 28),
    (STENCIL, "float", 20, 24, (16, 16), 24),
    (STENCIL, "float", 36, 12, (8, 32), 12),
    (STENCIL, "double", 20, 20, (16, 16), None),
    (TWO_TILES, "float", 32, 32, (32, 32), 1),
)


@pytest.mark.parametrize(("source", "kind", "rows", "length", "block", "pad"), CASES)
def test_pads(source, kind, rows, length, block, pad):
    """The smallest pad that removes all conflicts, which it does in the kernel."""
    text = write(source, kind, rows, length)
    report, advice = profile(text, block)
    if pad is None:  # 16 doubles are half a warp: a row a phase, so nothing conflicts
        assert count_conflicts(report) == 0 and advice == []
        return
    assert count_conflicts(report) > 0 and advice
    for one in advice:
        new, old = re.search(r"declare (\S+) in place of (\S+), a pad of", one.text).groups()
        assert f"a pad of {pad} element{'' if pad == 1 else 's'} (" in one.text
        assert text.count(old) == 1 and f"[{length + pad}]" in new
        mended, left = profile(text.replace(old, new), block)
        assert count_conflicts(mended) == 0 and left == []
    for fewer in {pad // 2, pad - 4, pad - 1} - {0, -3}:
        mended, _ = profile(
            text.replace(old, old.replace(f"[{length}]", f"[{length + fewer}]")), block
        )
        assert count_conflicts(mended) > 0


def test_a_block_that_covers_a_row():
    """What the advice names beside the pad of 28: rows of 32 threads."""
    report, advice = profile(write(STENCIL, "float", 20, 20), (16, 16))
    assert all("or a block of 32 threads in x instead of 16" in one.text for one in advice)
    wide, advice = profile(write(STENCIL, "float", 12, 36), (32, 8))
    assert count_conflicts(report) > 0 and count_conflicts(wide) == 0 and advice == []


def test_the_best_of_pads_that_all_leave_conflicts():
    """Rows by half a warp and columns: what is best for one is bad for the other."""
    text = write(COLUMNS, "float", 20, 20)
    report, advice = profile(text, (16, 16))
    before = count_conflicts(report)
    for one in advice:
        found = re.search(r"this is best: (.*?)\. It leaves (\d+) % of their wave", one.text)
        words, left = found.groups()
        new, old = re.search(r"declare (\S+) in place of (\S+),", words).groups()
        mended, _ = profile(text.replace(old, new), (16, 16))
        assert count_conflicts(mended) < before
        total = [
            sum(r.counters[f"shared.{op}.wavefronts"] for op in ("load", "store"))
            for r in (report, mended)
        ]
        assert round(100 * total[1] / total[0]) == int(left)


def test_a_swizzle():
    """column ^ row, as the advice has it."""
    text = write(COLUMNS, "float", 32, 32)
    _, advice = profile(text, (32, 32))
    assert all("an xor swizzle (column ^ row)" in one.text for one in advice)
    mended, left = profile(
        text.replace("t[j][i]", "t[j][i ^ j]").replace("t[i][j]", "t[i][j ^ i]"), (32, 32)
    )
    assert count_conflicts(mended) == 0 and left == []


def test_vectors_stay_aligned():
    """Rows of float4 that the source asks for: a pad of less than 16 bytes is no cure."""
    source = r"""
extern "C" __global__ void k(float *y, const float *x)
{
    __shared__ __align__(16) float t[32][32];
    int i = threadIdx.x;
    for (int c = 0; c < 32; c += 4) {
        *(float4 *)&t[i][c] = *(const float4 *)&x[32 * i + c];
    }
    __syncthreads();
    for (int r = 0; r < 32; r++) {
        y[32 * r + i] = t[r][i];
    }
}
"""
    kernel = smemkit.RawKernel(source, "k")
    x = numpy.arange(1024, dtype="float32")
    report = kernel.profile(1, 32, (x.copy(), x))
    (advice,) = [one for one in report.advice if one.kind == "bank_conflict"]
    new, old = re.search(r"declare (\S+) in place of (\S+), a pad of 4 elem", advice.text).groups()
    mended = smemkit.RawKernel(source.replace(old, new), "k").profile(1, 32, (x.copy(), x))
    assert count_conflicts(report) > 0 and count_conflicts(mended) == 0
    assert smemkit.RawKernel(source.replace(old, new), "k").check(1, 32, (x.copy(), x))


def test_an_array_without_rows():
    """A tree with steps that double: a spare element after every 32."""
    source = r"""
extern "C" __global__ void k(float *y, const float *x)
{
    __shared__ float t[512];
    int i = threadIdx.x;
    t[AT(i)] = x[i];
    t[AT(i + 256)] = x[i + 256];
    for (int s = 1; s < 512; s *= 2) {
        __syncthreads();
        if (2 * s * i < 512) {
            t[AT(2 * s * i)] += t[AT(2 * s * i + s)];
        }
    }
    if (i == 0) {
        y[0] = t[0];
    }
}
"""
    x = numpy.ones(512, dtype="float32")
    plain = "#define AT(i) (i)\n" + source
    report = smemkit.RawKernel(plain, "k").profile(1, 256, (x.copy(), x))
    advice = [one for one in report.advice if one.kind == "bank_conflict"]
    assert advice and all("index i + i / 32" in one.text for one in advice)
    assert not any("a row of" in one.text for one in advice)
    spare = "#define AT(i) ((i) + (i) / 32)\n" + source.replace("t[512]", "t[528]")
    mended = smemkit.RawKernel(spare, "k").profile(1, 256, (x.copy(), x))
    assert count_conflicts(report) > 0 and count_conflicts(mended) == 0
