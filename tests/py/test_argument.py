"""Kernel arguments: numbers by the declared type, structures, arrays in and back, refusals."""

import ctypes
import decimal
import fractions
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smemkit

HEAD = """
.version 7.0
.target sm_75
.address_size 64
"""
BITS = {"8": "rs", "16": "rs", "32": "r", "64": "rd"}
WIDTHS = {f"{kind}{bits}": bits for kind in "usb" for bits in (8, 16, 32, 64)}
FORMATS = {"f32": "<f", "f64": "<d"}


def make_echo(kind):
    """A kernel that stores the bits of its second parameter, declared as .kind."""
    bits = "".join(filter(str.isdigit, kind))
    register = BITS[bits]
    return smemkit.RawKernel(
        HEAD
        + f"""
.visible .entry echo(.param .u64 to, .param .{kind} value)
{{
    .reg .b16 %rs<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd2, [to];
    ld.param.b{bits} %{register}1, [value];
    st.global.b{bits} [%rd2], %{register}1;
    ret;
}}
""",
        "echo",
    )


ECHO = {kind: make_echo(kind) for kind in [*WIDTHS, "f32", "f64", "f16"]}


def echo(kind, value):
    """The bytes that the kernel sees."""
    out = np.full(8, 0xEE, np.uint8)
    ECHO[kind](1, 1, (out, value), backend="sim")
    size = 2 if kind == "f16" else WIDTHS.get(kind, int(kind[1:])) // 8
    assert (out[size:] == 0xEE).all()
    return out[:size].tobytes()


def integer_range(kind):
    """What a parameter takes; an unsigned or untyped one may stand for a signed one of CUDA C."""
    bits = WIDTHS[kind]
    return -(2 ** (bits - 1)), 2 ** (bits - 1 if kind[0] == "s" else bits) - 1


INTEGER_TYPES = [int, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64]
INTEGER_TYPES += [np.uint64, np.longlong]


@settings(max_examples=400, deadline=None)
@given(
    kind=st.sampled_from(sorted(WIDTHS)),
    make=st.sampled_from(INTEGER_TYPES),
    data=st.data(),
)
def test_integers(kind, make, data):
    low, high = integer_range(kind)
    if make is int:
        edges = [low - 1, low, -1, 0, 1, high, high + 1, 2**64, -(2**63) - 1, 10**40]
        number = data.draw(st.sampled_from(edges) | st.integers(low, high) | st.integers())
    else:
        info = np.iinfo(make)
        number = data.draw(st.integers(int(info.min), int(info.max)))
    value = make(number)
    if low <= number <= high:
        size = WIDTHS[kind] // 8
        assert echo(kind, value) == (number % 256**size).to_bytes(size, "little")
    else:
        with pytest.raises(smemkit.ArgumentError) as caught:
            echo(kind, value)
        assert "args[1]" in str(caught.value) and f".{kind}" in str(caught.value)


@pytest.mark.parametrize("kind", WIDTHS)
def test_bools(kind):
    for value in (True, False, np.True_, np.False_):
        assert echo(kind, value) == bytes([bool(value)]).ljust(WIDTHS[kind] // 8, b"\0")


class Index:
    def __index__(self):
        return -3


def test_whatever_has_an_index():
    assert echo("s32", Index()) == (-3).to_bytes(4, "little", signed=True)
    assert echo("s32", ctypes.c_int(5).value) == (5).to_bytes(4, "little")


REAL_TYPES = [float, int, np.float16, np.float32, np.float64, np.int32]


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(["f32", "f64"]),
    value=st.floats() | st.floats(width=32) | st.integers(-(2**80), 2**80) | st.booleans(),
    wrap=st.sampled_from([lambda x: x, np.float64, np.float32, np.float16]),
)
def test_reals(kind, value, wrap):
    with np.errstate(over="ignore"):
        value = wrap(value)
    number = float(value)
    if kind == "f32":
        with np.errstate(over="ignore"):
            expected = float(np.float32(number))
        if np.isinf(expected) and not np.isinf(number):
            with pytest.raises(smemkit.ArgumentError):
                echo(kind, value)
            return
        got = echo(kind, value)
    else:
        expected, got = number, echo(kind, value)
    if np.isnan(number):
        assert np.isnan(struct.unpack(FORMATS[kind], got)[0])
    else:
        assert got == struct.pack(FORMATS[kind], expected)


def test_reals_of_other_makers():
    for value in (fractions.Fraction(1, 3), decimal.Decimal("0.1"), np.longdouble(2.5)):
        assert echo("f64", value) == struct.pack("<d", float(value))
    assert echo("f32", True) == struct.pack("<f", 1)


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
def test_reals_that_do_not_fit(kind):
    for value in (10**400, -(10**400)):
        with pytest.raises(smemkit.ArgumentError):
            echo(kind, value)
    with pytest.raises(smemkit.ArgumentError):
        echo("f16", 65520.0)


@settings(max_examples=200, deadline=None)
@given(st.floats(-65504, 65504) | st.sampled_from([np.inf, -np.inf, 5e-8, 2.9e-8, -0.0]))
def test_half(value):
    assert echo("f16", value) == struct.pack("<e", value)


@pytest.mark.parametrize("kind", ECHO)
def test_values_of_other_types(kind):
    is_real = kind[0] == "f"
    bad = [None, "1", b"", object(), 1j, np.complex128(1), [1], (1,), {}]
    bad += [] if is_real else [1.0, np.longdouble(1), decimal.Decimal(1)]
    bad += [] if kind[0] == "b" else [np.void(b"1"), b"1234", np.str_("1")]
    bad += [] if kind == "b64" else [np.datetime64(1, "s")]
    for value in bad:
        with pytest.raises(smemkit.Error) as caught:
            echo(kind, value)
        assert isinstance(caught.value, TypeError | ValueError)
        assert "args[1]" in str(caught.value)
    if kind not in ("u64", "s64", "b64"):
        for value in (np.zeros(1), np.array(1), smemkit.empty(1, backend="sim")):
            with pytest.raises(smemkit.ArgumentTypeError, match="pointer"):
                ECHO[kind](1, 1, (0, value), backend="sim")


def test_untyped_parameters_take_bits():
    assert echo("b32", np.float32(1.5)) == struct.pack("<f", 1.5)
    assert echo("b64", np.float64(1.5)) == struct.pack("<d", 1.5)
    assert echo("b32", b"\1\2\3\4") == b"\1\2\3\4"
    with pytest.raises(smemkit.ArgumentError, match="4 bytes"):
        echo("b32", np.float64(1.5))


# Structures --------------------------------------------------------------------------------------

COPY = smemkit.RawKernel(
    HEAD
    + """
.visible .entry copy(.param .u64 to, .param .align 8 .b8 pack[24])
{
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [to];
    ld.param.b64 %rd2, [pack];
    ld.param.b64 %rd3, [pack+8];
    ld.param.b64 %rd4, [pack+16];
    st.global.b64 [%rd1], %rd2;
    st.global.b64 [%rd1+8], %rd3;
    st.global.b64 [%rd1+16], %rd4;
    ret;
}
""",
    "copy",
)
PACK = np.dtype([("a", "f8"), ("b", "i4", (2,)), ("c", "u8")])


def copy_pack(value):
    out = np.zeros(24, np.uint8)
    COPY(1, 1, (out, value), backend="sim")
    return out.tobytes()


def test_structures():
    array = np.array([(1.5, (2, -3), 2**60)], PACK)
    raw = array.tobytes()
    for value in (raw, bytearray(raw), array[0], array.reshape(()), np.void(raw)):
        assert copy_pack(value) == raw
    swapped = array.astype(PACK.newbyteorder())
    assert copy_pack(swapped[0]) == raw
    assert copy_pack(swapped.reshape(())) == raw


def test_structures_refused():
    for value in (b"", b"x" * 23, b"x" * 25, np.void(b"x" * 8), np.float64(1)):
        with pytest.raises(smemkit.ArgumentError, match=r"takes 24 bytes"):
            copy_pack(value)
    for value in (1, 1.5, None, "x" * 24, np.zeros(24, np.uint8), np.zeros(1, PACK), [1, 2]):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"\.b8 pack\[24\]"):
            copy_pack(value)


# Arrays ------------------------------------------------------------------------------------------

ADD = smemkit.RawKernel(
    HEAD
    + """
.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [count];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 ret;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    ld.global.u32 %r7, [%rd5];
    add.s32 %r6, %r6, %r7;
    st.global.u32 [%rd4], %r6;
    ret;
}
""",
    "add",
)


ADD3 = smemkit.RawKernel(
    """
.version 7.0
.target sm_75
.address_size 64
.visible .entry add3(.param .u64 to, .param .u64 x, .param .u64 y)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd1, %r1, 4;
    ld.param.u64 %rd2, [to];
    ld.param.u64 %rd3, [x];
    ld.param.u64 %rd4, [y];
    add.s64 %rd2, %rd2, %rd1;
    add.s64 %rd3, %rd3, %rd1;
    add.s64 %rd4, %rd4, %rd1;
    ld.global.u32 %r2, [%rd3];
    ld.global.u32 %r3, [%rd4];
    add.s32 %r2, %r2, %r3;
    st.global.u32 [%rd2], %r2;
    ret;
}
""",
    "add3",
)


def add(to, source, machine, count=None):
    ADD(4, 16, (to, source, to.size if count is None else count), backend=machine)


LAYOUTS = {
    "plain": lambda x: x,
    "fortran": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_go_in_and_come_back(layout, machine, rng):
    x = rng.integers(-1000, 1000, (5, 7)).astype(np.int32)
    y = rng.integers(-1000, 1000, (5, 7)).astype(np.int32)
    a, b = LAYOUTS[layout](x.copy()), LAYOUTS[layout](y.copy())
    add(a, b, machine)
    assert np.array_equal(a, x + y) and np.array_equal(b, y)
    b.flags.writeable = False
    add(a, b, machine)
    assert np.array_equal(a, x + 2 * y)


def test_unaligned_array(machine):
    memory = np.zeros(4 * 9 + 1, np.uint8)
    a = memory[1:].view(np.int32)
    a[:] = np.arange(9)
    add(a, np.ones(9, np.int32), machine)
    assert a.tolist() == list(range(1, 10)) and memory[0] == 0


def test_read_only_arrays_are_not_written(machine):
    """What only reads them runs; what writes to them fails, and changes nothing."""
    a, b = np.zeros(8, np.int32), np.arange(8, dtype=np.int32)
    b.flags.writeable = False
    add(a, b, machine)
    assert a.tolist() == list(range(8))
    add(b, np.zeros(8, np.int32), machine)  # writes what is there
    with pytest.raises(smemkit.ArgumentError, match=r"args\[0\] \(\.u64 to\).* read-only"):
        add(b, np.ones(8, np.int32), machine)
    assert b.tolist() == list(range(8))
    large = np.zeros(300_000, np.int32)
    large.flags.writeable = False
    last = np.zeros(300_000, np.int32)
    last[-1] = 1
    with pytest.raises(smemkit.ArgumentError, match="read-only"):
        ADD(5000, 64, (large, last, large.size), backend=machine)
    for rows in (np.broadcast_to(np.ones(1, np.int32), (8,)), np.ones((8, 2), np.int32)[:, 0]):
        rows.flags.writeable = False
        with pytest.raises(smemkit.ArgumentError, match="read-only"):
            add(rows, np.ones(8, np.int32), machine)


def test_nothing_is_copied_back_where_a_read_only_array_was_written(machine):
    kernel = smemkit.RawKernel(
        """
.version 7.0
.target sm_75
.address_size 64
.visible .entry both(.param .u64 a, .param .u64 b)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    st.global.u32 [%rd1], 7;
    st.global.u32 [%rd2], 7;
    ret;
}
""",
        "both",
    )
    a, b = np.zeros(2, np.int32)[:1], np.zeros(1, np.int32)
    b.flags.writeable = False
    with pytest.raises(smemkit.ArgumentError, match=r"args\[1\]"):
        kernel(1, 1, (a, b), backend=machine)
    assert a[0] == 0 and b[0] == 0


def test_the_same_array_is_one_buffer(machine):
    a = np.arange(8, dtype=np.int32)
    add(a, a, machine)
    assert a.tolist() == [2 * i for i in range(8)]
    add(a, a[:], machine)
    assert a.tolist() == [4 * i for i in range(8)]
    view = a[:]
    view.flags.writeable = False
    for pair in ((a, view), (view, a)):
        a[:] = 1
        add(*pair, machine)
        assert a.tolist() == [2] * 8


def test_overlapping_arrays():
    a = np.arange(16, dtype=np.int32)
    for other in (a[1:], a[::-1], a[4:12], a.view(np.float32), a.reshape(4, 4)):
        before = a.copy()
        with pytest.raises(smemkit.ArgumentError, match="overlap"):
            add(a, other, "sim", 4)
        assert np.array_equal(a, before)
    even, odd = a[::2], a[1::2]
    add(even, odd, "sim")
    assert a.tolist() == [x for i in range(0, 16, 2) for x in (2 * i + 1, i + 1)]
    a = np.arange(16, dtype=np.int32)
    a.flags.writeable = False
    to = np.zeros(16, np.int32)
    ADD3(1, 4, (to, a[2:], a[1:]), backend="sim")
    assert to.tolist() == [2 * i + 3 for i in range(4)] + [0] * 12


def test_a_fault_leaves_arrays_alone():
    a = np.zeros(4, np.int32)
    with pytest.raises(smemkit.OutOfBoundsError):
        add(a, np.ones(4, np.int32), "sim", 64)
    assert a.tolist() == [0] * 4


def test_device_arrays(machine):
    a, b = (smemkit.asarray(np.arange(8, dtype=np.int32), backend=machine) for _ in range(2))
    ADD(1, 8, (a, b, 8))
    assert smemkit.asnumpy(a).tolist() == [2 * i for i in range(8)]
    ADD(1, 8, (a, a, 8), backend=machine)
    assert smemkit.asnumpy(a).tolist() == [4 * i for i in range(8)]
    ADD(1, 8, (a.pointer, b.pointer, 8), backend=machine)
    assert smemkit.asnumpy(a).tolist() == [5 * i for i in range(8)]


def test_numpy_and_device_arrays_do_not_mix(machine):
    a = np.zeros(8, np.int32)
    d = smemkit.asarray(a, backend=machine)
    for pair in ((a, d), (d, a)):
        with pytest.raises(smemkit.ArgumentTypeError, match="asnumpy"):
            ADD(1, 8, (*pair, 8))


def test_arrays_of_other_types():
    for bad in (np.array([object()]), np.array(["text"]), np.zeros(2, "M8[s]")):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"args\[0\]"):
            ADD(1, 1, (bad, np.zeros(1), 0))
    for bad in ([1, 2], None, 1.5, "x"):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"args\[0\]"):
            ADD(1, 1, (bad, np.zeros(1), 0))


def test_arrays_without_elements(machine):
    empty = np.zeros((0, 3), np.int32)
    add(empty, np.zeros((3, 0), np.int32), machine)


def test_messages_say_what_is_taken_and_what_was_given():
    cases = {
        (0, "text"): r"args\[0\] \(\.u64 to\) takes an array or an integer of 64 bits, not str",
        (0, 1.5): r"takes an array or an integer of 64 bits, not 1\.5 of type float",
        (2, 1.5): r"args\[2\] \(\.u32 count\) takes an integer of 32 bits, not 1\.5 of type float",
        (2, np.float32(3)): r"takes an integer of 32 bits, not 3\.0 of type numpy\.float32",
        (2, 2**40): r"takes -2147483648 to 4294967295 and does not hold 1099511627776",
    }
    for (place, bad), words in cases.items():
        arguments = [np.zeros(1, np.int32), np.zeros(1, np.int32), 1]
        arguments[place] = bad
        with pytest.raises((smemkit.ArgumentTypeError, smemkit.ArgumentError), match=words):
            ADD(1, 1, tuple(arguments))
    for array in (np.zeros((2, 3), np.float32), smemkit.empty((2, 3), "float32", backend="sim")):
        words = (
            r"of 32 bits: it is not a pointer, and an array of shape \(2, 3\) and type float32 was"
        )
        with pytest.raises(smemkit.ArgumentTypeError, match=words):
            ADD(1, 1, (0, 0, array))


def test_number_of_arguments():
    a = np.zeros(1, np.int32)
    for bad in ((), (a,), (a, a), (a, a, 1, 2)):
        with pytest.raises(TypeError, match=rf"takes 3 arguments, args has {len(bad)}") as caught:
            ADD(1, 1, bad)
        assert isinstance(caught.value, smemkit.Error)
    ADD(1, 1, [a, a, 1])
    for bad in (None, 3, a, {1: 2}, "abc", iter([a, a, 1])):
        with pytest.raises(smemkit.ArgumentTypeError, match="tuple or list"):
            ADD(1, 1, bad)
