"""ldmatrix: what each lane gets, what it costs, and what is wrong with an address."""

import numpy as np
import pytest
from sim.profile.count_tools import check, check_absent, profile

import smemkit

COUNTS = [1, 2, 4]
WAYS = ["", ".trans"]
EACH_FORM = pytest.mark.parametrize("trans", WAYS, ids=["rows", "trans"])
EACH_COUNT = pytest.mark.parametrize("count", COUNTS)
BYTES = 4096


def registers(count):
    return "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"


def write_kernel(count, trans="", *, before="", guard="", after="", space=".shared", address="%r4"):
    """PTX of a kernel (out, data, at): memory is filled with data; `at` is each lane's address."""
    line = f"{guard} ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {registers(count)}"
    return "\n".join(
        [
            ".version 8.5\n.target sm_80\n.address_size 64",
            ".visible .entry k(.param .u64 out, .param .u64 data, .param .u64 at)",
            "{",
            ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .b32 %v<4>;",
            f".shared .align 16 .b8 s[{BYTES}];",
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, s;",
            *(f"mov.u32 %v{i}, 0x7777;" for i in range(4)),
            "ld.param.u64 %rd1, [data];\nmov.u32 %r3, 0;",
            "mad.wide.u32 %rd1, %r1, 4, %rd1;\nmad.lo.u32 %r5, %r1, 4, %r2;",
            "FILL:\nld.global.u32 %r6, [%rd1];\nst.shared.u32 [%r5], %r6;",
            "add.u64 %rd1, %rd1, 128;\nadd.u32 %r5, %r5, 128;\nadd.u32 %r3, %r3, 1;",
            f"setp.lt.u32 %p1, %r3, {BYTES // 128};\n@%p1 bra FILL;\nbar.sync 0;",
            "ld.param.u64 %rd2, [at];\nmad.wide.u32 %rd2, %r1, 4, %rd2;",
            "ld.global.u32 %r4, [%rd2];\nadd.u32 %r4, %r4, %r2;",
            "cvt.u64.u32 %rd3, %r4;\ncvta.shared.u64 %rd4, %rd3;",
            before,
            f"{line}, [{address}];",
            after,
            "ld.param.u64 %rd5, [out];\nmad.wide.u32 %rd5, %r1, 4, %rd5;",
            *(f"st.global.u32 [%rd5+{128 * i}], %v{i};" for i in range(4)),
            "ret;",
            "}",
            "",
        ]
    )


def run(text, data, at, machine="sim"):
    out = np.zeros((4, 32), np.uint32)
    kernel = smemkit.RawModule(text, backend=machine).get_function("k")
    kernel(1, 32, (out, data, at), backend=machine)
    return out


def expect(data, at, count, trans):
    """Registers of each lane, from rows of 8 elements of 16 bits."""
    out = np.full((4, 32), 0x7777, np.uint32)
    rows = data.view(np.uint16)
    for m in range(count):
        matrix = np.stack([rows[x // 2 : x // 2 + 8] for x in at[8 * m : 8 * m + 8]])
        matrix = matrix.T if trans else matrix
        pairs = np.ascontiguousarray(matrix).astype(np.uint32).reshape(32, 2)
        out[m] = pairs[:, 0] | pairs[:, 1] << 16
    return out


def numbers(rng):
    return rng.integers(2**32, size=BYTES // 4, dtype=np.uint32)


@EACH_COUNT
@EACH_FORM
@pytest.mark.parametrize(
    ("space", "address"), [(".shared", "%r4"), (".shared::cta", "%rd3"), ("", "%rd4")]
)
def test_what_lanes_get(count, trans, space, address, rng, machine):
    """Addresses of lanes behind the last matrix do not matter, whatever they are."""
    data = numbers(rng)
    at = (16 * rng.integers(BYTES // 16, size=32)).astype(np.uint32)
    wild = at.copy()
    wild[8 * count :] = 3 if machine == "sim" else 0
    text = write_kernel(count, trans, space=space, address=address)
    assert (run(text, data, wild, machine) == expect(data, at, count, trans)).all()


@EACH_FORM
def test_offset_and_one_address_register(trans, rng, machine):
    """The address's own register may be a result."""
    data = numbers(rng)
    at = (16 * rng.permutation(32)).astype(np.uint32)
    text = write_kernel(4, trans, address="%r4+256").replace("{%v0", "{%r4")
    text = text.replace("[%rd5+0], %v0", "[%rd5+0], %r4")
    assert (run(text, data, at, machine) == expect(data, at + 256, 4, trans)).all()


def test_guard_that_nobody_passes(rng):
    text = write_kernel(4, before="setp.gt.u32 %p1, %r1, 31;", guard="@%p1")
    out = run(text, numbers(rng), np.full(32, 5, np.uint32))
    assert (out == 0x7777).all()


@pytest.mark.parametrize(
    ("before", "guard", "after", "words"),
    [
        ("setp.lt.u32 %p1, %r1, 31;\n@!%p1 bra DONE;", "", "DONE:", "wait at PTX line"),
        ("setp.lt.u32 %p1, %r1, 5;", "@%p1", "", "lanes 0x0000001f of warp 0, without its"),
        ("setp.eq.u32 %p1, %r1, 7;\n@%p1 exit;", "", "", "0x00000080 are not there or have"),
    ],
    ids=["branch", "guard", "exit"],
)
@EACH_COUNT
def test_all_lanes_must_be_there(count, before, guard, after, words, rng):
    text = write_kernel(count, before=before, guard=guard, after=after)
    with pytest.raises(smemkit.BarrierError, match=f"ldmatrix.*{words}") as caught:
        run(text, numbers(rng), np.zeros(32, np.uint32))
    assert caught.value.ptx_line == line_of(text)


def line_of(text):
    return next(i for i, x in enumerate(text.split("\n"), 1) if "ldmatrix" in x)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(8, smemkit.MisalignedError), (BYTES, smemkit.OutOfBoundsError), (2, smemkit.MisalignedError)],
)
@EACH_COUNT
def test_wrong_addresses(count, wrong, error, rng):
    at = np.zeros(32, np.uint32)
    at[8 * count - 1] = wrong
    text = write_kernel(count)
    with pytest.raises(error) as caught:
        run(text, numbers(rng), at)
    assert caught.value.ptx_line == line_of(text)
    assert caught.value.thread == (8 * count - 1, 0, 0)


def test_not_of_global_memory(rng):
    text = write_kernel(1, space="", address="%rd1")
    with pytest.raises(smemkit.Error):
        run(text, numbers(rng), np.zeros(32, np.uint32))


# Counting and checking ---------------------------------------------------------------------------


def count_loads(count, step):
    at = (step * np.arange(32)).astype(np.uint32)
    buffers = np.zeros((4, 32), np.uint32), np.zeros(BYTES // 4, np.uint32), at
    return profile(write_kernel(count), *buffers, model=True)


@pytest.mark.parametrize(
    ("step", "each"), [(16, 1), (32, 2), (48, 1), (64, 4), (80, 1), (128, 8), (0, 1)]
)
@EACH_COUNT
def test_a_phase_for_each_matrix(count, step, each):
    """8 rows of 16 bytes: as many wavefronts as rows that meet in the same banks."""
    launch = count_loads(count, step)
    lanes = 8 * count
    assert launch["counters"]["shared.load.instructions"] == 1
    check(
        launch,
        "shared.load",
        instructions=1,
        wavefronts=each * count,
        ideal=count,
        conflicts=(each - 1) * count,
        bytes=16 * lanes,
    )
    check_absent(launch, "local", "async", "shared.atomic")
    sample = next(
        one for one in launch["samples"] if one["op"] == "load" and one["space"] == "shared"
    )
    assert sample["mask"] == 2**lanes - 1 and sample["bytes"] == 16


def count_instructions(text):
    buffers = np.zeros((4, 32), np.uint32), np.zeros(BYTES // 4, np.uint32), np.zeros(32, np.uint32)
    return profile(text, *buffers)["counters"]["instructions.warp"]


def test_is_one_instruction():
    text = write_kernel(4)
    line = text.split("\n")[line_of(text) - 1]
    assert count_instructions(text.replace(line, f"{line}\n{line}")) == count_instructions(text) + 1


def find(text, at):
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    buffers = np.zeros((4, 32), np.uint32), np.zeros(BYTES // 4, np.uint32), at
    return smemkit.check(kernel, 1, 32, buffers).findings


def test_check_sees_each_row(rng):
    """Rows that another lane wrote and no barrier made known; none where there is one."""
    at = (16 * rng.permutation(BYTES // 16)[:32]).astype(np.uint32)
    text = write_kernel(4)
    assert find(text, at) == []
    findings = find(text.replace("bar.sync 0;", ""), at)
    assert {finding.kind for finding in findings} <= {"race", "warp_hazard"} and findings
    assert any(finding.second.op == "load" for finding in findings)


def test_check_goes_on_behind_a_row_out_of_bounds():
    at = (16 * np.arange(32)).astype(np.uint32)
    at[9] = BYTES
    findings = find(write_kernel(2), at)
    assert [finding.kind for finding in findings] == ["out_of_bounds"]


def test_check_sees_what_nobody_wrote():
    text = write_kernel(1).replace("@%p1 bra FILL;", "")
    findings = find(text, np.full(32, 256, np.uint32))
    assert [finding.kind for finding in findings] == ["uninitialized"]
