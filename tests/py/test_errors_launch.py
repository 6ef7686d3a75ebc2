"""Launches that no machine can do: refused before anything runs, and nothing is lost."""

import numpy as np
import pytest
from support.handmade import build, check_still_works, load

import smemkit

ONE = build(
    """
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;""",
    ".param .u64 out, .param .u32 value",
)


def one(machine):
    return load(ONE, backend=machine)


BAD_SIZES = [
    (0, 32),
    (1, 0),
    (1, 1025),
    (1, (32, 33)),
    (1, (1, 1, 65)),
    (1, (16, 16, 5)),
    ((1, 0), 32),
    ((1, 1, 0), 32),
    ((1, 65536), 32),
    ((1, 1, 65536), 32),
    (2**31, 32),
    (2**40, 32),
    (1, 2**32 + 32),
    (2**32 + 1, 32),
    (2**70, 1),
    (-1, 32),
    (1, -32),
    ((), 32),
    (1, ()),
    ((1, 1, 1, 1), 32),
    (1, (1, 1, 1, 1)),
]


@pytest.mark.parametrize("grid, block", BAD_SIZES)
def test_sizes_refused(grid, block, machine):
    out = np.zeros(1, np.uint32)
    with pytest.raises(ValueError) as caught:
        one(machine)(grid, block, (out, 7), backend=machine)
    assert isinstance(caught.value, smemkit.Error)
    assert out[0] == 0
    check_still_works(machine)


@pytest.mark.parametrize("bad", [1.0, "1", None, b"1", (1.0, 1), (None,), [[1]], {}])
def test_sizes_of_wrong_type(bad, machine):
    out = np.zeros(1, np.uint32)
    for grid, block in ((bad, 32), (1, bad)):
        with pytest.raises(TypeError):
            one(machine)(grid, block, (out, 7), backend=machine)
    check_still_works(machine)


def test_sizes_accepted(machine):
    out = np.zeros(1, np.uint32)
    for grid, block in (
        (1, 1),
        ((2,), (3,)),
        ((2, 3), (4, 5)),
        ((2, 1, 2), (4, 2, 2)),
        (np.int32(2), np.uint8(9)),
    ):
        out[0] = 0
        one(machine)(grid, block, (out, 7), backend=machine)
        assert out[0] == 7
    one(machine)(1, (32, 32, 1), (out, 8), backend=machine)
    one(machine)(1, (2, 8, 64), (out, 9), backend=machine)
    assert out[0] == 9


def test_maxntid(machine):
    kernel = load(build("", directives=".maxntid 64, 2, 1"), backend=machine)
    kernel(1, (64, 2), (), backend=machine)
    kernel(1, 32, (), backend=machine)
    with pytest.raises(smemkit.LaunchError, match="128"):
        kernel(1, 160, (), backend=machine)
    assert kernel.attributes["max_threads_per_block"] == 128


def test_reqntid(machine):
    kernel = load(build("", directives=".reqntid 16, 4"), backend=machine)
    kernel(1, (16, 4), (), backend=machine)
    for block in (64, (4, 16), (16, 4, 2), 16):
        with pytest.raises(smemkit.LaunchError):
            kernel(1, block, (), backend=machine)
    check_still_works(machine)


def test_dynamic_shared_memory(machine):
    text = build(
        """
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [last];
    mov.u32 %r2, arena;
    add.u32 %r2, %r2, %r1;
    mov.u32 %r3, 77;
    st.shared.u32 [%r2], %r3;
    ld.shared.u32 %r4, [%r2];
    st.global.u32 [%rd1], %r4;""",
        ".param .u64 out, .param .u32 last",
        before=".extern .shared .align 16 .b8 arena[];",
    )
    kernel = load(text, backend=machine)
    for size in (4, 48 * 1024, 48 * 1024 + 16, 227 * 1024):
        out = np.zeros(1, np.uint32)
        kernel(1, 32, (out, size - 4), shared_mem=size, backend=machine)
        assert out[0] == 77
    for size in (227 * 1024 + 4, 2**20, 2**40):
        with pytest.raises(smemkit.SharedMemoryError, match=str(size)) as caught:
            kernel(1, 32, (out, 0), shared_mem=size, backend=machine)
        assert isinstance(caught.value, MemoryError)
        assert isinstance(caught.value, smemkit.LaunchError)
    for bad in (-1, 2**70):
        with pytest.raises((ValueError, OverflowError, MemoryError)):
            kernel(1, 32, (out, 0), shared_mem=bad, backend=machine)
    for bad in (1.5, "4", None, True):
        with pytest.raises(TypeError):
            kernel(1, 32, (out, 0), shared_mem=bad, backend=machine)
    check_still_works(machine)


def test_static_shared_memory():
    body = "    mov.u32 %r1, big;\n    st.shared.u32 [%r1], %r1;"
    kernel = load(build(body, before=f".shared .align 4 .b8 big[{48 * 1024}];"))
    kernel(1, 32, (), backend="sim")
    assert kernel.attributes["shared_size_bytes"] == 48 * 1024
    kernel(1, 32, (), shared_mem=(227 - 48) * 1024, backend="sim")
    with pytest.raises(smemkit.SharedMemoryError):
        kernel(1, 32, (), shared_mem=(227 - 48) * 1024 + 16, backend="sim")
    with pytest.raises(smemkit.SharedMemoryError, match="49152"):
        load(build(body, before=f".shared .align 4 .b8 big[{48 * 1024 + 4}];"))(
            1, 32, (), backend="sim"
        )
    check_still_works()


@pytest.mark.parametrize("steps", [0, -1, 2**64, 2**70])
def test_step_budgets_refused(steps):
    with pytest.raises((ValueError, OverflowError)):
        load(build(""))(1, 32, (), backend="sim", max_steps=steps)


@pytest.mark.parametrize("steps", [1.5, "many", ()])
def test_step_budgets_of_wrong_type(steps):
    with pytest.raises(TypeError):
        load(build(""))(1, 32, (), backend="sim", max_steps=steps)


def test_number_of_arguments(machine):
    out = np.zeros(1, np.uint32)
    for args in ((), (out,), (out, 1, 2), (out, 1, out)):
        with pytest.raises((TypeError, ValueError), match="2") as caught:
            one(machine)(1, 1, args, backend=machine)
        assert isinstance(caught.value, smemkit.Error)
    check_still_works(machine)


@pytest.mark.parametrize("args", [None, 3, "ab", {1: 2}])
def test_arguments_that_are_no_sequence(args, machine):
    with pytest.raises(TypeError):
        one(machine)(1, 1, args, backend=machine)


SCALARS = {
    # type: (accepted, out of range, of wrong type)
    "u8": ([0, 255, True, np.uint8(3)], [256, -129, 10**30], [1.5, "a", None, 2j]),
    "s8": ([-128, 127], [-129, 256], [1.0]),
    "u16": ([0, 65535], [65536, -32769], [0.5]),
    "s16": ([-32768, 32767], [-32769, 65536], [0.5]),
    "u32": ([0, 2**32 - 1, np.int64(5)], [2**32, -(2**31) - 1], [1.0, np.float32(1), [1], ()]),
    "s32": ([-(2**31), 2**31 - 1], [-(2**31) - 1, 2**32], [np.float64(2)]),
    "u64": ([0, 2**64 - 1], [2**64, -(2**63) - 1], [1.0, "x"]),
    "s64": ([-(2**63), 2**63 - 1], [-(2**63) - 1, 2**64], [1.0]),
    "f32": ([0, 1.5, -2, np.float32(3), float("inf"), float("nan")], [], ["1.0", None, 1j]),
    "f64": ([0, 1e300, -2, np.float64(3), True], [10**400], ["1.0", None]),
}


@pytest.mark.parametrize("kind", sorted(SCALARS))
def test_scalars(kind, machine):
    bits = int(kind[1:])
    register = {8: "%h1", 16: "%h1", 32: "%r1", 64: "%rd2"}[bits]
    if kind[0] == "f":
        register = {32: "%f1", 64: "%d1"}[bits]
    text = build(
        f"""
    ld.param.u64 %rd1, [out];
    ld.param.{kind} {register}, [value];
    st.global.{kind} [%rd1], {register};""",
        f".param .u64 out, .param .{kind} value",
    )
    kernel = load(text, backend=machine)
    dtype = {"u": f"uint{bits}", "s": f"int{bits}", "f": f"float{bits}"}[kind[0]]
    accepted, outside, wrong = SCALARS[kind]
    for value in accepted:
        out = np.full(1, 99, dtype)
        kernel(1, 1, (out, value), backend=machine)
        assert np.array_equal(out[0], np.array(value).astype(dtype), equal_nan=kind[0] == "f")
    for value in outside:
        with pytest.raises((ValueError, OverflowError)) as caught:
            kernel(1, 1, (out, value), backend=machine)
        assert isinstance(caught.value, smemkit.Error)
        assert "value" in str(caught.value) or "args[1]" in str(caught.value)
    for value in wrong:
        with pytest.raises(TypeError) as caught:
            kernel(1, 1, (out, value), backend=machine)
        assert isinstance(caught.value, smemkit.Error)
    check_still_works(machine)


def test_structs(machine):
    text = build(
        """
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value+8];
    st.global.u32 [%rd1], %r1;""",
        ".param .u64 out, .param .align 4 .b8 value[12]",
    )
    kernel = load(text, backend=machine)
    out = np.zeros(1, np.uint32)
    record = np.zeros((), [("a", "u4", 2), ("b", "u4")])
    record["b"] = 31
    for value in (record[()], record.tobytes(), bytearray(record.tobytes())):
        out[0] = 0
        try:
            kernel(1, 1, (out, value), backend=machine)
        except TypeError:
            assert isinstance(value, bytearray)
        else:
            assert out[0] == 31
    for value in (b"", b"x" * 11, b"x" * 13, np.zeros((), [("a", "u4")])[()]):
        with pytest.raises((ValueError, TypeError), match="12") as caught:
            kernel(1, 1, (out, value), backend=machine)
        assert isinstance(caught.value, smemkit.Error)
    for value in (3, 2.5, None, "x" * 12):
        with pytest.raises(TypeError):
            kernel(1, 1, (out, value), backend=machine)


def test_arrays_in_wrong_places(machine):
    out = np.zeros(4, np.uint32)
    with pytest.raises(TypeError):
        one(machine)(1, 1, (out, out), backend=machine)
    with pytest.raises(TypeError):
        one(machine)(1, 1, (np.array([object()]), 1), backend=machine)
    device = smemkit.empty(4, "uint32", backend=machine)
    text = build("", ".param .u64 a, .param .u64 b")
    with pytest.raises(TypeError, match=r"asarray|asnumpy") as caught:
        load(text, backend=machine)(1, 1, (out, device), backend=machine)
    assert isinstance(caught.value, smemkit.Error)
    check_still_works(machine)


def test_read_only_arrays_stay_as_they_are(machine):
    out = np.zeros(4, np.uint32)
    out.flags.writeable = False
    with pytest.raises(smemkit.ArgumentError, match="read-only"):
        one(machine)(1, 1, (out, 7), backend=machine)
    assert (out == 0).all()


def test_one_array_twice(machine):
    """Both parameters get one address, and what is written through either comes back."""
    text = build(
        """
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%rd2+4], %r1;""",
        ".param .u64 a, .param .u64 b",
    )
    array = np.array([5, 0], np.uint32)
    load(text, backend=machine)(1, 1, (array, array), backend=machine)
    assert array.tolist() == [5, 6]


def test_strided_arrays_come_back(machine):
    text = build(
        """
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, 100;
    st.global.u32 [%rd1], %r2;""",
        ".param .u64 a",
    )
    memory = np.arange(40, dtype=np.uint32).reshape(4, 10)
    view = memory[::-2, 1:9:3]
    expected = memory.copy()
    expected[::-2, 1:9:3] += 100
    load(text, backend=machine)(1, view.size, (view,), backend=machine)
    assert (memory == expected).all()


def test_unknown_backend():
    for backend in ("tpu", "", 3):
        with pytest.raises((ValueError, TypeError)):
            load(build(""))(1, 1, (), backend=backend)
