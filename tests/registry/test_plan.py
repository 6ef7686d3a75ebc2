"""Plans: a grid covers the output, wastes no more than it must, and fits a machine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smemkit
from smemkit import _core

X_MAX, Y_MAX, Z_MAX = 2**31 - 1, 65535, 65535
VARIANTS = sorted(smemkit.variants("gemm"))


def plan(variant, m, k, n):
    return _core._registry_plan("gemm", variant, (m, k, n))


def blocks_of(size, tile):
    return -(-size // tile)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 1, 1), (31, 5, 33), (32, 32, 32), (33, 0, 31), (4097, 1023, 4095), (1, 2**40, 1)],
)
def test_small_grids(variant, m, k, n):
    facts = smemkit.variants("gemm")[variant]
    tile_x, tile_y = facts["tile"]
    grid, block, empty = plan(variant, m, k, n)
    assert not empty
    assert tuple(grid) == (blocks_of(n, tile_x), blocks_of(m, tile_y), 1)
    assert tuple(block) == (*facts["block"], 1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("m", "k", "n"), [(0, 5, 5), (5, 5, 0), (0, 0, 0), (0, 7, 2**62)])
def test_nothing_to_do(variant, m, k, n):
    grid, _, empty = plan(variant, m, k, n)
    assert empty
    assert tuple(grid) == (0, 0, 0)


def test_an_empty_sum_is_work():
    grid, _, empty = plan("tiled", 5, 0, 5)
    assert not empty
    assert tuple(grid) == (1, 1, 1)


@settings(max_examples=300, deadline=None)
@given(
    variant=st.sampled_from(VARIANTS),
    m=st.integers(1, 2**62) | st.integers(1, 2**38),
    k=st.integers(0, 2**62),
    n=st.integers(1, 2**62) | st.integers(1, 2**38),
)
def test_any_size_is_covered_or_refused(variant, m, k, n):
    tile_x, tile_y = smemkit.variants("gemm")[variant]["tile"]
    wanted_x, wanted_y = blocks_of(n, tile_x), blocks_of(m, tile_y)
    if wanted_x > X_MAX or wanted_y > Y_MAX * Z_MAX:
        with pytest.raises(smemkit.LaunchError) as caught:
            plan(variant, m, k, n)
        first = wanted_x if wanted_x > X_MAX else wanted_y
        assert variant in str(caught.value)
        assert str(first) in str(caught.value)
        return
    (x, y, z), _, empty = plan(variant, m, k, n)
    assert not empty
    assert x == wanted_x
    assert 1 <= y <= Y_MAX
    assert 1 <= z <= Z_MAX
    assert wanted_y <= y * z < wanted_y + z, "fewer blocks than layers are idle"
    assert z == blocks_of(wanted_y, Y_MAX), "no more layers than needed"


def test_edges_of_the_limits():
    tile_x, tile_y = smemkit.variants("gemm")["tiled"]["tile"]
    assert tuple(plan("tiled", 1, 1, X_MAX * tile_x)[0]) == (X_MAX, 1, 1)
    with pytest.raises(smemkit.LaunchError):
        plan("tiled", 1, 1, X_MAX * tile_x + 1)
    assert tuple(plan("tiled", Y_MAX * tile_y, 1, 1)[0]) == (1, Y_MAX, 1)
    assert tuple(plan("tiled", Y_MAX * tile_y + 1, 1, 1)[0]) == (1, 32768, 2)
    assert tuple(plan("tiled", Y_MAX * Z_MAX * tile_y, 1, 1)[0]) == (1, Y_MAX, Z_MAX)
    with pytest.raises(smemkit.LaunchError):
        plan("tiled", Y_MAX * Z_MAX * tile_y + 1, 1, 1)


def test_negative_sizes_are_refused():
    with pytest.raises(smemkit.ArgumentError, match="gemm: k is -1"):
        plan("tiled", 1, -1, 1)


def test_unknown_names_list_the_known():
    with pytest.raises(smemkit.ArgumentError) as caught:
        plan("tilde", 1, 1, 1)
    message = str(caught.value)
    assert "'tilde'" in message
    known = list(smemkit.families()["gemm"]["variants"])
    assert message.endswith(", ".join(known)), "every variant, in the order of the table"
    with pytest.raises(smemkit.ArgumentError, match=r"'gemn'.*gemm"):
        _core._registry_plan("gemn", "tiled", (1, 1, 1))


@pytest.mark.parametrize("n", [1, 8192, 8193, 3_000_000])
def test_dot_has_a_block_for_each_tile(n):
    """However many multiprocessors there are: blocks of the wide plan do not take turns."""
    x = np.zeros(n, np.float32)
    report = smemkit.profile(smemkit.dot, x, x, variant="shuffle", backend="sim", blocks=1)
    assert report.launches[-1].grid == (blocks_of(4 * n, 512 * 4 * 16), 1, 1)
