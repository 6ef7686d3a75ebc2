"""The public names of smemkit's packages."""

from __future__ import annotations

import sys


def publish(package: str) -> None:
    """Sets __module__ of a package's public names to the package, and lets dir() show no others.

    Error messages, help and pickles then show a path that does not change when a module moves.
    """
    module = sys.modules[package]
    for name in module.__all__:
        thing = getattr(module, name)
        if getattr(thing, "__module__", "").startswith(f"{package}."):
            thing.__module__ = package
    vars(module)["__dir__"] = lambda: sorted(module.__all__)
