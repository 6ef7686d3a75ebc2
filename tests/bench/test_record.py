"""The record: what it writes, that it loads, and that each part fails alone."""

import json
from importlib import resources

import numpy
import pytest

import smemkit
from smemkit import bench, probe
from smemkit.bench import _ceilings, peers, record, records, results, timing, workloads
from smemkit.bench.families import CLASSES
from smemkit.cli import options
from smemkit.cli import record as record_command
from smemkit.cli.errors import UsageError

SMALL = (
    ("gemm", 40, "float32", {}),
    ("transpose", 40, "float32", {}),
    ("reduce", 5000, "float32", {}),
    ("histogram", 5000, "uint8", {"values": "constant"}),
)


class Watch:
    """A clock that tells a time for each call; what it is asked runs on the simulator."""

    backend = "sim"

    def __init__(self, seconds=0, most=3):
        self.most = most

    def time(self, call, cache, samples=None):
        call()
        return (1.23456789,) * (samples or self.most)


class Torch:
    """A peer that multiplies, under the name of one that calls cuBLAS."""

    name, version = "torch", "2.11"

    def prepare(self, case, inputs, ours):
        if not isinstance(case, CLASSES["gemm"]):
            return None
        return lambda: None, lambda: inputs[0] @ inputs[1]

    def forget(self):
        pass


@pytest.fixture(autouse=True)
def short(monkeypatch):
    for name, value in (("FMA_ROUNDS", 2), ("SHARED_ROUNDS", 19), ("COPY_BYTES", 1 << 16)):
        monkeypatch.setattr(_ceilings, name, value)
    monkeypatch.setattr(_ceilings, "L2_ROUNDS", 2)
    monkeypatch.setattr(record, "HOST_SECONDS", 0.0)


FACTS = {
    "name": "NVIDIA Fake 7",
    "compute_capability": "9.0",
    "multiprocessors": 1,
    "global_memory_bytes": 1 << 30,
}


def make_recorder(folder, found=(), **options):
    lines = []
    recorder = record.Recorder(
        folder, "fake", Watch(), lambda family: list(found), FACTS, say=lines.append, **options
    )
    return recorder, lines


def list_variants(family, dtype="float32"):
    """Variants that take the type, or any type of its size."""
    names = {dtype, f"bits{8 * numpy.dtype(dtype).itemsize}"}
    types = {name: facts["dtypes"] for name, facts in smemkit.variants(family).items()}
    return [name for name in types if names & set(types[name])]


def load(folder, part=None):
    return records.load_record(folder, "fake", part)


# What is written ---------------------------------------------------------------------------------


def test_all_parts(tmp_path):
    recorder, lines = make_recorder(tmp_path, [peers.Copy(), Torch()])
    recorder.record_ceilings()
    few = [one for one in record.list_probes() if "latency" not in one.words][::5]
    recorder.record_probes(few)
    recorder.record_cases(SMALL, [("gemm", 33, "float32", {})], progress=False)
    assert recorder.left_out == []
    assert record_command.report(tmp_path, "fake", recorder) == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(f"{part}_fake.json" for part in results.PARTS)

    variants = load(tmp_path, "variants")
    for family, size, dtype, parameters in SMALL:
        case = workloads.make_workload(family, size, dtype, parameters)
        rows = [row for row in variants if case.owns(row)]
        caches = ["warm"] if case.by_flops else ["warm", "cold"]
        expected = [(name, c) for name in list_variants(family, dtype) for c in caches]
        assert [(row.variant, row.cache) for row in rows] == expected
    assert {row.times_ms for row in variants} == {(1.23457,) * 3}
    host = load(tmp_path, "host")
    assert [(row.family, row.variant, row.machine) for row in host] == [
        (family, "numpy", "cpu") for family, *_ in SMALL
    ]
    found = [(row.family, row.variant, row.shape[0]) for row in load(tmp_path, "peers")]
    assert found == [("gemm", "cublas", 40), ("transpose", "memcpy", 40), ("gemm", "cublas", 33)]
    made = load(tmp_path, "ceilings")
    assert isinstance(made, bench.Ceilings) and made.gflop_per_s > 0
    for part in results.PARTS:
        facts = load(tmp_path, part).provenance
        assert facts["part"] == part
        assert {"device", "driver", "numpy", "smemkit", "date", "device_facts"} <= facts.keys()
    assert load(tmp_path, "peers").provenance["peers"] == {"memcpy": None, "torch": "2.11"}
    assert load(tmp_path, "peers").provenance["libraries"] == {"cublas": "torch 2.11"}


def test_the_record_answers_for_a_gpu(tmp_path):
    recorder, _ = make_recorder(tmp_path, [Torch()])
    recorder.record_ceilings()
    recorder.record_cases(SMALL[:1], [], progress=False)
    everything = load(tmp_path)
    assert set(everything.provenance["parts"]) == {"variants", "host", "peers", "ceilings"}
    table = bench.evolution("gemm", 40, results=everything)
    assert [step.variant for step in table.steps] == ["numpy", *list_variants("gemm"), "cublas"]
    assert all(step.over_cpu and step.of_library for step in table.steps)
    found = bench.memory_wall("gemm", 40, variants=("naive", "tiled"), results=everything)
    assert found.bound in ("memory", "arithmetic")
    assert all(row.reached > 0 for row in found.rows)
    keys = [row.key for row in everything]
    assert len(set(keys)) == len(keys)


def test_probes_become_rows():
    made = {}
    for call, describe, words in record.list_probes():
        if "latency" not in words:
            for row in describe(call("sim")):
                made[row.key] = row
    rows = list(made.values())
    kinds = {row.variant for row in rows}
    assert kinds == {"global_access", "bank_access", "row_column", "divergence"}
    strides = [
        row.parameters["stride"]
        for row in rows
        if row.variant == "bank_access" and row.parameters["width"] == 4
    ]
    assert strides == list(range(34))
    assert all(row.counters["instructions.warp"] > 0 for row in rows)
    json.dumps([dict(row.counters) for row in rows])
    found = probe.Latency(level="l2", footprint_bytes=9, steps=5, samples_ns=(200.0, 220.0))
    (row,) = record.describe_latency(found)
    assert row.times_ms == pytest.approx((0.0002, 0.00022))
    assert row.parameters["level"] == "l2"


# What fails is left out --------------------------------------------------------------------------


def test_a_machine_without_a_clock_leaves_latency_out(tmp_path):
    recorder, lines = make_recorder(tmp_path)
    chosen = [one for one in record.list_probes() if "latency" in one.words]
    recorder.record_probes(chosen + list(record.list_probes())[:1])
    assert len(recorder.left_out) == len(chosen) == len(lines) == 4
    assert [row.variant for row in load(tmp_path, "probes")] == ["global_access"]
    assert load(tmp_path, "probes").provenance["left_out"] == recorder.left_out


def test_a_ceiling_that_fails_leaves_those_before(tmp_path, monkeypatch):
    def fail(*_):
        raise LookupError("no such thing")

    monkeypatch.setattr(_ceilings, "prepare_shared", fail)
    recorder, _ = make_recorder(tmp_path)
    recorder.record_ceilings()
    assert len(load(tmp_path, "ceilings")) == 3
    assert recorder.left_out == ["ceilings after 3 of them: LookupError('no such thing')"]


def test_peers_that_cannot_be_looked_for(tmp_path):
    recorder, _ = make_recorder(tmp_path)

    def fail(family):
        raise OSError("broken")

    recorder.find_peers = fail
    recorder.record_cases(SMALL[:1], [], progress=False)
    assert recorder.left_out == ["gemm 40x40x40 float32: all peers: OSError('broken')"]
    assert len(load(tmp_path, "variants")) == len(list_variants("gemm"))


def test_a_variant_a_peer_and_numpy_that_fail(tmp_path, monkeypatch):
    kind = CLASSES["gemm"]
    call = kind.call

    def spoil(self, arrays, out, variant):
        if variant == "tiled":
            raise MemoryError
        if variant != "padded":
            call(self, arrays, out, variant)

    monkeypatch.setattr(kind, "call", spoil)
    monkeypatch.setattr(kind, "compute", lambda self, inputs: inputs[0])
    peer = Torch()
    peer.prepare = lambda case, inputs, ours: (lambda: None, lambda: inputs[0])
    recorder, _ = make_recorder(tmp_path, [peer])
    recorder.record_cases(SMALL[:2], [], progress=False)
    words = " ".join(recorder.left_out)
    for part in ("tiled", "padded", "torch", "by NumPy"):
        assert part in words
    kept = [row.variant for row in load(tmp_path, "variants") if row.family == "gemm"]
    assert kept == [n for n in list_variants("gemm") if n not in ("tiled", "padded")]
    assert not (tmp_path / "peers_fake.json").exists()
    assert [row.family for row in load(tmp_path, "host")] == ["transpose"]
    assert record_command.report(tmp_path, "fake", recorder) == 1


def test_a_case_that_cannot_be_made(tmp_path):
    recorder, _ = make_recorder(tmp_path)
    bad = [("gemm", 0, "float32", {}), ("gemm", 8, "int32", {})]
    recorder.record_cases(bad, SMALL[:1], progress=False)
    assert len(recorder.left_out) == 2
    assert len(load(tmp_path, "variants")) == len(list_variants("gemm"))


def test_when_the_time_is_over(tmp_path):
    recorder, _ = make_recorder(tmp_path, budget=-1.0)
    recorder.record_probes()
    recorder.record_cases(SMALL, [], progress=False)
    assert len(recorder.left_out) == len(list(record.list_probes())) + len(SMALL)
    assert list(tmp_path.iterdir()) == []


def test_what_would_take_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "SLOW_MS", 5.0)
    recorder, _ = make_recorder(tmp_path)
    more = [("gemm", 80, "float32", {}), ("gemm", 20, "float32", {})]
    recorder.record_cases(SMALL[:1], more, progress=False)
    assert {row.shape[0] for row in load(tmp_path, "variants")} == {40, 20}
    assert len(recorder.left_out) == len(list_variants("gemm"))
    assert "gemm 80x80x80 float32: tuned would take 10 ms a call" in recorder.left_out


# Loading -----------------------------------------------------------------------------------------


def test_records_that_are_not_there(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(smemkit.ArgumentError, match="no record 'fake'; there are: none"):
            load(folder)
    (tmp_path / "counts_fake.json").write_text("{}")  # of another kind
    with pytest.raises(smemkit.ArgumentError, match="no record 'fake'"):
        load(tmp_path)
    (tmp_path / "host_fake.json").write_text("{}")
    with pytest.raises(smemkit.ArgumentError, match="no record 3; there are: 'fake'"):
        records.load_record(tmp_path, 3)
    with pytest.raises(smemkit.ArgumentError, match="has no part 'peers'; it has host"):
        load(tmp_path, "peers")
    with pytest.raises(smemkit.ArgumentError, match="not results of a benchmark"):
        load(tmp_path)
    (tmp_path / "host_fake.json").write_text("{")
    with pytest.raises(smemkit.ArgumentError, match="host_fake.json is not JSON"):
        load(tmp_path)


@pytest.mark.parametrize("family", CLASSES)
def test_the_record_of_the_package(family):
    """Each family has its way from NumPy to the library, and the ceilings are plausible."""
    try:
        everything = bench.recorded("h200")
    except smemkit.ArgumentError as error:
        pytest.skip(str(error))
    if all(row.family != family for row in everything):
        pytest.skip(f"{family} is not yet timed on hardware")
    chosen = next(words for words in record.MAIN if words[0] == family)
    table = bench.evolution(*chosen[:2], dtype=chosen[2], results=everything, **chosen[3])
    assert table.steps[0].variant == "numpy"
    assert sum(step.machine == "cuda" for step in table.steps) >= 2
    assert all(step.time_ms > 0 and step.over_cpu > 0 for step in table.steps)
    made = bench.recorded("h200", part="ceilings")
    assert 1000 < made.gb_per_s < 10_000 < made.gflop_per_s < 100_000
    assert made.shared_gb_per_s > 2 * made.gb_per_s
    keys = [row.key for row in everything]
    assert len(set(keys)) == len(keys)
    for part in results.PARTS:
        facts = bench.recorded("h200", part=part).provenance
        assert "H200" in facts["device"] and facts["driver"] and facts["date"]


@pytest.mark.release
def test_every_variant_is_timed(not_yet):
    timed = {(row.family, row.variant) for row in bench.recorded("h200", part="variants")}
    known = [(family, variant) for family in CLASSES for variant in smemkit.variants(family)]
    assert timed <= set(known), "the record has variants that are no more"
    missing = [f"{family}/{variant}" for family, variant in known if (family, variant) not in timed]
    not_yet("not yet timed on hardware", missing, "On an H200: smemkit record")


# The command -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA GeForce RTX 4090", "geforce_rtx_4090"),
        ("Tesla T4", "tesla_t4"),
        ("NVIDIA", "gpu"),
    ],
)
def test_name_device(device, name):
    assert records.name_device(device) == name


def test_the_whole_command_on_a_pretended_gpu(tmp_path, monkeypatch, capsys):
    """As on a GPU, but that the simulator does the work: every path but the clock's."""
    monkeypatch.setattr(record_command, "Stopwatch", Watch)
    monkeypatch.setattr(record_command.smemkit, "device_info", lambda **_: FACTS)
    monkeypatch.setattr(record, "MAIN", SMALL[:2])
    monkeypatch.setattr(record, "MORE", SMALL[2:3])
    monkeypatch.setattr(record.Recorder.record_cases, "__defaults__", (SMALL[:2], SMALL[2:3], None))
    asked = []

    def find_peers(say, names):
        asked.append(set(names))
        say(f"without {sorted(names)[0]}")
        return [Torch()] if "torch" in names else []

    monkeypatch.setattr(record_command.peers, "find_peers", find_peers)
    parser = options.Parser()
    record_command.add_arguments(parser)
    folder = tmp_path / "a" / "b"
    chosen = parser.parse_args(["--out", str(folder)])
    assert chosen.run(chosen) == 0
    assert sorted(map(sorted, asked)) == [["cub"], sorted(peers.NAMES - {"cub"})]
    shown = capsys.readouterr()
    assert "fake_7.json: " in shown.out and "NOT WRITTEN" not in shown.out
    assert "without cub" in shown.err
    rows = records.load_record(folder, "fake_7")
    assert {row.family for row in rows} == {"gemm", "transpose", "reduce", "probe", "ceiling"}


def test_the_command_without_a_gpu(tmp_path, cuda_missing):
    if cuda_missing is None:
        pytest.skip("there is a GPU")
    parser = options.Parser()
    record_command.add_arguments(parser)
    with pytest.raises(smemkit.BackendError):
        record_command.run(parser.parse_args(["--out", str(tmp_path / "x")]))
    assert not (tmp_path / "x").exists()
    assert parser.parse_args([]).out == resources.files("smemkit") / "recorded"
    for words in (["--budget", "0"], ["--name", "H 200"]):
        with pytest.raises(UsageError, match=words[0]):
            record_command.run(parser.parse_args(["--out", "x", *words]))


def test_every_case_that_is_recorded_can_be_made():
    """All of the real list: shapes, types and parameters, without their arrays."""
    names = set()
    for chosen in (*record.MAIN, *record.MORE):
        case = workloads.make_workload(*chosen)
        assert timing.list_ours(case, whole=True)
        assert case.name not in names
        names.add(case.name)
        assert case.nbytes < 1 << 33
    assert {chosen[0] for chosen in record.MAIN} == set(CLASSES)


def test_driver_version(tmp_path, monkeypatch):
    text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
    path = tmp_path / "version"
    monkeypatch.setattr(timing, "DRIVER", path)
    assert timing.read_driver() is None
    path.write_text(text)
    assert timing.read_driver() == "580.65.06"
    path.write_text("nothing")
    assert timing.read_driver() is None
