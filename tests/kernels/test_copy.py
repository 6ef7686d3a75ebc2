"""The kernels of array: elements between two arrays of any strides."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smemkit

AXES = 8  # of the kernel's layout
LAYOUT = np.dtype(
    [("length", "i8", AXES), ("to", "i8", AXES), ("from", "i8", AXES), ("rank", "i4")], align=True
)


def copy(to, source, layout, machine):
    """Launches the kernel on the elements of two flat arrays, from (offset, layout) of each."""
    (to, target_offset), (source, source_offset) = to, source
    count = int(np.prod(layout["length"][: int(layout["rank"])]))
    width = to.itemsize
    d, e = smemkit.asarray(to, backend=machine), smemkit.asarray(source, backend=machine)
    kernel = smemkit.kernel("array", "copy", f"uint{8 * width}")
    args = (
        np.uint64(d.pointer + width * target_offset),
        np.uint64(e.pointer + width * source_offset),
        np.int64(count),
        layout,
    )
    kernel((count + 1023) // 1024, 256, args, backend=machine)
    to[:] = smemkit.asnumpy(d)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_strides(data):
    rank = data.draw(st.integers(1, AXES))
    shape = data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    width = data.draw(st.sampled_from([1, 2, 4, 8]))
    order = data.draw(st.permutations(range(rank)))
    flips = data.draw(st.lists(st.sampled_from([1, -1]), min_size=rank, max_size=rank))
    steps = data.draw(st.lists(st.integers(1, 2), min_size=rank, max_size=rank))
    stretched = np.multiply(shape, steps)
    source = np.arange(np.prod(stretched)).astype(f"u{width}")
    whole = source.reshape(stretched)
    view = whole[tuple(slice(None, None, step) for step in steps)]
    view = view[tuple(slice(None, None, flip) for flip in flips)].transpose(order)
    target = np.zeros(view.shape, f"u{width}")
    layout = np.zeros((), LAYOUT)
    layout["length"][:rank] = view.shape
    layout["to"][:rank] = np.array(target.strides) // width
    layout["from"][:rank] = np.array(view.strides) // width
    layout["rank"] = rank
    first = (view.__array_interface__["data"][0] - source.__array_interface__["data"][0]) // width
    flat = target.reshape(-1)
    copy((flat, 0), (source, first), layout, "sim")
    assert np.array_equal(flat.reshape(view.shape), view)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_repeats_and_scatters(width, machine):
    """A source stride of 0 repeats an element, a target stride leaves others alone."""
    layout = np.zeros((), LAYOUT)
    layout["length"][:2], layout["rank"] = (700, 3), 2
    layout["to"][:2], layout["from"][:2] = (8, 2), (1, 0)
    to, source = np.full(700 * 8, 99, f"u{width}"), np.arange(700).astype(f"u{width}")
    wanted = to.copy().reshape(700, 8)
    wanted[:, :6:2] = source[:, None]
    copy((to, 0), (source, 0), layout, machine)
    assert np.array_equal(to.reshape(700, 8), wanted)


def test_check_finds_nothing():
    layout = np.zeros((), LAYOUT)
    layout["length"][:2], layout["rank"] = (40, 50), 2
    layout["to"][:2], layout["from"][:2] = (50, 1), (1, 40)
    x, y = np.arange(2000, dtype="u4"), np.zeros(2000, "u4")
    report = smemkit.kernel("array", "copy", "uint32").check(2, 256, (y, x, np.int64(2000), layout))
    assert report, str(report)


# What a claim of a header is about: lengths, and strides of the target and of the source.
LAYOUTS = {
    "the target is contiguous": ((32, 64), (64, 1), (1, 32)),
    "the source is contiguous": ((32, 64), (1, 32), (64, 1)),
    "the strides of the source are 0": ((32, 64), (64, 1), (0, 0)),
    "both rows are contiguous": ((2, 1024), (1024, 1), (1024, 1)),
    "every other element of the source": ((2, 512), (512, 1), (1024, 2)),
    "a transposed copy": ((64, 128), (128, 1), (1, 64)),
    "a copy of turned squares": ((64, 128), (128, 1), (1, 64)),
}
# The grid, the block, and the numbers between the arrays and the layout, by kernel.
LAUNCHES = {
    "copy": lambda m, n: (-(-m * n // 1024), 256, (np.int64(m * n),)),
    "rows": lambda m, n: (m * -(-n // 1024), 256, (np.uint32(-(-n // 1024)),)),
    "tiles": lambda m, n: (
        -(-m // 64) * -(-n // 64),
        (32, 16),
        (np.uint32(-(-m // 64)), np.uint32(-(-n // 64))),
    ),
    "squares": lambda m, n: (
        -(-m // 64) * -(-n // 64),
        256,
        (np.uint32(-(-m // 64)), np.uint32(-(-n // 64))),
    ),
}


def launch(variant, lengths, to, source):
    layout = np.zeros((), LAYOUT)
    layout["length"][:2], layout["rank"] = lengths, 2
    layout["to"][:2], layout["from"][:2] = to, source
    grid, block, numbers = LAUNCHES[variant](*lengths)
    arrays = np.zeros(8192, "u4"), np.arange(8192, dtype="u4")
    return (smemkit.kernel("array", variant, "uint32"), grid, block, (*arrays, *numbers, layout))


def read_claims():
    """{(variant, counter, words behind it): value} of the headers, all for bits32."""
    claims = {}
    for variant in LAUNCHES:
        found = re.findall(
            r"(?:Claims|//) +(\S+) = (\d+) +bits32; ([^\n]+)", smemkit.source("array", variant)
        )
        claims |= {(variant, counter, words): float(value) for counter, value, words in found}
    return claims


def test_claims_are_about_these_layouts():
    assert list(dict.fromkeys(words for _, _, words in read_claims())) == list(LAYOUTS)
    assert {variant for variant, _, _ in read_claims()} == set(smemkit.variants("array"))


@pytest.mark.parametrize(("variant", "counter", "words"), read_claims())
def test_claims_are_counted(variant, counter, words):
    kernel, *arguments = launch(variant, *LAYOUTS[words])
    assert kernel.profile(*arguments).counters[counter] == read_claims()[variant, counter, words]


@pytest.mark.parametrize("variant", ["rows", "tiles", "squares"])
@pytest.mark.parametrize("lengths", [(3, 1025), (65, 63), (64, 64), (1, 1)])
def test_check_finds_nothing_in_the_others(variant, lengths):
    m, n = lengths
    source = (n, 1) if variant == "rows" else (1, m)
    report = smemkit.check(*launch(variant, lengths, (n, 1), source))
    assert report, str(report)


# Copies of arrays, by whichever kernel serves -----------------------------------------------------


def spread(shape, dtype):
    return np.arange(np.prod(shape), dtype=np.int64).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1].T,
        lambda x: x[:, ::-1].T,
        lambda x: x[::2],
        lambda x: x[:, ::2],
        lambda x: x[:, 1:-1],
        lambda x: x[::-1, ::-1],
        lambda x: x[:1],
        lambda x: x[:, 7:8],
    ],
)
def test_large_views(view, dtype, machine):
    x = spread((130, 600), dtype)
    d = smemkit.asarray(x, backend=machine)
    assert np.array_equal(smemkit.asnumpy(view(d).copy()), view(x))
    y, e = np.zeros_like(x), smemkit.zeros(x.shape, dtype, backend=machine)
    view(y)[...], view(e)[...] = view(x), view(d)
    assert np.array_equal(smemkit.asnumpy(e), y)


@pytest.mark.parametrize("steps", [(1, 1, 1), (1, 1, -1), (-1, 2, 1)])
def test_large_transposes_of_three_axes(steps, machine):
    x = spread((40, 5, 300), "f4")[tuple(slice(None, None, step) for step in steps)]
    d = smemkit.asarray(spread((40, 5, 300), "f4"), backend=machine)
    view = d[tuple(slice(None, None, step) for step in steps)].T
    assert np.array_equal(smemkit.asnumpy(view.copy()), x.T)


# Transposes, which launch the kernels on the simulator, too ---------------------------------------

# Arrays and rows that end in each of a thread's elements; tiles that end in each of its rows.
ENDS = [((m, n, 13), (2, 1, 0)) for m, n in ((1, 9), (3, 11), (5, 11), (7, 11))]
ENDS += [((3, 2, n), (1, 0, 2)) for n in (301, 601, 901, 1101)]
ENDS += [((2, m, n), (0, 2, 1)) for m, n in ((70, 41), (17, 19), (33, 130), (129, 61), (130, 200))]
SIDES = (2, 3, 2, 1, 3, 2, 3, 2)  # 1: this axis is none of the layout


def turn_all(rank, *long):
    """(shape, axes): as many short axes in reverse, then long ones in their place."""
    return SIDES[:rank] + long, (*reversed(range(rank)), *range(rank, rank + len(long)))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
def test_transposes_are_clean(dtype):
    for shape, axes in ENDS:
        x = spread(shape, dtype)
        report = smemkit.check(smemkit.transpose, x, axes, backend="sim")
        assert report, f"{shape}\n{report}"
        assert np.array_equal(report.result, x.transpose(axes)), shape


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
def test_transposes_of_many_axes(dtype):
    for rank in range(2, 9):
        for shape, axes in (turn_all(rank), turn_all(rank - 1, 257), turn_all(rank - 2, 17, 35)):
            axes = (*axes[:-2], axes[-1], axes[-2]) if shape[-1] == 35 else axes
            x = spread(shape, dtype)
            assert np.array_equal(smemkit.transpose(x, axes, backend="sim"), x.transpose(axes))
