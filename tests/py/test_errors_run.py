"""Kernels that fail while they run: class, place, and that nothing is lost afterwards."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support.handmade import HERE, build, check_still_works, launch, line_of, load

import smemkit

LOC = '.file 1 "fault.cu"'


def fail(text, error, *args, thread=None, block_index=None, **options):
    """The kernel fails with this error at the marked line, and the next kernel runs."""
    with pytest.raises(error) as caught:
        launch(text, *args, **options)
    value = caught.value
    assert isinstance(value, smemkit.ExecutionError)
    assert isinstance(value, RuntimeError)
    if HERE in text:
        assert value.ptx_line == line_of(text)
        assert str(value.ptx_line) in str(value)
    assert value.kernel == "k"
    assert "k" in str(value)
    if thread is not None:
        assert value.thread == thread
        assert value.block == (block_index or (0, 0, 0))
        assert str(thread[0]) in str(value)
    check_still_works()
    return value


# space: what goes before the entry, and how %rd3 gets the address of 16 bytes
SPACES = {
    "global": ("", "ld.param.u64 %rd3, [a];"),
    "shared": (".shared .align 16 .b8 s[16];", "mov.u64 %rd3, s;"),
    "local": ("", "mov.u64 %rd3, l;"),
    "const": (".const .align 16 .b32 c[4] = {1, 2, 3, 4};", "mov.u64 %rd3, c;"),
}


def access(space, offset, kind="ld", width="u32", register="%r1"):
    before, address = SPACES[space]
    operands = {"ld": f"{register}, [%rd3]", "st": f"[%rd3], {register}"}[kind]
    return build(
        f"""
    .local .align 16 .b8 l[16];
    mov.u32 %r5, %tid.x;
    mov.u32 %r6, %ctaid.x;
    {address}
    add.s64 %rd3, %rd3, {offset};
    setp.ne.u32 %p1, %r5, 37;
    setp.ne.or.u32 %p1, %r6, 2, %p1;
    @%p1 bra done;
    .loc 1 42 7
    {kind}.{space}.{width} {operands}; {HERE}
done:""",
        ".param .u64 a",
        before=f"{LOC}\n{before}",
    )


OUTSIDE = [16, 4096, -4, 2**20, 2**31, -(2**31), 2**45, 2**62]


@pytest.mark.parametrize("offset", OUTSIDE)
@pytest.mark.parametrize("kind", ["ld", "st"])
@pytest.mark.parametrize("space", sorted(SPACES))
def test_out_of_bounds(space, kind, offset):
    if space == "const" and kind == "st":
        pytest.skip("constant memory has no store")
    if space in ("local", "shared") and abs(offset) > 2**31:
        pytest.skip("addresses of this space have 32 bits")
    data = np.arange(4, dtype=np.uint32)
    error = fail(
        access(space, offset, kind),
        smemkit.OutOfBoundsError,
        data,
        grid=4,
        block=64,
        thread=(37, 0, 0),
        block_index=(2, 0, 0),
    )
    assert isinstance(error, IndexError)
    assert error.source_file == "fault.cu"
    assert error.source_line == 42
    assert "fault.cu" in str(error) and "42" in str(error)
    assert space in str(error)
    assert data.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("space", sorted(SPACES))
def test_inside_is_accepted(space):
    for offset in (0, 4, 12):
        launch(access(space, offset), np.arange(4, dtype=np.uint32), grid=4, block=64)


@pytest.mark.parametrize("space", ["global", "shared"])
def test_partly_outside(space):
    """Eight bytes at the last four."""
    before, address = SPACES[space]
    text = build(
        f"    {address}\n    ld.{space}.u64 %rd1, [%rd3+16]; {HERE}",
        ".param .u64 a",
        before=before.replace("s[16]", "s[20]"),
    )
    fail(text, smemkit.OutOfBoundsError, np.zeros(5, np.uint32), block=1, thread=(0, 0, 0))


@pytest.mark.parametrize("address", [0, 4, 2**32, 2**47, 2**64 - 4])
@pytest.mark.parametrize("space", [".global", ""])
def test_addresses_from_nowhere(space, address):
    text = build(f"    mov.u64 %rd1, {address};\n    ld{space}.u32 %r1, [%rd1]; {HERE}")
    fail(text, smemkit.OutOfBoundsError, thread=(0, 0, 0))


def test_generic_out_of_bounds():
    text = build(f"    ld.param.u64 %rd1, [a];\n    st.u32 [%rd1+16], %r1; {HERE}", ".param .u64 a")
    fail(text, smemkit.OutOfBoundsError, np.zeros(4, np.uint32), thread=(0, 0, 0))


@pytest.mark.parametrize(
    "instruction",
    [
        "atom.global.add.u32 %r1, [%rd3+16], 1;",
        "red.global.add.u32 [%rd3+16], 1;",
        "atom.global.cas.b64 %rd1, [%rd3+16], %rd2, %rd4;",
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3+16];",
        "st.global.v2.f32 [%rd3+16], {%f1, %f2};",
        "ld.volatile.global.u8 %h1, [%rd3+16];",
        "ld.global.nc.f64 %d1, [%rd3+16];",
    ],
)
def test_other_accesses_out_of_bounds(instruction):
    text = build(f"    ld.param.u64 %rd3, [a];\n    {instruction} {HERE}", ".param .u64 a")
    fail(text, smemkit.OutOfBoundsError, np.zeros(4, np.uint32), thread=(0, 0, 0))


def test_asynchronous_copy_out_of_bounds():
    text = build(
        f"""
    ld.param.u64 %rd3, [a];
    mov.u32 %r1, s;
    cp.async.ca.shared.global [%r1], [%rd3+16], 4; {HERE}
    cp.async.wait_all;""",
        ".param .u64 a",
        before=".shared .align 16 .b8 s[16];",
        header=".version 7.8\n.target sm_80\n.address_size 64\n",
    )
    fail(text, smemkit.OutOfBoundsError, np.zeros(4, np.uint32))


def test_parameter_out_of_bounds():
    """Refused when the text is read, or when it runs."""
    text = build("    ld.param.u32 %r1, [a+8];", ".param .u64 a")
    with pytest.raises((smemkit.PtxError, smemkit.OutOfBoundsError)):
        launch(text, 0)
    check_still_works()


def test_freed_memory():
    text = build(
        f"    ld.param.u64 %rd1, [a];\n    ld.global.u32 %r1, [%rd1]; {HERE}", ".param .u64 a"
    )
    array = smemkit.empty(4, "uint32", backend="sim")
    address = array.pointer
    launch(text, address)
    del array
    fail(text, smemkit.OutOfBoundsError, address)


@pytest.mark.parametrize("space", sorted(SPACES))
@pytest.mark.parametrize(
    "offset, width, register", [(2, "u32", "%r1"), (1, "u16", "%h1"), (4, "u64", "%rd1")]
)
def test_misaligned(space, offset, width, register):
    error = fail(
        access(space, offset, "ld", width, register),
        smemkit.MisalignedError,
        np.zeros(4, np.uint32),
        grid=4,
        block=64,
        thread=(37, 0, 0),
        block_index=(2, 0, 0),
    )
    assert isinstance(error, ValueError)
    assert error.source_line == 42


@pytest.mark.parametrize(
    "instruction",
    [
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3+8];",
        "ld.global.v2.u32 {%r1, %r2}, [%rd3+4];",
        "atom.global.add.u32 %r1, [%rd3+2], 1;",
        "st.global.f64 [%rd3+4], %d1;",
        "red.global.add.u64 [%rd3+4], %rd1;",
    ],
)
def test_other_misaligned_accesses(instruction):
    text = build(f"    ld.param.u64 %rd3, [a];\n    {instruction} {HERE}", ".param .u64 a")
    fail(text, smemkit.MisalignedError, np.zeros(16, np.uint32), thread=(0, 0, 0))


def test_first_faulty_thread_is_named():
    """Several lanes fail at once: the first of them is reported."""
    text = build(
        f"""
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mad.lo.u32 %r1, %r2, 8, %r1;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r3, [%rd1]; {HERE}""",
        ".param .u64 a",
    )
    data = np.zeros(21, np.uint32)
    fail(text, smemkit.OutOfBoundsError, data, block=(8, 4), thread=(5, 2, 0))


def test_divergent_barrier():
    text = build(
        f"""
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 5;
    @%p1 bra skip;
    bar.sync 0; {HERE}
skip:
    add.u32 %r1, %r1, 1;"""
    )
    fail(text, smemkit.BarrierError)


def test_guarded_barrier():
    text = build(
        f"""
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 5;
    @%p1 bar.sync 0; {HERE}
    add.u32 %r1, %r1, 1;"""
    )
    fail(text, smemkit.BarrierError)


CROSSED = """
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra first;
    bar.sync 2, 64;
    bar.sync 1, 64;
    bra done;
first:
    bar.sync 1, 64;
    bar.sync 2, 64;
done:"""


def test_crossed_barriers():
    fail(build(CROSSED), smemkit.DeadlockError, block=64, grid=3)
    found = str(fail(build(CROSSED), smemkit.DeadlockError, block=64))
    assert "(2 wait, 0 have ended): warp 0 waits for barrier 1 at " in found
    assert "; warp 1 waits for barrier 2 at " in found


def test_waiting_for_threads_that_have_left():
    text = build(
        f"""
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 exit;
    bar.sync 1, 64; {HERE}"""
    )
    fail(text, smemkit.DeadlockError, block=64)


def test_barrier_for_more_threads_than_there_are():
    text = build(f"    bar.sync 1, 96; {HERE}")
    fail(text, (smemkit.DeadlockError, smemkit.BarrierError), block=64)


@pytest.mark.parametrize("operands", ["16", "%r1", "0, 31", "0, %r2"])
def test_impossible_barriers(operands):
    """A number beyond 15, or a count that is no multiple of 32."""
    text = build(f"    mov.u32 %r1, 99;\n    mov.u32 %r2, 33;\n    bar.sync {operands};")
    with pytest.raises((smemkit.ExecutionError, smemkit.PtxError)):
        launch(text, block=64)
    check_still_works()


def test_waiting_for_a_lane_of_the_own_warp():
    """Lane 1 would set what lane 0 waits for; lanes of a warp do not overtake each other here."""
    text = build(
        """
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, flag;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra set;
wait:
    ld.volatile.shared.u32 %r3, [%r2];
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra wait;
    bra done;
set:
    mov.u32 %r4, 1;
    st.volatile.shared.u32 [%r2], %r4;
done:""",
        before=".shared .align 4 .b32 flag;",
    )
    try:
        launch(text, max_steps=100_000)
    except (smemkit.DeadlockError, smemkit.StepBudgetError):
        pass
    check_still_works()


FOREVER = build(f"again:\n    add.u32 %r1, %r1, 1; {HERE}\n    bra again;")


@pytest.mark.parametrize("grid, block", [(1, 1), (1, 1024), (70, 64), ((3, 2, 2), (4, 4, 4))])
def test_step_budget(grid, block):
    with pytest.raises(smemkit.StepBudgetError, match=r"10[ ,]?000") as caught:
        launch(FOREVER, grid=grid, block=block, max_steps=10_000)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.ptx_line in (line_of(FOREVER), line_of(FOREVER) + 1)
    check_still_works()


def test_step_budget_is_enough_for_what_ends():
    """A budget as large as the work does not stop it, a much smaller one does."""
    text = build(
        """
    mov.u32 %r1, 0;
again:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 1000;
    @%p1 bra again;"""
    )
    launch(text, max_steps=4_000)
    launch(text, grid=10, block=64, max_steps=80_000)
    with pytest.raises(smemkit.StepBudgetError):
        launch(text, max_steps=1_500)
    with pytest.raises(smemkit.StepBudgetError):
        launch(text, grid=10, block=64, max_steps=30_000)


def test_step_budget_of_the_environment():
    code = (
        "import smemkit, sys\n"
        "kernel = smemkit.RawModule(sys.stdin.read(), backend='sim').get_function('k')\n"
        "try:\n"
        "    kernel(1, 32, (), backend='sim')\n"
        "except smemkit.StepBudgetError as error:\n"
        "    print('stopped', error)\n"
    )
    environment = {**os.environ, "SMEMKIT_MAX_STEPS": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=FOREVER,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stopped")
    assert "12345" in done.stdout.replace(",", "").replace(" ", "")


@pytest.mark.parametrize("value", ["", "many", "-3", "1e6"])
def test_step_budget_of_a_senseless_environment(value):
    """Ignored where empty, else an error: never a crash, never no budget by accident."""
    code = (
        "import smemkit, sys\n"
        "try:\n"
        "    kernel = smemkit.RawModule(sys.stdin.read(), backend='sim').get_function('k')\n"
        "    kernel(1, 32, (), backend='sim')\n"
        "    print('ran')\n"
        "except smemkit.Error as error:\n"
        "    print('refused', error)\n"
    )
    environment = {**os.environ, "SMEMKIT_MAX_STEPS": value}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=build(""),
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    if value == "":
        assert done.stdout.startswith("ran")
    else:
        assert "SMEMKIT_MAX_STEPS" in done.stdout


def test_trap():
    text = build(
        f"""
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.y;
    setp.eq.u32 %p1, %r1, 40;
    setp.eq.and.u32 %p1, %r2, 1, %p1;
    .loc 1 12 3
    @%p1 trap; {HERE}""",
        before=LOC,
    )
    error = fail(
        text, smemkit.TrapError, grid=(1, 2), block=64, thread=(40, 0, 0), block_index=(0, 1, 0)
    )
    assert error.source_line == 12


def test_endless_recursion():
    text = build(
        "    call.uni again, ();",
        before="""
.func again()
{
    .local .align 8 .b8 frame[256];
    call.uni again, ();
    ret;
}""",
    )
    with pytest.raises((smemkit.ExecutionError, smemkit.OutOfMemoryError)):
        launch(text, block=1024, grid=4, max_steps=50_000_000)
    check_still_works()


@pytest.mark.parametrize("target", [0, 1, 12345, 2**63])
def test_call_of_no_function(target):
    text = build(
        f"""
    mov.u64 %rd1, {target};
    prototype: .callprototype _ ();
    call %rd1, (), prototype;"""
    )
    with pytest.raises(smemkit.Error):
        launch(text)
    check_still_works()


@pytest.mark.parametrize("index", [2, 3, 2**31, 2**32 - 1])
def test_branch_table_left(index):
    text = build(
        f"""
    mov.u32 %r1, {index};
table: .branchtargets one, two;
    brx.idx %r1, table;
one:
    ret;
two:
    ret;"""
    )
    with pytest.raises(smemkit.ExecutionError):
        launch(text)
    check_still_works()


def test_running_off_the_end():
    """A body without ret ends the thread."""
    text = build("").replace("    ret;\n", "")
    launch(text)
    check_still_works()


def test_errors_of_blocks_that_run_at_once():
    """Every block fails: one error comes out, with a block that exists."""
    text = build(f"    mov.u64 %rd1, 16;\n    st.global.u32 [%rd1], %r1; {HERE}")
    for _ in range(5):
        error = fail(text, smemkit.OutOfBoundsError, grid=(8, 4, 2), block=128)
        assert all(0 <= b < g for b, g in zip(error.block, (8, 4, 2), strict=True))


def test_what_other_arrays_hold_after_an_error():
    """Arrays that the faulty kernel did not name are untouched, on the device too."""
    keep = smemkit.asarray(np.arange(1000, dtype=np.float32), backend="sim")
    text = build(
        f"    ld.param.u64 %rd1, [a];\n    st.global.u32 [%rd1+64], %r1; {HERE}", ".param .u64 a"
    )
    for _ in range(20):
        fail(text, smemkit.OutOfBoundsError, np.zeros(16, np.uint32))
    assert (smemkit.asnumpy(keep) == np.arange(1000)).all()
    a = np.ones((20, 20), np.float32)
    assert (smemkit.gemm(a, a, backend="sim") == 20).all()


def test_attributes_where_nothing_is_known():
    with pytest.raises(smemkit.Error) as caught:
        smemkit.gemm(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), backend="sim")
    error = caught.value
    for name in ("ptx_line", "ptx_column", "source_file", "source_line", "block", "thread"):
        assert getattr(error, name) is None


def test_ctrl_c():
    """Ctrl-C ends an endless kernel at once, and the machine goes on afterwards."""
    kernel = load(FOREVER)
    sent = []

    def send():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kernel(4, 64, (), backend="sim", max_steps=10**12)
    # of this process, whatever else the machine does: up to 4 threads look once in 0.05 s or so
    assert time.process_time() - sent[0] < 1
    timer.join()
    check_still_works()


def test_other_threads_run_meanwhile():
    """The interpreter is free while a kernel runs."""
    counted, start = [0], time.monotonic()

    def count():
        while counted[0] < 100 and time.monotonic() - start < 60:
            counted[0] += 1
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=count)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        load(FOREVER)(1, 32, (), backend="sim", max_steps=10**12)
    thread.join()
    assert counted[0] == 100


def test_two_simulations_at_once():
    failures = []

    def work(steps):
        try:
            with pytest.raises(smemkit.StepBudgetError):
                launch(FOREVER, max_steps=steps)
            check_still_works()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(steps,)) for steps in (1000, 200_000, 50_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


CONST_STORE = """.version 8.0
.target sm_80
.address_size 64
.const .u32 c = 4;
.visible .entry k(.param .u64 p)
{
	.reg .u64 a, f;
	.reg .u32 i;
	ld.param.u64 a, [p];
	ld.const.u32 i, [c];
	st.global.u32 [a], i;
	cvta.const.u64 f, c;
	OPERATION
	ret;
}
"""


@pytest.mark.parametrize("operation", ["st.u32 [f], 99;", "red.add.u32 [f], 1;"])
def test_constant_memory_stays(operation):
    """A generic address leads there, but only loads may follow it, today and in the next launch."""
    kernel = smemkit.RawKernel(CONST_STORE.replace("OPERATION", operation), "k")
    for _ in range(2):
        x = smemkit.asarray(np.zeros(1, np.uint32), backend="sim")
        with pytest.raises(smemkit.ExecutionError, match="constant memory"):
            kernel(1, 1, (x,))
        assert smemkit.asnumpy(x)[0] == 4
