"""The kernel array/copy: elements between two arrays of any strides."""

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


# What a claim of the header is about: strides of the target and of the source, of 32 x 64 elements.
LAYOUTS = {
    "the target is contiguous": ((64, 1), (1, 32)),
    "the source is contiguous": ((1, 32), (64, 1)),
    "the strides of the source are 0": ((64, 1), (0, 0)),
}


def read_claims():
    """{(counter, words behind it): value} of the header, all for bits32."""
    found = re.findall(
        r"(?:Claims|//) +(\S+) = (\d+) +bits32; ([^\n]+)", smemkit.source("array", "copy")
    )
    return {(counter, words): float(value) for counter, value, words in found}


def test_claims_are_about_these_layouts():
    assert [words for _, words in read_claims()] == list(LAYOUTS)


@pytest.mark.parametrize(("counter", "words"), read_claims())
def test_claims_are_counted(counter, words):
    layout = np.zeros((), LAYOUT)
    layout["length"][:2], layout["rank"] = (32, 64), 2
    layout["to"][:2], layout["from"][:2] = LAYOUTS[words]
    args = (np.zeros(2048, "u4"), np.arange(2048, dtype="u4"), np.int64(2048), layout)
    report = smemkit.kernel("array", "copy", "uint32").profile(2, 256, args)
    assert report.counters[counter] == read_claims()[counter, words]
