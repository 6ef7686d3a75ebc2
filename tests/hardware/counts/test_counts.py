r"""Results of the kernels here, and their counts against those that Nsight Compute gave on an H200.

The record is made on such a machine by
    python tests/run.py smemkit compare --cases tests/hardware/counts/count_cases.py \
        --cases tests/hardware/counts/probe_cases.py --json smemkit/recorded/counts_h200.json
and for kernels that it does not have yet by adding
    --add smemkit/recorded/counts_h200.json
and where only our own counts have changed, without a GPU, by adding
    --recount smemkit/recorded/counts_h200.json
A kernel that the record does not have passes as "not yet counted on hardware": the summary of the
tests names it, and `python -m smemkit dev release` fails by its name.
"""

import argparse
import json
import re
from pathlib import Path

import numpy
import pytest
from hardware.counts import regenerate_counts
from hardware.counts.count_cases import CASES
from hardware.counts.explained import (
    CHOSEN,
    EXPLAINED,
    FILLED,
    LOST,
    ORDER,
    POLLED,
    RETRIED,
    STRAY,
)
from sim.check.altered import OF_PART, part_of

import smemkit
from smemkit.bench import ncu, workloads
from smemkit.cli import compare
from smemkit.report import profile

RECORD = Path(smemkit.__file__).parent / "recorded" / "counts_h200.json"
IDS = [f"{case.name}-{case.label.replace(' ', '')}" for case in CASES]


@pytest.fixture(scope="module")
def record():
    """The recorded rows by kernel and case."""
    assert RECORD.is_file(), f"{RECORD.name} is missing: the head of this file says how it is made"
    rows = json.loads(RECORD.read_text())["rows"]
    found = {(row["kernel"], row["case"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def list_all():
    folder = Path(__file__).parent
    files = [folder / "count_cases.py", folder / "probe_cases.py"]
    return ncu.list_rows(workloads.list_families(), files)


ROWS = list_all()
ROW_IDS = [f"{row.kernel}-{row.case.replace(' ', '')}" for row in ROWS]


# The kernels -------------------------------------------------------------------------------------


def test_every_file_has_two_cases_and_ptx():
    names = regenerate_counts.names()
    assert len(names) >= 32
    for name in names:
        labels = {case.label for case in CASES if case.name == name}
        assert len(labels) >= 2, f"{name} has {len(labels)} launches"
        text = regenerate_counts.load_ptx(name)
        assert f".entry {name}(" in text and f'"{name}.cu"' in text and ".loc" in text
    assert {case.name for case in CASES} == set(names)
    assert {path.stem for path in regenerate_counts.path_of("x").parent.iterdir()} == set(names)


def test_missing_ptx_names_what_makes_it():
    with pytest.raises(FileNotFoundError, match=r"no none\.ptx: python .*_counts\.py none makes"):
        regenerate_counts.load_ptx("none")


def test_headers_say_what_a_kernel_shows():
    for name in regenerate_counts.names():
        lines = (regenerate_counts.FOLDER / f"{name}.cu").read_text().splitlines()
        assert lines[0].startswith("// ") and lines[1].startswith("// Counts: "), name
        assert len(lines) <= 60, name


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_result(case, machine):
    launch = case.make()
    kernel = smemkit.RawKernel(case.ptx, case.entry)
    kernel(launch.grid, launch.block, launch.args, shared_mem=launch.shared, backend=machine)
    launch.check()
    for index in launch.expected:
        assert launch.expected[index].any(), "an output that is all zero shows little"


def test_a_case_is_the_same_each_time():
    for case in CASES:
        for a, b in zip(case.make().args, case.make().args, strict=True):
            assert numpy.array_equal(a, b)


def test_check_sees_a_wrong_output_and_a_changed_input():
    launch = next(case for case in CASES if case.name == "transpose_padded").make()
    with pytest.raises(AssertionError, match="argument 1 differs"):
        launch.check()
    launch.args[1][...] = launch.args[0].T
    launch.check()
    launch.args[0][3, 4] += 1
    with pytest.raises(AssertionError, match="argument 0 differs at 1 places"):
        launch.check()


@pytest.mark.skipif(regenerate_counts.find_nvcc() is None, reason="no nvcc here")
def test_kept_ptx_is_of_the_source():
    """With the compiler that made the kept texts they come out the same; another one may differ."""
    name = "gemm_squares"
    kept = regenerate_counts.load_ptx(name)
    now = regenerate_counts.compile_ptx(regenerate_counts.find_nvcc(), name)
    if [line for line in kept.splitlines() if "Build ID" in line] != [
        line for line in now.splitlines() if "Build ID" in line
    ]:
        pytest.skip("another nvcc than the one that made the kept texts")
    assert kept == now, regenerate_counts.say_how(name)


# The counts --------------------------------------------------------------------------------------


def base_case(case):
    """Of a call's later launches that of the call."""
    return re.sub(r", launch \d+$", "", case)


@pytest.fixture(scope="module")
def calls(record):
    return list_calls(record)


def list_calls(record):
    """(kernel, case) of recorded calls: a call's kernel need not be that of its first launch."""
    return {(name_call(kernel), base_case(case)) for kernel, case in record}


def name_call(kernel):
    """A call's kernel by one that it launches: gemm_direct_float32 of gemm_direct_low_float32."""
    names, words = {row.kernel for row in ROWS}, kernel.split("_")
    shorter = ("_".join(words[:i] + words[i + 1 :]) for i in range(2, len(words)))
    return kernel if kernel in names else next((name for name in shorter if name in names), kernel)


COUNTED_BY = (
    "On an H200: python tests/run.py smemkit compare --cases tests/hardware/counts/count_cases.py "
    "--cases tests/hardware/counts/probe_cases.py --add smemkit/recorded/counts_h200.json "
    "--json smemkit/recorded/counts_h200.json"
)


@pytest.mark.release
def test_record_holds_every_kernel(record, calls, not_yet):
    """A kernel without any record waits for its count on hardware; others are there whole."""
    counted = {kernel for kernel, _ in calls}
    not_yet(
        "not yet counted on hardware",
        [row.kernel for row in ROWS if row.kernel not in counted],
        COUNTED_BY,
    )
    known = [row for row in ROWS if row.kernel in counted]
    missing = sorted({(row.kernel, row.case) for row in known} - calls)
    assert not missing, f"in the record without these calls. {COUNTED_BY}"
    firsts = sorted(case for _, case in record if base_case(case) == case)
    assert firsts == sorted(row.case for row in known), f"calls that are no more. {COUNTED_BY}"
    others = {kernel for kernel, _ in record if not kernel.startswith("gemm_")}
    assert len(others) >= 20
    for row in record.values():
        assert not row["wrong"], "a result was wrong when the record was made"
        assert any(pair["ncu"] for pair in row["counters"].values())


def test_a_kernel_without_a_record_is_named(record):
    noted, new = [], [key for key in record if key[0] == "gemm_tiled_float32"]
    assert len(new) >= 2

    def hold(left_out):
        kept = {key: row for key, row in record.items() if key not in left_out}
        calls = list_calls(kept)
        test_record_holds_every_kernel(kept, calls, lambda *words: noted.append(words))

    hold(new)
    ((what, names, how),) = noted
    counted = {kernel for kernel, _ in record}
    assert what == "not yet counted on hardware"
    assert set(names) & counted == {"gemm_tiled_float32"}
    assert "python tests/run.py smemkit compare" in how
    with pytest.raises(AssertionError, match="without these calls"):
        hold(new[:1])


LAUNCHED = {}  # the kernels of each call that was counted already, in its order


def count(row):
    launches = ncu.count_on_simulator(row)
    LAUNCHED[row.kernel, row.case] = [counted.kernel for counted in launches]
    return launches


@pytest.mark.parametrize("row", ROWS, ids=ROW_IDS)
def test_counts_equal_the_record(row, record, calls):
    """Of calls that the record has; the test above names others."""
    launches = count(row)
    assert launches[0].case == row.case
    for counted in launches:
        assert counted.wrong is None
        if (row.kernel, row.case) in calls:
            compare_launch(counted, record[counted.kernel, counted.case])


CHANGED = (
    "not as when it was recorded. python tests/run.py smemkit compare "
    "--cases tests/hardware/counts/count_cases.py "
    "--cases tests/hardware/counts/probe_cases.py --recount smemkit/recorded/counts_h200.json "
    "--json smemkit/recorded/counts_h200.json counts anew; with --forget FAMILY/VARIANT for a "
    "kernel that is another one now, which is then not yet counted on hardware"
)


def compare_launch(counted, recorded):
    kernel, launch = counted.kernel, counted.launch
    assert list(launch.grid) == recorded["grid"] and list(launch.block) == recorded["block"]
    different = {}
    for name in ncu.held_counters():
        ours = counted.counters[name]
        pair = recorded["counters"].get(name, {"sim": 0, "ncu": 0})
        # The record's own column must be today's: --recount makes it so.
        assert ours == pair["sim"], f"{kernel} ({counted.case}): {name}: {CHANGED}"
        if ours != pair["ncu"] and (kernel, name) not in EXPLAINED:
            different[name] = f"{ours} counted, {pair['ncu']} on the H200"
    assert not different


def test_unrolled_by_ptxas(record):
    """What UNROLLED says gives the hardware's count: the machine code's rounds by lengths alone."""
    found = 0
    for case in (case for case in CASES if case.name == "loop_lengths"):
        launch, total = case.make(), 0
        lengths = launch.args[0][: launch.args[3]]
        for start in range(0, len(lengths), 32):
            rest = lengths[start : start + 32] // 4 * 4
            total += int((lengths[start : start + 32] % 4).max())
            while (rest > 12).any():  # for all lanes that have more than 12 left
                total += 16
                rest = numpy.where(rest > 12, rest - 16, rest)
            for step in (8, 4):
                total += step * int((rest > step - 4).any())
                rest = numpy.where(rest > step - 4, rest - step, rest)
        pair = record[case.name, case.label]["counters"]["shared.load.instructions"]
        assert pair["ncu"] == total != pair["sim"]
        found += 1
    assert found >= 2


def test_explained_differences_still_differ(record):
    for kernel, counter in EXPLAINED:
        rows = [row for (name, _), row in record.items() if name == kernel]
        if not rows and any(kernel.startswith(row.kernel.rpartition("_")[0]) for row in ROWS):
            continue  # not yet counted on hardware: test_record_holds_every_kernel names it
        assert rows, f"{kernel} is not in the record, and there is no such kernel"
        pairs = [row["counters"].get(counter) for row in rows]
        differ = any(pair and pair["sim"] != pair["ncu"] for pair in pairs)
        reason = EXPLAINED[kernel, counter]
        # what changes from run to run may be equal in one record and not in the next, and copies
        # that P0 chooses may all be made in the launches of a record
        changing = (CHOSEN, FILLED, LOST, ORDER, POLLED, RETRIED, STRAY)
        assert differ or reason in changing, f"{kernel}: {counter}"
        assert len(reason) > 20


# The command -------------------------------------------------------------------------------------

NCU = """==PROF== Connected to process 7 (/usr/bin/python)
==WARNING== Note: Running with unmodified GPU clocks.
==PROF== Disconnected from process 7
"ID","Process ID","Kernel Name","Block Size","first.sum","second.sum"
"","","","","inst","sector"
"0","7","copy(const float *, float *)","(32, 1, 1)","1,024","3"
"1","7","add","(64, 1, 1)","0","12,345,678"
"""


def test_parse_csv():
    rows = ncu.parse_csv(NCU)
    assert [row["Kernel Name"] for row in rows] == ["copy(const float *, float *)", "add"]
    needed = {"one": ["first.sum"], "both": ["first.sum", "second.sum"]}
    assert ncu.read_counters(rows[0], needed) == {"one": 1024, "both": 1027}
    assert ncu.read_counters(rows[1], needed) == {"one": 0, "both": 12345678}
    needed["none"] = ["third.sum"]
    assert ncu.read_counters(rows[1], needed, partial=True) == {"one": 0, "both": 12345678}
    with pytest.raises(smemkit.BackendError, match=r"third\.sum, which is none"):
        ncu.read_counters(rows[1], needed)
    with pytest.raises(smemkit.BackendError, match="is not a count"):
        ncu.read_number("0.5")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no table"),
        ("==PROF== Connected\n", "no table"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "administrator"),
        ("==ERROR== Failed to find metric regex:^x.sum", "Failed to find metric"),
    ],
)
def test_parse_csv_says_what_is_wrong(text, words):
    with pytest.raises(smemkit.BackendError, match=words):
        ncu.parse_csv(text)


def make_csv(rows, needed, change=None):
    """A table as ncu would print it where the hardware counted just what the simulator does."""
    metrics = sorted({metric for several in needed.values() for metric in several})
    lines = ["==PROF== Connected", '"ID","Kernel Name",' + ",".join(f'"{m}"' for m in metrics)]
    lines.append(",".join(['""'] * (len(metrics) + 2)))
    for row in rows:
        for counted in ncu.count_on_simulator(row):
            values = dict.fromkeys(metrics, 0)
            for name, several in needed.items():
                values[several[-1]] = counted.counters[name]
            values.update((change or {}).get(counted.kernel, {}))
            cells = ",".join(f'"{values[metric]:,}"' for metric in metrics)
            lines.append(f'"{len(lines)}","{counted.kernel}",{cells}')
    return "\n".join(lines) + "\n"


def run_command(tmp_path, *options):
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    words = ["--json", str(tmp_path / "out.json"), *map(str, options)]
    status = compare.run(parser.parse_args(words))
    return status, json.loads((tmp_path / "out.json").read_text())


def run_compare(tmp_path, text, *options):
    (tmp_path / "ncu.csv").write_text(text)
    return run_command(tmp_path, "--ncu-csv", tmp_path / "ncu.csv", *options)


def test_command_joins_both_counts(tmp_path, capsys):
    """reduce: most of its calls are two launches."""
    rows, needed = ncu.list_rows(["reduce"], []), ncu.held_counters()
    assert "shared.load.wavefronts" in needed and len(needed["global.atomic.requests"]) == 2
    status, written = run_compare(tmp_path, make_csv(rows, needed), "--family", "reduce")
    assert status == 0
    assert "0 differ" in capsys.readouterr().out
    assert len(written["rows"]) > len(rows)
    assert {(row["kernel"], row["case"]) for row in written["rows"]} >= {
        (row.kernel, row.case) for row in rows
    }
    assert {"device", "driver", "cuda", "nvcc", "smemkit", "date"} <= set(written)

    metric, name = needed["shared.load.wavefronts"][0], "reduce_shuffle_max_float64"
    text = make_csv(rows, needed, {name: {metric: 5}})
    status, written = run_compare(tmp_path, text, "--family", "reduce")
    out = capsys.readouterr().out
    assert status == 1
    assert name in out and "reduce_shuffle_min_float64" not in out
    differences = ncu.list_differences(written["rows"])
    assert {(kernel, counter, ncu) for kernel, _, counter, _, ncu in differences} == {
        (name, "shared.load.wavefronts", 5)
    }


SMALL = """
from hardware.counts import count_cases
CASES = [case for case in count_cases.CASES if case.name in ("pad_value", "local_array")]
EXPLAINED = {explained!r}
"""


def test_explained_differences_end_well(tmp_path, capsys):
    """Status 0 where a difference has a reason, which is printed; 1 where one has none."""
    files = {}
    for name, explained in (
        ("without", {}),
        ("with", {("pad_value", "shared.store.wavefronts"): "it is only pretended"}),
    ):
        files[name] = tmp_path / f"{name}.py"
        files[name].write_text(SMALL.format(explained=explained))
    needed, family = ncu.held_counters(), ["--family", "vector_add"]
    rows = ncu.list_rows(["vector_add"], [files["without"]])
    metric = needed["shared.store.wavefronts"][0]
    text = make_csv(rows, needed, {"pad_value": {metric: 5}})
    status, _ = run_compare(tmp_path, text, *family, "--cases", files["without"])
    assert status == 1 and "2 differ, 0 of them explained" in capsys.readouterr().out
    status, _ = run_compare(tmp_path, text, *family, "--cases", files["with"])
    out = capsys.readouterr().out
    assert status == 0 and "2 of them explained" in out
    assert "pad_value: it is only pretended" in out
    text = make_csv(rows, needed, {"pad_value": {metric: 5}, "local_array": {metric: 9}})
    status, _ = run_compare(tmp_path, text, *family, "--cases", files["with"])
    assert status == 1 and "4 differ, 2 of them explained" in capsys.readouterr().out


def test_recount_keeps_the_counts_of_the_gpu(tmp_path, capsys):
    rows, needed = ncu.list_rows(["vector_add"], []), ncu.held_counters()
    metric, family = needed["global.load.sectors"][0], ("--family", "vector_add")
    text = make_csv(rows, needed, {"vector_add_naive_int32": {metric: 7}})
    _, first = run_compare(tmp_path, text, *family)
    stale = json.loads(json.dumps(first))
    for row in stale["rows"]:
        for pair in row["counters"].values():
            pair["sim"] += 1
    stale["device"] = "another"
    old = tmp_path / "old.json"
    old.write_text(json.dumps(stale))
    status, second = run_command(tmp_path, "--recount", old, *family)
    assert status == 1 and second["device"] == "another"
    assert second["rows"] == first["rows"]
    stale["rows"] = stale["rows"][1:]
    old.write_text(json.dumps(stale))
    capsys.readouterr()
    status, third = run_command(tmp_path, "--recount", old, *family)
    assert status == 1 and third["rows"] == first["rows"][1:]
    lost = first["rows"][0]
    assert f"not in {old}: {lost['kernel']} ({lost['case']})" in capsys.readouterr().out


def test_recount_forgets_a_kernel_that_has_changed(tmp_path):
    rows, needed = ncu.list_rows(["vector_add"], []), ncu.held_counters()
    family = ("--family", "vector_add")
    _, first = run_compare(tmp_path, make_csv(rows, needed), *family)
    old = tmp_path / "old.json"
    old.write_text(json.dumps(first))
    words = ("--recount", old, *family, "--forget")
    status, second = run_command(tmp_path, *words, "vector_add/naive")
    assert status == 0
    kept = [row for row in first["rows"] if not row["kernel"].startswith("vector_add_naive_")]
    assert second["rows"] == kept and 0 < len(kept) < len(first["rows"])
    for name in ("gemm", "vector_add/none", "none/naive"):
        with pytest.raises(smemkit.ArgumentError, match=f"--forget: there is no kernel {name}"):
            run_command(tmp_path, *words, name)


def test_launches_are_added_to_a_table(tmp_path, capsys):
    rows, needed = ncu.list_rows(["vector_add"], []), ncu.held_counters()
    family = ("--family", "vector_add")
    _, first = run_compare(tmp_path, make_csv(rows, needed), *family)
    old, new = tmp_path / "old.json", [row for row in rows if "_naive_" in row.kernel]
    kept = [row for row in first["rows"] if "_naive_" not in row["kernel"]]
    old.write_text(json.dumps({**first, "device": "another", "rows": kept}))
    status, second = run_compare(tmp_path, make_csv(new, needed), *family, "--add", old)
    assert status == 0 and second["device"] == "another"
    key = ("kernel", "case")
    assert sorted(second["rows"], key=lambda row: [row[k] for k in key]) == sorted(
        first["rows"], key=lambda row: [row[k] for k in key]
    )
    assert second["measured_again"] == {
        first["date"]: list(dict.fromkeys(row.kernel for row in new))
    }
    old.write_text(json.dumps(second))
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    chosen = parser.parse_args(["--add", str(old), *family])
    assert ncu.list_options(chosen) == [*family, "--add", str(old)]
    assert ncu.choose_rows(chosen) == [] and compare.run(chosen) == 0
    assert "has all of these launches" in capsys.readouterr().out


def test_added_launches_replace_those_of_the_same_name():
    row = {"kernel": "one", "case": "n=1", "counters": {}}
    table = {"date": "2026-01-01", "rows": [row, {**row, "case": "n=2"}]}
    table["measured_again"] = {"2026-01-02": ["one", "two"]}
    changed = {**row, "counters": {"shared.load.requests": {"sim": 1, "ncu": 1}}}
    more = {"date": "2026-01-02", "rows": [changed, {**row, "kernel": "three"}]}
    got = ncu.extend_table(table, more)
    assert got["rows"] == [changed, {**row, "case": "n=2"}, {**row, "kernel": "three"}]
    assert got["measured_again"] == {"2026-01-02": ["one", "two", "three"]}


def test_command_refuses_a_table_of_other_launches(tmp_path):
    rows, needed = ncu.list_rows(["vector_add"], []), ncu.held_counters()
    lines = make_csv(rows, needed).splitlines()
    family = ("--family", "vector_add")
    with pytest.raises(smemkit.BackendError, match=f"{len(rows) - 1} launches, and {len(rows)}"):
        run_compare(tmp_path, "\n".join(lines[:-1]), *family)
    swapped = "\n".join([*lines[:3], lines[4], lines[3], *lines[5:]])
    with pytest.raises(smemkit.BackendError, match="where vector_add_naive_float32 was launched"):
        run_compare(tmp_path, swapped, *family)


def test_command_without_what_it_needs(tmp_path, monkeypatch, cuda_missing):
    with pytest.raises(smemkit.ArgumentError, match="cannot be compared; known: gemm"):
        ncu.list_rows(["sorting"], [])
    with pytest.raises(smemkit.ArgumentError, match="there is no family 'sorting'"):
        workloads.list_sizes("sorting")
    with pytest.raises(smemkit.ArgumentError, match="no file"):
        ncu.list_rows([], [tmp_path / "absent.py"])
    (tmp_path / "empty.py").write_text("CASES = []\n")
    with pytest.raises(smemkit.ArgumentError, match="no CASES"):
        ncu.list_rows([], [tmp_path / "empty.py"])
    monkeypatch.setenv("SMEMKIT_NCU", str(tmp_path / "ncu"))
    with pytest.raises(smemkit.BackendError, match="ncu is not found"):
        ncu.find_ncu()
    if cuda_missing is not None:
        parser = argparse.ArgumentParser()
        compare.add_arguments(parser)
        with pytest.raises(smemkit.BackendError):
            compare.run(parser.parse_args([]))


def test_every_kernel_is_compared():
    """Each entry of each family's PTX is launched, at two sizes or more.

    Those of gemm that a plan takes for large, long or thin products alone, and what adds their
    parts, are not: the sizes of a comparison are small. Families with many choices have some of
    them at one size alone.
    """
    launched = {}
    for row in ROWS:
        if (row.kernel, row.case) not in LAUNCHED:
            count(row)
        for kernel in LAUNCHED[row.kernel, row.case]:
            launched.setdefault(kernel, set()).add(row.case)
    for family in smemkit.families():
        least = 2
        if family in workloads.list_families():
            every, fewer = (workloads.list_choices(family, regular) for regular in (True, False))
            least = 2 if len(fewer) == len(every) else 1
        for variant in smemkit.variants(family):
            entries = re.findall(r"\.entry\s+(\w+)", smemkit.ptx(family, variant))
            assert entries
            own = OF_PART.get(f"{family}/{variant}", {}).keys() | {"add"}
            for entry in entries:
                if part_of(family, variant, entry) in own:
                    continue
                assert len(launched.get(entry, ())) >= least, entry


def test_samples_see_wrong_results():
    """The oracle answers for each family, and is not content with anything else."""
    for family in workloads.list_families():
        for variant, facts in smemkit.variants(family).items():
            sizes = workloads.list_sizes(family)[1]
            random = numpy.random.RandomState(5)
            sample = workloads.make_sample(family, sizes, facts["dtypes"][0], random)
            right = numpy.asarray(sample.expect(variant))
            sample.check(right, variant)
            for wrong in (right + numpy.ones_like(right), right.reshape(*right.shape, 1)):
                with pytest.raises(AssertionError):
                    sample.check(wrong, variant)


def test_wrong_results_and_ncu_failures_are_told(tmp_path, monkeypatch):
    """A stand-in for ncu: what it prints, and its status, come through as errors."""
    fake = tmp_path / "ncu"
    monkeypatch.setenv("SMEMKIT_NCU", str(fake))
    monkeypatch.setattr(smemkit, "device_info", lambda backend: {})
    chosen = argparse.Namespace(cases=[], family=["smooth"], add=None)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    package = str(Path(smemkit.__file__).resolve().parents[1])  # where the child finds smemkit
    for body, words in (
        ("echo '==ERROR== ERR_NVGPUCTRPERM'; exit 1", "administrator"),
        ("echo broken >&2; exit 9", "status 9:\nbroken"),
        ('echo "in $PYTHONPATH." >&2; exit 9', f"in {re.escape(package)}\\."),
    ):
        fake.write_text(f"#!/bin/sh\n{body}\n")
        fake.chmod(0o755)
        with pytest.raises(smemkit.BackendError, match=words):
            ncu.measure(chosen, ncu.held_counters())

    def check(result):
        raise AssertionError("argument 1 differs")

    assert ncu.is_right(check, None) == "argument 1 differs"
    assert ncu.is_right(lambda result: None, None) is None


def test_profile_leaves_the_result(rng):
    """Counting does not change what a kernel computes."""
    case = CASES[int(rng.integers(len(CASES)))]
    launch = case.make()
    profile(
        smemkit.RawKernel(case.ptx, case.entry),
        launch.grid,
        launch.block,
        launch.args,
        shared_mem=launch.shared,
    )
    launch.check()
