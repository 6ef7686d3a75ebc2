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
from support.tables import PARTS

import smemkit
from smemkit.bench import workloads
from smemkit.bench.families import CLASSES

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
    return {**sample.keywords, **sample.make_out(), "variant": variant, "backend": "sim"}


def check_call(core, family, variant, dtype, sizes, keywords=None):
    """What check finds in a call on the simulator; nothing where it launches nothing."""
    sample = workloads.make_sample(family, sizes, dtype, np.random.RandomState(7), keywords)
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


def keywords_of(family, variant, entry):
    """(element type, keywords) of what calls "<family>_<variant>[_<part>][_<choice>]_<type>"."""
    *choice, dtype = entry.removeprefix(f"{family}_{variant}_").split("_")
    choice = [word for word in choice if word not in PARTS.get((family, variant), ())]
    for keywords in workloads.list_choices(family):
        if list(keywords.values()) == choice:
            return dtype, keywords
    raise AssertionError(f"no call of {family} runs {entry}")
