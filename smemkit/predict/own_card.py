"""Cards that their owners measured: `smemkit record --card` writes the file that this module reads.

A file is one of bench.Results: rows of ceilings of shared memory, of latencies and of rates
(bench/rates.py), and the facts that the driver tells. What none of them measures is that of the
cards of the same architecture in the table.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .cards import Card

    Row = Mapping[str, Any]

FORMAT = 1  # of the file, as bench.results writes it
MINE = "mine"  # the name of the card that was measured last
SOURCE = "measured on this card by smemkit record"
PREFIX = "card_"  # of the names of files
SECTOR, LINE, WARP = 32, 128, 32
PAIR = 64  # bytes that memory reads at least
CHUNK = 512  # neighbouring bytes that lie in one part of the L2 cache
UNITS = (16, 32)  # lanes of loads and stores in a clock that architectures have
LOOP = 12  # clocks of a pass of the probe of barriers that are not the barrier's own
WATTS = 300.0  # where nobody tells: a card with enough power for its clock


def find_folder() -> Path:
    """Where the files of measured cards are: SMEMKIT_DATA, or the user's folder for data."""
    named = os.environ.get("SMEMKIT_DATA", "")
    if named:
        return Path(os.path.expanduser(named)).absolute()
    try:
        import platformdirs
    except ImportError as error:
        raise _core.UnsupportedError(
            "the folder of measured cards is found by platformdirs (pip install platformdirs), or "
            "named by the environment variable SMEMKIT_DATA"
        ) from error
    return Path(platformdirs.user_data_dir("smemkit", appauthor=False))


def list_files() -> list[Path]:
    """The files of measured cards, the newest first."""
    try:
        folder = find_folder()
        found = [(path.stat().st_mtime, path) for path in folder.glob(f"{PREFIX}*.json")]
    except (_core.UnsupportedError, OSError):
        return []
    return [path for _, path in sorted(found, reverse=True)]


def read_file(path: Path) -> dict[str, Any]:
    """What a file says; ArgumentError where it is not one of results of a named GPU."""
    import json

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _core.ArgumentError(f"the file of a card {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _core.ArgumentError(f"{path} is not JSON: {error}") from error
    found = data if isinstance(data, dict) and data.get("format") == FORMAT else {}
    told = found.get("provenance")
    names = [told.get(key) for key in ("device", "compute_capability")] if told else [None]
    if not all(isinstance(name, str) for name in names):
        raise _core.ArgumentError(
            f"{path} does not say which GPU was measured; smemkit record --card writes such a file"
        )
    return found


def _collect(rows: Sequence[Row]) -> dict[str, Row]:
    """The rows by what they measured: "rate.starts_32", "latency.l1", "ceiling.banks"."""
    found = {}
    for row in rows:
        if row["machine"] == "cuda" and row["times_ms"]:
            level = row["parameters"].get("level") if row["variant"] == "latency" else None
            found[f"latency.{level}" if level else f"{row['family']}.{row['variant']}"] = row
    return found


class _Measured:
    """Rows of a card, as rates and times."""

    def __init__(self, rows: Mapping[str, Row], facts: Mapping[str, Any], clock_mhz: float) -> None:
        self.rows, self.clock_ghz = rows, clock_mhz / 1e3
        self.many = float(facts["multiprocessors"])

    def __contains__(self, name: str) -> bool:
        return name in self.rows

    def ns(self, name: str) -> float:
        """Nanoseconds of a launch; of a read, where a latency is asked for."""
        return 1e6 * float(min(self.rows[name]["times_ms"]))

    def amount(self, name: str) -> float:
        return float(self.rows[name]["parameters"]["amount"])

    def nbytes(self, name: str) -> float:
        return float(self.rows[name]["nbytes"])

    def gbs(self, name: str) -> float:
        return self.nbytes(name) / self.ns(name)

    def per_clk(self, name: str, amount: float) -> float:
        """Of one multiprocessor in a clock."""
        return amount / self.ns(name) / self.clock_ghz / self.many


def derive(data: Mapping[str, Any], clock_mhz: float) -> Iterator[tuple[str, float]]:
    """(quantity, value) of a card's constants that the rows tell."""
    facts = data["provenance"]["device_facts"]
    found = _Measured(_collect(data["rows"]), facts, clock_mhz)
    yield "multiprocessors", found.many
    yield "clock_mhz", clock_mhz
    if facts.get("l2_cache_bytes"):
        yield "l2_mb", facts["l2_cache_bytes"] / 2**20
    yield from _derive_issue(found)
    yield from _derive_memory(found, facts)
    yield from _derive_atomics(found)


def _derive_issue(found: _Measured) -> Iterator[tuple[str, float]]:
    banks = [name for name in ("ceiling.banks", "ceiling.banks_wide") if name in found]
    if banks:
        yield (
            "shared_bytes_per_clk",
            max(found.per_clk(name, found.nbytes(name)) for name in banks),
        )
    if "ceiling.banks" in found:
        lanes = found.per_clk("ceiling.banks", found.nbytes("ceiling.banks") / 4)
        yield "lsu_lanes_per_clk", float(min(UNITS, key=lambda unit: abs(unit - lanes)))
    if "rate.starts_32" in found:
        blocks = found.amount("rate.starts_32")
        yield "block_clk", 1 / found.per_clk("rate.starts_32", blocks)
        yield "warp_clk", 1 / found.per_clk("rate.starts_1024", blocks * 1024 / WARP)
    if "rate.barriers_32" in found:
        few, all_ = (
            found.ns(name) * found.clock_ghz / found.amount(name)
            for name in ("rate.barriers_32", "rate.barriers_1024")
        )
        warp = max((all_ - few) / (1024 / WARP - 1), 0.1)
        yield "barrier_warp_clk", warp
        yield "barrier_clk", max(few - LOOP, 1.0)
    for level, quantity in (("l1", "l1_clk"), ("l2", "l2_clk")):
        if f"latency.{level}" in found:
            yield quantity, found.ns(f"latency.{level}") * found.clock_ghz
    if "latency.global" in found:
        yield "dram_ns", found.ns("latency.global")


def _derive_memory(found: _Measured, facts: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    width, clock = facts.get("memory_bus_width_bits"), facts.get("memory_clock_khz")
    sheet = 2 * width / 8 * clock / 1e6 if width and clock else 0.0  # two transfers a clock
    if sheet:
        yield "dram_gbs", sheet
    if "rate.read_dram" in found:
        read = max(found.gbs("rate.read_dram"), found.gbs("rate.write_dram"))
        sheet = max(sheet, read)
        yield "dram_gbs", sheet
        yield "dram_share", read / sheet
        turned = (read - found.gbs("rate.copy_dram")) / sheet
        yield "dram_turn_share", min(max(turned, 0.001), 0.5)
    if "rate.random_dram" in found:
        scattered = found.amount("rate.random_dram") * PAIR / found.ns("rate.random_dram")
        yield "dram_random_share", min(scattered / found.gbs("rate.read_dram"), 1.0)
    if "rate.read_l2" in found:
        yield "l2_bytes_per_clk", found.per_clk("rate.read_l2", found.nbytes("rate.read_l2"))
        written = found.nbytes("rate.write_l2") / SECTOR
        yield "l2_stores_per_clk", found.per_clk("rate.write_l2", written)
    for name, quantity in (
        ("rate.lines_l2", "l2_packets_per_clk"),
        ("rate.partial_l2", "l2_partial_stores_per_clk"),
    ):
        if name in found:
            yield quantity, found.per_clk(name, found.amount(name))


def _derive_atomics(found: _Measured) -> Iterator[tuple[str, float]]:
    if "rate.atomics_line" not in found:
        return
    sectors = found.amount("rate.atomics_line") / (SECTOR / 4)
    each = found.ns("rate.atomics_line") / sectors
    yield "atomic_ns", each
    for name, quantity in (
        ("rate.atomics_address", "atomic_next_ns"),
        ("rate.atomics_address_float", "float_atomic_next_ns"),
    ):
        yield quantity, found.ns(name) / found.amount(name)
    lanes = found.amount("rate.atomics_spread")
    yield "atomic_slices", max(1.0, lanes * each / found.ns("rate.atomics_spread"))


def choose_clock(told: Mapping[str, Any]) -> float:
    """MHz: as nvidia-smi read it under load, else the highest that the driver tells."""
    read = told.get("clocks_mhz") or {}
    return float(read.get("sm") or told["device_facts"]["clock_khz"] / 1e3)


def choose_architecture(capability: str, known: list[str]) -> str | None:
    """Of compute capabilities of the table the newest that is not above it; None: there is none.

    >>> choose_architecture("8.9", ["8.0", "8.6", "9.0"]), choose_architecture("7.0", ["8.0"])
    ('8.6', None)
    """
    wanted = tuple(map(int, capability.split(".")))
    older = [each for each in known if tuple(map(int, each.split("."))) <= wanted]
    return max(older, key=lambda each: tuple(map(int, each.split("."))), default=None)


def load(path: Path) -> tuple[str, str, dict[str, tuple[float, str]]]:
    """(name, compute capability, {quantity: (value, source)}) of what a file tells."""
    data = read_file(path)
    told = data["provenance"]
    name = told["device"].removeprefix("NVIDIA ").removeprefix("GeForce ")
    try:
        measured = dict(derive(data, choose_clock(told)))
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise _core.ArgumentError(
            f"{path} lacks what a card needs ({error!r:.100}); smemkit record --card writes all"
        ) from error
    source = f"{SOURCE} ({path.name})"
    found = {quantity: (float(value), source) for quantity, value in measured.items()}
    return name, told["compute_capability"], {"watts": (WATTS, "not verified: a guess"), **found}


def describe(card: Card) -> list[str]:
    """Lines that name the card's measured constants beside those that the table has."""
    from .cards import find_card, list_cards, same

    other = next((find_card(each) for each in list_cards() if same(card.name, each)), None)
    lines = [f"{card.name}, compute capability {card.compute_capability}"]
    lines.append(f"{'':28}{'measured':>12}" + (f"{'in the table':>16}" if other else ""))
    for quantity, source in card.sources.items():
        if source.startswith(SOURCE):
            line = f"{quantity:28}{getattr(card, quantity):12.5g}"
            lines.append(line + (f"{getattr(other, quantity):16.5g}" if other else ""))
    rest = [quantity for quantity, source in card.sources.items() if not source.startswith(SOURCE)]
    lines.append(f"not measured, as those of like cards: {', '.join(rest)}")
    return lines
