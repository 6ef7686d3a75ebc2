"""The cases of the part "shapes": calls of ours, and the same work by the libraries.

A case is prepared when it is measured. What the installed smemkit or a library cannot do raises
there, and is left out with that reason.
"""

from __future__ import annotations

import ctypes
import importlib
import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy

import smemkit

from . import peers, timing
from .arrays import CUPY, TORCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .arrays import Libraries
    from .types import Call

    Shape = tuple[int, ...]

CUBLAS, CUB = "cuBLAS", "CUB"
LENGTH_MOST = 16384  # of a random shape
ROWS, COLUMNS = 8, 64  # of the part of a product that is compared with float64
CORNER = 64  # rows and columns of a convolution that are compared
PERIOD = 4_194_301  # elements of the operands, which repeat; no length of a row divides it
PRODUCT_BYTES = {"float32": 4, "float64": 8}


@dataclass(frozen=True)
class Sizes:
    """How many random shapes, and the named ones."""

    single: int = 200
    double: int = 100
    seed: int = 20261124
    pool: int = LENGTH_MOST**2  # elements of an operand at most
    named: tuple[Shape, ...] = (
        (256, 256, 256),
        (512, 512, 512),
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (4096, 4096, 4096),
        (8192, 8192, 8192),
        (4095, 4097, 4093),
        (2048, 1024, 512),
        (64, 4096, 4096),
        (128, 65536, 128),
        (4, 8192, 8192),
        (8192, 8192, 4),
        (1, 4096, 4096),
        (4096, 4096, 1),
        (1, 16384, 16384),
        (16384, 16384, 1),
    )
    doubles: tuple[Shape, ...] = (
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (4096, 4096, 4096),
        (8192, 8192, 8192),
        (4095, 4097, 4093),
        (128, 65536, 128),
    )
    low: tuple[Shape, ...] = (
        (8192, 8192, 8192),
        (4096, 4096, 4096),
        (1024, 1024, 1024),
        (64, 4096, 4096),
    )
    stacks: tuple[Shape, ...] = ((64, 256, 256, 256), (512, 64, 64, 64), (8, 1024, 1024, 1024))
    scans: tuple[int, ...] = (1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28)
    sums: tuple[int, ...] = (1 << 20, 1 << 24, 1 << 28)
    planes: tuple[Shape, ...] = ((1 << 20, 64), (64, 1 << 20), (8192, 8192), (1000, 100_003))
    counted: tuple[int, ...] = (1 << 20, 1 << 26)
    images: tuple[tuple[Shape, int], ...] = (
        ((8192, 8192), 3),
        ((1080, 1920), 3),
        ((64, 512, 512), 3),
        ((8192, 8192), 5),
        ((4096, 4096), 15),
        ((4096, 4096), 31),
    )
    sorted: tuple[Shape, ...] = ((1 << 18, 64), (1 << 16, 256), (1 << 14, 1024), (1 << 12, 4096))
    permuted: tuple[tuple[Shape, Shape, str], ...] = (
        ((16384, 16384), (1, 0), "float32"),
        ((16384, 16384), (1, 0), "int8"),
        ((16384, 16384), (1, 0), "float16"),
        ((8192, 8192), (1, 0), "float64"),
        ((8192, 8192), (1, 0), "complex128"),
        ((512, 512, 512), (2, 1, 0), "float32"),
        ((512, 512, 512), (0, 2, 1), "float32"),
        ((512, 512, 512), (1, 0, 2), "float32"),
        ((64, 256, 64, 128), (0, 2, 1, 3), "float32"),
        ((64, 64, 128, 256), (0, 3, 1, 2), "float16"),
    )


class Subjects(NamedTuple):
    """The calls that are timed, and what gives each result's largest error, when they have run."""

    calls: dict[str, Call]  # ours under "smemkit"
    judge: Callable[[], dict[str, float]]


class Case(NamedTuple):
    """What is measured under one name, with how much must move and be computed."""

    group: str
    name: str
    family: str
    shape: Shape
    dtype: str
    prepare: Callable[[], Subjects]
    nbytes: float | None = None
    flops: float | None = None


@dataclass
class Operands:
    """Arrays of random numbers on the device, views of one memory for each type."""

    tools: Libraries
    most: int
    load_cub: Callable[[], ctypes.CDLL] = peers.load_cub
    pools: dict[str, Any] = field(default_factory=dict)

    @property
    def period(self) -> int:
        """The elements after which a pool repeats itself."""
        return min(PERIOD, 2 * self.most)

    def take(self, shape: Shape, dtype: str, slot: int = 0) -> Any:
        """An array of ours; operands of one call have different slots, 0 and 1."""
        count = math.prod(shape)
        if count > self.most:
            raise smemkit.ArgumentError(f"an operand of {count:,} elements does not fit")
        if dtype not in self.pools:
            self.pools.clear()  # the types come one after the other
            self.pools[dtype] = self._fill(dtype)
        start = slot * self.most
        return self.pools[dtype][start : start + count].reshape(shape)

    def _fill(self, dtype: str) -> Any:
        rng, backend = numpy.random.default_rng(timing.SEED), self.tools.backend
        period = self.period
        if dtype in ("int8", "uint8"):
            part = rng.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max, period, dtype)
        else:
            part = rng.standard_normal(period, "float32").astype(dtype)
        source = smemkit.asarray(part, backend=backend)
        pool = smemkit.empty((2 * self.most,), dtype, backend=backend)
        for start in range(0, 2 * self.most, period):
            stop = min(start + period, 2 * self.most)
            pool[start:stop] = source[: stop - start]
        return pool

    def view(self, x: Any) -> Any:
        """The same memory as a tensor of torch; without torch a copy in NumPy."""
        torch = self.tools.torch
        return smemkit.asnumpy(x) if torch is None else torch.from_dlpack(x)

    def read(self, x: Any) -> numpy.ndarray[Any, Any]:
        """Values of an array of any library: in float64, complex ones as they are."""
        if hasattr(x, "double"):
            x = (x if x.is_complex() else x.double()).cpu().numpy()
        elif isinstance(x, smemkit.DeviceArray):
            x = smemkit.asnumpy(x)
        elif hasattr(x, "get"):
            x = x.get()
        values: numpy.ndarray[Any, Any] = numpy.asarray(x)
        return values if numpy.iscomplexobj(values) else values.astype("float64")


# Products -----------------------------------------------------------------------------------------


def draw_shapes(count: int, seed: int) -> list[Shape]:
    """Random m, k and n, each with equal chances for every power of two between 1 and 16384."""
    rng = numpy.random.default_rng(seed)
    top = math.log(LENGTH_MOST)
    return [
        tuple(round(math.exp(rng.uniform(0, top))) for _ in range(3))  # m, k, n
        for _ in range(count)
    ]


def choose_part(count: int, most: int) -> slice:
    """So many of an axis, spread over it."""
    return slice(0, count, max(1, count // most))


def judge_product(held: Operands, a: Any, b: Any, made: dict[str, Any]) -> dict[str, float]:
    """{subject: the largest error against float64, in parts of the largest element}."""
    rows, columns = choose_part(a.shape[-2], ROWS), choose_part(b.shape[-1], COLUMNS)
    lead = tuple(slice(0, 2) for _ in a.shape[:-2])
    exact = held.read(a[(*lead, rows)]) @ held.read(b[(*lead, slice(None), columns)])
    scale = float(numpy.abs(exact).max()) or 1.0
    return {
        name: float(numpy.abs(held.read(c[(*lead, rows, columns)]) - exact).max()) / scale
        for name, c in made.items()
    }


def prepare_product(
    held: Operands, left: Shape, right: Shape, dtype: str, precision: str | None = None
) -> Subjects:
    """Of matrices or stacks of them, beside cuBLAS as torch calls it."""
    torch = held.tools.torch
    if dtype == "bfloat16":
        if torch is None:
            raise RuntimeError("torch makes the operands, and is not here")
        x, y = (
            held.view(held.take(shape, "float32", slot)).to(torch.bfloat16)
            for slot, shape in enumerate((left, right))
        )
        a, b = smemkit.asarray(x), smemkit.asarray(y)
    else:
        a, b = held.take(left, dtype), held.take(right, dtype, 1)
        x, y = held.view(a), held.view(b)
    words: dict[str, Any] = {"precision": precision} if precision else {}
    c = smemkit.gemm(a, b, **words)
    calls: dict[str, Call] = {"smemkit": lambda: smemkit.gemm(a, b, out=c, **words)}
    made = {"smemkit": held.view(c)}
    if torch is not None:
        allowed = bool(precision)
        torch.backends.cuda.matmul.allow_tf32 = allowed
        if dtype == "int8":
            z = torch._int_mm(x, y)
            calls[CUBLAS] = lambda: torch._int_mm(x, y, out=z)
        else:
            multiply = torch.mm if x.ndim == 2 else torch.bmm
            z = multiply(x, y)
            calls[CUBLAS] = lambda: multiply(x, y, out=z)
        made[CUBLAS] = z

    def judge() -> dict[str, float]:
        if torch is None:  # the view is a copy
            made["smemkit"] = smemkit.asnumpy(c)
        return judge_product(held, x, y, made)

    return Subjects(calls, judge)


def list_products(
    held: Operands, group: str, shapes: tuple[Shape, ...] | list[Shape], dtype: str, tf32: bool
) -> Iterator[Case]:
    """A group of products of one type."""
    item = {"bfloat16": 2, "float16": 2, "int8": 1}.get(dtype) or PRODUCT_BYTES[dtype]
    for shape in shapes:
        *stack, m, k, n = shape
        count, precision = math.prod(stack), "tf32" if tf32 else None
        left, right = (*stack, m, k), (*stack, k, n)
        yield Case(
            group,
            f"gemm {precision or dtype}",
            "gemm",
            shape,
            dtype,
            partial(prepare_product, held, left, right, dtype, precision),
            float(item * count * (m * k + k * n + m * n)),
            2.0 * count * m * k * n,
        )


def list_all_products(held: Operands, sizes: Sizes) -> Iterator[Case]:
    """Every product: named shapes first."""
    random = draw_shapes(sizes.single, sizes.seed)
    yield from list_products(held, "float32, named shapes", sizes.named, "float32", False)
    yield from list_products(held, "float32, random shapes", random, "float32", False)
    yield from list_products(held, "stacks of matrices", sizes.stacks, "float32", False)
    yield from list_products(held, "low precision", sizes.low, "float32", True)
    for dtype in ("float16", "bfloat16", "int8"):
        yield from list_products(held, "low precision", sizes.low, dtype, False)
    random = draw_shapes(sizes.double, sizes.seed + 1)
    yield from list_products(held, "float64, named shapes", sizes.doubles, "float64", False)
    yield from list_products(held, "float64, random shapes", random, "float64", False)


# Other families -----------------------------------------------------------------------------------


def judge_equal(
    held: Operands, made: dict[str, Callable[[], Any]], make_exact: Callable[[], Any] | None
) -> dict[str, float]:
    """{subject: the largest error, in parts of the largest element}.

    Without a function that makes the exact result, that is the last subject's.
    """
    read = {name: held.read(get()).ravel() for name, get in made.items()}
    exact = list(read.values())[-1] if make_exact is None else held.read(make_exact()).ravel()
    scale = float(numpy.abs(exact).max()) or 1.0
    return {name: float(numpy.abs(x - exact).max()) / scale for name, x in read.items()}


def prepare_cub(held: Operands, function: str, n: int) -> Subjects:
    """The running sum, or the sum, of float32, beside CUB, on the same array."""
    x = held.take((n,), "float32")
    if function == "peer_scan":
        out, theirs = (smemkit.empty((n,), "float32", backend=x.backend) for _ in range(2))
        call = partial(smemkit.scan, x, out=out)
    else:
        out, theirs = (smemkit.empty((), "float32", backend=x.backend) for _ in range(2))
        call = partial(smemkit.reduce, x, out=out)
    calls: dict[str, Call] = {"smemkit": call}
    if held.tools.backend == "cuda":
        calls[CUB] = find_cub(held.load_cub(), function, x, theirs)
    part = slice(None, None, max(1, n >> 20))
    made = {"smemkit": lambda: out, CUB: lambda: theirs}
    if function == "peer_scan":
        made = {"smemkit": lambda: out[part], CUB: lambda: theirs[part]}

    def make_exact() -> Any:
        y = held.view(x)
        wide = y.astype("float64") if isinstance(y, numpy.ndarray) else y.double()
        return wide.cumsum(0)[part] if function == "peer_scan" else wide.sum()

    return Subjects(
        calls, lambda: judge_equal(held, {name: made[name] for name in calls}, make_exact)
    )


def find_cub(library: ctypes.CDLL, function: str, x: Any, out: Any) -> Call:
    """The call of a function of peers.CUB_SOURCE."""
    run = getattr(library, function)
    run.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_longlong]
    size = ctypes.c_size_t(0)
    rest = x.pointer, out.pointer, x.size

    def ask(work: int | None) -> None:
        if run(work, ctypes.addressof(size), *rest) != 0:
            raise smemkit.CudaError(f"CUB: {function} fails")

    ask(None)
    work = smemkit.empty((max(size.value, 1),), "uint8", backend="cuda")
    return lambda: ask(work.pointer)


def list_cub(held: Operands, sizes: Sizes) -> Iterator[Case]:
    """Scans and sums of whole arrays."""
    for n in sizes.scans:
        prepare = partial(prepare_cub, held, "peer_scan", n)
        yield Case("scan", "scan", "scan", (n,), "float32", prepare, 8.0 * n)
    for n in sizes.sums:
        prepare = partial(prepare_cub, held, "peer_sum", n)
        yield Case("sum", "sum", "reduce", (n,), "float32", prepare, 4.0 * n)


def prepare_axis(held: Operands, shape: Shape, axis: int) -> Subjects:
    """Sums along an axis, beside CuPy and torch."""
    tools, x = held.tools, held.take(shape, "float32")
    reduce: Any = smemkit.reduce  # which takes axis= in versions that can do this
    out = reduce(x, axis=axis)
    calls: dict[str, Call] = {"smemkit": lambda: reduce(x, axis=axis, out=out)}
    made: dict[str, Callable[[], Any]] = {"smemkit": lambda: out}
    if tools.cupy is not None:
        y = tools.cupy.asarray(x)
        cupy_out = y.sum(axis)
        calls[CUPY] = lambda: y.sum(axis, out=cupy_out)
        made[CUPY] = lambda: cupy_out
    if tools.torch is not None:
        z = tools.torch.from_dlpack(x)
        torch_out = tools.torch.sum(z, axis)
        calls[TORCH] = lambda: tools.torch.sum(z, axis, out=torch_out)
        made[TORCH] = lambda: torch_out

    def make_exact() -> Any:
        y = held.view(x)
        return (y.astype("float64") if isinstance(y, numpy.ndarray) else y.double()).sum(axis)

    return Subjects(calls, lambda: judge_equal(held, made, make_exact))


def list_axes(held: Operands, sizes: Sizes) -> Iterator[Case]:
    """Sums along either axis of tall, wide and square arrays."""
    for shape in sizes.planes:
        for axis in (0, 1):
            prepare = partial(prepare_axis, held, shape, axis)
            name, nbytes = f"sum, axis={axis}", 4.0 * math.prod(shape)
            yield Case("reduce by axis", name, "reduce", shape, "float32", prepare, nbytes)


def prepare_histogram(held: Operands, n: int, kind: str) -> Subjects:
    """256 bins of bytes, or of float32 with even or uneven edges, beside CuPy and torch."""
    tools = held.tools
    x = held.take((n,), "uint8" if kind == "bytes" else "float32")
    edges = numpy.linspace(-4, 4, 257)
    if kind == "uneven edges":
        edges = numpy.sign(edges) * edges**2 / 4
    words: dict[str, tuple[Any, Any]] = {
        "bytes": (256, None),
        "even edges": (256, (-4.0, 4.0)),
        "uneven edges": (edges, None),
    }
    bins, span = words[kind]
    around = (0, 256) if kind == "bytes" else span  # as the others count bytes
    call: Any = partial(smemkit.histogram, x, bins, span)
    out = call()
    calls: dict[str, Call] = {"smemkit": partial(call, out=out)}
    made: dict[str, Callable[[], Any]] = {"smemkit": lambda: out}
    kept: dict[str, Any] = {}

    def keep(name: str, make: Callable[[], Any]) -> None:
        calls[name] = lambda: kept.update({name: make()})
        made[name] = lambda: kept[name]

    if tools.cupy is not None:
        cupy, y = tools.cupy, tools.cupy.asarray(x)
        there = cupy.asarray(edges) if kind == "uneven edges" else 256
        keep(CUPY, lambda: cupy.histogram(y, there, around)[0])
    if tools.torch is not None and kind == "even edges":
        z = tools.torch.from_dlpack(x)
        keep(TORCH, lambda: tools.torch.histc(z, 256, -4.0, 4.0))

    def make_exact() -> Any:
        part = smemkit.asnumpy(x[: held.period])
        times, rest = divmod(n, held.period)
        counts = numpy.histogram(part, bins, around)[0] * times
        return counts + numpy.histogram(part[:rest], bins, around)[0]

    return Subjects(calls, lambda: judge_equal(held, made, make_exact))


def list_histograms(held: Operands, sizes: Sizes) -> Iterator[Case]:
    """Bytes last, since they are another memory."""
    for kind in ("even edges", "uneven edges", "bytes"):
        for n in sizes.counted:
            dtype = "uint8" if kind == "bytes" else "float32"
            prepare = partial(prepare_histogram, held, n, kind)
            nbytes = float(n * numpy.dtype(dtype).itemsize)
            name = f"histogram, {kind}"
            yield Case("histogram", name, "histogram", (n,), dtype, prepare, nbytes)


def prepare_convolution(held: Operands, shape: Shape, p: int) -> Subjects:
    """An image or a stack of them with one filter, beside CuPy and torch (cuDNN)."""
    tools, x, weights = held.tools, held.take(shape, "float32"), held.take((p, p), "float32", 1)
    out = smemkit.conv2d(x, weights, form="correlate")
    ours = partial(smemkit.conv2d, x, weights, form="correlate", out=out)
    calls: dict[str, Call] = {"smemkit": ours}
    corner = (*(0,) * (len(shape) - 2), slice(0, CORNER), slice(0, CORNER))
    made: dict[str, Callable[[], Any]] = {"smemkit": lambda: out[corner]}
    if tools.cupy is not None:
        filters = importlib.import_module("cupyx.scipy.ndimage")
        y, w = tools.cupy.asarray(x), tools.cupy.asarray(weights)
        w = w.reshape((1,) * (len(shape) - 2) + (p, p))
        cupy_out = tools.cupy.empty_like(y)
        calls[CUPY] = lambda: filters.correlate(y, w, output=cupy_out, mode="constant")
        made[CUPY] = lambda: cupy_out[corner]
    if tools.torch is not None:
        torch = tools.torch
        torch.backends.cudnn.allow_tf32 = False
        z = torch.from_dlpack(x).reshape(-1, 1, *shape[-2:])
        v, kept = torch.from_dlpack(weights)[None, None], {}

        def convolve() -> None:
            kept["out"] = torch.nn.functional.conv2d(z, v, padding=p // 2)

        calls[TORCH] = convolve
        made[TORCH] = lambda: kept["out"].reshape(shape)[corner]

    def make_exact() -> Any:
        near = (*corner[:-2], slice(0, CORNER + p), slice(0, CORNER + p))
        image = numpy.pad(held.read(x[near]), ((p // 2, p), (p // 2, p)))
        high, wide = (min(length, CORNER) for length in shape[-2:])
        exact = numpy.zeros((high, wide))
        for (i, j), weight in numpy.ndenumerate(held.read(weights)):
            exact += weight * image[i : i + high, j : j + wide]
        return exact

    return Subjects(calls, lambda: judge_equal(held, made, make_exact))


def list_convolutions(held: Operands, sizes: Sizes) -> Iterator[Case]:
    for shape, p in sizes.images:
        prepare, count = partial(prepare_convolution, held, shape, p), math.prod(shape)
        name = f"conv2d, {p} x {p}"
        flops = 2.0 * count * p * p
        yield Case("conv2d", name, "conv2d", shape, "float32", prepare, 8.0 * count, flops)


def prepare_transpose(held: Operands, shape: Shape, axes: Shape, dtype: str) -> Subjects:
    """Any order of axes, beside CuPy and torch."""
    tools, x = held.tools, held.take(shape, dtype)
    transpose: Any = smemkit.transpose  # which takes axes= in versions that can do this
    words = {} if axes == (1, 0) else {"axes": axes}
    out = transpose(x, **words)
    calls: dict[str, Call] = {"smemkit": lambda: transpose(x, out=out, **words)}
    made: dict[str, Callable[[], Any]] = {"smemkit": lambda: out.reshape(-1)[:PERIOD]}
    if tools.cupy is not None:
        y = tools.cupy.asarray(x).transpose(axes)
        cupy_out = tools.cupy.empty(y.shape, y.dtype)
        calls[CUPY] = lambda: tools.cupy.copyto(cupy_out, y)
        made[CUPY] = lambda: cupy_out.ravel()[:PERIOD]
    if tools.torch is not None:
        z = tools.torch.from_dlpack(x).permute(axes)
        torch_out = tools.torch.empty(z.shape, dtype=z.dtype, device=z.device)
        calls[TORCH] = lambda: torch_out.copy_(z)
        if not dtype.startswith("complex"):
            made[TORCH] = lambda: torch_out.reshape(-1)[:PERIOD]
    return Subjects(calls, lambda: judge_equal(held, made, None))


def list_transposes(held: Operands, sizes: Sizes) -> Iterator[Case]:
    for shape, axes, dtype in sorted(sizes.permuted, key=lambda row: row[2]):
        nbytes = 2.0 * math.prod(shape) * numpy.dtype(dtype).itemsize
        prepare = partial(prepare_transpose, held, shape, axes, dtype)
        name = f"transpose {axes}"
        yield Case("transpose", name, "transpose", shape, dtype, prepare, nbytes)


def prepare_sort(held: Operands, shape: Shape) -> Subjects:
    """Each row by itself, beside CuPy and torch."""
    tools, x = held.tools, held.take(shape, "float32")
    sort: Any = smemkit.sort
    out = sort(x)
    calls: dict[str, Call] = {"smemkit": lambda: sort(x, out=out)}
    made: dict[str, Callable[[], Any]] = {"smemkit": lambda: out}
    kept: dict[str, Any] = {}

    def keep(name: str, make: Callable[[], Any]) -> None:
        calls[name] = lambda: kept.update({name: make()})
        made[name] = lambda: kept[name]

    if tools.cupy is not None:
        y = tools.cupy.asarray(x)
        keep(CUPY, lambda: tools.cupy.sort(y))
    if tools.torch is not None:
        z = tools.torch.from_dlpack(x)
        keep(TORCH, lambda: tools.torch.sort(z)[0])
    return Subjects(calls, lambda: judge_equal(held, made, None))


def list_sorts(held: Operands, sizes: Sizes) -> Iterator[Case]:
    for shape in sizes.sorted:
        prepare, nbytes = partial(prepare_sort, held, shape), 8.0 * math.prod(shape)
        yield Case("sort of rows", "sort", "sort", shape, "float32", prepare, nbytes)


PARTS: tuple[Callable[[Operands, Sizes], Iterator[Case]], ...] = (
    list_all_products,
    list_axes,
    list_convolutions,
    list_sorts,
    list_cub,  # after what is measured while CUB is being compiled
    list_histograms,
    list_transposes,
)
