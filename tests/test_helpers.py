"""Modules that several tests share: pytest explains their assertions as it does those of tests."""

import importlib.util
import re

import pytest
from support.paths import ROOT

TESTS = ROOT / "tests"
HELPERS = [
    ".".join(path.relative_to(TESTS).with_suffix("").parts)
    for path in sorted(TESTS.rglob("*.py"))
    if not path.name.startswith(("test_", "conftest", "run."))
    and re.search(r"^\s+assert ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("name", HELPERS)
def test_a_failed_assertion_shows_its_values(name):
    """pytest rewrites the modules that conftest.py registers: a failure shows what was compared."""
    spec = importlib.util.find_spec(name)
    assert type(spec.loader).__name__ == "AssertionRewritingHook"


def test_helpers_are_found():
    assert "support.children" in HELPERS and "sim.check.altered" in HELPERS
