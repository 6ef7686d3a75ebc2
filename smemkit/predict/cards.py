"""Cards: how fast their parts are, each constant with its source (csrc/registry/card_rates.def)."""

from __future__ import annotations

import dataclasses
import math
import numbers
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from . import own_card

if TYPE_CHECKING:
    from collections.abc import Mapping

# Of small matrices with sums of float32, a GeForce card has half of its architecture's rate.
HALF_SUMS = 0.5, "GeForce cards have half of the rate of others"
GUESSED = "not verified"  # how the sources of constants begin for which no measurement was found


@dataclasses.dataclass(frozen=True)
class Card:
    """A card whose time smemkit.predict computes; smemkit.card("h200") gives one.

    Units are in the names: mhz, gbs (10**9 bytes a second), mb (2**20 bytes), kb (2**10 bytes), us
    and ns, clk (clocks), per_clk (in a clock of one multiprocessor).

    Attributes
    ----------
    name, compute_capability : str
    multiprocessors, clock_mhz, dram_gbs, l2_mb, watts : float
        Of the whole card. dram_gbs is that of the data sheet; dram_share of it can be reached by
        reading or writing alone, dram_turn_share less where half of it is written, and
        dram_random_share of that by single sectors anywhere.
    shared_bytes_per_clk, l1_bytes_per_clk, l2_bytes_per_clk, l1_kb : float
        Of one multiprocessor; l2_bytes_per_clk is its share where all of them read the L2 cache.
    lsu_lanes_per_clk : float
        Lanes of load and store instructions that it takes, whatever they ask for.
    l2_packets_per_clk, l2_stores_per_clk, l2_partial_stores_per_clk : float
        Lines that it reads from the L2 cache, sectors that it stores there, and sectors of which it
        stores a part.
    shared_clk, l1_clk, l2_clk, dram_ns : float
        Latencies of a load that waits for nothing else.
    matrix_share : float
        Of the rates of its compute capability for small matrices of TF32, and of 16 bits with sums
        of float32: 0.5 of GeForce cards, 1 of others.
    launch_us, early_us, clear_us : float
        What a launch costs behind another one, the same where its blocks may be there before that
        has ended, and clearing a little memory before it.
    block_clk, warp_clk, block_gap_clk : float
        A multiprocessor starts a block in block_clk clocks, or warp_clk for each of its warps; the
        place of one that has ended is empty for block_gap_clk.
    barrier_clk, barrier_warp_clk : float
        From the last arrival at a barrier until warps go on; it takes a warp in each
        barrier_warp_clk.
    atomic_clk, fence_clk : float
        Until an atomic on global memory has its result, and until a fence of a warp that has
        stored lets it go on, where nothing else waits.
    atomic_slices, atomic_ns, atomic_next_ns, float_atomic_next_ns : float
        So many parts of the L2 cache execute atomics; each takes atomic_ns for a sector of a
        request, and the next lane with the same address as long again as the others say.
    sources : dict
        For each quantity where it comes from.
    guessed : tuple of str
        Quantities for which no measurement on a card of this architecture was found.

    Example
    -------
    >>> import smemkit
    >>> card = smemkit.card("NVIDIA GeForce RTX 4090")
    >>> card.compute_capability, card.multiprocessors, card.l2_mb
    ('8.9', 128.0, 72.0)
    """

    name: str
    compute_capability: str
    multiprocessors: float
    clock_mhz: float
    dram_gbs: float
    l2_mb: float
    watts: float
    shared_bytes_per_clk: float
    l1_bytes_per_clk: float
    l2_bytes_per_clk: float
    lsu_lanes_per_clk: float
    l2_packets_per_clk: float
    l2_stores_per_clk: float
    l2_partial_stores_per_clk: float
    l1_kb: float
    shared_clk: float
    l1_clk: float
    l2_clk: float
    dram_ns: float
    dram_share: float
    dram_turn_share: float
    dram_random_share: float
    matrix_share: float
    launch_us: float
    early_us: float
    clear_us: float
    block_clk: float
    warp_clk: float
    block_gap_clk: float
    barrier_clk: float
    barrier_warp_clk: float
    atomic_clk: float
    fence_clk: float
    atomic_slices: float
    atomic_ns: float
    atomic_next_ns: float
    float_atomic_next_ns: float
    sources: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def guessed(self) -> tuple[str, ...]:
        """Quantities for which no measurement on a card of this architecture was found."""
        return tuple(name for name, source in self.sources.items() if source.startswith(GUESSED))

    @property
    def clocks_per_ms(self) -> float:
        """Clocks in a millisecond."""
        return self.clock_mhz * 1e3

    @property
    def dram_clk(self) -> float:
        """Clocks until a load that misses both caches has its data."""
        return self.dram_ns * self.clock_mhz / 1e3

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types."""
        return {**dataclasses.asdict(self), "guessed": list(self.guessed)}


QUANTITIES = tuple(
    field.name
    for field in dataclasses.fields(Card)
    if field.name not in ("name", "compute_capability", "sources")
)


# What drivers and shops write behind a name: the way in which the card is built, and its memory.
FORM = re.compile(r"[\s-]+(?:sxm\d*|pcie|nvl|hbm\w*|\d+\s?gb)(?=[\s-]|$)")
GIGABYTES = re.compile(r"[\s-](\d+)\s?gb\b")
# Of each row of the table, by the data sheets: what arrays must fit into.
MEMORY_GB = {
    **{"T4": 16, "RTX 2060": 6, "A100": 40, "A10": 24, "RTX A6000": 48, "RTX 3060": 12},
    **{"RTX 3080": 10, "RTX 3090": 24, "Jetson AGX Orin": 64, "L4": 24, "RTX 4060": 8},
    **{"RTX 4090": 24, "H100": 80, "H200": 141, "B200": 192, "RTX 5090": 32},
}


def simplify(name: str) -> str:
    """The letters and digits of a name, without the words that all names may have.

    >>> simplify("NVIDIA A100-SXM4-80GB"), simplify("Tesla T4"), simplify("RTX 3060 Laptop GPU")
    ('a100', 't4', 'rtx3060')
    """
    letters = "".join(c for c in FORM.sub("", name.lower()) if c.isalnum())
    for start in ("nvidia", "geforce", "tesla"):
        letters = letters.removeprefix(start)
    for end in ("gpu", "laptop", "mobile"):
        letters = letters.removesuffix(end)
    return letters


def _collect() -> dict[str, dict[str, tuple[float, str]]]:
    """{owner: {quantity: (value, source)}} of the table."""
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for owner, quantity, value, source in _core._card_rates():
        found.setdefault(owner, {})[quantity] = value, source
    return found


def list_cards() -> list[str]:
    """The names of the cards whose rates are known."""
    return [owner for owner in _collect() if not owner[0].isdecimal()]


def cards() -> list[str]:
    """The cards that smemkit.predict knows.

    Parameters
    ----------
    None.

    Shapes
    ------
    None: it lists a table.

    Returns
    -------
    list of str: names, as smemkit.card takes them.

    Raises
    ------
    Nothing.

    Example
    -------
    >>> import smemkit
    >>> "RTX 4090" in smemkit.cards()
    True
    """
    return list_cards()


def card(name: str | os.PathLike[str] | Card) -> Card:
    """The card of that name; a Card is returned as it is.

    Parameters
    ----------
    name : str, path or Card
        As people write it: "h200", "RTX 4090", "NVIDIA GeForce RTX 3060 Laptop GPU"; words that
        one of them alone has, as "orin"; "mine", the card that `smemkit record --card` measured
        last; the name of such a card, where the table has none of that name; or the .json file that
        the command wrote.

    Shapes
    ------
    None: it looks up a table.

    Returns
    -------
    Card. dataclasses.replace(card, clock_mhz=1200) is one like it that is clocked lower.

    Raises
    ------
    ArgumentTypeError (TypeError) for what is no name; ArgumentError (ValueError), which lists the
    cards there are, for a card whose rates are not known, and for a file that is not one of a card.

    Example
    -------
    >>> import smemkit
    >>> smemkit.card("t4").multiprocessors
    40.0
    """
    return find_card(name)


def _make_card(name: str, capability: str, own: Mapping[str, tuple[float, str]]) -> Card:
    """The card with its own constants, and with those of its architecture for what they lack."""
    table = _collect()
    rates = {**table.get("0.0", {}), **table.get(capability, {}), **own}
    values = {quantity: rates[quantity][0] for quantity in QUANTITIES}
    sources = {quantity: rates[quantity][1] for quantity in QUANTITIES}
    return Card(name=name, compute_capability=capability, sources=sources, **values)


def read_card(path: Path) -> Card:
    """The card of a file that smemkit record --card wrote; ArgumentError for any other file."""
    name, capability, own = own_card.load(path)
    table = _collect()
    known = [owner for owner in table if owner[0].isdecimal() and owner != "0.0"]
    like = own_card.choose_architecture(capability, known)
    if like is None:
        raise _core.ArgumentError(
            f"{path}: {name} has compute capability {capability}; smemkit.predict knows "
            f"architectures from {min(known, key=float)} on"
        )
    watts = next((table[each]["watts"] for each in list_cards() if same(name, each)), None)
    more = {} if watts is None else {"watts": watts}
    if "geforce" in name.lower():
        more["matrix_share"] = HALF_SUMS
    rates = {**table["0.0"], **table[like], **own, **more}
    missing = [quantity for quantity in QUANTITIES if quantity not in rates]
    if missing:
        raise _core.ArgumentError(
            f"{path} does not tell {', '.join(missing)} of {name}; smemkit record --card does"
        )
    return dataclasses.replace(_make_card(name, like, rates), compute_capability=capability)


def same(name: str, owner: str) -> bool:
    """Whether a name, as people write it, is that of a card."""
    return simplify(name) in (simplify(owner), simplify(owner).removeprefix("rtx"))


def _find_part(name: str) -> Card | None:
    """The only card whose name has all these words: "orin", "3060"; None where none or several."""
    words = name.lower().split()
    found = [owner for owner in list_cards() if set(words) <= set(owner.lower().split())]
    return find_card(found[0]) if words and len(found) == 1 else None


def _find_own(name: str) -> Card | None:
    """The card of a file, of this computer's owner, or None."""
    if name.endswith(".json"):
        return read_card(Path(name))
    for path in own_card.list_files():
        card = read_card(path)
        if name.lower() == own_card.MINE or same(name, card.name):
            return card
    if name.lower() == own_card.MINE:
        raise _core.ArgumentError(
            f"no card was measured here ({own_card.find_folder()} has none); "
            "smemkit record --card measures the GPU of this computer"
        )
    return None


def demand_numbers(card: Card) -> Card:
    """The card; ArgumentError where a constant is no number that a card could have."""
    for quantity in QUANTITIES:
        value = getattr(card, quantity)
        is_number = isinstance(value, numbers.Real) and math.isfinite(value)
        if not is_number or value < 0 or (value == 0 and quantity != "dram_turn_share"):
            raise _core.ArgumentError(
                f"{quantity} of the card {card.name} is {value!r:.40}; a number above 0 is needed"
            )
    return card


def name_like(name: str) -> str:
    """A sentence on the cards of the same architecture; "" where the name has none."""
    try:
        capability = _core.limits(name)["compute_capability"]
    except _core.Error:
        return ""
    same = [each for each in list_cards() if _core.limits(each)["compute_capability"] == capability]
    if not same:
        return ""
    return f"Of compute capability {capability}, as that one, are {', '.join(same)}. "


def _note_form(name: str, card: Card) -> Card:
    """The card, under its whole name where the row of the table is one of other size or build."""
    size, other = GIGABYTES.search(name.lower()), ""
    if size is not None and int(size[1]) != MEMORY_GB.get(card.name):
        other = f"the {card.name} with {MEMORY_GB.get(card.name)} GB"
        doubtful: tuple[str, ...] = ("dram_gbs",)
    if card.name == "H100" and re.search(r"\b(?:pcie|nvl)\b", name.lower()):
        other = "the H100 of the SXM form"
        doubtful = "multiprocessors", "clock_mhz", "dram_gbs", "watts"
    if not other:
        return card
    sources = {**card.sources, **dict.fromkeys(doubtful, f"{GUESSED}: that of {other}")}
    return dataclasses.replace(card, name=name, sources=sources)


def find_card(name: str | os.PathLike[str] | Card) -> Card:
    """The card of that name; errors as those of `card`."""
    if isinstance(name, Card):
        return demand_numbers(name)
    if isinstance(name, os.PathLike):
        return read_card(Path(name))
    if not isinstance(name, str):
        raise _core.ArgumentTypeError(f"a card is a name or a Card, not {name!r:.80}")
    for owner in list_cards():
        if same(name, owner):
            capability = _core.limits(owner)["compute_capability"]
            return _note_form(name, _make_card(owner, capability, _collect()[owner]))
    found = _find_own(name)
    if found is not None:
        return found
    part = _find_part(name)
    if part is not None:
        return part
    like = name_like(name)
    raise _core.ArgumentError(
        f"the table of cards has no {name!r}; there are {', '.join(list_cards())}. {like}"
        "dataclasses.replace(smemkit.card(...), ...) makes another card of one of these, and "
        "smemkit record --card measures the GPU of this computer"
    )
