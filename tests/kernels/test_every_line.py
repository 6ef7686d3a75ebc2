"""Small calls that execute every line of every kernel of the package, their results compared.

A line that none of them reaches fails here: it lacks a call, or it is dead, or UNREACHED says why
no call can reach it. The command

    smemkit coverage run --package -- python -m pytest tests/kernels tests/probe tests/py

counts the same in the tests themselves, with the ways of branches, in minutes.
"""

import contextlib
import itertools
import pathlib

import numpy as np
import pytest
from kernels.test_conv2d import oracle
from probe.test_probe import KERNELS as PROBES
from probe.test_probe import launch
from sim.check.altered import (
    OF_PART,
    all_in_parts,
    multiprocessors,
    ragged,
    regular,
    small_machine,
)

import smemkit
from smemkit.bench import workloads

pytestmark = pytest.mark.slow
FOLDER = pathlib.Path(smemkit.__file__).parent / "kernels"
FAMILIES = [
    (family, variant)
    for family in workloads.list_families()
    for variant in smemkit.variants(family)
]
# {file: {line: why no call reaches it}}; a line that one does reach may not stand here.
UNREACHED = {
    "gemm/direct.cu": {
        "const long long stride = THREADS / ACROSS * (ALONG_K ? step : step_k);": (
            "the tile of 64 x 128 is for rows of four neighbours alone, copied together"
        )
    },
    "gemm/lean.cu": dict.fromkeys(
        ("else if (row_of(e) < at.rows && col_of(e) < at.cols)", "to[i] = sum[e * 4 + i];"),
        "a call writes its result to a place that is a multiple of 16 bytes",
    ),
    "scan/single_pass.cu": {
        "before_tile[0] = NEUTRAL;": "arrays of one tile take the kernel of small tiles"
    },
}
# {kernel: sizes of calls more}: for parts of k, for whole tiles
PARTS = {"m": 40, "k": 3000, "n": 36}
SIZES = {
    **{
        f"gemm/{name}": (PARTS,)
        for name in (
            "direct",
            "dmma",
            "fma",
            "lean",
            "overlapped",
            "split_k",
            "stream_k",
            "tensor",
            "tf32",
            "tuned",
        )
    },
    "gemm/vector": ({"m": 1, "k": 4200, "n": 512}, {"m": 3, "k": 4200, "n": 512}),
    "gemm/short_k": ({"m": 500, "k": 7, "n": 500}, {"m": 500, "k": 3, "n": 500}),
    "transpose/vectorized": ({"m": 128, "n": 128},),
}
SECTION = 1024 * 12_288  # elements of float32 that a section of scan/single_pass has


def equal(got, expected):
    assert np.array_equal(got, expected, equal_nan=np.asarray(expected).dtype.kind == "f")


def integers(seed, shape, dtype="float32"):
    return np.random.RandomState(seed).randint(-3, 4, shape).astype(dtype)


# Calls by size and type --------------------------------------------------------------------------


def list_samples(family, variant):
    """(sizes, type, keywords, whether of a machine with one multiprocessor) of calls."""
    types, choices = smemkit.variants(family)[variant]["dtypes"], workloads.list_choices(family)
    more, own = SIZES.get(f"{family}/{variant}", ()), OF_PART.get(f"{family}/{variant}", {})
    for dtype in types:
        is_first = dtype == types[0]
        usual = [*regular(family), *ragged(family)] if is_first else ragged(family)[-1:]
        for sizes in (*usual, *more):
            yield sizes, dtype, choices[0], False
        for several in own.values():
            for sizes in several if is_first else several[:1]:
                yield sizes, dtype, choices[0], True
        for keywords in choices[1:]:
            yield regular(family)[0], dtype, keywords, False


def call_samples(family, variant):
    random = np.random.RandomState(7)
    for sizes, dtype, keywords, is_small in list_samples(family, variant):
        sample = workloads.make_sample(family, sizes, dtype, random, keywords)
        with small_machine(family, variant) if is_small else contextlib.nullcontext():
            sample.check(sample.call(variant, "sim"), variant)


# Calls of one kernel or a few --------------------------------------------------------------------


def multiply_transposed(variant, dtype, m=33, k=50, n=41):
    """Operands that are contiguous along their columns."""
    a, b = integers(1, (k, m), dtype), integers(2, (n, k), dtype)
    of_device = [smemkit.asarray(x, backend="sim").T for x in (a, b)]
    equal(smemkit.asnumpy(smemkit.gemm(*of_device, variant=variant)), a.T @ b.T)


def multiply_transposed_by_tiles(variant):
    """The same for each tile that the kernel has."""
    with multiprocessors(1):
        for sizes, *_ in OF_PART[f"gemm/{variant}"].values():
            multiply_transposed(variant, "float32", **sizes)


def multiply_transposed_doubles(variant):
    """In tiles that look ahead where neighbours of a row lie side by side, and here do not."""
    multiply_transposed(variant, "float64")
    with multiprocessors(1):
        for sizes in ((35, 70, 34), (66, 71, 250)):
            multiply_transposed(variant, "float64", *sizes)
    for count, sizes in itertools.chain.from_iterable(all_in_parts("gemm", "dmma").values()):
        with multiprocessors(count):
            multiply_transposed(variant, "float64", *(sizes[axis] for axis in "mkn"))


def multiply_in_parts(variant):
    """Operands whose rows lie side by side, in parts of k that the last block of a tile adds."""
    for count, sizes in itertools.chain.from_iterable(all_in_parts("gemm", variant).values()):
        a, b = (
            integers(i, (sizes[y], sizes[x]), "float32") for i, y, x in ((1, *"mk"), (2, *"kn"))
        )
        with multiprocessors(count):
            equal(smemkit.gemm(a, b, variant=variant, backend="sim"), a @ b)


def multiply_in_many_parts(variant):
    """So many that a launch adds them, and lanes share those of an element; and a mixed layout."""
    with multiprocessors(1):
        a, b = integers(1, (250, 301), "float64"), integers(2, (301, 130), "float64")
        equal(smemkit.gemm(a, b, variant=variant, backend="sim"), a @ b)
    with multiprocessors(132):
        got = smemkit.gemm(
            np.ones((128, 16_000)), np.ones((16_000, 128)), variant=variant, backend="sim"
        )
    equal(got, np.full((128, 128), 16_000.0))


def multiply_a_column(variant):
    """A vector whose elements are not neighbours."""
    a, b = integers(1, (41, 70)), integers(2, (70, 3))
    of_device = [smemkit.asarray(a, backend="sim"), smemkit.asarray(b, backend="sim")[:, 1:2]]
    equal(smemkit.asnumpy(smemkit.gemm(*of_device, variant=variant)), a @ b[:, 1:2])


def multiply_at_an_odd_address(variant):
    """A matrix whose rows no wide read can take, and a vector across them."""
    a, b = integers(1, (1, 4200)), integers(2, (4200, 512))
    room = smemkit.asarray(np.append(0, b).astype("float32"), backend="sim")
    row = smemkit.gemm(
        smemkit.asarray(a, backend="sim"), room[1:].reshape(b.shape), variant=variant
    )
    equal(smemkit.asnumpy(row), a @ b)


def multiply_long_odd_rows(variant):
    """Rows that are cut into parts, and that begin where no wide read can."""
    a, b = integers(1, (3, 5001)), integers(2, (5001, 1))
    equal(smemkit.gemm(a, b, variant=variant, backend="sim"), a @ b)


def multiply_no_numbers(variant):
    """Infinities and NaN, few and many of a row or column, and sums that overflow."""
    a, b = integers(1, (256, 70)), integers(2, (70, 129))
    a[3, 5], a[4, 6], a[5, 20:40] = np.inf, np.nan, np.inf
    b[7, 9], b[30:50, 11] = -np.inf, np.inf
    a[60], b[:, 60] = 2.0**100, 2.0**27
    expected = smemkit.gemm(a, b, variant="naive", backend="sim")
    for count in (1, 132):  # large tiles and small ones
        with multiprocessors(count):
            equal(smemkit.gemm(a, b, variant=variant, backend="sim"), expected)


def filter_images(variant):
    """All modes and widths of filters; pixels that are no numbers; rows of whole vectors or not."""
    sizes = ((3, 3), (5, 4), (2, 11), (11, 2), (7, 6), (9, 8), (11, 11))
    shapes = itertools.cycle(((9, 300), (40, 33)))
    modes = itertools.cycle(("constant", "reflect", "nearest", "wrap"))
    for size, shape, mode in zip(sizes * 2, shapes, modes, strict=False):
        image, weights = integers(3, shape), integers(4, size)
        form = "convolve" if size[0] % 2 else "correlate"
        if size[0] == size[1]:
            weights[0, 0], weights[-1, -1], image[3, 5] = 0, 1, np.inf
        words = {"mode": mode, "form": form, "variant": variant, "backend": "sim"}
        with np.errstate(invalid="ignore"):
            equal(smemkit.conv2d(image, weights, **words), oracle(image, weights, mode, form))
    images, filters = integers(3, (2, 9, 14)), integers(4, (2, 3, 3))
    expected = [oracle(*pair, "constant", "convolve") for pair in zip(images, filters, strict=True)]
    equal(smemkit.conv2d(images, filters, variant=variant, backend="sim"), expected)


def count_in_uneven_bins(variant):
    """Edges that a guess misses, far and near; many elements a thread."""
    x = np.random.RandomState(5).random_sample(30_000)
    x = np.r_[x, 0, 1, 2, -1, np.nan].astype("float32")
    uneven = np.r_[0, np.geomspace(1e-6, 1, 300)]
    with multiprocessors(1):
        for bins in ((10, (0, 1)), (uneven,), (1 - uneven[::-1],)):
            got = smemkit.histogram(x, *bins, variant=variant, backend="sim")
            equal(got, np.histogram(x, *bins)[0])


def reduce_long_axes(variant):
    """Axes of several parts, or of a few elements; and several equal elements."""
    for shape, dtype in itertools.product(
        ((1, 9001, 3), (2, 40_000, 1), (2, 15, 3)), ("float32", "float64", "int32", "int64")
    ):
        x = integers(6, shape, dtype)
        for op in ("sum", "argmax", "argmin"):
            got = smemkit.reduce_axis(x, op, variant=variant, backend="sim")
            equal(got, getattr(np, op)(x, axis=1))


def find_no_numbers(variant):
    """The first of equal elements, which are none: also where the last values of a block meet."""
    for op, dtype in itertools.product(("argmax", "argmin"), ("float32", "float64")):
        x = np.full((1, 200, 3), np.nan, dtype)
        got = smemkit.reduce_axis(x, op, variant=variant, backend="sim")
        equal(got, getattr(np, op)(x, axis=1))


def scan_sections():
    """More tiles than a section has; and a whole tile whose elements are converted."""
    for dtype, size in (("float32", SECTION + 20_000), ("int32", 13_000)):
        got = smemkit.scan(np.ones(size, dtype), variant="single_pass", backend="sim")
        equal(got, np.arange(1, size + 1, dtype=got.dtype))


MORE = {  # {kernel or family: functions}; those of a family take the variant
    "conv2d": (filter_images,),
    "histogram": (count_in_uneven_bins,),
    "gemm/tuned": (multiply_no_numbers,),
    "gemm/direct": (multiply_no_numbers, lambda name: multiply_transposed(name, "float32")),
    "gemm/dmma": (multiply_transposed_doubles, multiply_in_many_parts),
    "gemm/fma": (multiply_transposed_by_tiles,),
    "gemm/lean": (
        multiply_transposed_by_tiles,
        multiply_in_parts,
    ),
    "gemm/vector": (multiply_a_column, multiply_at_an_odd_address, multiply_long_odd_rows),
    "reduce_axis/panel": (reduce_long_axes,),
    "reduce_axis/strip": (reduce_long_axes, find_no_numbers),
    "reduce_axis/thread": (reduce_long_axes, find_no_numbers),
    "reduce_axis/warp": (reduce_long_axes, find_no_numbers),
    "scan/single_pass": (lambda _: scan_sections(),),
}

# Kernels that no family has ----------------------------------------------------------------------


def turn_axes():
    """Arrays whose elements copy, rows, tiles and squares of array/ move, with ragged edges."""
    turns = {
        (7, 9, 5, 3): (3, 1, 0, 2),
        (6, 3, 1201): (1, 0, 2),
        (3, 70, 41): (0, 2, 1),
        (2, 132, 200): (0, 2, 1),
        (2, 128, 64): (0, 2, 1),
    }
    for (shape, axes), dtype in itertools.product(turns.items(), ("uint8", "float32")):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        equal(smemkit.transpose(x, axes, backend="sim"), x.transpose(axes))


def copy_far_elements():
    """The first block of array/copy, of more elements than 31 bits count: many axes, a long one."""
    fields = [("length", "i8", 8), ("to", "i8", 8), ("from", "i8", 8), ("rank", "i4")]
    layout = np.zeros(2, np.dtype(fields, align=True))
    lengths = (1 << 24, 2, 2, 2, 2, 2, 4, 8)
    for dtype in ("uint8", "uint16", "uint32", "uint64", "complex128"):
        x = np.arange(2048).astype(dtype).reshape(lengths[1:] + (2,))
        outs = np.zeros((2, 1024), dtype)
        turned = outs[0].reshape(lengths[:0:-1]).T
        layout["rank"] = 8, 1
        layout["length"][0], layout["length"][1, 0] = lengths, (1 << 32) + 8
        layout["from"][0, 1:] = np.array(x.strides[:-1]) // x.itemsize
        layout["to"][0, 1:] = np.array(turned.strides) // x.itemsize
        layout["from"][1, 0], layout["to"][1, 0] = 2, 1
        kernel = smemkit.kernel("array", "copy", dtype)
        for out, how in zip(outs, layout, strict=True):
            count = int(np.prod(how["length"][: how["rank"]]))
            kernel(1, 256, (out, x, count, how), backend="sim")
        equal(turned, x[..., 0])
        equal(outs[1], x.ravel()[::2])


def launch_probes():
    """What they compute is compared in tests/probe, for these sizes and others."""
    for variant, facts in PROBES.items():
        for dtype in facts["dtypes"]:
            launch("__call__", variant, dtype)
    x, out = np.arange(1025, dtype="uint32"), np.zeros(1025, "uint32")
    turn = smemkit.kernel("probe", "mixed_shared", "uint32")
    turn(1, 256, (x, out, x.size), shared_mem=4, backend="sim")
    equal(out, x[::-1])


@pytest.fixture(scope="module")
def missed():
    """{"gemm/tiled.cu": numbers of the lines that no call has executed}."""
    with smemkit.coverage(package=True) as counted:
        for family, variant in FAMILIES:
            call_samples(family, variant)
            for call in (*MORE.get(family, ()), *MORE.get(f"{family}/{variant}", ())):
                call(variant)
        turn_axes()
        copy_far_elements()
        launch_probes()
    return {
        "/".join(pathlib.Path(path).parts[-2:]): [
            number for number, line in file.lines.items() if not line.lanes
        ]
        for path, file in counted.files.items()
    }


def test_every_kernel_is_called(missed):
    assert {path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.cu")} <= set(missed)


def find_texts(name, numbers):
    """The lines of a file; their numbers where the build has made it (types.cu)."""
    path = FOLDER / name
    lines = path.read_text().splitlines() if path.exists() else ()
    return {lines[number - 1].strip() if lines else number for number in numbers}


def test_every_line_is_executed(missed):
    found = {name: find_texts(name, numbers) for name, numbers in missed.items() if numbers}
    assert found == {name: set(explained) for name, explained in UNREACHED.items()}
