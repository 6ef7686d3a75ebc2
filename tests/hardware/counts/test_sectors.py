"""The two counts of sectors of copies past the L1 cache: how they are made, and what they show."""

import json
from pathlib import Path

import pytest
from hardware.counts import count_sectors
from hardware.counts.count_sectors import RUNS, WAYS
from hardware.counts.explained import EXPLAINED, LOST

import smemkit
from smemkit.bench import ncu

KERNELS = ["gemm_tensor_small_int8", "gemm_tensor_lay_out_int8"]


@pytest.fixture(scope="module")
def calls():
    """The launches of some kernels, by call."""
    found = count_sectors.list_calls(KERNELS)
    assert len(found) >= 2 and {call.kernel for call in found} == {"gemm_tensor_int8"}
    return [(call, count_sectors.find_launches(call, KERNELS)) for call in found]


def print_counts(calls, spoil=None):
    """What ncu would print for these calls; the n-th launch counts n and 2 n."""
    lines, names = [], [kernel for _, own in calls for _ in range(RUNS) for *_, kernel in own]
    for number, kernel in enumerate(names if spoil is None else spoil(names), 1):
        lines.append(f'"{number}","{kernel}","{number}","{2 * number:,}"')
    header = ",".join(f'"{name}"' for name in ("ID", "Kernel Name", *WAYS.values()))
    return "\n".join(["==PROF== Connected", header, '"","","sector","sector"', *lines])


def measure(monkeypatch, calls, text):
    asked = []

    def run_ncu(metrics, *words):
        asked.append((sorted(metrics), *words))
        return text, None

    monkeypatch.setattr(ncu, "run_ncu", run_ncu)
    rows = count_sectors.measure([call for call, _ in calls], KERNELS)
    assert asked == [
        (
            sorted(WAYS.values()),
            count_sectors.MODULE,
            ["--made"],
            ["-k", f"regex:^({'|'.join(KERNELS)})$"],
        )
    ]
    return rows


def test_each_launch_has_the_counts_of_its_runs(monkeypatch, calls):
    rows = measure(monkeypatch, calls, print_counts(calls))
    expected, first = [], 1
    for _, launches in calls:
        for number, (case, _, kernel) in enumerate(launches, first):
            runs = [number + run * len(launches) for run in range(RUNS)]
            counts = {"from_l2": runs, "metric": [2 * run for run in runs]}
            expected.append({"kernel": kernel, "case": case, **counts})
        first += RUNS * len(launches)
    assert rows == expected
    assert len({row["case"] for row in rows}) == len(rows) >= 4  # of both kernels, launch by launch


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda names: names[:-1], "saw None where gemm_tensor_"),
        (lambda names: [*names, names[0]], "1 launches more"),
        (lambda names: ["copy", *names[1:]], "saw copy where gemm_tensor_"),
    ],
)
def test_other_launches_are_refused(monkeypatch, calls, spoil, words):
    with pytest.raises(smemkit.BackendError, match=words):
        measure(monkeypatch, calls, print_counts(calls, spoil))


def test_the_file_says_where_and_when(monkeypatch, tmp_path):
    rows = [{"kernel": "gemm_a", "case": "m=1", "from_l2": [4, 4, 4], "metric": [4, 3, 4]}]
    monkeypatch.setattr(count_sectors, "measure", lambda calls, kernels: rows)
    monkeypatch.setattr(ncu, "read_version", lambda: "2025.3.1.0")
    count_sectors.main([str(tmp_path / "out.json")])
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["rows"] == rows and written["ncu"] == "2025.3.1.0"
    assert {"device", "driver", "date", "cuda", "smemkit"} <= set(written)
    assert {**written, **WAYS} == written


def test_calls_are_made_as_often_as_they_are_counted(monkeypatch, tmp_path, calls):
    made = []

    class Call:
        def make(self):
            return self

        run = made.append

    monkeypatch.setattr(count_sectors, "list_calls", lambda kernels: [Call(), Call()])
    count_sectors.main([str(tmp_path / "made.json"), "--made"])
    assert made == ["cuda"] * 2 * RUNS and Path(tmp_path, "made.json").exists()


@pytest.mark.release
def test_sectors_from_l2(not_yet):
    """What the hardware counts on the way from L2 is what is counted here."""
    recorded = json.loads(count_sectors.FILE.read_text())["rows"]
    cases = {(row["kernel"], row["case"]): row for row in recorded}
    runs = [run for row in recorded for run in zip(row["from_l2"], row["metric"], strict=True)]
    assert sum(l2 != metric for l2, metric in runs) > len(runs) / 4  # there is something to explain
    compared = set()
    for call in count_sectors.list_calls({kernel for kernel, _ in cases}):
        for case, counters, kernel in count_sectors.find_launches(
            call, {kernel for kernel, _ in cases}
        ):
            if (kernel, case) not in cases:
                continue  # another kernel made it when it was recorded
            sectors = counters["async.sectors"] + counters["global.load.sectors"]
            seen = set(cases[kernel, case]["from_l2"])
            assert seen == {sectors}, f"{kernel} ({case}): {count_sectors.MADE_BY}"
            compared.add(kernel)
    lost = {kernel for (kernel, _), reason in EXPLAINED.items() if reason is LOST}
    not_yet("sectors not yet counted on hardware", lost - compared, count_sectors.MADE_BY)
    assert len(lost & compared) >= 2
