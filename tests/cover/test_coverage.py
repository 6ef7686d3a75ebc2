"""Coverage of kernels: counts against those made by hand, merging, and the forms of the report."""

import doctest
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import smemkit
from smemkit import __main__, _core
from smemkit.cover import load_coverage

# EXPECTED has what each line executes, counted by hand: 40 threads in warps of 32 and 8 lanes.
LOOP = """.version 8.0
.target sm_80
.address_size 64
.file 1 "hand.cu"
.visible .func (.param .b32 r) half_of(.param .b32 v)
{
    .reg .b32 %a, %b;
    .loc 1 2 1
    ld.param.b32 %a, [v];
    .loc 1 3 1
    shr.u32 %b, %a, 1;
    st.param.b32 [r], %b;
    ret;
}
.visible .entry hand(.param .u64 out)
{
    .reg .pred %p, %q, %s;
    .reg .b32 %t, %i, %n;
    .reg .b64 %d, %o;
    .loc 1 10 1
    mov.u32 %t, %tid.x;
    setp.ge.u32 %p, %t, 36;
    @%p bra DONE;
    .loc 1 11 1
    mov.u32 %i, 0;
LOOP:
    .loc 1 12 1
    setp.ge.u32 %q, %i, %t;
    @%q bra AFTER;
    .loc 1 13 1
    add.u32 %i, %i, 16;
    bra LOOP;
AFTER:
    .loc 1 14 1
    setp.ne.u32 %s, %t, 99;
    @%s bra CALL;
    .loc 1 15 1
    mov.u32 %i, 7;
CALL:
    .loc 1 16 1
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %i;
    call.uni (b), half_of, (a);
    ld.param.b32 %n, [b];
    }
    .loc 1 17 1
    ld.param.u64 %d, [out];
    mul.wide.u32 %o, %t, 4;
    add.u64 %d, %d, %o;
    @!%s st.global.u32 [%d], %n;
    @%s st.global.u32 [%d], %i;
DONE:
    .loc 1 18 1
    ret;
}
.visible .entry unused()
{
    .reg .pred %p;
    .loc 1 30 1
    setp.eq.u32 %p, 1, 2;
    @%p bra END;
    .loc 1 31 1
    membar.gl;
END:
    .loc 1 32 1
    ret;
}
"""
# Of warp 0 lane t goes through the loop ceil(t / 16) times: 0, 1 or 2 times. Of warp 1 lanes 32 to
# 35 go on, lane 32 twice and the others three times.
EXPECTED = {
    2: (2, 36),
    3: (2, 36),
    10: (2, 40),
    11: (2, 36),
    12: (3 + 4, 32 + 31 + 15 + 4 + 4 + 4 + 3),
    13: (2 + 3, 31 + 15 + 4 + 4 + 3),
    14: (2, 36),
    15: (0, 0),
    16: (2, 36),
    17: (2, 36),
    18: (3, 40),  # lanes 36 to 39 end apart from the others
    30: (0, 0),
    31: (0, 0),
    32: (0, 0),
}
BRANCHES = {  # by line: targets, lanes that went to each, divergent executions
    10: ((11, 18), [36, 4], 1),
    12: ((13, 14), [57, 36], 3),
    14: ((15, 16), [0, 36], 0),
    17: ((17, 17), [36, 36], 0),
    30: ((31, 32), [0, 0], 0),
}
TEMPLATE = """template <typename T> __device__ __noinline__ T cap(T x, T most)
{
    if (x > most)
        return most;
    return x;
}

template <typename T> __global__ void scale(T *x, T most, int n)
{
    int i = threadIdx.x;
    if (i >= n)
        return;
    x[i] = cap(x[i], most);
    __syncthreads();
}
"""


@pytest.fixture(autouse=True)
def on_simulator(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    smemkit.set_backend("sim")
    yield
    smemkit.set_backend(None)  # a name would go before SMEMKIT_BACKEND in later tests


def launch_by_hand(times=1):
    kernel = smemkit.RawKernel(LOOP, "hand")
    for _ in range(times):
        kernel((1,), (40,), (smemkit.zeros(40, dtype="uint32"),))


def only_file(covered):
    (file,) = covered.files.values()
    return file


def test_counts_equal_those_by_hand():
    with smemkit.coverage() as covered:
        launch_by_hand()
    file = only_file(covered)
    assert {line: (c.warps, c.lanes) for line, c in file.lines.items()} == EXPECTED
    found = {b.line: (b.targets, b.lanes, b.divergent) for b in file.branches}
    assert found == BRANCHES
    hand = file.functions["hand"]
    assert (hand.line, hand.launches, hand.warps, hand.is_kernel) == (10, 1, 2, True)
    assert file.functions["unused"].warps == 0
    assert file.functions["half_of"].warps == 2


def test_counts_add_up_over_launches_and_observers():
    with smemkit.coverage() as covered:
        launch_by_hand(2)
        kernel = smemkit.RawKernel(LOOP, "hand")
        arguments = ((1,), (40,), (smemkit.zeros(40, dtype="uint32"),))
        smemkit.profile(kernel, *arguments)
        smemkit.check(kernel, *arguments)
    lines = only_file(covered).lines
    assert {n: c.lanes for n, c in lines.items()} == {n: 4 * c[1] for n, c in EXPECTED.items()}


def test_counts_are_those_of_the_block_alone():
    launch_by_hand()
    with smemkit.coverage() as outer:
        with smemkit.coverage() as inner:
            launch_by_hand()
        launch_by_hand()
    launch_by_hand()
    assert only_file(inner).lines[12].lanes == EXPECTED[12][1]
    assert only_file(outer).lines[12].lanes == 2 * EXPECTED[12][1]


def test_runs_equal_what_profile_counts():
    """Executed instructions by profile and by coverage: two ways to count one thing."""
    x = np.arange(1000, dtype="float32")
    with smemkit.coverage(package=True) as covered:
        report = smemkit.profile(smemkit.reduce, x, variant="sequential", backend="sim")
    counted = 0
    for module in covered._modules.values():
        for function in module["functions"]:
            runs, at = [], 0
            for point in function["points"]:
                if point[0] == 0:
                    runs.append((point[1], function["counters"][at]))
                    at += 2
                else:
                    at += 3 + 2 * (len(point) - 3)
            ends = [start for start, _ in runs[1:]] + [function["instructions"]]
            counted += sum((end - start) * n for (start, n), end in zip(runs, ends, strict=True))
    assert counted >= report.counters["instructions.warp"] > 0
    assert counted <= 1.1 * report.counters["instructions.warp"]  # ends of lanes count apart


def test_templates_and_device_functions(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(TEMPLATE)
    with smemkit.coverage() as covered:
        module = smemkit.RawModule(
            path=path, name_expressions=("scale<float>", "scale<int>", "scale<double>")
        )
        x = np.arange(32, dtype="float32")
        module.get_function("scale<float>")((1,), (32,), (x, np.float32(7), np.int32(20)))
        y = np.zeros(32)
        module.get_function("scale<double>")((1,), (32,), (y, np.float64(7), np.int32(32)))
    assert list(covered.files) == [str(path)]
    lines = only_file(covered).lines
    assert lines[11].lanes == 64 and lines[11].instances == 3
    assert lines[13].lanes == 20 + 32
    assert lines[3].lanes == 20 + 32  # of integers it is a minimum, on the line of the function
    functions = only_file(covered).functions
    assert functions["scale<float>"].launches == functions["scale<double>"].launches == 1
    assert functions["scale<int>"].launches == 0
    (branch,) = [b for b in only_file(covered).branches if b.line == 11]
    assert sorted(branch.lanes) == [12, 52] and branch.divergent == 1


def test_a_failed_launch_counts_up_to_its_fault():
    code = """extern "C" __global__ void beyond(float *x) {
    if (threadIdx.x > 40)
        x[0] = 1;
    x[1 << 30] = 2;
}"""
    with smemkit.coverage() as covered:
        kernel = smemkit.RawKernel(code, "beyond")
        with pytest.raises(smemkit.OutOfBoundsError):
            kernel((1,), (32,), (smemkit.zeros(4, dtype="float32"),))
    lines = only_file(covered).lines
    assert lines[4].lanes == 32 and lines[3].lanes == 0


def test_forms(tmp_path):
    with smemkit.coverage() as covered:
        launch_by_hand()
    assert "missing" in str(covered) and "15, 30-32; 14->15" in str(covered)
    text = covered.to_lcov()
    assert "DA:12,93\n" in text and "BRDA:14,0,0,0\n" in text and "BRDA:30,0,0,-\n" in text
    assert "FNDA:2,hand\n" in text and "LF:14\nLH:10\n" in text
    plain = json.loads(json.dumps(covered.to_dict()))
    assert plain["files"][0]["lines"]["12"] == {"warps": 7, "lanes": 93, "instances": 1}
    for name in ("page.html", "kernels.info", "data.json"):
        covered.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    page = covered.to_html()
    assert "lanes in" in page and page.count("<table") == page.count("</table>")
    with pytest.raises(smemkit.ArgumentError, match=r"\.info, \.html, \.json"):
        covered.save("page.txt")


def test_data_of_processes_add_up(tmp_path):
    for name in ("data", "data.12.ab"):
        with smemkit.coverage() as covered:
            launch_by_hand()
        covered.save_data(tmp_path / name)
    both = load_coverage(tmp_path / "data")
    assert only_file(both).lines[13].lanes == 2 * EXPECTED[13][1]
    with pytest.raises(smemkit.ArgumentError, match="there is no coverage"):
        load_coverage(tmp_path / "nothing")
    (tmp_path / "bad").write_text("{}")
    with pytest.raises(smemkit.ArgumentError, match="cannot be read"):
        load_coverage(tmp_path / "bad")


def test_kernels_without_lines_are_named():
    code = re.sub(r"\.(loc|file)[^\n]*\n", "", LOOP)
    with smemkit.coverage() as covered:
        smemkit.RawKernel(code, "hand")((1,), (40,), (smemkit.zeros(40, dtype="uint32"),))
    assert covered.files == {} and covered.unmapped == ["hand", "unused"]
    assert "-lineinfo: hand, unused" in str(covered)


@pytest.mark.parametrize(
    "thing", [smemkit.cover.Coverage, smemkit.cover.Coverage.save, load_coverage]
)
def test_examples(thing):
    runner = doctest.DocTestRunner()
    for example in doctest.DocTestFinder(recurse=False).find(thing, "example", globs={}):
        runner.run(example)
    assert runner.tries > 2 and runner.failures == 0


def test_plain_images_count_nothing():
    launch_by_hand()
    before = _core._coverage_text()
    launch_by_hand()
    assert _core._coverage_text() == before


SCRIPT = """
import multiprocessing, numpy, smemkit
CODE = '''extern "C" __global__ void mark(int *x, int n) {
    if (n > 1)
        x[0] = n;
    else
        x[1] = n;
}'''
def launch(n):
    smemkit.RawKernel(CODE, "mark")((1,), (1,), (numpy.zeros(2, "int32"), numpy.int32(n)))
if __name__ == "__main__":
    launch(2)
    child = multiprocessing.get_context("fork").Process(target=launch, args=(1,))
    child.start()
    child.join()
"""


@pytest.mark.slow
def test_command_counts_all_processes(tmp_path):
    (tmp_path / "work.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "smemkit", "coverage", "run", "-o", "out.info"]
    done = subprocess.run(
        [*command, "--fail-under", "90", sys.executable, "-W", "ignore", "work.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100%" in done.stdout
    assert "DA:3,1\n" in (tmp_path / "out.info").read_text()
    for part in (["combine"], ["report"]):
        done = subprocess.run(
            [sys.executable, "-m", "smemkit", "coverage", *part],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
    assert "100%" in done.stdout
    assert [path.name for path in tmp_path.glob(".smemkit-coverage*")] == [".smemkit-coverage"]


def test_command_leaves_other_files_alone(tmp_path, capsys):
    """Reports and logs whose names begin like the data file's; and a run without any kernel."""
    for name in ("cov", "cov.html", "cov.12.log", "cov.3.5f"):
        (tmp_path / name).write_text("")
    command = ["coverage", "run", "--data", str(tmp_path / "cov"), "--fail-under", "50"]
    assert __main__.main([*command, "--", sys.executable, "-c", "pass"]) == 1
    assert "no process of the command loaded a kernel" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cov.12.log", "cov.html"]
    marker = tmp_path / "ran"
    touch = [sys.executable, "-c", f"open({str(marker)!r}, 'w')"]
    assert __main__.main([*command, "-o", "cov.txt", "--", *touch]) == 2
    assert "does not end in .info, .html, .json" in capsys.readouterr().err
    assert not marker.exists()


PYTEST = """
import numpy, smemkit
def test_mark():
    code = 'extern "C" __global__ void mark(int *x) {\\n if (threadIdx.x > 7)\\n  x[0] = 1;\\n}'
    smemkit.RawKernel(code, "mark")((1,), (8,), (numpy.zeros(2, "int32"),))
"""


def run_pytest(folder, *options):
    (folder / "test_mark.py").write_text(PYTEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_option_of_pytest(tmp_path):
    text = run_pytest(tmp_path, "-p", "smemkit.cover", "--smemkit-cov-report=k.info")
    assert "coverage of kernels" in text and re.search(r"<mark-\w+\.cu> +4 +1 +2 +1 +67%", text)
    assert "DA:3,0\n" in (tmp_path / "k.info").read_text()


@pytest.mark.slow
def test_plugin_of_coverage_py(tmp_path):
    pytest.importorskip("coverage", reason="needs coverage: pip install 'smemkit[coverage]'")
    (tmp_path / ".coveragerc").write_text(
        "[run]\nplugins = smemkit.cover\nbranch = true\nsource = .\n"
    )
    command = [sys.executable, "-m", "coverage"]
    (tmp_path / "test_mark.py").write_text(PYTEST)
    for part in (["run", "-m", "pytest", "-q", "-p", "no:cacheprovider"], ["report", "-m"]):
        done = subprocess.run(
            [*command, *part], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"mark-\w+\.cu +4 +1 +2 +1 +67% +2->exit, 3", done.stdout), done.stdout
