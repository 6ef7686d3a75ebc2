"""Traffic: what is launched below Nsight Compute, what is read of its table, and the command."""

import json
import stat
import sys

import pytest

import smemkit
from smemkit import bench
from smemkit.bench import _ceilings, ncu, record, records, roofline, traffic, workloads
from smemkit.bench.families import CLASSES
from smemkit.cli import options
from smemkit.cli import record as record_command
from smemkit.cli.errors import UsageError

METRICS = [metric for several, _ in traffic.COUNTERS.values() for metric in several]
CASES = (("gemm", 40, "float32", {}), ("reduce", 5000, "float32", {}))
FACTS = {
    "name": "NVIDIA Fake 7",
    "compute_capability": "9.0",
    "multiprocessors": 1,
    "global_memory_bytes": 1 << 30,
    "l2_cache_bytes": 1 << 20,
}


def make_log(launches, metrics=METRICS):
    """What ncu prints of launches, which are (kernel, count of each metric)."""
    lines = ["==PROF== Connected to process 7 (/usr/bin/python)"]
    for kernel, _ in launches:
        lines.append(f'==PROF== Profiling "{kernel}" - 0: 0%....50%....100% - 2 passes')
    lines.append("==PROF== Disconnected from process 7")
    lines.append(",".join(f'"{name}"' for name in ("ID", "Process ID", "Kernel Name", *metrics)))
    units = ["sector" if "sectors" in name else "byte" for name in metrics]
    lines.append(",".join(f'"{unit}"' for unit in ("", "", "", *units)))
    for number, (kernel, counts) in enumerate(launches):
        cells = (str(number), "7", kernel, *(f"{count:,}" for count in counts))
        lines.append(",".join(f'"{cell}"' for cell in cells))
    return "\n".join(lines) + "\n"


MARKER = (traffic.MARKER, (9, 9, 9))
WARM = ("gemm_naive_float32(const float *)", (777, 777, 777))
LAUNCHES = [
    WARM,
    WARM,
    MARKER,
    ("gemm_naive_float32(const float *)", (1000, 64, 32)),
    MARKER,
    ("reduce_shuffle_float32", (7, 7, 7)),
    MARKER,
    ("reduce_shuffle_float32", (100, 3200, 0)),
    ("reduce_shuffle_float32", (1, 0, 32)),
    MARKER,
]
MADE = [
    {"case": CASES[0], "variant": "naive"},
    {"case": CASES[1], "variant": "shuffle"},
]


# What is read ------------------------------------------------------------------------------------


def test_rows_of_what_ncu_printed():
    """Of two calls only the marked launches count; those of one call are added up."""
    rows = traffic.read_traffic(make_log(LAUNCHES), MADE)
    assert [(row.family, row.variant, row.shape) for row in rows] == [
        ("gemm", "naive", (40, 40, 40)),
        ("reduce", "shuffle", (5000,)),
    ]
    assert [row.counters for row in rows] == [
        {"l2.bytes": 32000, "dram.read.bytes": 64, "dram.write.bytes": 32},
        {"l2.bytes": 3232, "dram.read.bytes": 3200, "dram.write.bytes": 32},
    ]
    assert {(row.machine, row.cache, row.times_ms) for row in rows} == {("cuda", "warm", ())}
    assert all(workloads.make_workload(*c).owns(row) for c, row in zip(CASES, rows, strict=True))
    assert traffic.count_passes(make_log(LAUNCHES)) == 2
    assert traffic.count_passes("==PROF== Connected\n") is None


@pytest.mark.parametrize(
    ("launches", "metrics", "words"),
    [
        (LAUNCHES[:5], METRICS, "1 marked calls, and 2 were made"),
        ([*LAUNCHES[:3], *LAUNCHES[4:]], METRICS, "no launch of gemm 40x40x40 float32: naive"),
        (LAUNCHES, ["x", *METRICS[1:]], "lts__t_sectors_srcunit_tex.sum, which is l2.bytes"),
    ],
)
def test_tables_that_are_not_of_these_calls(launches, metrics, words):
    with pytest.raises(smemkit.BackendError, match=words):
        traffic.read_traffic(make_log(launches, metrics), MADE)


# What is launched --------------------------------------------------------------------------------


def test_calls_are_checked_and_marked(monkeypatch):
    """A checked call, a warm one, and one between two launches of the marker."""
    seen = []
    kind, make_kernel = CLASSES["gemm"], smemkit.RawKernel
    call = kind.call

    def watch_call(self, arrays, out, variant):
        seen.append(variant)
        if variant == "padded":
            raise smemkit.BackendError("too large")
        call(self, arrays, out, variant)

    def make_watched(*words):
        kernel = make_kernel(*words)

        def launch(*arguments, **keywords):
            seen.append("marker")
            kernel(*arguments, **keywords)

        return launch

    monkeypatch.setattr(kind, "call", watch_call)
    monkeypatch.setattr(smemkit, "RawKernel", make_watched)
    made, left_out = traffic.make_calls(CASES[:1], "sim", lambda: False)
    kinds = smemkit.variants("gemm")
    every = [name for name, facts in kinds.items() if "float32" in facts["dtypes"]]
    names = [name for name in every if name != "padded"]
    assert [one["variant"] for one in made] == names
    assert left_out == ["gemm 40x40x40 float32: padded: BackendError('too large')"]
    expected = [[name, name, "marker", name, "marker"] for name in every]
    rest = [name for five in expected for name in (five if five[0] != "padded" else five[:1])]
    assert seen == rest
    monkeypatch.setattr(kind, "expect", lambda self, inputs: None.shape)
    made, left_out = traffic.make_calls(CASES[:1], "sim", lambda: False)
    assert made == [] and left_out[0].startswith("gemm 40x40x40 float32: AttributeError(")
    made, left_out = traffic.make_calls(CASES, "sim", lambda: True)
    assert made == [] and len(left_out) == 2 and "no time is left" in left_out[0]


def test_cases_of_the_records():
    """All records but the largest; the main ones of every family stand first."""
    found = traffic.list_cases([])
    mains = [words for words in found if words in record.MAIN]
    assert found[: len(mains)] == mains and sorted(map(str, mains)) == sorted(map(str, record.MAIN))
    assert set(map(str, found)) < set(map(str, [*record.MAIN, *record.MORE]))
    chosen = traffic.list_cases(["gemm", "smooth"])
    assert [words[0] for words in chosen[:2]] == ["gemm", "smooth"]
    assert ("gemm", 8192, "float32", {}) not in chosen and len(chosen) == 9
    for words in json.loads(json.dumps(found)):  # as the child writes them
        assert workloads.make_workload(*words).family == words[0]
    with pytest.raises(smemkit.ArgumentError, match="no family 'sorting'"):
        traffic.list_cases(["sorting"])


# The command -------------------------------------------------------------------------------------

FAKE_NCU = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 1)")
    sys.exit()
pathlib.Path({seen!r}).write_text(json.dumps(words))
pathlib.Path(words[words.index("--log-file") + 1]).write_text({log!r})
made = words[words.index("smemkit.bench.traffic") + 1]
pathlib.Path(made).write_text({made!r})
"""


class Watch:
    """A clock that tells one time; what it is asked runs on the simulator."""

    backend = "sim"

    def __init__(self, seconds=0, most=3):
        self.most = most

    def time(self, call, cache):
        call()
        return (2.0,) * self.most


@pytest.fixture
def run_command(tmp_path, monkeypatch):
    """Runs the command on a pretended GPU, under a program that prints as ncu does."""
    monkeypatch.setattr(smemkit, "device_info", lambda **_: FACTS)
    monkeypatch.setattr(record_command, "Stopwatch", Watch)
    monkeypatch.setattr(_ceilings, "L2_ROUNDS", 2)
    program, seen = tmp_path / "ncu", tmp_path / "seen.json"
    done = json.dumps({"made": MADE, "left_out": ["gemm: padded: too large"]})
    words = {"python": sys.executable, "seen": str(seen), "log": make_log(LAUNCHES), "made": done}
    program.write_text(FAKE_NCU.format(**words))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SMEMKIT_NCU", str(program))
    parser = options.Parser()
    record_command.add_arguments(parser)

    def run(*more):
        folder = tmp_path / "out"
        chosen = parser.parse_args(["--out", str(folder), *more])
        return chosen.run(chosen), folder, json.loads(seen.read_text())

    return run


def test_the_whole_command(run_command, capsys):
    status, folder, words = run_command("--traffic", "--family", "gemm", "--budget", "40")
    assert status == 0
    shown = capsys.readouterr().out
    assert "traffic_fake_7.json: 2 calls counted, L2 reads " in shown
    assert "gemm: padded: too large" in shown
    assert words[words.index("--cache-control") + 1] == "none"
    assert words[words.index("--metrics") + 1].split(",") == sorted(METRICS)
    assert words[-4:] == ["--budget", "40.0", "--family", "gemm"]
    found = records.load_record(folder, "fake_7", "traffic")
    assert [row.family for row in found] == ["gemm", "reduce", "ceiling"]
    facts = found.provenance
    assert (facts["ncu"], facts["ncu_passes"], facts["part"]) == ("2025.3.1.0", 2, "traffic")
    assert facts["ncu_options"] == ["--cache-control", "none"]
    assert {"device", "driver", "date", "smemkit"} <= facts.keys()
    assert bench.Ceilings(found.rows, facts).l2_gb_per_s == pytest.approx(
        2048 * 8 * 2 * 16 / 2e-3 / 1e9
    )
    with pytest.raises(smemkit.ArgumentError, match="no measurements.*traffic"):
        records.load_record(folder, "fake_7")
    for words in (["--family", "gemm"], ["--keep-csv", "x"]):
        with pytest.raises(UsageError, match=f"{words[0]} goes with --traffic"):
            run_command(*words)


def test_what_was_counted_is_kept(run_command, monkeypatch, tmp_path):
    """Where the bandwidth of L2 fails, and as ncu printed it."""

    def fail(*_):
        raise LookupError("no such cache")

    monkeypatch.setattr(traffic, "measure_l2", fail)
    status, folder, _ = run_command("--traffic", "--keep-csv", str(tmp_path / "ncu.csv"))
    assert status == 1
    found = records.load_record(folder, "fake_7", "traffic")
    assert [row.family for row in found] == ["gemm", "reduce"]
    assert found.provenance["left_out"][-1].startswith("the bandwidth of L2: LookupError(")
    assert (tmp_path / "ncu.csv").read_text() == make_log(LAUNCHES)


def test_an_ncu_that_fails(run_command, monkeypatch, tmp_path):
    (tmp_path / "ncu").write_text("#!/bin/sh\necho '==ERROR== Failed to find metric x'\nexit 1\n")
    with pytest.raises(smemkit.BackendError, match="Failed to find metric x"):
        run_command("--traffic")
    assert ncu.read_version() is None


# What memory_wall makes of it --------------------------------------------------------------------


def make_record(*variants):
    case = workloads.make_workload("gemm", 64)
    counters = {"l2.bytes": 32000, "dram.read.bytes": 3000, "dram.write.bytes": 1000}
    rows = [case.make_row(name, "cuda", cache="warm", counters=counters) for name in variants]
    rows.append(
        bench.Measurement("ceiling", "l2", (4,), "uint32", "cuda", (1.0,), nbytes=5e9, cache="warm")
    )
    return bench.Results(rows, {"device": "NVIDIA Fake 7"})


def test_memory_wall_with_traffic():
    words = {"variants": ("naive", "tiled"), "backend": "sim"}
    found = bench.memory_wall("gemm", 64, traffic=make_record("tiled"), **words)
    assert [(row.l2_bytes, row.dram_bytes) for row in found.rows] == [(None, None), (32000, 4000)]
    assert found.l2_gb_per_s == 5000 and found.traffic == {"device": "NVIDIA Fake 7"}
    lines = str(found).splitlines()
    assert "in sectors" in lines[2] and lines[2].split()[-7:-4] == ["L2", "DRAM", "reuse"]
    assert lines[4].split()[4:6] == ["3.2e+04", "4000"]
    assert lines[-1].endswith("Nsight Compute counted on NVIDIA Fake 7")
    other = bench.memory_wall("gemm", 32, traffic=make_record("tiled"), **words)
    assert other.traffic == {} and other.rows[1].l2_bytes is None and "DRAM" not in str(other)
    with pytest.raises(smemkit.ArgumentTypeError, match="results must be Results"):
        bench.memory_wall("gemm", 64, traffic=3, **words)


def test_memory_wall_finds_the_record_of_the_device(monkeypatch, tmp_path):
    """By the device of the times, and not by that of this machine."""
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    case = workloads.make_workload("gemm", 64)
    rows = [case.make_row("tiled", "cuda", times_ms=(0.5,), cache="warm")]
    words = {"variants": "tiled", "backend": "sim"}
    times = bench.Results(rows, {"device": "NVIDIA Fake 7"})
    assert bench.memory_wall("gemm", 64, results=times, **words).rows[0].l2_bytes is None
    make_record("tiled").save(tmp_path / "traffic_fake_7.json")
    assert bench.memory_wall("gemm", 64, results=times, **words).rows[0].l2_bytes == 32000
    other = bench.Results(rows, {"device": "NVIDIA Fake 8"})
    assert bench.memory_wall("gemm", 64, results=other, **words).rows[0].l2_bytes is None
    assert bench.memory_wall("gemm", 64, **words).rows[0].l2_bytes is None


def test_the_traffic_of_the_package():
    """The bytes that were counted are plausible: a result is written, and L2 sees what moves."""
    try:
        found = bench.recorded("h200", part="traffic")
    except smemkit.ArgumentError as error:
        pytest.skip(f"traffic is not yet counted on hardware: {error}")
    facts = found.provenance
    assert "H200" in facts["device"] and facts["driver"] and facts["date"] and facts["ncu"]
    assert 1000 < bench.Ceilings(found.rows, facts).l2_gb_per_s < 20_000
    rows = [row for row in found if row.family != "ceiling"]
    names = {row.variant for row in rows if row.family == "gemm"}
    assert {"naive", "tiled"} <= names <= set(smemkit.variants("gemm"))
    for row in rows:
        assert row.counters["l2.bytes"] > 0 and set(row.counters) == set(traffic.COUNTERS)
        assert set(roofline.DRAM) <= set(row.counters)
