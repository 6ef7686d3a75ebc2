"""What variant="auto" takes for a call, and what it weighs."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import TYPE_CHECKING

from .. import _core
from .._version import __version__
from ._layout import tabulate, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias

    from ..predict import Card

    Launched: TypeAlias = tuple[str, tuple[int, int, int], tuple[int, int, int], int]

HEADINGS = ("variant", "predicted", "tile", "parts", "kernels", "blocks", "workspace")
NUMBERS = (1, 3, 5, 6)
UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))
MEASURED = "9.0"  # the compute capability of the card whose speeds and times are weighed
MACHINES = ("sim", "cuda")  # how texts begin that name a machine of this computer, not a card
SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def _write_time(time_us: float) -> str:
    for size, unit in UNITS:
        if time_us >= size:
            return f"{time_us / size:.1f} {unit}"
    return f"{time_us:.2f} us"


def _write_bytes(count: int) -> str:
    for size, unit in SIZES:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes" if count else "-"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A variant and its plan for a call.

    Attributes
    ----------
    variant, summary : str
        As in smemkit.variants.
    takes_part : bool
        False for exhibits that "auto" never takes.
    refusal : str or None
        Why the variant cannot run the call; what follows is then empty.
    time_us : float or None
        Predicted for an H200, or for the card that Choice.predicted_for names: of all launches, and
        of copies of operands that come before them.
        None where the family's kernels are compared by their speed alone.
    speed : float
        The greatest is taken.
    launches : tuple
        (kernel, grid, block, bytes of dynamic shared memory) of each launch.
    repeats : int
        The launches run so many times, where they make one item of a stack.
    copies : bool
        Operands are copied into C order before.
    workspace_bytes : int
        Of device memory, for the time of the call.
    tile : (int, int) or None
        Rows and columns of the result that a block makes.
    parts : int or None
        A sum is cut into so many parts, which different blocks add.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> naive = smemkit.explain_choice(smemkit.gemm, a, a, backend="sim")["naive"]
    >>> naive.takes_part, naive.refusal, naive.parts
    (True, None, 1)
    """

    variant: str
    summary: str
    takes_part: bool
    refusal: str | None
    time_us: float | None
    speed: float
    launches: tuple[Launched, ...]
    repeats: int
    copies: bool
    workspace_bytes: int
    tile: tuple[int, int] | None
    parts: int | None

    def _write(self, call: Choice) -> tuple[str, ...]:
        """The cells of a row."""
        kernels = ", ".join(self._name(launch[0], call) for launch in self.launches)
        times = f" ({self.repeats} times)" if self.repeats > 1 else ""
        return (
            self.variant,
            _write_time(self.time_us) if self.time_us is not None else "-",
            f"{self.tile[0]} x {self.tile[1]}" if self.tile is not None else "-",
            str(self.parts) if self.parts is not None else "-",
            f"{'copies, ' if self.copies else ''}{kernels}{times}",
            ", ".join(str(math.prod(grid)) for _, grid, _, _ in self.launches) or "-",
            _write_bytes(self.workspace_bytes),
        )

    def _name(self, kernel: str, call: Choice) -> str:
        """A kernel of the variant without what all of them have in their names."""
        name = kernel.removeprefix(f"{call.family}_").removesuffix(f"_{call.dtype}")
        words = name.removeprefix(self.variant).removeprefix("_")
        return words.removesuffix(call.choice).removesuffix("_") or self.variant


class Choice:
    """What variant="auto" takes for a call; smemkit.explain_choice gives one, and print shows it.

    Attributes
    ----------
    family, dtype : str
    choice : str
        Of an operation that is compiled into the kernels: "sum"; else "".
    dimensions : dict
        Of the family's signature, by name. Items of a stack that share all operands but the first
        may be one product with more rows.
    stack : int
        So many items go into one launch, where the variant's kernels take a stack.
    flops : float
        Operations of one item.
    backend : str
        The machine.
    compute_capability : str
    multiprocessors : int
        Of the machine.
    is_measured : bool
        Whether what is weighed was measured on a card of its compute capability.
    predicted_for : str or None
        Where it was not, the card whose predicted times are weighed: the machine's, or one like it.
        None where the order is that of an H200.
    variant : str or None
        The name of the one that is taken; None where every variant refuses the call.
    candidates : tuple of Candidate
        The best one first, then those that "auto" never takes.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> choice = smemkit.explain_choice(smemkit.gemm, a, a, backend="sim")
    >>> choice.family, choice.dimensions
    ('gemm', {'m': 64, 'k': 64, 'n': 64})
    """

    family: str
    dtype: str
    choice: str
    dimensions: dict[str, int]
    stack: int
    flops: float
    backend: str
    compute_capability: str
    multiprocessors: int
    predicted_for: str | None
    variant: str | None
    candidates: tuple[Candidate, ...]

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.family, self.dtype, self.choice = facts["family"], facts["type"], facts["choice"]
        self.dimensions, self.stack = dict(facts["dimensions"]), facts["stack"]
        self.flops, self.backend = facts["flops"], facts["backend"]
        self.compute_capability = f"{facts['capability'] // 10}.{facts['capability'] % 10}"
        self.multiprocessors, self.variant = facts["multiprocessors"], facts["taken"]
        self.predicted_for = facts["card"]
        found = [Candidate(**row) for row in facts["candidates"]]
        self.candidates = tuple(sorted(found, key=lambda one: -one.speed))

    @property
    def is_measured(self) -> bool:
        """Whether what is weighed was measured on a card of the machine's architecture."""
        return self.compute_capability == MEASURED

    def __getitem__(self, variant: str) -> Candidate:
        """The candidate of that name."""
        for one in self.candidates:
            if one.variant == variant:
                return one
        raise KeyError(variant)

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        names = ("family", "dtype", "choice", "dimensions", "stack", "flops", "backend")
        facts = {name: getattr(self, name) for name in names}
        machine = {
            "compute_capability": self.compute_capability,
            "multiprocessors": self.multiprocessors,
            "is_measured": self.is_measured,
            "predicted_for": self.predicted_for,
        }
        candidates = [dataclasses.asdict(one) for one in self.candidates]
        return {
            "smemkit": __version__,
            "kind": "choice",
            **facts,
            **machine,
            "variant": self.variant,
            "candidates": candidates,
        }

    def _list_weighed(self) -> list[Candidate]:
        return [one for one in self.candidates if one.takes_part and one.refusal is None]

    def _say_call(self) -> str:
        lengths = ", ".join(f"{name} = {length:,}" for name, length in self.dimensions.items())
        stack = f", a stack of {self.stack:,}" if self.stack > 1 else ""
        taken = f'auto takes "{self.variant}"' if self.variant else "every variant refuses it"
        machine = f"{self.multiprocessors} multiprocessors of {self.compute_capability}"
        return f"{self.family} of {self.dtype}, {lengths}{stack}, on {machine}: {taken}"

    def _say_reasons(self) -> Iterator[str]:
        weighed = self._list_weighed()
        if not weighed:
            return
        first = weighed[0]
        yield f"{first.variant}: {first.summary}."
        where = "an H200"
        if self.predicted_for is not None:
            where = self.predicted_for
            yield (
                f"No kernel was measured on compute capability {self.compute_capability}: the "
                f"times of an H200 are weighed with what smemkit.predict says of {where} beside "
                f"it, for large arrays. smemkit.rank(smemkit.{self.family}, ..., device=...) "
                "predicts this call with each variant, which takes seconds. The order of an H200 "
                "stays where another kernel gains less than predictions err, 30 %."
            )
        elif not self.is_measured:
            yield (
                f"No kernel was measured on compute capability {self.compute_capability}, and no "
                "card like it is in the table of predictions, so the order of an H200 is taken."
            )
        if first.time_us is None:
            yield f"Kernels are compared by their speed on {where} and by their number of blocks."
            return
        yield (
            f"Times are predicted for {where}: launches, rounds of blocks over the "
            "multiprocessors, and bytes."
        )
        times = [(one.time_us, one.variant) for one in weighed[1:] if one.time_us is not None]
        if times:
            least, variant = min(times)
            ratio = least / first.time_us
            words = "The next best" if ratio >= 1 else "By these times another"
            yield f"{words}, {variant}, would take {ratio:.2f} times as long."
        if first.parts is not None and first.parts > 1:
            yield (
                f"There are fewer tiles than the machine can work at, so the sums are cut into "
                f"{first.parts} parts, which a last launch adds in a fixed order."
            )

    def __str__(self) -> str:
        weighed = self._list_weighed()
        rows = [HEADINGS, *(one._write(self) for one in weighed)]
        never = [one.variant for one in self.candidates if not one.takes_part]
        lines = [self._say_call()]
        lines += wrap(" ".join(self._say_reasons()), 0)
        if weighed:
            lines += ["", *tabulate(rows, numbers=NUMBERS)]
        refused = [one for one in self.candidates if one.takes_part and one.refusal is not None]
        lines += [f"{one.variant}: {one.refusal}" for one in refused]
        if never:
            lines += ["", *wrap(f"Exhibits that auto never takes: {', '.join(never)}.", 0)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Choice of {self.family}: {self.variant}>"


def explain_choice(function: Callable[..., Any], *args: Any, **keywords: Any) -> Choice:
    """Why variant="auto" takes the kernel that it takes for a call: what it weighs, in numbers.

    Nothing is computed, and no kernel is loaded: the plans of all variants are made for the shapes,
    the layouts and the machine of the call.

    Parameters
    ----------
    function : callable
        A function of a kernel family: smemkit.gemm, smemkit.reduce, ... Of a call that makes
        several of the family, as a sum over axes that are not neighbours, it is the first one.
    *args, **keywords
        Of the call. device= may also name a card that is not here, as smemkit.card takes it: then
        the answer is for that card.

    Shapes
    ------
    Of the arrays: as the call has them. Their elements are not read: numpy.broadcast_to makes an
    array of any shape that takes no memory.

    Returns
    -------
    report.Choice
        print shows the candidates with their predicted times, tiles, blocks and workspace.

    Raises
    ------
    ArgumentError (ValueError)
        The function is not one of a family, or the call takes none of its variants: an order of
        axes that transpose copies.
    ShapeError (ValueError), ArgumentTypeError (TypeError), BackendError
        As the call itself.

    Example
    -------
    >>> import numpy, smemkit
    >>> a, b = (numpy.ones((1024, 1024), dtype="float32") for _ in range(2))
    >>> choice = smemkit.explain_choice(smemkit.gemm, a, b, backend="sim")
    >>> choice.variant, choice["register_2d"].tile
    ('direct', (128, 128))
    >>> there = smemkit.explain_choice(smemkit.gemm, a, b, device="rtx 3060")
    >>> there.variant != "tuned", there.predicted_for
    (True, 'RTX 3060')
    """
    from ..predict.ranking import find_family  # slow to import

    name = find_family(function)
    if name is None:
        raise _core.ArgumentError(
            "explain_choice takes a function of a kernel family, such as smemkit.gemm, not "
            f"{function!r}"
        )
    card = _find_card(keywords.get("device"))
    if card is None:
        return _ask(name, function, args, keywords)
    from ..predict.planning import plan_for

    if keywords.get("backend", "sim") != "sim":
        raise _core.ArgumentError(
            f"device names {card.name}, which is planned for on the simulator: leave backend= out"
        )
    words = {**keywords, "device": None, "backend": "sim"}
    with plan_for(card):
        return _ask(name, function, args, words)


def _ask(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Choice:
    """The choice of the first call of the family that the function makes; it ends there."""
    facts = _core._explain_call(name, function, args, keywords)
    if facts is None:
        raise _core.ArgumentError(
            f"this call of {name} takes none of its variants, so there is no choice to explain"
        )
    return Choice(facts)


def _find_card(device: Any) -> Card | None:
    """The card that a keyword device names; None where it names a machine of this computer."""
    from ..predict.cards import Card, find_card

    if isinstance(device, str) and device.partition(":")[0] in MACHINES:
        return None
    return find_card(device) if isinstance(device, str | os.PathLike | Card) else None
