"""Calls of the package with another PTX text in place of a kernel's own.

The extension reads kernels beside itself, so a second instance of it, linked into a folder that
holds the other text, runs whole calls with it: plans of several launches, workspaces and all.
"""

import contextlib
import functools
import importlib.util
import os
import pathlib
import tempfile

import numpy as np
import pytest
from support.tables import PARTS

import smemkit
from smemkit.bench import workloads
from smemkit.bench.families import CLASSES

STEPS = 600_000  # ends mutants that would never end


@contextlib.contextmanager
def altered(family, variant, text, steps=STEPS):
    """The extension, with `text` as the PTX of a variant."""
    own = pathlib.Path(smemkit._core.__file__)
    kept = os.environ.get("SMEMKIT_MAX_STEPS")
    with tempfile.TemporaryDirectory() as folder:
        link = pathlib.Path(folder, own.name)
        link.symlink_to(own)
        path = pathlib.Path(folder, "kernels", family, f"{variant}.ptx")
        path.parent.mkdir(parents=True)
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(smemkit._core.__name__, link)
        core = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(core)
        os.environ["SMEMKIT_MAX_STEPS"] = str(steps)
        try:
            yield core
        finally:
            del os.environ["SMEMKIT_MAX_STEPS"]
            if kept is not None:
                os.environ["SMEMKIT_MAX_STEPS"] = kept


def sample_words(sample, variant):
    """The keywords of a call on the simulator."""
    return {**sample.keywords, **sample.make_out(), "variant": variant, "backend": "sim"}


def find_sample(family, dtype, sizes, keywords=None):
    """A call's operands and what it must give, which many altered texts share."""
    return make_sample(family, dtype, tuple(sizes.items()), tuple((keywords or {}).items()))


@functools.lru_cache(maxsize=32)
def make_sample(family, dtype, sizes, keywords):
    """With "turned" among the sizes, neighbours of a row of the operands lie apart."""
    random, plain = np.random.RandomState(7), {name: x for name, x in sizes if name != "turned"}
    sample = workloads.make_sample(family, plain, dtype, random, dict(keywords))
    if len(plain) < len(sizes):
        sample.arrays = [np.asfortranarray(array) for array in sample.arrays]
    sample.expect = functools.cache(sample.expect)
    return sample


def list_launched(family, variant, dtype, shapes, keywords=None):
    """Entries that the package's calls launch on the present simulated machine."""
    machine, chosen = os.environ.get("SMEMKIT_SM_COUNT"), tuple((keywords or {}).items())
    calls = (tuple(sizes.items()) for sizes in shapes)
    launched = (list_of_call(family, variant, dtype, call, chosen, machine) for call in calls)
    return frozenset().union(*launched)


@functools.cache
def list_of_call(family, variant, dtype, sizes, keywords, machine):
    sample, call = make_sample(family, dtype, sizes, keywords), getattr(smemkit._core, family)
    try:
        report = smemkit.profile(call, *sample.arrays, **sample_words(sample, variant))
    except smemkit.ArgumentError as error:
        assert "launched no kernel" in str(error), error
        return frozenset()
    return frozenset(launch.kernel for launch in report.launches)


def check_call(core, family, variant, dtype, sizes, keywords=None):
    """What check finds in a call on the simulator; nothing where it launches nothing."""
    sample = find_sample(family, dtype, sizes, keywords)
    words = sample_words(sample, variant)
    try:
        return smemkit.check(getattr(core, family), *sample.arrays, **words).findings
    except smemkit.ArgumentError as error:
        assert "launched no kernel" in str(error), error
    except core.StepBudgetError:
        pass  # nothing was found before
    return []


# Shapes ------------------------------------------------------------------------------------------


def regular(family):
    """Sizes that tiles divide."""
    return CLASSES[family].list_regular()


def ragged(family):
    """Sizes with something left over."""
    return CLASSES[family].list_ragged()


def by_layout(sizes):
    """Four calls: k as it is and one more, n as it is and one more."""
    return tuple(
        {**sizes, "k": sizes["k"] + i, "n": sizes["n"] + j} for i in range(2) for j in range(2)
    )


# {folder/kernel: {part of the entry's name: sizes for which a plan takes it on a machine of one
# multiprocessor}}: those above take other tiles there, or other launches.
OF_PART = {
    "gemm/tensor": {
        "": ({"m": 128, "k": 640, "n": 256},),
        "small": ({"m": 64, "k": 640, "n": 128},),
        "lay_out": ({"m": 66, "k": 67, "n": 69},),
    },
    "gemm/overlapped": {
        # of some types the last step is where sums are put
        "": tuple({"m": 64, "k": k, "n": 128} for k in (640, 288, 1280)),
        "square": tuple({"m": 64, "k": k, "n": 64} for k in (512, 256, 1024)),
        "small": ({"m": 32, "k": 640, "n": 64}, {"m": 32, "k": 288, "n": 64}),
        "low": ({"m": 16, "k": 832, "n": 128}, {"m": 16, "k": 416, "n": 128}),
        "lay_out": ({"m": 66, "k": 67, "n": 69},),
    },
    "gemm/tf32": {
        "": ({"m": 128, "k": 320, "n": 256},),
        "small": ({"m": 64, "k": 320, "n": 128},),
        "lay_out": ({"m": 66, "k": 67, "n": 69},),
        "raw": ({"m": 64, "k": 96, "n": 128}, {"m": 63, "k": 92, "n": 124}),
    },
    "gemm/vector": {
        "": (
            {"m": 130, "k": 1072, "n": 1},
            {"m": 1, "k": 2100, "n": 1},
            {"m": 2, "k": 2048, "n": 1},
        ),
        "row": ({"m": 130, "k": 1071, "n": 1}, {"m": 9, "k": 37, "n": 1}),
        "along2": ({"m": 129, "k": 1064, "n": 2}, {"m": 20, "k": 600, "n": 2}),
        "along4": ({"m": 130, "k": 1065, "n": 3}, {"m": 20, "k": 600, "n": 3}),
        "along8": ({"m": 130, "k": 1064, "n": 7}, {"m": 20, "k": 600, "n": 7}),
        "across": ({"m": 1, "k": 530, "n": 512},),
        "slant": ({"m": 1, "k": 530, "n": 513},),
        "stripe": ({"m": 1, "k": 230, "n": 530}, {"m": 1, "k": 1070, "n": 30}),
        "narrow": ({"m": 1, "k": 1070, "n": 3}, {"m": 1, "k": 600, "n": 7}),
        "across2": ({"m": 2, "k": 1064, "n": 532},),
        "across4": ({"m": 3, "k": 1065, "n": 531},),
        "across8": ({"m": 7, "k": 1064, "n": 532},),
    },
    "gemm/direct": {
        "": ({"m": 61, "k": 101, "n": 5}, {"m": 64, "k": 128, "n": 4}),
        "low": ({"m": 3, "k": 237, "n": 4}, {"m": 8, "k": 180, "n": 4}),
        "wide": ({"m": 3, "k": 101, "n": 190}, {"m": 4, "k": 100, "n": 164}),
        "tall": ({"m": 231, "k": 101, "n": 9}, {"m": 250, "k": 101, "n": 4}),
        "square": ({"m": 35, "k": 101, "n": 64}, {"m": 61, "k": 40, "n": 61}),
        "broad": ({"m": 125, "k": 301, "n": 123}, {"m": 125, "k": 300, "n": 126}),
        "joint": ({"m": 125, "k": 281, "n": 4}, {"m": 125, "k": 93, "n": 9}),
        "broad_quads": ({"m": 128, "k": 300, "n": 128}, {"m": 100, "k": 20, "n": 100}),
        "joint_quads": ({"m": 40, "k": 92, "n": 40}, {"m": 256, "k": 96, "n": 16}),
        "flat_quads": ({"m": 64, "k": 40, "n": 64}, {"m": 3, "k": 20, "n": 100}),
    },
    "gemm/fma": {
        "": ({"m": 31, "k": 101, "n": 36}, {"m": 24, "k": 104, "n": 36}),
        "large": ({"m": 40, "k": 133, "n": 65}, {"m": 40, "k": 140, "n": 100}),
        "wide": ({"m": 40, "k": 133, "n": 37}, {"m": 20, "k": 140, "n": 100}),
        "low": ({"m": 1, "k": 101, "n": 1}, {"m": 1, "k": 40, "n": 4}),
        "broad": ({"m": 70, "k": 133, "n": 101}, {"m": 70, "k": 140, "n": 100}),
        "thin": ({"m": 31, "k": 65, "n": 2}, {"m": 20, "k": 152, "n": 4}),
        "column": ({"m": 40, "k": 65, "n": 1}, {"m": 40, "k": 40, "n": 4}),
        "row": ({"m": 1, "k": 65, "n": 37}, {"m": 1, "k": 40, "n": 200}),
        "rows4": ({"m": 3, "k": 65, "n": 65}, {"m": 2, "k": 40, "n": 68}),
        "rows8": ({"m": 5, "k": 65, "n": 65}, {"m": 5, "k": 152, "n": 68}),
        "short": ({"m": 40, "k": 31, "n": 37}, {"m": 40, "k": 100, "n": 40}),
        "short_broad": ({"m": 70, "k": 101, "n": 101}, {"m": 70, "k": 36, "n": 100}),
        "short_wide": ({"m": 17, "k": 83, "n": 49}, {"m": 24, "k": 36, "n": 40}),
        "short_tall": ({"m": 40, "k": 65, "n": 20}, {"m": 60, "k": 84, "n": 20}),
    },
    "gemm/lean": {
        "tall": ({"m": 97, "k": 106, "n": 23}, {"m": 98, "k": 106, "n": 28}),
        "upright": ({"m": 69, "k": 55, "n": 26}, {"m": 68, "k": 51, "n": 24}),
        "broad": ({"m": 66, "k": 85, "n": 65}, {"m": 70, "k": 52, "n": 132}),
        "square": ({"m": 34, "k": 59, "n": 37}, {"m": 114, "k": 58, "n": 44}),
        "odd": ({"m": 33, "k": 55, "n": 35}, {"m": 17, "k": 70, "n": 44}),
        "wide": ({"m": 35, "k": 61, "n": 44},),
        "panel": ({"m": 10, "k": 58, "n": 68},),
        "rows2": ({"m": 5, "k": 56, "n": 47}, {"m": 5, "k": 89, "n": 52}),
        "rows4": ({"m": 8, "k": 245, "n": 31}, {"m": 15, "k": 213, "n": 24}),
        "rows8_wide": ({"m": 10, "k": 65, "n": 53}, {"m": 10, "k": 58, "n": 44}),
        "": ({"m": 21, "k": 60, "n": 27}, {"m": 22, "k": 70, "n": 28}),
    },
    "gemm/dmma": {
        # those that look ahead have their code for each layout of the operands: k, n even or not
        "": by_layout({"m": 250, "k": 300, "n": 130}),
        "wide": by_layout({"m": 60, "k": 301, "n": 250}),
        "large": by_layout({"m": 120, "k": 602, "n": 66}),
        "square": by_layout({"m": 33, "k": 200, "n": 130}),
        "flat": by_layout({"m": 8, "k": 100, "n": 100}),
        "turned": ({"m": 66, "k": 71, "n": 250, "turned": 1},),
        "turned_square": ({"m": 35, "k": 70, "n": 34, "turned": 1},),
        "joint": (*by_layout({"m": 64, "k": 200, "n": 24}), {"m": 33, "k": 71, "n": 31}),
        # of 4 steps the last one lies where the sums meet
        "small": (
            {"m": 33, "k": 71, "n": 31, "turned": 1},
            {"m": 33, "k": 200, "n": 31, "turned": 1},
        ),
        "thin": ({"m": 30, "k": 200, "n": 4}, {"m": 40, "k": 71, "n": 5}),
        "low": ({"m": 3, "k": 200, "n": 24}, {"m": 3, "k": 201, "n": 24}),
    },
    "gemm/tuned": {
        "": ({"m": 256, "k": 76, "n": 250}, {"m": 256, "k": 77, "n": 250}),
        "narrow": ({"m": 3, "k": 237, "n": 62}, {"m": 12, "k": 80, "n": 62}),
    },
    "gemm/unstaged": {
        "": ({"m": 30, "k": 33, "n": 15}, {"m": 17, "k": 33, "n": 16}),
        "large": ({"m": 40, "k": 6, "n": 36}, {"m": 33, "k": 9, "n": 33}),
        "apart": ({"m": 70, "k": 33, "n": 13}, {"m": 64, "k": 21, "n": 1}),
        "apart_large": ({"m": 70, "k": 7, "n": 61}, {"m": 67, "k": 3, "n": 33}),
    },
    "gemm/short_k": {"": ({"m": 70, "k": 3, "n": 140},)},
    # of 3 columns many values meet: by element, and in IN_PARTS in packs
    "reduce_axis/strip": {
        "": (
            {"m": 2, "n": 64, "k": 32},
            {"m": 3, "n": 131, "k": 37},
            {"m": 1, "n": 801, "k": 3},
        )
    },
    "scan/single_pass": {"": ({"n": 40_007},), "small": ({"n": 9000}, {"n": 7})},
    "sort/shuffle": {"": ({"n": 500}, {"n": 1003}, {"n": 2000}, {"n": 4001})},
}

# {folder/kernel: {part of the entry's name: (multiprocessors, sizes ...)}}: calls whose plan cuts k
# on that machine, for barriers and guards of which the calls above find nothing.
IN_PARTS = {
    "gemm/vector": {
        "across": (16, {"m": 1, "k": 2800, "n": 96}),
        "slant": (24, {"m": 1, "k": 2900, "n": 131}),
        "stripe": (4, {"m": 1, "k": 1300, "n": 30}),
    },
    "gemm/fma": {
        "": (1, {"m": 20, "k": 2100, "n": 20}),
        "large": (1, {"m": 40, "k": 1500, "n": 36}),
        "broad": (1, {"m": 40, "k": 1500, "n": 100}),
        "wide": (3, {"m": 20, "k": 1001, "n": 100}),
        "low": (1, {"m": 3, "k": 2100, "n": 4}),
        "thin": (1, {"m": 20, "k": 600, "n": 4}),
        "column": (1, {"m": 40, "k": 1600, "n": 4}),
        "row": (2, {"m": 1, "k": 600, "n": 36}),
        "rows4": (4, {"m": 2, "k": 600, "n": 36}),
        "rows8": (1, {"m": 5, "k": 2100, "n": 68}),
    },
    "gemm/lean": {
        "tall": (2, {"m": 73, "k": 600, "n": 10}),
        "upright": (2, {"m": 108, "k": 300, "n": 10}),
        "broad": (1, {"m": 68, "k": 1000, "n": 37}),
        "square": (1, {"m": 35, "k": 1000, "n": 34}),
        "odd": (1, {"m": 17, "k": 300, "n": 43}),
        "wide": (3, {"m": 37, "k": 300, "n": 36}),
        "panel": (3, {"m": 23, "k": 1500, "n": 72}),
        "rows2": (12, {"m": 2, "k": 600, "n": 21}),
        "rows4": (2, {"m": 3, "k": 1000, "n": 11}),
        "rows8_wide": (1, {"m": 5, "k": 1000, "n": 34}),
        "": (8, {"m": 32, "k": 300, "n": 10}),
    },
    "gemm/dmma": {
        "thin": (4, {"m": 30, "k": 2600, "n": 4}),
        "low": (2, {"m": 3, "k": 1300, "n": 24}),
        "small": (2, {"m": 33, "k": 1300, "n": 31, "turned": 1}),
        "flat": (3, *by_layout({"m": 24, "k": 1300, "n": 100})),
        "turned_square": (1, {"m": 35, "k": 1300, "n": 34, "turned": 1}),
        "large": (3, {"m": 128, "k": 1500, "n": 128}),  # whose sums a launch adds
        "joint": (2, *by_layout({"m": 24, "k": 1300, "n": 30})),
        "square": (2, *by_layout({"m": 33, "k": 1300, "n": 130})),
    },
    "reduce_axis/panel": {"": (132, {"m": 1, "n": 300, "k": 5})},
    "reduce_axis/strip": {"": (132, {"m": 1, "n": 2800, "k": 3})},  # many of a column meet
}


def part_of(family, variant, entry):
    """The part of an entry's name; "" where it has the variant's."""
    words = entry.removeprefix(f"{family}_{variant}").strip("_")
    parts = PARTS.get((family, variant), ())
    return next(
        (part for part in sorted(parts, key=len, reverse=True) if words.startswith(part)), ""
    )


def sizes_for(family, variant, entry):
    """The sizes that run an entry: its own, where it has some, else those of the family."""
    own = OF_PART.get(f"{family}/{variant}", {}).get(part_of(family, variant, entry))
    return own or (*regular(family)[:1], *ragged(family))


@contextlib.contextmanager
def multiprocessors(count):
    """A simulated machine that has so many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMEMKIT_SM_COUNT", str(count))
        yield


def small_machine(family, variant):
    """One multiprocessor, for kernels whose plan takes a tile by how many there are."""
    return multiprocessors(1) if f"{family}/{variant}" in OF_PART else contextlib.nullcontext()


def in_parts(family, variant, entry):
    """[(multiprocessors, sizes)] of the calls in which k is cut; none where no plan cuts it."""
    return all_in_parts(family, variant).get(part_of(family, variant, entry), [])


def all_in_parts(family, variant):
    """{part: [(multiprocessors, sizes)]} of a variant's calls in which k is cut."""
    parts = IN_PARTS.get(f"{family}/{variant}", {})
    return {part: [(count, sizes) for sizes in calls] for part, (count, *calls) in parts.items()}


def keywords_of(family, variant, entry):
    """(element type, keywords) of what calls "<family>_<variant>[_<part>][_<choice>]_<type>"."""
    rest = entry.removeprefix(f"{family}_{variant}_").removeprefix(part_of(family, variant, entry))
    *choice, dtype = rest.strip("_").split("_")
    for keywords in workloads.list_choices(family):
        if list(keywords.values()) == choice:
            return dtype, keywords
    raise AssertionError(f"no call of {family} runs {entry}")
