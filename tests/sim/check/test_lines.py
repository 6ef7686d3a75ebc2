"""Findings and counters stand at lines of the user's file, where headers were inlined too."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from sim.check import check_cases, check_ptx
from support.paths import TESTS

import smemkit

COUNTS = TESTS / "hardware" / "counts"

# What nvcc makes of a kernel whose line 7 is atomicAdd(&sum, x[threadIdx.x]) with a double, and
# whose line 8 is out[threadIdx.x] = __shfl_sync(~0u, sum, 0), without a barrier between them. The
# inlined functions call others: each mark has one step of the way.
DOUBLE = """.version 8.0
.target sm_75
.address_size 64
.visible .entry add_double(.param .u64 x, .param .u64 out)
{
\t.reg .b32 %r<4>;
\t.reg .pred %p<2>;
\t.reg .f64 %d<4>;
\t.reg .b64 %rd<8>;
\t.shared .align 8 .f64 sum;
\t.loc 1 4 0
\tld.param.u64 %rd1, [x];
\tld.param.u64 %rd2, [out];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd3, %r1, 8;
\tadd.s64 %rd4, %rd1, %rd3;
\tadd.s64 %rd5, %rd2, %rd3;
\tld.global.f64 %d1, [%rd4];
\tmov.u64 %rd6, sum;
\t.loc 1 6 5
\tsetp.eq.u32 %p1, %r1, 0;
\t@%p1 st.shared.f64 [sum], 0d0000000000000000;
\tbar.sync 0;
\t.loc 2 126 5, function_name $L_info0, inlined_at 1 7 5
\t.loc 3 31 3, function_name $L_info1, inlined_at 2 126 5
\tatom.shared.add.f64 %d2, [%rd6], %d1;
\t.loc 4 411 9, function_name $L_info2, inlined_at 1 8 5
\t.loc 4 397 9, function_name $L_info3, inlined_at 4 411 9
\tld.shared.f64 %d3, [%rd6];
\tst.global.f64 [%rd5], %d3;
\tret;
}
\t.file 1 "/home/user/add_double.cu"
\t.file 2 "/usr/local/cuda/include/sm_60_atomic_functions.hpp"
\t.file 3 "/usr/local/cuda/include/crt/device_double_functions.hpp"
\t.file 4 "/usr/local/cuda/include/crt/sm_30_intrinsics.hpp"
"""


def add_double():
    kernel = smemkit.RawModule(DOUBLE, backend="sim").get_function("add_double")
    return kernel, (1,), (64,), (np.ones(64), np.zeros(64))


def test_a_finding_inside_an_intrinsic_is_at_the_users_line():
    report = smemkit.check(*add_double(), backend="sim")
    assert {finding.kind for finding in report.findings} == {"race", "warp_hazard"}
    for finding in report.findings:
        assert finding.first.file == finding.second.file == "/home/user/add_double.cu"
        assert {finding.first.line, finding.second.line} == {7, 8}
        assert "add_double.cu:7" in finding.message and "add_double.cu:8" in finding.message


def test_a_profile_line_inside_an_intrinsic_is_the_users():
    kernel, grid, block, args = add_double()
    lines = kernel.profile(grid, block, args, backend="sim").lines
    assert {line.file for line in lines} == {"/home/user/add_double.cu"}
    atomics = {line.line: line.counters["shared.atomic.instructions"] for line in lines}
    assert atomics[7] > 0 and not any(atomics[line] for line in atomics if line != 7)


FOUND = [case for case in check_cases.CASES if case.groups and "O3" in case.modes]


@pytest.mark.parametrize("case", FOUND, ids=[case.entry for case in FOUND])
def test_findings_of_kernels_with_headers(case):
    module = smemkit.RawModule(check_ptx.load_ptx(case.file, "O3"), backend="sim")
    kernel = module.get_function(case.entry)
    report = kernel.check(case.grid, case.block, case.args(), **case.options)
    sides = [side for f in report.findings for side in (f.first, f.second) if side is not None]
    assert {Path(side.file).name for side in sides} == {f"{case.file}.cu"}


def with_headers():
    """The first case of each kernel of tests/hardware/counts that has code of a header."""
    for path in sorted(COUNTS.glob("count_cases_*.py")):
        importlib.import_module(f"hardware.counts.{path.stem}")
    cases = {}
    for case in importlib.import_module("hardware.counts.count_launches").CASES:
        if "inlined_at" in case.ptx:
            cases.setdefault(case.name, case)
    return cases


HEADERS = with_headers()


@pytest.mark.parametrize("name", HEADERS)
def test_profile_of_kernels_with_headers(name):
    case = HEADERS[name]
    made = case.make()
    kernel = smemkit.RawModule(case.ptx, backend="sim").get_function(case.entry)
    report = kernel.profile(made.grid, made.block, made.args, shared_mem=made.shared, backend="sim")
    files = {Path(line.file).name for line in report.lines}
    assert files - {"ptx"} == {f"{name}.cu"}  # "ptx": what the compiler gives no line
