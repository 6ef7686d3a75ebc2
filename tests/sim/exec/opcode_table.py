"""Tables of single instructions: each runs on many operands and must give the expected bits.

A group has operands (columns of integers, one value a thread) and rows; a row is PTX text with
{d} {a} {b} {c} {e} in it, the kind of its result, and what each thread must get. A group is one
kernel; a test's groups are one module.
"""

import dataclasses
import hashlib
import re

import numpy as np

import smemkit

BLOCK = 128
GUARD_BITS = 5  # a guard lets those threads through whose number has just bit 0 of these set
PRESET = 23131  # what a register holds that the guard protects
# ptxas 13.0 does not keep a guard's promise in these: testp writes all the same, and set to a
# float type converts what the register held (seen on sm_90). The simulator does what PTX says.
LOST_GUARDS = re.compile(r"testp\.|set\.\w+(\.ftz)?\.b?f(16|16x2|32)\.")
DTYPES = {"b16": np.uint16, "b32": np.uint32, "b64": np.uint64, "pred": np.uint32}
OUT = {"b16": np.uint16, "b32": np.uint32, "b64": np.uint64, "pred": np.uint32}


@dataclasses.dataclass
class Row:
    """One instruction (or a few that belong together)."""

    text: str
    kind: str
    expected: list
    nan: object = None  # exact_float.Format: any NaN will do where one is expected
    close: object = None  # (bits, operands) -> bool, instead of equality


class Group:
    """Operands of some kinds, and the rows that take them."""

    def __init__(self, name, kinds, columns, target="sm_90", version="8.5"):
        self.name = name
        self.kinds = kinds
        self.columns = [list(column) for column in columns]
        self.lanes = len(self.columns[0])
        assert all(len(column) == self.lanes for column in self.columns)
        self.target = target
        self.version = version
        self.rows = []

    def add(self, text, kind, function=None, *, expected=None, nan=None, close=None):
        """`function` of one thread's operands gives the expected bits (None: anything)."""
        if expected is None:
            expected = [function(*lane) for lane in zip(*self.columns, strict=True)]
        self.rows.append(Row(text, kind, expected, nan, close))

    def operands(self):
        """The columns as arrays."""
        return [
            np.array(column, dtype=DTYPES[kind])
            for kind, column in zip(self.kinds, self.columns, strict=True)
        ]

    def write_entry(self, guarded=False):
        """The kernel's PTX. Guarded, some threads do not execute the rows' instructions."""
        names = "abce"[: len(self.kinds)]
        parameters = [".param .u64 out"] + [f".param .u64 in_{name}" for name in names]
        lines = [f".visible .entry {self.name}({', '.join(parameters)})", "{"]
        lines += [
            ".reg .pred %past;",
            ".reg .b32 %i, %t;",
            ".reg .b64 %out, %in;",
            "mov.u32 %i, %ctaid.x;",
            "mov.u32 %t, %ntid.x;",
            "mad.lo.u32 %i, %i, %t, 0;",
            "mov.u32 %t, %tid.x;",
            "add.u32 %i, %i, %t;",
            f"setp.ge.u32 %past, %i, {self.lanes};",
            "@%past exit;",
            "ld.param.u64 %out, [out];",
            "mad.wide.u32 %out, %i, 8, %out;",
        ]
        for name, kind in zip(names, self.kinds, strict=True):
            lines += [
                f".reg .{kind} %{name};",
                f"ld.param.u64 %in, [in_{name}];",
                f"mad.wide.u32 %in, %i, {np.dtype(DTYPES[kind]).itemsize}, %in;",
            ]
            if kind == "pred":
                lines += ["ld.global.u32 %t, [%in];", f"setp.ne.u32 %{name}, %t, 0;"]
            else:
                lines.append(f"ld.global.{kind} %{name}, [%in];")
        sources = {name: f"%{name}" for name in names}
        if guarded:
            lines += [
                ".reg .pred %keep;",
                f"and.b32 %t, %i, {GUARD_BITS};",
                "setp.eq.u32 %keep, %t, 1;",
            ]
        for number, row in enumerate(self.rows):
            d = f"%d{number}"
            lines.append(f".reg .{row.kind} {d};")
            guard = ""
            if guarded and can_guard(row):
                preset = (
                    "setp.eq.u32 {}, 0, 1;"
                    if row.kind == "pred"
                    else f"mov.{row.kind} {{}}, {PRESET};"
                )
                lines.append(preset.format(d))
                guard = "@%keep "
            lines.append(guard + expand(row.text, d, sources))
            if row.kind == "pred":
                lines.append(f"selp.u32 %t, 1, 0, {d};")
                d = "%t"
            store = "b32" if row.kind == "pred" else row.kind
            lines.append(f"st.global.{store} [%out+{number * self.lanes * 8}], {d};")
        return "\n".join([*lines, "ret;", "}"]) + "\n"


def can_guard(row):
    """Whether the row is one instruction, not a scope with several."""
    return not row.text.startswith("{{ ")


def expand(text, d, sources):
    """Fills in registers; doubled braces stay braces."""
    return text.format(d=d, **sources)


def write_module(groups, guarded=False):
    """One module with the kernels of all groups."""
    header = f".version {groups[0].version}\n.target {groups[0].target}\n.address_size 64\n"
    return header + "".join(group.write_entry(guarded) for group in groups)


def launch(group, function, machine):
    """What each row stored: an array (rows, lanes) of 64-bit words."""
    out = np.zeros((len(group.rows), group.lanes), dtype=np.uint64)
    grid = -(-group.lanes // BLOCK)
    function((grid,), (BLOCK,), (out, *group.operands()), backend=machine)
    return out


def describe(group, row, lane, got):
    values = ", ".join(f"{column[lane]:#x}" for column in group.columns)
    wanted = row.expected[lane]
    wanted = "anything" if wanted is None else f"{wanted:#x}"
    return f"{row.text}  ({values}): got {got:#x}, expected {wanted}"


def find_wrong(group, row, stored):
    """Descriptions of the lanes that hold something else than expected."""
    got = stored.astype(OUT[row.kind]).tolist()
    wrong = []
    for lane, (bits, wanted) in enumerate(zip(got, row.expected, strict=True)):
        if wanted is None or bits == wanted:
            continue
        if row.nan is not None and is_any_nan(bits, row.nan) and is_any_nan(wanted, row.nan):
            continue
        if row.close is not None and row.close(bits, [column[lane] for column in group.columns]):
            continue
        wrong.append(describe(group, row, lane, bits))
    return wrong


def is_any_nan(bits, form):
    return bits & (form.sign - 1) > form.infinity


def check(groups, machine):
    """Runs all groups in one module and asserts every result."""
    module = smemkit.RawModule(write_module(groups), backend=machine)
    wrong = []
    for group in groups:
        out = launch(group, module.get_function(group.name), machine)
        for row, stored in zip(group.rows, out, strict=True):
            found = find_wrong(group, row, stored)
            if found:
                wrong.append(f"{len(found)} of {group.lanes} wrong, the first: {found[0]}")
    assert not wrong, f"{len(wrong)} rows:\n" + "\n".join(wrong)


def check_guarded(groups, machine):
    """Lanes that a guard keeps away hold what they held; others get what they get without it."""
    module = smemkit.RawModule(write_module(groups), backend=machine)
    guarded = smemkit.RawModule(write_module(groups, guarded=True), backend=machine)
    wrong = []
    for group in groups:
        plain = launch(group, module.get_function(group.name), machine)
        out = launch(group, guarded.get_function(group.name), machine)
        active = np.arange(group.lanes) & GUARD_BITS == 1
        for row, expected, stored in zip(group.rows, plain, out, strict=True):
            if machine == "cuda" and LOST_GUARDS.match(row.text):
                continue
            kept = 0 if row.kind == "pred" else PRESET
            wanted = np.where(active, expected, kept) if can_guard(row) else expected
            differs = stored != wanted
            if row.nan is not None:  # abs and neg with a guard keep a payload that they else do not
                differs &= ~np.array([is_any_nan(int(bits), row.nan) for bits in wanted])
            lanes = np.flatnonzero(differs)
            if lanes.size:
                lane = int(lanes[0])
                values = ", ".join(f"{column[lane]:#x}" for column in group.columns)
                wrong.append(
                    f"{group.name}: {row.text}  ({values}), lane {lane}: "
                    f"got {int(stored[lane]):#x}, expected {int(wanted[lane]):#x}"
                )
    assert not wrong, f"{len(wrong)} rows:\n" + "\n".join(wrong)


def digest(groups, machine):
    """A digest of every bit that the groups' rows store."""
    module = smemkit.RawModule(write_module(groups), backend=machine)
    total = hashlib.sha256()
    for group in groups:
        total.update(launch(group, module.get_function(group.name), machine).tobytes())
    return total.hexdigest()


# operands ---------------------------------------------------------------------------------------


def integers(width):
    """Values at the edges of an integer type, and of the narrower types in it."""
    values = {0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 65}
    for bits in (8, 16, 24, 32, 64):
        if bits <= width:
            half, full = 1 << (bits - 1), 1 << bits
            values |= {half - 1, half, half + 1, full - 2, full - 1, (full - half) // 3}
    values |= {(1 << width) - v for v in (1, 2, 3, 128, 129)}
    return sorted(v & ((1 << width) - 1) for v in values)


def random_integers(rng, width, count):
    """Random values of every magnitude."""
    return [
        int.from_bytes(rng.bytes(8), "little") % (1 << width) >> int(shift)
        for shift in rng.integers(0, width, count)
    ]


def floats(form):
    """Bits of values at the edges of a float format."""
    one = form.bias << (form.digits + form.shift)
    step = 1 << form.shift
    least = 1 << (form.digits + form.shift)  # the least normal number
    half = one - least
    positive = [0, step, 3 * step, least - step, least, least + step, half, half + step]
    positive += [one - step, one, one + step, one + least, one + least + least // 2]
    positive += [form.greatest - step, form.greatest, form.infinity]
    nans = [form.infinity | 1 << (form.digits + form.shift - 1), form.infinity | step, form.nan]
    return positive + [v | form.sign for v in positive] + nans


def random_floats(rng, form, count):
    """Random bits, most of them of middling exponents, some of any."""
    result = []
    for _ in range(count):
        bits = int.from_bytes(rng.bytes(8), "little") % (2 * form.sign)
        if rng.random() < 0.7:
            exponent = form.bias + int(rng.integers(-6, 7))
            low = form.digits + form.shift
            bits = bits & form.sign | exponent << low | bits & ((1 << low) - 1)
        bits &= ~((1 << form.shift) - 1)
        result.append(bits)
    return result


def pairs(edges, random_values):
    """Every pair of edges, then random pairs."""
    first = [a for a in edges for _ in edges] + random_values[0::2]
    second = [b for _ in edges for b in edges] + random_values[1::2]
    count = min(len(first), len(second))
    return [first[:count], second[:count]]


def triples(rng, edges, count, random_values):
    """Random triples of edges, then random triples."""
    columns = [[edges[k] for k in rng.integers(0, len(edges), count)] for _ in range(3)]
    count = len(random_values) // 3
    return [c + random_values[k * count : (k + 1) * count] for k, c in enumerate(columns)]
