"""Rows for floating-point arithmetic that rounds as IEEE 754 says, and for comparisons."""

import itertools

from sim.exec import exact_float as xf
from sim.exec.opcode_table import Group, floats, pairs, random_floats, triples

MODES = (xf.NEAREST, xf.ZERO, xf.DOWN, xf.UP)


def vague_zero(bits, form):
    """.sat and .relu do not say which zero a negative zero becomes."""
    return None if bits == form.sign else bits


def with_ftz(function, form):
    """Flushes operands and result.

    PTX does not say what becomes of a result that only rounding makes normal: anything will do.
    """

    def apply(*operands, mode):
        operands = [xf.flush(v, form) for v in operands]
        result = function(*operands, form, mode)
        if not xf.is_subnormal(result, form):
            towards_zero = function(*operands, form, xf.ZERO)
            if xf.is_subnormal(towards_zero, form):
                return None
        return xf.flush(result, form)

    return apply


def plain(function, form):
    def apply(*operands, mode):
        return function(*operands, form, mode)

    return apply


def after(function, change):
    """`change` of a result, where there is one."""

    def apply(*operands, mode):
        result = function(*operands, mode=mode)
        return None if result is None else change(result)

    return apply


def saturated(form):
    def change(bits):
        return None if vague_zero(bits, form) is None else xf.saturate(bits, form)

    return change


def operands_text(count):
    return "{d}, " + ", ".join("{" + name + "}" for name in "abce"[:count])


def add_rounded(group, name, type_name, function, form, kind, *, sat=True, ftz=True, loose=False):
    """An operation in all rounding modes, with and without .ftz and .sat."""
    count = len(group.kinds)
    for mode in MODES:
        for flushes, saturates in itertools.product(
            (False, True)[: 1 + ftz], (False, True)[: 1 + sat]
        ):
            run = with_ftz(function, form) if flushes else plain(function, form)
            if saturates:
                run = after(run, saturated(form))
            words = f".{mode}{'.ftz' * flushes}{'.sat' * saturates}"
            group.add(
                f"{name}{words}.{type_name} {operands_text(count)};",
                kind,
                lambda *v, f=run, m=mode: f(*v, mode=m),
                nan=form if loose else None,
            )


OUTCOMES = {
    "eq": {"eq"},
    "ne": {"lt", "gt"},
    "lt": {"lt"},
    "le": {"lt", "eq"},
    "gt": {"gt"},
    "ge": {"gt", "eq"},
    "equ": {"eq", "un"},
    "neu": {"lt", "gt", "un"},
    "ltu": {"lt", "un"},
    "leu": {"lt", "eq", "un"},
    "gtu": {"gt", "un"},
    "geu": {"gt", "eq", "un"},
    "num": {"lt", "eq", "gt"},
    "nan": {"un"},
}


def add_comparisons(group, type_name, form, *, ftz=True):
    """setp and set in every comparison."""
    is_half = form.digits < 23
    truths = [("u32", "b32", 0xFFFFFFFF)]
    truths += [
        (type_name, "b16", form.bias << form.digits) if is_half else ("f32", "b32", 0x3F800000)
    ]
    truths += [("s16", "b16", 0xFFFF)] if is_half else []
    for name, outcomes in OUTCOMES.items():
        for flushes in (False, True)[: 1 + ftz]:

            def holds(a, b, outcomes=outcomes, flushes=flushes):
                if flushes:
                    a, b = xf.flush(a, form), xf.flush(b, form)
                return xf.compare(a, b, form) in outcomes

            words = f"{name}{'.ftz' * flushes}"
            group.add(
                f"setp.{words}.{type_name} {{d}}, {{a}}, {{b}};",
                "pred",
                lambda a, b, f=holds: int(f(a, b)),
            )
            for result, kind, truth in truths:
                group.add(
                    f"set.{words}.{result}.{type_name} {{d}}, {{a}}, {{b}};",
                    kind,
                    lambda a, b, f=holds, t=truth: t * f(a, b),
                )


def unchanged(function):
    return function


def add_extremes(group, type_name, form, kind, *, ftz=True, nan=True, loose=False, wrap=unchanged):
    """min and max in all forms; `wrap` makes packed functions of them."""
    for name, pick in (("min", min), ("max", max)):
        choices = itertools.product((False, True)[: 1 + ftz], *[(False, True)[: 1 + nan]] * 2)
        for flushes, wins, xorsign in choices:

            def run(a, b, pick=pick, flushes=flushes, wins=wins, xorsign=xorsign):
                if flushes:
                    a, b = xf.flush(a, form), xf.flush(b, form)
                if not xorsign:
                    return xf.extreme((a, b), form, pick, wins)
                low = form.sign - 1
                result = xf.extreme((a & low, b & low), form, pick, wins)
                return result if xf.is_nan(result, form) else result | (a ^ b) & form.sign

            words = f"{'.ftz' * flushes}{'.NaN' * wins}{'.xorsign.abs' * xorsign}"
            group.add(
                f"{name}{words}.{type_name} {{d}}, {{a}}, {{b}};",
                kind,
                wrap(run),
                nan=form if loose else None,
            )


def add_signs(group, type_name, form, kind, *, ftz=True):
    """abs and neg. What a NaN's sign and payload become is not specified."""
    for flushes in (False, True)[: 1 + ftz]:
        word = ".ftz" * flushes

        def magnitude(a, flushes=flushes):
            return (xf.flush(a, form) if flushes else a) & (form.sign - 1)

        def negated(a, flushes=flushes):
            return (xf.flush(a, form) if flushes else a) ^ form.sign

        group.add(f"abs{word}.{type_name} {{d}}, {{a}};", kind, magnitude, nan=form)
        group.add(f"neg{word}.{type_name} {{d}}, {{a}};", kind, negated, nan=form)


def classify(bits, form):
    value = bits & (form.sign - 1)
    subnormal = xf.is_subnormal(bits, form)
    return {
        "finite": value < form.infinity,
        "infinite": value == form.infinity,
        "number": value <= form.infinity,
        "notanumber": value > form.infinity,
        "normal": value < form.infinity and not subnormal,  # zero counts as normal
        "subnormal": subnormal,
    }


def add_single(group, type_name, form, kind, *, ftz):
    """One operand: rcp, sqrt, abs, neg, testp."""
    one = form.bias << form.digits
    add_rounded(
        group,
        "rcp",
        type_name,
        lambda a, f, m: xf.div(one, a, f, m),
        form,
        kind,
        sat=False,
        ftz=ftz,
        loose=True,
    )
    add_rounded(group, "sqrt", type_name, xf.sqrt, form, kind, sat=False, ftz=ftz, loose=True)
    add_signs(group, type_name, form, kind, ftz=ftz)
    for name in classify(0, form):
        group.add(
            f"testp.{name}.{type_name} {{d}}, {{a}};",
            "pred",
            lambda a, n=name: int(classify(a, form)[n]),
        )


def single_precision_groups(rng):
    form = xf.F32
    edges = floats(form)
    two = Group("f32_two", ("b32",) * 2, pairs(edges, random_floats(rng, form, 400)))
    for name, function in (("add", xf.add), ("sub", xf.sub), ("mul", xf.mul)):
        add_rounded(two, name, "f32", function, form, "b32")
    add_rounded(two, "div", "f32", xf.div, form, "b32", sat=False, loose=True)
    add_extremes(two, "f32", form, "b32")
    two.add("copysign.f32 {d}, {a}, {b};", "b32", lambda a, b: a & form.sign | b & (form.sign - 1))
    comparisons = Group("f32_compare", ("b32",) * 2, pairs(edges, random_floats(rng, form, 40)))
    add_comparisons(comparisons, "f32", form)
    for flushes, w in itertools.product((False, True), (16, 32, 64)):

        def choose(a, b, flushes=flushes):
            control = xf.flush(b, form) if flushes else b
            return 11 if xf.compare(control, 0, form) in ("gt", "eq") else 7

        comparisons.add(f"slct{'.ftz' * flushes}.u{w}.f32 {{d}}, 11, 7, {{b}};", f"b{w}", choose)
    three = Group(
        "f32_three", ("b32",) * 3, triples(rng, edges, 700, random_floats(rng, form, 900))
    )
    add_rounded(three, "fma", "f32", xf.fma, form, "b32")
    add_rounded(three, "mad", "f32", xf.fma, form, "b32", sat=False, ftz=False)
    one = Group("f32_one", ("b32",), [edges + random_floats(rng, form, 500)])
    add_single(one, "f32", form, "b32", ftz=True)
    return [two, comparisons, three, one]


def double_precision_groups(rng):
    form = xf.F64
    edges = floats(form)
    two = Group("f64_two", ("b64",) * 2, pairs(edges, random_floats(rng, form, 400)))
    for name, function in (("add", xf.add), ("sub", xf.sub), ("mul", xf.mul), ("div", xf.div)):
        add_rounded(two, name, "f64", function, form, "b64", sat=False, ftz=False, loose=True)
    add_extremes(two, "f64", form, "b64", ftz=False, nan=False, loose=True)
    add_comparisons(two, "f64", form, ftz=False)
    two.add("copysign.f64 {d}, {a}, {b};", "b64", lambda a, b: a & form.sign | b & (form.sign - 1))
    three = Group(
        "f64_three", ("b64",) * 3, triples(rng, edges, 700, random_floats(rng, form, 900))
    )
    for name in ("fma", "mad"):
        add_rounded(three, name, "f64", xf.fma, form, "b64", sat=False, ftz=False, loose=True)
    one = Group("f64_one", ("b64",), [edges + random_floats(rng, form, 500)])
    add_single(one, "f64", form, "b64", ftz=False)
    return [two, three, one]


def packed(function):
    """A function of 16-bit operands on both halves of 32-bit ones."""

    def apply(*words):
        lower = function(*(w & 0xFFFF for w in words))
        upper = function(*(w >> 16 for w in words))
        return None if lower is None or upper is None else upper << 16 | lower

    return apply


OUTSIDE = (0x7FF7, 0xFFF7)  # of elements outside of a tensor; .oob makes a zero of their products


def inside(function):
    """A fused product that is zero where a factor lies outside of a tensor."""

    def apply(a, b, c, mode):
        return 0 if a in OUTSIDE or b in OUTSIDE else function(a, b, c, mode=mode)

    return apply


def half_rows(form, name):
    """(instruction, operands, function of 16-bit operands) for a half format."""
    rows = []
    is_f16 = form is xf.F16
    choices = [("", False, None)]
    if is_f16:
        choices += [(".ftz", True, None), (".sat", False, "sat"), (".ftz.sat", True, "sat")]
    functions = {"add": (2, xf.add), "sub": (2, xf.sub), "mul": (2, xf.mul), "fma": (3, xf.fma)}
    for opcode, (count, function) in functions.items():
        extra = [(".relu", False, "relu")] if opcode == "fma" else []
        extra += [(".oob", False, None), (".oob.relu", False, "relu")] if extra else []
        if opcode == "fma" and is_f16:
            extra += [(".ftz.relu", True, "relu"), (".oob.sat", False, "sat")]
        for words, flushes, change in choices + extra:
            run = with_ftz(function, form) if flushes else plain(function, form)
            if change == "sat":
                run = after(run, saturated(form))
            elif change == "relu":
                run = after(
                    run, lambda r: None if vague_zero(r, form) is None else xf.relu(r, form)
                )
            run = inside(run) if ".oob" in words else run
            rows.append(
                (f"{opcode}.rn{words}.{name}", count, lambda *v, f=run: f(*v, mode=xf.NEAREST))
            )
    return rows


def half_groups(rng):
    groups = []
    for form, name in ((xf.F16, "f16"), (xf.BF16, "bf16")):
        is_f16 = form is xf.F16
        edges = floats(form)
        beyond = [*edges, *OUTSIDE * 4]
        two = Group(f"{name}_two", ("b16",) * 2, pairs(edges, random_floats(rng, form, 200)))
        three = Group(
            f"{name}_three", ("b16",) * 3, triples(rng, beyond, 500, random_floats(rng, form, 600))
        )
        one = Group(f"{name}_one", ("b16",), [edges + random_floats(rng, form, 100)])
        for text, count, function in half_rows(form, name):
            group = two if count == 2 else three
            group.add(f"{text} {operands_text(count)};", "b16", function)
        add_extremes(two, name, form, "b16", ftz=is_f16)
        add_comparisons(two, name, form, ftz=is_f16)
        add_signs(one, name, form, "b16", ftz=is_f16)
        groups += [two, three, one, *packed_groups(rng, form, name)]
    return groups


def packed_groups(rng, form, name):
    """The same in pairs."""
    is_f16 = form is xf.F16
    edges = [*floats(form), *OUTSIDE * 4]

    def column(count):
        values = [edges[k] for k in rng.integers(0, len(edges), count)]
        values += random_floats(rng, form, count)
        return [a << 16 | b for a, b in zip(values, reversed(values), strict=True)]

    groups = []
    for count in (2, 3):
        group = Group(f"{name}x2_{count}", ("b32",) * count, [column(300) for _ in range(count)])
        for text, needs, function in half_rows(form, name + "x2"):
            if needs == count:
                group.add(f"{text} {operands_text(count)};", "b32", packed(function))
        groups.append(group)
    two = groups[0]
    add_extremes(two, name + "x2", form, "b32", ftz=is_f16, wrap=packed)
    signs = {"abs": lambda a: a & 0x7FFF, "neg": lambda a: a ^ 0x8000}
    for (opcode, function), flushes in itertools.product(
        signs.items(), (False, True)[: 1 + is_f16]
    ):

        def change(half, function=function, flushes=flushes):
            if xf.is_nan(half, form):
                return None
            return function(xf.flush(half, form) if flushes else half)

        two.add(
            f"{opcode}{'.ftz' * flushes}.{name}x2 {{d}}, {{a}};",
            "b32",
            expected=[packed(change)(a) for a in two.columns[0]],
        )
    for compare, outcomes in OUTCOMES.items():
        ftz = ".ftz" if is_f16 else ""

        def both(a, b, outcomes=outcomes):
            if is_f16:
                a, b = (xf.flush(v & 0xFFFF, form) | xf.flush(v >> 16, form) << 16 for v in (a, b))
            lower = xf.compare(a & 0xFFFF, b & 0xFFFF, form) in outcomes
            upper = xf.compare(a >> 16, b >> 16, form) in outcomes
            return lower, upper

        p, q, t = (f"%{letter}{compare}" for letter in "pqt")
        two.add(
            f"{{{{ .reg .pred {p}, {q}; .reg .b32 {t}; "
            f"setp.{compare}{ftz}.{name}x2 {p}|{q}, {{a}}, {{b}}; "
            f"selp.u32 {t}, 2, 0, {q}; selp.u32 {{d}}, 1, 0, {p}; or.b32 {{d}}, {{d}}, {t}; }}}}",
            "b32",
            lambda a, b, f=both: f(a, b)[0] + 2 * f(a, b)[1],
        )
        two.add(
            f"set.{compare}{ftz}.{name}x2.{name}x2 {{d}}, {{a}}, {{b}};",
            "b32",
            lambda a, b, f=both: (f(a, b)[0] + (f(a, b)[1] << 16)) * (form.bias << form.digits),
        )
    return groups


def extreme_of_three_group(rng):
    """min and max of three, which machines of compute capability 10.0 on have."""
    form = xf.F32
    columns = triples(rng, floats(form), 600, random_floats(rng, form, 300))
    group = Group("f32_extreme3", ("b32",) * 3, columns, target="sm_100", version="8.8")
    for name, pick in (("min", min), ("max", max)):
        for flushes, wins, absolute in itertools.product((False, True), repeat=3):

            def run(*values, pick=pick, flushes=flushes, wins=wins, absolute=absolute):
                if flushes:
                    values = [xf.flush(v, form) for v in values]
                if absolute:
                    values = [v & (form.sign - 1) for v in values]
                return xf.extreme(values, form, pick, wins)

            words = f"{'.ftz' * flushes}{'.NaN' * wins}{'.abs' * absolute}"
            group.add(f"{name}{words}.f32 {{d}}, {{a}}, {{b}}, {{c}};", "b32", run)
    return group


def pair_group(rng):
    """Arithmetic on pairs of floats, which machines of compute capability 10.0 on have."""
    form = xf.F32
    lower = triples(rng, floats(form), 500, random_floats(rng, form, 600))
    upper = triples(rng, floats(form), 500, random_floats(rng, form, 600))
    columns = [
        [a | b << 32 for a, b in zip(*c, strict=True)] for c in zip(lower, upper, strict=True)
    ]
    group = Group("f32_pair", ("b64",) * 3, columns, target="sm_100", version="8.8")
    functions = {"add": (2, xf.add), "sub": (2, xf.sub), "mul": (2, xf.mul), "fma": (3, xf.fma)}
    for (name, (count, function)), mode, flushes in itertools.product(
        functions.items(), MODES, (False, True)
    ):
        run = with_ftz(function, form) if flushes else plain(function, form)

        def both(*words, run=run, mode=mode, count=count):
            halves = [
                run(*((w >> shift) & 0xFFFFFFFF for w in words[:count]), mode=mode)
                for shift in (0, 32)
            ]
            return None if None in halves else halves[0] | halves[1] << 32

        text = f"{name}.{mode}{'.ftz' * flushes}.f32x2 {operands_text(count)};"
        group.add(text, "b64", both)
    return group


def mixed_group(rng, name, half):
    """Halves beside floats, which machines of compute capability 10.0 on have."""
    form = xf.F32
    edges, wide = floats(half), floats(form)
    columns = [[], [], []]
    for a, c in itertools.product(edges, wide):
        for column, value in zip(columns, (a, edges[rng.integers(len(edges))], c), strict=True):
            column.append(value)
    for column, kind in zip(columns, (half, half, form), strict=True):
        column.extend(random_floats(rng, kind, 600))
    kinds = ("b16", "b16", "b32")
    group = Group(f"f32_{name}", kinds, columns, target="sm_100", version="8.8")
    functions = {"add": ("ac", xf.add), "sub": ("ac", xf.sub), "fma": ("abc", xf.fma)}
    for opcode, (letters, function) in functions.items():
        modes = [(f".{mode}", mode) for mode in MODES]
        modes += [("", xf.NEAREST)] if opcode != "fma" else []
        text = ", ".join("{" + letter + "}" for letter in "d" + letters)
        for (word, mode), saturates in itertools.product(modes, (False, True)):

            def run(a, b, c, *, mode, letters=letters, function=function):
                halves = [xf.convert(bits, half, form) for bits in (a, b)[: len(letters) - 1]]
                return function(*halves, c, form, mode)

            run = after(run, saturated(form)) if saturates else run
            group.add(
                f"{opcode}{word}{'.sat' * saturates}.f32.{name} {text};",
                "b32",
                lambda *v, f=run, m=mode: f(*v, mode=m),
            )
    return group


def mixed_groups(rng):
    return [mixed_group(rng, "f16", xf.F16), mixed_group(rng, "bf16", xf.BF16)]


def later_groups(rng):
    return [extreme_of_three_group(rng), pair_group(rng), *mixed_groups(rng)]


def float_groups(rng):
    return [*single_precision_groups(rng), *double_precision_groups(rng), *half_groups(rng)]
