"""What the header of a kernel claims is counted, on the simulator, for shapes and types it names.

A claim is a line below "Claims" of a kernel's header, perhaps with words on lines that follow it:

    // Claims   shared.load.conflicts = 0
    //          global.load.sectors_per_request = 4    float32; n, k multiples of 32: four for a row

It names a counter, its exact value, the conditions (separated by ";"; none: it always holds), and
after a colon what people may want to know. Conditions are element types ("float32"), "k a multiple
of 32", "n, k multiples of 32", "n at least 8", and "always".
"""

import itertools
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

import smemkit

LINE = re.compile(r"([a-z_]+(?:\.[a-z_]+)+) = ([0-9]+(?:\.[0-9]+)?)(?: +(.*))?")
FREE = ((5, 33, 70), (40, 3, 9), (64, 31, 17))  # sizes for dimensions of which nothing is said


@dataclass
class Claim:
    """A line of a header, understood."""

    counter: str
    value: float
    dtypes: tuple[str, ...] = ()  # none: all of the variant's
    multiples: dict[str, int] = field(default_factory=dict)
    minima: dict[str, int] = field(default_factory=dict)

    def sizes(self, names):
        """Some shapes that the claim is about: for each dimension a size."""
        for turn, free in enumerate(FREE):
            chosen = {}
            for place, name in enumerate(names):
                least, step = self.minima.get(name, 1), self.multiples.get(name)
                if step is not None:
                    size = step * (1 + (turn + place) % 3)
                    size = max(size, -(-least // step) * step)
                else:
                    size = max(free[place % 3], least)
                chosen[name] = least if turn == 0 and least > 1 and step is None else size
            yield chosen


def read_condition(words, claim, dtypes, names):
    """Add one condition to a claim; ValueError where the words are none."""
    if words in dtypes:
        claim.dtypes += (words,)
        return
    found = re.fullmatch(
        r"([a-z]+(?:, [a-z]+)*) (a multiple of|multiples of|at least) (\d+)", words
    )
    if found is None:
        raise ValueError(f"{words!r} is no condition")
    many = {"a multiple of": False, "multiples of": True, "at least": None}[found[2]]
    dimensions = found[1].split(", ")
    if many is not None and many != (len(dimensions) > 1):
        raise ValueError(f"{words!r}: singular or plural?")
    for dimension in dimensions:
        if dimension not in names:
            raise ValueError(f"{words!r}: the dimensions are {', '.join(names)}")
        where = claim.minima if many is None else claim.multiples
        if dimension in where or int(found[3]) < 1:
            raise ValueError(f"{words!r}: said twice, or nothing")
        where[dimension] = int(found[3])


def read_claim(text, dtypes, names):
    """A claim of one line, its continuation lines joined to it."""
    found = LINE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no claim")
    if found[1] not in smemkit.counters():
        raise ValueError(f"{found[1]!r} is no counter")
    claim = Claim(found[1], float(found[2]))
    conditions = (found[3] or "always").split(":")[0].strip()
    if conditions != "always":
        for words in conditions.split(";"):
            read_condition(words.strip(), claim, dtypes, names)
    return claim


def read_claims(source, dtypes, names):
    """All claims of a kernel's header; ValueError where there are none."""
    texts, inside = [], False
    for line in itertools.takewhile(lambda line: line.startswith("//"), source.splitlines()):
        head = re.match(r"// ([A-Z][a-z]+) +", line)
        if head is not None:
            inside = head[1] == "Claims"
        if not inside:
            continue
        words = line[2:].strip().removeprefix("Claims").strip()
        if " = " in words or not texts:
            texts.append(words)
        else:
            texts[-1] += " " + words
    if not texts:
        raise ValueError("the header claims nothing")
    return [read_claim(text, dtypes, names) for text in texts]


def read_signature(signature):
    """([dimensions of each input], all dimensions in order) of "(m,k),(k,n)->(m,n)"."""
    inputs, outputs = (re.findall(r"\(([^()]*)\)", side) for side in signature.split("->"))
    shapes = [[name for name in re.split(r"[ ,]+", core) if name] for core in (*inputs, *outputs)]
    return shapes[: len(inputs)], list(dict.fromkeys(itertools.chain(*shapes)))


def claims_of(family, variant):
    names = read_signature(smemkit.families()[family]["signature"])[1]
    dtypes = smemkit.variants(family)[variant]["dtypes"]
    return read_claims(smemkit.source(family, variant), dtypes, names)


def make_operands(family, sizes, dtype, rng):
    shapes = read_signature(smemkit.families()[family]["signature"])[0]
    return [
        rng.integers(-8, 9, [sizes[name] for name in shape]).astype(np.dtype(dtype))
        for shape in shapes
    ]


KERNELS = [(family, name) for family in smemkit.families() for name in smemkit.variants(family)]


@pytest.mark.parametrize("kernel", KERNELS, ids="/".join)
def test_claims(kernel, rng):
    family, variant = kernel
    names = read_signature(smemkit.families()[family]["signature"])[1]
    reports = {}
    for claim in claims_of(family, variant):
        dtypes = claim.dtypes or smemkit.variants(family)[variant]["dtypes"]
        for dtype, sizes in itertools.product(dtypes, claim.sizes(names)):
            case = (dtype, *sizes.values())
            if case not in reports:
                operands = make_operands(family, sizes, dtype, rng)
                call = getattr(smemkit, family)
                reports[case] = smemkit.profile(call, *operands, variant=variant, backend="sim")
            counted = reports[case].counters[claim.counter]
            assert counted == claim.value, f"{claim.counter} for {dtype} {sizes}"


# The grammar -------------------------------------------------------------------------------------

TYPES, NAMES = ("float32", "float64"), ["m", "k", "n"]


def test_grammar():
    source = (
        "// gemm / imagined\n"
        "// What     nothing = 3 here\n"
        "// Claims   shared.load.conflicts = 0\n"
        "//          shared.store.conflicts_per_request = 15.5 always: 31 for a tile, 0 for b\n"
        "//          global.load.sectors_per_request = 4       float32; n, k multiples of 32:\n"
        "//                                                    one row of 128 bytes\n"
        "//          barrier.count = 1  m a multiple of 16; k, n at least 8; m at least 20\n"
        "// Source   nowhere\n"
        "\n"
        "// Claims   barrier.count = 3\n"
    )
    assert read_claims(source, TYPES, NAMES) == [
        Claim("shared.load.conflicts", 0),
        Claim("shared.store.conflicts_per_request", 15.5),
        Claim("global.load.sectors_per_request", 4, ("float32",), {"n": 32, "k": 32}),
        Claim("barrier.count", 1, (), {"m": 16}, {"k": 8, "n": 8, "m": 20}),
    ]


@pytest.mark.parametrize(
    "words",
    [
        "shared.load.conflict = 0",
        "shared.load.conflicts = few",
        "shared.load.conflicts 0",
        "shared.load.conflicts = 0 float16",
        "shared.load.conflicts = 0 mostly",
        "shared.load.conflicts = 0 k multiples of 8",
        "shared.load.conflicts = 0 k, n a multiple of 8",
        "shared.load.conflicts = 0 z a multiple of 8",
        "shared.load.conflicts = 0 k a multiple of 8; k a multiple of 4",
        "shared.load.conflicts = 0 rows of a not under 32 bytes: they are long",
    ],
)
def test_what_is_no_claim(words):
    with pytest.raises(ValueError):
        read_claims(f"// gemm / imagined\n// Claims   {words}\n", TYPES, NAMES)


def test_no_claims():
    with pytest.raises(ValueError):
        read_claims("// gemm / imagined\n// What     something\n\n", TYPES, NAMES)


def test_sizes_satisfy_their_claim():
    claim = Claim("barrier.count", 1, (), {"m": 16}, {"k": 8, "m": 20})
    shapes = list(claim.sizes(NAMES))
    assert len({tuple(sizes.values()) for sizes in shapes}) == len(FREE)
    for sizes in shapes:
        assert sizes["m"] % 16 == 0 and sizes["m"] >= 20 and sizes["k"] >= 8
    assert any(sizes["k"] == 8 for sizes in shapes)


def test_a_wrong_claim_is_seen(rng):
    """The counted value is compared, not taken: columns do conflict, padded ones do not."""
    counted = []
    for variant in ("column", "column_padded"):
        operands = make_operands("gemm", {"m": 32, "k": 32, "n": 32}, "float32", rng)
        report = smemkit.profile(smemkit.gemm, *operands, variant=variant, backend="sim")
        counted.append(report.counters["shared.load.conflicts_per_request"])
    assert counted == [14, 0]
