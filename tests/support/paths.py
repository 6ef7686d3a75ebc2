"""Folders of the repository, for tests in any folder of their own."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"
TESTS = ROOT / "tests"
