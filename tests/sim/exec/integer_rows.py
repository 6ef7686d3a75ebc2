"""Rows for the instructions on integers and bits."""

import itertools

from sim.exec import pack_rows
from sim.exec.opcode_table import Group, integers, pairs, random_integers, triples
from sim.exec.pack_rows import clamp, mask, sign

WIDTHS = (16, 32, 64)


def divide(a, b):
    """Towards zero, as C does."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return a - b * divide(a, b)


def quotients(group, w):
    """A division by zero is the machine's own business: all ones, from 32 bits on."""
    ones = mask(w) if w > 16 else None
    kind = f"b{w}"
    rows = {
        f"div.u{w}": lambda a, b: ones if b == 0 else a // b,
        f"rem.u{w}": lambda a, b: ones if b == 0 else a % b,
        f"div.s{w}": lambda a, b: ones if b == 0 else divide(sign(a, w), sign(b, w)) & mask(w),
        f"rem.s{w}": lambda a, b: ones if b == 0 else remainder(sign(a, w), sign(b, w)) & mask(w),
    }
    for text, function in rows.items():
        group.add(f"{text} {{d}}, {{a}}, {{b}};", kind, function)


def compare_rows(group, w):
    """setp in every comparison, set, and with a second predicate."""
    tests = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    same = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    for name, test in tests.items():
        for kind in ("u", "s"):

            def truth(a, b, test=test, kind=kind):
                return test(sign(a, w), sign(b, w)) if kind == "s" else test(a, b)

            text = f"{name}.{kind}{w}"
            group.add(
                f"setp.{text} {{d}}, {{a}}, {{b}};", "pred", lambda a, b, f=truth: int(f(a, b))
            )
            group.add(
                f"set.{name}.u32.{kind}{w} {{d}}, {{a}}, {{b}};",
                "b32",
                lambda a, b, f=truth: mask(32) * f(a, b),
            )
            group.add(
                f"set.{name}.f32.{kind}{w} {{d}}, {{a}}, {{b}};",
                "b32",
                lambda a, b, f=truth: 0x3F800000 * f(a, b),
            )
    for name, other in same.items():
        group.add(
            f"setp.{name}.u{w} {{d}}, {{a}}, {{b}};",
            "pred",
            lambda a, b, f=tests[other]: int(f(a, b)),
        )
        group.add(
            f"set.{name}.s32.u{w} {{d}}, {{a}}, {{b}};",
            "b32",
            lambda a, b, f=tests[other]: mask(32) * f(a, b),
        )
    for name in ("eq", "ne"):
        group.add(
            f"setp.{name}.b{w} {{d}}, {{a}}, {{b}};",
            "pred",
            lambda a, b, f=tests[name]: int(f(a, b)),
        )


def pair_groups(rng):
    """Two operands of one width."""
    groups = []
    for w in WIDTHS:
        group = Group(f"pair{w}", (f"b{w}",) * 2, pairs(integers(w), random_integers(rng, w, 300)))
        groups.append(group)
        rows = {
            f"add.u{w}": lambda a, b: a + b,
            f"add.s{w}": lambda a, b: a + b,
            f"sub.u{w}": lambda a, b: a - b,
            f"sub.s{w}": lambda a, b: a - b,
            f"mul.lo.u{w}": lambda a, b: a * b,
            f"mul.lo.s{w}": lambda a, b: a * b,
            f"mul.hi.u{w}": lambda a, b, w=w: a * b >> w,
            f"mul.hi.s{w}": lambda a, b, w=w: sign(a, w) * sign(b, w) >> w,
            f"min.u{w}": min,
            f"max.u{w}": max,
            f"min.s{w}": lambda a, b, w=w: min(sign(a, w), sign(b, w)),
            f"max.s{w}": lambda a, b, w=w: max(sign(a, w), sign(b, w)),
            f"and.b{w}": lambda a, b: a & b,
            f"or.b{w}": lambda a, b: a | b,
            f"xor.b{w}": lambda a, b: a ^ b,
        }
        for text, function in rows.items():
            group.add(
                f"{text} {{d}}, {{a}}, {{b}};",
                f"b{w}",
                lambda a, b, f=function, w=w: f(a, b) & mask(w),
            )
        if w < 64:
            group.add(f"mul.wide.u{w} {{d}}, {{a}}, {{b}};", f"b{2 * w}", lambda a, b: a * b)
            group.add(
                f"mul.wide.s{w} {{d}}, {{a}}, {{b}};",
                f"b{2 * w}",
                lambda a, b, w=w: sign(a, w) * sign(b, w) & mask(2 * w),
            )
        quotients(group, w)
        compare_rows(group, w)
    add_words(groups[1])
    return groups


def halves(function, signed=True):
    """A function of two 16-bit numbers on packed pairs."""

    def apply(a, b):
        result = 0
        for shift in (0, 16):
            x, y = a >> shift & mask(16), b >> shift & mask(16)
            if signed:
                x, y = sign(x, 16), sign(y, 16)
            result |= (function(x, y) & mask(16)) << shift
        return result

    return apply


def add_words(group):
    """Instructions that take 32-bit words only."""

    def bmsk(a, b, is_clamp):
        a, b = (min(a, 32), min(b, 32)) if is_clamp else (a & 31, b & 31)
        return (mask(b) << a) & mask(32)

    def szext(a, b, is_clamp, is_signed):
        n = min(b, 32) if is_clamp else b & 31
        if n == 0:
            return 0
        return (sign(a, n) if is_signed else a & mask(n)) & mask(32)

    def mul24(a, b, is_signed, high):
        x, y = a & mask(24), b & mask(24)
        if is_signed:
            x, y = sign(x, 24), sign(y, 24)
        return (x * y >> (16 if high else 0)) & mask(32)

    rows = {
        "add.sat.s32": lambda a, b: clamp(sign(a, 32) + sign(b, 32), 32),
        "sub.sat.s32": lambda a, b: clamp(sign(a, 32) - sign(b, 32), 32),
        "min.relu.s32": lambda a, b: max(min(sign(a, 32), sign(b, 32)), 0),
        "max.relu.s32": lambda a, b: max(sign(a, 32), sign(b, 32), 0),
        "min.u16x2": halves(min, False),
        "max.u16x2": halves(max, False),
        "min.s16x2": halves(min),
        "max.s16x2": halves(max),
        "min.relu.s16x2": halves(lambda x, y: max(min(x, y), 0)),
        "max.relu.s16x2": halves(lambda x, y: max(x, y, 0)),
        "add.u16x2": halves(lambda x, y: x + y),
        "add.s16x2": halves(lambda x, y: x + y),
        "mul24.lo.u32": lambda a, b: mul24(a, b, False, False),
        "mul24.lo.s32": lambda a, b: mul24(a, b, True, False),
        "mul24.hi.u32": lambda a, b: mul24(a, b, False, True),
        "mul24.hi.s32": lambda a, b: mul24(a, b, True, True),
        "bmsk.clamp.b32": lambda a, b: bmsk(a, b, True),
        "bmsk.wrap.b32": lambda a, b: bmsk(a, b, False),
        "szext.clamp.u32": lambda a, b: szext(a, b, True, False),
        "szext.clamp.s32": lambda a, b: szext(a, b, True, True),
        "szext.wrap.u32": lambda a, b: szext(a, b, False, False),
        "szext.wrap.s32": lambda a, b: szext(a, b, False, True),
    }
    for text, function in rows.items():
        group.add(
            f"{text} {{d}}, {{a}}, {{b}};", "b32", lambda a, b, f=function: f(a, b) & mask(32)
        )


def find_top(a, w, signed):
    """The highest bit that differs from the sign, or -1."""
    if signed and a >> (w - 1):
        a = ~a & mask(w)
    return a.bit_length() - 1


def single_groups(rng):
    """One operand."""
    groups = []
    for w in WIDTHS:
        group = Group(f"single{w}", (f"b{w}",), [integers(w) + random_integers(rng, w, 200)])
        groups.append(group)
        rows = {
            f"abs.s{w}": lambda a, w=w: abs(sign(a, w)),
            f"neg.s{w}": lambda a: -a,
            f"not.b{w}": lambda a: ~a,
            f"cnot.b{w}": lambda a: int(a == 0),
            f"mov.b{w}": lambda a: a,
            f"mov.u{w}": lambda a: a,
            f"mov.s{w}": lambda a: a,
        }
        if w > 16:
            rows[f"mov.f{w}"] = lambda a: a
            rows[f"brev.b{w}"] = lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2)
        for text, function in rows.items():
            group.add(f"{text} {{d}}, {{a}};", f"b{w}", lambda a, f=function, w=w: f(a) & mask(w))
        if w == 16:
            continue
        counts = {
            f"popc.b{w}": lambda a: a.bit_count(),
            f"clz.b{w}": lambda a, w=w: w - a.bit_length(),
            f"bfind.u{w}": lambda a, w=w: find_top(a, w, False),
            f"bfind.s{w}": lambda a, w=w: find_top(a, w, True),
            f"bfind.shiftamt.u{w}": lambda a, w=w: shift_amount(find_top(a, w, False), w),
            f"bfind.shiftamt.s{w}": lambda a, w=w: shift_amount(find_top(a, w, True), w),
        }
        for text, function in counts.items():
            group.add(f"{text} {{d}}, {{a}};", "b32", lambda a, f=function: f(a) & mask(32))
    return groups


def shift_amount(top, w):
    return -1 if top < 0 else w - 1 - top


def shift_groups(rng):
    """A word and an amount, in range and far past it."""
    amounts = [0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 2**31, 2**32 - 1]
    groups = []
    for w in WIDTHS:
        values = integers(w)[::2] + random_integers(rng, w, 20)
        columns = [[v for v in values for _ in amounts], amounts * len(values)]
        group = Group(f"shift{w}", (f"b{w}", "b32"), columns)
        groups.append(group)
        group.add(f"shl.b{w} {{d}}, {{a}}, {{b}};", f"b{w}", lambda a, n, w=w: shift_left(a, n, w))
        for kind in ("b", "u"):
            group.add(
                f"shr.{kind}{w} {{d}}, {{a}}, {{b}};", f"b{w}", lambda a, n, w=w: a >> min(n, w)
            )
        group.add(
            f"shr.s{w} {{d}}, {{a}}, {{b}};",
            f"b{w}",
            lambda a, n, w=w: sign(a, w) >> min(n, w) & mask(w),
        )
    return groups


def shift_left(a, n, w):
    return a << n & mask(w) if n < w else 0


def triple_groups(rng):
    """Products with an addend, sums of differences, selections."""
    groups = []
    for w in WIDTHS:
        columns = triples(rng, integers(w), 500, random_integers(rng, w, 300))
        group = Group(f"triple{w}", (f"b{w}",) * 3, columns)
        groups.append(group)
        rows = {
            f"mad.lo.u{w}": lambda a, b, c: a * b + c,
            f"mad.lo.s{w}": lambda a, b, c: a * b + c,
            f"mad.hi.u{w}": lambda a, b, c, w=w: (a * b >> w) + c,
            f"mad.hi.s{w}": lambda a, b, c, w=w: (sign(a, w) * sign(b, w) >> w) + c,
            f"sad.u{w}": lambda a, b, c: c + abs(a - b),
            f"sad.s{w}": lambda a, b, c, w=w: c + abs(sign(a, w) - sign(b, w)),
        }
        for text, function in rows.items():
            group.add(
                f"{text} {{d}}, {{a}}, {{b}}, {{c}};",
                f"b{w}",
                lambda a, b, c, f=function, w=w: f(a, b, c) & mask(w),
            )
        group.add(
            f"{{{{ .reg .pred %cond{w}; setp.gt.s{w} %cond{w}, {{c}}, 0; "
            f"selp.b{w} {{d}}, {{a}}, {{b}}, %cond{w}; }}}}",
            f"b{w}",
            lambda a, b, c, w=w: a if sign(c, w) > 0 else b,
        )
    add_word_triples(groups[1])
    add_carries(groups[1], 32)
    add_carries(groups[2], 64)
    for w in (16, 32):
        columns = triples(rng, integers(w), 300, random_integers(rng, w, 300))
        columns[2] = (integers(2 * w) * 100)[: len(columns[0])]
        group = Group(f"wide{w}", (f"b{w}", f"b{w}", f"b{2 * w}"), columns)
        groups.append(group)
        group.add(
            f"mad.wide.u{w} {{d}}, {{a}}, {{b}}, {{c}};",
            f"b{2 * w}",
            lambda a, b, c, w=w: a * b + c & mask(2 * w),
        )
        group.add(
            f"mad.wide.s{w} {{d}}, {{a}}, {{b}}, {{c}};",
            f"b{2 * w}",
            lambda a, b, c, w=w: sign(a, w) * sign(b, w) + c & mask(2 * w),
        )
    return groups


def parts(value, width, signed):
    """The fields of a word, lowest first."""
    fields = [value >> s & mask(width) for s in range(0, 32, width)]
    return [sign(f, width) for f in fields] if signed else fields


def dot(a, b, c, kind_a, kind_b, width_a, first):
    x = parts(a, width_a, kind_a == "s")
    y = parts(b, 8, kind_b == "s")[first : first + len(x)]
    return c + sum(p * q for p, q in zip(x, y, strict=True))


PERMUTES = {
    "f4e": lambda n: (n, n + 1, n + 2, n + 3),
    "b4e": lambda n: (n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8),
    "rc8": lambda n: (n, n, n, n),
    "ecl": lambda n: (n, max(n, 1), max(n, 2), 3),
    "ecr": lambda n: (0, min(n, 1), min(n, 2), n),
    "rc16": lambda n: (0, 1, 0, 1) if n % 2 == 0 else (2, 3, 2, 3),
}


def permute(a, b, c, mode):
    source = (b << 32 | a).to_bytes(8, "little")
    if mode:
        return int.from_bytes(bytes(source[k] for k in PERMUTES[mode](c & 3)), "little")
    result = []
    for k in range(4):
        selector = c >> 4 * k & 15
        byte = source[selector & 7]
        result.append((0xFF if byte & 0x80 else 0) if selector & 8 else byte)
    return int.from_bytes(bytes(result), "little")


def find_nth(word, base, offset):
    """fns; a base past the word is undefined."""
    if base > 31:
        return None
    offset = sign(offset, 32)
    if offset == 0:
        return base if word >> base & 1 else mask(32)
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [p for p in places if word >> p & 1]
    return found[abs(offset) - 1] if abs(offset) <= len(found) else mask(32)


def lookup(a, b, c, table):
    result = 0
    for bit in range(32):
        index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
        result |= (table >> index & 1) << bit
    return result


def add_word_triples(group):
    """Three operands, 32-bit words only."""

    def mad24(a, b, c, signed, high, saturate=False):
        x, y = a & mask(24), b & mask(24)
        if signed:
            x, y = sign(x, 24), sign(y, 24)
        product = sign(x * y >> (16 if high else 0), 32)
        return clamp(product + sign(c, 32), 32) if saturate else product + c

    def funnel(a, b, n, left):
        word = b << 32 | a
        return word << n >> 32 if left else word >> n

    rows = {
        "mad.hi.sat.s32": lambda a, b, c: clamp(
            (sign(a, 32) * sign(b, 32) >> 32) + sign(c, 32), 32
        ),
        "mad24.lo.u32": lambda a, b, c: mad24(a, b, c, False, False),
        "mad24.lo.s32": lambda a, b, c: mad24(a, b, c, True, False),
        "mad24.hi.u32": lambda a, b, c: mad24(a, b, c, False, True),
        "mad24.hi.s32": lambda a, b, c: mad24(a, b, c, True, True),
        "mad24.hi.sat.s32": lambda a, b, c: mad24(a, b, c, True, True, True),
        "shf.l.clamp.b32": lambda a, b, c: funnel(a, b, min(c, 32), True),
        "shf.r.clamp.b32": lambda a, b, c: funnel(a, b, min(c, 32), False),
        "shf.l.wrap.b32": lambda a, b, c: funnel(a, b, c & 31, True),
        "shf.r.wrap.b32": lambda a, b, c: funnel(a, b, c & 31, False),
        "prmt.b32": lambda a, b, c: permute(a, b, c, None),
        "slct.b32.s32": lambda a, b, c: a if sign(c, 32) >= 0 else b,
        "slct.f32.s32": lambda a, b, c: a if sign(c, 32) >= 0 else b,
    }
    for w in (16, 64):
        group.add(
            f"slct.u{w}.s32 {{d}}, 11, 7, {{c}};",
            f"b{w}",
            lambda a, b, c: 11 if sign(c, 32) >= 0 else 7,
        )
    for mode in PERMUTES:
        rows[f"prmt.b32.{mode}"] = lambda a, b, c, m=mode: permute(a, b, c, m)
    for ka in ("u", "s"):
        for kb in ("u", "s"):
            name = f"{ka}32.{kb}32"
            rows[f"dp4a.{name}"] = lambda a, b, c, p=ka, q=kb: dot(a, b, c, p, q, 8, 0)
            rows[f"dp2a.lo.{name}"] = lambda a, b, c, p=ka, q=kb: dot(a, b, c, p, q, 16, 0)
            rows[f"dp2a.hi.{name}"] = lambda a, b, c, p=ka, q=kb: dot(a, b, c, p, q, 16, 2)
    for text, function in rows.items():
        group.add(
            f"{text} {{d}}, {{a}}, {{b}}, {{c}};",
            "b32",
            lambda a, b, c, f=function: f(a, b, c) & mask(32),
        )
    for table in (0x00, 0x01, 0x3C, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xFF):
        group.add(
            f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};",
            "b32",
            lambda a, b, c, t=table: lookup(a, b, c, t),
        )
    for table, logic, sense in itertools.product((0x80, 0x96, 0xFE), ("and", "or"), ("", "!")):

        def both(a, b, c, t=table, logic=logic, sense=sense):
            d, q = lookup(a, b, c, t), (a & 1 == 0) == bool(sense)
            p = d != 0 and q if logic == "and" else d != 0 or q
            return (d & mask(31)) << 1 & mask(32) | p

        number = len(group.rows)
        group.add(
            f"{{{{ .reg .pred %pq{number}, %pp{number}; .reg .b32 %low{number}; "
            f"and.b32 %low{number}, {{a}}, 1; setp.ne.u32 %pq{number}, %low{number}, 0; "
            f"lop3.{logic}.b32 {{d}}|%pp{number}, {{a}}, {{b}}, {{c}}, {table}, "
            f"{sense}%pq{number}; selp.u32 %low{number}, 1, 0, %pp{number}; "
            f"shl.b32 {{d}}, {{d}}, 1; or.b32 {{d}}, {{d}}, %low{number}; }}}}",
            "b32",
            both,
        )
    # operands in the range where fns is defined
    group.add(
        "{{ .reg .b32 %base, %step; and.b32 %base, {b}, 31; and.b32 %step, {c}, 15; "
        "sub.s32 %step, %step, 7; fns.b32 {d}, {a}, %base, %step; }}",
        "b32",
        lambda a, b, c: find_nth(a, b & 31, (c & 15) - 7),
    )


def add_carries(group, w):
    """Chains through the carry flag."""
    top = mask(w)
    kind = f"b{w}"

    def high_sum(a, b, c):  # the upper word of c:a + b:c
        return (b + c + ((a + c) >> w)) & top

    def high_difference(a, b, c):
        return (b - c - (a < c)) & top

    t = f"%low{w}"
    scope = f"{{{{ .reg .b{w} {t}; "
    for kind_of in ("u", "s"):
        n = f"{kind_of}{w}"
        group.add(
            f"{scope}add.cc.{n} {t}, {{a}}, {{c}}; addc.{n} {{d}}, {{b}}, {{c}}; }}}}",
            kind,
            high_sum,
        )
        group.add(
            f"{scope}sub.cc.{n} {t}, {{a}}, {{c}}; subc.{n} {{d}}, {{b}}, {{c}}; }}}}",
            kind,
            high_difference,
        )
        group.add(  # three words: the middle one takes and gives a carry
            f"{scope}add.cc.{n} {t}, {{a}}, {{b}}; addc.cc.{n} {t}, {{b}}, {{c}}; "
            f"addc.{n} {{d}}, {{a}}, {{c}}; }}}}",
            kind,
            lambda a, b, c: a + c + (b + c + (a + b >> w) >> w) & top,
        )
        group.add(
            f"{scope}sub.cc.{n} {t}, {{a}}, {{b}}; subc.cc.{n} {t}, {{b}}, {{c}}; "
            f"subc.{n} {{d}}, {{a}}, {{c}}; }}}}",
            kind,
            lambda a, b, c: a - c - (b - c - (a < b) < 0) & top,
        )
        signed = kind_of == "s"

        def high(a, b, signed=signed):
            return (sign(a, w) * sign(b, w) >> w if signed else a * b >> w) & top

        group.add(
            f"{scope}mad.lo.cc.{n} {t}, {{a}}, {{b}}, {{c}}; "
            f"madc.hi.{n} {{d}}, {{a}}, {{b}}, {{c}}; }}}}",
            kind,
            lambda a, b, c, f=high: f(a, b) + c + ((a * b & top) + c >> w) & top,
        )
        group.add(
            f"{scope}mad.hi.cc.{n} {t}, {{a}}, {{b}}, {{c}}; "
            f"madc.lo.{n} {{d}}, {{a}}, {{b}}, {{c}}; }}}}",
            kind,
            lambda a, b, c, f=high: a * b + c + (f(a, b) + c >> w) & top,
        )
        group.add(
            f"{scope}mad.lo.cc.{n} {t}, {{a}}, {{b}}, {{c}}; "
            f"madc.lo.cc.{n} {t}, {{b}}, {{c}}, {{a}}; addc.{n} {{d}}, {{c}}, 0; }}}}",
            kind,
            lambda a, b, c: c + ((b * c & top) + a + ((a * b & top) + c >> w) >> w) & top,
        )
        group.add(
            f"{scope}mad.lo.cc.{n} {t}, {{a}}, {{b}}, {{c}}; "
            f"madc.hi.cc.{n} {t}, {{b}}, {{c}}, {{a}}; addc.{n} {{d}}, {{c}}, 0; }}}}",
            kind,
            lambda a, b, c, f=high: c + (f(b, c) + a + ((a * b & top) + c >> w) >> w) & top,
        )


def extract(a, position, length, w, signed):
    """bfe, as the PTX ISA's loop has it."""
    position, length = field_bits(position, w), field_bits(length, w)
    fill = a >> min(position + length - 1, w - 1) & 1 if signed and length else 0
    result = 0
    for i in range(w):
        inside = i < length and position + i < w
        result |= (a >> (position + i) & 1 if inside else fill) << i
    return result


def field_bits(number, w):
    """PTX defines 0 to 255.

    Past that the 32-bit forms look at 8 bits; the 64-bit ones clamp (seen on sm_90).
    """
    return number & 255 if w == 32 else min(number, 64)


def insert(a, b, position, length, w):
    position, length = field_bits(position, w), field_bits(length, w)
    for i in range(min(length, max(w - position, 0))):
        place = 1 << (position + i)
        b = b & ~place | place * (a >> i & 1)
    return b


def field_groups(rng):
    """bfe and bfi: positions and lengths in and past the word."""
    groups = []
    spots = [0, 1, 5, 8, 31, 32, 33, 63, 64, 100, 255, 256, 257]
    for w in (32, 64):
        values = random_integers(rng, w, 8) + [mask(w), 1 << (w - 1), mask(w) // 3, 0]
        lanes = [(v, p, n) for v in values for p in spots for n in spots]
        columns = [[v for v, _, _ in lanes], [p for _, p, _ in lanes], [n for _, _, n in lanes]]
        group = Group(f"field{w}", (f"b{w}", "b32", "b32"), columns)
        for kind in ("u", "s"):
            group.add(
                f"bfe.{kind}{w} {{d}}, {{a}}, {{b}}, {{c}};",
                f"b{w}",
                lambda a, p, n, w=w, s=kind == "s": extract(a, p, n, w, s),
            )
        groups.append(group)
        other = random_integers(rng, w, len(lanes))
        group = Group(
            f"insert{w}", (f"b{w}", f"b{w}", "b32", "b32"), [columns[0], other, *columns[1:]]
        )
        group.add(
            f"bfi.b{w} {{d}}, {{a}}, {{b}}, {{c}}, {{e}};",
            f"b{w}",
            lambda a, b, p, n, w=w: insert(a, b, p, n, w),
        )
        groups.append(group)
    return groups


def select_group(rng):
    """Predicates as operands, and 16-bit and 64-bit selections."""
    count = 256
    bits = [[int(x) for x in rng.integers(0, 2, count)] for _ in range(3)]
    group = Group("predicates", ("pred", "pred", "pred"), bits)
    rows = {
        "and.pred {d}, {a}, {b};": lambda a, b, c: a & b,
        "or.pred {d}, {a}, {b};": lambda a, b, c: a | b,
        "xor.pred {d}, {a}, {b};": lambda a, b, c: a ^ b,
        "not.pred {d}, {a};": lambda a, b, c: 1 - a,
        "mov.pred {d}, {a};": lambda a, b, c: a,
        "setp.ne.and.u32 {d}, 1, 0, {c};": lambda a, b, c: c,
        "setp.eq.or.u32 {d}, 1, 0, !{c};": lambda a, b, c: 1 - c,
        "setp.ne.xor.s64 {d}, 1, 0, {c};": lambda a, b, c: 1 - c,
    }
    for text, function in rows.items():
        group.add(text, "pred", function)
    group.add("selp.b32 {d}, 11, 22, {a};", "b32", lambda a, b, c: 11 if a else 22)
    group.add(
        "selp.f32 {d}, 0f3F800000, 0f40000000, {b};",
        "b32",
        lambda a, b, c: 0x3F800000 if b else 0x40000000,
    )
    group.add("selp.u64 {d}, 11, 22, {c};", "b64", lambda a, b, c: 11 if c else 22)
    group.add("selp.s16 {d}, 11, -1, {c};", "b16", lambda a, b, c: 11 if c else mask(16))
    for name, function in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
        group.add(
            f"{{{{ .reg .pred %p{name}, %q{name}; .reg .b32 %x{name}, %y{name}; "
            f"selp.u32 %x{name}, 5, 7, {{a}}; "
            f"setp.lt.{name}.u32 %p{name}|%q{name}, %x{name}, 6, {{b}}; "
            f"selp.u32 %x{name}, 1, 0, %p{name}; selp.u32 %y{name}, 2, 0, %q{name}; "
            f"add.u32 {{d}}, %x{name}, %y{name}; }}}}",
            "b32",
            lambda a, b, c, f=function: f(a, b) + 2 * f(1 - a, b),
        )
        group.add(
            f"{{{{ .reg .b32 %w{name}; selp.u32 %w{name}, 5, 7, {{a}}; "
            f"set.lt.{name}.u32.u32 {{d}}, %w{name}, 6, !{{b}}; }}}}",
            "b32",
            lambda a, b, c, f=function: mask(32) * f(a, 1 - b),
        )
    return group


def integer_groups(rng):
    """All of them."""
    return [
        *pair_groups(rng),
        *single_groups(rng),
        *shift_groups(rng),
        *triple_groups(rng),
        *field_groups(rng),
        select_group(rng),
        *pack_rows.pack_groups(rng),
    ]
