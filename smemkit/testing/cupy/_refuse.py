"""What the stand-in has not: refused by its name."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, NoReturn

OWN = "smemkit.testing.cupy"


def public_name(module: str) -> str:
    """ "cupy.cuda" for this package's module of it."""
    name = module.removeprefix(OWN)
    return name[2:] if name.startswith("._cupy") else f"cupy{name}"


def find_module(package: str, name: str) -> Any:
    """A module of a package that is first asked for; AttributeError where there is none."""
    if name.startswith("__") or importlib.util.find_spec(f"{package}.{name}") is None:
        refuse_attribute(package, name)
    return importlib.import_module(f"{package}.{name}")


def refuse(name: str) -> str:
    """What to say of a name that is not there."""
    return (
        f"smemkit's stand-in of CuPy has no {name}; skip the test where "
        "smemkit.testing.cupy.is_installed(), or run it with CuPy on a GPU"
    )


def refuse_attribute(module: str, name: str) -> NoReturn:
    """AttributeError for a name that a module has not."""
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    raise AttributeError(refuse(f"{public_name(module)}.{name}"))
