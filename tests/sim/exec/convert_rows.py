"""Rows for cvt: between integers, between floats, and from one to the other."""

import itertools

from sim.exec import exact_float as xf
from sim.exec.integer_rows import clamp, mask, sign
from sim.exec.opcode_table import Group, floats, integers, random_floats, random_integers

INTEGERS = {f"{kind}{width}": (kind == "s", width) for width in (8, 16, 32, 64) for kind in "us"}
FLOATS = {"f16": xf.F16, "bf16": xf.BF16, "f32": xf.F32, "f64": xf.F64}
KINDS = {"b16": 16, "b32": 32, "b64": 64}
MODES = (xf.NEAREST, xf.ZERO, xf.DOWN, xf.UP)
INTEGRAL = {"rni": xf.NEAREST, "rzi": xf.ZERO, "rmi": xf.DOWN, "rpi": xf.UP}


def own_kind(width):
    return f"b{max(width, 16)}"


def saturate(value, is_signed, width):
    return clamp(value, width) if is_signed else min(max(value, 0), mask(width))


def limits(name):
    is_signed, width = INTEGERS[name]
    return (-(1 << width - 1), mask(width - 1)) if is_signed else (0, mask(width))


def holds(target, source):
    """Whether every value of one type is one of another: then there is no .sat."""
    low, high = limits(target)
    return low <= limits(source)[0] and limits(source)[1] <= high


def integer_groups(rng):
    """Every pair of integer types, in rows as wide as the type or wider."""
    groups = []
    for kind, width in KINDS.items():
        group = Group(f"cvt_{kind}", (kind,), [integers(width) + random_integers(rng, width, 40)])
        groups.append(group)
        sources = [name for name, (_, bits) in INTEGERS.items() if bits <= width]
        for source, target, sat in itertools.product(sources, INTEGERS, (False, True)):
            for row, row_width in KINDS.items():
                from_signed, from_bits = INTEGERS[source]
                to_signed, to_bits = INTEGERS[target]
                if row_width < to_bits or (sat and holds(target, source)):
                    continue

                def run(
                    a,
                    source=(from_signed, from_bits),
                    target=(to_signed, to_bits),
                    sat=sat,
                    row_width=row_width,
                ):
                    value = sign(a, source[1]) if source[0] else a & mask(source[1])
                    if sat:
                        value = saturate(value, *target)
                    value = sign(value, target[1]) if target[0] else value & mask(target[1])
                    return value & mask(row_width)

                group.add(f"cvt{'.sat' * sat}.{target}.{source} {{d}}, {{a}};", row, run)
    return groups


def from_integer_groups(rng):
    """Integers to floats in four rounding modes."""
    groups = []
    for source, (is_signed, width) in INTEGERS.items():
        kind = own_kind(width)
        values = integers(width) + random_integers(rng, width, 100)
        # halfway between two numbers of 11, 8, 24 and 53 digits, and next to it
        for digits in (8, 11, 24, 53):
            if width > digits + 2:
                half = (1 << (digits + 1)) + 1
                values += [(half << 1 | 1) & mask(width), half, half + 2, mask(width) ^ half]
        group = Group(f"from_{source}", (kind,), [values])
        groups.append(group)
        for (target, form), mode, sat in itertools.product(FLOATS.items(), MODES, (False, True)):
            if target == "bf16" and (sat or width == 8):
                continue  # there is no such instruction

            def run(a, form=form, mode=mode, sat=sat, is_signed=is_signed, width=width):
                value = sign(a, width) if is_signed else a & mask(width)
                bits = xf.from_integer(value, form, mode)
                return xf.saturate(bits, form) if sat else bits

            group.add(
                f"cvt.{mode}{'.sat' * sat}.{target}.{source} {{d}}, {{a}};",
                own_kind(form.width),
                run,
            )
    return groups


def to_integer_values(rng, form):
    """Floats around the limits of the integer types, and halves between integers."""
    values = floats(form) + random_floats(rng, form, 60)
    for power in (7, 8, 15, 16, 31, 32, 63, 64):
        for offset, shift in itertools.product((-2, -1, 0, 1, 2), (0, 1)):
            number = (1 << power + shift) + offset
            for negative in (False, True):
                values.append(xf.pack(negative, number, -shift, form))
    for number in range(-9, 10):
        values.append(xf.pack(number < 0, abs(number), -1, form))
    return values


def to_integer_groups(rng):
    groups = []
    for source, form in FLOATS.items():
        kind = own_kind(form.width)
        group = Group(f"to_{source}", (kind,), [to_integer_values(rng, form)])
        groups.append(group)
        for target, (word, mode) in itertools.product(INTEGERS, INTEGRAL.items()):
            is_signed, width = INTEGERS[target]
            if source == "bf16" and width == 8:
                continue
            forms = {"bf16": 1, "f32": 3}.get(source, 2)
            for ftz, sat in ((False, False), (False, True), (True, False))[:forms]:

                def run(a, form=form, width=width, is_signed=is_signed, mode=mode, ftz=ftz):
                    a = xf.flush(a, form) if ftz else a
                    value = xf.to_integer(a, form, width, is_signed, mode)
                    return sign(value, width) & mask(max(width, 16)) if is_signed else value

                group.add(
                    f"cvt.{word}{'.ftz' * ftz}{'.sat' * sat}.{target}.{source} {{d}}, {{a}};",
                    own_kind(width),
                    run,
                )
    return groups


def narrowing(source, target, *, modes=MODES, ftz=False, sat=False):
    """(words, function) of a conversion that rounds."""
    form, result = FLOATS[source], FLOATS[target]
    for mode in modes:
        for flushes, saturates in itertools.product(
            (False, True)[: 1 + ftz], (False, True)[: 1 + sat]
        ):

            def run(a, mode=mode, flushes=flushes, saturates=saturates):
                # .ftz does not reach a conversion to f16 (seen on sm_90: .rp gives the least one)
                if flushes and form is xf.F32 and result is not xf.F16:
                    a = xf.flush(a, form)
                bits = xf.convert(a, form, result, mode or xf.NEAREST)
                if flushes and result is xf.F32:
                    if bits & 0x7FFFFFFF == 1 << 23:
                        return None  # only rounding made it normal, perhaps
                    bits = xf.flush(bits, result)
                if saturates:
                    return None if bits == result.sign else xf.saturate(bits, result)
                return bits

            rounds = f".{mode}" if mode else ""  # to the nearest, where none is named
            yield f"cvt{rounds}{'.ftz' * flushes}{'.sat' * saturates}.{target}.{source}", run


def widening(source, target, *, modes=(None,), ftz=False, sat=False):
    """(words, function) of a conversion in which no rounding is needed; it may name one."""
    form, result = FLOATS[source], FLOATS[target]
    for mode, flushes, saturates in itertools.product(
        modes, (False, True)[: 1 + ftz], (False, True)[: 1 + sat]
    ):

        def run(a, flushes=flushes, saturates=saturates):
            a = xf.flush(a, form) if flushes and form in (xf.F32, xf.BF16) else a
            bits = xf.convert(a, form, result)
            if saturates:
                return None if bits == result.sign else xf.saturate(bits, result)
            return bits

        rounds = f".{mode}" if mode else ""
        yield f"cvt{rounds}{'.ftz' * flushes}{'.sat' * saturates}.{target}.{source}", run


def limited(form, mode, satfinite, is_relu):
    """f32 to a smaller format with .satfinite and .relu."""

    def run(a):
        bits = xf.convert(a, xf.F32, form, mode, satfinite)
        if is_relu:
            return None if bits == form.sign else xf.relu(bits, form)
        return bits

    return run


def float_groups(rng):
    groups = {}
    for name, form in FLOATS.items():
        values = floats(form) + random_floats(rng, form, 200)
        for other in FLOATS.values():
            if (
                other.digits < form.digits
            ):  # the other format's edges, halfways, and their neighbours
                for bits in floats(other):
                    near = xf.convert(bits, other, form)
                    step = 1 << (form.digits - other.digits - 1)
                    values += [near, near ^ step, near ^ (step | 1), near ^ 1]
        groups[name] = Group(f"float_{name}", (own_kind(form.width),), [values])
    rows = [
        *narrowing("f64", "f32", ftz=True, sat=True),
        *narrowing("f64", "f16"),
        *narrowing("f64", "bf16"),
        *narrowing("f32", "f16", ftz=True, sat=True),
        *narrowing("f32", "bf16"),
        *narrowing("bf16", "f16"),
        *narrowing("f16", "bf16"),
        *widening("f16", "f32", sat=True),
        *widening("f16", "f64"),
        *widening("bf16", "f32", ftz=True),
        *widening("bf16", "f64"),
        *widening("bf16", "f32", modes=MODES, ftz=True),
        *widening("bf16", "f64", modes=MODES),
        *narrowing("bf16", "f16", modes=(None,)),
        *narrowing("f16", "bf16", modes=(None,)),
        *widening("f32", "f64", ftz=True, sat=True),
        *widening("f32", "f32", ftz=True, sat=True),
    ]
    for text, function in rows:
        target, source = text.split(".")[-2:]
        group = groups[source]
        form = FLOATS[target]
        group.add(f"{text} {{d}}, {{a}};", own_kind(form.width), function, nan=form)
    for name, (word, mode) in itertools.product(("f16", "f32", "f64"), INTEGRAL.items()):
        form = FLOATS[name]
        groups[name].add(
            f"cvt.{word}.{name}.{name} {{d}}, {{a}};",
            own_kind(form.width),
            lambda a, f=form, m=mode: xf.integral(a, f, m),
            nan=form,
        )
    for word, mode in INTEGRAL.items():
        groups["f32"].add(
            f"cvt.{word}.ftz.f32.f32 {{d}}, {{a}};",
            "b32",
            lambda a, m=mode: xf.integral(xf.flush(a, xf.F32), xf.F32, m),
            nan=xf.F32,
        )
    add_limited(groups["f32"])
    pair = Group("float_pair", ("b32",) * 2, [groups["f32"].columns[0]] * 2)
    pair.columns[1] = pair.columns[1][::-1]
    for name, mode, is_relu, satfinite in itertools.product(
        ("f16", "bf16"), (xf.NEAREST, xf.ZERO), (False, True), (False, True)
    ):
        run = limited(FLOATS[name], mode, satfinite, is_relu)
        words = f"{mode}{'.relu' * is_relu}{'.satfinite' * satfinite}"
        pair.add(f"cvt.{words}.{name}x2.f32 {{d}}, {{a}}, {{b}};", "b32", both_halves(run))
    return [*groups.values(), pair]


def both_halves(run):
    def apply(a, b):
        upper, lower = run(a), run(b)
        return None if upper is None or lower is None else upper << 16 | lower

    return apply


def away_tf32(bits, satfinite):
    """Finite numbers round; sm_90 makes of infinities and NaNs what the PTX ISA does not say."""
    if bits & xf.F32.infinity != xf.F32.infinity:
        return limited(xf.TF32, xf.AWAY, satfinite, False)(bits)
    return (bits & ~0x1FFF) - 0x2000 * satfinite


def add_limited(group):
    for name, mode, is_relu, satfinite in itertools.product(
        ("f16", "bf16"), (xf.NEAREST, xf.ZERO), (False, True), (False, True)
    ):
        words = f"{mode}{'.relu' * is_relu}{'.satfinite' * satfinite}"
        group.add(
            f"cvt.{words}.{name}.f32 {{d}}, {{a}};",
            "b16",
            limited(FLOATS[name], mode, satfinite, is_relu),
        )

    for satfinite in (False, True):
        group.add(
            f"cvt.rna{'.satfinite' * satfinite}.tf32.f32 {{d}}, {{a}};",
            "b32",
            lambda a, s=satfinite: away_tf32(a, s),
        )
    for words, mode, is_relu in (
        ("rn", xf.NEAREST, False),
        ("rz", xf.ZERO, False),
        ("rn.relu", xf.NEAREST, True),
        ("rz.relu", xf.ZERO, True),
    ):
        group.add(
            f"cvt.{words}.tf32.f32 {{d}}, {{a}};",
            "b32",
            limited(xf.TF32, mode, False, is_relu),
            nan=xf.F32,
        )


def convert_groups(rng):
    return [
        *integer_groups(rng),
        *from_integer_groups(rng),
        *to_integer_groups(rng),
        *float_groups(rng),
    ]
