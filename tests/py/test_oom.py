"""Every allocation fails once, in turn: MemoryError each time, nothing lost, then it works."""

import subprocess
import sys

import numpy as np
import pytest
from support import shapes, tables
from support.handmade import GOOD, build, check_still_works, load

import smemkit

fail_after = smemkit._core._fail_after
LIMIT = 5000  # more allocations than any of these calls makes


@pytest.fixture(autouse=True)
def no_failure_left():
    yield
    fail_after(0)


def fail_each(call):
    """Call with the 1st, 2nd, ... allocation failing until it succeeds: (failures, result)."""
    for n in range(1, LIMIT):
        fail_after(n)
        try:
            result = call()
        except MemoryError as error:
            fail_after(0)
            assert isinstance(error, smemkit.OutOfMemoryError)
        else:
            fail_after(0)
            return n - 1, result
    raise AssertionError(f"still failing after {LIMIT} allocations")


RICH = build(
    """
    .local .align 8 .b8 frame[64];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r4, s;
    mad.lo.u32 %r5, %r1, 4, %r4;
    st.shared.u32 [%r5], %r1;
    bar.sync 0;
    setp.lt.u32 %p1, %r1, 11;
    @%p1 bra small;
    ld.const.u32 %r2, [c+4];
    bra join;
small:
    mov.u32 %r2, 5;
join:
    {
    .param .b32 x;
    .param .b32 y;
    st.param.b32 [x], %r2;
    call.uni (y), twice, (x);
    ld.param.b32 %r3, [y];
    }
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r3;
    atom.global.add.u32 %r6, [g], 1;""",
    ".param .u64 out",
    before="""
.global .align 4 .u32 g = 7;
.const .align 4 .u32 c[3] = {1, 20, 3};
.shared .align 4 .b8 s[256];
.func (.param .b32 y) twice(.param .b32 x)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [x];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [y], %r2;
    ret;
}""",
)
EXPECTED = np.where(np.arange(64) < 11, 10, 40)


def test_reading_a_module():
    failures, module = fail_each(lambda: smemkit.RawModule(RICH, backend="sim"))
    assert failures > 0
    assert module.kernels == ("k",)
    check_still_works()


def test_reading_a_module_of_many_variables():
    """Their list needs memory of its own, and so does what comes behind it."""
    many = "\n".join(f".global .u32 v{i};" for i in range(1100))  # more than an arena's 64 KiB
    body = """
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [last];
    st.global.u32 [%rd1], %r1;"""
    text = build(body, ".param .u64 out", before=f"{many}\n.global .u32 last = 7;")
    failures, module = fail_each(lambda: smemkit.RawModule(text, backend="sim"))
    assert failures > 0
    out = np.zeros(1, np.uint32)
    module.get_function("k")(1, 1, (out,), backend="sim")
    assert out[0] == 7


def test_first_launch():
    module = smemkit.RawModule(RICH, backend="sim")
    kernel = module.get_function("k")
    out = np.zeros(64, np.uint32)
    failures, _ = fail_each(lambda: kernel(2, 64, (out,), backend="sim"))
    assert failures > 0
    assert (out == EXPECTED).all()
    check_still_works()


def test_later_launches():
    kernel = load(RICH)
    out = np.zeros(64, np.uint32)
    kernel(1, 64, (out,), backend="sim")
    out[:] = 0
    failures, _ = fail_each(lambda: kernel(3, 64, (out,), backend="sim"))
    assert failures > 0
    assert (out == EXPECTED).all()


def test_module_and_launch_together():
    def all_of_it():
        out = np.zeros(32, np.uint32)
        load(GOOD, "good")(1, 32, (out,), backend="sim")
        return out

    failures, out = fail_each(all_of_it)
    assert failures > 0
    assert (out == np.arange(32) * 3 + 1).all()


def test_many_blocks_and_threads():
    """Allocations of the threads that work for a launch fail too."""
    kernel = load(RICH)
    out = np.zeros(64, np.uint32)
    fail_each(lambda: kernel(100, 64, (out,), backend="sim"))
    assert (out == EXPECTED).all()
    check_still_works()


def test_faulty_text():
    """Without memory a faulty text is a MemoryError or its own error, and in the end its own."""
    text = build("    frobnicate.u32 %r1;")
    last = None
    for n in range(1, 200):
        fail_after(n)
        with pytest.raises((MemoryError, smemkit.PtxError)) as caught:
            smemkit.RawModule(text, backend="sim")
        last = caught.value
    fail_after(0)
    assert isinstance(last, smemkit.PtxError)


def test_faulty_kernel():
    text = build("    mov.u64 %rd1, 8;\n    st.global.u32 [%rd1], %r1;")
    last = None
    for n in range(1, 200):
        fail_after(n)
        with pytest.raises((MemoryError, smemkit.OutOfBoundsError)) as caught:
            load(text)(1, 32, (), backend="sim")
        last = caught.value
    fail_after(0)
    assert isinstance(last, smemkit.OutOfBoundsError)
    check_still_works()


@pytest.mark.parametrize(
    ("variant", "dtype"),
    tables.list_plain(),
)
def test_gemm(variant, dtype, rng):
    a, b = shapes.integers(rng, (40, 33), dtype), shapes.integers(rng, (33, 35), dtype)
    out = shapes.poisoned((40, 35), dtype)
    _, result = fail_each(lambda: smemkit.gemm(a, b, variant=variant, out=out, backend="sim"))
    assert result is out
    assert np.array_equal(out, a @ b)
    _, result = fail_each(
        lambda: smemkit.gemm(a.T.copy().T, b[:, ::-1], variant=variant, backend="sim")
    )
    assert np.array_equal(result, a @ b[:, ::-1])


def test_device_arrays(rng):
    a = shapes.integers(rng, (20, 20), "float32")

    def all_of_it():
        d = smemkit.asarray(a, backend="sim")
        return smemkit.asnumpy(smemkit.gemm(d, d))

    failures, result = fail_each(all_of_it)
    assert failures > 0
    assert np.array_equal(result, a @ a)
    failures, empty = fail_each(lambda: smemkit.empty((3, 4), "float64", backend="sim"))
    assert failures > 0
    assert empty.shape == (3, 4)


def test_products_over_devices(rng):
    a = shapes.integers(rng, (20, 20), "float32")
    d = smemkit.asarray(a, backend="sim")
    for operand in (a, d):
        free = smemkit.Device("sim").memory.free_bytes
        failures, result = fail_each(
            lambda operand=operand: smemkit.gemm(operand, operand, devices=[0, 0], backend="sim")
        )
        assert failures > 5
        assert np.array_equal(np.asarray(result), a @ a)
        del result
        assert smemkit.Device("sim").memory.free_bytes == free


def test_source_and_tables():
    fail_each(lambda: smemkit.families())
    fail_each(lambda: smemkit.variants("gemm"))
    fail_each(lambda: smemkit.device_info(backend="sim"))
    fail_each(lambda: smemkit.ptx("gemm", "naive"))


FIRST_CALL = """
import numpy as np, smemkit
a = np.arange(12, dtype=np.float32).reshape(3, 4)
for n in range(1, 5000):
    smemkit._core._fail_after(n)
    try:
        result = smemkit.gemm(a, a.T, backend="sim")
    except MemoryError:
        smemkit._core._fail_after(0)
        continue
    smemkit._core._fail_after(0)
    assert (result == a @ a.T).all()
    print(n - 1)
    break
"""


def test_first_call_of_a_process():
    """Nothing is loaded yet: loading fails at every allocation, and none of it stays half done."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_more_than_there_is():
    """Without any injected failure: sizes that no machine has."""
    for shape in ((2**60,), (2**31, 2**31), (2**62, 4)):
        with pytest.raises((MemoryError, ValueError)):
            smemkit.empty(shape, "float64", backend="sim")
    check_still_works()


def test_auto_takes_what_needs_less_memory(rng):
    """gemm's fastest variant copies its operands; where there is no room for that, another runs."""
    size, k = 1100, 600  # of smaller products other variants are faster
    a, b = shapes.normal(rng, (size, k), "float32"), shapes.normal(rng, (k, size), "float32")

    def multiply(variant):
        return smemkit.gemm(a, b, variant=variant, backend="sim")

    tuned, plain = multiply("tuned"), multiply("naive")
    assert not np.array_equal(tuned, plain)
    failures, result = fail_each(lambda: multiply("tuned"))  # named: nothing else will do
    assert failures > 0 and np.array_equal(result, tuned)
    assert np.array_equal(multiply("auto"), tuned)
    others = 0
    for n in range(1, failures + 1):
        fail_after(n)
        try:
            result = multiply("auto")
        except MemoryError:
            continue  # there is no room for any
        finally:
            fail_after(0)
        others += 1  # with this failure tuned alone gives no result: another variant has run
        assert np.allclose(result, plain, rtol=1e-3, atol=1e-3), n
    assert others > 0


SAY = build(
    """
    .local .align 8 .b8 values[8];
    mov.u32 %r1, %tid.x;
    st.local.u32 [values], %r1;
    setp.ne.u32 %p1, %r1, 5;
    @%p1 bra DONE;
    mov.u64 %rd1, format;
    cvta.global.u64 %rd2, %rd1;
    mov.u64 %rd3, values;
    cvta.local.u64 %rd3, %rd3;
    {
        .param .b64 first;
        st.param.b64 [first], %rd2;
        .param .b64 second;
        st.param.b64 [second], %rd3;
        .param .b32 status;
        call.uni (status), vprintf, (first, second);
    }
DONE:""",
    before="""
.extern .func (.param .b32 status) vprintf (.param .b64 first, .param .b64 second);
.global .align 1 .b8 format[4] = {37, 117, 10, 0};
""",
)


def test_no_memory_for_what_is_printed(capsys):
    """The error names the thread that prints, which is not the first of its warp."""
    kernel, threads = load(SAY), []
    for n in range(1, LIMIT):
        fail_after(n)
        try:
            kernel((1,), (32,), (), backend="sim")
        except smemkit.OutOfMemoryError as error:
            if "for what the kernel prints" in str(error):
                threads.append(error.thread)
        else:
            break
        finally:
            fail_after(0)
    assert set(threads) == {(5, 0, 0)}
    assert capsys.readouterr().out == "5\n"


MULTIPLY = """
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3},
        {%f1, %f2, %f3, %f4};"""
MATRICES = build(
    """
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [tile];
    cp.async.ca.shared.global [tile], [source], 4;
    cp.async.wait_all;"""
    + 1000 * MULTIPLY,  # so many that what is kept of each does not fit into one piece of memory
    before=".shared .align 16 .b8 tile[128];\n.global .align 16 .b8 source[16];",
).replace("sm_75", "sm_80")


def test_matrices_and_copies():
    failures, _ = fail_each(lambda: load(MATRICES)((1,), (32,), (), backend="sim"))
    assert failures > 10
    check_still_works()
