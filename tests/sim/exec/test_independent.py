"""Lanes of one warp that wait for each other: they make progress as on GPUs since Volta."""

import numpy as np
import pytest
from support.handmade import build, launch, load

import smemkit

TAKE = """
again{n}:
    atom.global.cas.b32 %r1, [%rd1{at}], 0, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra again{n};
    membar.gl;"""
GIVE = """
    membar.gl;
    atom.global.exch.b32 %r1, [%rd1], 0;"""
ADD = """
    ld.volatile.global.u32 %r2, [%rd1+8];
    add.u32 %r2, %r2, 1;
    st.volatile.global.u32 [%rd1+8], %r2;"""
WORDS = "    ld.param.u64 %rd1, [words];\n    cvta.to.global.u64 %rd1, %rd1;"


def kernel(body, **keywords):
    return build(WORDS + body, ".param .u64 words", **keywords)


def take(n=1, at=""):
    return TAKE.format(n=n, at=at)


LOCK = kernel(take() + ADD + GIVE)
# three times a lane, then a barrier behind which all see the sum
LOOP = kernel(
    "\n    mov.u32 %r7, 3;\nmore:" + take() + ADD + GIVE + """
    sub.u32 %r7, %r7, 1;
    setp.ne.u32 %p2, %r7, 0;
    @%p2 bra more;
    bar.sync 0;
    ld.volatile.global.u32 %r2, [%rd1+8];
    red.global.add.u32 [%rd1+12], %r2;"""
)  # fmt: skip
# the lock is taken in a function that returns lane by lane
FUNCTION = """.func take(.param .b64 at)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [at];
again:
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra again;
    membar.gl;
    ret;
}
"""
CALL = """
    {
    .param .b64 at;
    st.param.b64 [at], %rd1;
    call.uni take, (at);
    }"""
CALLS = kernel(CALL + ADD + GIVE, before=FUNCTION)
# lane i waits until lane i - 1 has had its turn
CHAIN = kernel("""
    mov.u32 %r3, %tid.x;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.ne.u32 %p1, %r1, %r3;
    @%p1 bra again;
    add.u32 %r1, %r1, 1;
    st.volatile.global.u32 [%rd1], %r1;""")
# counts the attempts, sleeps between them, and so never comes back to an earlier state
COUNTED = kernel("""
    mov.u32 %r7, 0;
again:
    add.u32 %r7, %r7, 1;
    nanosleep.u32 20;
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra again;
    membar.gl;""" + ADD + GIVE + "\n    red.global.add.u32 [%rd1+12], %r7;")  # fmt: skip


def words(*values):
    return np.array([*values, 0, 0, 0, 0][:4], np.uint32)


@pytest.mark.parametrize(("grid", "block"), [(1, 2), (1, 32), (1, 33), (1, 128), (4, 64)])
@pytest.mark.parametrize(
    "text", [LOCK, LOOP, CALLS, COUNTED], ids="lock loop calls counted".split()
)
def test_locks(text, grid, block):
    state, times = words(), 3 if text is LOOP else 1
    launch(text, state, grid=grid, block=block)
    assert state[0] == 0 and state[2] == grid * block * times
    if text is LOOP and grid == 1:
        assert state[3] == 3 * block**2


@pytest.mark.parametrize("block", [2, 32, 96])
def test_a_chain_of_flags(block):
    state = words()
    launch(CHAIN, state, block=block)
    assert state[0] == block


# others wait by a plain load for what one writes, and count their rounds: no state comes back
PLAIN = """
    mov.u32 %r3, {index};
    mov.u32 %r7, 0;
    setp.eq.u32 %p1, %r3, {writer};
    @%p1 bra write;
again:
    add.u32 %r7, %r7, 1;
    {load}
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra again;
    bra done;
write:
    {store}
done:"""


@pytest.mark.parametrize("block", [2, 32, 96])
@pytest.mark.parametrize("writer", ["first", "last"])
@pytest.mark.parametrize("space", ["global", "shared", "generic"])
def test_a_wait_by_plain_loads(space, writer, block):
    text = PLAIN.format(
        index="%tid.x",
        writer=0 if writer == "first" else block - 1,
        load={
            "global": "ld.global.u32 %r1, [%rd1];",
            "shared": "ld.shared.u32 %r1, [flag];",
            "generic": "add.u64 %rd3, %rd1, 0;\n    ld.u32 %r1, [%rd3];",
        }[space],
        store="st.shared.u32 [flag], 1;" if space == "shared" else "st.global.u32 [%rd1], 1;",
    )
    clear = "\n    mov.u32 %r2, 0;\n    st.shared.u32 [flag], %r2;\n    bar.sync 0;"
    text = clear * (space == "shared") + text + "\n    red.global.add.u32 [%rd1+4], 1;"
    state = words()
    launch(
        kernel(text, before=".shared .align 4 .b32 flag;"), state, block=block, max_steps=10_000_000
    )
    assert state[1] == block


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("counted", [True, False])
def test_blocks_that_wait_by_plain_loads(threads, counted, monkeypatch):
    """The writer is the last block; one host thread would never come to it without turns."""
    monkeypatch.setenv("SMEMKIT_THREADS", threads)
    text = PLAIN.format(index="%ctaid.x", writer=9, load="ld.global.u32 %r1, [%rd1];",
                        store="st.global.u32 [%rd1], 1;")  # fmt: skip
    text = text if counted else text.replace("    add.u32 %r7, %r7, 1;\n", "")
    state = words()
    launch(kernel(text), state, grid=10, block=32, max_steps=100_000_000)
    assert state[0] == 1


@pytest.mark.parametrize("counted", [True, False])
def test_a_chain_of_plain_flags(counted):
    text = CHAIN.replace("volatile.", "")
    if counted:
        text = text.replace("again:", "again:\n    add.u32 %r7, %r7, 1;")
    state = words()
    launch(text, state, block=96, max_steps=100_000_000)
    assert state[0] == 96


@pytest.mark.parametrize("change", ["address", "store", "end", None])
def test_what_reads_plainly_and_waits_for_nobody(change):
    """A loop that reads on, that writes, or that ends by its count does not give way: behind it the
    warp is whole. One that waits gives way, and the others go on without its lane."""
    data = np.zeros(1 << 15, np.uint32)
    text = kernel("""
    mov.u32 %r3, %tid.x;
    mov.u32 %r7, 0;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra join;
    mov.u64 %rd2, %rd1;
again:
    add.u32 %r7, %r7, 1;
    ld.global.u32 %r1, [%rd2];
    ADDRESS
    STORE
    setp.eq.u32 %p1, %r1, 0;
    setp.lt.u32 %p2, %r7, 30000;
    and.pred %p1, %p1, %p2;
    @END bra again;
join:
    activemask.b32 %r4;
    popc.b32 %r4, %r4;
    st.global.u32 [%rd1+8], %r4;""")  # fmt: skip
    for word, line in (("address", "add.u64 %rd2, %rd2, 4;"),
                       ("store", "st.global.u32 [%rd1+4], %r7;")):  # fmt: skip
        text = text.replace(word.upper(), line if change == word else "")
    data[:] = 0
    launch(text.replace("END", "%p2" if change == "end" else "%p1"), data, max_steps=10_000_000)
    assert (data[2] == 32) == (change is not None)


def test_two_lanes_that_answer_each_other():
    text = kernel("""
    mov.u32 %r3, %tid.x;
    mov.u32 %r7, 40;
more:
    and.b32 %r4, %r7, 1;
    setp.ne.u32 %p2, %r4, %r3;
    @%p2 bra next;
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.ne.u32 %p1, %r1, %r7;
    @%p1 bra again;
    sub.u32 %r1, %r7, 1;
    st.volatile.global.u32 [%rd1], %r1;
next:
    sub.u32 %r7, %r7, 1;
    setp.ne.u32 %p1, %r7, 0;
    @%p1 bra more;
    bar.warp.sync 3;
    red.global.add.u32 [%rd1+4], 1;""")
    state = words(40)
    launch(text, state, block=2)
    assert state.tolist() == [0, 2, 0, 0]


def test_lanes_that_stepped_aside_reconverge_at_a_barrier():
    """Behind the barrier the warp is whole: a vote without parking counts all of its lanes."""
    text = kernel(take() + ADD + GIVE + """
    bar.sync 0;
    activemask.b32 %r4;
    popc.b32 %r4, %r4;
    red.global.max.u32 [%rd1+12], %r4;""")  # fmt: skip
    state = words()
    launch(text, state, block=64)
    assert state.tolist() == [0, 0, 64, 32]


def test_in_lock_step_it_is_a_deadlock(monkeypatch):
    with pytest.raises(smemkit.DeadlockError, match=r"lock step here \(independent=False\)"):
        launch(LOCK, words(), block=2, independent=False)
    monkeypatch.setenv("SMEMKIT_INDEPENDENT", "0")
    with pytest.raises(smemkit.DeadlockError):
        launch(CHAIN, words(), block=2)
    state = words()
    launch(LOCK, state, independent=True)
    assert state[2] == 32


@pytest.mark.parametrize("text", [LOCK, LOOP, CALLS])
def test_watched_launches(text):
    """They make the same steps, and a lock that fences guard has no race."""
    state = words()
    report = load(text).check(1, 64, (state,))
    assert report and state[2] == (192 if text is LOOP else 64)
    counts = [load(text).profile(1, 64, (words(),)).counters for _ in range(2)]
    assert counts[0] == counts[1]


def test_two_locks_that_lanes_take_in_opposite_order():
    """Nobody can go on, which is found as before."""
    text = kernel("""
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd1, %rd2;
    atom.global.exch.b32 %r1, [%rd3], 1;
    bar.warp.sync 3;
    xor.b32 %r3, %r3, 1;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;""" + take())  # fmt: skip
    with pytest.raises(smemkit.DeadlockError, match="read the same values"):
        launch(text, words(), block=2)
    text = text.replace(
        "bar.warp.sync 3;", "setp.eq.u32 %p3, %r3, 0;\n    @%p3 bra other;"
    ).replace("    ret;", "    ret;\nother:\n" + take(2, "+4") + "\n    ret;")
    with pytest.raises(
        smemkit.DeadlockError, match="1 lanes in the loop and 1 not, which wait, too"
    ):
        launch(text, words(), block=2)


def test_a_barrier_that_some_lanes_never_reach():
    text = kernel(take() + GIVE + """
    mov.u32 %r3, %tid.x;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra other;
    bar.sync 0;
    ret;
other:
    bar.sync 1;""")  # fmt: skip
    with pytest.raises(
        smemkit.BarrierError, match="is reached by lanes .* on another path and wait"
    ):
        launch(text, words())


def test_a_path_that_never_spins_gives_way_too():
    """Lane 0 writes on and on until lane 1, which took longer to get the lock, says stop."""
    text = kernel(take() + GIVE + """
    mov.u32 %r3, %tid.x;
    setp.eq.u32 %p2, %r3, 1;
    @%p2 bra stop;
    mov.u32 %r4, 0;
busy:
    add.u32 %r4, %r4, 1;
    st.volatile.global.u32 [%rd1+4], %r4;
    ld.volatile.global.u32 %r5, [%rd1+8];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra busy;
    ret;
stop:
    st.volatile.global.u32 [%rd1+8], 1;""")  # fmt: skip
    state = words()
    launch(text, state, block=2, max_steps=100_000_000)
    assert state[2] == 1


@pytest.mark.parametrize("value", [0, 1, "yes", 2.0])
def test_wrong_choices(value):
    with pytest.raises(smemkit.ArgumentTypeError, match="independent must be True, False or None"):
        load(LOCK)(1, 1, (words(),), independent=value)


def test_a_wrong_environment_variable(monkeypatch):
    monkeypatch.setenv("SMEMKIT_INDEPENDENT", "maybe")
    with pytest.raises(smemkit.ArgumentError, match="SMEMKIT_INDEPENDENT is 'maybe'; 0 or 1"):
        launch(LOCK, words(), block=1)
