"""bench: what its functions measure, count, refuse, and show."""

import doctest
import inspect
import json

import numpy as np
import pytest

import smemkit
from smemkit import bench, compile
from smemkit.bench import (
    Measurement,
    Results,
    _ceilings,
    _evolution,
    _progress,
    _run,
    _tile_sweep,
    arguments,
    peers,
    roofline,
    timing,
    workloads,
)
from smemkit.bench.families import CLASSES

FAMILIES = list(CLASSES)
FUNCTIONS = ("run", "evolution", "ceilings", "memory_wall", "tile_sweep", "recorded")
SQUARES = [name for name, kind in CLASSES.items() if kind.spread(7)[:2] == (7, 7)]


@pytest.fixture
def needs_compiler():
    if compile.find_nvrtc() is None and compile.find_nvcc() is None:
        pytest.skip("no compiler of CUDA C here; the extra [test] brings one")


# Documented --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring(name, monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    thing = getattr(bench, name)
    assert name in bench.__all__
    assert thing.__module__ == "smemkit.bench"
    lines = [line.strip() for line in thing.__doc__.splitlines()]
    parts = ["Shapes", "Returns", "Raises", "Example"]
    parts += ["Parameters"] if inspect.signature(thing).parameters else []
    for part in parts:
        assert lines[lines.index(part) + 1] == "-" * len(part)
    for parameter in inspect.signature(thing).parameters:
        assert parameter in thing.__doc__
    (test,) = doctest.DocTestFinder(recurse=False).find(thing, name, module=False, globs={})
    log = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=log.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(log)


def test_all_is_there():
    assert bench.__all__ == sorted(bench.__all__)
    assert all(hasattr(bench, name) for name in bench.__all__)


# Cases -------------------------------------------------------------------------------------------


def list_types(family):
    known = dict.fromkeys(t for row in smemkit.variants(family).values() for t in row["dtypes"])
    ways = {"bits128": "complex128", "tf32": "float32"}  # tf32 is a way to multiply float32
    return list(dict.fromkeys(ways.get(name, name).replace("bits", "uint") for name in known))


def list_parameters(family):
    kind = CLASSES[family]
    yield {}
    for name, values in kind.choices.items():
        for value in values[1:]:
            yield {name: value}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_type_and_parameter_is_right(family, machine, rng):
    """Our kernels and NumPy's own way agree with what the case expects."""
    size = 37 if family in SQUARES else 1003
    for dtype in list_types(family):
        for parameters in list_parameters(family):
            if CLASSES[family].find_misfit(dtype, parameters):
                continue
            case = workloads.make_workload(family, size, dtype, parameters)
            inputs = case.make_inputs(rng)
            ours = timing.Ours(case, inputs, machine)
            ran = [ours.check(name) for name in timing.list_ours(case, whole=True)]
            assert any(ran)
            timing.check(case, ours.expected, "NumPy", case.compute(inputs))
            assert case.nbytes > 0
            row = case.make_row("x", machine)
            assert case.owns(row)
            row.parameters["changed"] = 1
            assert "changed" not in case.parameters


@pytest.mark.parametrize("family", FAMILIES)
def test_one_number_is_a_shape(family):
    signature = smemkit.families()[family]["signature"]
    names = list(dict.fromkeys("".join(c if c.isalpha() else " " for c in signature).split()))
    assert CLASSES[family].read_signature()[2] == names
    shape = workloads.complete_shape(family, 300)
    assert len(shape) == len(names) and shape[0] == 300
    assert workloads.complete_shape(family, (300,)) == shape
    assert workloads.complete_shape(family, list(shape)) == shape
    assert workloads.complete_shape(family, np.int64(300)) == shape


def test_an_even_filter_by_numpy(rng):
    for p, q in ((1, 1), (2, 3), (4, 6), (9, 2)):
        case = workloads.make_workload("conv2d", (11, 13, p, q))
        inputs = case.make_inputs(rng)
        timing.check(case, case.expect(inputs), "NumPy", case.compute(inputs))


# run ---------------------------------------------------------------------------------------------


def test_run_counts_on_the_simulator():
    found = bench.run("gemm", None, [16, (20, 30, 40)], "float64", backend="sim", progress=False)
    names = [
        name for name, facts in smemkit.variants("gemm").items() if "float64" in facts["dtypes"]
    ]
    assert [row.variant for row in found] == 2 * names
    assert {row.shape for row in found} == {(16, 16, 16), (20, 30, 40)}
    for row in found:
        assert (row.machine, row.cache, row.times_ms, row.dtype) == ("sim", None, (), "float64")
        assert len(row.host_times_ms) == 1
        reads = row.counters["global.load.bytes"] + row.counters["async.bytes"]
        assert reads >= 8 * (row.shape[0] * row.shape[1] + row.shape[1] * row.shape[2])
    again = bench.run("gemm", None, [16, (20, 30, 40)], "float64", backend="sim")
    assert [row.counters for row in again] == [row.counters for row in found]
    assert found.provenance["backend"] == "sim" and found.provenance["protocol"]


def test_results_survive_a_file(tmp_path):
    found = bench.run("reduce", "shuffle", [5, 1000], backend="sim", op="max")
    assert found.rows[0].parameters == {"op": "max"}
    found.save(tmp_path / "x.json")
    assert bench.load(tmp_path / "x.json") == found
    text = (tmp_path / "x.json").read_text()
    assert json.loads(text) == json.loads(json.dumps(found.to_dict()))
    assert len([line for line in text.splitlines() if '"family"' in line]) == 2
    Results([], {}).save(tmp_path / "none.json")
    assert bench.load(tmp_path / "none.json") == Results([], {})


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "words"),
    [
        (("gem",), {}, ValueError, "no family 'gem'; there are gemm, transpose"),
        ((3,), {}, ValueError, "no family 3"),
        (("probe",), {}, ValueError, "no family 'probe'"),
        (("gemm", "fast"), {}, ValueError, "no variant 'fast'; there are naive"),
        (("gemm", [3]), {}, ValueError, "no variant 3"),
        (("gemm", []), {}, ValueError, "variants is empty"),
        (("gemm", None, []), {}, ValueError, "shapes is empty"),
        (("gemm", None, 0), {}, ValueError, "lengths of 1 and more"),
        (("gemm", None, (2, 3)), {}, smemkit.ShapeError, r"one number, or \(m, k, n\)"),
        (("gemm", None, "3"), {}, TypeError, "an int or a tuple"),
        (("gemm", None, 2.5), {}, TypeError, "an int or a tuple"),
        (
            ("gemm", None, 4, "int32"),
            {},
            TypeError,
            f"gemm takes {', '.join(list_types('gemm'))}, not int32",
        ),
        (("gemm", None, 4, "no"), {}, TypeError, "not an element type"),
        (("transpose", None, 4, "M8[s]"), {}, TypeError, "not datetime64"),
        (("histogram", None, (9, 4, 2)), {}, ValueError, "2 bins have 3 edges"),
        (("histogram", None, (9, 4, 3)), {}, ValueError, "bytes have 256 bins"),
        (("gemm",), {"op": "max"}, TypeError, "no parameter 'op'; it has: precision"),
        (("dot",), {"op": "max"}, TypeError, "no parameter 'op'; it has: none"),
        (("gemm",), {"precision": "half"}, ValueError, "accepted: full, tf32"),
        (("gemm", None, 4, "float64"), {"precision": "tf32"}, TypeError, "float32, not float64"),
        (("reduce",), {"op": "mean"}, ValueError, "accepted: sum, max, min"),
        (("reduce",), {"op": 3}, ValueError, "accepted: sum, max, min"),
        (("gemm",), {"cache": "hot"}, ValueError, "cache is 'hot'"),
        (("gemm",), {"cache": 3}, ValueError, "cache is 3"),
        (("gemm",), {"cache": ()}, ValueError, "cache is"),
        (("gemm",), {"seconds": -1}, ValueError, "seconds is -1"),
        (("gemm",), {"seconds": "1"}, ValueError, "seconds is '1'"),
        (("gemm",), {"seconds": float("nan")}, ValueError, "seconds is nan"),
        (("gemm",), {"seconds": np.ones(2)}, ValueError, "seconds is array"),
        (("gemm",), {"seed": "x"}, ValueError, "seed is 'x'"),
        (("gemm", 0), {}, ValueError, "no variant 0"),
        (("gemm",), {"peers": True}, smemkit.BackendError, "needs a GPU"),
        (("gemm", None, 1 << 14), {}, ValueError, "too many for the simulator"),
    ],
)
def test_run_refuses(arguments, keywords, error, words):
    with pytest.raises(smemkit.Error, match=words) as caught:
        bench.run(*arguments, backend="sim", **keywords)
    assert isinstance(caught.value, error)


class Watch:
    """A clock by a table of factors; what it is asked runs on the simulator."""

    backend = "sim"

    def __init__(self, seconds=0.1, most=4):
        self.most = most

    def time(self, call, cache, samples=None):
        call()
        return (3.0 if cache == "cold" else 2.0,) * (samples or self.most)


@pytest.fixture
def pretended(monkeypatch):
    """Everything believes that there is a GPU; the simulator does its work."""
    for module in (_run, _evolution, _ceilings, _tile_sweep):
        monkeypatch.setattr(module, "Stopwatch", Watch)
    monkeypatch.setattr(arguments, "choose_backend", lambda backend: "cuda")
    made = timing.Ours.__init__
    monkeypatch.setattr(timing.Ours, "__init__", lambda s, c, i, b: made(s, c, i, "sim"))
    known = timing.describe_protocol
    monkeypatch.setattr(timing, "describe_protocol", lambda b, *more: known("sim", *more))


class Library:
    """A peer that multiplies."""

    version = "2"

    def __init__(self, name="torch"):
        self.name = name

    def prepare(self, case, inputs, ours):
        if not isinstance(case, CLASSES["gemm"]):
            return None
        return lambda: None, lambda: inputs[0] @ inputs[1]

    def forget(self):
        pass


def test_run_on_a_clock(pretended):
    found = bench.run("gemm", ["tiled", "naive"], 24, cache=("warm", "cold"), peers=[Library()])
    told = [(row.variant, row.cache, row.median_ms) for row in found]
    assert told == [
        (name, *state)
        for name in ("tiled", "naive", "torch")
        for state in (("warm", 2.0), ("cold", 3.0))
    ]
    assert all(row.machine == "cuda" and row.flops == 2 * 24**3 for row in found)
    assert found.provenance["peers"] == {"torch": "2"}


def test_run_tells_what_fails_and_goes_on(pretended, monkeypatch):
    call = CLASSES["gemm"].call

    def fail(self, arrays, out, variant):
        if variant == "tiled":
            raise smemkit.CudaError("broken")
        if variant == "padded":
            return
        call(self, arrays, out, variant)

    monkeypatch.setattr(CLASSES["gemm"], "call", fail)
    with pytest.raises(smemkit.CudaError, match="broken"):
        bench.run("gemm", None, 8)
    with pytest.raises(bench.WrongResultError, match="'padded' is wrong"):
        bench.run("gemm", "padded", 8)
    lines = []
    found = bench.run("gemm", None, 8, warn=lines.append)
    names = [row.variant for row in found]
    assert names == [n for n in list_float32("gemm") if n not in ("tiled", "padded")]
    assert [line.split(":")[1] for line in lines] == [" without tiled", " without padded"]


def test_run_skips_what_the_gpu_cannot_run(pretended, monkeypatch):
    call = CLASSES["gemm"].call

    def refuse(self, arrays, out, variant):
        if variant == "tuned":
            raise smemkit.BackendError("needs compute capability 8.0")
        call(self, arrays, out, variant)

    monkeypatch.setattr(CLASSES["gemm"], "call", refuse)
    found = bench.run("gemm", None, 8)
    assert [row.variant for row in found] == [n for n in list_float32("gemm") if n != "tuned"]
    with pytest.raises(smemkit.BackendError, match="needs compute"):
        bench.run("gemm", ["tiled", "tuned"], 8)
    monkeypatch.setattr(_evolution, "time_host", lambda call, seconds: (8.0,))
    assert "tuned" not in [row.variant for row in bench.evolution("gemm", 8, found=[])]


# evolution ---------------------------------------------------------------------------------------


def test_evolution_on_a_clock(pretended, monkeypatch):
    monkeypatch.setattr(_evolution, "time_host", lambda call, seconds: (8.0,))
    found = bench.evolution("gemm", 16, found=[Library("cupy"), Library("torch")])
    assert isinstance(found, Results)
    names = ["numpy", *list_float32("gemm"), "cublas"]
    assert [step.variant for step in found.steps] == names
    first, *ours, last = found.steps
    assert (first.machine, first.time_ms, first.over_cpu, first.over_naive) == ("cpu", 8, 1, 0.25)
    for step in (*ours, last):
        assert (step.over_cpu, step.over_naive, step.of_library) == (4.0, 1.0, 1.0)
    lines = found.to_markdown().splitlines()
    assert len(lines) == 2 + len(names)
    assert lines[2] == "| numpy | cpu | 8 ms | 1 x | 0.25 x | 25 % |"
    assert len({line.count("|") for line in lines}) == 1
    assert len(str(found).splitlines()) == 1 + len(names)


def test_evolution_of_other_results():
    case = workloads.make_workload("gemm", 64)
    rows = [
        case.make_row("cublas", "cuda", times_ms=(1.0,), cache="warm"),
        case.make_row("naive", "cuda", times_ms=(10.0, 30.0, 20.0), cache="warm"),
        case.make_row("naive", "cuda", times_ms=(99.0,), cache="cold"),
        case.make_row("numpy", "cpu", times_ms=(4000.0,)),
        workloads.make_workload("gemm", 65).make_row(
            "tiled", "cuda", times_ms=(1.0,), cache="warm"
        ),
    ]
    found = bench.evolution("gemm", 64, results=Results(rows, {"device": "a"}))
    told = [(s.variant, s.time_ms, s.over_cpu, s.over_naive, s.of_library) for s in found.steps]
    assert told == [
        ("numpy", 4000.0, 1.0, 0.005, 0.00025),
        ("naive", 20.0, 200.0, 1.0, 0.05),
        ("cublas", 1.0, 4000.0, 20.0, 1.0),
    ]
    assert found.provenance == {"device": "a"}
    with pytest.raises(smemkit.ArgumentError, match="no times of gemm 9x9x9"):
        bench.evolution("gemm", 9, results=Results(rows, {}))
    assert bench.Evolution([], {}).steps == []


@pytest.mark.parametrize("family", FAMILIES)
def test_evolution_of_every_family(family):
    found = bench.evolution(family, 33, backend="sim", seconds=0)
    assert found.rows[0].variant == "numpy" and found.rows[0].times_ms
    assert all(row.machine == "sim" and not row.times_ms for row in found.rows[1:])
    assert "copy" not in [row.variant for row in found]
    assert workloads.first_variant(family) in [row.variant for row in found]
    assert CLASSES[family].library not in smemkit.variants(family)
    assert set(CLASSES[family].callers) <= peers.NAMES
    assert found.steps[1].over_cpu is None


@pytest.mark.parametrize(
    ("ms", "words"), [(2500, "2.5 s"), (1, "1 ms"), (0.9994, "999 us"), (1e-3, "1 us")]
)
def test_show_time(ms, words):
    assert _evolution.show_time(ms) == words


# ceilings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multiply_adds_are_right(dtype, machine):
    call, flops = _ceilings.prepare_multiply_add(dtype, machine, 1, 5)
    call()
    assert flops == 2 * 5 * _ceilings.THREADS * _ceilings.FMA_BLOCKS * 128
    out = smemkit.empty((512,), dtype, backend=machine)
    kernel = smemkit.RawKernel(_ceilings.write_multiply_add(dtype), f"multiply_add_{dtype}")
    _ceilings.run_multiply_add(kernel, out, 7, machine)
    assert np.array_equal(smemkit.asnumpy(out), _ceilings.expect_multiply_add(7, 512))


def test_multiply_adds_are_all_done():
    """As many as are counted as operations, and hardly anything else."""
    kernel = smemkit.RawKernel(_ceilings.write_multiply_add("float32"), "multiply_add_float32")
    out = smemkit.empty((256,), "float32", backend="sim")
    one = np.float32(1)
    counts = [
        kernel.profile(1, 256, (out, one, one, np.uint32(n)), backend="sim").counters[
            "instructions.thread"
        ]
        for n in (10, 11)
    ]
    assert counts[1] - counts[0] == 256 * (128 + 3)


@pytest.mark.parametrize("variant", _ceilings.SHARED)
def test_shared_reads_are_right(variant, machine):
    for rounds in (1, 3, 19):
        call, nbytes = _ceilings.prepare_shared(variant, machine, 1, rounds)
        assert nbytes == 8 * 256 * 8 * rounds * _ceilings.SHARED[variant][1]
    assert not _ceilings.expect_shared(variant, 16).any()


@pytest.mark.parametrize("cache", [None, 1 << 16, 3 << 18])
def test_l2_reads_are_right(cache, machine):
    """The array is a power of two, at most a third of the cache; every read is one of it."""
    call, nbytes, size = _ceilings.prepare_l2(machine, 2, 5, cache)
    assert nbytes == 2 * 8 * 256 * 8 * 5 * 16
    assert size == {None: 1 << 24, 1 << 16: 1 << 14, 3 << 18: 1 << 18}[cache]
    call()


def test_l2_reads_pass_l1_by():
    """All that is counted as bytes is read, by loads that only L2 keeps."""
    text = _ceilings.write_l2_reads(8, 1 << 16)
    kernel = smemkit.RawKernel(text, "l2_reads")
    array, out = np.arange(1 << 14, dtype="uint32"), np.zeros(8 * 256, "uint32")
    report = kernel.profile(8, 256, (out, array, np.uint32(3)), backend="sim")
    assert report.counters["global.load.bytes"] == 8 * 256 * 8 * 3 * 16
    assert text.count("ld.global") == text.count("ld.global.cg") == 8


def test_ceilings_on_a_clock(monkeypatch):
    for name, value in (("FMA_ROUNDS", 2), ("SHARED_ROUNDS", 19), ("COPY_BYTES", 1 << 16)):
        monkeypatch.setattr(_ceilings, name, value)
    monkeypatch.setattr(_ceilings, "L2_ROUNDS", 2)
    facts = {"multiprocessors": 1, "global_memory_bytes": 1 << 30, "l2_cache_bytes": 1 << 20}
    found = bench.Ceilings(list(_ceilings.measure_ceilings(Watch(), facts)), {"device": "none"})
    assert found.gb_per_s == pytest.approx(2 * (1 << 16) / 2e-3 / 1e9)
    assert found.gflop_per_s == pytest.approx(2 * 2048 * 128 * 2 / 2e-3 / 1e9)
    assert found.rate_of("float64") == found.gflop_per_s
    assert found.rate_of("int32") is None
    assert found.shared_gb_per_s == pytest.approx(2048 * 8 * 19 * 16 / 2e-3 / 1e9)
    assert found.l2_gb_per_s == pytest.approx(2048 * 8 * 2 * 16 / 2e-3 / 1e9)
    assert "copy" in str(found) and "not measured" not in str(found)
    assert "not measured" in str(bench.Ceilings([], {}))
    assert bench.Ceilings.from_dict(found.to_dict()) == found


def test_wrong_ceilings_are_no_ceilings(monkeypatch):
    monkeypatch.setattr(_ceilings, "expect_multiply_add", lambda rounds, threads: np.zeros(threads))
    with pytest.raises(bench.WrongResultError, match="multiply-adds of float32"):
        _ceilings.prepare_multiply_add("float32", "sim", 1, 5)
    monkeypatch.setattr(_ceilings, "expect_shared", lambda variant, rounds: np.ones(32))
    with pytest.raises(bench.WrongResultError, match="probe/banks"):
        _ceilings.prepare_shared("banks", "sim", 1, 5)
    monkeypatch.setattr(_ceilings, "expect_l2_reads", lambda *_: np.ones(32))
    with pytest.raises(bench.WrongResultError, match="L2"):
        _ceilings.prepare_l2("sim", 1, 5, 1 << 16)


def test_ceilings_on_a_gpu(cuda_missing):
    if cuda_missing is not None:
        pytest.skip("no GPU (the head of this report says why)")
    found = bench.ceilings(seconds=0.1)
    assert found.gb_per_s > 10 and found.shared_gb_per_s > found.gb_per_s
    assert found.gflop_per_s >= found.rate_of("float64") > 1
    assert found.l2_gb_per_s > 10  # how fast it is beside other work on the GPU, nothing tells


# memory_wall -------------------------------------------------------------------------------------


def make_ceilings(gb_per_s=1000.0, gflop_per_s=16000.0):
    rows = [
        Measurement(
            "ceiling", "copy", (1,), "uint8", "cuda", (1.0,), nbytes=gb_per_s * 1e6, cache="warm"
        ),
        Measurement(
            "ceiling", "multiply_add", (1,), "float32", "cuda", (1.0,), flops=gflop_per_s * 1e6
        ),
    ]
    return bench.Ceilings(rows, {})


def list_float32(family):
    """Variants that take float32, or any type of its size."""
    types = {name: facts["dtypes"] for name, facts in smemkit.variants(family).items()}
    return [name for name in types if {"float32", "bits32"} & set(types[name])]


@pytest.mark.parametrize("shape", [(128, 64, 192), (100, 70, 90), (1, 1, 1)])
def test_predicted_reads_of_gemm_are_counted(shape):
    """Exactly, for the kernels that stage a tile; at the edges nothing is read twice."""
    found = bench.memory_wall("gemm", shape, backend="sim")
    unstaged = {"naive", "naive_uncoalesced", "short_k"}
    if shape[0] == 1 or shape[2] == 1:
        unstaged.add("vector")  # one vector comes through the L1 cache; several are staged
    assert [row.variant for row in found.rows] == list_float32("gemm")
    for row in found.rows:
        # these read 16 bytes at a time, past what they need, or for tiles that the plan chooses;
        # and stream_k reads sums of other blocks
        own = ("warp_tiled", "tuned", "direct", "fma", "lean", "short_k", "stream_k", "vector")
        if row.variant not in own:
            assert row.counted_bytes == row.predicted_bytes, row
        assert row.staged == (row.variant not in unstaged)
        assert row.blocks == row.blocks_total
        assert row.moved_bytes % 32 == 0
    m, k, n = shape
    assert found.nbytes == 4 * (m * k + k * n + m * n)
    assert found.intensity == 2 * m * k * n / found.nbytes
    assert (found.bound, found.bound_ms, found.balance) == (None, None, None)
    assert "no ceilings are known here" in str(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_memory_wall_of_every_family(family):
    length = 64 if family in SQUARES else 1 << 15
    kind = CLASSES[family]
    if kind.find_conflict(kind.spread(length), kind.usual_dtype):  # a block has no room for it
        length = kind.usual_length
    found = bench.memory_wall(family, length, backend="sim")
    assert [row.variant for row in found.rows] == list_float32(family)
    for row in found.rows:
        # tuned reads the operands, and then the parts of whole tiles of them; vector a matrix for
        # each eight vectors
        most = {"tuned": 6.1, "vector": 9.1}.get(row.variant, 3.1)
        assert 0.3 < row.counted_bytes / row.predicted_bytes < most, row
        assert row.time_ms is None and row.reached is None
    assert str(found).count("\n") == 2 + len(found.rows)


def test_a_few_blocks_stand_for_all(monkeypatch):
    whole = bench.memory_wall("gemm", 256, variants=("naive", "tiled"), backend="sim")
    monkeypatch.setattr(roofline, "COUNTED_MOST", 1 << 22)
    part = bench.memory_wall("gemm", 256, variants=("naive", "tiled"), backend="sim")
    for one, other in zip(whole.rows, part.rows, strict=True):
        assert other.blocks < other.blocks_total == one.blocks
        assert other.counted_bytes == one.counted_bytes
        assert other.reuse == one.reuse
    assert "a few blocks, scaled to all" in str(part) and "few" not in str(whole)


def test_bound_and_what_is_reached():
    case = workloads.make_workload("gemm", 64)
    rows = [
        case.make_row("tiled", "cuda", times_ms=(0.001,), cache="warm"),
        case.make_row("tiled", "cuda", times_ms=(5.0,), cache="cold"),
    ]
    times = Results(rows, {})
    names = ("naive", "tiled")
    found = bench.memory_wall(
        "gemm", 64, variants=names, results=times, ceilings=make_ceilings(), backend="sim"
    )
    assert (found.balance, found.bound) == (16.0, "memory")
    assert found.bound_ms == pytest.approx(4 * 3 * 64 * 64 / 1e9)
    assert [row.time_ms for row in found.rows] == [None, 0.001]
    assert found.rows[1].reached == pytest.approx(found.bound_ms / 0.001)
    assert "bound by memory" in str(found)
    steep = make_ceilings(1000.0, 1000.0)
    found = bench.memory_wall("gemm", 64, variants=names, ceilings=steep, backend="sim")
    assert found.bound == "arithmetic"
    assert found.bound_ms == pytest.approx(2 * 64**3 / 1e9)
    moved = bench.memory_wall("transpose", 64, variants="naive", ceilings=steep, backend="sim")
    assert (moved.bound, moved.intensity) == ("memory", 0.0)
    both = Results([*times, *make_ceilings()], {})
    assert bench.memory_wall("gemm", 64, variants="tiled", results=both).rows[0].reached > 0
    with pytest.raises(smemkit.ArgumentTypeError, match="bench.ceilings"):
        bench.memory_wall("gemm", 64, ceilings=4.2, backend="sim")


# tile_sweep --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["tiled", "padded", "column", "column_padded"])
def test_tiles_of_gemm(variant, machine, needs_compiler):
    found = bench.tile_sweep("gemm", (50, 30, 41), variant=variant, backend=machine, seconds=0)
    assert [row.parameters["tile"] for row in found] == [4, 8, 16, 32]
    shared = [row.parameters["shared_bytes"] for row in found]
    assert shared == sorted(shared) and shared[0] > 0
    if machine == "sim":
        for row in found:
            side = row.parameters["tile"]
            reads = 4 * 30 * (50 * -(-41 // side) + 41 * -(-50 // side))
            assert row.counters["global.load.bytes"] == reads
    else:
        assert all(row.times_ms for row in found)


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_tiles_of_transpose(dtype, machine, needs_compiler):
    for variant in ("shared", "padded"):
        found = bench.tile_sweep(
            "transpose", (100, 70), variant=variant, dtype=dtype, tiles=(8, 24), backend=machine
        )
        assert [row.parameters["tile"] for row in found] == [8, 24]


def test_a_wrong_tile_is_found(needs_compiler, monkeypatch):
    write = _tile_sweep.write_source

    def spoil(*arguments):
        return write(*arguments).replace("= sum;", "= sum + 1;")

    monkeypatch.setattr(_tile_sweep, "write_source", spoil)
    with pytest.raises(bench.WrongResultError, match="tiled with tile 8"):
        bench.tile_sweep("gemm", 20, tiles=(8,), backend="sim")


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        (("reduce",), {}, "no kernel with a square tile; there are some of gemm, transpose"),
        (("nothing",), {}, "no family"),
        (("gemm",), {"variant": "tuned"}, "cannot be varied"),
        (("gemm",), {"tiles": (33,)}, "cannot be 33 wide; can: 1 to 32"),
        (("gemm",), {"tiles": (0,)}, "cannot be 0 wide"),
        (("gemm",), {"tiles": ()}, "tiles is empty"),
        (("gemm",), {"tiles": 8}, "must be a sequence of ints"),
        (("gemm",), {"tiles": (8.5,)}, "must be a sequence of ints"),
        (("transpose",), {"tiles": (12,)}, "multiples of 8 up to 64"),
        (("gemm", 1 << 14), {}, "too many for the simulator"),
    ],
)
def test_tile_sweep_refuses(arguments, keywords, words):
    with pytest.raises((smemkit.ArgumentError, smemkit.ArgumentTypeError), match=words):
        bench.tile_sweep(*arguments, backend="sim", **keywords)


# Progress ----------------------------------------------------------------------------------------


def test_progress_is_silent_where_nobody_watches(capsys):
    with _progress.Bar(3) as bar:
        bar.begin("words")
        bar.advance()
    assert bar.bar is None
    assert capsys.readouterr() == ("", "")


def test_progress_is_shown_on_a_terminal(monkeypatch):
    tqdm = pytest.importorskip("tqdm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(smemkit._progress, "DELAY_S", 0.0)
    with _progress.Bar(3) as bar:
        bar.begin("words")
        bar.advance()
        assert isinstance(bar.bar, tqdm.tqdm) and bar.bar.n == 1
    with _progress.Bar(3, wanted=False) as bar:
        assert bar.bar is None


def test_results_of_the_simulator_print_the_counters_of_the_command():
    found = bench.run("transpose", ["naive", "shared"], 64, backend="sim")
    head, naive, shared = str(found).splitlines()
    columns = "family shape dtype variant instructions conflicts sectors read [MB] divergent"
    assert head.split() == columns.split()
    assert naive.split() == "transpose 64x64 float32 naive 2,112 0 4.0 0.016 0".split()
    assert shared.split()[5] == f"{found.rows[1].counters['shared.load.conflicts']:,}"
    assert "median" in str(bench.recorded("h200"))
