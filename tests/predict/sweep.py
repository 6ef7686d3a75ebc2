"""All variants and types on all cards: every prediction is whole, or refused by a typed error.

    python tests/run.py predict.sweep [--rows TEXT]

Small calls of each variant and element type are counted once for each architecture and predicted
for its cards. It prints what is not finite, has its range the wrong way round, or a term without
an amount or a line, and how many were refused, and why.
"""

import argparse
import json
import math
import sys

import numpy
from predict.slowdowns import TYPES

import smemkit
from smemkit import _core
from smemkit.bench.families import find_class
from smemkit.bench.workloads import make_workload
from smemkit.predict.fit import demand_capability
from smemkit.predict.forecast import predict_captured
from smemkit.predict.planning import plan_for
from smemkit.predict.predict_call import BLOCKS

# Terms of the launch as a whole; what waits or comes from all of these has no amount.
WHOLE = ("launch", "longest warp", "turns", "tail wave", "block starts", "multiprocessor")
UNCOUNTED = ("latency", "barriers", "longest warp", "turns", "tail wave", "multiprocessor")
NOTED = 0.05  # share of the time, from which on a term must say its line


def list_rows():
    """(family, variant, type) of all kernels that are called by a function."""
    return [
        (family, name, kind)
        for family, about in _core.families().items()
        if about["signature"]
        for name, facts in _core.variants(family).items()
        for kind in facts["dtypes"]
    ]


def make_case(family, kind):
    """A small call."""
    precision = {"precision": "tf32"} if kind == "tf32" else {}
    sizes = find_class(family).list_ragged()[0]
    shape = tuple(sizes[name] for name in find_class(family).read_signature().names)
    return make_workload(family, shape, TYPES.get(kind, kind), precision)


def list_faults(found):
    """What is wrong with a prediction, in words."""
    if not 0 < found.low_ms < found.time_ms < found.high_ms < math.inf:
        yield f"range {found.low_ms} {found.time_ms} {found.high_ms}"
    if found.limited_by not in found.terms or not found.kernels:
        yield f"limited by {found.limited_by}, which is no term"
    if not 0 < found.occupancy <= 1 or not 0 < found.waves < math.inf:
        yield f"occupancy {found.occupancy}, waves {found.waves}"
    for name, term in found.terms.items():
        if not (0 <= term.time_ms < math.inf and term.meaning and term.name == name):
            yield f"term {term}"
        if name not in UNCOUNTED and not (term.unit and 0 <= term.amount < math.inf):
            yield f"amount of {term}"
        if name not in WHOLE and not term.source and term.time_ms > NOTED * found.time_ms:
            yield f"no line of {term}"
    for name, gain in found.gains.items():
        if not 0 < gain <= found.time_ms * (1 + 1e-9):
            yield f"gain without {name}: {gain}"
    json.dumps(found.to_dict(), allow_nan=False)
    if found.card.name not in str(found) or "<table>" not in found._repr_html_():
        yield "its text or its page"


def predict_all(row, cards):
    """(card, Prediction or the error that refuses it) for each of the cards."""
    family, variant, kind = row
    case = make_case(family, kind)
    inputs = case.make_inputs(numpy.random.default_rng(1))
    out = numpy.empty(case.result_shape, case.result_dtype)
    counted = {}
    for card in cards:
        try:
            needed = _core.variants(family)[variant]["compute_capability"]
            demand_capability(f"{family} variant {variant!r}", needed, card)
            machine = card.compute_capability, card.multiprocessors
            if machine not in counted:
                with plan_for(card):
                    call = (inputs, out, variant)
                    counted[machine] = _core._capture("profile", case.call, call, {}, BLOCKS, True)
            yield card, predict_captured(counted[machine][1], card, "warm", family)
        except smemkit.Error as error:
            yield card, error


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="", help="only of families that begin so")
    chosen = parser.parse_args()
    cards = [smemkit.card(name) for name in smemkit.cards()]
    done, faults, refused = 0, 0, {}
    for row in list_rows():
        if not row[0].startswith(chosen.rows):
            continue
        for card, found in predict_all(row, cards):
            if isinstance(found, smemkit.Error):
                words = f"{type(found).__name__}: {found}".replace(card.name, "the card")
                refused.setdefault(words, []).append(card.name)
                continue
            done += 1
            for words in list_faults(found):
                faults += 1
                print(f"{' '.join(row)} on {card.name}: {words}", flush=True)
    for words, names in refused.items():
        print(f"refused on {', '.join(dict.fromkeys(names))}: {words}")
    print(f"{done} predictions, {faults} faults, {sum(map(len, refused.values()))} refused")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
