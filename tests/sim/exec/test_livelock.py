"""Waits that nothing can end are reported soon, and waits that something ends are not."""

import threading
import time

import numpy as np
import pytest
from support.handmade import HERE, build, launch, line_of, load

import smemkit

FIRST = 1 << 22  # steps before a block is looked at
SOON = 2_000_000_000  # a tenth of the budget: minutes

LOCK = build(
    f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
again:
    atom.global.cas.b32 %r1, [%rd1], 0, 1; {HERE}
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra again;
    atom.global.exch.b32 %r1, [%rd1], 0;""",
    ".param .u64 word",
)
SHARED = build(
    f"""
    mov.u32 %r2, lock;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, 0;
    st.volatile.shared.u32 [%r2], %r4;
    bar.sync 0;
    mov.u32 %r5, 1;
again:
    atom.shared.exch.b32 %r1, [%r2], 1; {HERE}
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra taken;
    nanosleep.u32 %r5;
    shl.b32 %r5, %r5, 1;
    min.u32 %r5, %r5, 256;
    bra again;
taken:
    atom.shared.exch.b32 %r1, [%r2], 0;""",
    before=".shared .align 4 .b32 lock;",
)
FLAG = build(
    f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r3, %laneid;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra raise;
again:
    ld.volatile.global.u32 %r1, [%rd1]; {HERE}
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra again;
    bra done;
raise:
    st.volatile.global.u32 [%rd1], 1;
done:""",
    ".param .u64 word",
)


def word(value=0):
    return np.full(1, value, np.uint32)


@pytest.mark.parametrize("block", [32, 33, 256])
@pytest.mark.parametrize("text", [LOCK, SHARED], ids=["global", "shared"])
def test_a_lock_among_the_lanes_of_a_warp(text, block):
    args = (word(),) if text is LOCK else ()
    with pytest.raises(smemkit.DeadlockError, match="lock step") as caught:
        launch(text, *args, block=block, max_steps=SOON, independent=False)
    error = caught.value
    assert error.ptx_line in range(line_of(text), line_of(text) + 8)
    assert error.kernel == "k" and error.block == (0, 0, 0) and error.thread is not None
    assert f"{-(-block // 32)} of its warps" in str(error)


@pytest.mark.parametrize("grid", [1, 3, 1028])
def test_a_lock_in_every_block(grid):
    with pytest.raises(smemkit.DeadlockError, match="read the same") as caught:
        launch(LOCK, word(1), grid=grid, block=1, max_steps=SOON, independent=False)
    assert ("; 4 of the blocks" in str(caught.value)) == (grid == 1028)
    with pytest.raises(smemkit.DeadlockError):
        launch(SHARED, grid=min(grid, 20), max_steps=SOON, independent=False)


ALL_BLOCKS = build(
    """
    ld.param.u64 %rd1, [word];
    mov.u32 %r2, %nctaid.x;
    atom.global.add.u32 %r1, [%rd1], 1;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.lt.u32 %p1, %r1, %r2;
    @%p1 bra again;
    atom.global.add.u32 %r1, [%rd1+4], %r1;""",
    ".param .u64 word",
)


@pytest.mark.parametrize("grid", [16, 17, 132])
def test_blocks_that_wait_for_all_blocks(grid):
    """A barrier of the grid without a cooperative launch: a GPU that holds all of them gets by."""
    words = np.zeros(2, np.uint32)
    launch(ALL_BLOCKS, words, grid=grid, block=1, max_steps=SOON)
    assert words.tolist() == [grid, grid * grid]


def test_warps_at_a_barrier_are_told():
    text = LOCK.replace("again:\n", "    mov.u32 %r9, %tid.x;\n    setp.gt.u32 %p2, %r9, 31;\n"
                        "    @%p2 bra wait;\nagain:\n").replace(
        "    ret;", "    ret;\nwait:\n    bar.sync 0;\n    ret;"
    )  # fmt: skip
    with pytest.raises(smemkit.DeadlockError, match="2 of its warps wait at a barrier"):
        launch(text, word(1), block=96, max_steps=SOON, independent=False)


def test_lanes_that_wait_for_one_of_their_warp():
    with pytest.raises(smemkit.DeadlockError, match="31 lanes in the loop and 1 not") as caught:
        launch(FLAG, word(), max_steps=SOON, independent=False)
    assert caught.value.ptx_line in range(line_of(FLAG), line_of(FLAG) + 3)
    assert caught.value.thread == (1, 0, 0)


@pytest.mark.parametrize("how", ["check", "profile"])
def test_watched_launches_too(how):
    with pytest.raises(smemkit.DeadlockError, match="read the same"):
        getattr(load(SHARED), how)(1, 64, (), max_steps=SOON, independent=False)


def test_a_lock_that_is_taken_in_a_function():
    """The loop calls it at every turn, and comes back by its ret."""
    take = """.func (.param .b32 held) take(.param .b64 at)
{
    .reg .b32 %r1;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [at];
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    st.param.b32 [held], %r1;
    ret;
}
"""
    text = build(
        """
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
again:
    {
    .param .b64 at;
    .param .b32 held;
    st.param.b64 [at], %rd1;
    call.uni (held), take, (at);
    ld.param.b32 %r1, [held];
    }
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra again;""",
        ".param .u64 word",
        before=take,
    )
    with pytest.raises(smemkit.DeadlockError, match="read the same"):
        launch(text, word(1), max_steps=16 * FIRST)


@pytest.mark.parametrize(
    "step",
    [
        "sad.u32 %r5, %r3, 3, 4;",
        "mul24.lo.u32 %r5, %r3, 3;",
        "dp4a.u32.u32 %r5, %r3, %r3, %r3;",
        "sqrt.approx.f32 %f1, 0f40000000;",
        "prefetch.global.L1 [%rd1];",
    ],
)
def test_a_loop_with_any_arithmetic(step):
    """What an instruction may change follows from its class, whichever opcode it is."""
    text = build(
        f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r3, 5;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    {step}
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra again;""",
        ".param .u64 word",
    )
    with pytest.raises(smemkit.DeadlockError, match="read the same"):
        launch(text, word(), block=1, max_steps=16 * FIRST)


ENDLESS = {
    "at once": f"again: bra again; {HERE}",
    "sleeping": f"again: nanosleep.u32 40; {HERE}\nbra again;",
    "computing": f"""
    mov.u32 %r1, %tid.x;
again:
    mul.lo.u32 %r2, %r1, 3; {HERE}
    shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;
    setp.ne.u32 %p1, %r3, 7;
    @%p1 bra again;""",
    "in three states": f"""
    mov.u32 %r1, 0;
again:
    add.u32 %r1, %r1, 1; {HERE}
    rem.u32 %r1, %r1, 3;
    setp.ne.u32 %p1, %r1, 7;
    @%p1 bra again;""",
}


@pytest.mark.parametrize("how", ["call", "check", "profile"])
@pytest.mark.parametrize("loop", ENDLESS.values(), ids=list(ENDLESS))
def test_an_endless_loop_that_reads_nothing(loop, how):
    kernel = load(build(loop))
    run = kernel if how == "call" else getattr(kernel, how)
    with pytest.raises(smemkit.DeadlockError, match="2 of its warps .* reads nothing") as caught:
        run(1, 64, (), max_steps=16 * FIRST)
    assert caught.value.ptx_line in range(line_of(build(loop)), line_of(build(loop)) + 4)


def test_lanes_that_wait_for_an_endless_loop_of_one():
    """The others of the warp leave, and a warp waits for it at a barrier."""
    text = build(
        """
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 5;
    @%p1 bra done;
again:
    bra again;
done:
    bar.sync 0;"""
    )
    with pytest.raises(smemkit.DeadlockError, match="1 of its warps wait at a barrier") as caught:
        launch(text, block=64, max_steps=16 * FIRST)
    assert caught.value.thread == (5, 0, 0) and "with 1 lanes in the loop" in str(caught.value)


def backing_off(limit=None):
    """A wait as of cuda::barrier, which sleeps longer and longer. At a limit it writes 7."""
    leave = f"setp.gt.s64 %p2, %rd4, {limit};\n    @%p2 bra given_up;" if limit else ""
    return build(
        f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u64 %rd2, %globaltimer;
again:
    mov.u64 %rd3, %globaltimer; {HERE}
    sub.s64 %rd4, %rd3, %rd2;
    {leave}
    shr.s64 %rd5, %rd4, 2;
    cvt.u32.u64 %r2, %rd5;
    min.u32 %r2, %r2, 1000;
    nanosleep.u32 %r2;
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra again;
    bra done;
given_up:
    mov.u32 %r1, 7;
    st.global.u32 [%rd1+4], %r1;
done:""",
        ".param .u64 word",
    )


@pytest.mark.parametrize("how", ["call", "check", "profile"])
@pytest.mark.parametrize(("grid", "block"), [(1, 64), (3, 1)])
def test_a_wait_that_looks_at_the_clock(grid, block, how):
    """No time limit ends it, so that it is a deadlock although a register changes at every turn."""
    kernel = load(backing_off())
    run = kernel if how == "call" else getattr(kernel, how)
    with pytest.raises(smemkit.DeadlockError, match="read the same") as caught:
        run(grid, block, (np.zeros(2, np.uint32),), max_steps=16 * FIRST)
    assert caught.value.ptx_line in range(line_of(backing_off()), line_of(backing_off()) + 8)


# What is no deadlock ------------------------------------------------------------------------------


def waiting(work):
    """Warp 0 counts for long, then raises the flag; the others wait for it."""
    return build(
        f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r3, %{work};
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra count;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra again;
    bra done;
count:
    mov.u32 %r4, {FIRST};
down:
    sub.u32 %r4, %r4, 1;
    setp.ne.u32 %p2, %r4, 0;
    @%p2 bra down;
    st.volatile.global.u32 [%rd1], 1;
done:""",
        ".param .u64 word",
    )


@pytest.mark.parametrize(
    ("work", "grid", "block"), [("warpid", 1, 96), ("ctaid.x", 3, 1), ("ctaid.x", 16, 32)]
)
def test_a_wait_that_ends_after_long(work, grid, block):
    flag = word()
    launch(waiting(work), flag, grid=grid, block=block, max_steps=SOON)
    assert flag[0] == 1


def test_a_wait_with_an_end_of_its_own():
    """By a count, or by the clock: then the loop is left, whatever the flag says."""
    for step in ("add.u32 %r5, %r5, 1;", "mov.u32 %r5, %clock; shr.u32 %r5, %r5, 2;"):
        text = build(
            f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r5, 0;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    {step}
    setp.lt.u32 %p1, %r5, {3 * FIRST};
    mov.u32 %r5, %r5;
    @%p1 bra again;
    st.global.u32 [%rd1], 7;""",
            ".param .u64 word",
        )
        flag = word()
        launch(text, flag, block=1, max_steps=SOON)
        assert flag[0] == 7


@pytest.mark.parametrize("limit", [10 * FIRST, 1_000_000_000, 1 << 39])
@pytest.mark.parametrize(("grid", "block"), [(1, 64), (3, 1)])
def test_a_wait_with_a_time_limit(grid, block, limit):
    """Where all wait, time passes at once: the limit ends the wait long before so many steps."""
    words = np.zeros(2, np.uint32)
    launch(backing_off(limit), words, grid=grid, block=block, max_steps=16 * FIRST)
    assert words.tolist() == [0, 7]


def test_a_clock_that_leaves_no_trace():
    """All registers are the same at every turn, and yet it ends."""
    text = build(
        f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    mov.u32 %r5, %clock;
    setp.lt.u32 %p1, %r5, {3 * FIRST};
    mov.u32 %r5, 0;
    @%p1 bra again;""",
        ".param .u64 word",
    )
    launch(text, word(), block=1, max_steps=SOON)


def test_a_lock_that_passes_from_warp_to_warp():
    """Each holder keeps it for long; memory changes, if rarely."""
    text = build(
        f"""
    ld.param.u64 %rd1, [word];
    cvta.to.global.u64 %rd1, %rd1;
again:
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra again;
    mov.u32 %r4, {FIRST // 2};
down:
    sub.u32 %r4, %r4, 1;
    setp.ne.u32 %p2, %r4, 0;
    @%p2 bra down;
    ld.volatile.global.u32 %r5, [%rd1+4];
    add.u32 %r5, %r5, 1;
    st.volatile.global.u32 [%rd1+4], %r5;
    atom.global.exch.b32 %r1, [%rd1], 0;""",
        ".param .u64 word",
    )
    words = np.zeros(2, np.uint32)
    launch(text, words, grid=4, block=1, max_steps=SOON)
    assert words.tolist() == [0, 4]


def test_another_thread_may_end_it():
    """Device memory belongs to all: a kernel of another thread raises the flag, late."""
    flag = smemkit.asarray(word(), backend="sim")
    wait = load(
        build(
            """
    ld.param.u64 %rd1, [word];
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra again;""",
            ".param .u64 word",
        )
    )
    failures = []

    def work():
        try:
            wait(1, 32, (flag,), max_steps=SOON)
        except smemkit.Error as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(2)
    raises = build(
        "ld.param.u64 %rd1, [word]; st.volatile.global.u32 [%rd1], 1;", ".param .u64 word"
    )
    launch(raises, flag)
    thread.join(60)
    assert not thread.is_alive() and not failures


def test_a_loop_that_prints_is_no_wait(capsys):
    """Each round leaves a line behind, so that no two rounds are the same."""
    text = build(
        """
    ld.param.u64 %rd1, [word];
again:
    {
    .param .b64 format;
    .param .b64 values;
    .param .b32 printed;
    mov.u64 %rd2, line;
    cvta.global.u64 %rd2, %rd2;
    st.param.b64 [format], %rd2;
    st.param.b64 [values], 0;
    call.uni (printed), vprintf, (format, values);
    }
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra again;""",
        ".param .u64 word",
        before=".global .align 1 .b8 line[2] = {10, 0};\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);",
    )
    with pytest.raises(smemkit.StepBudgetError):
        launch(text, word(), max_steps=3 * FIRST)


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [('.file 1 "a.cu"', 7, r" \(a.cu:7\)"), ('.file 1 "a.cu"', 0, r"(?! \()"), ("", 7, r"(?! \()")],
    ids=["of a file", "line 0", "of no file"],
)
def test_where_a_wait_stands(file, line, said):
    """Compilers give line 0 to code that stands nowhere in the source."""
    text = FLAG.replace("again:", f"again:\n    .loc 1 {line} 0")
    text = text.replace(".visible", f"{file}\n.visible")
    with pytest.raises(smemkit.DeadlockError, match=f"PTX line {line_of(text)}{said}"):
        launch(text, word(), independent=False)
