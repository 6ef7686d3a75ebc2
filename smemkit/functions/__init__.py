"""Families whose NumPy interface needs more than the extension does by itself."""

from .._public import publish
from ._gather import ArgumentIndexError, gather
from ._histogram import histogram

__all__ = ["ArgumentIndexError", "gather", "histogram"]

publish(__name__)
