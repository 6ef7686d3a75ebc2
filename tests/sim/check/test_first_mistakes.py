"""Mistakes of first kernels: what is listed first, and advice that names the mistake itself."""

import numpy
import pytest
from sim.check.first_mistakes import DYNAMIC, HEAD, check, check_surface, make_tree

import smemkit
from smemkit import compile


def test_order_of_findings():
    """What spoils most comes first: out of bounds, barriers, races, hazards of a warp."""
    body = """    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = x[t];
    y[t] = tile[t ^ 32] + x[t + n];
    if (t < 40) {
        __syncthreads();
    }
    atomicAdd(&y[t], 1.0f);
}
"""
    kinds = [one.kind for one in check(HEAD + body, 1, 128, 128, 128).findings]
    assert kinds == ["out_of_bounds", "barrier", "race"]
    report = check(make_tree(barrier=""), 1, 256, 256, 1)
    kinds = [one.kind for one in report.findings]
    assert kinds == sorted(kinds, key=["race", "warp_hazard"].index) and len(set(kinds)) == 2


def test_hazards_that_the_cure_of_a_race_cures():
    races = {}
    report = check(make_tree(barrier=""), 1, 256, 256, 1)
    for finding in report.findings:
        lines = tuple(sorted((finding.first.line, finding.second.line)))
        races.setdefault(lines, {})[finding.kind] = finding.action
    both = {lines: found for lines, found in races.items() if len(found) == 2}
    assert both
    for lines, found in both.items():
        named = f"line {lines[0]}" if lines[0] == lines[1] else "lines {} and {}".format(*lines)
        assert "put __syncthreads()" in found["race"]
        assert found["warp_hazard"] == (
            f"The __syncthreads() that cures the race of {named} cures this too."
        )
    assert check(make_tree(), 1, 256, 256, 1)


def test_loop_that_never_ends():
    (finding,) = check(make_tree(loop=">="), 1, 256, 256, 1).findings
    assert finding.kind == "barrier"
    assert "The loop at line 7 never ends: no way leads out of it" in finding.action
    assert "take the barrier" not in finding.action
    branch = make_tree().replace("if (t < s) {", "if (t < s) {\n        __syncthreads();")
    for other in check(branch, 1, 256, 256, 1).findings:
        assert "never ends" not in other.action


def test_array_that_was_meant_to_be_shared():
    findings = check(make_tree(shared=""), 1, 256, 256, 1).findings
    (finding,) = [one for one in findings if one.kind == "uninitialized"]
    assert "A local array is private to each thread" in finding.action
    assert "buf[" in finding.first.text
    assert f"did you mean __shared__ for the array of line {finding.first.line}?" in finding.action
    assert check(make_tree(), 1, 256, 256, 1)


def test_dynamic_shared_memory_without_a_size():
    report = check(DYNAMIC, 1, 64, 64, 64)
    finding = report.findings[0]
    assert finding.kind == "out_of_bounds" and "past the end of buf (0 bytes" in finding.message
    assert "gives a block 0 bytes of dynamic shared memory, too few for line 4" in finding.action
    assert "pass shared_mem=N in the call" in finding.action
    assert "--shared-mem N" in finding.action
    few = check(DYNAMIC, 1, 64, 64, 64, shared_mem=128).findings[0]
    assert "gives a block 128 bytes" in few.action
    assert check(DYNAMIC, 1, 64, 64, 64, shared_mem=256)
    x = numpy.ones(64, "float32")
    with pytest.raises(smemkit.OutOfBoundsError, match=r"buf \(0 bytes, by shared_mem= of the c"):
        smemkit.RawKernel(DYNAMIC, "k")(1, 64, (x, x.copy(), numpy.int32(64)), backend="sim")


def test_too_much_static_shared_memory():
    source = DYNAMIC.replace("extern __shared__ float buf[]", "__shared__ float buf[16384]")
    x = numpy.ones(64, "float32")
    with pytest.raises(smemkit.SharedMemoryError) as caught:
        smemkit.RawKernel(source, "k")(1, 64, (x, x.copy(), numpy.int32(64)), backend="sim")
    said = str(caught.value)
    assert "65536 bytes of static shared memory up to the end of buf (65536 bytes)" in said
    assert "the limit is 49152 bytes" in said and "_ZZ" not in said


def test_grid_beyond_the_array():
    """A whole block too many is another mistake than a block that is filled in part."""
    source = make_tree()
    (finding,) = check(source, 66, 64, 66 * 64, 64).findings
    assert finding.first.block == (64, 0, 0)
    assert "is block (64, 0, 0), from its first thread on" in finding.action
    assert "the grid has more blocks than the array needs" in finding.action
    assert check(source, 64, 64, 64 * 64, 64)
    part = HEAD + "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    y[i] = x[i];\n}\n"
    for finding in check(part, 4, 64, 200, 200).findings:
        assert "as in if (0 <= i && i < n)" in finding.action


UNROLLED_SCAN = r"""
extern "C" __global__ void scan(float *out)
{
    __shared__ float s[256];
    int i = threadIdx.x;
    s[i] = out[i];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        float v = i >= d ? s[i - d] : 0;
        __syncthreads();
        s[i] += v;
    }
    out[i] = s[i];
}
"""


def test_a_barrier_is_missing_at_the_end_of_an_unrolled_loop():
    """The compiler unrolls the loop: the store of a turn stands before the load of the next one."""
    if compile.find_nvrtc() is None and compile.find_nvcc() is None:
        pytest.skip("no compiler of CUDA C here; the extra [test] brings one")
    kernel = smemkit.RawKernel(UNROLLED_SCAN, "scan")
    report = kernel.check(1, 256, (numpy.ones(256, "float32"),))
    race = next(finding for finding in report.findings if finding.kind == "race")
    assert {race.first.line, race.second.line} == {9, 11}
    assert "between line 11 and the next execution of line 9" in race.action


def test_a_store_outside_a_surface():
    """Not taken for a null pointer: the address of a surface's element is none."""
    (finding,) = check_surface().findings
    assert finding.kind == "out_of_bounds" and finding.first.op == "store"
    assert "width and the height of the surface" in finding.action
