"""What the packages of smemkit do with their public names."""

import sys


def publish(package):
    """Makes the public names of a package its own, whichever of its modules defines them.

    Error messages, help and pickles then name a path that stays when a module is moved.
    """
    module = sys.modules[package]
    for name in module.__all__:
        thing = getattr(module, name)
        if getattr(thing, "__module__", "").startswith(f"{package}."):
            thing.__module__ = package
