"""The public names of smemkit's packages."""

import sys


def publish(package):
    """Sets __module__ of a package's public names to the package.

    Error messages, help and pickles then show a path that does not change when a module moves.
    """
    module = sys.modules[package]
    for name in module.__all__:
        thing = getattr(module, name)
        if getattr(thing, "__module__", "").startswith(f"{package}."):
            thing.__module__ = package
