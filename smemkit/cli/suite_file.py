"""smemkit.toml: kernels of a folder, how each is launched, and what is claimed of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import smemkit

from ..report import counts
from ..report.capture import ORDERS
from .errors import UsageError
from .options import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .._types import Order

FILE = "smemkit.toml"
FORM = """\
a folder of kernels (smemkit check kernels/, smemkit profile kernels/) has a file smemkit.toml:
  [[kernel]]                       # one for each launch
  file = "transpose.cu"            # beside it
  name = "transpose"               # where the file has several kernels
  grid = [8, 8]
  block = [32, 32]
  args = ["float32[256,256]:random", "float32[256,256]", 256]
  claims = ["shared.load.conflicts == 0"]    # profile judges them
other keys: case, shared_mem, options, seed, blocks; for check order, padding, ignore_same_value,
known (kinds of findings that are to be left out); for profile tolerance.
[defaults] has keys for all kernels.
"""


class Launch(NamedTuple):
    """A [[kernel]] of the file."""

    path: Path
    name: str | None
    case: str | None
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[str, ...]
    shared_mem: int
    options: tuple[str, ...]
    seed: int
    blocks: int | None
    claims: tuple[str, ...]
    tolerance: dict[str, float]  # by counter or pattern; the first that fits
    order: Order
    padding: int
    ignore_same_value: bool
    known: frozenset[str]

    @property
    def label(self) -> str:
        """ "transpose.cu: transpose, small"; the name may be left out."""
        name = f": {self.name}" if self.name else ""
        return f"{self.path.name}{name}" + (f", {self.case}" if self.case else "")


class Suite(NamedTuple):
    """The file, and its launches."""

    path: Path
    launches: list[Launch]


# Values ------------------------------------------------------------------------------------------


class _Wrong(Exception):
    """A value that is not what its key needs; the text says what that is."""


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _Wrong("a text")
    return value


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _read_count(value: object) -> int:
    if not isinstance(value, int) or not _is_whole(value) or value < 0:
        raise _Wrong("a whole number, 0 or more")
    return value


def _read_sizes(value: object) -> tuple[int, ...]:
    sizes: list[Any] = value if isinstance(value, list) else [value]
    if not 1 <= len(sizes) <= 3 or not all(_is_whole(size) and size >= 0 for size in sizes):
        raise _Wrong("a whole number, or a list of up to three")
    return tuple(sizes)


def _read_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _Wrong("a list of texts")
    return tuple(value)


def _read_args(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _Wrong('a list, as in ["float32[1024]:random", 1024]')
    for one in value:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise _Wrong("a list of texts and numbers")
    return tuple(one if isinstance(one, str) else repr(one) for one in value)


def _read_claims(value: object) -> tuple[str, ...]:
    # one = is written as two are
    claims = tuple(re.sub(r"(?<![<>=!])=(?!=)", "==", claim) for claim in _read_texts(value))
    for claim in claims:
        try:
            counts.read_condition(claim)
        except (smemkit.ArgumentError, KeyError) as error:
            words = error.args[0] if error.args else error
            raise _Wrong(f"a list of conditions: {words}") from None
    return claims


def _read_tolerance(value: object) -> dict[str, float]:
    table: dict[str, Any] = value if isinstance(value, dict) else {"*": value}
    for number in table.values():
        if isinstance(number, bool) or not isinstance(number, int | float) or not number >= 0:
            raise _Wrong("a part of the value, as 0.02, or a table from counter to such a number")
    return {name: float(number) for name, number in table.items()}


def _read_order(value: object) -> Order:
    if value not in ORDERS:
        raise _Wrong(" or ".join(f'"{name}"' for name in ORDERS))
    return cast("Order", value)


def _read_known(value: object) -> frozenset[str]:
    kinds = smemkit._core._finding_kinds()
    names = frozenset(_read_texts(value))
    if names - kinds.keys():
        raise _Wrong(f"a list of kinds of findings, of {', '.join(kinds)}")
    return names


# Reader of each key, and its value where it is not given.
KEYS: dict[str, tuple[Callable[[object], Any], Any]] = {
    "file": (_read_text, None),
    "name": (_read_text, None),
    "case": (_read_text, None),
    "grid": (_read_sizes, None),
    "block": (_read_sizes, None),
    "args": (_read_args, ()),
    "shared_mem": (_read_count, 0),
    "options": (_read_texts, ()),
    "seed": (_read_count, 0),
    "blocks": (_read_count, None),
    "claims": (_read_claims, ()),
    "tolerance": (_read_tolerance, {}),
    "order": (_read_order, "forward"),
    "padding": (_read_count, 0),
    "ignore_same_value": (_read_flag, False),
    "known": (_read_known, frozenset()),
}
NEEDED = ("file", "grid", "block")
OWN = ("file", "name", "case")  # of one kernel, not of all


# The file ----------------------------------------------------------------------------------------


def find_file(what: str) -> Path:
    """The TOML file that a path means: itself, or smemkit.toml in a folder."""
    path = Path(what)
    if not path.is_dir():
        return path
    file = path / FILE
    if not file.exists():
        sources = sorted(one.name for one in path.glob("*.cu"))
        found = f" for its {len(sources)} .cu files" if sources else ""
        raise UsageError(
            f"{what} has no {FILE}, which says how the kernels are launched{found}; "
            "--help has its form"
        )
    return file


def _read_table(where: str, table: object, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values of a table; UsageError that names the key which is wrong."""
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table")
    known = [name for name in KEYS if name not in leave_out]
    values = {}
    for name, value in table.items():
        if name not in known:
            near = suggest(name, known)
            raise UsageError(f"{where} has no key {name!r}{near or '; ' + ', '.join(known)}")
        try:
            values[name] = KEYS[name][0](value)
        except _Wrong as wrong:
            raise UsageError(f"{where}: {name} is {value!r:.80}; it needs {wrong}") from None
    return values


def read(what: str) -> Suite:
    """The suite of a folder or TOML file; UsageError where the file is wrong."""
    path = find_file(what)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    for name in document.keys() - {"kernel", "defaults"}:
        raise UsageError(
            f"{path} has no table {name!r}{suggest(name, ['kernel', 'defaults'])}; it has "
            "[[kernel]] for each launch, and [defaults]"
        )
    defaults = _read_table(f"{path}: [defaults]", document.get("defaults", {}), OWN)
    tables = document.get("kernel", [])
    if not isinstance(tables, list) or not tables:
        raise UsageError(f"{path} has no [[kernel]]; --help has its form")
    suite = Suite(path, [])
    for number, table in enumerate(tables, 1):
        where = f"{path}: [[kernel]] {number}"
        if isinstance(table, dict) and isinstance(table.get("file"), str):
            where += f" ({table['file']})"
        suite.launches.append(_make(where, path.parent, defaults, _read_table(where, table)))
    _demand_labels(suite)
    return suite


def _make(where: str, folder: Path, defaults: Mapping[str, Any], own: Mapping[str, Any]) -> Launch:
    values = {name: usual for name, (_, usual) in KEYS.items()} | {**defaults} | {**own}
    # a table of tolerances adds to that of all kernels, and goes before it
    first = own.get("tolerance", {})
    values["tolerance"] = {**first, **defaults.get("tolerance", {}), **first}
    for name in NEEDED:
        if values[name] is None:
            raise UsageError(f"{where} has no {name}")
    file = values.pop("file")
    if Path(file).suffix not in (".cu", ".ptx"):
        raise UsageError(f"{where}: file is neither a .cu nor a .ptx file")
    values["blocks"] = values["blocks"] or None
    values["args"] = tuple(_beside(folder, text) for text in values["args"])
    return Launch(path=folder / file, **values)


def make_plain(path: Path, name: str | None) -> Launch:
    """A launch that has nothing but a file and a kernel."""
    values = {key: usual for key, (_, usual) in KEYS.items() if key != "file"}
    return Launch(path=path, **{**values, "name": name, "grid": (), "block": ()})


def _beside(folder: Path, text: str) -> str:
    """An argument whose file is beside the TOML file: "@data.npy"."""
    return f"@{folder / text[1:]}" if len(text) > 1 and text.startswith("@") else text


def _demand_labels(suite: Suite) -> None:
    """UsageError where two launches cannot be told apart."""
    seen = set()
    for launch in suite.launches:
        if launch.label in seen:
            raise UsageError(
                f"{suite.path}: two launches are {launch.label!r}; case tells them apart, as in "
                'case = "small"'
            )
        seen.add(launch.label)
