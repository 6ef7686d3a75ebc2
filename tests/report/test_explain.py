"""smemkit.explain: advice with its evidence, and none where nothing is wrong."""

import numpy
import pytest
from support.small_kernels import (
    BARRIER_LINE,
    LOAD_LINE,
    STORE_LINE,
    STRIDE,
    make_kernel,
    make_stride,
)

import smemkit
from smemkit.report import what_if


def advise(report):
    found = {}
    for advice in smemkit.explain(report):
        found.setdefault(advice.kind, []).append(advice)
    return found


@pytest.fixture(params=["float32", "float64"])
def square(request):
    return numpy.ones((64, 64), dtype=request.param)


def profile_gemm(square, variant):
    return smemkit.profile(smemkit.gemm, square, square, variant=variant)


def test_elements_that_a_block_reads_again(square):
    (advice,) = smemkit.explain(profile_gemm(square, "naive"))
    assert advice.kind == "global_reuse" and "Stage a tile in shared memory" in advice.text
    assert advice.evidence["threads of a block on one element"] == 32
    assert advice.evidence["global.load.requests"] == 2 * 64 * 64 * 64 // 32


@pytest.mark.parametrize("variant", ["tiled", "tuned", "double_buffered"])
def test_tiles_are_not_asked_for_twice(square, variant):
    assert "global_reuse" not in advise(profile_gemm(square, variant))


@pytest.mark.parametrize("variant", ["tiled", "column_padded"])
def test_nothing_to_say(square, variant):
    assert smemkit.explain(profile_gemm(square, variant)) == []


def test_no_conflict_advice_for_padded(square):
    assert "bank_conflict" not in advise(profile_gemm(square, "padded"))


def test_padding_that_costs():
    square = numpy.ones((64, 64), dtype="float32")
    (advice,) = advise(profile_gemm(square, "padded"))["padding"]
    assert advice.evidence["bytes from row to row"] == 132
    assert advice.evidence["bytes a lane and load"] == 4
    assert advice.evidence["shared.load.conflicts"] == 0
    # Four loads of one word for all lanes, against one of 16 bytes in two phases.
    assert advice.evidence["wavefronts of 16 bytes a lane, padded"] == 4
    assert advice.evidence["wavefronts of 16 bytes a lane, not padded"] == 2
    assert "tile_a[threadIdx.y][i]" in advice.text


def test_uncoalesced(square):
    found = advise(profile_gemm(square, "naive_uncoalesced"))
    assert list(found) == ["uncoalesced"]
    load, store = found["uncoalesced"]
    assert load.evidence["global.load.sectors_per_request"] == 32
    assert load.evidence["expected sectors per request"] == square.itemsize
    assert "a[row * k + i]" in load.text and f":{load.line}:" in load.text
    assert store.evidence["global.store.sectors_per_request"] == 32


@pytest.mark.parametrize("step", [8, 12, 16, 20])
def test_gaps_between_lanes(step):
    """Lanes that leave gaps of a few bytes: one wider access, or elements side by side."""
    body = f"    mul.wide.u32 %rd2, %r1, {step};\n    add.s64 %rd3, %rd1, %rd2;\n"
    kernel = make_kernel(f"{body}    st.global.u32 [%rd3], %r1;")
    (advice,) = advise(kernel.profile(1, 32, (numpy.zeros(160, dtype="uint32"),)))["uncoalesced"]
    assert ("one access take them all" in advice.text) == (step <= 16)
    assert (advice.evidence.get("bytes from lane to lane") == step) == (step <= 16)
    assert advice.text.endswith("[st.global.u32 [%rd3], %r1;]")


def test_conflicts_and_their_cures(square):
    found = advise(profile_gemm(square, "column"))
    assert list(found) == ["bank_conflict"]
    load, store = found["bank_conflict"]
    assert "tile_b[threadIdx.x][i]" in load.text
    assert load.evidence["wavefronts of the worst request"] == 32
    words = f"a pad of 1 element ({square.itemsize} bytes) behind each row"
    pad = f"wavefronts with declare tile_b[32][33] in place of tile_b[32][32], {words}"
    for advice in (load, store):
        assert words in advice.text and "xor swizzle (column ^ row)" in advice.text
        assert advice.evidence["conflicts of the array with the first"] == 0
    assert load.evidence[pad] == 4  # 16 bytes a lane, as before
    assert store.evidence[pad] == square.itemsize // 4


# Lanes 0 to 7 write a row of 16 bytes each, PITCH bytes apart; the warp reads them as a matrix.
MATRIX = """
    .shared .align 16 .b8 tile[4096];
    mov.u32 %r2, tile;
    and.b32 %r3, %r1, 7;
    mad.lo.u32 %r2, %r3, PITCH, %r2;
    setp.lt.u32 %p1, %r1, 8;
    @%p1 st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;"""


@pytest.mark.parametrize(("pitch", "wavefronts"), [(16, 1), (32, 2), (64, 4), (128, 8)])
def test_rows_of_a_matrix(pitch, wavefronts):
    """They begin at multiples of 16 bytes, padded too; and they are for other lanes to use."""
    kernel = make_kernel(MATRIX.replace("PITCH", str(pitch)))
    report = kernel.profile(1, 32, (numpy.zeros(32, dtype="uint32"),))
    assert report.counters["shared.load.wavefronts"] == wavefronts
    found = advise(report)
    assert set(found) == ({"bank_conflict"} if wavefronts > 1 else set())
    for advice in found.get("bank_conflict", ()):
        assert advice.evidence["wavefronts of the worst request"] == wavefronts
        cures = {k: n for k, n in advice.evidence.items() if k.startswith("wavefronts with")}
        assert cures[f"wavefronts with one pad element (16 bytes) a row of {pitch} bytes"] == 1
        assert not any("(4 bytes)" in words for words in cures)


def test_cures_of_fragments():
    """Rows of a few words side by side: the row is found, and as wide a pad as is needed."""
    lane = numpy.arange(32)
    facts = {"function": "k", "ptx_line": 1, "file": None, "line": None, "space": "shared"}
    facts |= {"op": "load", "rule": "load", "mask": 2**32 - 1, "cost": 2, "warp": 0}
    facts |= {"block": (0, 0, 0)}
    sources = smemkit.report.counts.Sources("k", "ld")

    def cure(addresses, width):
        places = {"addresses": addresses.astype("uint64"), "bytes": width}
        return what_if.try_cures(smemkit.report.counts.Sample(facts | places, "k", sources), width)

    assert what_if.find_pitch(lane // 4 * 64 + lane % 4 * 4, 4) == 64
    assert what_if.find_pitch(lane * 4, 4) == 4
    # fragments of mma: 4 words of 8 rows of 16 words, 4 rows of 8 doubles
    words = cure(lane // 4 * 64 + lane % 4 * 4, 4)
    assert words == [("4 pad elements (16 bytes) a row of 64 bytes", 1)]
    doubles = cure(lane % 4 * 128 + lane // 4 * 8, 8)
    assert doubles == [("4 pad elements (32 bytes) a row of 128 bytes", 2)]


def test_copies_whose_sources_meet(square):
    """cp.async: what its sources cost is not laid to its targets."""
    (advice,) = advise(profile_gemm(square, "async"))["bank_conflict"]
    evidence = advice.evidence
    assert evidence["wavefronts of the worst request"] == 4
    assert evidence["wavefronts by its targets alone"] == square.itemsize // 4
    assert evidence["wavefronts by its sources alone"] == 4
    assert "16 bytes each" in advice.text and "tried on it" not in advice.text
    ideal = evidence["async.copies"] * square.itemsize // 4
    assert evidence["async.conflicts"] + ideal == evidence["async.wavefronts"]


@pytest.mark.parametrize(("step", "wavefronts"), [(2, 2), (8, 8), (32, 32)])
def test_strides(step, wavefronts):
    report = make_stride().profile(1, 32, (numpy.zeros(32, dtype="int32"), step))
    advice = advise(report)["bank_conflict"]
    assert {one.line for one in advice} == {STORE_LINE, LOAD_LINE}
    assert all(one.evidence["wavefronts of the worst request"] == wavefronts for one in advice)
    cure = "one pad element (4 bytes) a row of 128" if step == 32 else "one spare element (4 bytes)"
    assert all(cure in one.text for one in advice)


def test_a_cure_is_tried_not_guessed():
    # Words 0, 32, 96, 224, ... of one bank have no common pitch: no pad a row can be named.
    places = numpy.cumsum(numpy.arange(32)) * 128
    facts = {"function": "k", "ptx_line": 1, "file": None, "line": None, "space": "shared"}
    facts |= {"op": "load", "rule": "load", "bytes": 4, "mask": 2**32 - 1, "cost": 32, "warp": 0}
    facts |= {"block": (0, 0, 0), "addresses": places.astype("uint64")}
    sources = smemkit.report.counts.Sources("k", "ld")
    assert what_if.try_cures(smemkit.report.counts.Sample(facts, "k", sources), 4) == []


FIXED = STRIDE.replace("ld.param.u32 %r1, [step];", "mov.u32 %r1, 1;")  # for all launches


def test_data_read_once():
    report = make_stride(FIXED).profile(1, 32, (numpy.zeros(32, dtype="int32"), 1))
    found = advise(report)
    assert list(found) == ["data_read_once", "redundant_barrier"]
    evidence = found["data_read_once"][0].evidence
    assert evidence == {"shared.load.bytes": 128, "shared.store.bytes": 128, "reuse": 1}
    report = make_stride().profile(1, 32, (numpy.zeros(32, dtype="int32"), 1))
    assert advise(report) == {}  # another step may need it


def test_data_exchanged_between_lanes_is_no_waste():
    code = STRIDE.replace("bar.sync 0;", "bar.sync 0;\n    xor.b32 %r5, %r5, 124;")
    report = make_stride(code).profile(1, 32, (numpy.zeros(32, dtype="int32"), 1))
    assert report.counters["shared.load.bytes"] == report.counters["shared.store.bytes"]
    assert advise(report) == {}


EXCHANGE = FIXED.replace("bar.sync 0;", "bar.sync 0;\n    xor.b32 %r5, %r5, 128;")  # of two warps


def test_redundant_barrier():
    code = EXCHANGE.replace("bar.sync 0;", "bar.sync 0;\n    add.s32 %r7, %r2, 1;\n    bar.sync 0;")
    report = make_stride(code).profile(1, 64, (numpy.zeros(64, dtype="int32"), 1))
    (advice,) = advise(report)["redundant_barrier"]
    assert advice.lines == (("ptx", BARRIER_LINE + 2), ("ptx", BARRIER_LINE))
    assert advice.evidence == {"barrier.count": 2}


@pytest.mark.parametrize(
    "between", ["st.shared.u32 [%r5], %r1;", "$L:", "ld.shared.u32 %r7, [%r5];"]
)
def test_barriers_with_work_between(between):
    code = EXCHANGE.replace("bar.sync 0;", f"bar.sync 0;\n    {between}\n    bar.sync 0;")
    report = make_stride(code).profile(1, 64, (numpy.zeros(64, dtype="int32"), 1))
    (advice,) = advise(report)["redundant_barrier"]
    assert advice.line == BARRIER_LINE and "orders nothing between threads" in advice.text
    assert "one of the two" not in advice.text


def test_occupancy():
    kernel = make_stride()
    out = numpy.zeros(128, dtype="int32")
    call = {"args": (out, 1), "shared_mem": 60000, "blocks": 1}
    found = advise(kernel.profile(3 * 132 + 1, 128, **call))["occupancy"]
    assert "occupancy" not in advise(kernel.profile(3 * 132, 128, **call))  # all stay at once
    # 4096 + 60000 bytes, in units of 128, and 1024 of the system's: 3 times in 233472.
    assert found[0].evidence["blocks a multiprocessor by shared memory"] == 3
    assert found[0].evidence["blocks a multiprocessor by threads"] == 16
    assert found[0].evidence["occupancy in percent"] == 100 * 3 * 128 / 2048
    assert "occupancy" not in advise(kernel.profile(1, 128, (out, 1)))


def test_occupancy_where_the_registers_are_known():
    """Of the package's kernels: shared memory is not blamed for what registers limit as well."""
    square = numpy.ones((32, 32))
    for variant in ("tuned", "double_buffered"):
        report = profile_gemm(square, variant)
        launch = report.launches[-1]
        known = smemkit.occupancy(
            ("gemm", variant, "float64"), launch.block, compute_capability="9.0"
        )
        blocks = known.limits["registers"]
        assert blocks * launch.block[0] < 2048 and blocks * launch.shared_bytes < 233472
        assert "occupancy" not in advise(report)
    image, weights = numpy.ones((800, 800)), numpy.ones((101, 101))
    report = smemkit.profile(smemkit.conv2d, image, weights, variant="shared", blocks=1)
    (advice,) = advise(report)["occupancy"]
    evidence = advice.evidence
    assert evidence["blocks a multiprocessor by shared memory"] == 1
    assert evidence["blocks a multiprocessor by registers"] > 1
    assert "let 1 block of" in advice.text and "the registers let" in advice.text


def test_divergence():
    long = "    add.u32 %r3, %r3, %r1;\n    mul.lo.u32 %r3, %r3, %r3;\n" * 20
    body = (
        "    and.b32 %r2, %r1, 1;\n    setp.eq.u32 %p1, %r2, 0;\n    mov.u32 %r3, 5;\n"
        f"    @%p1 bra $E;\n{long}    bra $J;\n$E:\n{long}    add.u32 %r3, %r3, 1;\n$J:\n"
        "    mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
        "    st.global.u32 [%rd3], %r3;"
    )
    report = make_kernel(body).profile(1, 64, (numpy.zeros(64, dtype="uint32"),))
    (advice,) = advise(report)["divergence"]
    assert advice.evidence["branch.divergent"] == 2
    assert "@%p1 bra" in advice.text
    uniform = make_kernel(body.replace("and.b32 %r2, %r1, 1", "and.b32 %r2, %r1, 32"))
    report = uniform.profile(1, 64, (numpy.zeros(64, dtype="uint32"),))
    assert advise(report) == {}


def test_additions_of_floats_that_meet_in_banks():
    """Loops that the machine code makes have no conflicts, as on an H200: rounds say it instead."""
    body = (
        "    .shared .align 4 .b8 tile[4096];\n    .reg .f32 %f1;\n    mov.u32 %r2, tile;\n"
        "    shl.b32 %r3, %r1, SHIFT;\n    add.u32 %r2, %r2, %r3;\n"
        "    atom.shared.add.f32 %f1, [%r2], 0f3F800000;"
    )
    reports = [
        make_kernel(body.replace("SHIFT", shift)).profile(1, 32, (numpy.zeros(1, "float32"),))
        for shift in ("2", "7")
    ]
    for report, rounds in zip(reports, (1, 32), strict=True):
        assert report.counters["shared.atomic.instructions"] == rounds
        assert report.counters["shared.atomic.conflicts"] == 0
    assert "bank_conflict" not in advise(reports[0])
    (advice,) = advise(reports[1])["bank_conflict"]
    assert "this atomic, of which ptxas makes a loop, go 32 rounds" in advice.text
    meaning = smemkit.counters()["shared.atomic.conflicts"]["meaning"]
    assert "on the GPU too" in meaning and "shared.atomic.instructions" in meaning


def test_atomics_on_one_address():
    report = make_kernel("    red.global.add.u32 [%rd1], 1;").profile(
        1, 64, (numpy.zeros(32, dtype="uint32"),)
    )
    assert advise(report) == {}  # ptxas adds up the lanes of a warp
    crowd = make_kernel(
        "    .reg .f32 %f1;\n    mov.f32 %f1, 0f3F800000;\n    red.global.add.f32 [%rd1], %f1;"
    )
    report = crowd.profile(1, 64, (numpy.zeros(32, dtype="uint32"),))
    (advice,) = advise(report)["atomic_contention"]
    assert advice.evidence == {"global.atomic.requests": 2, "lanes on one address": 32}
    own = "    mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
    spread = make_kernel(f"{own}    red.global.add.u32 [%rd3], 1;")
    assert advise(spread.profile(1, 32, (numpy.zeros(32, dtype="uint32"),))) == {}


def test_local_memory():
    body = (
        "    mov.u64 %rd4, depot;\n    and.b32 %r2, %r1, 3;\n    mul.wide.u32 %rd5, %r2, 4;\n"
        "    add.s64 %rd6, %rd4, %rd5;\n    st.local.u32 [%rd6], %r1;\n"
        "    xor.b64 %rd6, %rd6, 4;\n    ld.local.u32 %r3, [%rd6];\n"
        "    mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
        "    st.global.u32 [%rd3], %r3;"
    )
    kernel = make_kernel(body, shared=".local .align 4 .b8 depot[16];")
    (advice,) = advise(kernel.profile(1, 32, (numpy.zeros(32, dtype="uint32"),)))["local_memory"]
    assert advice.evidence["local.load.requests"] == advice.evidence["local.store.requests"] == 1


def test_misaligned_rows():
    own = "    mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
    kernel = make_kernel(f"{own}    st.global.u32 [%rd3+4], %r1;")
    (advice,) = advise(kernel.profile(1, 32, (numpy.zeros(64, dtype="uint32"),)))["misaligned"]
    assert advice.evidence["global.store.sectors_per_request"] == 5
    assert advice.evidence["expected sectors per request"] == 4


@pytest.mark.parametrize("lanes", [1, 7, 8, 9, 20, 24, 31, 32])
def test_aligned_rows_that_fill_no_sector(lanes):
    """The last sector of a row is taken whole: nothing is misaligned; 4 bytes on, some rows are."""
    own = (
        f"    setp.ge.u32 %p1, %r1, {lanes};\n    @%p1 bra DONE;\n"
        "    mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
    )
    data = numpy.zeros(64, dtype="uint32")
    for offset in (0, 4):
        kernel = make_kernel(f"{own}    st.global.u32 [%rd3+{offset}], %r1;\nDONE:")
        found = advise(kernel.profile(1, 32, (data,)))
        sectors = -(-(offset + 4 * lanes) // 32)
        least = -(-4 * lanes // 32)
        assert ("misaligned" in found) == (sectors > least)
        assert "uncoalesced" not in found
        for advice in found.get("misaligned", []):
            assert advice.evidence["expected sectors per request"] == least
            assert advice.evidence["global.store.sectors_per_request"] == sectors


def test_widths_of_ptx():
    widths = {
        "ld.shared.f32 %f1, [%r1+4];": 4,
        "@%p1 ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];": 16,
        "st.shared.v2.u64 [%r1], {%rd1, %rd2};": 16,
        "ld.shared.b8 %rs1, [%r1];": 1,
        "atom.shared.add.u32 %r1, [%r2], 1;": 4,
        "cp.async.cg.shared.global [%r1], [%rd1], 16;": None,
    }
    assert {text: what_if.read_width(text) for text in widths} == widths


def test_advice_is_plain_data(square):
    advice = smemkit.explain(profile_gemm(square, "column"))[0]
    assert str(advice) == advice.text
    assert advice.to_dict()["lines"] == [["column.cu", advice.line]]
    assert all(isinstance(value, int | float) for value in advice.evidence.values())


@pytest.mark.parametrize("thing", [None, {}, 3])
def test_refusal(thing):
    with pytest.raises(smemkit.ArgumentTypeError, match="Report"):
        smemkit.explain(thing)
