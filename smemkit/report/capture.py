"""profile and check: a call whose launches on the simulator are captured and reported."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

import numpy

from .. import _core, _progress
from .._configured import ConfiguredKernel
from .._whole_numbers import read_blocks, read_int
from ._findings import CheckReport
from ._report import Report
from .counts import UncountedError, split_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, TypeAlias

    from .._core import RawKernel
    from ._captured import Checked, Counted, Ran, Refused

    Verb: TypeAlias = Literal["profile", "check"]

WARM_UPS, REPEATS = 3, 11  # of a timed call; the median of an odd number is a sample


def _prepare(verb: Verb, function: object, blocks: int | None) -> int:
    """Checks both arguments and returns the number of blocks, 0 for all."""
    if not callable(function):
        raise _core.ArgumentTypeError(
            f"{verb} takes a function and then its arguments, as in "
            f"smemkit.{verb}(smemkit.gemm, a, b), not {reprlib.repr(function)}"
        )
    return read_blocks(blocks)


def _demand_launches(verb: Verb, function: object, launches: Iterable[Ran | Refused]) -> None:
    """Raises an error unless a launch ran to its end."""
    ran, refused = split_refused(launches)
    name = getattr(function, "__name__", type(function).__name__)
    if refused and not ran:
        kernel, message = refused[0]
        raise UncountedError(
            f"{verb}: no launch of {name} ran to its end, so there is nothing to report; {kernel}: "
            f"{message}"
        )
    module = getattr(function, "__module__", None) or ""
    own = name in _core.families() and module.startswith("smemkit.")
    if not ran and not (verb == "check" and own):  # ours launch none for empty arrays
        raise _core.ArgumentError(
            f"{verb}: {name} launched no kernel in this thread, so there is nothing to report; "
            "give it arguments that are not empty, and launch in the thread that called"
        )


def _find_source(function: object) -> str | None:
    """The CUDA C source of a RawKernel, or None."""
    return function.source if isinstance(function, _core.RawKernel | ConfiguredKernel) else None


TWICE = {
    "profile": "profile counts on the simulator before it times on the GPU",
    "check": "check runs a call twice where order is 'both'",
}


def _copy(value: Any, made: dict[int, numpy.ndarray[Any, Any]], verb: Verb) -> Any:
    """The value with copies of its NumPy arrays; an array that occurs twice is copied once."""
    if isinstance(value, _core.DeviceArray):
        raise _core.BackendError(
            f"{TWICE[verb]}: pass NumPy arrays (smemkit.asnumpy) instead of device arrays"
        )
    if isinstance(value, numpy.ndarray):
        if id(value) not in made:
            copy = numpy.array(value, order="K", copy=True, subok=True)
            copy.flags.writeable = value.flags.writeable
            made[id(value)] = copy
        return made[id(value)]
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(_copy(item, made, verb) for item in value)
    if type(value) is dict:
        return {key: _copy(item, made, verb) for key, item in value.items()}
    return value


def _copy_call(
    args: tuple[Any, ...], kwargs: dict[str, Any], verb: Verb = "profile"
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with copies of their arrays."""
    made: dict[int, numpy.ndarray[Any, Any]] = {}
    return _copy(args, made, verb), _copy(kwargs, made, verb)


def _time(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    launches: list[Counted | Refused],
) -> tuple[Any, list[tuple[float, ...]]]:
    """The result of the last, real call, and samples in milliseconds for each of the launches."""
    samples = []
    for _ in range(WARM_UPS + REPEATS):
        copies, words = _copy_call(args, kwargs)
        samples.append(_core._capture("time", function, copies, words, 0, True)[1])
    result, last = _core._capture("time", function, args, kwargs, 0, True)
    expected = [launch["kernel"] for launch in launches]
    for sample in [*samples, last]:
        found = [launch["kernel"] for launch in sample]
        if found != expected:
            raise _core.BackendError(
                f"profile: the call launched {expected} on the simulator and {found} on the GPU; "
                "time them separately"
            )
    kept = samples[WARM_UPS:]
    return result, [
        tuple(repeat[number]["time_ms"] for repeat in kept) for number in range(len(expected))
    ]


def profile(
    function: Callable[..., Any] | RawKernel,
    *args: Any,
    blocks: int | None = None,
    model: bool = True,
    **kwargs: Any,
) -> Report:
    """Run a call on the simulator and count what its kernels do, by source line.

    Parameters
    ----------
    function : callable
        A function of smemkit, a RawKernel, or any Python function that launches some.
    *args, **kwargs
        Of the function. With backend="cuda" the counts come from a simulator run on copies of the
        arguments; then the call is timed on the GPU (warm-up, 11 repeats on copies, and one call on
        the arguments themselves, which gives the result).
    blocks : int, optional
        Counts only so many blocks of each launch, evenly spread; the others do not run, so the
        result is incomplete. Every view says so.
    model : bool
        Count the accesses of the machine code: where ptxas can prove the alignment it fuses
        neighbouring accesses into one of up to 16 bytes, and it drops loads that nobody needs. The
        counts were compared with Nsight Compute's on an H200. False: count the PTX as written.

    Shapes
    ------
    Those of the function.

    Returns
    -------
    Report, with result, counters, lines, launches, advice, time_ms, access(), picture(), holds(),
    compare(), to_dict(), to_dataframe(); print it, or show it in a notebook.

    Raises
    ------
    ArgumentTypeError (TypeError) for what cannot be called, ArgumentError (ValueError) where
    nothing was launched, BackendError without the GPU that was asked for, and whatever the call
    raises.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> report.counters["shared.load.conflicts"] > 0
    True
    >>> report.counters["global.load.sectors_per_request"]
    4.0
    """
    number = _prepare("profile", function, blocks)
    given = _find_source(function)
    if kwargs.get("backend") != "cuda":
        with _progress.operation("profile"):
            result, launches = _core._capture(
                "profile", function, args, kwargs, number, bool(model)
            )
        _demand_launches("profile", function, launches)
        return Report(launches, result, blocks=number, given=given)
    copies, words = _copy_call(args, kwargs)
    device = _core.device_info(backend="cuda")  # raises the call's error where there is no GPU
    words["backend"] = "sim"
    with _progress.operation("profile"):
        _, launches = _core._capture("profile", function, copies, words, number, bool(model))
    _demand_launches("profile", function, launches)
    result, times = _time(function, args, kwargs, launches)
    report = Report(launches, result, blocks=number, given=given)
    for launch, times_ms in zip(report.launches, times, strict=True):
        launch.times_ms = times_ms
    report.origin["timed_on"] = device["name"]
    return report


ORDERS: dict[str, tuple[bool, ...]] = {
    "forward": (False,),
    "reverse": (True,),
    "both": (True, False),
}


def _read_order(order: str, padding: int) -> tuple[tuple[bool, ...], int]:
    """Checks both arguments: (whether each pass is reversed, bytes of padding)."""
    if not isinstance(order, str) or order not in ORDERS:
        raise _core.ArgumentError(
            f"order is {order!r}; accepted are {', '.join(map(repr, ORDERS))}"
        )
    number = read_int(padding)
    if number is None:
        raise _core.ArgumentTypeError(f"padding must be an int, not {padding!r}")
    if number < 0:
        raise _core.ArgumentError(f"padding is {number} bytes; it cannot be negative")
    return ORDERS[order], number


def check(
    function: Callable[..., Any] | RawKernel,
    *args: Any,
    blocks: int | None = None,
    ignore_same_value: bool = False,
    order: Literal["forward", "reverse", "both"] = "forward",
    padding: int = 0,
    **kwargs: Any,
) -> CheckReport:
    """Run a call on the simulator and look for races, missing barriers and accesses out of bounds.

    Parameters
    ----------
    function : callable
        A function of smemkit, a RawKernel, or any Python function that launches some.
    *args, **kwargs
        Of the function.
    blocks : int, optional
        Checks only so many blocks of each launch, evenly spread; the others do not run.
    ignore_same_value : bool
        Leaves out races of stores that all write one value (a flag that many threads raise); the
        report counts them as ignored. They are races by PTX's memory model, and mostly harmless.
    order : {"forward", "reverse", "both"}
        "reverse" begins with the last block, and in each block with the last warp: what the thread
        that comes first does wrong (a lock taken without a fence) shows where it comes last. "both"
        runs the call twice, first in reverse on copies of its NumPy arrays.
    padding : int
        So many bytes are kept free between shared variables, and behind each array that the call
        brings to the simulator: an access that strays so far from its own is out_of_bounds, by
        whatever way its address was made. At most 2**20.

    Shapes
    ------
    Those of the function.

    Returns
    -------
    CheckReport: true where nothing was found; findings is a list of Finding, each with kind
    ("out_of_bounds", "overrun", "misaligned", "barrier", "race", "global_race", "warp_hazard",
    "uninitialized", "shuffle", "async_read"; in this order), message, action (what to do about
    it), count, and first and second: the accesses, with file, line, text, block, thread, address,
    space, variable, bytes and op; same_value is true of a race of two stores of one value.
    Findings of one kind, pair of lines and variable are one, with their count. An overrun is an
    access by way of one variable or argument that lands in the memory of another. Of local memory
    and of shuffles (from a lane outside of the mask, or one that has exited) second is where the
    undefined value is used: stored, as an address, or by a branch. incomplete is not 0 where one
    byte had more accesses of blocks that wait for each other than are remembered: races may have
    been missed then, and the report's text says so.

    Two accesses race where they touch one byte, come from two threads, one of them writes, not
    both are atomic or strong, and nothing orders them. PTX's memory model decides: volatile
    accesses are strong and do not race with each other, even where an update is lost. Scopes count:
    atomicAdd_block from several blocks races, and __threadfence_block() hands nothing to another
    block. Fences and atomics order single lanes, so a lock that the lanes of a warp take in turn is
    right where its fences are.

    Raises
    ------
    ArgumentTypeError (TypeError) for what cannot be called, ArgumentError (ValueError) where
    nothing was launched, BackendError for backend="cuda", and whatever the call raises. What the
    kinds above name is a finding, not an error; a launch in which nothing was found is ended by
    TrapError (a trap, an assert that fails), DeadlockError (threads that wait without end, unless
    all wait at barriers), StepBudgetError or UnsupportedError, as a call is. Where something was
    found, stopped says so instead. What is read out of bounds or at a misaligned address is 0: a
    block that goes on with that for long, or does it tens of thousands of times, is stopped too.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((40, 40), dtype="float32")
    >>> report = smemkit.check(smemkit.gemm, a, a, variant="tiled")
    >>> bool(report), report.findings
    (True, [])
    """
    number = _prepare("check", function, blocks)
    if not isinstance(ignore_same_value, bool):
        raise _core.ArgumentTypeError(
            f"ignore_same_value is True or False, not {reprlib.repr(ignore_same_value)}"
        )
    passes, room = _read_order(order, padding)
    found: list[Checked | Refused] = []
    for reverse in passes:
        again = len(passes) > 1 and reverse  # only the last pass changes the arguments themselves
        given, words = _copy_call(args, kwargs, "check") if again else (args, kwargs)
        with _progress.operation("check"):
            result, launches = _core._capture(
                "check", function, given, words, number, True, reverse, room
            )
        _demand_launches("check", function, launches)
        found += launches
    return CheckReport(
        found,
        result,
        blocks=number,
        given=_find_source(function),
        ignore_same_value=ignore_same_value,
    )
