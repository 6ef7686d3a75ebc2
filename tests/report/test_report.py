"""smemkit.profile and smemkit.check: what the reports hold, and what they refuse."""

import copy
import json
import pickle
import sys

import numpy
import pytest
from support.small_kernels import (
    BARRIER_LINE,
    LOAD_LINE,
    STORE_LINE,
    STRIDE,
    STRIDE_INSTRUCTIONS,
    make_kernel,
    make_stride,
)

import smemkit
from smemkit import _core
from smemkit.report.counts import RATIOS, UncountedError, UnknownCounterError, median


@pytest.fixture
def stride():
    """The report of 32 threads whose words all lie in one bank."""
    out = numpy.zeros(32, dtype="int32")
    report = make_stride().profile(1, 32, (out, 32))
    assert out.tolist() == list(range(32))
    return report


@pytest.fixture
def matrices(rng):
    return [rng.standard_normal((64, 64)).astype("float32") for _ in range(2)]


def test_counts_by_hand(stride):
    counted = {name: value for name, value in stride.counters.items() if value}
    assert counted == {
        "instructions.warp": STRIDE_INSTRUCTIONS,
        "instructions.thread": 32 * STRIDE_INSTRUCTIONS,
        "instructions.active_lanes": 32,
        "shared.load.instructions": 1,
        "shared.load.wavefronts": 32,
        "shared.load.ideal": 1,
        "shared.load.conflicts": 31,
        "shared.load.conflicts_per_request": 31,
        "shared.load.bytes": 128,
        "shared.store.instructions": 1,
        "shared.store.wavefronts": 32,
        "shared.store.ideal": 1,
        "shared.store.conflicts": 31,
        "shared.store.conflicts_per_request": 31,
        "shared.store.bytes": 128,
        "global.store.requests": 1,
        "global.store.sectors": 4,
        "global.store.sectors_per_request": 4,
        "global.store.bytes": 128,
        "global.store.bytes_moved": 128,
        "barrier.count": 1,
    }


def test_lines_of_ptx(stride):
    lines = {line.line: line for line in stride.lines}
    assert len(lines) == STRIDE_INSTRUCTIONS
    assert [line.line for line in stride.lines] == sorted(lines)
    assert lines[STORE_LINE].text == "st.shared.u32 [%r5], %r2;"
    assert lines[STORE_LINE].counters["shared.store.conflicts"] == 31
    assert lines[LOAD_LINE].counters["shared.load.conflicts"] == 31
    assert lines[BARRIER_LINE].counters["barrier.count"] == 1
    assert lines[BARRIER_LINE].counters["shared.load.conflicts_per_request"] is None
    assert all(line.kernels == ("stride",) and line.file == "ptx" for line in stride.lines)


def test_lines_add_up_and_are_those_of_the_simulator(matrices):
    report = smemkit.profile(smemkit.gemm, *matrices, variant="column")
    for name in report.counters.keys() - RATIOS.keys():
        assert sum(line.counters[name] for line in report.lines) == report.counters[name]
    _, (launch,) = _core._capture(
        "profile", smemkit.gemm, tuple(matrices), {"variant": "column"}, 0, True
    )
    ours = {(line.file, line.line): dict(line.counters) for line in report.lines}
    theirs = {(row["file"], row["line"]): row["counters"] for row in launch["lines"] if row["line"]}
    assert theirs and theirs == {place: ours[place] for place in theirs}
    assert dict(report.launches[0].counters) == launch["counters"]  # ratios too


def test_every_ratio_is_known():
    assert RATIOS.keys() == {row["name"] for row in _core._counters() if row["ratio"]}
    facts = smemkit.counters()
    for above, below, _ in RATIOS.values():
        assert {above, below} <= facts.keys()
    assert all(set(row) == {"unit", "meaning", "ncu"} for row in facts.values())


def test_source_of_a_package_kernel(matrices):
    report = smemkit.profile(smemkit.gemm, *matrices, variant="column")
    source = smemkit.source("gemm", "column").splitlines()
    found = [line for line in report.lines if line.file == "column.cu"]
    assert len(found) > 5
    assert all(line.text == source[line.line - 1].strip() for line in found)
    (worst,) = [line for line in found if line.counters["shared.load.conflicts"]]
    assert "tile_b[threadIdx.x][i]" in worst.text
    numpy.testing.assert_allclose(report.result, matrices[0] @ matrices[1], rtol=1e-3, atol=1e-3)


def test_launches_of_one_call_are_added(matrices):
    def twice():
        smemkit.gemm(*matrices, variant="tiled")
        return smemkit.gemm(*matrices, variant="column")

    both = smemkit.profile(twice)
    parts = [smemkit.profile(smemkit.gemm, *matrices, variant=name) for name in ("tiled", "column")]
    assert [one.kernel for one in both.launches] == ["gemm_tiled_float32", "gemm_column_float32"]
    for name in both.counters.keys() - RATIOS.keys():
        assert both.counters[name] == sum(part.counters[name] for part in parts)
    load = "shared.load.conflicts"
    expected = parts[1].counters[load] / both.counters["shared.load.instructions"]
    assert both.counters["shared.load.conflicts_per_request"] == expected
    assert {line.file for line in both.lines} == {"tiled.cu", "column.cu", "ptx"}


def test_counters_are_a_mapping(stride):
    with pytest.raises(KeyError, match=r"shared\.load\.conflicts"):
        stride.counters["shared.load.conflict"]
    with pytest.raises(smemkit.Error):
        stride.counters["elephants"]
    assert "elephants" not in stride.counters and stride.counters.get("elephants") is None
    with pytest.raises(TypeError):
        stride.counters["shared.load.conflicts"] = 0
    assert list(stride.counters) == [row["name"] for row in _core._counters()]


def test_print(stride):
    text = str(stride)
    assert "stride  1 x 1 x 1  32 x 1 x 1" in text
    assert "all blocks counted" in text
    assert "shared.load.conflicts" in text and "global.load.requests" not in text
    assert f"ptx:{STORE_LINE}" in text.split("most bank conflicts")[1]
    assert text.index("\nadvice\n") < text.index("most bank conflicts") < text.index("counter  ")
    for number, advice in enumerate(stride.advice, 1):
        message = advice.message[0].upper() + advice.message[1:40]
        assert f"\n  {number}. ptx:{advice.line}  {advice.source}\n     {message}" in text
    assert max(map(len, text.splitlines())) <= 100
    assert repr(stride) == "<Report of stride: 1 launch(es)>"


def test_sample_of_blocks(matrices):
    report = smemkit.profile(smemkit.gemm, *matrices, variant="tiled", blocks=2)
    assert report.sampled == (2, 4)
    assert "SAMPLE: 2 of 4 blocks" in str(report)
    assert "SAMPLE: 2 of 4 blocks" in report._repr_html_()
    assert "sampled=(2, 4)" in repr(report)
    assert report.to_dict()["sampled"] == [2, 4]
    assert "SAMPLE" in report.to_dataframe().attrs["label"]
    full = smemkit.profile(smemkit.gemm, *matrices, variant="tiled")
    assert full.sampled is None and "SAMPLE" not in str(full)
    assert 2 * report.counters["barrier.count"] == full.counters["barrier.count"]
    assert "SAMPLE" in str(full.compare(report))


def test_as_written(matrices):
    fused, plain = (
        smemkit.profile(smemkit.gemm, *matrices, variant="tiled", model=model)
        for model in (True, False)
    )
    name = "shared.load.instructions"  # 32 threads' rows: 64 loads a step, tile_a's fused by four
    assert plain.counters[name] == 4 * 32 * 2 * 64
    assert fused.counters[name] == 4 * 32 * 2 * 40
    assert "as written" in str(plain) and "ptxas" in str(fused)


def test_dict_is_json(stride):
    facts = stride.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["counters"]["shared.load.conflicts"] == 31
    assert facts["samples"][0]["addresses"] == [128 * lane for lane in range(32)]
    assert facts["launches"][0]["time_ms"] is None


def test_dataframe(stride):
    frame = stride.to_dataframe()
    assert len(frame) == STRIDE_INSTRUCTIONS
    assert frame["shared.load.conflicts"].sum() == 31
    assert list(frame.columns[:3]) == ["file", "line", "text"]


def test_dataframe_without_pandas(stride, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(smemkit.BackendError, match="pip install pandas"):
        stride.to_dataframe()


def test_access(stride):
    sample = stride.access(line=LOAD_LINE)
    assert (sample.op, sample.space, sample.bytes, sample.cost) == ("load", "shared", 4, 32)
    assert sample.active() == [(lane, 128 * lane) for lane in range(32)]
    assert stride.access(op="store", space="global").cost == 4
    assert stride.access().space == "shared"  # conflicts come first
    with pytest.raises(smemkit.ArgumentError, match="lines with one"):
        stride.access(line=1)


def test_compare(stride):
    clean = make_stride().profile(1, 32, (numpy.zeros(32, dtype="int32"), 1))
    comparison = stride.compare(clean, names=("bad", "good"))
    rows = {row[0]: row[2:] for row in comparison.rows}
    assert rows["shared.load.wavefronts"] == (32, 1, 1 / 32)
    assert rows["shared.load.conflicts"] == (31, 0, 0)
    assert {row[0]: row[4] for row in clean.compare(stride).rows}["shared.load.conflicts"] is None
    heading, *lines = str(comparison).partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert heading.split() == ["counter", "bad", "good", "ratio", "unit"]
    marked = {row[0]: comparison.mark(row) for row in comparison.rows}
    assert [line.split()[0] for line in lines] == [name for name, mark in marked.items() if mark]
    assert [line.split()[-1] for line in lines] == list(filter(None, marked.values()))
    assert list(comparison.to_dataframe().columns) == ["counter", "unit", "bad", "good", "ratio"]
    assert json.dumps(comparison.to_dict(), allow_nan=False)
    with pytest.raises(smemkit.ArgumentTypeError):
        stride.compare({})
    with pytest.raises(smemkit.ArgumentError):
        stride.compare(clean, names=("one",))


def test_compare_says_what_changed(stride):
    clean = make_stride().profile(1, 32, (numpy.zeros(32, dtype="int32"), 1))
    there = stride.compare(clean, names=("bad", "good"))
    back = clean.compare(stride, names=("good", "bad"))
    assert there.summary == (
        "Against bad, good has no bank conflicts (62 -> 0) and 32 times fewer wavefronts of shared "
        "memory (64 -> 2)."
    )
    assert back.summary == (
        "Against good, bad has bank conflicts where there were none (0 -> 62) and 32 times as many "
        "wavefronts of shared memory (2 -> 64)."
    )
    marks = {row[0]: there.mark(row) for row in there.rows}
    turned = {row[0]: back.mark(row) for row in back.rows}
    other = {"better": "worse", "worse": "better"}
    assert turned == {name: other.get(mark, mark) for name, mark in marks.items()}
    assert marks["shared.load.conflicts"] == "better" and marks["instructions.warp"] == ""
    text = str(there)
    assert "\nequal (" in text and text.startswith("Against bad, good has no bank conflicts")
    assert "instructions.warp" in text.partition("\nequal (")[2]
    assert there.to_dict()["summary"] == there.summary
    assert {row["counter"]: row["mark"] for row in there.to_dict()["rows"]} == marks
    same = stride.compare(stride)
    assert same.summary == "b counts as a does: no counter that costs time differs."
    assert same.split()[0] == [] and "ratio" not in str(same)


def test_compare_judges_by_the_direction_of_a_counter():
    """More active lanes are better; fewer bytes asked for are neither."""
    kernels = {
        "part": "    setp.lt.u32 %p1, %r1, 8;\n    @%p1 st.global.u32 [%rd1], %r1;",
        "all": "    st.global.u32 [%rd1], %r1;",
    }
    part, whole = (
        make_kernel(body).profile(1, 32, (numpy.zeros(1, "uint32"),)) for body in kernels.values()
    )
    marks = {row[0]: part.compare(whole).mark(row) for row in part.compare(whole).rows}
    assert marks["instructions.active_lanes"] == "better"
    assert marks["global.store.bytes"] == "differs"
    assert marks["instructions.warp"] == "better"
    assert "17 % fewer warp instructions" in part.compare(whole).summary


def test_access_is_of_the_line_that_costs_most():
    """Not of the one whose worst request is worst: 40 requests of 2 wavefronts, one of 32."""
    body = (
        "    .shared .align 4 .b8 tile[4096];\n    mov.u32 %r2, tile;\n"
        "    shl.b32 %r3, %r1, 7;\n    add.u32 %r4, %r2, %r3;\n    st.shared.u32 [%r4], %r1;\n"
        "    shl.b32 %r3, %r1, 3;\n    add.u32 %r5, %r2, %r3;\n    mov.u32 %r7, 0;\n"
        "LOOP:\n    ld.volatile.shared.u32 %r6, [%r5];\n    add.u32 %r7, %r7, 1;\n"
        "    setp.lt.u32 %p1, %r7, 40;\n    @%p1 bra LOOP;"
    )
    report = make_kernel(body).profile(1, 32, (numpy.zeros(1, "uint32"),))
    costs = {line.text: line.counters for line in report.lines}
    assert costs["st.shared.u32 [%r4], %r1;"]["shared.store.conflicts"] == 31
    assert costs["ld.volatile.shared.u32 %r6, [%r5];"]["shared.load.conflicts"] == 40
    assert (report.access().op, report.access().cost) == ("load", 2)
    assert report.access(op="store").cost == 32
    assert "shared load" in report._repr_html_()
    assert [advice.kind for advice in report.advice] == ["bank_conflict"] * 2
    assert report.advice[0].line == report.access().line


def test_compare_names_the_kernel_that_does_most():
    tall = numpy.ones((512, 32), dtype="float32")
    tuned, tiled = (
        smemkit.profile(smemkit.gemm, tall, tall.T, variant=variant)
        for variant in ("tuned", "tiled")
    )
    assert [launch.kernel for launch in tuned.launches] == [
        "gemm_tuned_arrange_float32",
        "gemm_tuned_narrow_float32",
    ]
    assert tuned.main_kernel == "gemm_tuned_narrow_float32"
    assert tuned.compare(tiled).names == ("gemm_tuned_narrow_float32", "gemm_tiled_float32")
    assert tuned.compare(tuned).names == ("a", "b")


@pytest.mark.parametrize("verb", [smemkit.profile, smemkit.check])
def test_refusals(verb, matrices):
    with pytest.raises(smemkit.ArgumentTypeError, match=r"takes a function"):
        verb(3)
    with pytest.raises(smemkit.ArgumentError, match="launched no kernel"):
        verb(lambda: 1)
    for blocks in (0, -1, 2**63):
        with pytest.raises(smemkit.ArgumentError, match="blocks"):
            verb(smemkit.gemm, *matrices, blocks=blocks)
    for blocks in (1.5, True, "2"):
        with pytest.raises(smemkit.ArgumentTypeError, match="blocks"):
            verb(smemkit.gemm, *matrices, blocks=blocks)
    with pytest.raises(smemkit.ShapeError):
        verb(smemkit.gemm, matrices[0], matrices[1][:3])


def test_what_the_function_raises_goes_through():
    def fail():
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        smemkit.profile(fail)


def test_cuda_without_a_gpu(matrices, cuda_missing):
    if cuda_missing is None:
        pytest.skip("there is a GPU")
    with pytest.raises(smemkit.BackendError) as call:
        smemkit.gemm(*matrices, backend="cuda")
    with pytest.raises(smemkit.BackendError) as profiled:
        smemkit.profile(smemkit.gemm, *matrices, backend="cuda")
    assert str(profiled.value) == str(call.value)


def test_cuda_takes_no_device_arrays(matrices):
    device = smemkit.asarray(matrices[0], backend="sim")
    with pytest.raises(smemkit.BackendError, match="pass NumPy arrays"):
        smemkit.profile(smemkit.gemm, device, device, backend="cuda")


def test_times_of_a_gpu(matrices, cuda_missing):
    """Measured where there is one; the arguments see one call."""
    if cuda_missing is not None:
        pytest.skip("no GPU (the head of this report says why)")
    report = smemkit.profile(smemkit.gemm, *matrices, variant="tiled", backend="cuda")
    assert len(report.times_ms) == 1 and len(report.times_ms[0]) >= 10
    assert all(0 < time_ms < 1000 for time_ms in report.times_ms[0])
    assert report.time_ms == median(report.times_ms[0]) == report.launches[0].time_ms
    assert "GPU time [ms]" in str(report)
    out = numpy.zeros(32, dtype="int32")
    make_stride().profile(1, 32, (out, 1), backend="cuda")
    assert out.tolist() == list(range(32))


def test_time_by_a_fake_gpu(matrices, monkeypatch):
    """Warm-up and repeats see copies, the last call the arrays themselves."""
    real, seen, times = _core._capture, [], iter(range(1, 100))

    def watch(mode, function, args, kwargs, blocks, model):
        if mode != "time":
            assert kwargs["backend"] == "sim"
            return real(mode, function, args, kwargs, blocks, model)
        seen.append(args)
        assert kwargs == {"variant": "tiled", "backend": "cuda"}
        facts = {"kernel": "gemm_tiled_float32", "time_ms": float(next(times))}
        return "result", [facts]

    monkeypatch.setattr(_core, "_capture", watch)
    monkeypatch.setattr(_core, "device_info", lambda **words: {"name": "a GPU"})
    report = smemkit.profile(smemkit.gemm, *matrices, variant="tiled", backend="cuda")
    assert report.result == "result"
    assert seen[-1][0] is matrices[0]
    assert all(args[0] is not matrices[0] for args in seen[:-1])
    assert report.launches[0].times_ms == tuple(range(4, 15))  # three are warm-up
    assert report.time_ms == 9
    assert "GPU time [ms]" in str(report) and "9.0000" in report._repr_html_()


def test_median():
    assert median([]) is None
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5


# check -------------------------------------------------------------------------------------------


def test_check_of_a_clean_kernel(matrices):
    report = smemkit.check(smemkit.gemm, *matrices, variant="tiled")
    assert report and report.findings == []
    assert "nothing found" in str(report)
    numpy.testing.assert_allclose(report.result, matrices[0] @ matrices[1], rtol=1e-3, atol=1e-3)


def test_check_finds_a_race():
    # Without its barrier, and reading the next warp's words, the kernel races.
    code = STRIDE.replace("    bar.sync 0;\n", "    xor.b32 %r5, %r5, 128;\n")
    report = make_stride(code).check(1, 64, (numpy.zeros(64, dtype="int32"), 1))
    assert not report
    assert "race" in {finding.kind for finding in report.findings}
    finding = next(finding for finding in report.findings if finding.kind == "race")
    lines = {finding.first.line, finding.second.line}
    assert lines == {STORE_LINE, LOAD_LINE}
    assert {finding.first.op, finding.second.op} == {"store", "load"}
    assert finding.first.space == "shared" and finding.first.bytes == 4
    assert "tile" in finding.first.variable
    text = str(report)
    assert "st.shared.u32 [%r5], %r2;" in text and "ld.shared.u32 %r6, [%r5];" in text
    facts = report.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert "race" in report._repr_html_()


def test_alike_findings_are_one():
    """A loop that is unrolled: other PTX lines of a source line, other bytes of a variable."""

    def side(op, line, ptx_line, variable):
        facts = {"op": op, "function": "k", "ptx_line": ptx_line, "ptx": f"{op} {ptx_line};"}
        facts |= {"file": "k.cu", "line": line, "block": (0, 0, 0), "thread": (ptx_line, 0, 0)}
        return facts | {"space": "shared", "address": 4, "bytes": 4, "variable": variable}

    def race(first, second, count):
        return {
            "kind": "race",
            "message": "m",
            "action": "a",
            "count": count,
            "first": first,
            "second": second,
        }

    launch = {"kernel": "k", "ptx": "", "blocks": 1, "blocks_total": 1}
    launch |= {"truncated": False, "stopped": None}
    store = side("store", 5, 10, "tile, byte 0")
    launch["findings"] = [
        race(store, side("load", 6, 11, "tile, byte 0"), 2),
        race(side("store", 5, 12, "tile, byte 64"), side("load", 6, 13, "tile, byte 64"), 3),
        race(side("load", 6, 14, "tile, byte 8"), side("store", 5, 10, "tile, byte 8"), 4),
        race(store, side("load", 7, 15, "tile, byte 0"), 5),
        race(store, side("load", 6, 11, "other, byte 0"), 6),
        race(store, side("store", 5, 10, "tile, byte 0"), 7),
        {
            "kind": "uninitialized",
            "message": "m",
            "action": "a",
            "count": 8,
            "first": store,
            "second": None,
        },
    ]
    report = smemkit.report.CheckReport([launch, launch], None)
    assert [finding.count for finding in report.findings] == [18, 10, 12, 14, 16]
    assert report.findings[0].first.ptx_line == 10 and report.findings[0].second.ptx_line == 11


def test_check_report_of_made_findings():
    """Every part of a finding is told, with and without a second side."""
    side = {"op": "store", "function": "k", "ptx_line": 2, "ptx": "st.shared.u32 [%r1], %r2;"}
    side |= {"file": None, "line": None, "block": (0, 0, 0), "thread": (3, 0, 0)}
    side |= {"space": "shared", "address": 16, "bytes": 4, "variable": "tile<b>"}
    launch = {"kernel": "k", "ptx": "one\ntwo", "blocks": 1, "blocks_total": 8}
    launch |= {"truncated": True, "stopped": "the step budget is spent"}
    launch["findings"] = [
        {
            "kind": "race",
            "message": "m & m",
            "action": "a & b",
            "count": 7,
            "first": side,
            "second": side,
        },
        {
            "kind": "barrier",
            "message": "n",
            "action": "a",
            "count": 1,
            "first": side,
            "second": None,
        },
    ]
    report = smemkit.report.CheckReport([launch], None, blocks=1)
    assert not report and report.sampled == (1, 8)
    text = str(report)
    for words in ("2 findings", "race in k: m & m (7 times)", "ptx:2  two", "thread (3, 0, 0)"):
        assert words in text
    assert "SAMPLE: 1 of 8" in text and "step budget" in text and "There are more" in text
    html = report._repr_html_()
    assert "tile&lt;b&gt;" in html and "m &amp; m" in html and "tile<b>" not in html
    assert report.findings[1].to_dict()["second"] is None


# Launches that fail ------------------------------------------------------------------------------


def swallow(*kernels):
    """A function that launches each kernel and goes on where one fails."""

    def call(out):
        for kernel in kernels:
            try:
                kernel(1, 32, (out, 32))
            except smemkit.Error:
                pass

    return call


def make_trap():
    text = STRIDE.replace("bar.sync 0;", "trap;")
    return smemkit.RawModule(text, backend="sim").get_function("stride")


def test_a_condition_holds_or_not(stride):
    assert stride.holds("shared.load.conflicts == 31")
    assert not stride.holds("shared.load.conflicts>31")
    assert stride.holds("shared.load.conflicts_per_request < 31.5")


def test_a_condition_without_an_answer_is_an_error(stride):
    for sign in ("==", "!=", "<", ">"):
        with pytest.raises(UncountedError, match="has no value here"):
            stride.holds(f"global.load.sectors_per_request {sign} 0")
    with pytest.raises(UnknownCounterError, match="did you mean shared.load.conflicts"):
        stride.holds("shared.load.conflict > 0")
    with pytest.raises(smemkit.ArgumentError, match="is not a condition"):
        stride.holds("shared.load.conflicts")


def test_a_launch_that_failed_is_told_of_beside_the_rest():
    out = numpy.zeros(32, dtype="int32")
    report = smemkit.profile(swallow(make_stride(), make_trap()), out)
    assert [launch.kernel for launch in report.launches] == ["stride"]
    ((kernel, message),) = report.refused
    assert kernel == "stride" and "trap" in message
    assert report.label.startswith("INCOMPLETE: 1 launch(es) failed")
    assert report.label in str(report) and report.to_dict()["refused"] == [[kernel, message]]
    for condition in ("shared.load.conflicts > 0", "barrier.count == 1", "barrier.count != 1"):
        with pytest.raises(UncountedError, match="the launch of stride failed"):
            report.holds(condition)


def test_a_check_of_a_launch_that_failed_is_no_pass():
    out = numpy.zeros(32, dtype="int32")
    assert bool(smemkit.check(swallow(make_stride()), out))
    report = smemkit.check(swallow(make_stride(), make_trap()), out)
    assert report.findings == [] and not report
    assert "trap" in report.stopped and len(report.refused) == 1


@pytest.mark.parametrize("verb", [smemkit.profile, smemkit.check])
def test_nothing_ran_to_its_end(verb):
    with pytest.raises(UncountedError, match="no launch of call ran to its end.*trap"):
        verb(swallow(make_trap()), numpy.zeros(32, dtype="int32"))


# Orders and padding ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"order": "backward"}, smemkit.ArgumentError, "accepted are 'forward', 'reverse', 'both'"),
        ({"order": None}, smemkit.ArgumentError, "order is None"),
        ({"padding": "4"}, smemkit.ArgumentTypeError, "padding must be an int"),
        ({"padding": True}, smemkit.ArgumentTypeError, "padding must be an int"),
        ({"padding": -1}, smemkit.ArgumentError, "cannot be negative"),
        ({"padding": 2**21}, smemkit.ArgumentError, "at most 1048576"),
    ],
)
def test_ways_of_a_check_that_there_are_not(words, error, message):
    with pytest.raises(error, match=message):
        make_stride().check(1, 32, (numpy.zeros(32, dtype="int32"), 32), **words)


def test_a_check_of_both_orders_leaves_what_one_run_leaves():
    out = numpy.zeros(64, dtype="int32")
    calls = []

    def count(array):
        calls.append(array is out)
        array[32:] += 1
        make_stride()(1, 32, (array[:32], 32), backend="sim")
        return len(calls)

    report = smemkit.check(count, out, order="both")
    assert calls == [False, True] and report.result == 2
    assert out.tolist() == list(range(32)) + [1] * 32
    assert report.kernels == ("stride", "stride")
    device = smemkit.asarray(out, backend="sim")
    with pytest.raises(smemkit.BackendError, match="check runs a call twice"):
        smemkit.check(count, device, order="both")
    assert smemkit.check(make_stride(), 1, 32, (device, 32), order="reverse")


def test_padding_is_of_one_call():
    def distance():
        arrays = [smemkit.asarray(numpy.zeros(64, "int32"), backend="sim") for _ in range(2)]
        make_stride()(1, 32, (arrays[0], 32))
        return abs(arrays[1].pointer - arrays[0].pointer)

    usual = distance()
    assert smemkit.check(distance, padding=2**20).result >= 2**20
    assert distance() == usual < 2**20


SHARED = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry k()
{
    .reg .b32 %r<3>;
    DECLARED
    st.shared.u32 [a0], 1;
    ret;
}
"""


@pytest.mark.parametrize("padding", [0, 16, 2**20])
def test_padding_costs_no_shared_memory(padding):
    full = "".join(f".shared .align 4 .b8 a{i}[4096];" for i in range(12))
    module = smemkit.RawModule(SHARED.replace("DECLARED", full), backend="sim")
    assert module.get_function("k").check(1, 32, (), shared_mem=1024, padding=padding)
    many = "".join(f".shared .align 1 .b8 a{i}[4];" for i in range(5000))
    module = smemkit.RawModule(SHARED.replace("DECLARED", many), backend="sim")
    if padding < 2**20:
        assert module.get_function("k").check(1, 32, (), padding=padding)


def test_a_failing_assert_tells_what_was_counted():
    a = numpy.ones((64, 64), dtype="float32")
    report = smemkit.profile(smemkit.gemm, a, a, variant="column", backend="sim")
    counted = report.counters["shared.load.conflicts"]
    held, not_held = (report.holds(f"shared.load.conflicts {sign} 0") for sign in ("> ", "=="))
    assert held and held == True and hash(held) == hash(True)  # noqa: E712
    assert not not_held and not_held == False and not_held != True  # noqa: E712
    assert repr(not_held) == f"False: shared.load.conflicts is {counted:,}"
    assert (str(held), f"{held}") == ("True", "True") and json.dumps([held]) == "[1]"
    again = pickle.loads(pickle.dumps(not_held))
    assert repr(again) == repr(not_held) == repr(copy.copy(not_held))


def test_the_repr_of_a_check_names_its_first_finding():
    found = make_stride().check(1, 32, (numpy.zeros(32, dtype="int32"), 4000))
    place = found.findings[0].first.place
    assert place.endswith(f":{found.findings[0].first.line}")
    assert repr(found).endswith(f"; the first: out_of_bounds at {place}>")


def test_check_of_empty_arrays_finds_nothing(matrices):
    report = smemkit.check(smemkit.gemm, matrices[0][:0], matrices[1])
    assert report and report.kernels == () and report.result.shape == (0, 64)
    assert str(report) == "nothing found; no kernel was launched"
    assert report.to_dict()["kernels"] == []
    with pytest.raises(smemkit.ArgumentError, match="launched no kernel"):
        smemkit.check(lambda: None)
