"""Arguments of bench's functions: defaults, checks, and typed errors."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, cast

import numpy

import smemkit

from .. import _core
from . import peers
from .families import find_class
from .results import Results, is_number
from .stopwatch import CACHES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from .._types import Backend, Machine, Shape
    from .families import Workload
    from .types import Cache, Peer, Peers, Warn

COUNTED_LENGTH, COUNTED_SIDE = 1 << 12, 64  # on the simulator: of one dimension, of more
SIMULATED_MOST = 1 << 32  # operations or bytes; more take the simulator many minutes


def choose_backend(backend: Backend | None) -> Machine:
    """ "cuda" or "sim": the machine of a call with that keyword."""
    return _core.empty(1, "uint8", backend=backend).backend


def default_shape(family: str, backend: Machine) -> int:
    """The shape that is measured where none is given."""
    kind = find_class(family)
    if backend == "cuda":
        return kind.usual_length
    return COUNTED_SIDE if len(kind.read_signature().names) > 1 else COUNTED_LENGTH


def check_one_of(name: str, value: str, accepted: Collection[str]) -> str:
    """The value; ArgumentError unless it is one of the accepted words."""
    if not isinstance(value, str) or value not in accepted:
        words = ", ".join(map(repr, accepted))
        raise smemkit.ArgumentError(f"{name} is {value!r:.80}; accepted: {words}")
    return value


def check_text(name: str, value: str) -> str:
    """The value; ArgumentTypeError unless it is a str."""
    if not isinstance(value, str):
        raise smemkit.ArgumentTypeError(f"{name} must be a str, not {value!r:.80}")
    return value


def check_seconds(seconds: float) -> None:
    """ArgumentError unless seconds is a number, 0 or more."""
    if not is_number(seconds, 0):
        raise smemkit.ArgumentError(f"seconds is {seconds!r:.80}; a number, 0 or more, is needed")


def check_talk(progress: bool | None = None, **functions: Callable[..., object] | None) -> None:
    """ArgumentTypeError unless progress is a bool or None, and each function callable or None."""
    if not isinstance(progress, bool | None):
        raise smemkit.ArgumentTypeError(
            f"progress must be True, False or None, not {progress!r:.80}"
        )
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise smemkit.ArgumentTypeError(
                f"{name} must be a function or None, not {function!r:.80}"
            )


def check_peers(found: Sequence[Peer]) -> list[Peer]:
    """The peers as a list; ArgumentTypeError unless they are a list from peers.find_peers."""
    listed = isinstance(found, list | tuple)
    if not listed or not all(hasattr(peer, "prepare") and hasattr(peer, "name") for peer in found):
        raise smemkit.ArgumentTypeError(
            f"found must be a list of peers (smemkit.bench.peers.find_peers()), not {found!r:.80}"
        )
    return list(found)


def check_seed(seed: int) -> None:
    """ArgumentError for a seed that NumPy's generators do not accept."""
    try:
        numpy.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise smemkit.ArgumentError(f"seed is {seed!r}: {error}") from error


def check_results(results: Results | None) -> None:
    """ArgumentTypeError unless results are Results or None."""
    if results is not None and not isinstance(results, Results):
        raise smemkit.ArgumentTypeError(
            f"results must be Results, as from bench.recorded, not {type(results).__name__}"
        )


def check_work(case: Workload) -> None:
    """ArgumentError for a workload whose simulation would take many minutes."""
    work = max(case.flops or 0, case.nbytes)
    if work > SIMULATED_MOST:
        raise smemkit.ArgumentError(
            f"{case.name} has {work:.2g} operations or bytes: too many for the simulator, which "
            f"would take many minutes (at most {SIMULATED_MOST:.2g}); take a smaller shape, or "
            "bench.memory_wall, which counts a few blocks"
        )


def check_variants(family: str, variants: str | Sequence[str] | None) -> list[str] | None:
    """Checks variants and returns their names; None stands for all."""
    if variants is None:
        return None
    known = smemkit.variants(find_class(family).family)
    try:
        names: list[Any] = [variants] if isinstance(variants, str) else list(variants)
    except TypeError:
        names = [variants]
    for name in names:
        if not isinstance(name, str) or name not in known:
            near = difflib.get_close_matches(str(name), list(known), n=1)
            hint = f"did you mean {near[0]!r}? There are" if near else "there are"
            raise smemkit.ArgumentError(
                f"{family} has no variant {name!r}; {hint} {', '.join(known)}"
            )
    if not names:
        raise smemkit.ArgumentError("variants is empty: name one, or leave it out for all")
    return list(dict.fromkeys(names))


def list_shapes(
    family: str, shapes: Shape | Sequence[Shape] | None, backend: Machine
) -> list[Shape]:
    """The shapes as a list, from one shape, several, or None for the default."""
    if shapes is None:
        return [default_shape(family, backend)]
    if isinstance(shapes, numpy.ndarray):
        shapes = shapes.tolist()  # a 0-d array gives a number
    if isinstance(shapes, range):
        shapes = list(shapes)
    if isinstance(shapes, list):
        if not shapes:
            raise smemkit.ArgumentError("shapes is empty: name one, or leave it out")
        return shapes
    if isinstance(shapes, tuple) and any(isinstance(shape, tuple | list) for shape in shapes):
        return list(shapes)
    return [cast("Shape", shapes)]  # a number, or a tuple of numbers


def list_caches(cache: Cache | Sequence[Cache]) -> tuple[Cache, ...]:
    """Checks cache and returns the states of the L2 cache as a tuple."""
    wanted = (cache,) if isinstance(cache, str) else cache
    try:
        wanted = tuple(dict.fromkeys(wanted))
    except TypeError:
        wanted = ()
    if not wanted or any(state not in CACHES for state in wanted):
        raise smemkit.ArgumentError(
            f"cache is {cache!r}; accepted are 'warm', 'cold' and ('warm', 'cold')"
        )
    return wanted


def list_peers(wanted: Peers, backend: Machine, say: Warn | None) -> list[Peer]:
    """The requested peers that are installed."""
    if wanted is False or wanted is None:
        return []
    if backend != "cuda":
        raise smemkit.BackendError(
            "peers are compared by their times, and the simulator has none: this needs a GPU"
        )
    if isinstance(wanted, list | tuple) and any(hasattr(peer, "prepare") for peer in wanted):
        return check_peers(wanted)
    if wanted is True:
        return peers.find_peers(say)
    listed = isinstance(wanted, list | tuple | set | frozenset)
    names: list[Any] = list(wanted) if listed else [wanted]
    for name in names:
        if not isinstance(name, str) or name not in peers.NAMES:
            raise smemkit.ArgumentError(
                f"there is no peer {name!r:.80}; there are {', '.join(sorted(peers.NAMES))}"
            )
    return peers.find_peers(say, set(names))
