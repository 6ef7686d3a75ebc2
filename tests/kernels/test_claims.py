"""What the header of a kernel claims is counted, on the simulator, for shapes and types it names.

A claim is a line below "Claims" of a kernel's header, perhaps with words on lines that follow it:

    // Claims   shared.load.conflicts = 0
    //          global.load.sectors_per_request = 4    float32; n, k multiples of 32: four for a row

It names a counter, its exact value, the conditions (separated by ";"; none: it always holds), and
after a colon what people may want to know. Conditions are element types ("float32"), "k a multiple
of 32", "n, k multiples of 32", "n at least 8", "n at most 512", and "always".
"""

import itertools
import math
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

import smemkit
from smemkit.bench import workloads
from smemkit.bench.families import CLASSES
from smemkit.report.counts import UncountedError

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
    maxima: dict[str, int] = field(default_factory=dict)

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
                    size = min(max(free[place % 3], least), self.maxima.get(name, math.inf))
                chosen[name] = least if turn == 0 and least > 1 and step is None else size
            yield chosen


def read_condition(words, claim, dtypes, names):
    """Add one condition to a claim; ValueError where the words are none."""
    if words in dtypes:
        claim.dtypes += (words,)
        return
    found = re.fullmatch(
        r"([a-z]+(?:, [a-z]+)*) (a multiple of|multiples of|at least|at most) (\d+)", words
    )
    if found is None:
        raise ValueError(f"{words!r} is no condition")
    many = {"a multiple of": False, "multiples of": True}.get(found[2])
    limits = {"at least": claim.minima, "at most": claim.maxima}
    dimensions = found[1].split(", ")
    if many is not None and many != (len(dimensions) > 1):
        raise ValueError(f"{words!r}: singular or plural?")
    for dimension in dimensions:
        if dimension not in names:
            raise ValueError(f"{words!r}: the dimensions are {', '.join(names)}")
        where = limits.get(found[2], claim.multiples)
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


def claims_of(family, variant):
    names = workloads.read_signature(smemkit.families()[family]["signature"])[2]
    dtypes = smemkit.variants(family)[variant]["dtypes"]
    return read_claims(smemkit.source(family, variant), dtypes, names)


KERNELS = [
    (family, name) for family in workloads.list_families() for name in smemkit.variants(family)
]


def list_choices(family, sizes, dtype):
    """Keywords of the calls that a claim is about: those whose results have the type of the default
    call's (the sum of int32 is int64, and a kernel that adds so is another one than a maximum)."""
    choices = [k for regular in (True, False) for k in workloads.list_choices(family, regular)]
    random = np.random.RandomState(0)
    types = [workloads.make_sample(family, sizes, dtype, random, k).expect().dtype for k in choices]
    return [k for k, result in zip(choices, types, strict=True) if result == types[0]]


def demand(claim, report, family, variant):
    """AssertionError unless these launches are the variant's and give what it claims."""
    assert report.sampled is None
    for launch in report.launches:
        assert launch.kernel.startswith(f"{family}_{variant}_"), launch.kernel
    assert report.holds(f"{claim.counter} == {claim.value!r}"), report.counters[claim.counter]


@pytest.mark.parametrize("kernel", KERNELS, ids="/".join)
def test_claims(kernel, rng):
    family, variant = kernel
    names = workloads.read_signature(smemkit.families()[family]["signature"])[2]
    reports = {}
    for claim in claims_of(family, variant):
        dtypes, counted = claim.dtypes or smemkit.variants(family)[variant]["dtypes"], 0
        for dtype, sizes in itertools.product(dtypes, claim.sizes(names)):
            sizes = CLASSES[family].complete_sizes(sizes, dtype)
            for keywords in list_choices(family, sizes, dtype):
                case = (dtype, *sizes.values(), *keywords.values())
                if case not in reports:
                    sample = workloads.make_sample(family, sizes, dtype, rng, keywords)
                    reports[case] = smemkit.profile(sample.call, variant, "sim")
                demand(claim, reports[case], family, variant)
                counted += 1
        assert counted, f"nothing was counted for {claim}"


def profile_gemm(rng, variant, **facts):
    a = rng.standard_normal((64, 64)).astype("float32")
    return smemkit.profile(smemkit.gemm, a, a, variant=variant, backend="sim", **facts)


def test_a_claim_that_was_not_counted_is_no_claim_met(rng):
    report = profile_gemm(rng, "padded")
    demand(Claim("shared.load.conflicts", 0), report, "gemm", "padded")
    with pytest.raises(AssertionError):
        demand(Claim("shared.load.conflicts", 1), report, "gemm", "padded")
    with pytest.raises(AssertionError, match="gemm_padded"):
        demand(Claim("shared.load.conflicts", 0), report, "gemm", "tiled")
    with pytest.raises(AssertionError):
        sampled = profile_gemm(rng, "padded", blocks=1)
        demand(Claim("shared.load.conflicts", 0), sampled, "gemm", "padded")
    with pytest.raises(UncountedError):
        demand(Claim("shared.atomic.conflicts_per_request", 0), report, "gemm", "padded")
    report.refused = (("gemm_padded_float32", "it cannot"),)
    with pytest.raises(UncountedError):
        demand(Claim("shared.load.conflicts", 0), report, "gemm", "padded")


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
        "//          barrier.count = 2  float64; n at most 512: one block\n"
        "// Source   nowhere\n"
        "\n"
        "// Claims   barrier.count = 3\n"
    )
    assert read_claims(source, TYPES, NAMES) == [
        Claim("shared.load.conflicts", 0),
        Claim("shared.store.conflicts_per_request", 15.5),
        Claim("global.load.sectors_per_request", 4, ("float32",), {"n": 32, "k": 32}),
        Claim("barrier.count", 1, (), {"m": 16}, {"k": 8, "n": 8, "m": 20}),
        Claim("barrier.count", 2, ("float64",), maxima={"n": 512}),
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
    assert all(sizes["k"] <= 7 for sizes in Claim("barrier.count", 1, maxima={"k": 7}).sizes(NAMES))


def test_a_wrong_claim_is_seen(rng):
    """The counted value is compared, not taken: columns do conflict, padded ones do not."""
    counted = []
    for variant in ("column", "column_padded"):
        sample = workloads.make_sample("gemm", {"m": 32, "k": 32, "n": 32}, "float32", rng)
        report = smemkit.profile(sample.call, variant, "sim")
        counted.append(report.counters["shared.load.conflicts_per_request"])
    assert counted == [14, 0]
