"""Calls of the package with another PTX text in place of a kernel's own.

The extension reads kernels beside itself, so a second instance of it, linked into a folder that
holds the other text, runs whole calls with it: plans of several launches, workspaces and all.
"""

import contextlib
import importlib.util
import os
import pathlib
import tempfile

import numpy as np
from tables import PARTS

import smemkit
from smemkit.bench import samples

STEPS = 400_000  # ends mutants that would never end


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
    words = {**sample.keywords, "variant": variant, "backend": "sim"}
    if sample.family == "histogram":  # how many bins says the result
        words["out"] = np.full(sample.sizes["b"], -1, "int64")
    return words


def check_call(core, family, variant, dtype, sizes, keywords=None):
    """What check finds in a call on the simulator; nothing where it launches nothing."""
    sample = samples.make(family, sizes, dtype, np.random.RandomState(7), keywords)
    words = sample_words(sample, variant)
    try:
        return smemkit.check(getattr(core, family), *sample.arrays, **words).findings
    except smemkit.ArgumentError as error:
        assert "launched no kernel" in str(error), error
    except core.StepBudgetError:
        pass  # nothing was found before
    return []


# Shapes ------------------------------------------------------------------------------------------

# Of products, by dimension in the order of the signature.
PRODUCTS = [(64, 64, 64), (32, 32, 32)]
RAGGED_PRODUCTS = [(33, 35, 37), (40, 3, 70), (31, 4, 32), (33, 0, 7), (1000, 1, 2), (9, 19, 21)]
TIED = {"histogram": ("e", "b")}  # dimensions that go together
# Filters that do not fit into one piece of what a kernel stages of them.
MORE = {"conv2d": [{"h": 21, "w": 40, "p": 19, "q": 70}]}


def regular(family):
    """Sizes that tiles divide."""
    if family == "gemm":
        return [dict(zip("mkn", sizes, strict=True)) for sizes in PRODUCTS]
    return [samples.list_sizes(family)[0]]


def ragged(family):
    """Sizes with something left over, and each dimension in turn small, or one."""
    if family == "gemm":
        return [dict(zip("mkn", sizes, strict=True)) for sizes in RAGGED_PRODUCTS]
    sizes = list(samples.list_sizes(family)[1:])
    free = [name for name in sizes[0] if name not in TIED.get(family, ())]
    sizes += MORE.get(family, [])
    return sizes + [sizes[0] | {name: size} for name in free for size in (33, 1)]


def keywords_of(family, variant, entry):
    """(element type, keywords) of what calls "<family>_<variant>[_<part>][_<choice>]_<type>"."""
    *choice, dtype = entry.removeprefix(f"{family}_{variant}_").split("_")
    choice = [word for word in choice if word not in PARTS.get((family, variant), ())]
    for keywords in samples.list_choices(family):
        if list(keywords.values()) == choice:
            return dtype, keywords
    raise AssertionError(f"no call of {family} runs {entry}")
