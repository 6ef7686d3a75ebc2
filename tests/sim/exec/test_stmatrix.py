"""stmatrix: what it stores where, what it costs, and what is wrong with an address."""

import numpy as np
import pytest
from sim.profile.count_tools import check, check_absent, profile

import smemkit

BYTES = 1024
EACH_FORM = pytest.mark.parametrize("trans", ["", ".trans"], ids=["rows", "trans"])
EACH_COUNT = pytest.mark.parametrize("count", [1, 2, 4])


def write_kernel(count, trans="", *, space=".shared", address="%r4", guard="", before="", after=""):
    """PTX of a kernel (out, held, at): shared memory, zero before, as the matrices leave it."""
    registers = "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"
    line = f"{guard} stmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16"
    return "\n".join(
        [
            ".version 8.5\n.target sm_90\n.address_size 64",
            ".visible .entry k(.param .u64 out, .param .u64 held, .param .u64 at)",
            "{",
            ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .b32 %v<4>;",
            f".shared .align 16 .b8 s[{BYTES}];",
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\nmad.lo.u32 %r5, %r1, 4, %r2;\nmov.u32 %r6, 0;",
            *(f"st.shared.u32 [%r5+{128 * i}], %r6;" for i in range(BYTES // 128)),
            "ld.param.u64 %rd1, [held];\nmad.wide.u32 %rd1, %r1, 4, %rd1;",
            *(f"ld.global.u32 %v{i}, [%rd1+{128 * i}];" for i in range(4)),
            "ld.param.u64 %rd2, [at];\nmad.wide.u32 %rd2, %r1, 4, %rd2;",
            "ld.global.u32 %r4, [%rd2];\nadd.u32 %r4, %r4, %r2;",
            "cvt.u64.u32 %rd3, %r4;\ncvta.shared.u64 %rd4, %rd3;\nbar.sync 0;",
            before,
            f"{line} [{address}], {registers};",
            after,
            "bar.sync 0;",
            "ld.param.u64 %rd5, [out];\nmad.wide.u32 %rd5, %r1, 4, %rd5;",
            *(
                f"ld.shared.u32 %r6, [%r5+{128 * i}];\nst.global.u32 [%rd5+{128 * i}], %r6;"
                for i in range(BYTES // 128)
            ),
            "ret;",
            "}",
            "",
        ]
    )


def run(text, held, at, machine="sim"):
    out = np.zeros(BYTES // 4, np.uint32)
    kernel = smemkit.RawModule(text, backend=machine).get_function("k")
    kernel(1, 32, (out, held, at), backend=machine)
    return out


def expect(held, at, count, trans):
    """The PTX ISA: lane 4 r + t holds elements 2 t and 2 t + 1 of row r of each matrix."""
    out = np.zeros(BYTES // 2, np.uint16)
    for m in range(count):
        matrix = held[m].view(np.uint16).reshape(8, 8)
        matrix = matrix.T if trans else matrix
        for row in range(8):
            start = at[8 * m + row] // 2
            out[start : start + 8] = matrix[row]
    return out.view(np.uint32)


def make(rng):
    held = rng.integers(2**32, size=(4, 32), dtype=np.uint32)
    return held, (16 * rng.permutation(BYTES // 16)[:32]).astype(np.uint32)


@EACH_COUNT
@EACH_FORM
@pytest.mark.parametrize(
    ("space", "address"), [(".shared", "%r4"), (".shared::cta", "%rd3"), ("", "%rd4")]
)
def test_what_is_stored(count, trans, space, address, rng, machine):
    """Addresses of lanes behind the last matrix do not matter, whatever they are."""
    held, at = make(rng)
    wild = at.copy()
    wild[8 * count :] = 3 if machine == "sim" else 0
    text = write_kernel(count, trans, space=space, address=address)
    assert (run(text, held, wild, machine) == expect(held, at, count, trans)).all()


def test_undoes_ldmatrix(rng, machine):
    held, at = make(rng)
    load = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%v0, %v1, %v2, %v3}, [%r4];"
    store = "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r4], {%v0, %v1, %v2, %v3};"
    text = write_kernel(4, after=f"bar.sync 0;\n{load}\nbar.sync 0;\n{store}")
    assert (run(text, held, at, machine) == expect(held, at, 4, "")).all()


def test_guard_that_nobody_passes(rng):
    held, at = make(rng)
    assert not run(
        write_kernel(4, before="setp.gt.u32 %p1, %r1, 31;", guard="@%p1"), held, at
    ).any()


@pytest.mark.parametrize(
    ("before", "guard", "after", "words"),
    [
        ("setp.lt.u32 %p1, %r1, 31;\n@!%p1 bra DONE;", "", "DONE:", "wait at PTX line"),
        ("setp.lt.u32 %p1, %r1, 5;", "@%p1", "", "lanes 0x0000001f of warp 0, without its"),
    ],
    ids=["branch", "guard"],
)
def test_all_lanes_must_be_there(before, guard, after, words, rng):
    text = write_kernel(2, before=before, guard=guard, after=after)
    with pytest.raises(smemkit.BarrierError, match=f"stmatrix.*{words}"):
        run(text, *make(rng))


@pytest.mark.parametrize(
    ("wrong", "error"), [(8, smemkit.MisalignedError), (BYTES, smemkit.OutOfBoundsError)]
)
@EACH_COUNT
def test_wrong_addresses(count, wrong, error, rng):
    held, at = make(rng)
    at[8 * count - 1] = wrong
    with pytest.raises(error, match="store of 16 bytes") as caught:
        run(write_kernel(count), held, at)
    assert caught.value.thread == (8 * count - 1, 0, 0)


# Counting and checking ---------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "each"), [(16, 1), (32, 2), (0, 1)])
@EACH_COUNT
def test_a_phase_for_each_matrix(count, step, each, rng):
    at = (step * np.arange(32)).astype(np.uint32)
    whole = profile(write_kernel(count), np.zeros(BYTES // 4, np.uint32), make(rng)[0], at)
    plain = write_kernel(count)
    line = next(x for x in plain.split("\n") if "stmatrix" in x)
    fill = BYTES // 128  # stores of words before it
    assert line
    check(
        whole,
        "shared.store",
        instructions=fill + 1,
        wavefronts=fill + each * count,
        ideal=fill + count,
        conflicts=(each - 1) * count,
        bytes=128 * fill + 128 * count,
    )
    check_absent(whole, "local", "async", "shared.atomic")


def find(text, held, at):
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    return smemkit.check(kernel, 1, 64, (np.zeros(BYTES // 4, np.uint32), held, at)).findings


def test_check_sees_what_it_stores(rng):
    """Two warps store the same rows; and a warp reads what the other one stores."""
    held, at = np.concatenate([make(rng)[0]] * 2), np.concatenate([make(rng)[1]] * 2)
    text = write_kernel(4).replace(
        "mov.u32 %r1, %tid.x;", "mov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 31;"
    )
    kinds = {finding.kind for finding in find(text.replace("bar.sync 0;", ""), held, at)}
    assert "race" in kinds
    rows = (16 * np.arange(32)).astype(np.uint32)
    rows[9] = BYTES
    findings = find(write_kernel(2), make(rng)[0].repeat(2, 1), np.concatenate([rows, rows]))
    assert {finding.kind for finding in findings} >= {"out_of_bounds"}
    assert any(finding.first is None or "stmatrix" in str(finding) for finding in findings)
