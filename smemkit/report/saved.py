"""Reports in files: save, load_report, and a whole HTML page.

A JSON file has two parts: what to_dict gives, for other programs, and under "captured" what the
launches left, of which load_report makes an equal report.
"""

from __future__ import annotations

import abc
import contextlib
import datetime
import functools
import os
import platform
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from .. import _core
from .._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Self, TypeAlias, TypeVar

    from .._types import StrPath
    from . import CheckReport, Comparison, OccupancyTable, Report
    from ._captured import Launched, Origin, Refused, SavedSources
    from .counts import Sources

    Json: TypeAlias = dict[str, Any]  # an object of a JSON file, whose content nobody has checked
    AnyReport: TypeAlias = Report | CheckReport | Comparison | OccupancyTable
    Kind = TypeVar("Kind", bound="Saved")

FORMAT = 1  # of the JSON file; a reader refuses other numbers
ENDINGS = (".html", ".json")
KINDS = ("profile", "check", "comparison", "occupancy")
LAUNCHES_TOLD = 3
SIMULATOR = "simulator of compute capability 9.0"


@functools.cache
def _describe_host() -> str:
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"


def describe_origin() -> Origin:
    """What the header of a saved report says of its origin: date (UTC), version, machines."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "date": now.isoformat(timespec="seconds"),
        "smemkit": __version__,
        "counted_on": SIMULATOR,
        "timed_on": None,
        "host": _describe_host(),
    }


def say_origin(origin: Origin) -> str:
    """The origin in one line."""
    date = str(origin["date"]).replace("T", " ").replace("+00:00", " UTC")
    timed = f", times of {origin['timed_on']}" if origin["timed_on"] else ""
    return (
        f"{date} · smemkit {origin['smemkit']} · {origin['counted_on']}{timed} · {origin['host']}"
    )


def say_launches(rows: Iterable[Launched | Refused]) -> str:
    """The launches of captured rows, in one line."""
    words: dict[str, int] = {}
    for facts in rows:
        if "grid" in facts:
            grid, block = (" × ".join(map(str, size)) for size in (facts["grid"], facts["block"]))
            text = f"{facts['kernel']}, grid {grid}, block {block}"
            words[text] = words.get(text, 0) + 1
    told = [text if times == 1 else f"{text} ({times} times)" for text, times in words.items()]
    more = f"; and {len(told) - LAUNCHES_TOLD} more" if len(told) > LAUNCHES_TOLD else ""
    return "; ".join(told[:LAUNCHES_TOLD]) + more


# Files -------------------------------------------------------------------------------------------


def check_ending(path: StrPath) -> Path:
    """The path as a Path; ArgumentError for an ending that save does not know."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise _core.ArgumentTypeError(f"path is a str or a Path, not {type(path).__name__}")
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise _core.ArgumentError(
            f"a report is saved as .html (a page to look at) or .json (load_report reads it back); "
            f"{str(path)!r:.200} has neither ending"
        )
    return path


def write_whole(path: Path, text: str) -> None:
    """Writes a file that has its old content until it has all of the new one."""
    path = Path(os.path.realpath(path))  # a link stays a link
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "x", encoding="utf-8") as stream:
            stream.write(text)
        with contextlib.suppress(FileNotFoundError):
            os.chmod(part, path.stat().st_mode & 0o7777)
        os.replace(part, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)  # the name that the caller knows
            del error.filename2
        raise


def _write_value(value: object) -> object:
    if isinstance(value, numpy.ndarray):
        return value.tolist()
    if isinstance(value, numpy.generic):
        return value.item()
    raise TypeError(f"a report holds a {type(value).__name__}")


def _write_document(document: Json) -> str:
    """JSON text with a line for each top-level name."""
    import json  # here and below, because import smemkit would load it each time

    rows = (
        f" {json.dumps(name)}: {json.dumps(value, default=_write_value, allow_nan=False)}"
        for name, value in document.items()
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


class Saved(abc.ABC):
    """What reports have in common: save and to_html."""

    origin: Origin

    def __init__(self) -> None:
        self.origin = describe_origin()

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""

    @abc.abstractmethod
    def _repr_html_(self) -> str: ...

    @property
    @abc.abstractmethod
    def _title(self) -> str:
        """A heading in words."""

    @property
    def _launched(self) -> list[str]:
        """Lines for the header of a page that tell the launches, unless its own HTML does."""
        return []

    @abc.abstractmethod
    def _capture(self) -> Json:
        """What _restore needs to make an equal report."""

    @classmethod
    @abc.abstractmethod
    def _restore(cls, captured: Json) -> Self: ...

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle has: all; a result on the device as a NumPy array."""
        state = dict(vars(self))
        if isinstance(state.get("result"), _core.DeviceArray):
            state["result"] = _core.asnumpy(state["result"])
        return state

    def to_html(self) -> str:
        """A whole page, for a browser: str. It needs no other file, and follows light and dark.

        A notebook shows a report as it is; for a page of your own take report._repr_html_().
        """
        from . import html

        return html.make_page(self)

    def save(self, path: StrPath) -> None:
        """Write the report to a file: a page (.html), or JSON that load_report reads (.json).

        Parameters
        ----------
        path : str or Path
            A file of that name is replaced as a whole: who reads meanwhile sees the old one.

        Shapes
        ------
        None.

        Returns
        -------
        None.

        Raises
        ------
        ArgumentError (ValueError) for another ending, ArgumentTypeError (TypeError) for what is no
        path, OSError where the file cannot be written.

        Example
        -------
        >>> import os, tempfile
        >>> import numpy, smemkit
        >>> a = numpy.ones((64, 64), dtype="float32")
        >>> report = smemkit.profile(smemkit.transpose, a, variant="naive")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "naive.json")
        ...     report.save(path)
        ...     again = smemkit.load_report(path)
        >>> again.counters == report.counters
        True
        """
        target = check_ending(path)
        is_page = target.suffix.lower() == ".html"
        write_whole(target, self.to_html() if is_page else _write_document(self._document()))

    def _document(self) -> Json:
        plain = self.to_dict()
        head = {name: plain.pop(name) for name in ("smemkit", "kind")}
        head |= {"format": FORMAT, "origin": self.origin}
        return head | plain | {"captured": self._capture()}


# Launches ----------------------------------------------------------------------------------------


def describe_sources(sources: Sources, files: Iterable[str | None]) -> SavedSources:
    """The texts that a report shows, so that it can be read where the files are not at hand."""
    texts = {file: sources.lines(file) for file in sorted({file for file in files if file})}
    variant = list(sources.variant) if sources.variant else None
    return {"texts": {file: lines for file, lines in texts.items() if lines}, "variant": variant}


SHARED = ("ptx", "source", "sources")  # what launches of one module have in common


def pack_launches(rows: Iterable[Mapping[str, object]]) -> Json:
    """Captured launches as a file has them: what is long and recurs stands in a list, once."""
    import json  # needed for files only

    texts: list[object] = []
    numbers: dict[str, int] = {}
    packed = []
    for row in rows:
        facts = dict(row)
        for name in SHARED:
            if facts.get(name) is not None:
                key = json.dumps(facts[name])
                if key not in numbers:
                    numbers[key] = len(texts)
                    texts.append(facts[name])
                facts[name] = numbers[key]
        packed.append(facts)
    return {"texts": texts, "launches": packed}


def unpack_launches(captured: Json) -> list[Any]:
    """The launches of pack_launches as the capture gave them."""
    rows = []
    for facts in captured["launches"]:
        shared = {name: facts[name] for name in SHARED if facts.get(name) is not None}
        facts = {**facts, **{name: captured["texts"][at] for name, at in shared.items()}}
        for sample in facts.get("samples", ()):
            sample["addresses"] = numpy.array(sample["addresses"], dtype="uint64")
        rows.append(facts)
    return rows


# Reading -----------------------------------------------------------------------------------------


def restore_as(kind: type[Kind], document: Json) -> Kind:
    """The report of that kind of a document, of which it needs origin and captured."""
    report = kind._restore(document["captured"])
    origin = document["origin"]
    report.origin = {
        "date": origin["date"],
        "smemkit": origin["smemkit"],
        "counted_on": origin["counted_on"],
        "timed_on": origin["timed_on"],
        "host": origin["host"],
    }
    return report


def restore_report(document: Json) -> AnyReport:
    """The report of a document that save wrote, of which it needs kind, origin and captured."""
    from . import CheckReport, Comparison, OccupancyTable, Report  # these import this module

    kinds: dict[str, type[AnyReport]] = dict(
        zip(KINDS, (Report, CheckReport, Comparison, OccupancyTable), strict=True)
    )
    return restore_as(kinds[document["kind"]], document)


def restore_document(document: Any) -> AnyReport:
    """The report of a document; ArgumentError for any other."""
    if not isinstance(document, dict) or document.get("kind") not in KINDS:
        raise _core.ArgumentError("it is no report of smemkit")
    if "captured" not in document:
        raise _core.ArgumentError(
            "it is what to_dict or --json wrote, without what a report is made of; save the report "
            "by report.save or --save"
        )
    if document.get("format") != FORMAT:
        raise _core.ArgumentError(
            f"it has format {document.get('format')!r:.40}; this version of smemkit reads {FORMAT}"
        )
    try:
        return restore_report(document)
    except _core.Error:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _core.ArgumentError(f"its content is not that of a report: {error!r:.200}") from error


def load_report(path: StrPath) -> Any:
    """Read a report that report.save wrote as JSON.

    Parameters
    ----------
    path : str or Path

    Shapes
    ------
    None.

    Returns
    -------
    Report, CheckReport, Comparison or OccupancyTable: all that the saved one had, but the result
    of the call.

    Raises
    ------
    ArgumentError (ValueError) for a file that holds no report or one of another format,
    ArgumentTypeError (TypeError) for what is no path, OSError where there is no such file.

    Example
    -------
    >>> import os, tempfile
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.check(smemkit.transpose, a, variant="shared")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "shared.json")
    ...     report.save(path)
    ...     print(smemkit.load_report(path))
    transpose_shared_bits32: nothing found; all blocks checked
    """
    import json

    if not isinstance(path, str | os.PathLike):
        raise _core.ArgumentTypeError(f"path is a str or a Path, not {type(path).__name__}")
    try:
        document = json.loads(Path(os.fsdecode(path)).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _core.ArgumentError(f"{os.fsdecode(path)} is not JSON: {error}") from error
    try:
        return restore_document(document)
    except _core.ArgumentError as error:
        raise _core.ArgumentError(f"{os.fsdecode(path)}: {error}") from error
