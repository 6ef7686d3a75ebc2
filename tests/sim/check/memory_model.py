"""Random programs of few threads, and their data races by the definitions of PTX's memory model.

A program is a list of steps, which run one after another: each waits for its turn, a plain word in
global memory that orders nothing by the model. So who reads what from whom is known beforehand, and
what happens before what can be had from the definitions, pair by pair and without clocks:

    release pattern   a release operation; or one, or a fence, and later a strong write
    acquire pattern   an acquire operation; or a strong read, and later one or a fence
    synchronises      the write is read, directly or through atomic operations that read and write,
                      each link morally strong, and so the pattern's first and last operation
    morally strong    both strong, and each one's scope includes the other's thread
    race              two accesses, one writes, not morally strong, neither before the other

Two rules are the house's own: what was fenced, or read, before a barrier counts for all who meet
there; and lanes of a warp that share memory by volatile alone race, for nothing keeps them in step.
"""

import dataclasses
import random

import numpy as np

LANES = (0, 1, 7)
DATA, FLAGS = (0, 1), (2, 3)
WIDTH = 4


@dataclasses.dataclass(frozen=True)
class Op:
    """What the lanes of a step do. word: load, store, atom, fence, warp, block."""

    word: str
    sem: str = "weak"  # weak, volatile, relaxed, acquire, release, acq_rel, sc
    scope: str = "sys"
    shared: bool = False
    cell: int = 0

    @property
    def strong(self):
        return self.sem != "weak"

    @property
    def writes(self):
        return self.word in ("store", "atom")

    @property
    def reads(self):
        return self.word in ("load", "atom")

    @property
    def acquires(self):
        return self.word in ("load", "atom") and self.sem in ("acquire", "acq_rel")

    @property
    def releases(self):
        return self.word in ("store", "atom") and self.sem in ("release", "acq_rel")

    @property
    def fences_after(self):
        """A fence that ends an acquire pattern."""
        return self.word == "fence" and self.sem != "release"

    @property
    def fences_before(self):
        """A fence that begins a release pattern."""
        return self.word == "fence" and self.sem != "acquire"

    @property
    def place(self):
        return self.shared, self.cell

    def spell(self, step):
        space = "shared" if self.shared else "global"
        base = "%rs" if self.shared else "%rd1"
        address = f"[{base}+{self.cell * WIDTH}]"
        words = {"weak": "", "volatile": ".volatile"}.get(self.sem, f".{self.sem}.{self.scope}")
        match self.word:
            case "load":
                return f"ld{words}.{space}.u32 %r9, {address};"
            case "store":
                return f"st{words}.{space}.u32 {address}, %v;"
            case "atom":
                return f"atom{words}.{space}.exch.b32 %r9, {address}, %v;"
            case "fence":
                return f"fence.{self.sem}.{self.scope};"


@dataclasses.dataclass(frozen=True)
class Step:
    block: int
    warp: int
    lanes: tuple[int, ...]
    op: Op
    branch: bool  # the lanes branch there, else they are guarded

    @property
    def mask(self):
        return sum(1 << lane for lane in self.lanes)


@dataclasses.dataclass
class Program:
    blocks: int
    warps: int
    steps: list[Step]


# Making ------------------------------------------------------------------------------------------


def make_op(rng, blocks):
    scope = rng.choice(("cta", "gpu", "gpu", "sys", "cluster") if blocks > 1 else ("cta", "gpu"))
    kind = rng.random()
    shared = rng.random() < 0.25
    if kind < 0.34:  # data
        return Op(rng.choice(("load", "store")), shared=shared, cell=rng.choice(DATA))
    if kind < 0.54:
        sem = rng.choice(("acq_rel", "acq_rel", "sc", "acquire", "release"))
        return Op("fence", sem, scope)
    cell = rng.choice(FLAGS if rng.random() < 0.9 else DATA)
    word = rng.choice(("load", "load", "store", "store", "atom"))
    sems = {
        "load": ("volatile", "relaxed", "acquire", "acquire", "weak"),
        "store": ("volatile", "relaxed", "release", "release", "weak"),
        "atom": ("relaxed", "acquire", "release", "acq_rel"),
    }[word]
    sem = rng.choice(sems)
    return Op(word, sem, "sys" if sem in ("weak", "volatile") else scope, shared, cell)


def make_hands(rng, blocks, warps):
    """Threads hand the data on to each other by flags, mostly as they should."""
    blocks, warps = range(blocks), range(warps)
    threads = [(block, warp, lane) for block in blocks for warp in warps for lane in LANES]
    owner, steps = rng.choice(threads), []
    shared = len(blocks) == 1 and rng.random() < 0.4

    def put(thread, *facts):
        steps.append(Step(*thread[:2], (thread[2],), Op(*facts), rng.random() < 0.5))

    def touch(thread):
        put(thread, rng.choice(("load", "store")), "weak", "sys", shared, rng.choice(DATA))

    for _ in range(rng.randint(2, 5)):
        heir, flag = rng.choice(threads), rng.choice(FLAGS)
        reach = ("gpu", "gpu", "sys") if owner[0] != heir[0] else ("cta", "gpu")
        scope = [rng.choice(reach if rng.random() < 0.95 else ("cta",)) for _ in range(5)]
        sems = [rng.choice(("acq_rel", "sc", one)) for one in ("release", "acquire")]
        sems = sems if rng.random() < 0.95 else sems[::-1]
        writes = rng.choice(("store", "atom"))
        for _ in range(rng.randint(1, 3)):
            touch(owner)
        if rng.random() < 0.5:
            put(owner, writes, "release", scope[0], shared, flag)
        else:
            if rng.random() < 0.95:
                put(owner, "fence", sems[0], scope[0])
            put(owner, writes, "relaxed", scope[1], shared, flag)
        if rng.random() < 0.3:  # another one in between
            word = rng.choice(("atom", "atom", "store"))
            put(rng.choice(threads), word, "relaxed", scope[2], shared, flag)
        form = rng.random()
        if form < 0.5:
            put(heir, rng.choice(("load", "atom")), "acquire", scope[3], shared, flag)
        else:
            volatile = form < 0.7
            put(
                heir,
                "load",
                *(("volatile", "sys") if volatile else ("relaxed", scope[3])),
                shared,
                flag,
            )
            if rng.random() < 0.95:
                put(heir, "fence", sems[1], scope[4])
        owner = heir
        touch(owner)
    return steps


def make_program(seed):
    rng = random.Random(seed)
    blocks = rng.choice((1, 1, 2, 3))
    warps = rng.choice((1, 2, 3))
    if rng.random() < 0.5:
        return Program(blocks, warps, make_hands(rng, blocks, warps))
    steps = []
    for _ in range(rng.randint(6, 26)):
        block, warp = rng.randrange(blocks), rng.randrange(warps)
        kind = rng.random()
        if kind < 0.04:
            steps.append(Step(block, 0, LANES, Op("block"), False))
        elif kind < 0.09:
            lanes = tuple(sorted(rng.sample(LANES, rng.randint(2, len(LANES)))))
            steps.append(Step(block, warp, lanes, Op("warp"), True))
        else:
            lanes = tuple(sorted(rng.sample(LANES, rng.choice((1, 1, 1, 1, 2, 3)))))
            steps.append(Step(block, warp, lanes, make_op(rng, blocks), rng.random() < 0.5))
    return Program(blocks, warps, steps)


# PTX ---------------------------------------------------------------------------------------------

HEAD = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry program(.param .u64 cells, .param .u64 turns)
{
    .reg .b32 %r<16>, %rs, %v, %bit;
    .reg .pred %p, %q, %first;
    .reg .b64 %rd<8>;
    .shared .align 16 .b8 words[16];
    ld.param.u64 %rd1, [cells];
    ld.param.u64 %rd2, [turns];
    mov.u32 %rs, words;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    and.b32 %r3, %r1, 31;
    shr.u32 %r4, %r1, 5;
    mov.u32 %r5, 1;
    shl.b32 %bit, %r5, %r3;
    setp.eq.u32 %first, %r3, 0;
    setp.ne.u32 %p, %r1, 0;
    @%p bra START;
    st.shared.v4.u32 [%rs], {%r1, %r1, %r1, %r1};
START:
    bar.sync 0;
    shl.b32 %r6, %r2, 8;
    add.u32 %r6, %r6, %r4;      // block and warp
"""


def spell(program):
    """The PTX text, the line of each step, and the lines that are about turns."""
    lines, line_of, turning = HEAD.splitlines(), {}, set()

    def put(text, turn=False):
        lines.append(text)
        if turn:
            turning.add(len(lines))

    for block in range(program.blocks):
        for warp in range(program.warps):
            put(f"    setp.ne.u32 %p, %r6, {block << 8 | warp};")
            put(f"    @%p bra BEHIND_{block}_{warp};")
            for number, step in enumerate(program.steps):
                meets = step.op.word == "block"
                if step.block != block or (step.warp != warp and not meets):
                    continue
                name = f"{number}_{block}_{warp}"
                put(f"    @!%first bra GO_{name};")  # the others wait for the first lane
                put(f"WAIT_{name}:")
                put("    ld.global.u32 %r7, [%rd2];", turn=True)
                put(f"    setp.lt.u32 %q, %r7, {number};")
                put(f"    @%q bra WAIT_{name};")
                put(f"GO_{name}:")
                put(f"    add.u32 %v, %r1, {(number + 1) << 12};")  # each lane another value
                put(f"    and.b32 %r8, %bit, {step.mask};")
                put("    setp.eq.u32 %p, %r8, 0;")
                if meets:
                    put("    barrier.sync 0;")
                elif step.branch:
                    put(f"    @%p bra DONE_{name};")
                    text = step.op.spell(number) or f"bar.warp.sync {step.mask};"
                    put(f"    {text}")
                    line_of[number] = len(lines)
                    put(f"DONE_{name}:")
                else:
                    put(f"    @!%p {step.op.spell(number)}")
                    line_of[number] = len(lines)
                if not meets or warp == 0:
                    put(f"    @%first st.global.u32 [%rd2], {number + 1};", turn=True)
            put(f"BEHIND_{block}_{warp}:")
    if program.blocks > 1:  # never done: blocks that may wait for each other run in turn
        put("    setp.eq.u32 %p, %r6, 65535;")
        put("    @%p ld.volatile.global.u32 %r9, [%rd2];", turn=True)
    put("    ret;")
    put("}")
    return "\n".join(lines) + "\n", line_of, turning


# The model ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Event:
    number: int  # of the step
    thread: tuple[int, int, int]
    op: Op


def includes(op, block, other):
    return block == other or op.scope not in ("cta", "cluster")


def morally_strong(a, b):
    if a.thread == b.thread:
        return True
    blocks = a.thread[0], b.thread[0]
    return a.op.strong and b.op.strong and includes(a.op, *blocks) and includes(b.op, *blocks)


class Model:
    """Events of a program and what comes before what."""

    def __init__(self, program):
        self.events, self.last, self.edges, self.meets = [], {}, [], []
        for number, step in enumerate(program.steps):
            warps = range(program.warps) if step.op.word == "block" else [step.warp]
            lanes = LANES
            threads = [(step.block, warp, lane) for warp in warps for lane in lanes]
            threads = [one for one in threads if one[2] in step.lanes]
            if step.op.word in ("block", "warp"):
                self._meet(number, threads, step.op)
                continue
            for thread in threads:
                self._add(number, thread, step.op)
        count = len(self.events)
        self.before = np.zeros((count, count), bool)
        for one, other in self.edges:
            self.before[one, other] = True
        self._close()
        self.carried = self.before.copy()  # by the program's order and barriers alone
        for one, other in self._synchronise():
            self.before[one, other] = True
        self._close()

    def _close(self):
        for middle in range(len(self.events)):
            self.before |= np.outer(self.before[:, middle], self.before[middle])

    def _add(self, number, thread, op):
        self.events.append(Event(number, thread, op))
        at = len(self.events) - 1
        if thread in self.last:
            self.edges.append((self.last[thread], at))
        self.last[thread] = at
        return at

    def _meet(self, number, threads, op):
        came = [self._add(number, thread, op) for thread in threads]
        went = [self._add(number, thread, op) for thread in threads]
        self.edges += [(one, other) for one in came for other in went]

    def _observe(self):
        """For each read: the writes that precede it in observation order."""
        latest, observed = {}, {}
        for at, event in enumerate(self.events):
            if event.op.reads:
                write = latest.get(self._where(event))
                observed[at] = set()
                if write is not None and morally_strong(self.events[write], event):
                    observed[at] = {write} | observed.get(write, set())
            if event.op.writes:
                latest[self._where(event)] = at
        return observed

    @staticmethod
    def _where(event):
        return event.op.place + ((event.thread[0],) if event.op.shared else ())

    def _later(self, one, other):
        return one == other or self.carried[one, other]

    def _same_lately(self, one, other, wanted):
        """By one thread to one place, and no such operation of it to another place in between."""
        a, b = self.events[one], self.events[other]
        if a.thread != b.thread or self._where(a) != self._where(b) or one > other:
            return False
        return not any(
            event.thread == a.thread and wanted(event.op) and self._where(event) != self._where(a)
            for event in self.events[one + 1 : other]
        )

    def _starts(self, write):
        """First operations of release patterns that end with a write."""
        for at, event in enumerate(self.events[: write + 1]):
            if event.op.fences_before and self.carried[at, write]:
                yield at
            elif event.op.releases and self._same_lately(at, write, lambda op: op.releases):
                yield at

    def _ends(self, read):
        """Last operations of acquire patterns that begin with a read."""

        def relaxed(op):
            return op.reads and op.strong and not op.acquires

        for at, event in enumerate(self.events):
            if (
                (event.op.fences_after and self.carried[read, at])
                or at == read
                and event.op.acquires
                or event.op.acquires
                and relaxed(self.events[read].op)
                and self._same_lately(read, at, relaxed)
            ):
                yield at

    def _synchronise(self):
        pairs = set()
        for read, writes in self._observe().items():
            if not self.events[read].op.strong:
                continue
            ends = list(self._ends(read))
            for write in writes:
                if not self.events[write].op.strong:
                    continue
                for start in self._starts(write):
                    for end in ends:
                        if morally_strong(self.events[start], self.events[end]):
                            pairs.add((start, end))
        return pairs

    def races(self):
        """Pairs (earlier, later) of events that race."""
        found = []
        for second, b in enumerate(self.events):
            for first, a in enumerate(self.events[:second]):
                if not (a.op.writes or b.op.writes) or "fence" in (a.op.word, b.op.word):
                    continue
                if a.op.word in ("block", "warp") or b.op.word in ("block", "warp"):
                    continue
                if self._where(a) != self._where(b) or a.thread == b.thread:
                    continue
                if self.before[first, second]:
                    continue
                steps = a.op.shared and a.thread[:2] == b.thread[:2]
                in_step = steps and a.op.sem == b.op.sem == "volatile"
                if in_step or not morally_strong(a, b):
                    found.append((a, b))
        return found
