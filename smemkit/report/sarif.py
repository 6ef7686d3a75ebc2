"""SARIF 2.1.0, as code hosts and editors read it: findings and conditions by line of the source.

The format is https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import hashlib
import json
import os
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import _core
from .._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._findings import Finding, Side

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
RULES = {
    "claim": "a claim on a counter does not hold",
    "baseline": "a counter has moved away from its baseline",
}


class Place(NamedTuple):
    """A line of a file; line 0: the whole file."""

    file: str
    line: int = 0
    text: str = ""


class Result(NamedTuple):
    """What is reported: rule is a kind of finding, "claim" or "baseline"."""

    rule: str
    message: str
    place: Place
    related: tuple[tuple[Place, str], ...] = ()  # with what stands there
    identity: tuple[str, ...] = ()  # what stays the same where lines move


class Failure(NamedTuple):
    """A kernel that could not be judged."""

    message: str
    place: Place | None = None


def _place_side(side: Side) -> Place:
    return Place(side.file, side.line, side.text)


def result_of(finding: Finding) -> Result:
    """A finding as a result."""
    related = []
    if finding.second is not None:
        words = f"the other access: {finding.second.op}"
        if finding.second.variable:
            words += f" of {finding.second.variable}"
        related.append((_place_side(finding.second), words))
    times = f" ({finding.count:,} times)" if finding.count > 1 else ""
    texts = [side.text for side in (finding.first, finding.second) if side is not None]
    return Result(
        finding.kind,
        f"{finding.message}{times} {finding.action}",
        _place_side(finding.first),
        tuple(related),
        (finding.kind, finding.kernel, *sorted(texts)),
    )


def make_uri(file: str) -> tuple[str, bool]:
    """(URI of a file, whether it is relative to the present folder)."""
    path = Path(file)
    if not path.is_absolute():
        return urllib.parse.quote(os.path.normpath(path).replace(os.sep, "/")), True
    try:
        inside = path.resolve().relative_to(Path.cwd().resolve())
    except (OSError, ValueError):
        return path.as_uri(), False
    return urllib.parse.quote(inside.as_posix()), True


def _locate(place: Place) -> dict[str, Any]:
    uri, is_relative = make_uri(place.file)
    artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"} if is_relative else {"uri": uri}
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if place.line > 0:
        physical["region"] = {"startLine": place.line}
        if place.text:
            physical["region"]["snippet"] = {"text": place.text}
    return {"physicalLocation": physical}


def _describe_rules(results: Sequence[Result]) -> list[dict[str, Any]]:
    meanings = {**_core._finding_kinds(), **RULES}
    used = dict.fromkeys(result.rule for result in results)
    return [
        {
            "id": name,
            "name": "".join(word.capitalize() for word in name.split("_")),
            "shortDescription": {"text": f"{meanings[name][:1].upper()}{meanings[name][1:]}."},
            "defaultConfiguration": {"level": "error"},
        }
        for name in used
    ]


def _write_result(result: Result, rules: Sequence[str]) -> dict[str, Any]:
    identity = result.identity or (result.rule, result.place.file, result.message)
    key = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:32]
    row: dict[str, Any] = {
        "ruleId": result.rule,
        "ruleIndex": rules.index(result.rule),
        "level": "error",
        "message": {"text": result.message},
        "locations": [_locate(result.place)],
        "partialFingerprints": {"smemkit/v1": key},
    }
    if result.related:
        row["relatedLocations"] = [
            {"id": number, **_locate(place), "message": {"text": words}}
            for number, (place, words) in enumerate(result.related, 1)
        ]
    return row


def write(results: Sequence[Result], failures: Sequence[Failure] = ()) -> str:
    """The file of one run; failures are what could not be judged."""
    rules = _describe_rules(results)
    names = [rule["id"] for rule in rules]
    notes = [
        {
            "level": "error",
            "message": {"text": failure.message},
            **({"locations": [_locate(failure.place)]} if failure.place else {}),
        }
        for failure in failures
    ]
    invocation: dict[str, Any] = {"executionSuccessful": not failures}
    if notes:
        invocation["toolExecutionNotifications"] = notes
    run = {
        "tool": {"driver": {"name": "smemkit", "version": __version__, "rules": rules}},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_write_result(result, names) for result in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"
