"""Loads, stores, atomics, exchange between lanes, barriers, copies: one instruction at a time."""

import numpy as np
import pytest

import smemkit

LANES = 32
ALL = 0xFFFFFFFF
HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n"


def run(machine, body, *arrays, block=LANES, before=""):
    """A kernel of one block: %tid in %t, 8 * %tid in %t8, array number k at the address %p{k}."""
    parameters = ", ".join(f".param .u64 array{k}" for k in range(len(arrays)))
    loads = "".join(
        f".reg .b64 %p{k};\nld.param.u64 %p{k}, [array{k}];\n" for k in range(len(arrays))
    )
    text = (
        f"{HEADER}{before}\n.visible .entry k({parameters})\n{{\n{loads}"
        ".reg .b32 %t;\n.reg .b64 %t8;\n.reg .pred %q<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<19>;\n"
        ".reg .b64 %d<19>;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %t8, %t, 8;\n"
        f"{body}\nret;\n}}\n"
    )
    kernel = smemkit.RawModule(text, backend=machine).get_function("k")
    kernel((1,), (block,), arrays, backend=machine)


def fill_random(rng, dtype, count=LANES):
    return np.frombuffer(rng.bytes(count * np.dtype(dtype).itemsize), dtype).copy()


# loads and stores -----------------------------------------------------------------------------

TYPES = {
    "u8": np.uint8,
    "s8": np.int8,
    "b8": np.uint8,
    "u16": np.uint16,
    "s16": np.int16,
    "b16": np.uint16,
    "u32": np.uint32,
    "s32": np.int32,
    "b32": np.uint32,
    "f32": np.uint32,
    "u64": np.uint64,
    "s64": np.int64,
    "b64": np.uint64,
    "f64": np.uint64,
}
ROWS = {"%h1": 16, "%r1": 32, "%d1": 64}


@pytest.mark.parametrize("space", ["global", "generic", "shared", "local"])
@pytest.mark.parametrize("name", TYPES)
def test_load_and_store(rng, machine, name, space):
    """A value goes through memory; a wider register gets it extended by its sign."""
    dtype = np.dtype(TYPES[name])
    source = fill_random(rng, dtype)
    for register, width in ROWS.items():
        if width < 8 * dtype.itemsize or (name[0] == "f" and width != 8 * dtype.itemsize):
            continue
        kind = "s" if np.issubdtype(dtype, np.signedinteger) else "u"
        wide = np.dtype(f"{'i' if kind == 's' else 'u'}{width // 8}")
        out = np.zeros(LANES, np.uint64)
        stored = np.zeros(LANES, dtype)
        address = f"mul.wide.u32 %d2, %t, {dtype.itemsize}; add.u64 %d3, %d2, %p0;\n"
        address += "add.u64 %d4, %d2, %p1;\n"
        if space in ("global", "generic"):
            word = "" if space == "generic" else ".global"
            middle = f"ld{word}.{name} {register}, [%d3];\nst{word}.{name} [%d4], {register};\n"
        else:
            where = "room" if space == "local" else "%r9"
            base = (
                ""
                if space == "local"
                else (
                    f"mov.u32 %r9, room; mul.lo.u32 %r8, %t, {dtype.itemsize}; "
                    "add.u32 %r9, %r9, %r8;\n"
                )
            )
            middle = (
                f".{space} .align 8 .b8 room[256];\n{base}"
                f"ld.global.{name} {register}, [%d3];\nst.{space}.{name} [{where}], {register};\n"
                f"mov.b{width} {register}, 0;\nld.{space}.{name} {register}, [{where}];\n"
                f"st.global.{name} [%d4], {register};\n"
            )
        finish = f"add.u64 %d5, %t8, %p2;\nst.global.b{width} [%d5], {register};"
        run(machine, address + middle + finish, source, stored, out)
        assert np.array_equal(stored, source)
        got = out.astype(np.dtype(f"u{width // 8}"))
        assert np.array_equal(got, source.astype(wide).view(got.dtype)), (name, register)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", ["u8", "s16", "b32", "f32", "u64", "f64"])
def test_vectors(rng, machine, name, count):
    """Elements of a vector access come in order, through global and shared memory."""
    dtype = np.dtype(TYPES[name])
    if dtype.itemsize * count > 16:
        pytest.skip("an access has 16 bytes at most")
    letter = {1: "h", 2: "h", 4: "r", 8: "d"}[dtype.itemsize]
    registers = [f"%{letter}{k + 1}" for k in range(count)]
    vector = "{" + ", ".join(registers) + "}"
    turned = "{" + ", ".join(reversed(registers)) + "}"
    size = dtype.itemsize * count
    source = fill_random(rng, dtype, LANES * count)
    out = np.zeros_like(source)
    run(
        machine,
        f".shared .align 16 .b8 room[1024];\nmul.lo.u32 %r9, %t, {size};\ncvt.u64.u32 %d9, %r9;\n"
        f"mov.u32 %r10, room;\nadd.u32 %r10, %r10, %r9;\n"
        f"add.u64 %d10, %d9, %p0;\nadd.u64 %d11, %d9, %p1;\n"
        f"ld.global.v{count}.{name} {vector}, [%d10];\n"
        f"st.shared.v{count}.{name} [%r10], {turned};\n"
        f"ld.shared.v{count}.{name} {vector}, [%r10];\n"
        f"st.global.v{count}.{name} [%d11], {vector};",
        source,
        out,
    )
    assert np.array_equal(out.reshape(LANES, count), source.reshape(LANES, count)[:, ::-1])


@pytest.mark.parametrize("shift", [-1, 1])
def test_neighbours_but_for_some_lanes(machine, shift):
    """Each warp reads a row; of its lanes every 4th, 8th or 16th reads one place beside its own."""
    places = np.tile(np.arange(1, LANES + 1, dtype=np.uint32), (28, 1))
    odd = [(period, first) for period in (4, 8, 16) for first in range(period)]
    for row, (period, first) in zip(places, odd, strict=True):
        row[first::period] += np.uint32(shift % 2**32)
    values = np.arange(100, 100 + LANES + 2, dtype=np.uint32)
    far, near = np.zeros((2, *places.shape), np.uint32)
    body = (
        ".shared .align 4 .b32 sh[34];\nmul.wide.u32 %d1, %t, 4;\nmov.u32 %r5, sh;\n"
        "setp.lt.u32 %q1, %t, 34;\nadd.u64 %d2, %p1, %d1;\n@%q1 ld.global.u32 %r1, [%d2];\n"
        "mad.lo.u32 %r2, %t, 4, %r5;\n@%q1 st.shared.u32 [%r2], %r1;\nbar.sync 0;\n"
        "add.u64 %d3, %p0, %d1;\nld.global.u32 %r3, [%d3];\n"
        "mad.wide.u32 %d4, %r3, 4, %p1;\nld.global.u32 %r4, [%d4];\n"
        "add.u64 %d5, %p2, %d1;\nst.global.u32 [%d5], %r4;\n"
        "mad.lo.u32 %r6, %r3, 4, %r5;\nld.shared.u32 %r7, [%r6];\n"
        "add.u64 %d6, %p3, %d1;\nst.global.u32 [%d6], %r7;"
    )
    run(machine, body, places, values, far, near, block=places.size)
    np.testing.assert_array_equal(far, 100 + places)
    np.testing.assert_array_equal(near, 100 + places)


def test_inactive_lanes_keep_memory_and_registers(rng, machine):
    source = fill_random(rng, np.uint32)
    out = np.full(LANES, 7, np.uint32)
    kept = np.zeros(LANES, np.uint32)
    run(
        machine,
        "and.b32 %r1, %t, 3;\nsetp.eq.u32 %q1, %r1, 1;\nmul.wide.u32 %d1, %t, 4;\n"
        "add.u64 %d2, %d1, %p0;\nadd.u64 %d3, %d1, %p1;\nadd.u64 %d4, %d1, %p2;\n"
        "mov.u32 %r2, 99;\n@%q1 ld.global.u32 %r2, [%d2];\n@!%q1 st.global.u32 [%d3], %r2;\n"
        "st.global.u32 [%d4], %r2;",
        source,
        out,
        kept,
    )
    odd = np.arange(LANES) % 4 == 1
    assert np.array_equal(out, np.where(odd, 7, 99))
    assert np.array_equal(kept, np.where(odd, source, 99))


def test_generic_addresses_of_parameters(machine):
    """A kernel reads its own parameter by a generic address, whose space is told."""
    out = np.zeros((2, LANES), np.uint64)
    array = smemkit.asarray(out, backend=machine)
    body = """
    mov.u64 %d1, array0;
    cvta.param.u64 %d2, %d1;
    ld.u64 %d3, [%d2];
    add.u64 %d4, %p0, %t8;
    st.global.u64 [%d4], %d3;
    isspacep.param %q1, %d2;
    isspacep.param %q2, %p0;
    selp.u64 %d5, 1, 0, %q1;
    selp.u64 %d6, 2, 0, %q2;
    or.b64 %d5, %d5, %d6;
    st.global.u64 [%d4+256], %d5;
    """
    run(machine, body, array)
    assert smemkit.asnumpy(array).tolist() == [[array.pointer] * LANES, [1] * LANES]


def test_constant_memory(machine):
    out = np.zeros(LANES, np.uint32)
    run(
        machine,
        "and.b32 %r1, %t, 3;\nmul.wide.u32 %d1, %r1, 4;\nmov.u64 %d2, table;\n"
        "add.u64 %d2, %d2, %d1;\n"
        "ld.const.u32 %r2, [%d2];\nld.const.u32 %r3, [table+8];\nadd.u32 %r2, %r2, %r3;\n"
        "mul.wide.u32 %d3, %t, 4;\nadd.u64 %d3, %d3, %p0;\nst.global.u32 [%d3], %r2;",
        out,
        before=".const .align 4 .u32 table[4] = {10, 20, 30, 40};",
    )
    assert np.array_equal(out, np.tile([40, 50, 60, 70], 8))


# atomics --------------------------------------------------------------------------------------


def as_signed(values):
    return values.view(np.dtype(f"i{values.itemsize}"))


def step_up(old, limit):
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def step_down(old, limit):
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


def signed_pick(pick):
    return lambda old, new: pick(as_signed(old), as_signed(new)).view(old.dtype)


ATOMICS = {
    "exch.b32": (np.uint32, lambda old, new: new),
    "exch.b64": (np.uint64, lambda old, new: new),
}
for _bits in (32, 64):
    _dtype = np.dtype(f"u{_bits // 8}").type
    ATOMICS[f"add.u{_bits}"] = (_dtype, lambda old, new: old + new)
    ATOMICS[f"min.u{_bits}"] = (_dtype, np.minimum)
    ATOMICS[f"max.u{_bits}"] = (_dtype, np.maximum)
    ATOMICS[f"min.s{_bits}"] = (_dtype, signed_pick(np.minimum))
    ATOMICS[f"max.s{_bits}"] = (_dtype, signed_pick(np.maximum))
    for _name, _function in (
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
    ):
        ATOMICS[f"{_name}.b{_bits}"] = (_dtype, _function)
ATOMICS["add.s32"] = (np.uint32, lambda old, new: old + new)
ATOMICS["inc.u32"] = (np.uint32, step_up)
ATOMICS["dec.u32"] = (np.uint32, step_down)


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_on_distinct_words(rng, machine, name, space):
    """Each lane on its own word: the old value comes back, the new one is in memory; so for red."""
    dtype, function = ATOMICS[name]
    width = 8 * np.dtype(dtype).itemsize
    memory = fill_random(rng, dtype)
    memory[:4] = [0, 1, np.iinfo(dtype).max, np.iinfo(dtype).max // 2 + 1]
    operand = fill_random(rng, dtype)
    operand[4:8] = memory[4:8]
    first = function(memory, operand)
    last = first if name.startswith("exch") else function(first, operand)
    old = np.zeros_like(memory)
    final = memory.copy()
    v = "%r1" if width == 32 else "%d10"
    w = "%r2" if width == 32 else "%d11"
    red = "" if name.startswith("exch") else f"red{{space}}.{name} [{{where}}], {v};\n"
    body = (
        f"mul.wide.u32 %d1, %t, {width // 8};\nadd.u64 %d2, %d1, %p0;\nadd.u64 %d3, %d1, %p1;\n"
        f"add.u64 %d4, %d1, %p2;\nld.global.b{width} {v}, [%d3];\n"
    )
    if space == "shared":
        body += (
            ".shared .align 8 .b8 room[256];\ncvt.u32.u64 %r8, %d1;\nmov.u32 %r9, room;\n"
            f"add.u32 %r9, %r9, %r8;\nld.global.b{width} {w}, [%d2];\n"
            f"st.shared.b{width} [%r9], {w};\n"
            f"atom.shared.{name} {w}, [%r9], {v};\n{red.format(space='.shared', where='%r9')}"
            f"st.global.b{width} [%d4], {w};\nld.shared.b{width} {w}, [%r9];\n"
            f"st.global.b{width} [%d2], {w};"
        )
    else:
        word = "" if space == "generic" else ".global"
        body += f"atom{word}.{name} {w}, [%d2], {v};\n{red.format(space=word, where='%d2')}"
        body += f"st.global.b{width} [%d4], {w};"
    run(machine, body, final, operand, old)
    assert np.array_equal(old, memory)
    assert np.array_equal(final, last)


@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics_on_one_word(machine, space):
    """All lanes on one word: every increment counts, and each lane saw another value."""
    out = np.zeros(LANES, np.uint32)
    total = np.zeros(1, np.uint32)
    where = "%r9" if space == "shared" else "%p1"
    room = ".shared .align 4 .u32 room;\nmov.u32 %r9, room;\nst.shared.u32 [%r9], 0;\n"
    back = "ld.shared.u32 %r2, [%r9];\nst.global.u32 [%p1], %r2;"
    run(
        machine,
        (room if space == "shared" else "")
        + f"atom.{space}.add.u32 %r1, [{where}], 3;\nbar.warp.sync -1;\n"
        + "mul.wide.u32 %d1, %t, 4;\nadd.u64 %d1, %d1, %p0;\nst.global.u32 [%d1], %r1;\n"
        + (back if space == "shared" else ""),
        out,
        total,
    )
    assert total[0] == 3 * LANES
    assert np.array_equal(np.sort(out), 3 * np.arange(LANES))


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_compare_and_swap(rng, machine, bits):
    dtype = np.dtype(f"u{bits // 8}").type
    memory, expected, wanted = (fill_random(rng, dtype) for _ in range(3))
    match = rng.integers(0, 2, LANES).astype(bool)
    expected[match] = memory[match]
    before = memory.copy()
    old = np.zeros_like(memory)
    letter = {16: "h", 32: "r", 64: "d"}[bits]
    x, y, z = (f"%{letter}{k}" for k in (6, 7, 8))
    run(
        machine,
        f"mul.wide.u32 %d1, %t, {bits // 8};\nadd.u64 %d2, %d1, %p0;\nadd.u64 %d3, %d1, %p1;\n"
        f"add.u64 %d4, %d1, %p2;\nadd.u64 %d5, %d1, %p3;\n"
        f"ld.global.b{bits} {x}, [%d3];\nld.global.b{bits} {y}, [%d4];\n"
        f"atom.global.cas.b{bits} {z}, [%d2], {x}, {y};\nst.global.b{bits} [%d5], {z};",
        memory,
        expected,
        wanted,
        old,
    )
    assert np.array_equal(old, before)
    assert np.array_equal(memory, np.where(match, wanted, before))


@pytest.mark.parametrize("name", ["f32", "f64", "noftz.f16", "noftz.f16x2", "noftz.bf16"])
def test_float_additions(rng, machine, name):
    """Small integers, which every format holds exactly, so that the order does not matter."""
    kind = name.split(".")[-1]
    terms = rng.integers(-7, 8, LANES)
    if kind == "bf16":
        single = terms.astype(np.float32).view(np.uint32) >> 16
        operand, dtype = single.astype(np.uint16), np.uint16
    else:
        dtype = {"f32": np.float32, "f64": np.float64}.get(kind, np.float16)
        operand = terms.astype(dtype)
        if kind == "f16x2":
            operand = np.stack([operand, -operand], axis=1).reshape(-1)
    width = {"f32": 32, "f64": 64, "f16x2": 32}.get(kind, 16)
    letter = {16: "h", 32: "r", 64: "d"}[width]
    total = np.zeros(2 if kind == "f16x2" else 1, dtype)
    run(
        machine,
        f"mul.wide.u32 %d1, %t, {width // 8};\nadd.u64 %d1, %d1, %p0;\n"
        f"ld.global.b{width} %{letter}6, [%d1];\nred.global.add.{name} [%p1], %{letter}6;\n"
        f"atom.global.add.{name} %{letter}7, [%p1], %{letter}6;",
        operand,
        total,
    )
    wanted = 2 * int(terms.sum())
    if kind == "bf16":
        assert (total.astype(np.uint32) << 16).view(np.float32)[0] == wanted
    else:
        assert total[0] == wanted
        assert kind != "f16x2" or total[1] == -wanted


# exchange between lanes -----------------------------------------------------------------------


def shuffle(mode, values, b, c):
    """shfl as the PTX ISA defines it: values and whether the source was in range."""
    out, inside = [], []
    keep, limit = c >> 8 & 31, c & 31
    for lane in range(LANES):
        offset = int(b[lane]) & 31
        low, high = lane & keep, (lane & keep) | (limit & ~keep & 31)
        source = {
            "up": lane - offset,
            "down": lane + offset,
            "bfly": lane ^ offset,
            "idx": low | (offset & ~keep & 31),
        }[mode]
        valid = source >= high if mode == "up" else source <= high
        out.append(values[source if valid else lane])
        inside.append(valid)
    return np.array(out), np.array(inside)


@pytest.mark.parametrize("width", [32, 16, 8, 2])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(rng, machine, mode, width):
    """One offset for all lanes, then an offset a lane; with and without the predicate."""
    values = fill_random(rng, np.uint32)
    c = (32 - width) << 8 | (0 if mode == "up" else 31)
    same = np.full(LANES, int(rng.integers(1, 32)), np.uint32)
    own = rng.integers(0, 64, LANES).astype(np.uint32)
    # an offset a lane has a meaning where a lane chooses freely whom it reads
    for offsets in (same, own) if mode in ("idx", "bfly") else (same,):
        out, plain, inside = (np.zeros(LANES, np.uint32) for _ in range(3))
        run(
            machine,
            "mul.wide.u32 %d1, %t, 4;\n"
            + "".join(f"add.u64 %d{k + 2}, %d1, %p{k};\n" for k in range(5))
            + "ld.global.u32 %r1, [%d2];\nld.global.u32 %r2, [%d3];\n"
            f"shfl.sync.{mode}.b32 %r3|%q1, %r1, %r2, {c}, -1;\n"
            f"shfl.sync.{mode}.b32 %r4, %r1, %r2, {c}, -1;\nselp.u32 %r5, 1, 0, %q1;\n"
            "st.global.u32 [%d4], %r3;\nst.global.u32 [%d5], %r4;\nst.global.u32 [%d6], %r5;",
            values,
            offsets,
            out,
            plain,
            inside,
        )
        wanted, valid = shuffle(mode, values, offsets, c)
        assert np.array_equal(out, wanted)
        assert np.array_equal(plain, wanted)
        assert np.array_equal(inside, valid)


@pytest.mark.parametrize("member", [ALL, 0x0000FFFF, 0x55555555, 0x80000001])
def test_votes_and_reductions(rng, machine, member):
    """Lanes of a mask vote and reduce; the others stay away."""
    inside = np.array([member >> k & 1 for k in range(LANES)], bool)
    values = fill_random(rng, np.uint32)
    for truth in (rng.integers(0, 2, LANES), np.ones(LANES), np.zeros(LANES)):
        flags = truth.astype(np.uint32)
        out = np.zeros((14, LANES), np.uint32)
        reductions = ("add.u32", "min.u32", "max.u32", "add.s32", "min.s32", "max.s32")
        reductions += ("and.b32", "or.b32", "xor.b32")
        lines = [
            "mul.wide.u32 %d1, %t, 4;\nadd.u64 %d2, %d1, %p0;\nadd.u64 %d3, %d1, %p1;",
            "add.u64 %d4, %d1, %p2;\nld.global.u32 %r1, [%d2];\nld.global.u32 %r2, [%d3];",
            f"setp.ne.u32 %q1, %r1, 0;\nshr.u32 %r3, {member}, %t;\nand.b32 %r3, %r3, 1;",
            "setp.eq.u32 %q2, %r3, 0;\n@%q2 bra DONE;",
        ]
        for k, mode in enumerate(("all", "any", "uni")):
            lines.append(f"vote.sync.{mode}.pred %q3, %q1, {member};\nselp.u32 %r4, 1, 0, %q3;")
            lines.append(f"st.global.u32 [%d4+{128 * k}], %r4;")
        lines.append(f"vote.sync.ballot.b32 %r4, !%q1, {member};\nst.global.u32 [%d4+384], %r4;")
        lines.append("activemask.b32 %r4;\nst.global.u32 [%d4+512], %r4;")
        for k, name in enumerate(reductions):
            lines.append(
                f"redux.sync.{name} %r4, %r2, {member};\nst.global.u32 [%d4+{640 + 128 * k}], %r4;"
            )
        run(machine, "\n".join([*lines, "DONE:"]), flags, values, out)
        chosen, numbers = flags[inside].astype(bool), values[inside]
        signed = numbers.view(np.int32)
        ballot = sum(1 << k for k in range(LANES) if inside[k] and not flags[k])
        wanted = [chosen.all(), chosen.any(), chosen.all() or not chosen.any(), ballot, member]
        wanted += [int(numbers.sum(dtype=np.uint64)), numbers.min(), numbers.max()]
        wanted += [int(numbers.sum(dtype=np.uint64)), int(signed.min()), int(signed.max())]
        wanted += [f.reduce(numbers) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)]
        for k, value in enumerate(wanted):
            assert np.all(out[k][inside] == int(value) & ALL), k
        assert np.all(out[:, ~inside] == 0)


@pytest.mark.parametrize("bits", [32, 64])
def test_match(rng, machine, bits):
    dtype = np.dtype(f"u{bits // 8}").type
    letter = "r" if bits == 32 else "d"
    choices = fill_random(rng, dtype, 5)
    for values in (choices[rng.integers(0, 5, LANES)], np.full(LANES, choices[0])):
        out, every, flag = (np.zeros(LANES, np.uint32) for _ in range(3))
        run(
            machine,
            f"mul.wide.u32 %d1, %t, {bits // 8};\nadd.u64 %d2, %d1, %p0;\n"
            "mul.wide.u32 %d1, %t, 4;\n"
            "add.u64 %d3, %d1, %p1;\nadd.u64 %d4, %d1, %p2;\nadd.u64 %d5, %d1, %p3;\n"
            f"ld.global.b{bits} %{letter}9, [%d2];\nmatch.any.sync.b{bits} %r1, %{letter}9, -1;\n"
            f"match.all.sync.b{bits} %r2|%q1, %{letter}9, -1;\nselp.u32 %r3, 1, 0, %q1;\n"
            "st.global.u32 [%d3], %r1;\nst.global.u32 [%d4], %r2;\nst.global.u32 [%d5], %r3;",
            values,
            out,
            every,
            flag,
        )
        same = [sum(1 << k for k in range(LANES) if values[k] == v) for v in values]
        assert np.array_equal(out, np.array(same, np.uint32))
        alike = bool(np.all(values == values[0]))
        assert np.all(flag == alike)
        assert np.all(every == (ALL if alike else 0))


# barriers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [32, 96, 256])
def test_reducing_barriers(rng, machine, threads):
    """bar.red over all threads of a block, its predicate as it is and negated."""
    for truth in (rng.integers(0, 2, threads), np.ones(threads), np.zeros(threads)):
        flags = truth.astype(np.uint32)
        out = np.zeros((4, threads), np.uint32)
        run(
            machine,
            "mul.wide.u32 %d1, %t, 4;\nadd.u64 %d2, %d1, %p0;\nadd.u64 %d3, %d1, %p1;\n"
            "ld.global.u32 %r1, [%d2];\nsetp.ne.u32 %q1, %r1, 0;\n"
            f"bar.red.popc.u32 %r2, 0, %q1;\nst.global.u32 [%d3], %r2;\n"
            f"bar.red.and.pred %q2, 1, {threads}, %q1;\nselp.u32 %r2, 1, 0, %q2;\n"
            f"st.global.u32 [%d3+{4 * threads}], %r2;\n"
            f"barrier.red.or.pred %q2, 2, !%q1;\nselp.u32 %r2, 1, 0, %q2;\n"
            f"st.global.u32 [%d3+{8 * threads}], %r2;\n"
            f"barrier.red.popc.u32 %r2, 0, {threads}, !%q1;\n"
            f"st.global.u32 [%d3+{12 * threads}], %r2;",
            flags,
            out,
            block=threads,
        )
        count = int(flags.sum())
        assert np.all(out[0] == count)
        assert np.all(out[1] == (count == threads))
        assert np.all(out[2] == (count < threads))
        assert np.all(out[3] == threads - count)


# asynchronous copies --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 8, 16])
def test_asynchronous_copies(rng, machine, size):
    """Two groups; the first is waited for alone. A source size fills the rest with zeros."""
    source = fill_random(rng, np.uint8, 2 * LANES * size)
    out = np.zeros(3 * LANES * size, np.uint8)
    step = LANES * size
    copy = "\n".join(
        f"ld.shared.b32 %r3, [%r2+{{offset}}+{k}];\nst.global.b32 [%d3+{{offset}}+{k}], %r3;"
        for k in range(0, size, 4)
    )
    level = "cg" if size == 16 else "ca"
    run(
        machine,
        f".shared .align 16 .b8 room[{3 * step}];\nmul.lo.u32 %r1, %t, {size};\n"
        "mov.u32 %r2, room;\n"
        "add.u32 %r2, %r2, %r1;\ncvt.u64.u32 %d1, %r1;\nadd.u64 %d2, %d1, %p0;\n"
        "add.u64 %d3, %d1, %p1;\n"
        f"cp.async.{level}.shared.global [%r2], [%d2], {size};\ncp.async.commit_group;\n"
        f"cp.async.ca.shared.global [%r2+{step}], [%d2+{step}], {size};\n"
        f"and.b32 %r4, %t, {size - 1};\n"
        f"cp.async.ca.shared.global [%r2+{2 * step}], [%d2], {size}, %r4;\n"
        "cp.async.commit_group;\ncp.async.wait_group 1;\n"
        + copy.replace("{offset}", "0")
        + "\ncp.async.wait_all;\n"
        + copy.replace("{offset}", str(step))
        + "\n"
        + copy.replace("{offset}", str(2 * step)),
        source,
        out,
    )
    assert np.array_equal(out[: 2 * step], source)
    partial = source[:step].reshape(LANES, size).copy()
    for lane in range(LANES):
        partial[lane, lane % size :] = 0
    assert np.array_equal(out[2 * step :].reshape(LANES, size), partial)


def test_words_of_128_bits_go_whole_to_other_devices(machine):
    words = np.arange(2 * LANES, dtype=np.uint64) * np.uint64(0x0123456789ABCDEF)
    out = np.zeros_like(words)
    body = (
        ".reg .b128 %w;\nmul.wide.u32 %d1, %t, 16;\nadd.u64 %d2, %p0, %d1;\n"
        "add.u64 %d3, %p1, %d1;\nld.mmio.relaxed.sys.b128 %w, [%d2];\n"
        "st.mmio.relaxed.sys.global.b128 [%d3], %w;"
    )
    run(machine, body, words, out)
    np.testing.assert_array_equal(out, words)


def test_a_register_of_two_halves_holds_a_mask(machine):
    """The positive halves and the NaNs of each word, as attention kernels write it."""
    halves = np.array([0, 0x8000, 1, 0x8001, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00], np.uint16)
    words = np.resize(halves, 2 * LANES).view(np.uint32)
    out = np.zeros_like(words)
    body = (
        ".reg .f16x2 %x;\nmul.wide.u32 %d1, %t, 4;\nadd.u64 %d2, %p0, %d1;\n"
        "add.u64 %d3, %p1, %d1;\nld.global.b32 %r1, [%d2];\nmov.b32 %r2, 0;\n"
        "set.gtu.u32.f16x2 %x, %r1, %r2;\n"
        "and.b32 %r1, %x, %r1;\nst.global.b32 [%d3], %r1;"
    )
    run(machine, body, words, out)
    given = words.view(np.uint16)
    kept = ((given & 0x8000) == 0) & (given != 0)
    np.testing.assert_array_equal(out.view(np.uint16), np.where(kept, given, 0))
