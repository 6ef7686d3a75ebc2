"""Lines that access no memory, to which a compiler has moved accesses of other lines."""

import re

import numpy as np
import pytest
from programs import regenerate
from support.paths import ROOT

import smemkit
from smemkit.report._moved import list_lines_without_access

NEEDS_COMPILER = pytest.mark.skipif(
    not smemkit.compile.find_nvrtc() and not smemkit.compile.find_nvcc(), reason="no compiler here"
)
ACCESS = re.compile(r"(?:@!?%p\d+ )?(?:ld|st|atom|red)(?:\.volatile)?(\.\w+)\S*\s+(.*);")


def judge(line, before="", parameters="float *x, int n"):
    """Is the line known to access no memory, in a kernel with that before it?"""
    text = f'extern "C" __global__ void k({parameters})\n{{\n{before}\n{line}\n}}\n'
    return 4 + before.count("\n") in list_lines_without_access(text)


@pytest.mark.parametrize(
    "line",
    [
        "int t = threadIdx.x;",
        "const int t = blockIdx.x * blockDim.x + threadIdx.x;  // x[t]",
        "float sum = 0;",
        "float y = 1.5f * (n - 1);",
        "for (int i = 0; i < n; i++) {",
        "if (n > 3 && n != 7) {",
        "n = (n + 3) * n / 2 % 5;",
        "unsigned long long big = (unsigned long long)n << 3;",
        "__syncthreads();",
        "}",
        "return;",
        "while (n < warpSize) /* x[0] */ {",
    ],
)
def test_lines_without_access(line):
    assert judge(line)


@pytest.mark.parametrize(
    "line",
    [
        "n = x[0];",
        "n = *x;",
        "n = n + *x;",
        "n = (int)*x;",
        "n = f(n);",
        "n = p->a;",
        "n = q.a;",
        "n = flag;",
        "n = other;",
        "float y = r + 1;",
        "n = MACRO;",
        "n = x",
        'asm("ld.global.u32 %0, [%1];" : "=r"(n) : "l"(x));',
    ],
)
def test_lines_that_may_access(line):
    before = "__shared__ int flag, other; const float &r = x[2]; // and\n#define MACRO x[3]"
    assert not judge(line, before)


def test_a_line_of_a_longer_statement_is_not_known():
    assert not judge("n + 1", "x[\n")
    assert not judge("n;", "x[0] =\n")
    assert judge("n = 2;", "x[0] = 1;\n")


@pytest.mark.parametrize(
    "before", ["template <class T> __device__ void f(T n);", "int *n;", "auto &n = x[1];"]
)
def test_a_name_that_is_declared_in_other_ways_is_not_known(before):
    text = f"__global__ void g(int n) {{\nn = n + 1;\n}}\n{before}\n"
    assert 2 not in list_lines_without_access(text)


def test_members_are_not_known():
    text = "struct S { int n;\nint get() {\nreturn n;\n} };\n"
    assert not list_lines_without_access(text)


def test_unmoved_accesses_have_lines_of_their_own():
    """What nvcc compiles without optimisation is nowhere moved."""
    seen = known = 0
    for name in regenerate.names():
        source = (ROOT / "tests" / "programs" / f"{name}.cu").read_text(encoding="utf-8")
        without = list_lines_without_access(source)
        known += len(without)
        text = regenerate.load_ptx(name, "G")
        file, place = re.findall(rf'\.file\s+(\d+) "[^"]*{name}\.cu"', text)[0], None
        for line in text.splitlines():
            if found := re.match(r"\s*\.loc\s+(\d+) (\d+)", line):
                place = int(found[2]) if found[1] == file else None
            elif re.search(r"\.(?:func|entry)\b", line):
                place = None
            access = ACCESS.match(line.strip())
            if access and access[1] not in (".param", ".local") and "%SP" not in access[2]:
                assert place not in without, f"{name}.cu:{place}: {line.strip()}"
                seen += 1
    assert seen > 500 and known > 200


MOVED = """extern "C" __global__ void loop(const float *__restrict__ x, const float *__restrict__ w,
    float *__restrict__ y, int n)
{
    int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[t + i] * w[33 * t];
    }
    y[t] = sum;
}
"""


@NEEDS_COMPILER
def test_reports_say_what_was_moved():
    kernel = smemkit.RawKernel(MOVED, "loop")
    x, y = np.ones(200, np.float32), np.zeros(64, np.float32)
    report = kernel.profile(1, 64, (x, np.ones(33 * 64, np.float32), y, 100))
    moved = [line for line in report.lines if line.moved]
    assert len(moved) == 1 and "[" not in moved[0].text
    assert moved[0].counters["global.load.requests"] == 2
    assert f"{moved[0].text}  (moved by the compiler)" in str(report)
    assert f"  {moved[0].text}; moved by the compiler\n" in str(report)
    assert [line["moved"] for line in report.to_dict()["lines"]].count(True) == 1
    findings = kernel.check(1, 64, (x, np.ones(70, np.float32), y, 100)).findings
    assert any(finding.first.moved for finding in findings)
    for finding in findings:
        assert ("the compiler has moved it here" in str(finding)) == finding.first.moved
    optimised = kernel.check(1, 64, (x[:99], np.ones(33 * 64, np.float32), y, 100)).findings
    assert optimised and not any(finding.first.moved for finding in optimised)
