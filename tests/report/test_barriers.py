"""Advice on barriers that no thread needs: without them a check finds nothing, and no other one."""

import re

import numpy
import pytest

import smemkit

HEAD = r"""
extern "C" __global__ void k(int *y, const int *x, int n)
{
    __shared__ int t[256];
    int i = threadIdx.x;
"""
SYNC = "__syncthreads();"
# Bodies, with the numbers of the barriers (from 0) that order nothing, and of those that order
# lanes of one warp alone.
OWN = "t[i] = x[i];\n SYNC\n t[i] *= 2;\n SYNC\n y[i] = t[i];"
KERNELS = {
    "own elements": (OWN, {0, 1}, set()),
    "another's element": ("t[i] = x[i];\n SYNC\n y[i] = t[127 - i];", set(), set()),
    "one of two": ("t[i] = x[i];\n SYNC\n t[i] *= 2;\n SYNC\n y[i] = t[127 - i];", {0}, set()),
    "element of a lane": ("t[i] = x[i];\n SYNC\n y[i] = t[i ^ 1];", set(), {0}),
    "no memory": ("int v = x[i];\n SYNC\n y[i] = v;", {0}, set()),
    "overwritten": ("t[127 - i] = x[i];\n SYNC\n t[i] = 3;\n SYNC\n y[i] = t[i];", {1}, set()),
    "read before": (
        "t[i] = x[i];\n SYNC\n int v = t[127 - i];\n SYNC\n t[i] = v;\n SYNC\n y[i] = t[i];",
        {2},
        set(),
    ),
    "loop": (
        "int s = 0;\n for (int r = 0; r < 3; r++) {\n t[i] = x[i] + r;\n SYNC\n"
        " s += t[127 - i];\n SYNC\n }\n y[i] = s;",
        set(),
        set(),
    ),
    "loop of own": (
        "int s = 0;\n for (int r = 0; r < blockDim.x / 32; r++) {\n t[i] = x[i] + r;\n SYNC\n"
        " s += t[i];\n SYNC\n }\n y[i] = s;",
        {0, 1},
        set(),
    ),
    "tree": (
        "t[i] = x[i];\n SYNC\n for (int s = n / 2; s > 0; s /= 2) {\n"
        " if (i < s) t[i] += t[i + s];\n SYNC\n }\n y[i] = t[i];",
        set(),
        set(),
    ),
    "global memory": (
        "y[i] = x[i];\n SYNC\n t[i] = y[127 - i];\n SYNC\n y[i] = t[i];",
        set(),
        set(),
    ),
    "global memory in place": ("int v = y[127 - i];\n SYNC\n y[i] = v;", set(), set()),
    "last block": (
        "__shared__ bool last;\n y[i] = x[i];\n __threadfence();\n SYNC\n"
        " if (i == 0) last = atomicAdd(&y[n], 1) == gridDim.x - 1;\n SYNC\n"
        " if (last) y[i] += 1;",
        set(),
        set(),
    ),
    "atomic": (
        "if (i < 8) t[i] = 0;\n SYNC\n atomicAdd(&t[i & 7], 1);\n SYNC\n y[i] = t[i & 7];",
        set(),
        set(),
    ),
    "one writer": ("if (i == 0) t[0] = x[0];\n SYNC\n y[i] = t[0];", set(), set()),
    "count": ("t[i] = x[i];\n y[i] = __syncthreads_count(t[i] > 3);", set(), set()),
}


def write(body):
    return HEAD + body.replace("SYNC", SYNC) + "\n}\n"


def launch(source, grid=1, block=128):
    kernel = smemkit.RawKernel(source, "k")
    y, x = numpy.zeros(block + 1, "int32"), numpy.arange(block + 1, dtype="int32")
    return kernel, (grid, block, (y, x, numpy.int32(block)))


def remove(source, numbers, text=""):
    """The source with some of its barriers replaced."""
    parts = source.split(SYNC)
    joints = [text if i in numbers else SYNC for i in range(len(parts) - 1)]
    return "".join(part + joint for part, joint in zip(parts, [*joints, ""], strict=True))


@pytest.mark.parametrize("name", KERNELS)
def test_barriers(name):
    """What the advice says, done in the source, leaves nothing for check to find."""
    body, nothing, lanes = KERNELS[name]
    source = write(body)
    kernel, call = launch(source)
    report = kernel.profile(*call)
    lines = [n for n, line in enumerate(source.splitlines(), 1) if SYNC in line]
    found = {one.line: one for one in report.advice if one.kind == "redundant_barrier"}
    assert set(found) == {lines[i] for i in nothing | lanes}
    for number in nothing | lanes:
        words = "lanes of one warp alone" if number in lanes else "orders nothing"
        assert words in found[lines[number]].text
        assert found[lines[number]].evidence["barrier.count"] % 4 == 0
    clean, call = launch(remove(remove(source, nothing), lanes, "__syncwarp();"))
    assert clean.check(*call)
    needed = set(range(len(lines))) - nothing
    if name not in ("last block",) and needed:  # which other blocks need, too
        bare, call = launch(remove(source, needed))
        assert not bare.check(*call)


# Bodies whose launch below needs no barrier, while others do: data or arguments choose who meets.
CHOSEN = {
    "loaded index": "t[x[i]] = y[i];\n SYNC\n y[i] = t[i];",
    "argument": "t[(i + n) & 127] = x[i];\n SYNC\n y[i] = t[i];",
    "index chosen by data": (
        "int j = i;\n if (x[0] > 0) j = 127 - i;\n t[j] = x[i];\n SYNC\n y[i] = t[i];"
    ),
    "access chosen by data": (
        "t[i] = x[i];\n SYNC\n if (x[0] > 0) y[i] = t[127 - i] + clock();\n else y[i] = t[i];"
    ),
    "lanes chosen by data": (
        "t[i] = 0;\n SYNC\n if (x[i] < n / 2) t[i & 63] = i;\n SYNC\n y[i] = t[i];"
    ),
    "loop of an argument": (
        "t[i] = x[i];\n SYNC\n int s = 0;\n for (int r = 0; r < n - 127; r++)"
        " s += t[(i + r) & 127];\n y[i] = s;"
    ),
    "index through shared memory": (
        "__shared__ int p[128];\n p[i] = x[i];\n SYNC\n t[p[i]] = i;\n SYNC\n y[i] = t[i];"
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_barriers_that_other_arguments_need(name):
    """What one launch shows is no property of the kernel."""
    kernel, call = launch(write(CHOSEN[name]))
    kinds = {one.kind for one in kernel.profile(*call).advice}
    assert not kinds & {"redundant_barrier", "data_read_once"}


def test_barriers_behind_the_guard_of_a_size():
    """A guard that lets all threads of the launch through chooses no element."""
    body = "if (i < n) t[i] = x[i];\n SYNC\n if (i < n) y[i] = t[i];"
    kernel, call = launch(write(body))
    assert "redundant_barrier" in [one.kind for one in kernel.profile(*call).advice]


def test_barriers_of_one_warp_are_as_cheap_as_syncwarp():
    kernel, call = launch(write(KERNELS["element of a lane"][0]), block=32)
    assert kernel.profile(*call).advice == []


def test_barriers_of_blocks_that_differ():
    """One block of many needs it."""
    body = "t[i] = x[i];\n SYNC\n y[i] = blockIdx.x == 37 ? t[127 - i] : t[i];"
    kernel, call = launch(write(body), grid=40)
    assert [one.kind for one in kernel.profile(*call).advice] == []
    kernel, call = launch(write(body), grid=30)
    assert [one.kind for one in kernel.profile(*call).advice] == [
        "data_read_once",
        "redundant_barrier",
    ]
    assert kernel.profile(*call, blocks=7).advice[-1].kind != "redundant_barrier"


@pytest.mark.parametrize("name", ["own elements", "one of two", "tree"])
def test_barriers_do_not_depend_on_host_threads(name, monkeypatch):
    kernel, call = launch(write(KERNELS[name][0]), grid=64, block=32)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SMEMKIT_THREADS", threads)
        found.append([advice.to_dict() for advice in kernel.profile(*call).advice])
    assert found[0] == found[1]


def test_local_arrays_are_named():
    source = r"""
extern "C" __global__ void k(int *y, const int *x, int n)
{
    int own[16], unused = 0; // a comment: int other[3]
    for (int j = 0; j < 16; j++) {
        own[j] = x[j] + unused;
    }
    y[threadIdx.x] = own[x[threadIdx.x] & 15];
}
"""
    kernel, call = launch(source)
    (advice,) = [one for one in kernel.profile(*call).advice if one.kind == "local_memory"]
    assert "of own[] (declared in line 4)" in advice.text and "own is indexed by" in advice.text
    assert re.search(r"own\[", advice.source)
    constant = source.replace("own[x[threadIdx.x] & 15]", "own[3]")
    kernel, call = launch(constant)
    assert "local_memory" not in [one.kind for one in kernel.profile(*call).advice]
