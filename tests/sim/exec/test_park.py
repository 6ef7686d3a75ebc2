"""Lanes that wait at a .sync operation for lanes on other paths, which come later or exit."""

import numpy as np
import pytest

import smemkit

LANES = 32
ALL = 0xFFFFFFFF
KEPT = 77  # what a lane has in its result before the operation
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b32 room[32];
{functions}
.visible .entry k(.param .u64 x)
{{
    .reg .b32 %r<20>;
    .reg .pred %p<9>, %q<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd2, %r0, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r9, room;
    mad.lo.u32 %r9, %r0, 4, %r9;
    and.b32 %r8, %r0, 1;
    setp.eq.u32 %p1, %r0, 0;    // lane 0
    setp.lt.u32 %p2, %r0, 16;   // the low half
    setp.eq.u32 %p3, %r8, 0;    // even lanes
    setp.ge.u32 %p4, %r0, 0;    // all
    add.u32 %r7, %r0, 100;
    mov.u32 %r6, 3;
    mov.u32 %r1, 77;
    mov.u32 %r2, 77;
    {body}
    st.global.u32 [%rd1], %r1;
    st.global.u32 [%rd1+128], %r2;
    ret;
}}
"""
LANE = np.arange(LANES)


def make(body, functions=""):
    return TEXT.format(body=body, functions=functions)


def load(text, machine="sim"):
    return smemkit.RawModule(text, backend=machine).get_function("k")


def run(machine, body, functions=""):
    out = np.full((2, LANES), 0xEEEEEEEE, np.uint32)
    load(make(body, functions), machine)((1,), (LANES,), (out,), backend=machine)
    return out


def check(body, threads=LANES):
    out = np.full((2, LANES), 0xEEEEEEEE, np.uint32)
    return load(make(body)).check((1,), (threads,), (out,), backend="sim")


# Each operation with a full mask, and what it gives the lanes of a set.
OPERATIONS = {
    "all": ("vote.sync.all.pred %q1, %p4, -1; selp.u32 %r1, 1, 0, %q1;", lambda here: 1),
    "ballot": ("vote.sync.ballot.b32 %r1, %p4, -1;", lambda here: here),
    "redux": (
        "redux.sync.add.u32 %r1, %r7, -1;",
        lambda here: sum(lane + 100 for lane in range(LANES) if here >> lane & 1),
    ),
    "match": ("match.any.sync.b32 %r1, %r6, -1;", lambda here: here),
    "match_all": ("match.all.sync.b32 %r1|%q1, %r6, -1;", lambda here: here),
    "barrier": ("bar.warp.sync -1; mov.u32 %r1, 5;", lambda here: 5),
}
EACH = pytest.mark.parametrize("name", OPERATIONS)


@EACH
@pytest.mark.parametrize(("guard", "away"), [("%p1", 1), ("!%p2", 0xFFFF0000)], ids=["0", "half"])
def test_lanes_that_skip_it_run_on_and_exit(machine, name, guard, away):
    line, result = OPERATIONS[name]
    out = run(machine, f"@{guard} bra X;\n{line}\nX:")[0]
    skipped = (away >> LANE & 1).astype(bool)
    assert np.all(out[skipped] == KEPT)
    assert np.all(out[~skipped] == result(ALL & ~away))


@EACH
def test_lanes_that_have_exited_are_not_waited_for(machine, name):
    line, result = OPERATIONS[name]
    out = run(machine, f"@%p1 exit;\n{line}")[0]
    assert out[0] == 0xEEEEEEEE
    assert np.all(out[1:] == result(0xFFFFFFFE))


@EACH
def test_lanes_come_one_after_the_other_in_a_loop(machine, name):
    """Even lanes execute it in the first round, odd ones in the second: they meet."""
    line, result = OPERATIONS[name]
    out = run(
        machine,
        f"""
        mov.u32 %r3, 0;
    AGAIN:
        setp.ne.u32 %q2, %r3, %r8;
        @%q2 bra SKIP;
        {line}
    SKIP:
        add.u32 %r3, %r3, 1;
        setp.lt.u32 %q3, %r3, 2;
        @%q3 bra AGAIN;""",
    )[0]
    assert np.all(out == result(ALL))


def test_lanes_that_came_by_other_branches_go_on_together():
    """Lane 0 comes straight to the vote, odd lanes from a branch that ends before lane 0's does.

    Behind the vote all of them come by the end of that inner branch.
    """
    out = run(
        "sim",
        """
        setp.gt.u32 %q3, %r0, 31;   // no lane
        @%p1 bra VOTE;
        @%q3 bra END;
        @%p3 bra SIDE;
    VOTE:
        vote.sync.ballot.b32 %r3, %p4, 0xAAAAAAAB;
        activemask.b32 %r1;
        bra MEET;
    SIDE:
        mov.u32 %r1, 5;
    MEET:
        mov.u32 %r2, 5;
    END:""",
    )[0]
    here = 0xAAAAAAAB  # lane 0 and odd lanes
    assert out.tolist() == [here if here >> lane & 1 else 5 for lane in range(LANES)]


def test_a_leader_among_those_who_have_not_exited():
    body = "@%p1 bra X;\nelect.sync %r1|%q1, -1;\nselp.u32 %r2, 1, 0, %q1;\nX:"
    text = make(body).replace("sm_80", "sm_90")
    out = np.full((2, LANES), 0xEEEEEEEE, np.uint32)
    load(text)((1,), (LANES,), (out,), backend="sim")
    assert np.array_equal(out[0], np.where(LANE == 0, KEPT, 1))
    assert np.array_equal(out[1], np.where(LANE == 0, KEPT, LANE == 1))


def test_the_two_sides_of_a_branch_meet_at_barriers_of_their_own(machine):
    """What one side wrote before its barrier the other reads behind its own."""
    out = run(
        machine,
        """
        st.shared.u32 [%r9], 0;
        bar.warp.sync -1;
        @%p2 bra LOW;
        st.shared.u32 [%r9], %r7;
        bar.warp.sync -1;
        ld.shared.u32 %r1, [%r9+-64];
        bar.warp.sync -1;
        bra JOIN;
    LOW:
        bar.warp.sync -1;
        ld.shared.u32 %r1, [%r9+64];
        bar.warp.sync -1;
        st.shared.u32 [%r9], %r7;
    JOIN:
        activemask.b32 %r2;""",
    )
    assert np.array_equal(out[0], np.where(LANE < 16, LANE + 116, 0))


# Exchanges alike but for their operands, at two places: a line for lanes below 16, one for the
# others, and the result.
PAIRS = {
    "ballot": (
        "vote.sync.ballot.b32 %r1, %p3, -1;",
        "vote.sync.ballot.b32 %r1, !%p3, -1;",
        np.full(LANES, 0xAAAA5555, np.uint32),
    ),
    "any": (
        "vote.sync.any.pred %q1, %p1, -1; selp.u32 %r1, 1, 0, %q1;",
        "vote.sync.any.pred %q2, !%p4, -1; selp.u32 %r1, 1, 0, %q2;",
        np.ones(LANES, np.uint32),
    ),
    "shfl": (
        "shfl.sync.bfly.b32 %r1, %r7, 16, 31, -1;",
        "shfl.sync.bfly.b32 %r1|%q2, %r0, 20, 31, -1;",
        np.where(LANE < 16, LANE + 16, (LANE ^ 20) + 100),
    ),
    "redux": (
        "redux.sync.add.u32 %r1, %r7, -1;",
        "redux.sync.add.u32 %r1, %r0, -1;",
        np.full(LANES, 31 * 16 + 1600, np.uint32),
    ),
    "match": (
        "match.any.sync.b32 %r1, %r8, -1;",
        "match.any.sync.b32 %r1, %r6, -1;",
        np.where(LANE < 16, np.where(LANE % 2 == 0, 0x5555, 0xAAAA), 0xFFFF0000),
    ),
    "match_wide": (
        "match.any.sync.b64 %r1, %rd3, -1;",
        "match.any.sync.b64 %r1, %rd3, -1;",
        np.full(LANES, ALL, np.uint32),
    ),
    "match_all": (
        "match.all.sync.b32 %r1|%q1, %r6, -1;",
        "match.all.sync.b32 %r1|%q2, 3, -1;",
        np.full(LANES, ALL, np.uint32),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("turned", [False, True], ids=["first", "last"])
def test_the_two_sides_of_a_branch_exchange(machine, name, turned):
    """As an H200 does it: each side brings its own operands."""
    low, high, wanted = PAIRS[name]
    sides = f"@!%p2 bra L;\n{low}\nbra X;\nL: {high}\nX:"
    if turned:
        sides = f"@%p2 bra L;\n{high}\nbra X;\nL: {low}\nX:"
    out = run(machine, "mov.u64 %rd3, 9;\n" + sides)[0]
    assert np.array_equal(out, wanted.astype(np.uint32))


def test_paths_that_met_join_again():
    """Where the sides of a branch would have joined without the barriers, they do with them."""
    side = "bar.warp.sync -1;\nadd.u32 %r1, %r1, 1;"
    out = run("sim", f"@%p2 bra LOW;\n{side}\nbra JOIN;\nLOW: {side}\nJOIN: activemask.b32 %r2;")
    assert np.all(out[0] == KEPT + 1)
    assert np.all(out[1] == ALL)


def test_parts_of_a_mask_meet_one_after_the_other(machine):
    """Each group of four lanes has its mask, and comes on one of two paths."""
    out = run(
        machine,
        """
        shr.u32 %r3, %r0, 2;
        shl.b32 %r3, %r3, 2;
        mov.u32 %r4, 15;
        shl.b32 %r4, %r4, %r3;
        mov.u32 %r5, 0;
        shr.u32 %r10, %r0, 2;
        and.b32 %r10, %r10, 1;
        xor.b32 %r10, %r10, %r8;
    AGAIN:
        setp.ne.u32 %q2, %r5, %r10;
        @%q2 bra SKIP;
        vote.sync.ballot.b32 %r1, %p4, %r4;
    SKIP:
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %q3, %r5, 2;
        @%q3 bra AGAIN;""",
    )[0]
    assert np.array_equal(out, 15 << (LANE // 4 * 4))


DEEP = """
.func deep(.reg .b32 %n)
{
    .reg .pred %p;
    .reg .b32 %m;
    setp.eq.u32 %p, %n, 0;
    @%p bra MEET;
    sub.u32 %m, %n, 1;
    call deep, (%m);
    ret;
MEET:
    bar.warp.sync -1;
    ret;
}
"""


def test_lanes_wait_for_those_who_call():
    """Half of a warp waits at a barrier, and half comes to one in a function, three calls deep."""
    body = """
        @%p2 bra LOW;
        bar.warp.sync -1;
        mov.u32 %r1, 4;
        bra JOIN;
    LOW:
        mov.u32 %r1, 3;
        call deep, (%r1);
    JOIN:
        activemask.b32 %r2;"""
    out = run("sim", body, DEEP)
    assert np.array_equal(out[0], np.where(LANE < 16, 3, 4))
    assert np.all(out[1] == ALL)


CHOOSE = """
.func (.reg .b32 %o) choose(.reg .b32 %a)
{
    .reg .pred %p;
    .local .align 4 .b32 kept;
    st.local.u32 [kept], %a;
    setp.ge.u32 %p, %a, 110;
    vote.sync.ballot.b32 %o, %p, -1;
    ld.local.u32 %a, [kept];
    add.u32 %o, %o, %a;
    ret;
}
"""
BALLOT = 0xFFFFFC00  # lanes from 10 up


def test_a_function_whose_lanes_wait_is_left_for_others_to_call_it(machine):
    """As an H200 does it: two calls of one function, on two paths, exchange with each other."""
    body = """
        @%p2 bra LOW;
        call (%r1), choose, (%r7);
        bra JOIN;
    LOW:
        call (%r2), choose, (%r7);
        mov.u32 %r1, %r2;
        mov.u32 %r2, 5;
    JOIN:"""
    out = run(machine, body, CHOOSE)
    assert np.array_equal(out[0], BALLOT + 100 + LANE)
    assert np.array_equal(out[1], np.where(LANE < 16, 5, KEPT))


def test_a_function_is_left_for_lanes_that_skip_its_call(machine):
    out = run(machine, "@%p1 bra X;\ncall (%r1), choose, (%r7);\nX: add.u32 %r1, %r1, 1;", CHOOSE)
    assert np.array_equal(out[0], np.where(LANE == 0, KEPT + 1, BALLOT + 101 + LANE))


def test_a_guarded_call_is_left_for_those_who_do_not_call():
    body = "@%p3 call (%r1), choose, (%r7);\n@!%p3 vote.sync.ballot.b32 %r2, %p4, -1;"
    out = run("sim", body, CHOOSE)
    even = LANE % 2 == 0
    ballot = BALLOT & 0x55555555 | 0xAAAAAAAA
    assert np.array_equal(out[0], np.where(even, ballot + 100 + LANE, KEPT))
    assert np.array_equal(out[1], np.where(even, KEPT, ballot))


def test_deep_in_calls_lanes_wait_for_their_callers():
    """Each pair of lanes calls as deep as its number says, and all meet."""
    body = """
        shr.u32 %r1, %r0, 1;
        setp.eq.u32 %q1, %r1, 0;
        @%q1 bra SHALLOW;
        @%p3 bra EVEN;
        call deep, (%r1);
        bra JOIN;
    EVEN:
        add.u32 %r1, %r1, 20;
        call deep, (%r1);
        bra JOIN;
    SHALLOW:
        bar.warp.sync -1;
    JOIN:"""
    out = run("sim", body, DEEP)
    wanted = np.where((LANE % 2 == 0) & (LANE > 1), LANE // 2 + 20, LANE // 2)
    assert np.array_equal(out[0], wanted)


# what can never end ---------------------------------------------------------------------------


def test_lanes_that_wait_for_each_other_are_a_deadlock():
    body = """
        @%p2 bra LOW;
        vote.sync.ballot.b32 %r1, %p4, -1;
        bra JOIN;
    LOW:
        vote.sync.ballot.b32 %r1, %p4, 0x0001ffff;
    JOIN:"""
    with pytest.raises(smemkit.DeadlockError) as caught:
        run("sim", body)
    text = str(caught.value)
    lines = make(body).split("\n")
    first = next(i for i, line in enumerate(lines, 1) if "-1;" in line)
    second = next(i for i, line in enumerate(lines, 1) if "0x0001ffff" in line)
    assert f"PTX line {first}" in text
    assert f"its lanes 0x0000ffff are on another path and wait at PTX line {second}" in text
    (finding,) = check(body).findings
    assert finding.kind == "barrier"
    assert (finding.first.ptx_line, finding.second.ptx_line) == (first, second)
    assert check(body).stopped


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vote.sync.ballot.b32 %r1, %p4, -1;", "bar.warp.sync -1;"),
        ("vote.sync.ballot.b32 %r1, %p4, -1;", "vote.sync.all.pred %q1, %p4, -1;"),
        ("vote.sync.ballot.b32 %r1, %p4, -1;", "shfl.sync.idx.b32 %r1, %r7, 0, 31, -1;"),
        ("shfl.sync.bfly.b32 %r1, %r7, 1, 31, -1;", "shfl.sync.idx.b32 %r1, %r7, 0, 31, -1;"),
    ],
)
def test_operations_that_are_not_alike_do_not_meet(one, other):
    """An H200 waits for ever."""
    with pytest.raises(smemkit.DeadlockError, match="none of them can go on"):
        run("sim", f"@%p2 bra LOW;\n{one}\nbra JOIN;\nLOW: {other}\nJOIN:")


def test_one_half_at_a_barrier_of_the_block_and_one_at_one_of_the_warp():
    body = "@%p2 bra LOW;\nbar.warp.sync -1;\nbra JOIN;\nLOW: bar.sync 0;\nJOIN:"
    with pytest.raises(smemkit.BarrierError, match="wait at PTX line"):
        run("sim", body)


def test_a_lane_outside_its_own_mask():
    with pytest.raises(smemkit.BarrierError, match="executed by lane 0, which is not in it"):
        run("sim", "vote.sync.ballot.b32 %r1, %p4, 0xfffffffe;")
    with pytest.raises(smemkit.BarrierError, match=r"bar.warp.sync with the mask 0xfffffffe"):
        run("sim", "bar.warp.sync 0xfffffffe;")


# what check says ------------------------------------------------------------------------------


@EACH
def test_check_names_lanes_that_never_come(name):
    """It goes on as hardware does, and says that lanes of the mask have left by another way."""
    line = OPERATIONS[name][0].split(";")[0] + ";"
    body = f"@%p1 bra X;\n{line}\nX: add.u32 %r1, %r1, 1;"
    report = check(body)
    (finding,) = report.findings
    assert finding.kind == "barrier"
    assert not report.stopped
    lines = make(body).split("\n")
    assert finding.first.ptx_line == 1 + lines.index(line)
    assert finding.second.ptx_line == 2 + lines.index(line)
    assert (finding.first.thread, finding.second.thread) == ((1, 0, 0), (0, 0, 0))
    assert "lanes 0x00000001 are on another path" in finding.message


@EACH
def test_profile_counts_where_lanes_never_come(name):
    """It observes synchronisation, too, and has nothing to say of lanes that are missing."""
    line = OPERATIONS[name][0].split(";")[0] + ";"
    for body in (f"@%p1 bra X;\n{line}\nX: add.u32 %r1, %r1, 1;", f"@%p2 exit;\n{line}"):
        kernel, out = load(make(body)), np.zeros((2, LANES), np.uint32)
        (launch,) = kernel.profile((1,), (LANES,), (out,), backend="sim").launches
        assert launch.counters["instructions.warp"] > 0


def test_check_is_silent_of_lanes_that_had_exited():
    for line, _ in OPERATIONS.values():
        assert not check(f"@%p1 exit;\n{line}").findings


def test_check_is_silent_of_barriers_that_lanes_reach_on_two_paths():
    side = "bar.warp.sync -1;"
    assert not check(f"@%p2 bra LOW;\n{side}\nbra JOIN;\nLOW: {side}\nJOIN:").findings


def test_check_is_silent_of_an_exchange_between_two_places():
    side = "shfl.sync.bfly.b32 %r1, %r7, 16, 31, -1;"
    assert not check(f"@%p2 bra LOW;\n{side}\nbra JOIN;\nLOW: {side}\nJOIN:").findings


@pytest.mark.parametrize("barriers", [True, False])
def test_check_knows_what_a_barrier_on_two_paths_orders(barriers):
    meet = "bar.warp.sync -1;" if barriers else ""
    body = f"""
        @%p2 bra LOW;
        st.shared.u32 [%r9], %r7;
        {meet}
        bra JOIN;
    LOW:
        {meet}
        ld.shared.u32 %r1, [%r9+64];
    JOIN:"""
    kinds = {finding.kind for finding in check(body).findings}
    assert kinds == (set() if barriers else {"warp_hazard"})


# any program ----------------------------------------------------------------------------------

MODULUS = 1 << 32


COUNTERS = 3000
START = """
    add.u32 %r13, %r0, 7;
    and.b32 %r10, %r13, 31;
    mov.u32 %r4, room;
    mad.lo.u32 %r10, %r10, 4, %r4;
    mad.lo.u32 %r9, %r0, 4, %r4;
"""
FUNCTION = """
.func (.reg .b32 %r1) f{number}(.reg .b32 %in, .reg .b64 %rd1)
{{
    .reg .b32 %r0, %r3, %r4, %r9, %r10, %r11, %r12, %r13;
    .reg .b32 %c<3000>;
    .reg .pred %q<9>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %in;
    {start}
    {body}
    ret;
}}
"""


class Program:
    """A random program of branches, loops, exits and meetings: PTX, and a model of one lane."""

    def __init__(self, rng, meeting, calls):
        self.rng = rng
        self.meeting = meeting
        self.calls = ["call"] * calls
        self.functions = []
        self.inside = 0
        self.labels = 0
        self.registers = 0
        self.meetings = 0
        self.tree = self.make_list(0)

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def make_list(self, depth):
        return [self.make(depth) for _ in range(int(self.rng.integers(1, 4)))]

    def make(self, depth):
        kinds = ["add", self.meeting, self.meeting, "if", "if", "loop", "exit", *self.calls]
        kinds += ["return"] if self.inside else []
        kind = self.pick(*(kinds if depth < 4 else kinds[:3]))
        if kind == "add":
            return (kind, int(self.rng.integers(1 << 30)))
        if kind in ("exit", "return"):
            return (kind, int(self.rng.integers(LANES)))
        if kind == "if":
            mask = int(self.rng.integers(1, ALL))
            return (kind, mask, self.make_list(depth + 1), self.make_list(depth + 1))
        if kind == "call":
            self.inside += 1
            made = (kind, self.make_list(depth + 1))
            self.inside -= 1
            return made
        if kind == "loop":
            return (kind, self.pick(1, 3, 16), self.make_list(depth + 1))
        return (kind,)

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def write(self, tree):
        lines = []
        for node in tree:
            lines += getattr(self, f"write_{node[0]}")(*node[1:])
        return lines

    def write_add(self, number):
        return [f"mad.lo.u32 %r1, %r1, 3, {number};"]

    def write_exit(self, lane):
        return [f"setp.eq.u32 %q1, %r0, {lane};", "st.global.u32 [%rd1], %r1;", "@%q1 exit;"]

    def write_meet(self):
        return [
            "st.shared.u32 [%r9], %r1;",
            "bar.warp.sync -1;",
            "ld.shared.u32 %r4, [%r10];",
            "mad.lo.u32 %r1, %r1, 5, %r4;",
            "bar.warp.sync -1;",
        ]

    def write_call(self, body):
        """A function of its own; those that it calls come before it."""
        number = len(self.functions)
        self.functions.append("")
        lines = "\n".join(self.write(body))
        self.functions[number] = FUNCTION.format(number=number, start=START, body=lines)
        return [f"call (%r1), f{number}, (%r1, %rd1);"]

    def write_return(self, lane):
        return [f"setp.eq.u32 %q1, %r0, {lane};", "@%q1 ret;"]

    def write_swap(self):
        """The value in one of two registers, and the result in one of two."""
        value, result = self.pick("%r1", "%r11"), self.pick("%r4", "%r12")
        return [
            "mov.u32 %r11, %r1;",
            f"shfl.sync.idx.b32 {result}, {value}, %r13, 31, -1;",
            f"mad.lo.u32 %r1, %r1, 5, {result};",
        ]

    def write_if(self, mask, yes, no):
        other, done = self.label(), self.label()
        return [
            f"shr.u32 %r3, {mask}, %r0;\nand.b32 %r3, %r3, 1;\nsetp.eq.u32 %q1, %r3, 0;",
            f"@%q1 bra {other};",
            *self.write(yes),
            f"bra {done};\n{other}:",
            *self.write(no),
            f"{done}:",
        ]

    def write_loop(self, bits, body):
        again, count = self.label(), f"%c{self.registers}"
        self.registers += 1
        return [
            f"and.b32 {count}, %r0, {bits};\nmin.u32 {count}, {count}, 3;\n{again}:",
            *self.write(body),
            f"setp.ne.u32 %q1, {count}, 0;\nsub.u32 {count}, {count}, 1;\n@%q1 bra {again};",
        ]

    def text(self):
        body = "\n".join(self.write(self.tree))
        start = f".reg .b32 %c<{COUNTERS}>;\n{START}st.shared.u32 [%r9], 0;\nbar.warp.sync -1;\n"
        return make(start + body, "\n".join(reversed(self.functions)))

    def follow(self, tree, lane, state):
        """A generator that stops where the lane waits; its value: how the lane has left."""
        for node in tree:
            kind = node[0]
            if kind == "add":
                state["value"] = (3 * state["value"] + node[1]) % MODULUS
            elif kind in ("exit", "return"):
                state["out"] = state["value"] if kind == "exit" else state["out"]
                if node[1] == lane:
                    return kind
            elif kind == "meet":
                state["room"][lane] = state["value"]
                yield
                state["value"] = (5 * state["value"] + state["room"][(lane + 7) % 32]) % MODULUS
                yield
            elif kind == "swap":
                state["room"][lane] = state["value"]
                yield
                state["value"] = (5 * state["value"] + state["given"][(lane + 7) % 32]) % MODULUS
            elif kind == "if":
                left = yield from self.follow(node[2 if node[1] >> lane & 1 else 3], lane, state)
                if left:
                    return left
            elif kind == "call":
                left = yield from self.follow(node[1], lane, state)
                if left == "exit":
                    return left
            else:
                for _ in range(1 + min(lane & node[1], 3)):
                    left = yield from self.follow(node[2], lane, state)
                    if left:
                        return left
        return None

    def model(self):
        room = [0] * LANES
        given = [0] * LANES
        states = [{"value": KEPT, "room": room, "given": given, "out": None} for _ in range(LANES)]
        ways = {lane: self.follow(self.tree, lane, states[lane]) for lane in range(LANES)}
        while ways:
            for lane in range(LANES):  # what those bring who take part; nothing of who has exited
                given[lane] = room[lane] if lane in ways else 0
            for lane in list(ways):
                try:
                    next(ways[lane])
                except StopIteration as end:
                    del ways[lane]
                    if not end.value:
                        states[lane]["out"] = states[lane]["value"]
        return [state["out"] for state in states]


@pytest.mark.parametrize("calls", [0, 2], ids=["inline", "calls"])
@pytest.mark.parametrize("meeting", ["meet", "swap"])
@pytest.mark.parametrize("turn", range(25))
def test_lanes_meet_as_threads_of_their_own_would(rng, turn, meeting, calls):
    """Every lane is a thread that waits at each meeting for all that have not exited."""
    program = Program(rng, meeting, calls)
    out = np.full((2, LANES), 0xEEEEEEEE, np.uint32)
    text = program.text()
    load(text)((1,), (LANES,), (out,), backend="sim")
    assert out[0].tolist() == program.model(), text


def test_no_memory_for_those_who_wait_is_an_error():
    kernel = load(make("@%p2 bra L;\ncall deep, (%r6);\nbra X;\nL: bar.warp.sync -1;\nX:", DEEP))
    failed = 0
    try:
        for n in range(1, 80):
            out = np.zeros((2, LANES), np.uint32)
            smemkit._core._fail_after(n)
            try:
                kernel((1,), (LANES,), (out,), backend="sim")
            except MemoryError:
                failed += 1
                continue
            finally:
                smemkit._core._fail_after(0)
            assert np.all(out == KEPT)
    finally:
        smemkit._core._fail_after(0)
    assert failed > 12
