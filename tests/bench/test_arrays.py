"""The part "arrays" of a record, on the simulator, with a CuPy that is made of NumPy."""

import types

import numpy as np
import pytest

import smemkit
from smemkit.bench import arrays, records, timing
from smemkit.cli import options
from smemkit.cli import record as record_command
from smemkit.cli.errors import UsageError

SIZES = arrays.Sizes(4096, 32, 24, 40, 16, 32, launches=8, samples=3, samples_long=2)
OURS = {
    ("launch", "launch of a kernel"),
    ("gemm", "product with out="),
    ("copy", "NumPy to the device"),
    ("copy", "pinned memory to the device"),
    ("copy", "the device to new memory"),
    ("copy", "the device to out="),
    ("copy", "the device to pinned memory"),
    ("gemm", "gemm"),
    ("transpose", "transpose"),
    ("conv2d", "conv2d"),
    *(("view", f"copy of {name}") for name in arrays.VIEWS),
}


FACTS = {"name": "NVIDIA Fake 7", "compute_capability": "9.9"}


class Array(np.ndarray):
    """NumPy's array with the methods of CuPy's."""

    def get(self, out=None):
        if out is None:
            return np.array(self)
        out[...] = self
        return out

    def set(self, values):
        self[...] = values


def make_cupy():
    def make(function):
        return lambda *words, **more: function(*words, **more).view(Array)

    def kernel(source, name):
        assert name in source and source.startswith("#define T float\n")

        def launch(grid, block, args):
            assert args[3] <= grid[0] * block[0]
            args[2][...] = args[0] + args[1]

        return launch

    made = {name: make(getattr(np, name)) for name in ("ones", "empty", "asarray")}
    pool = types.SimpleNamespace(free_all_blocks=lambda: None)
    return types.SimpleNamespace(
        **made,
        RawKernel=kernel,
        matmul=np.matmul,
        asnumpy=np.array,
        get_default_memory_pool=lambda: pool,
        __version__="1.2.3",
    )


@pytest.fixture
def tools():
    return arrays.Libraries("sim")


def refuse_module(name):
    raise ImportError(f"there is no {name}")


def test_our_tasks(tools):
    rows, facts = arrays.record_arrays(tools, SIZES, lambda: False)
    assert {(row.family, row.parameters["task"]) for row in rows} == OURS
    assert {row.variant for row in rows} == {"smemkit", "smemkit, variant=tiled"}
    for row in rows:
        many = row.family == "launch" or row.parameters["task"] == "product with out="
        assert len(row.host_times_ms) == (3 if many else 2) and row.times_ms == ()
        assert min(row.host_times_ms) > 0
    rates = [row for row in rows if row.family in ("copy", "view")]
    assert all(row.nbytes > 0 for row in rates)
    assert facts["left_out"] == [] and len(facts["missing"]) == (1 if len(tools.devices) < 2 else 0)
    assert facts["host_threads"] >= 1 and facts["date"] and facts["smemkit"]


def test_a_peer_is_measured_beside(monkeypatch, tools):
    monkeypatch.setattr(arrays.importlib, "import_module", refuse_module)  # the real cupyx too
    tools.cupy = make_cupy()
    rows, facts = arrays.record_arrays(tools, SIZES, lambda: False)
    beside = {
        (row.family, row.parameters["task"]) for row in rows if row.variant.startswith("CuPy")
    }
    assert OURS - beside == {("conv2d", "conv2d")}
    assert facts["peers"] == {"cupy": "1.2.3"}
    assert any("cupyx" in text for text in facts["left_out"])  # the others are kept


def test_nothing_is_begun_late(tools):
    rows, facts = arrays.record_arrays(tools, SIZES, lambda: True)
    assert rows == [] and len(facts["left_out"]) >= len(OURS)
    assert all(text.endswith("no time is left") for text in facts["left_out"])


def test_the_whole_command(monkeypatch, tmp_path, capsys, tools):
    monkeypatch.setattr(arrays, "Libraries", lambda: tools)
    monkeypatch.setattr(arrays, "Sizes", lambda: SIZES)
    monkeypatch.setattr(smemkit, "device_info", lambda **_: FACTS)
    monkeypatch.setattr(timing, "describe_protocol", lambda backend: {"backend": backend})
    parser = options.Parser()
    record_command.add_arguments(parser)
    chosen = parser.parse_args(["--arrays", "--out", str(tmp_path)])
    assert chosen.run(chosen) == 0
    assert "arrays_fake_7.json: " in capsys.readouterr().out
    found = records.load_record(tmp_path, "fake_7", "arrays")
    assert {(row.family, row.parameters["task"]) for row in found} == OURS
    assert found.provenance["command"] == "python -m smemkit record --arrays"
    with pytest.raises(smemkit.ArgumentError, match="no measurements.*arrays"):
        records.load_record(tmp_path, "fake_7")
    chosen = parser.parse_args(["--arrays", "--traffic", "--out", str(tmp_path)])
    with pytest.raises(UsageError, match="--arrays and --traffic"):
        chosen.run(chosen)
