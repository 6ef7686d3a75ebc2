"""The part "shapes" of a record, on the simulator, with a torch that is made of NumPy."""

import importlib.util
import types
from pathlib import Path

import numpy as np
import pytest

import smemkit
from smemkit import bench
from smemkit.bench import arrays, records, shape_cases, shapes, timing
from smemkit.cli import options
from smemkit.cli import record as record_command

SIZES = shape_cases.Sizes(
    single=3,
    double=2,
    pool=1 << 14,
    named=((16, 16, 16), (1, 40, 9)),
    doubles=((16, 8, 16),),
    low=((16, 16, 16),),
    stacks=((2, 16, 16, 16),),
    scans=(1000,),
    sums=(1000,),
    planes=((20, 30),),
    counted=(1000,),
    images=(((20, 30), 3),),
    sorted=((3, 20),),
    permuted=(((20, 30), (1, 0), "float32"),),
)
FACTS = {"name": "NVIDIA Fake 7", "compute_capability": "9.9"}


class Watch:
    """Takes times in turns; each subject has its own."""

    def choose_calls(self, call):
        call()
        return 0.01, 2

    def sample(self, call, calls):
        call()
        return 0.25


def draw_small(count, seed):
    return [(3 + seed % 5, 5, 7 + number) for number in range(count)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(shape_cases, "draw_shapes", draw_small)


@pytest.fixture
def tools():
    return arrays.Libraries("sim")


def make_torch():
    """mm of torch, with an error of its own and an operand that it shares."""

    def mm(x, y, out=None):
        product = np.matmul(x, y)
        if out is None:
            return product
        out[...] = product + 1
        return out

    return types.SimpleNamespace(
        from_dlpack=np.from_dlpack,
        mm=mm,
        bmm=np.matmul,
        backends=types.SimpleNamespace(
            cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=None))
        ),
        cuda=types.SimpleNamespace(empty_cache=lambda: None),
        __version__="1.2.3",
    )


def record(tools, parts=shape_cases.PARTS, late=lambda: False, say=lambda text: None):
    return shapes.record_shapes(tools, Watch(), SIZES, late, say, parts=parts)


def test_our_rows(tools):
    rows, facts = record(tools)
    assert {row.variant for row in rows} == {"smemkit"}
    found = {(row.parameters["group"], row.dtype) for row in rows}
    assert found >= {
        ("float32, named shapes", "float32"),
        ("float32, random shapes", "float32"),
        ("float64, named shapes", "float64"),
        ("float64, random shapes", "float64"),
        ("scan", "float32"),
        ("sum", "float32"),
        ("histogram", "uint8"),
        ("histogram", "float32"),
        ("conv2d", "float32"),
        ("transpose", "float32"),
        ("sort of rows", "float32"),
    }
    for row in rows:
        assert row.times_ms == (0.25,) * 11 and row.cache == "warm"
        most = 0.01 if row.parameters["group"] == "low precision" else 1e-5
        assert 0 <= row.parameters["error"] < most and row.nbytes > 0
    assert facts["shapes_seed"] == SIZES.seed and facts["date"]
    for text in facts["left_out"]:  # each with what says why
        assert "Error" in text


def test_a_peer_is_compared(tools):
    tools.torch = make_torch()
    parts = (lambda held, sizes: shape_cases.list_products(
        held, "named", sizes.named, "float32", False
    ),)  # fmt: skip
    said = []
    rows, facts = record(tools, parts, say=said.append)
    assert [row.variant for row in rows] == ["smemkit", "cuBLAS"] * 2
    assert facts["left_out"] == [] and facts["peers"] == {"torch": "1.2.3"} and len(said) == 2
    pairs = shapes.compare(rows)
    assert [(ours.variant, theirs.variant) for ours, theirs in pairs] == [("smemkit", "cuBLAS")] * 2
    assert all(theirs.parameters["error"] > 0.01 for _, theirs in pairs)
    assert shapes.sum_up(rows) == {
        "named": {"cases": 2, "least": 1, "median": 1, "below 0.9": 0, "larger errors": 0}
    }


def test_a_wrong_result_is_left_out(tools, monkeypatch):
    monkeypatch.setattr(smemkit, "conv2d", lambda x, w, form, out=None: x)

    def list_wrong(held, sizes):
        for case in shape_cases.list_convolutions(held, sizes):
            yield case._replace(prepare=lambda: make_wrong(held))

    def make_wrong(held):
        return shape_cases.Subjects({"smemkit": lambda: None}, lambda: {"smemkit": 0.5})

    rows, facts = record(tools, (list_wrong,))
    assert rows == [] and "the error of the result is 0.5" in facts["left_out"][0]


def test_a_wrong_imaginary_part_is_seen(tools):
    held = shape_cases.Operands(tools, 100)
    right, wrong = np.full(3, 4j), np.array([4j, 4j, 2j])
    errors = shape_cases.judge_equal(
        held, {"ours": lambda: wrong, "theirs": lambda: right}, lambda: right
    )
    assert errors == {"ours": 0.5, "theirs": 0}


def test_nothing_is_begun_late(tools):
    rows, facts = record(tools, late=lambda: True)
    assert rows == [] and len(facts["left_out"]) > 15
    assert all(text.endswith("no time is left") for text in facts["left_out"])


def test_random_shapes_are_the_same_each_time(monkeypatch):
    monkeypatch.undo()
    drawn = shape_cases.draw_shapes(200, SIZES.seed)
    assert drawn == shape_cases.draw_shapes(200, SIZES.seed) and len(set(drawn)) == 200
    lengths = np.log2(drawn)
    assert lengths.min() >= 0 and lengths.max() <= 14 and 6 < lengths.mean() < 8


def test_samples_take_no_longer_than_the_host():
    """Where the host enqueues slowly, a sample has fewer calls."""

    class Busy:
        busy = smemkit.zeros((4,), "uint8", backend="sim")

        def time_once(self, call, cache, calls=1):
            for _ in range(calls):
                call()
            return 0.001

        def choose_calls(self, once, cache):
            return 16

    watch = shapes.SmallWatch(Busy())
    watch.busy_ms = 1000.0
    assert watch.choose_calls(lambda: None) == (0.001, 16)
    watch.busy_ms = 0.0
    times = shapes.time_together(watch, {"a": lambda: None, "b": lambda: None})
    assert watch.choose_calls(lambda: None)[1] == 1 and {
        len(found) for found in times.values()
    } == {11}


def test_the_whole_command(monkeypatch, tmp_path, capsys, tools):
    monkeypatch.setattr(arrays, "Libraries", lambda: tools)
    monkeypatch.setattr(record_command, "Sizes", lambda: SIZES)
    monkeypatch.setattr(shapes, "SmallWatch", lambda watch: watch)
    monkeypatch.setattr(record_command, "Stopwatch", Watch)
    monkeypatch.setattr(record_command.peers, "load_cub", lambda: None)
    monkeypatch.setattr(smemkit, "device_info", lambda **_: FACTS)
    monkeypatch.setattr(timing, "describe_protocol", lambda backend: {"backend": backend})
    parser = options.Parser()
    record_command.add_arguments(parser)
    chosen = parser.parse_args(["--shapes", "--out", str(tmp_path)])
    assert chosen.run(chosen) == 0
    assert "shapes_fake_7.json: " in capsys.readouterr().out
    found = records.load_record(tmp_path, "fake_7", "shapes")
    assert len(found) > 10 and found.provenance["command"].endswith("record --shapes")


def test_the_page_shows_a_record(tools):
    """Whether or not the package has one."""
    path = Path(__file__).resolve().parents[2] / "notebooks/readme.py"
    spec = importlib.util.spec_from_file_location("readme", path)
    readme = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(readme)
    tools.torch = make_torch()
    parts = (lambda held, sizes: shape_cases.list_products(
        held, "float32, random shapes", sizes.named, "float32", False
    ),)  # fmt: skip
    rows, facts = record(tools, parts)
    facts |= {"device": "Fake", "driver": "1.2"}
    text = readme.write_shapes(bench.Results(rows, facts))
    assert "| float32, random shapes | 2 | 1.00 x | 1.00 x | 0 | 0 |" in text
    assert "| gemm float32, random | 16 x 16 x 16 | 0.25 ms, " in text
    if readme.load_shapes() is None:
        assert readme.SHAPES_COMMAND in readme.write_shapes()
