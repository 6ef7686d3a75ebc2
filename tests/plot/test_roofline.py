"""The roofline of bench.memory_wall: which bytes it draws, and below which roofs."""

import dataclasses

import pytest
from support.pictures import list_texts, point_of

import smemkit
from smemkit import plot

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def no_screen():
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def wall():
    return smemkit.bench.memory_wall(
        "gemm",
        4096,
        variants=("naive", "tiled"),
        results=smemkit.bench.recorded("h200"),
        traffic=smemkit.bench.Results([], {}),
        backend="sim",
    )


def count_traffic(wall, l2=(4e9, 1e9), l2_gb_per_s=5000.0):
    """The wall as it is with counts of Nsight Compute; these are made up."""
    rows = [
        dataclasses.replace(row, l2_bytes=nbytes, dram_bytes=3e8)
        for row, nbytes in zip(wall.rows, l2, strict=True)
    ]
    return dataclasses.replace(
        wall, rows=tuple(rows), l2_gb_per_s=l2_gb_per_s, traffic={"ncu": "2025.1"}
    )


def test_roofline_of_traffic(wall):
    """Filled marks stand at bytes of L2, hollow ones at bytes of DRAM, each below its roof."""
    ax = plot.roofline(count_traffic(wall))
    marks = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    found = [marks[name].get_xdata()[0] for name in ("naive", "tiled")]
    assert found == pytest.approx([wall.flops / 4e9, wall.flops / 1e9])
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_xdata()[0] for line in hollow] == pytest.approx([wall.flops / 3e8] * 2)
    words = "operations a byte [FLOP/byte]; filled: L2, hollow: DRAM (counted)"
    assert ax.get_xlabel() == words
    roofs = list_texts(ax, "roof")
    assert roofs[0].startswith("memory: ") and roofs[1] == "L2: 5,000 GB/s" and len(roofs) == 3
    assert "Nsight Compute, warm caches" in list_texts(ax, "source")[0]
    faster = wall.rows[0].time_ms / wall.rows[1].time_ms
    rest = f"and is {faster:.3g} times as fast"
    point = point_of(ax).replace("\n", " ")
    assert point == f"tiled moves 4 times fewer bytes of L2 than naive {rest}"
    for l2, verb in (
        ((1e9, 1e9), "moves as many bytes of L2 as naive"),
        ((1e9, 2e9), "moves 2 times the bytes of L2 of naive"),
    ):
        point = point_of(plot.roofline(count_traffic(wall, l2))).replace("\n", " ")
        assert point == f"tiled {verb} {rest}"
    ax = plot.roofline(count_traffic(wall), l2_gb_per_s=6000)
    assert list_texts(ax, "roof")[1] == "L2: 6,000 GB/s"
    assert len(list_texts(plot.roofline(count_traffic(wall, l2_gb_per_s=None)), "roof")) == 2
    assert "requested" in plot.roofline(count_traffic(wall), traffic=False).get_xlabel()


def test_roofline_of_traffic_that_some_lack(wall):
    """The marks of one picture are of the same bytes: then of those that are requested."""
    counted = count_traffic(wall)
    part = dataclasses.replace(counted, rows=(counted.rows[0], wall.rows[1]))
    assert "requested" in plot.roofline(part).get_xlabel()
    other = dataclasses.replace(wall, family="conv2d")
    assert "requested" in plot.roofline([counted, other]).get_xlabel()
    assert "DRAM" in plot.roofline([counted, counted]).get_xlabel()


def test_roofline_of_counted_bytes(wall):
    """naive asks for 5 sectors a warp and step, tiled for each element once a tile of 32."""
    ax = plot.roofline(wall)
    marks = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    naive, tiled = (marks[name].get_data() for name in ("naive", "tiled"))
    assert naive[0][0] == pytest.approx(64 / 160, rel=1e-3)
    assert tiled[0][0] == pytest.approx(8, rel=1e-2)  # and writes each result once
    assert tiled[0][0] > naive[0][0] and tiled[1][0] > naive[1][0], "to the right and up"
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_xdata()[0] for line in hollow] == pytest.approx([wall.intensity] * 2)
    more = wall.rows[0].requested_bytes / wall.rows[1].requested_bytes
    faster = wall.rows[0].time_ms / wall.rows[1].time_ms
    assert point_of(ax) == (
        f"tiled asks for {more:.0f} times fewer bytes than naive and is {faster:.3g} times as fast"
    )
    roofs = list_texts(ax, "roof")
    assert roofs[1].startswith("L1 and shared memory: ") and len(roofs) == 3
    assert "NVIDIA H200, 2026-" in list_texts(ax, "source")[0]


def test_roofline_of_several_walls(wall):
    other = dataclasses.replace(wall, family="conv2d")
    ends = list_texts(plot.roofline([wall, other]), "end")
    assert set(ends) == {f"{n} ({f})" for n in ("naive", "tiled") for f in ("gemm", "conv2d")}
    with pytest.raises(smemkit.ArgumentTypeError, match="memory_wall"):
        plot.roofline([wall, 3])
    timeless = [dataclasses.replace(row, time_ms=None) for row in wall.rows]
    with pytest.raises(smemkit.ArgumentError, match="nothing to draw"):
        plot.roofline(dataclasses.replace(wall, rows=tuple(timeless)))
    with pytest.raises(smemkit.ArgumentError, match="shared_gb_per_s"):
        plot.roofline(wall, shared_gb_per_s=0)


def test_roofline_of_predictions_has_their_range(wall):
    rows = [
        dataclasses.replace(row, low_ms=row.time_ms / 2, high_ms=row.time_ms * 2)
        for row in wall.rows
    ]
    guessed = dataclasses.replace(wall, rows=tuple(rows), provenance={"predicted_for": "RTX 4090"})
    ax = plot.roofline(guessed)
    ranges = [line.get_ydata() for line in ax.lines if line.get_gid() == "range"]
    speeds = [wall.flops / row.time_ms / 1e6 for row in wall.rows]
    assert [tuple(ends) for ends in ranges] == [
        pytest.approx((speed / 2, speed * 2)) for speed in speeds
    ]
    assert " would be " in point_of(ax)
    assert "predicted for RTX 4090, bars over the range" in list_texts(ax, "source")[0]
    assert not [line for line in plot.roofline(wall).lines if line.get_gid() == "range"]
