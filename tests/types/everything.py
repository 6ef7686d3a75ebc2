"""Uses every public name of smemkit as a script of a user would. Nothing runs it.

test_types.py holds that no public name is missing here, and that mypy and pyright find no fault.
"""

import pathlib
from typing import Any, assert_type

import numpy

import smemkit
from smemkit import bench, compile, functions, lessons, plot, probe, report
from smemkit.bench import Ceilings, Evolution, Measurement, MemoryWall, Results, Stopwatch
from smemkit.cover import Branch, Coverage, FileCount, FunctionCount, LineCount, load_coverage
from smemkit.lessons import Exercise, Exercises, Step, Text, Verdict
from smemkit.predict import Prediction, Ranking
from smemkit.report import Advice, CheckReport, Comparison, Counters, Finding, Launch, Line, Sample
from smemkit.testing import CudaKernel, KernelFailure, KernelRun

SOURCE = 'extern "C" __global__ void fill(float *x, float value) { x[threadIdx.x] = value; }'


def test_kernel(cuda_kernel: CudaKernel) -> None:
    x = numpy.zeros(32, dtype="float32")
    try:
        run: KernelRun = cuda_kernel(1, 32, (x, numpy.float32(2)))
    except KernelFailure as failure:
        print(failure)
    else:
        print(run)


def use_arrays() -> smemkit.DeviceArray:
    host = numpy.ones((8, 8), dtype="float32")
    array = smemkit.asarray(host, backend="sim")
    assert_type(array, smemkit.DeviceArray)
    made = [
        smemkit.empty((2, 3), dtype=numpy.float64),
        smemkit.zeros(4),
        smemkit.ones((2, 2), "int32", "sim"),
        smemkit.full(3, 1.5, dtype="float64", backend="auto"),
        smemkit.arange(0, 10, 2, dtype="int64"),
        smemkit.empty_like(array),
        smemkit.zeros_like(host),
        smemkit.ones_like(array, dtype="float64"),
        smemkit.full_like(host, 7),
        smemkit.from_dlpack(host, copy=True),
        smemkit.zeros(3, device=0),
        array.copy(device=smemkit.Device(array.device)),
    ]
    pinned = smemkit.pinned_empty((2, 3), dtype="int32", backend="sim")
    smemkit.mapped(pinned, backend="sim", device=None)
    smemkit.managed_empty((2, 3), "int32", "sim", device=None)
    assert_type(pinned, numpy.ndarray[Any, Any])
    texture = smemkit.Texture(
        host,
        channels=1,
        layered=False,
        cube=False,
        filter="linear",
        address=("clamp", "border"),
        normalized=False,
        as_floats=False,
        border=(0.5, 1.0),
        surface=False,
        device=None,
        backend="sim",
    )
    assert_type(texture.device, str)
    assert_type(texture.asnumpy(), numpy.ndarray[Any, Any])
    print(
        texture.shape,
        texture.dtype,
        texture.channels,
        texture.filter,
        texture.address,
        int(texture),
    )
    smemkit.release_memory()
    print(made[0].shape, made[0].dtype, made[0].nbytes, made[0].backend, smemkit.asnumpy(array))
    return array


def use_streams(x: smemkit.DeviceArray) -> float:
    stream, start, end = smemkit.Stream(backend="sim"), smemkit.Event(), smemkit.Event(timing=True)
    with stream as entered:
        assert_type(entered, smemkit.Stream)
        start.record()
        y = smemkit.gemm(x, x)
        end.record(stream)
    other = smemkit.Stream(device="sim", non_blocking=True, priority=-1)
    other.wait(end)
    other.wait(stream)
    assert_type(smemkit.gemm(x, y, stream=other), smemkit.DeviceArray)
    assert_type(smemkit.asnumpy(x, stream=stream), numpy.ndarray[Any, Any])
    x.fill(0, stream=0)
    print(x.copy(stream=other), x.astype("int32", stream=other), smemkit.zeros(3, stream=stream))
    smemkit.RawKernel(SOURCE, "fill")[1, 32, stream](x, 1.0)
    stream.synchronize()
    end.synchronize()
    print(stream.done, stream.device, stream.backend, stream.handle, stream.closed, end.done)
    print(smemkit.Stream(0).__cuda_stream__())
    other.close()
    return start.elapsed(end)


def use_families(x: smemkit.DeviceArray) -> None:
    a = numpy.ones((8, 8), dtype="float32")
    print(smemkit.gemm(a, a, variant="padded"), smemkit.transpose(x), smemkit.reduce(a))
    print(smemkit.reduce(a, "argmax", axis=0, keepdims=True), smemkit.reduce_axis(a[None], "mean"))
    print(smemkit.scan(a[0], "max", "exclusive"), smemkit.sort(a))
    print(smemkit.dot(a[0], a[0]), smemkit.smooth(a[0]), smemkit.conv2d(a, a[:3, :3], "reflect"))
    print(smemkit.vector_add(a[0], a[0], backend="sim"), smemkit.gather(a[0], [0, 1]))
    assert_type(smemkit.histogram(a.ravel(), 16, (0.0, 1.0)), numpy.ndarray[Any, Any])
    assert_type(smemkit.histogram(a, 16, weights=a), numpy.ndarray[Any, Any])
    assert_type(smemkit.histogram_weighted(a, a, 16), numpy.ndarray[Any, Any])
    assert_type(smemkit.transpose(x), smemkit.DeviceArray)
    try:
        functions.gather(a[0], [99], out=numpy.empty(1, "float32"))
    except functions.ArgumentIndexError as error:
        print(error.kernel, error.source_line)


def use_catalog() -> None:
    print(smemkit.__version__, smemkit.families()["gemm"]["shows"], smemkit.variants("gemm"))
    print(smemkit.source("gemm", "tiled"), smemkit.ptx("gemm", "tiled"), smemkit.limits("9.0"))
    print(smemkit.device_info(), smemkit.get_backend(), smemkit.show_config("dict"))
    smemkit.set_backend("sim")
    with smemkit.Device(0) as device:
        assert_type(device, smemkit.Device)
        print(device.id, device.name, device.memory.free_bytes, device.info["warp_lanes"])
        device.synchronize()
    print([device.backend for device in smemkit.devices()])
    print(smemkit.occupancy("gemm/tiled", (32, 32)), smemkit.suggest_block("gemm/tiled"))
    print(smemkit.bank_access([4 * lane for lane in range(32)]).conflicts, smemkit.sectors([0, 4]))
    for name, facts in smemkit.counters().items():
        assert_type(name, str)
        print(name, facts["unit"])


def use_raw(x: smemkit.DeviceArray) -> None:
    module = smemkit.RawModule(SOURCE, options=("-DN=1",), backend="sim")
    kernel = module.get_function("fill")
    assert_type(kernel, smemkit.RawKernel)
    kernel((1, 1), (32,), (x, 1.0), shared_mem=0)
    kernel[1, 32](x, 1.0)
    print(module.kernels, module.ptx, module.source, kernel.name, kernel.attributes["num_regs"])
    print(smemkit.RawKernel(SOURCE, "fill").profile(1, 32, (x, 1.0)).advice)
    print(smemkit.kernel("gemm", "tiled", dtype="float32").check(1, 32, ()).findings)


def use_reports(path: pathlib.Path) -> None:
    a = numpy.ones((64, 64), dtype="float32")
    found = smemkit.profile(smemkit.gemm, a, a, variant="column", blocks=1)
    assert_type(found, report.Report)
    other: report.Report = report.profile(smemkit.gemm, a, a, variant="padded")
    counters: Counters = found.counters
    launches: tuple[Launch, ...] = found.launches
    lines: list[Line] = found.lines
    sample: Sample = found.access(op="load", space="shared")
    advice: list[Advice] = smemkit.explain(found)
    compared: Comparison = found.compare(other, names=("column", "padded"))
    print(counters["shared.load.conflicts"], launches[0].grid, lines[0].place, sample.active())
    held: report.ConditionResult = found.holds("shared.load.conflicts > 0")
    print(held, found.time_ms, found.picture(), advice[0].text)
    print(compared.summary, compared.to_dataframe(), found.to_dataframe(), found.to_dict())
    found.save(path / "x.html")
    print(smemkit.load_report(str(path / "x.json")), found.to_html())
    checked = smemkit.check(smemkit.gemm, a, a, order="reverse", padding=4)
    assert_type(checked, CheckReport)
    findings: list[Finding] = checked.findings
    print(bool(checked), findings[0].kind, findings[0].first.place, checked.warning)
    choice: report.Choice = smemkit.explain_choice(smemkit.gemm, a, a)
    weighed: tuple[report.Candidate, ...] = choice.candidates
    print(choice.variant, weighed[0].time_us, choice["tuned"].tile, choice.to_dict())
    table: report.OccupancyTable = smemkit.occupancy_table("gemm/tiled", (32, 32), registers=40)
    print(table["8.6"]["percent"], [row["warps"] for row in table])
    try:
        print(report.counters(), report.explain(found), report.check(smemkit.gemm, a, a))
        print(report.load_report("x.json"), report.occupancy_table("gemm/tiled"))
        print(report.explain_choice(smemkit.gemm, a, a))
    except (report.UnknownCounterError, report.UncountedError) as error:
        print(error)


def use_bench() -> Results:
    results = bench.run("gemm", ["naive", "padded"], (64, 64, 64), peers=False, say=print)
    assert_type(results, Results)
    row: Measurement = next(iter(results))
    ceilings: Ceilings = bench.ceilings(seconds=0.1)
    evolution: Evolution = bench.evolution("gemm", (64, 64, 64), results=results)
    guess: Evolution = bench.evolution("gemm", 64, predicted=True, device="rtx 4090")
    print(guess.steps[0].limited_by, guess[0].range_ms, guess[0].is_predicted)
    print(bench.run("gemm", predicted=True, device=smemkit.card("t4")))
    print(bench.memory_wall("gemm", 64, predicted=True, device="t4").predicted_for)
    wall: MemoryWall = bench.memory_wall("gemm", (64, 64, 64), ceilings=ceilings)
    watch = Stopwatch(seconds=0.1)
    print(row.median_ms, row.gflop_per_s, row.quantile_ms(0.2), watch.time(print, "warm"))
    print(evolution.to_markdown(), wall.bound, bench.tile_sweep("gemm", tiles=[8, 16]))
    print(bench.recorded().select(family="gemm").to_dataframe(), bench.load("x.json").to_json())
    print(Results.load("x.json").compare(results), bench.WrongResultError.__mro__)
    return results


def use_plots(results: Results) -> None:
    axes = [
        plot.terms(smemkit.predict(smemkit.gemm, 1, 1)),
        plot.speed(results, title="x"),
        plot.ladder(results, peer="numpy"),
        plot.stride(results, parameter="stride"),
        plot.roofline(results, bench.ceilings()),
        plot.bank_stride(results),
        plot.banks([4 * lane for lane in range(32)], 4),
        plot.sectors(results),
        plot.divergence(results),
        plot.tiles((64, 64), (16, 16), depth=8),
    ]
    axes[0].set_title("x")


def use_probes() -> None:
    accesses: probe.GlobalAccess = probe.global_access(stride=2, dtype="float64")
    banks: probe.BankAccess = probe.bank_access(2, width=8)
    both: probe.RowColumn = probe.row_column(padded=True)
    parted: probe.Divergence = probe.divergence(next(iter(probe.PATTERNS)))
    late: probe.Latency = probe.latency(probe.LEVELS[0])
    limits: probe.SharedLimits = probe.shared_limits(backend="sim")
    print(accesses.sectors_per_request, banks.conflicts_per_request, both.row.ns_per_request)
    print(parted.active_lanes, late.ns, limits.to_dict())


def use_lessons() -> None:
    known: Exercises = lessons.exercises("00")
    task: Exercise = lessons.exercise("transpose.padding")
    verdict: Verdict = task.judge("kernel.cu")
    steps: tuple[Step, ...] = verdict.steps
    hint: Text = task.hint()
    print(
        known, verdict.sentence, steps[0].passed, hint, smemkit.exercise("x"), smemkit.exercises()
    )


def use_coverage(path: pathlib.Path) -> tuple[list[Branch], list[LineCount], list[FunctionCount]]:
    with smemkit.coverage(package=True) as covered:
        use_families(smemkit.zeros(8))
    assert_type(covered, Coverage)
    print(covered, load_coverage(path).percent)
    file: FileCount = covered.files["mine.cu"]
    return file.branches, [*file.lines.values()], [*file.functions.values()]


def use_predictions(a: smemkit.DeviceArray) -> None:
    prediction = smemkit.predict(smemkit.gemm, a, a, device=smemkit.card("t4"), cache="cold")
    print(prediction.time_ms, prediction.terms["launch"].amount, smemkit.cards())
    ranking = smemkit.rank(
        smemkit.gemm, a, a, device="t4", choices={"variant": ("tiled", "padded")}
    )
    assert_type(ranking, Ranking)
    print(ranking.best, ranking.rivals[0].label, ranking.is_clear, ranking.prediction.time_ms)
    kernel = smemkit.kernel("gemm", "tiled", dtype="float32")
    assert_type(kernel.predict(1, 32, (a,), device="t4", blocks=None), Prediction)
    assert_type(kernel[1, 32].predict(a, device="t4"), Prediction)


def use_python_kernels(kernel: Any, a: smemkit.DeviceArray) -> None:
    smemkit.from_triton(kernel)[(8,)](a, 8)
    smemkit.from_numba(kernel)[8, 32](a)


def use_compilers(path: pathlib.Path) -> None:
    ptx: str = compile.compile_source(SOURCE, ["-arch=compute_80"])
    print(ptx, compile.compile_by(SOURCE), compile.describe_cache(), compile.ADVICE)
    print(compile.find_nvcc(), compile.find_nvrtc(), compile.find_ptxas(), compile.FILE_NAME)
    print(compile.find_nvdisasm())
    print(compile.compile_nvcc(path, SOURCE), compile.compile_nvrtc(path, SOURCE))
    print(compile.PTXAS_VERSION, compile.add_expressions(SOURCE, ["f<int>"]))
    print(compile.take_names(ptx, ["f<int>"]), compile.choose_options([], "90"))
    try:
        usage: dict[str, Any] = compile.compile_usage(SOURCE, [], "90")
        print(usage, compile.join_usage(ptx, ""), compile.assemble_usage(path, ptx, "90"))
    except compile.UnknownArchError as error:
        print(error)


ERRORS: tuple[type[smemkit.Error], ...] = (
    smemkit.ArgumentError,
    smemkit.ArgumentIndexError,
    smemkit.ArgumentTypeError,
    smemkit.BackendError,
    smemkit.BarrierError,
    smemkit.CompileError,
    smemkit.CudaError,
    smemkit.DeadlockError,
    smemkit.ExecutionError,
    smemkit.InternalError,
    smemkit.InterruptedError,
    smemkit.LaunchError,
    smemkit.MisalignedError,
    smemkit.OutOfBoundsError,
    smemkit.OutOfMemoryError,
    smemkit.PtxError,
    smemkit.PtxTypeError,
    smemkit.ShapeError,
    smemkit.SharedMemoryError,
    smemkit.StepBudgetError,
    smemkit.TrapError,
    smemkit.KernelAssertionError,
    smemkit.UnsupportedError,
)
