"""What a caller of bench may say, as it is needed; typed errors for what means nothing."""

import math

import numpy

import smemkit

from . import _core, cases, peers
from .results import Results
from .stopwatch import CACHES

DEFAULTS = {"gemm": 4096, "transpose": 8192, "conv2d": 4096, "gather": 1 << 26}  # on a GPU
DEFAULT, DEFAULT_COUNTED, DEFAULT_COUNTED_SQUARE = 1 << 26, 1 << 12, 64
SIMULATED_MOST = 1 << 32  # operations or bytes; beyond that the simulator takes many minutes


def choose_backend(backend):
    """ "cuda" or "sim": where a call with that keyword runs."""
    return _core.empty(1, "uint8", backend=backend).backend


def default_shape(family, backend):
    """What is measured where no shape is given."""
    kind = cases.find_kind(family)
    if backend == "cuda":
        return DEFAULTS.get(family, DEFAULT)
    return DEFAULT_COUNTED_SQUARE if len(kind.names.split()) > 1 else DEFAULT_COUNTED


def check_seconds(seconds):
    """ArgumentError for what is no time."""
    try:
        right = bool(0 <= seconds < math.inf)
    except (TypeError, ValueError):  # an array of several is neither
        right = False
    if not right or isinstance(seconds, bool):
        raise smemkit.ArgumentError(f"seconds is {seconds!r}; a number, 0 or more, is needed")


def check_seed(seed):
    """ArgumentError for what NumPy's generators do not begin with."""
    try:
        numpy.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise smemkit.ArgumentError(f"seed is {seed!r}: {error}") from error


def check_results(results):
    """ArgumentTypeError for what are no Results; None is nothing given."""
    if results is not None and not isinstance(results, Results):
        raise smemkit.ArgumentTypeError(
            f"results are Results, as bench.recorded gives them, not {type(results).__name__}"
        )


def check_work(case):
    """ArgumentError where a simulation would take many minutes."""
    work = max(case.flops or 0, case.nbytes)
    if work > SIMULATED_MOST:
        raise smemkit.ArgumentError(
            f"{case.name} has {work:.2g} operations or bytes: too many for the simulator, which "
            f"would take many minutes (at most {SIMULATED_MOST:.2g}); take a smaller shape, or "
            "bench.memory_wall, which counts a few blocks"
        )


def check_variants(family, variants):
    """The names, after a look; None for all."""
    if variants is None:
        return None
    known = smemkit.variants(cases.find_kind(family).family)
    try:
        names = [variants] if isinstance(variants, str) else list(variants)
    except TypeError:
        names = [variants]
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise smemkit.ArgumentError(
                f"{family} has no variant {name!r}; there are {', '.join(known)}"
            )
    if not names:
        raise smemkit.ArgumentError("variants is empty: name one, or leave it out for all")
    return list(dict.fromkeys(names))


def list_shapes(family, shapes, backend):
    """Shapes as a list: of one, of several, or of none given."""
    if shapes is None:
        return [default_shape(family, backend)]
    if isinstance(shapes, numpy.ndarray | range):
        shapes = list(shapes)
    if isinstance(shapes, list):
        if not shapes:
            raise smemkit.ArgumentError("shapes is empty: name one, or leave it out")
        return shapes
    if isinstance(shapes, tuple) and any(isinstance(one, tuple | list) for one in shapes):
        return list(shapes)
    return [shapes]


def list_caches(cache):
    """The states of the L2 cache that are measured."""
    wanted = (cache,) if isinstance(cache, str) else cache
    try:
        wanted = tuple(dict.fromkeys(wanted))
    except TypeError:
        wanted = ()
    if not wanted or any(one not in CACHES for one in wanted):
        raise smemkit.ArgumentError(
            f"cache is {cache!r}; accepted are 'warm', 'cold' and ('warm', 'cold')"
        )
    return wanted


def list_peers(wanted, backend, say):
    """The peers that are asked for and are here."""
    if wanted is False or wanted is None:
        return []
    if backend != "cuda":
        raise smemkit.BackendError(
            "peers are compared by their times, and the simulator has none: this needs a GPU"
        )
    if isinstance(wanted, list | tuple) and any(hasattr(one, "prepare") for one in wanted):
        return list(wanted)
    if wanted is True:
        return peers.find_peers(say)
    names = {wanted} if isinstance(wanted, str) else set(wanted)
    unknown = names - peers.NAMES
    if unknown:
        raise smemkit.ArgumentError(
            f"there are no peers {sorted(map(str, unknown))}; there are {sorted(peers.NAMES)}"
        )
    return peers.find_peers(say, names)
