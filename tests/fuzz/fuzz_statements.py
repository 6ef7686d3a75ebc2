"""Random pieces of kernels, right by construction. fuzz_kernels.py makes wholes of them."""

import functools

from fuzz import ptx_forms

import smemkit

IN_BYTES = 4096
ACC_BYTES = 256
TABLE_BYTES = 256
COUNTS = {"b16": 8, "b32": 12, "b64": 8, "pred": 6}
LETTERS = {"b16": "%h", "b32": "%r", "b64": "%l", "pred": "%p"}
BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}
# One operation a word of `acc` (and of the sums in shared memory): any order gives one result.
COMMUTING = [
    ("add", "u32"),
    ("min", "s32"),
    ("max", "u32"),
    ("and", "b32"),
    ("or", "b32"),
    ("xor", "b32"),
    ("max", "s32"),
    ("min", "u32"),
]
COMMUTING_WIDE = [("add", "u64"), ("min", "s64"), ("xor", "b64"), ("max", "u64")]
FLOATING = [("add", "f32"), ("add", "f64"), ("add.noftz", "f16x2"), ("add.noftz", "f16")]
HEADER = ".version 8.7\n.target sm_100\n.address_size 64\n"


class Registers:
    """The registers that random instructions may read and write."""

    def __init__(self, rng, counts):
        self.rng, self.counts = rng, counts

    def source(self, width):
        return f"{LETTERS[width]}{self.rng.randrange(self.counts[width])}"

    def target(self, width, without=None):
        while (name := self.source(width)) == without:
            pass
        return name

    def several(self, width, count):
        """Different ones."""
        numbers = self.rng.sample(range(self.counts[width]), count)
        return [f"{LETTERS[width]}{number}" for number in numbers]

    def declare(self):
        return [f".reg .{width} {LETTERS[width]}<{n}>;" for width, n in self.counts.items()]


@functools.cache
def is_accepted(mnemonic, shape):
    """Whether the simulator runs an instruction; what it refuses it refuses everywhere."""
    registers = Registers(None, COUNTS).declare()
    text = f"{HEADER}.visible .entry k() {{\n{' '.join(registers)}\n{mnemonic} {shape};\nret;\n}}\n"
    try:
        smemkit.RawModule(text, backend="sim").get_function("k")((1,), (1,), (), backend="sim")
    except (smemkit.PtxError, smemkit.UnsupportedError):
        return False
    return True


def write_arithmetic(rng, registers):
    """One instruction that the simulator takes."""
    forms = ptx_forms.arithmetic()
    while True:
        form = rng.choice(forms[rng.choice(list(forms))])
        mnemonic, operands = ptx_forms.write_instruction(rng, form, registers)
        if is_accepted(mnemonic, operands):
            return f"{mnemonic} {operands};"


class Writer:
    """Writes the body of one kernel."""

    def __init__(self, rng, threads, statements):
        self.rng, self.threads, self.left = rng, threads, statements
        self.registers = Registers(rng, COUNTS)
        self.lines, self.labels, self.depth = [], 0, 0
        self.is_plain = True  # nothing in it that check may mention although it is right
        self.functions = 0
        self.uses_print = False
        self.all_here = True  # no thread has ended yet

    def emit(self, *lines):
        self.lines += lines

    def label(self):
        self.labels += 1
        return f"$L{self.labels}"

    def guard(self, share=0.15):
        if self.rng.random() >= share:
            return ""
        return f"@{self.rng.choice(('', '!'))}{self.registers.source('pred')} "

    # Addresses -----------------------------------------------------------------------------------

    def offset(self, span, align):
        """An index register's line: a multiple of `align` below `span` (both powers of two)."""
        return f"and.b32 %i0, {self.registers.source('b32')}, {(span - 1) & ~(align - 1)};"

    def address(self, base, span, align):
        """[...] of an aligned place in `span` bytes from a base register."""
        if self.rng.random() < 0.4:
            return f"[{base}+{self.rng.randrange(span // align) * align}]"
        self.emit(self.offset(span, align), "cvt.u64.u32 %a0, %i0;", f"add.s64 %a0, {base}, %a0;")
        return "[%a0]"

    def vector(self, role, widest=16):
        """(type with its vector word, operand text, bytes) of a load's target or store's source."""
        type_ = self.rng.choice("b8 b16 b32 b32 b32 b64 u8 s8 u16 s16 u32 s32 f32 f64".split())
        size = BYTES["b" + type_[1:]]
        width = f"b{max(16, size * 8)}"
        if type_[0] in "us" and width != "b64" and self.rng.random() < 0.3 and role == "load":
            width = {"b16": "b32", "b32": "b64"}[width]
        count = self.rng.choice([n for n in (1, 1, 2, 4) if n * size <= widest])
        names = self.registers.several(width, count)
        if count == 1:
            return f".{type_}", names[0], size
        return f".v{count}.{type_}", "{" + ", ".join(names) + "}", size * count

    # Statements ----------------------------------------------------------------------------------

    def arithmetic(self):
        self.emit(self.guard() + write_arithmetic(self.rng, self.registers))

    def move(self):
        r, special = self.registers, self.rng.choice(ptx_forms.SPECIALS)
        low, high = r.several("b32", 2)
        first, second = r.several("b16", 2)
        self.emit(
            self.guard()
            + self.rng.choice(
                [
                    f"mov.u32 {low}, {special};",
                    f"mov.b64 {r.target('b64')}, {{{low}, {high}}};",
                    f"mov.b64 {{{low}, {high}}}, {r.source('b64')};",
                    f"mov.b32 {low}, {{{first}, {second}}};",
                    f"mov.b32 {{{first}, {second}}}, {low};",
                    f"mov.b32 {low}, {self.rng.getrandbits(32)};",
                    f"mov.b64 {r.target('b64')}, {r.source('b64')};",
                    f"mov.f32 {low}, {high};",
                    f"mov.pred {r.target('pred')}, {r.source('pred')};",
                ]
            )
        )

    def load_input(self):
        words, operand, size = self.vector("load")
        kind = self.rng.choice(
            [".global", ".global", ".global.nc", "", ".global.ca", ".volatile.global"]
        )
        base = "%in"
        place = self.address(base, IN_BYTES, size)
        self.emit(f"{self.guard()}ld{kind}{words} {operand}, {place};")

    def load_neighbours(self):
        """Reads that ptxas may fuse."""
        self.emit(self.offset(IN_BYTES, 32), "cvt.u64.u32 %a0, %i0;", "add.s64 %a0, %in, %a0;")
        names = self.registers.several("b32", self.rng.choice((2, 4)))
        kind = self.rng.choice(("u32", "f32", "b32"))
        for i, name in enumerate(names):
            self.emit(f"ld.global.{kind} {name}, [%a0+{4 * i}];")

    def scratch(self):
        """The thread's own piece of global memory."""
        kind = self.rng.choice(
            ["st.global", "st.global", "st", "st.volatile.global", "st.global.cg"]
        )
        words, operand, size = self.vector("store")
        place = self.address("%mine", 64, size)
        self.emit(f"{self.guard()}{kind}{words} {place}, {operand};".replace("{%", "{%"))
        words, operand, size = self.vector("load")
        place = self.address("%mine", 64, size)
        self.emit(
            f"{self.guard()}{self.rng.choice(('ld.global', 'ld'))}{words} {operand}, {place};"
        )

    def scratch_atomic(self):
        """An atomic whose result no other thread has a say in."""
        r = self.registers
        width, rows = self.rng.choice(
            [
                (
                    "b32",
                    [
                        *COMMUTING,
                        ("exch", "b32"),
                        ("inc", "u32"),
                        ("dec", "u32"),
                        FLOATING[0],
                        FLOATING[2],
                    ],
                ),
                ("b64", [*COMMUTING_WIDE, ("exch", "b64"), FLOATING[1]]),
            ]
        )
        operation, type_ = self.rng.choice(rows)
        place = self.address("%mine", 64, BYTES[width])
        target, first, second = r.target(width), r.source(width), r.source(width)
        if self.rng.random() < 0.25:
            operation, type_, first = "cas", width, f"{first}, {second}"
        self.emit(f"{self.guard()}atom.global.{operation}.{type_} {target}, {place}, {first};")

    def accumulate(self):
        """Words that all threads change."""
        if self.rng.random() < 0.25:
            k, kinds, base, size = 0, COMMUTING_WIDE, 128, 8
            width = "b64"
        elif self.rng.random() < 0.2:
            kinds, base, size, width = FLOATING, 192, 8, None
        else:
            kinds, base, size, width = COMMUTING, 0, 4, "b32"
        k = self.rng.randrange(len(kinds))
        operation, type_ = kinds[k]
        width = width or ptx_forms.WIDTHS[type_]
        scope = self.rng.choice(("", ".relaxed.gpu", ".relaxed.sys"))
        space = self.rng.choice(("global", "global", "shared"))
        place = f"[%acc+{base + k * size}]" if space == "global" else f"[sums+{base + k * size}]"
        self.emit(
            f"{self.guard()}red{scope}.{space}.{operation}.{type_} {place}, "
            f"{self.registers.source(width)};"
        )

    def fence(self):
        self.emit(
            self.rng.choice(("membar.gl;", "membar.cta;", "fence.acq_rel.gpu;", "fence.sc.sys;"))
        )

    def local(self):
        words, operand, size = self.vector("store")
        generic = self.rng.random() < 0.2
        base, space = ("%gloc", "") if generic else ("%loc", ".local")
        place = self.address(base, 64, size)
        self.emit(f"{self.guard()}st{space}{words} {place}, {operand};")
        words, operand, size = self.vector("load")
        place = self.address("%loc", 64, size)
        self.emit(f"{self.guard()}ld.local{words} {operand}, {place};")

    def table(self):
        """Variables of the module, which nobody writes."""
        words, operand, size = self.vector("load")
        space, name = self.rng.choice((("const", "table"), ("global", "values")))
        self.emit(f"mov.u64 %a1, {name};")
        place = self.address("%a1", TABLE_BYTES, size)
        self.emit(f"{self.guard()}ld.{space}{words} {operand}, {place};")

    def own_copy(self):
        """cp.async into the thread's own place in shared memory."""
        size = self.rng.choice((4, 8, 16))
        kind = "cg" if size == 16 and self.rng.random() < 0.5 else "ca"
        place = self.address("%in", IN_BYTES, 16)
        less = ""
        if self.rng.random() < 0.3:
            self.emit(f"and.b32 %i1, {self.registers.source('b32')}, {size - 1};")
            less = ", %i1"
        self.emit(f"{self.guard()}cp.async.{kind}.shared.global [%copy], {place}, {size}{less};")
        if self.rng.random() < 0.5:
            self.arithmetic()
        self.emit(
            *self.rng.choice(
                (
                    ["cp.async.commit_group;", "cp.async.wait_group 0;"],
                    ["cp.async.wait_all;"],
                )
            )
        )
        names = ", ".join(self.registers.several("b32", 4))
        self.emit(f"ld.shared.v4.u32 {{{names}}}, [%copy];")

    def converge(self, uniform):
        """What the active lanes of a warp do together."""
        r, rng = self.registers, self.rng
        mask = "-1"
        if not uniform or rng.random() < 0.3:
            self.emit("activemask.b32 %i2;")
            mask = "%i2"
        kind = rng.choice(("shfl", "shfl", "vote", "match", "redux", "warp_sync", "ballot"))
        target, source = r.target("b32"), r.source("b32")
        if kind == "shfl":
            whole = uniform and self.all_here and self.threads % 32 == 0
            self.is_plain = self.is_plain and whole
            way = rng.choice(("up", "down", "bfly", "idx"))
            clamp = 0 if way == "up" else 31
            lane = rng.choice((str(rng.randrange(32)), r.source("b32")))
            both = f"{target}|{r.target('pred')}" if rng.random() < 0.5 else target
            clamp |= rng.choice((0, 0, 0x1800, 0x1C00, 0x1E00))
            self.emit(f"shfl.sync.{way}.b32 {both}, {source}, {lane}, {clamp}, {mask};")
        elif kind == "vote":
            word = rng.choice(("all", "any", "uni"))
            self.emit(f"vote.sync.{word}.pred {r.target('pred')}, {r.source('pred')}, {mask};")
        elif kind == "ballot":
            self.emit(f"vote.sync.ballot.b32 {target}, {r.source('pred')}, {mask};")
        elif kind == "match":
            width = rng.choice(("b32", "b64"))
            if rng.random() < 0.5:
                self.emit(f"match.any.sync.{width} {target}, {r.source(width)}, {mask};")
            else:
                pred = r.target("pred")
                self.emit(f"match.all.sync.{width} {target}|{pred}, {r.source(width)}, {mask};")
        elif kind == "redux":
            word = rng.choice(
                "add.s32 min.s32 max.u32 and.b32 or.b32 xor.b32 add.u32 min.u32".split()
            )
            self.emit(f"redux.sync.{word} {target}, {source}, {mask};")
        else:
            self.emit(f"bar.warp.sync {mask};")

    # All threads of the block are here -----------------------------------------------------------

    def barrier(self):
        self.emit(
            self.rng.choice(
                ("bar.sync 0;", "barrier.sync 0;", "bar.sync 1;", "barrier.sync.aligned 2;")
            )
        )

    def barrier_vote(self):
        r = self.registers
        self.emit(
            self.rng.choice(
                (
                    f"bar.red.popc.u32 {r.target('b32')}, 0, {r.source('pred')};",
                    f"barrier.red.and.pred {r.target('pred')}, 3, !{r.source('pred')};",
                    f"bar.red.or.pred {r.target('pred')}, 1, {r.source('pred')};",
                )
            )
        )

    def exchange(self):
        """Each thread leaves something in shared memory, and reads what any other left."""
        words, operand, size = self.vector("store")
        space = self.rng.choice((".shared", ".shared", ".volatile.shared", ".shared::cta"))
        self.emit(
            f"{self.guard()}st{space}{words} [%slot+{self.rng.randrange(16 // size) * size}], "
            f"{operand};"
        )
        self.emit("bar.sync 0;")
        words, operand, size = self.vector("load")
        self.emit(
            f"rem.u32 %i0, {self.registers.source('b32')}, {self.threads};",
            "mul.wide.u32 %a0, %i0, 16;",
            "mov.u64 %a1, slots;",
            "add.s64 %a0, %a0, %a1;",
        )
        place = f"[%a0+{self.rng.randrange(16 // size) * size}]"
        space = ".shared"
        if self.rng.random() < 0.2:
            self.emit("cvta.shared.u64 %a0, %a0;")
            space = ""
        self.emit(f"{self.guard()}ld{space}{words} {operand}, {place};", "bar.sync 0;")

    def matrix(self):
        """Whole warps only."""
        r, rng = self.registers, self.rng
        if rng.random() < 0.4:
            count = rng.choice((1, 2, 4))
            names = ", ".join(r.several("b32", count))
            trans = rng.choice(("", ".trans"))
            self.emit(
                "bar.sync 0;",
                f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [%slot];",
                "bar.sync 0;",
            )
            return
        shape, a, b, types = rng.choice(
            (
                ("m16n8k8", 2, 1, "f32.f16.f16.f32"),
                ("m16n8k16", 4, 2, "f32.f16.f16.f32"),
                ("m16n8k8", 2, 1, "f32.bf16.bf16.f32"),
                ("m16n8k16", 4, 2, "f32.bf16.bf16.f32"),
                ("m16n8k4", 2, 1, "f32.tf32.tf32.f32"),
                ("m16n8k8", 4, 2, "f32.tf32.tf32.f32"),
                ("m16n8k16", 2, 1, "s32.s8.u8.s32"),
                ("m16n8k32", 4, 2, "s32.u8.s8.s32"),
                ("m16n8k32", 4, 2, "satfinite.s32.s8.s8.s32"),
                ("m8n8k4", 1, 1, "f64.f64.f64.f64"),
                ("m16n8k4", 2, 1, "f64.f64.f64.f64"),
            )
        )
        if types.startswith("f64"):
            d, c = (r.several("b64", 2 if shape == "m8n8k4" else 4) for _ in range(2))
            places = [d, r.several("b64", a), r.several("b64", b), c]
            places = ", ".join("{" + ", ".join(names) + "}" for names in places)
            self.emit(f"mma.sync.aligned.{shape}.row.col.{types} {places};")
            return
        lists = [r.several("b32", 4), r.several("b32", a), r.several("b32", b), r.several("b32", 4)]
        places = ", ".join("{" + ", ".join(names) + "}" for names in lists)
        self.emit(f"mma.sync.aligned.{shape}.row.col.{types} {places};")

    def leave(self):
        """Some threads end; the others go on, and meet without them.

        Nothing orders what they did last before what the others do then: check may say so.
        """
        self.all_here = self.is_plain = False
        self.compare(False)
        self.emit(f"@%q0 {self.rng.choice(('exit', 'ret'))};")

    def print_line(self):
        """One thread of each block prints."""
        self.uses_print = True
        past = self.label()
        self.emit(
            "setp.ne.u32 %q0, %lin, 0;",
            f"@%q0 bra {past};",
            f"st.local.b32 [%loc], {self.registers.source('b32')};",
            f"st.local.b64 [%loc+8], {self.registers.source('b64')};",
            "{",
            ".param .b64 format;",
            ".param .b64 values_of;",
            ".param .b32 written;",
            "mov.u64 %a0, words;",
            "cvta.global.u64 %a0, %a0;",
            "st.param.b64 [format], %a0;",
            "st.param.b64 [values_of], %gloc;",
            "call.uni (written), vprintf, (format, values_of);",
            f"ld.param.b32 {self.registers.target('b32')}, [written];",
            "}",
            f"{past}:",
        )

    # Control -------------------------------------------------------------------------------------

    def compare(self, uniform):
        """A predicate in %q0; a uniform one is the same in all threads of a block."""
        if uniform:
            what = self.rng.choice(("%ctaid.x", "%n", "%nctaid.x", "%ctaid.y"))
            self.emit(f"mov.u32 %i3, {what};", f"setp.lt.u32 %q0, %i3, {self.rng.randrange(4)};")
        elif self.rng.random() < 0.3:
            self.emit(f"mov.pred %q0, {self.registers.source('pred')};")
        else:
            a = self.rng.choice(
                ("%lin", self.registers.source("b32"), self.registers.source("b32"))
            )
            b = self.rng.choice((str(self.rng.randrange(64)), self.registers.source("b32")))
            word = self.rng.choice("lt.s32 ge.u32 eq.u32 ne.s32 gt.s32 lt.f32 neu.f32".split())
            if word.endswith("f32"):
                a, b = self.registers.source("b32"), self.registers.source("b32")
            self.emit(f"setp.{word} %q0, {a}, {b};")

    def branch(self, uniform):
        even = uniform and self.rng.random() < 0.4
        self.compare(even)
        other, end = self.label(), self.label()
        self.emit(f"@{self.rng.choice(('', '!'))}%q0 bra {other};")
        self.body(self.rng.randrange(1, 6), even)
        if self.rng.random() < 0.6:
            self.emit(f"bra{self.rng.choice(('', '.uni'))} {end};", f"{other}:")
            self.body(self.rng.randrange(1, 6), even)
            self.emit(f"{end}:")
        else:
            self.emit(f"{other}:")

    def loop(self, uniform):
        even = uniform and self.rng.random() < 0.5
        counter, top = f"%c{self.depth}", self.label()
        if even:
            self.emit(f"mov.u32 {counter}, {self.rng.randrange(1, 4)};")
        else:
            self.emit(
                f"and.b32 {counter}, {self.registers.source('b32')}, 3;",
                f"add.u32 {counter}, {counter}, 1;",
            )
        out = self.label()
        self.emit(f"{top}:")
        self.body(self.rng.randrange(1, 5), even)
        if not even and self.rng.random() < 0.4:  # a way out of the middle
            self.compare(False)
            self.emit(f"@%q0 bra {out};")
            self.body(self.rng.randrange(1, 3), False)
        self.emit(
            f"sub.u32 {counter}, {counter}, 1;",
            f"setp.ne.u32 %q1, {counter}, 0;",
            f"@%q1 bra {top};",
            f"{out}:",
        )

    def switch(self):
        names = [self.label() for _ in range(self.rng.randrange(2, 5))]
        targets, end = self.label(), self.label()
        self.emit(
            f"and.b32 %i0, {self.registers.source('b32')}, 7;",
            f"min.u32 %i0, %i0, {len(names) - 1};",
            f"{targets}: .branchtargets {', '.join(names)};",
            f"brx.idx %i0, {targets};",
        )
        for name in names:
            self.emit(f"{name}:")
            self.body(self.rng.randrange(1, 4), False)
            if self.rng.random() < 0.8:
                self.emit(f"bra {end};")
        self.emit(f"{end}:")

    def call(self):
        if self.functions == 0:
            return self.arithmetic()
        r = self.registers
        number, proto = self.rng.randrange(self.functions), self.label()
        self.emit("{", ".param .b32 first;", ".param .b64 second;", ".param .b32 answer;")
        self.emit(
            f"st.param.b32 [first], {r.source('b32')};",
            f"st.param.b64 [second], {r.source('b64')};",
        )
        if self.rng.random() < 0.3:
            self.emit(
                self.offset(8 * self.functions if self.functions in (1, 2) else 8, 8),
                "cvt.u64.u32 %a0, %i0;",
                "mov.u64 %a1, functions;",
                "add.s64 %a0, %a0, %a1;",
                "ld.global.u64 %a0, [%a0];",
                f"{proto}: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);",
                f"call (answer), %a0, (first, second), {proto};",
            )
        else:
            self.emit(
                f"call{self.rng.choice(('', '.uni'))} (answer), function{number}, (first, second);"
            )
        self.emit(f"ld.param.b32 {r.target('b32')}, [answer];", "}")

    def statement(self, uniform):
        common = [
            (40, self.arithmetic),
            (5, self.move),
            (5, self.load_input),
            (3, self.load_neighbours),
            (5, self.scratch),
            (3, self.scratch_atomic),
            (4, self.accumulate),
            (3, self.local),
            (3, self.table),
            (2, self.own_copy),
            (5, lambda: self.converge(uniform)),
            (2, self.call),
            (0.5, self.fence),
        ]
        if self.depth < 3:
            common += [
                (6, lambda: self.branch(uniform)),
                (3, lambda: self.loop(uniform)),
                (1, self.switch),
            ]
        if uniform:
            common += [
                (4, self.exchange),
                (1, self.barrier),
                (1, self.barrier_vote),
                (0.5, self.print_line),
            ]
            if self.threads % 32 == 0 and self.all_here:
                common.append((2, self.matrix))
            if self.depth == 1:
                common.append((0.6, self.leave))
        weights, makers = zip(*common, strict=True)
        self.rng.choices(makers, weights)[0]()

    def body(self, statements, uniform):
        self.depth += 1
        for _ in range(statements):
            if self.left <= 0 and self.depth > 1:
                self.arithmetic()
                break
            self.left -= 1
            if self.rng.random() < 0.1:
                self.emit(f".loc 1 {self.rng.randrange(1, 90)} 0")
            self.statement(uniform)
        self.depth -= 1
