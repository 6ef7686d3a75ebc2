"""ldmatrix and stmatrix of bytes and of smaller elements, which sm_100a and sm_120a have.

Expected is what the PTX ISA defines: of 16x16 bytes, transposed, lane 4 g + t has the bytes of rows
4 t to 4 t + 3 in columns g and g + 8; of 8x16 those in columns 4 t to 4 t + 3 of row g; and
stmatrix takes a 16x8 matrix as mma leaves it.
"""

import numpy as np
import pytest
from sim.profile.count_tools import check, profile

import smemkit

BYTES = 4096
PACKED = {"b6x16_p32": 6, "b4x16_p64": 4}
UNUSED = 0x7777
FORMS = [
    *((f"m16n16.x{n}.trans", "b8", 2 * n) for n in (1, 2)),
    *((f"m16n16.x{n}.trans", f"b8x16.{x}", 2 * n) for n in (1, 2) for x in PACKED),
    *((f"m8n16.x{n}", f"b8x16.{x}", n) for n in (1, 2, 4) for x in PACKED),
]
EACH_FORM = pytest.mark.parametrize(("shape", "kind", "count"), FORMS)
STORES = pytest.mark.parametrize("count", [1, 2, 4])


def registers(count):
    return "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"


def write_kernel(line, *, fill=BYTES, before=""):
    """PTX of a kernel (out, data, at, held): fills memory with data, and gives it and %v back."""
    return f"""
.version 8.8
.target sm_120a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data, .param .u64 at, .param .u64 held)
{{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b32 %v<4>;
.shared .align 16 .b8 s[{BYTES}];
mov.u32 %r1, %tid.x;
mov.u32 %r2, s;
ld.param.u64 %rd1, [held];
mad.wide.u32 %rd1, %r1, 4, %rd1;
{" ".join(f"ld.global.u32 %v{i}, [%rd1+{128 * i}];" for i in range(4))}
ld.param.u64 %rd1, [data];
mad.wide.u32 %rd1, %r1, 4, %rd1;
mad.lo.u32 %r5, %r1, 4, %r2;
mov.u32 %r3, 0;
FILL:
ld.global.u32 %r6, [%rd1];
st.shared.u32 [%r5], %r6;
add.u64 %rd1, %rd1, 128;
add.u32 %r5, %r5, 128;
add.u32 %r3, %r3, 128;
setp.lt.u32 %p1, %r3, {fill};
@%p1 bra FILL;
bar.sync 0;
ld.param.u64 %rd2, [at];
mad.wide.u32 %rd2, %r1, 4, %rd2;
ld.global.u32 %r4, [%rd2];
add.u32 %r4, %r4, %r2;
{before}
{line}
bar.sync 0;
ld.param.u64 %rd5, [out];
mad.wide.u32 %rd5, %r1, 4, %rd5;
{" ".join(f"st.global.u32 [%rd5+{128 * i}], %v{i};" for i in range(4))}
mad.lo.u32 %r5, %r1, 4, %r2;
mov.u32 %r3, 0;
BACK:
ld.shared.u32 %r6, [%r5];
st.global.u32 [%rd5+512], %r6;
add.u64 %rd5, %rd5, 128;
add.u32 %r5, %r5, 128;
add.u32 %r3, %r3, 128;
setp.lt.u32 %p1, %r3, {fill};
@%p1 bra BACK;
ret;
}}
"""


def write_load(shape, kind, count, **options):
    line = f"ldmatrix.sync.aligned.{shape}.shared.{kind} {registers(count)}, [%r4];"
    return write_kernel(line, **options)


def write_store(count, **options):
    line = f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%r4], {registers(count)};"
    return write_kernel(line, **options)


def make(rng):
    """What the kernel takes: memory, each lane's place in it, and the registers."""
    data = rng.integers(2**32, size=BYTES // 4, dtype=np.uint32)
    at = (16 * rng.permutation(BYTES // 16)[:32]).astype(np.uint32)
    return data, at, rng.integers(2**32, size=(4, 32), dtype=np.uint32)


def run(text, data, at, held):
    """Registers and memory behind it."""
    out = np.zeros(4 * 32 + BYTES // 4, np.uint32)
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    kernel(1, 32, (out, data, at, held), backend="sim")
    return out[:128].reshape(4, 32), out[128:]


def read_row(row, kind):
    """16 bytes of a row; smaller elements lie one behind the other from the lowest bit on."""
    bits = PACKED.get(kind.rpartition(".")[2], 8)
    whole = int.from_bytes(row.tobytes(), "little")
    return [whole >> bits * i & ((1 << bits) - 1) for i in range(16)]


def expect_load(shape, kind, count, data, at, held):
    out, memory = held.copy(), data.view(np.uint8)
    rows = np.array([read_row(memory[x : x + 16], kind) for x in at[: 8 * count]])
    for register, lane, byte in np.ndindex(count, 32, 4):
        group, thread = divmod(lane, 4)
        if shape.startswith("m8n16"):
            value = rows[8 * register + group, 4 * thread + byte]
        else:
            matrix, half = divmod(register, 2)
            value = rows[16 * matrix + 4 * thread + byte, group + 8 * half]
        keep = np.uint32(0xFFFFFFFF ^ 0xFF << 8 * byte)
        out[register, lane] = out[register, lane] & keep | np.uint32(int(value) << 8 * byte)
    return out


def expect_store(count, data, at, held):
    """Memory: column c of the matrix, 16 bytes, at the address of lane c."""
    memory = data.view(np.uint8).copy()
    for matrix in range(count):
        fragment = held[matrix].view(np.uint8).reshape(8, 4, 2, 2)  # group, thread, half, byte
        columns = fragment.transpose(1, 3, 2, 0).reshape(8, 16)
        for column in range(8):
            start = at[8 * matrix + column]
            memory[start : start + 16] = columns[column]
    return memory.view(np.uint32)


@EACH_FORM
def test_what_lanes_get(shape, kind, count, rng):
    """Addresses of lanes behind the last matrix do not matter, whatever they are."""
    data, at, held = make(rng)
    wild = at.copy()
    wild[8 * count :] = 3
    registers_behind, memory = run(write_load(shape, kind, count), data, wild, held)
    assert (registers_behind == expect_load(shape, kind, count, data, at, held)).all()
    assert (memory == data).all()


@STORES
def test_what_is_stored(count, rng):
    data, at, held = make(rng)
    wild = at.copy()
    wild[8 * count :] = 3
    registers_behind, memory = run(write_store(count), data, wild, held)
    assert (memory == expect_store(count, data, at, held)).all()
    assert (registers_behind == held).all()


@pytest.mark.parametrize(("shape", "kind", "count"), FORMS[:4])
@pytest.mark.parametrize(
    ("wrong", "error"), [(8, smemkit.MisalignedError), (BYTES, smemkit.OutOfBoundsError)]
)
def test_wrong_addresses(shape, kind, count, wrong, error, rng):
    data, at, held = make(rng)
    at[8 * count - 1] = wrong
    with pytest.raises(error, match="load of 16 bytes") as caught:
        run(write_load(shape, kind, count), data, at, held)
    assert caught.value.thread == (8 * count - 1, 0, 0)


@pytest.mark.parametrize(
    "line",
    [
        "ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%v0, %v1}, [%r4];",
        "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%v0, %v1, %v2, %v3}, [%r4];",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%v0}, [%r4];",
        "ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8x16.b4x16_p64 {%v0}, [%r4];",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%v0}, [%r4];",
        "stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r4], {%v0};",
        "stmatrix.sync.aligned.m16n16.x1.trans.shared.b8 [%r4], {%v0, %v1};",
    ],
)
def test_forms_that_ptxas_refuses(line, rng):
    with pytest.raises(smemkit.PtxError):
        run(write_kernel(line), *make(rng))


def test_needs_a_later_target(rng):
    text = write_load(*FORMS[0]).replace("sm_120a", "sm_90a")
    with pytest.raises(smemkit.PtxError, match=r"needs \.target sm_100 or later"):
        run(text, *make(rng))


# Counting and checking ---------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "kind", "count"), FORMS[:6])
@pytest.mark.parametrize(("step", "each"), [(16, 1), (64, 4), (0, 1)])
def test_a_phase_for_each_8_rows(shape, kind, count, step, each, rng):
    _, _, held = make(rng)
    at = (step * np.arange(32)).astype(np.uint32)
    buffers = np.zeros(128 + BYTES // 4, np.uint32), np.zeros(BYTES // 4, np.uint32), at, held
    back = BYTES // 128  # loads of words behind it
    check(
        profile(write_load(shape, kind, count), *buffers),
        "shared.load",
        instructions=back + 1,
        wavefronts=back + each * count,
        ideal=back + count,
        conflicts=(each - 1) * count,
        bytes=BYTES + 8 * count * 2 * PACKED.get(kind.rpartition(".")[2], 8),
    )


def find(text, data, at, held):
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    out = np.zeros(128 + BYTES // 4, np.uint32)
    return smemkit.check(kernel, 1, 32, (out, data, at, held)).findings


@pytest.mark.parametrize(
    ("kind", "used"), [("b8", 16), ("b8x16.b6x16_p32", 12), ("b8x16.b4x16_p64", 8)]
)
def test_check_sees_the_bytes_that_are_used(kind, used, rng):
    """Padding that nobody has written is not read; an element is."""
    data, at, held = make(rng)
    at = np.zeros(32, np.uint32)
    for written in (used, used - 4):
        words = "\n".join(f"st.shared.u32 [%r2+{128 + i}], %r1;" for i in range(0, written, 4))
        row = f"{words}\nbar.warp.sync -1;\nadd.u32 %r4, %r2, 128;"
        text = write_load("m16n16.x1.trans", kind, 2, fill=128, before=row)
        kinds = {one.kind for one in find(text, data, at, held)}
        assert ("uninitialized" in kinds) == (written < used)


def test_check_sees_each_row(rng):
    """Rows that another lane wrote and no barrier made known; none where there is one."""
    data, at, held = make(rng)
    text = write_load(*FORMS[1])
    assert find(text, data, at, held) == []
    found = find(text.replace("bar.sync 0;", "", 1), data, at, held)
    assert {one.kind for one in found} <= {"race", "warp_hazard"} and found


def test_check_sees_what_it_stores(rng):
    data, at, held = make(rng)
    assert find(write_store(4), data, at, held) == []
    at[9] = BYTES
    assert [one.kind for one in find(write_store(2), data, at, held)] == ["out_of_bounds"]
