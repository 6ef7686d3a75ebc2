"""Loads and stores of warps of which some lanes are active, at addresses in runs and out of order.

Lanes of a warp that store to one place do so in their order on the simulator; a GPU chooses one.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from sim.exec.test_opcodes_memory import run

LANES = 32
WARPS = 32
PLACES = 80  # that a warp may access


def choose_places(rng):
    """Places and masks of warps: rows, rows of part of a warp, one place, strides, and any."""
    lane = np.arange(LANES)
    shapes = [
        lane,
        lane % 16 + 18 * (lane // 16),
        lane % 8 + 10 * (lane // 8),
        lane % 5 + 7 * (lane // 5),
        np.where(lane < 20, lane, 60),
        np.where(lane < 9, 3, lane),
        lane // 16,
        lane * 2,
        lane[::-1],
        np.where(lane % 2, lane, lane // 2),
        np.where(lane == 17, 2, lane),
    ]
    places = [
        shapes[warp] if warp < len(shapes) else rng.integers(0, PLACES, LANES)
        for warp in range(2 * len(shapes))
    ]
    places += [
        shapes[rng.integers(len(shapes))] + rng.integers(8) for _ in range(WARPS - len(places))
    ]
    masks = [rng.integers(1, 2**32) for _ in range(WARPS - 6)]
    masks += [2**32 - 1, 0x00FFFF00, 0x7FFFFFFE, 0xFFFF7FFF, 0x0000FFFF, 0x80000001]
    rng.shuffle(masks)
    return np.array(places, np.uint32), np.array(masks, np.uint32)


def compare(rng, bits):
    """One launch of WARPS warps: what they load and store is what lanes do one after the other."""
    places, masks = choose_places(rng)
    dtype = np.uint32 if bits == 32 else np.uint64
    source = rng.integers(0, 2**31, (WARPS, PLACES)).astype(dtype)
    loaded = np.zeros((2, WARPS, LANES), dtype)
    stored = np.zeros((2, WARPS, PLACES), dtype)
    size = bits // 8
    value = "%r" if bits == 32 else "%d"
    body = (
        f".shared .align 8 .b8 sh[{WARPS * PLACES * 8}];\nmul.wide.u32 %d1, %t, 4;\n"
        "shr.u32 %r1, %t, 5;\nmul.wide.u32 %d2, %r1, 4;\n"
        "add.u64 %d2, %d2, %p1;\nld.global.u32 %r2, [%d2];\nand.b32 %r3, %t, 31;\n"
        "shr.u32 %r2, %r2, %r3;\nand.b32 %r2, %r2, 1;\nsetp.ne.u32 %q1, %r2, 0;\n"
        "add.u64 %d3, %d1, %p0;\nld.global.u32 %r4, [%d3];\n"
        f"mad.lo.u32 %r4, %r1, {PLACES}, %r4;\nmul.wide.u32 %d4, %r4, {size};\n"
        f"mul.wide.u32 %d5, %t, {size};\n"
        # a load into the row of its own addresses, of which inactive lanes keep theirs
        f"add.u64 %d6, %d4, %p2;\nmov.b{bits} {value}7, 0;\n"
        f"@%q1 ld.global.u{bits} {value}7, [%d6];\n"
        "add.u64 %d8, %d5, %p3;\n"
        f"st.global.u{bits} [%d8], {value}7;\n"
        f"cvt.u{bits}.u32 {value}9, %t;\nadd.u64 %d10, %d4, %p4;\n"
        f"@%q1 st.global.u{bits} [%d10], {value}9;\n"
        # the same in shared memory, which holds the source first
        f"mov.u32 %r10, sh;\nmad.lo.u32 %r11, %r4, {size}, %r10;\n"
        f"@%q1 st.shared.u{bits} [%r11], {value}7;\nbar.sync 0;\nmov.b{bits} {value}12, 0;\n"
        f"@%q1 ld.shared.u{bits} {value}12, [%r11];\n"
        f"add.u64 %d8, %d8, {loaded[0].nbytes};\nst.global.u{bits} [%d8], {value}12;\n"
        f"bar.sync 0;\n@%q1 st.shared.u{bits} [%r11], {value}9;\nbar.sync 0;\n"
        f"@%q1 ld.shared.u{bits} {value}12, [%r11];\n"
        f"add.u64 %d10, %d10, {stored[0].nbytes};\n@%q1 st.global.u{bits} [%d10], {value}12;"
    )
    run("sim", body, places, masks, source, loaded, stored, block=WARPS * LANES)
    active = masks[:, None] >> np.arange(LANES, dtype=np.uint32) & 1 != 0
    values = np.where(active, np.take_along_axis(source, places.astype(int), axis=1), 0)
    wanted = np.zeros((WARPS, PLACES), dtype)
    for warp, lane in zip(*np.nonzero(active), strict=True):
        wanted[warp, places[warp, lane]] = warp * LANES + lane
    np.testing.assert_array_equal(loaded, np.stack([values, values]))
    np.testing.assert_array_equal(stored, np.stack([wanted, wanted]))


@pytest.mark.parametrize("bits", [32, 64])
def test_partial_warps_access_what_their_lanes_do(rng, bits):
    for _ in range(4):
        compare(rng, bits)


PROGRAM = """
import sys
import numpy
from sim.exec.test_partial_warps import compare
rng = numpy.random.default_rng(int(sys.argv[1]))
for bits in (32, 64):
    for _ in range(4):
        compare(rng, bits)
"""


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_partial_warps_of_lesser_processors(rng, isa):
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(rng.integers(2**32))],
        env={**os.environ, "SMEMKIT_ISA": isa},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "SMEMKIT_ISA" in result.stderr and isa == "avx2":
        pytest.skip("this processor has no AVX2")
    assert result.returncode == 0, result.stderr
