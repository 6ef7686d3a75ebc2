"""The occupancy of a kernel on every card: a table of compute capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import _core
from .._pandas import import_pandas
from .._version import __version__
from ._layout import tabulate
from .saved import Saved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Self, TypeAlias, TypedDict

    from numpy.typing import DTypeLike
    from pandas import DataFrame

    from .._core import RawKernel
    from .._types import Capability, Shape
    from .saved import Json

    AnyKernel: TypeAlias = RawKernel | str | tuple[Any, ...]
    Row: TypeAlias = dict[str, Any]  # one of OccupancyTable.rows

    class Arguments(TypedDict):
        """The keywords that all calls of occupancy for a table share."""

        block: Shape | None
        shared_bytes: int | None
        dtype: DTypeLike | None
        choice: str | None
        registers: int | None


# 10.1 is left out: CUDA 13 calls that device 11.0.
RENAMED = ((10, 1),)
CARDS_TOLD = 2
COLUMNS = (
    "registers",
    "shared_bytes",
    "blocks",
    "warps",
    "percent",
)

HEADINGS = (
    "registers",
    "shared [bytes]",
    "blocks",
    "warps",
    "occupancy",
    "limited by",
)


def list_capabilities() -> list[str]:
    """The compute capabilities that a compiler of today makes code for, as "7.5"."""
    return [
        f"{major}.{minor}"
        for (major, minor), is_built, _ in _core._limits_table()
        if is_built and (major, minor) not in RENAMED
    ]


def list_cards() -> list[str]:
    """The names of all cards of the table."""
    return [name for _, _, cards in _core._limits_table() for name in cards]


def _find_cards(capability: str) -> list[str]:
    for (major, minor), _, cards in _core._limits_table():
        if f"{major}.{minor}" == capability:
            return list(cards)
    return []


class OccupancyTable(Saved):
    """The occupancy of a kernel by compute capability; smemkit.occupancy_table gives one.

    Iterating gives its rows; table["8.6"] or table["RTX 3060"] is one of them.

    Attributes
    ----------
    kernel : str
    block : tuple of int
    rows : list of dict
        For each compute capability its cards (names of some that have it), limited_by, registers,
        shared_bytes, blocks, warps and percent; or error, which says why there are no numbers.
    origin : dict
        Date and version.

    Example
    -------
    >>> import smemkit
    >>> table = smemkit.occupancy_table("gemm/tiled", (32, 32), registers=40)
    >>> table["8.6"]["blocks"], round(table["8.6"]["percent"])
    (1, 67)
    """

    kernel: str
    block: tuple[int, ...]
    rows: list[Row]

    def __init__(self, kernel: str, block: tuple[int, ...], rows: Iterable[Row]) -> None:
        super().__init__()
        self.kernel, self.block, self.rows = kernel, block, list(rows)
        self.origin["counted_on"] = "from NVIDIA's table of limits"

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, capability: str) -> Row:
        """The row of a compute capability, as "8.6", or of a card, as "RTX 3060"."""
        wanted = _core.limits(capability)["compute_capability"]
        for row in self.rows:
            if row["compute_capability"] == wanted:
                return row
        raise KeyError(capability)

    @property
    def _title(self) -> str:
        return f"Occupancy of {self.kernel}"

    def _capture(self) -> Json:
        return {"kernel": self.kernel, "block": list(self.block), "rows": self.rows}

    @classmethod
    def _restore(cls, captured: Json) -> Self:
        return cls(captured["kernel"], tuple(captured["block"]), map(dict, captured["rows"]))

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {"smemkit": __version__, "kind": "occupancy", **self._capture()}

    def to_dataframe(self) -> DataFrame:
        """A pandas.DataFrame: a row for each compute capability."""
        names = ("compute_capability", "cards", *COLUMNS, "limited_by", "error")
        rows = [{name: row.get(name) for name in names} for row in self.rows]
        return import_pandas().DataFrame(rows, columns=names)

    @staticmethod
    def _write(row: Row) -> tuple[str, ...]:
        """The cells of a row: capability, cards, numbers, what limits."""
        cards = ", ".join(row["cards"][:CARDS_TOLD])
        if "error" in row:
            return (row["compute_capability"], cards, *["-"] * len(COLUMNS), "not known, see below")
        numbers = [f"{row[name]:,}" for name in COLUMNS[:-1]]
        limits = ", ".join(name.replace("_", " ") for name in row["limited_by"])
        return (row["compute_capability"], cards, *numbers, f"{row['percent']:.0f} %", limits)

    def _say_block(self) -> str:
        return f"{self.kernel}, block {' x '.join(map(str, self.block))}"

    def _notes(self) -> list[tuple[str, str]]:
        """(compute capabilities, why they have no numbers), one for each reason."""
        reasons: dict[str, list[str]] = {}
        for row in self.rows:
            if "error" in row:
                reasons.setdefault(row["error"], []).append(row["compute_capability"])
        return [(", ".join(capabilities), reason) for reason, capabilities in reasons.items()]

    def __str__(self) -> str:
        rows = [("", "cards", *HEADINGS), *map(self._write, self.rows)]
        numbers = range(2, 2 + len(COLUMNS))
        notes = [f"{capabilities}: {reason}" for capabilities, reason in self._notes()]
        return "\n".join([self._say_block(), *tabulate(rows, numbers=numbers), *notes])

    def __repr__(self) -> str:
        return f"<OccupancyTable of {self.kernel}: {len(self.rows)} compute capabilities>"

    def _repr_html_(self) -> str:
        from . import html  # drawing is for notebooks

        return html.draw_occupancy(self)


def _make_row(
    capability: str, names: Sequence[str], kernel: AnyKernel, arguments: Arguments
) -> Row:
    """The row of a compute capability; `names` of cards that were asked for come first."""
    cards = list(dict.fromkeys([*names, *_find_cards(capability)]))
    head = {"compute_capability": capability, "cards": cards}
    try:
        found = _core.occupancy(kernel, compute_capability=capability, **arguments)
    except (_core.CompileError, _core.ArgumentError) as error:
        words = str(error)
        known = f"not known for compute capability {capability}: "
        return {**head, "error": words.partition(known)[2] or words}
    facts = {name: getattr(found, name) for name in COLUMNS}
    return {**head, **facts, "limited_by": list(found.limited_by)}


def _name_kernel(kernel: AnyKernel) -> str:
    if isinstance(kernel, tuple | list):
        return "/".join(map(str, kernel))
    return str(getattr(kernel, "name", kernel))


def _read_block(kernel: AnyKernel, block: Shape | None) -> tuple[int, ...]:
    """The lengths of the block; of a variant without one, those of its row."""
    if isinstance(block, Sequence):
        return tuple(int(length) for length in block)
    if block is not None:
        return (int(block),)
    if isinstance(kernel, _core.RawKernel):
        return ()  # which occupancy has refused
    family, variant, *_ = kernel.split("/") if isinstance(kernel, str) else kernel
    return _core.variants(family)[variant]["block"]


def occupancy_table(
    kernel: RawKernel | str | tuple[Any, ...],
    block: Shape | None = None,
    shared_bytes: int | None = None,
    compute_capabilities: Iterable[Capability] | None = None,
    *,
    dtype: DTypeLike | None = None,
    choice: str | None = None,
    registers: int | None = None,
) -> OccupancyTable:
    """How many blocks of a kernel a multiprocessor holds at once, for every compute capability.

    The kernel is compiled for each of them, so that a card that is not at hand has its row too.

    Parameters
    ----------
    kernel, block, shared_bytes, dtype, choice, registers
        As of occupancy.
    compute_capabilities : sequence of str or tuple, optional
        "8.6", (8, 6), or the name of a card, as "RTX 3060"; by default 7.5 to 12.1.

    Shapes
    ------
    None.

    Returns
    -------
    OccupancyTable: print it, show it in a notebook, iterate over its rows, take one by
    table["RTX 3060"], or save() it. A compute capability for which the kernel does not compile has
    a row that says why.

    Raises
    ------
    ArgumentError (ValueError) for an unknown variant or compute capability, and where no row has
    numbers; CompileError where the source compiles for none; ArgumentTypeError (TypeError);
    LaunchError for a length below 1.

    Example
    -------
    >>> import smemkit
    >>> table = smemkit.occupancy_table("gemm/tiled", (32, 32), registers=40)
    >>> table["RTX 3060"]["blocks"], table["9.0"]["blocks"]
    (1, 1)
    >>> table["7.5"]["limited_by"]
    ['threads', 'registers']
    """
    arguments: Arguments = {
        "block": block,
        "shared_bytes": shared_bytes,
        "dtype": dtype,
        "choice": choice,
        "registers": registers,
    }
    wanted: dict[str, list[str]] = {}  # the names of cards that were asked for, by capability
    if compute_capabilities is None:
        wanted = {capability: [] for capability in list_capabilities()}
    elif isinstance(compute_capabilities, str):
        raise _core.ArgumentTypeError(
            "compute_capabilities is a sequence, as in ['8.6', 'RTX 4090'], not a str"
        )
    else:
        for given in compute_capabilities:
            capability = _core.limits(given)["compute_capability"]
            names = wanted.setdefault(capability, [])
            if isinstance(given, str) and given != capability:
                names.append(given)
    rows = [_make_row(capability, names, kernel, arguments) for capability, names in wanted.items()]
    if all("error" in row for row in rows):  # none of them has numbers: raise the last one's error
        last = list(wanted)[-1] if wanted else None
        _core.occupancy(kernel, compute_capability=last, **arguments)
    return OccupancyTable(_name_kernel(kernel), _read_block(kernel, block), rows)
