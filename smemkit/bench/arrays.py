"""Arrays: what the host waits for, beside CuPy and torch: copies, whole calls, launches.

Every sample is time of the host's clock, from a device that has nothing to do to the end of the
work. Of launches and small calls a sample is many of them, until the last has returned, divided by
their number. Arrays of the host were written before, and results are kept until the sample ends. A
"new" result is memory that the call allocates; "out" was written before. The order of the tasks is
that of the rows, so libraries that are compared are measured one after the other.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy

import smemkit

from . import timing
from .results import Measurement, describe_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .._types import Machine

OURS, CUPY, TORCH = "smemkit", "CuPy", "torch"
WARM_UPS = 2
BLOCK = 256


@dataclass(frozen=True)
class Sizes:
    """How much is copied and computed."""

    copied: int = 1 << 28  # bytes
    product: int = 4096
    image: int = 8192
    strided: int = 16384
    small: int = 256
    spread: int = 16384  # of the product over several devices
    launches: int = 2000
    samples: int = 9
    samples_long: int = 5


class Task(NamedTuple):
    """A call whose time is taken.

    name says what is done, variant by whom; calls are those of a sample, and waits says whether the
    sample ends with the work or with the last return.
    """

    family: str
    name: str
    variant: str
    shape: tuple[int, ...]
    call: Callable[[], object]
    nbytes: float | None = None
    flops: float | None = None
    calls: int = 1
    waits: bool = True


class Libraries:
    """Ours, and the others that are installed and see the GPU.

    Parameters
    ----------
    backend : str
        The simulator is for tests, and has no peers.
    """

    def __init__(self, backend: Machine = "cuda") -> None:
        self.backend: Machine = backend
        self.missing: list[str] = []
        self.cupy: Any = self._find("cupy")
        self.torch: Any = self._find("torch")
        self.devices = smemkit.devices(backend)

    def _find(self, name: str) -> Any:
        if self.backend == "sim":
            return None
        try:
            module = importlib.import_module(name)
            if name == "cupy":
                module.zeros(1)
            else:
                module.zeros(1, device="cuda")
        except Exception as error:  # of any kind: the others are still measured
            self.missing.append(f"{name}: {error!r:.200}")
            return None
        return module

    @property
    def versions(self) -> dict[str, str]:
        """{name: version} of the peers."""
        found = {"cupy": self.cupy, "torch": self.torch}
        return {name: module.__version__ for name, module in found.items() if module is not None}

    def wait(self) -> None:
        """Until all devices have nothing to do."""
        for device in self.devices:
            device.synchronize()

    def put(self, array: numpy.ndarray[Any, Any]) -> smemkit.DeviceArray:
        """An array of ours on the device."""
        return smemkit.asarray(array, backend=self.backend)

    def ones(self, *shape: int) -> smemkit.DeviceArray:
        """The same, of float32."""
        return smemkit.ones(shape, "float32", backend=self.backend)


# Copies -------------------------------------------------------------------------------------------


def list_uploads(tools: Libraries, sizes: Sizes) -> Iterator[Task]:
    """Memory of the host to the device."""
    cupy, torch = tools.cupy, tools.torch
    shape, nbytes = (sizes.copied // 4,), float(sizes.copied)
    x = numpy.ones(shape, "float32")
    pinned = smemkit.pinned_empty(shape, "float32", backend=tools.backend)
    pinned[...] = 1

    def make(name: str, variant: str, call: Callable[[], object]) -> Task:
        return Task("copy", name, variant, shape, call, nbytes)

    name = "NumPy to the device"
    yield make(name, OURS, lambda: tools.put(x))
    if cupy is not None:
        yield make(name, CUPY, lambda: cupy.asarray(x))
    if torch is not None:
        yield make(name, TORCH, lambda: torch.from_numpy(x).cuda())
    name = "pinned memory to the device"
    yield make(name, OURS, lambda: tools.put(pinned))
    if cupy is not None:
        target = cupy.empty(shape, "float32")
        yield make(name, CUPY, lambda: target.set(pinned))
    if torch is not None:
        source = torch.ones(shape).pin_memory()
        yield make(name, TORCH, source.cuda)


def list_downloads(tools: Libraries, sizes: Sizes) -> Iterator[Task]:
    """Memory of the device to the host."""
    cupy, torch = tools.cupy, tools.torch
    shape, nbytes = (sizes.copied // 4,), float(sizes.copied)
    d, out = tools.ones(*shape), numpy.ones(shape, "float32")
    pinned = smemkit.pinned_empty(shape, "float32", backend=tools.backend)
    pinned[...] = 1
    theirs = None if cupy is None else cupy.ones(shape, "float32")
    tensor = None if torch is None else torch.ones(shape, device="cuda")

    def make(name: str, variant: str, call: Callable[[], object]) -> Task:
        return Task("copy", name, variant, shape, call, nbytes)

    name = "the device to new memory"
    yield make(name, OURS, lambda: smemkit.asnumpy(d))
    if theirs is not None:
        yield make(name, CUPY, theirs.get)
    if tensor is not None:
        yield make(name, TORCH, lambda: tensor.cpu().numpy())
    name = "the device to out="
    yield make(name, OURS, lambda: smemkit.asnumpy(d, out=out))
    if theirs is not None:
        yield make(name, CUPY, lambda: theirs.get(out=out))
    if tensor is not None:
        kept = torch.from_numpy(out)
        yield make(name, TORCH, lambda: kept.copy_(tensor))
    name = "the device to pinned memory"
    yield make(name, OURS, lambda: smemkit.asnumpy(d, out=pinned))
    if theirs is not None:
        yield make(name, CUPY, lambda: theirs.get(out=pinned))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "x.T": lambda x: x.T,
    "x[::2]": lambda x: x[::2],
    "x[:, ::2]": lambda x: x[:, ::2],
    "x": lambda x: x,
}


def list_strided(tools: Libraries, sizes: Sizes) -> Iterator[Task]:
    """Copies of views on the device."""
    n = sizes.strided
    ours, cupy, torch = tools.ones(n, n), tools.cupy, tools.torch
    theirs = None if cupy is None else cupy.ones((n, n), "float32")
    tensor = None if torch is None else torch.ones((n, n), device="cuda")
    for name, view in VIEWS.items():
        words, shape, nbytes = f"copy of {name}", view(ours).shape, 2.0 * view(ours).nbytes
        yield Task("view", words, OURS, shape, partial(_copy, view, ours), nbytes)
        if theirs is not None:
            yield Task("view", words, CUPY, shape, partial(_copy, view, theirs), nbytes)
        if tensor is not None:
            yield Task("view", words, TORCH, shape, partial(_clone, view, tensor, torch), nbytes)


def _copy(view: Callable[[Any], Any], x: Any) -> object:
    return view(x).copy()


def _clone(view: Callable[[Any], Any], x: Any, torch: Any) -> object:
    return view(x).clone(memory_format=torch.contiguous_format)


# Calls ------------------------------------------------------------------------------------------


def list_host_calls(tools: Libraries, sizes: Sizes) -> Iterator[Task]:
    """From NumPy to NumPy."""
    rng = numpy.random.default_rng(timing.SEED)
    n, m, backend, cupy = sizes.product, sizes.image, tools.backend, tools.cupy
    a, b = (rng.random((n, n), "float32") for _ in range(2))
    x, w = rng.random((m, m), "float32"), rng.random((5, 5), "float32")
    square, image = 12.0 * n * n, 8.0 * m * m
    flops = 2.0 * n**3

    def run(function: Callable[..., Any], *arrays: object) -> object:
        return cupy.asnumpy(function(*map(cupy.asarray, arrays)))

    def call_ours(name: str, *arrays: object) -> Callable[[], object]:
        return lambda: getattr(smemkit, name)(*arrays, backend=backend)

    ours, theirs = call_ours("gemm", a, b), lambda: run(cupy.matmul, a, b)
    yield Task("gemm", "gemm", OURS, (n, n, n), ours, square, flops)
    if cupy is not None:
        yield Task("gemm", "gemm", CUPY, (n, n, n), theirs, square, flops)
    ours, theirs = call_ours("transpose", x), lambda: run(lambda y: y.T.copy(), x)
    yield Task("transpose", "transpose", OURS, (m, m), ours, image)
    if cupy is not None:
        yield Task("transpose", "transpose", CUPY, (m, m), theirs, image)
    yield Task("conv2d", "conv2d", OURS, (m, m, 5, 5), call_ours("conv2d", x, w), image)
    if cupy is not None:
        filters = importlib.import_module("cupyx.scipy.ndimage")
        theirs = lambda: run(lambda y, z: filters.convolve(y, z, mode="constant"), x, w)  # noqa: E731
        yield Task("conv2d", "conv2d", CUPY, (m, m, 5, 5), theirs, image)


def list_launches(tools: Libraries, sizes: Sizes) -> Iterator[Task]:
    """A kernel of three arrays and a number, and a small product into an array that is there."""
    n, cupy, torch = 4 * BLOCK, tools.cupy, tools.torch
    kernel, number = smemkit.kernel("vector_add", "naive", "float32"), numpy.int64(n)

    def launch(variant: str, arrays: Sequence[object]) -> Task:
        x, y, z = arrays
        return Task(
            "launch",
            "launch of a kernel",
            variant,
            (n,),
            lambda: kernel((4,), (BLOCK,), (x, y, z, number)),
            calls=sizes.launches,
            waits=False,
        )

    if cupy is not None:
        # behind NVRTC's own headers, whose templates have a T
        source = "#define T float\n" + smemkit.source("vector_add", "naive")
        theirs = cupy.RawKernel(source, "vector_add_naive")
        x, y, z = arrays = [cupy.ones(n, "float32") for _ in range(3)]
        yield Task(
            "launch",
            "launch of a kernel",
            CUPY,
            (n,),
            lambda: theirs((4,), (BLOCK,), (x, y, z, number)),
            calls=sizes.launches,
            waits=False,
        )
        yield launch("smemkit, on CuPy's arrays", arrays)
    yield launch(OURS, [tools.ones(n) for _ in range(3)])
    if torch is not None:
        tensors = [torch.ones(n, device="cuda") for _ in range(3)]
        yield launch("smemkit, on torch's tensors", tensors)
    yield from list_small_products(tools, sizes)


def list_small_products(tools: Libraries, sizes: Sizes) -> Iterator[Task]:
    """gemm(out=) beside the others' products."""
    m, cupy, torch = sizes.small, tools.cupy, tools.torch

    def make(variant: str, call: Callable[[], object]) -> Task:
        calls = max(sizes.launches // 4, 1)
        name = "product with out="
        return Task("gemm", name, variant, (m, m, m), call, calls=calls, waits=False)

    a, b, c = (tools.ones(m, m) for _ in range(3))
    if cupy is not None:
        x, z = cupy.ones((m, m), "float32"), cupy.ones((m, m), "float32")
        yield make(CUPY, lambda: cupy.matmul(x, x, out=z))
    yield make(OURS, lambda: smemkit.gemm(a, b, out=c))
    yield make("smemkit, variant=tiled", lambda: smemkit.gemm(a, b, variant="tiled", out=c))
    if torch is not None:
        p, q = torch.ones((m, m), device="cuda"), torch.ones((m, m), device="cuda")
        yield make(TORCH, lambda: torch.matmul(p, p, out=q))


def list_spread(tools: Libraries, sizes: Sizes) -> Iterator[Task]:
    """A product over several devices, with operands and result on the first."""
    n, count = sizes.spread, len(tools.devices)
    if count < 2:
        tools.missing.append("products over several devices: there is one alone")
        return
    a, b, out = (tools.ones(n, n) for _ in range(3))
    for several in (1, 2, 4, 8):
        if several <= count:
            call = partial(smemkit.gemm, a, b, out=out, devices=list(range(several)))
            variant = f"smemkit, {several} device{'s' if several > 1 else ''}"
            yield Task("gemm", "product over devices", variant, (n, n, n), call, flops=2.0 * n**3)


PARTS: tuple[Callable[[Libraries, Sizes], Iterator[Task]], ...] = (
    list_launches,
    list_uploads,
    list_downloads,
    list_host_calls,
    list_strided,
    list_spread,
)


# Measuring ----------------------------------------------------------------------------------------


def measure(task: Task, wait: Callable[[], None], samples: int) -> Measurement:
    """The row of a task."""
    for _ in range(WARM_UPS):
        task.call()
    times = []
    for _ in range(samples):
        wait()
        start = time.perf_counter()
        for _ in range(task.calls):
            result = task.call()
        if task.waits:
            wait()
        times.append(1e3 * (time.perf_counter() - start) / task.calls)
        del result
    return Measurement(
        task.family,
        task.variant,
        tuple(map(int, task.shape)),
        "float32",
        "cuda",
        host_times_ms=tuple(times),
        nbytes=task.nbytes,
        flops=task.flops,
        parameters={"task": task.name},
    )


def record_arrays(
    tools: Libraries, sizes: Sizes, late: Callable[[], bool]
) -> tuple[list[Measurement], dict[str, Any]]:
    """The part "arrays" of the present machine.

    Parameters
    ----------
    tools : Libraries
    sizes : Sizes
    late : callable
        Whether no new task is to be begun.

    Returns
    -------
    (rows, provenance)
    """
    rows: list[Measurement] = []
    left_out = []
    for part in PARTS:
        try:
            for task in part(tools, sizes):
                if late():
                    left_out.append(f"{task.name}: {task.variant}: no time is left")
                    continue
                long = task.calls == 1
                samples = sizes.samples_long if long else sizes.samples
                rows.append(measure(task, tools.wait, samples))
        except Exception as error:  # of any kind: what was measured is kept
            left_out.append(f"{part.__name__}: {error!r:.300}")
        if tools.cupy is not None:
            tools.cupy.get_default_memory_pool().free_all_blocks()
        if tools.torch is not None:
            tools.torch.cuda.empty_cache()
    config = smemkit.show_config(mode="dict")
    facts = timing.describe_protocol(tools.backend) | {
        "peers": tools.versions,
        "host_threads": config["simulator_threads"],
        "devices": len(tools.devices),
        "protocol": (__doc__ or "").partition("\n\n")[2].strip(),
        "missing": tools.missing,
        "left_out": left_out,
    }
    return rows, describe_run(**facts)
