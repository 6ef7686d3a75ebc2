"""One class for each kernel family, with all that csrc/registry does not say of it.

Tests, benchmarks, records, comparisons and the command line ask these classes, so that a family is
named here and nowhere else. The file of a family bears its name; families.def says which there are.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from ... import _core
from ._workload import Goal, Record, Signature, Tiles, Workload, read_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CLASSES",
    "Goal",
    "Record",
    "Signature",
    "Tiles",
    "Workload",
    "collect",
    "find_class",
    "read_signature",
]


def collect(families: Sequence[str], modules: Sequence[str]) -> dict[str, type[Workload]]:
    """{family: its class} in the order of families.def; InternalError names what is missing."""
    for name in families:
        if name not in modules:
            raise _core.InternalError(
                f"families.def has the family {name!r}, but there is no {__name__}.{name} with "
                "its class"
            )
    for name in modules:
        if name not in families:
            raise _core.InternalError(
                f"there is a module {__name__}.{name}, but families.def has no family {name!r}"
            )
    for name in families:
        importlib.import_module(f"{__name__}.{name}")
    classes = {kind.family: kind for kind in Workload.__subclasses__()}
    for name in families:
        if name not in classes:
            raise _core.InternalError(f"{__name__}.{name} has no Workload whose family is {name!r}")
    return {name: classes[name] for name in families}


def find_class(family: str) -> type[Workload]:
    """The class of a family; ArgumentError where there is none."""
    if not isinstance(family, str) or family not in CLASSES:
        raise _core.ArgumentError(f"there is no family {family!r}; there are {', '.join(CLASSES)}")
    return CLASSES[family]


CLASSES = collect(
    [name for name, facts in _core.families().items() if facts["signature"]],
    [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")],
)
