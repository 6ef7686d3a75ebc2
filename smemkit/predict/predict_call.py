"""predict: counts a call on the simulator, and predicts its time on a card."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, Literal

from .. import _core, _progress
from .._whole_numbers import read_blocks
from .cards import find_card
from .planning import check_arrays, check_room, plan_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .cards import Card
    from .prediction import Prediction

# Of a launch that are counted, where the caller does not say. Evenly spread over a square grid with
# a power of two as its side, 6 lie neither in one row nor on the diagonal.
BLOCKS = 6
CACHES = ("warm", "cold")


def explain_wait(error: _core.DeadlockError, blocks: int) -> _core.DeadlockError:
    """The error, with what may be its reason where only so many blocks were executed; 0: all."""
    if not blocks:
        return error
    return _core.DeadlockError(
        f"{error}\nOnly {blocks} blocks of each launch were executed, evenly spread; where blocks "
        "wait for others, predict(..., blocks=None) executes all of them"
    )


def predict(
    function: Callable[..., Any],
    *args: Any,
    device: str | Card = "h200",
    cache: Literal["warm", "cold"] = "warm",
    blocks: int | None = BLOCKS,
    **kwargs: Any,
) -> Prediction:
    """Predict what a call would take on a card, term by term, without the card.

    The call is planned for the card, as variant="auto" is chosen there, and runs on the simulator.
    Its counts, the kernel's machine code and the rates of the
    card give the time of each launch. What copies between host and card take is not in it.

    Parameters
    ----------
    function : callable
        A function of smemkit, a RawKernel, or any Python function that launches some.
    *args, **kwargs
        Of the function. Arrays that it writes are incomplete afterwards. Those of NumPy that a
        function of smemkit either reads or writes stay where they are, others are copied; one of
        smemkit.empty(shape, dtype, backend="sim") takes memory only where a kernel writes, so that
        large calls whose time does not depend on values are predicted at once.
    device : str or Card
        The card, as smemkit.card takes it.
    cache : {"warm", "cold"}
        "warm": the call has just run before, so that what fits into the L2 cache is there.
    blocks : int or None
        So many blocks of each launch are counted, evenly spread, and stand for the others; None:
        all of them. Where their work is unequal, or loops run as often as values in memory say, the
        call is made a second time, and as many more are counted as take a fraction of a second.

    Shapes
    ------
    Those of the function.

    Returns
    -------
    Prediction, with time_ms, low_ms, high_ms, limited_by, terms, gains, occupancy, waves, notes;
    print it, or show it in a notebook. The range holds nine in ten of the times that were
    measured on an H200; docs/predict.md has all of them.

    Raises
    ------
    ArgumentTypeError (TypeError) for what cannot be called, ArgumentError (ValueError) for a card
    that is not in the table and where nothing was launched, BackendError and SharedMemoryError for
    a launch that the card cannot run, OutOfMemoryError (MemoryError) where the arrays do not
    fit into the memory of the card, or copies of them into that of this computer, and whatever the
    call raises.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((256, 256), dtype="float32")
    >>> column = smemkit.predict(smemkit.gemm, a, a, variant="column", device="h200")
    >>> padded = smemkit.predict(smemkit.gemm, a, a, variant="column_padded", device="h200")
    >>> column.limited_by, column.time_ms > 2 * padded.time_ms
    ('shared', True)
    """
    if not callable(function):
        raise _core.ArgumentTypeError(
            "predict takes a function and then its arguments, as in "
            f"smemkit.predict(smemkit.gemm, a, b), not {reprlib.repr(function)}"
        )
    if cache not in CACHES:
        raise _core.ArgumentError(f"cache is {cache!r}; accepted are 'warm' and 'cold'")
    number = read_blocks(blocks)
    card = find_card(device)
    check_arrays((*args, *kwargs.values()))
    check_room((*args, *kwargs.values()), card)

    def count(number: int) -> list[Any]:
        return _core._capture(
            "profile", function, args, kwargs, number, True, False, 0, number > 0
        )[1]

    with _progress.operation("predict"), plan_for(card):
        try:
            launches = count(number)
            if number and not any("refused" in launch for launch in launches):
                from .uneven import find_more  # slow to import: not all callers predict

                more = find_more(launches)
                launches = launches if more is None else count(more)
        except _core.BackendError as error:
            words = str(error).replace("this device has", f"{card.name} has")
            raise _core.BackendError(words) from error
        except _core.DeadlockError as error:
            raise explain_wait(error, number) from error
    from .forecast import predict_captured

    return predict_captured(launches, card, cache, getattr(function, "__name__", "the function"))
