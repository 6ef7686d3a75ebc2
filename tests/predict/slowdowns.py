"""The table of slowdowns: how long the kernels that "auto" may take would take beside an H200.

    python tests/run.py predict.slowdowns           # makes csrc/registry/slowdowns.def, in minutes
    python tests/run.py predict.slowdowns --check   # says which numbers are no longer those

A slowdown is the predicted time of a large call on a card over that on the H200, times the card's
share of the H200's multiprocessors: how many times as long one of its multiprocessors takes for the
same work. Where kernels have a speed alone (variants.def), which was measured with one type, other
types are compared with the H200's time of that one. The calls are planned for each architecture,
with as many multiprocessors as an H200 has.
"""

import argparse
import collections
import concurrent.futures
import math
import sys
from pathlib import Path

import numpy
from support.tables import VARIANTS

import smemkit
from smemkit import _core
from smemkit.bench.workloads import complete_shape, make_workload, numpy_type
from smemkit.predict.fit import demand_fit, read_capability
from smemkit.predict.forecast import predict_launches
from smemkit.predict.planning import make_sparse
from smemkit.predict.predict_call import BLOCKS

TABLE = Path(__file__).resolve().parents[2] / "csrc" / "registry" / "slowdowns.def"
NEAR = 0.1
MULTIPROCESSORS = 132  # of an H200
MEASURED = 9.0  # compute capability whose kernels were measured
TYPES = {
    "bits8": "uint8",
    "bits16": "uint16",
    "bits32": "float32",
    "bits64": "float64",
    "bits128": "complex128",
    "tf32": "float32",
}
WIDE = ("bits64", "bits128", "float64", "int64")
# Shapes that fill all cards and no cache; of wide types the first dimension is half as long.
SHAPES = (
    ("gemm", (4096, 4096, 4096)),
    ("transpose", (4096, 8192)),
    ("vector_add", (1 << 25,)),
    ("gather", (1 << 24, 1 << 24)),
    ("reduce", (1 << 25,)),
    ("reduce_axis", (4096, 8192, 1)),
    ("scan", (1 << 25,)),
    ("sort", (2048, 1024)),  # a stack of rows
    ("dot", (1 << 25,)),
    ("smooth", (1 << 25,)),
    ("conv2d", (4096, 4096, 5, 5)),
    ("histogram", (1 << 25, 257, 256)),
    ("histogram_weighted", (1 << 24, 257, 256)),
    # of variants, those for which they are made
    ("gemm vector", (4096, 4096, 64)),  # the arithmetic: the plan knows the bytes
    ("reduce_axis thread", (1, 64, 1 << 19)),
    ("reduce_axis strip", (1, 1 << 22, 8)),
    ("reduce_axis panel", (1, 4096, 8192)),
)
FIRST = ("float32", "bits32", "uint8")  # types that come first, where time is short
HEAD = """\
/* Slowdowns: how many times as long as an H200 cards take on which no kernel was measured, by the predictions of
 * smemkit.predict. Made by `python tests/run.py predict.slowdowns`, not by hand.
 *
 * SMK_SLOWDOWN_CARD(name, capability, is_geforce, multiprocessors, memory)
 *   memory   of its memory, for a byte
 * SMK_SLOWDOWN(family, variant, type, ...)   a row of variants.def that "auto" may take, and one of its types
 *   ...      of a multiprocessor, for the same work: for each card, in their order; 0 where the card cannot run it
 */
"""  # noqa: E501


def list_cards():
    """The cards of another architecture than the one that was measured."""
    known = [smemkit.card(name) for name in smemkit.cards()]
    return [card for card in known if read_capability(card.compute_capability)[0] != int(MEASURED)]


def list_rows():
    """(family, variant, type) of all that "auto" may take."""
    return [
        (family, name, kind)
        for family in _core.families()
        for name, facts in _core.variants(family).items()
        if facts["auto"]
        for kind in facts["dtypes"]
    ]


def make_arrays(case):
    """(operands, result) of a large call, without values and memory where they decide nothing."""
    if case.reads_values:
        inputs = case.make_inputs(numpy.random.default_rng(1))
        return inputs, numpy.empty(case.result_shape, case.result_dtype)
    signature = case.read_signature()
    sizes = dict(zip(signature.names, case.shape, strict=True))
    shapes = [tuple(sizes[name] for name in names) for names in signature.inputs]
    inputs = tuple(make_sparse(shape, numpy_type(case.dtype)) for shape in shapes)
    return inputs, make_sparse(case.result_shape, case.result_dtype)


class Call:
    """A large call, as a variant makes it."""

    def __init__(self, family, variant, kind):
        self.family, self.variant, self.counted = family, variant, {}
        self.has_time = True  # whether its plan predicts one, of each type
        shapes = dict(SHAPES)
        shape = shapes.get(f"{family} {variant}", shapes.get(family))
        if kind in WIDE:
            shape = (max(1, shape[0] // 2), *shape[1:])
        axes = len(complete_shape(family, 1))
        stack, shape = shape[:-axes], shape[-axes:]
        parameters = {"precision": "tf32"} if kind == "tf32" else {}
        case = make_workload(family, shape, TYPES.get(kind, kind), parameters)
        self.inputs, out = make_arrays(case)
        self.words = {**case.keywords, "out": out}
        if stack:
            self.inputs = tuple(numpy.broadcast_to(x, stack + x.shape) for x in self.inputs)
            self.words["out"] = None

    def capture(self, capability):
        """The counted launches, planned for a compute capability, or as they are for another."""
        major, minor = read_capability(capability)
        before = _core._plan_for((None, 10 * major + minor, MULTIPROCESSORS))
        words = {**self.words, "backend": "sim"}
        try:
            facts = _core._explain_choice(self.family, *self.inputs, **words)
            rows = {row["variant"]: row for row in facts["candidates"]}
            plan = str(rows[self.variant]["launches"])
            self.has_time = rows[self.variant]["time_us"] is not None
            if plan not in self.counted:
                words["variant"] = self.variant
                function = getattr(_core, self.family)
                found = _core._capture("profile", function, self.inputs, words, BLOCKS, True)
                self.counted[plan] = found[1]
        finally:
            _core._plan_for(before)
        return self.counted[plan]


def find_measured(family, variant, _):
    """The type that the speed in variants.def was measured with."""
    kinds = _core.variants(family)[variant]["dtypes"]
    return "bits32" if "bits32" in kinds else kinds[0]


def find_slowdowns(row):
    """{name of a card: the slowdown of a row on it}, of the cards that can run it."""
    call, base, found = Call(*row), smemkit.card("h200"), {}
    call.capture(base.compute_capability)
    other = find_measured(*row)
    usual = call if call.has_time or other == row[2] else Call(*row[:2], other)
    measured = predict_launches(usual.capture(base.compute_capability), base).time_ms
    needed = read_capability(_core.variants(row[0])[row[1]]["compute_capability"])
    for card in list_cards():
        if read_capability(card.compute_capability) < needed:
            continue
        try:
            launches = call.capture(card.compute_capability)
            for launch in launches:
                demand_fit(launch, card)
        except smemkit.Error:
            continue
        share = card.multiprocessors / base.multiprocessors
        found[card.name] = predict_launches(launches, card).time_ms / measured * share
    return found


def cut(value):
    """The value with three digits."""
    return float(f"{value:.3g}")


def write_number(value):
    """Three digits: what is known is less.

    >>> write_number(1.23456), write_number(0), write_number(12)
    ('1.23F', '0', '12.0F')
    """
    return f"{cut(value)}F" if value else "0"


def write_card(card):
    """The row of a card."""
    base = smemkit.card("h200")
    memory = base.dram_gbs * base.dram_share / (card.dram_gbs * card.dram_share)
    major, minor = read_capability(card.compute_capability)
    is_geforce = "true" if card.matrix_share < 1 else "false"
    return (
        f'SMK_SLOWDOWN_CARD("{card.name}", {10 * major + minor}, {is_geforce}, '
        f"{card.multiprocessors:.0f}, {memory:.3g})"
    )


def settle(slowdowns):
    """The slowdowns, where those near that of the kernel that an H200 prefers are set to it.

    By so little the model cannot tell kernels apart: the order that was measured stays. Numbers
    are compared as the table has them, so that what is read from it stays as it is.
    """
    slowdowns = {
        row: {name: cut(times) for name, times in found.items()} for row, found in slowdowns.items()
    }
    groups = collections.defaultdict(list)
    for row in slowdowns:
        groups[row[0], row[2]].append(row)
    settled = {}
    for rows in groups.values():
        first = slowdowns[max(rows, key=lambda row: int(VARIANTS[row[:2]]["speed"]))]
        for row in rows:
            settled[row] = {
                name: first[name] if abs(times / first.get(name, math.inf) - 1) < NEAR else times
                for name, times in slowdowns[row].items()
            }
    return {row: settled[row] for row in slowdowns}


def write_table(slowdowns):
    """The text of the table, of {row: {name of a card: slowdown}}."""
    cards = list_cards()
    lines = [write_card(card) for card in cards]
    for row, found in settle(slowdowns).items():
        numbers = ", ".join(write_number(found.get(card.name, 0)) for card in cards)
        lines.append(f"SMK_SLOWDOWN({', '.join(row)}, {numbers})")
    return HEAD + "\n".join(lines) + "\n"


def read_table(text):
    """{row: {name of a card: slowdown}} of the text."""
    names, slowdowns = [], {}
    for line in text.splitlines():
        head, _, rest = line.partition("(")
        cells = [cell.strip() for cell in rest.removesuffix(")").split(",")]
        if head == "SMK_SLOWDOWN_CARD":
            names.append(cells[0].strip('"'))
        elif head == "SMK_SLOWDOWN":
            numbers = (float(cell.removesuffix("F")) for cell in cells[3:])
            found = dict(zip(names, numbers, strict=True))
            slowdowns[tuple(cells[:3])] = {
                name: slowdown for name, slowdown in found.items() if slowdown
            }
    return slowdowns


def find_changes(known, made, least=0.05):
    """(row, card, number of the table, number of now) of those that differ by more than a part."""
    for row, found in made.items():
        old = known.get(row, {})
        for name in {*found, *old}:
            was, now = old.get(name, 0.0), found.get(name, 0.0)
            if abs(was - now) > least * max(was, now):
                yield row, name, was, now


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="", help="only of families that begin so")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where some differ")
    parser.add_argument("--missing", action="store_true", help="only rows that are not there")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    known = read_table(TABLE.read_text(encoding="utf-8"))
    made = dict(known)
    rows = list_rows()
    wanted = [row for row in rows if row[0].startswith(chosen.rows)]
    wanted = [row for row in wanted if not (chosen.missing and row in known)]
    wanted.sort(key=lambda row: row[2] not in FIRST)
    with concurrent.futures.ProcessPoolExecutor(chosen.workers) as pool:
        for row, found in zip(wanted, pool.map(find_slowdowns, wanted), strict=True):
            made[row] = found
            numbers = " ".join(f"{name} {slowdown:.2f}" for name, slowdown in found.items())
            print(f"{' '.join(row)}: {numbers}", flush=True)
            if not chosen.check:
                text = write_table({row: made[row] for row in rows if row in made})
                TABLE.write_text(text, encoding="utf-8")
    if chosen.check:
        changes = list(find_changes(known, settle(made)))
        for row, name, was, now in changes:
            print(f"{' '.join(row)} on {name}: {was:.3g} in the table, now {now:.3g}")
        return int(bool(changes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
