"""JUnit files, as services that run tests read them: a test case for each launch or condition."""

from __future__ import annotations

import re
import xml.etree.ElementTree
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# What XML 1.0 cannot hold, in messages of compilers and names of files.
UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """A test case; message is a line, text all there is to say.

    An error is a kernel that could not be judged, a failure one that is not as it should be.
    """

    group: str
    name: str
    seconds: float = 0.0
    outcome: Literal["passed", "failure", "error"] = "passed"
    kind: str = ""  # of a failure or error: "race", "CompileError"
    message: str = ""
    text: str = ""
    file: str | None = None


def clean(text: str) -> str:
    """The text without the characters that XML does not allow."""
    return UNPRINTABLE.sub("\ufffd", text)


def write(name: str, cases: Sequence[Case]) -> str:
    """The file of a suite of that name."""
    outcomes = [case.outcome for case in cases]
    sums = {
        "name": clean(name),
        "tests": str(len(cases)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
        "skipped": "0",
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }
    root = xml.etree.ElementTree.Element("testsuites")
    suite = xml.etree.ElementTree.SubElement(root, "testsuite", sums)
    for case in cases:
        facts = {"classname": clean(case.group), "name": clean(case.name)}
        if case.file:
            facts["file"] = clean(case.file)
        facts["time"] = f"{case.seconds:.3f}"
        node = xml.etree.ElementTree.SubElement(suite, "testcase", facts)
        if case.outcome != "passed":
            words = {"type": clean(case.kind), "message": clean(case.message)}
            part = xml.etree.ElementTree.SubElement(node, case.outcome, words)
            part.text = clean(case.text)
    xml.etree.ElementTree.indent(root)
    body = xml.etree.ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'
