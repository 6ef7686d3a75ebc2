"""Names of Numba's shared arrays: PTX numbers them, and the Python says what holds them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any

SHARED = re.compile(
    r"^\.(?:visible |)\s*\.?shared\b[^;]*?\b(_cudapy_smem\w*)\[(\d*)\]", re.MULTILINE
)


def _list_variables(function: Any) -> list[str]:
    """Variables that a function assigns cuda.shared.array to, in the order of its lines."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func).endswith("shared.array")
            and isinstance(node.targets[0], ast.Name)
        ):
            found.append((node.lineno, node.targets[0].id))
    return [name for _, name in sorted(found)]


def name_shared_arrays(ptx: str, function: Any) -> str:
    """The PTX with the names of the Python for its shared arrays.

    Only where the function itself declares all of them: as many variables as symbols, each with a
    name that the PTX has not.
    """
    symbols = sorted(
        {found[1] for found in SHARED.finditer(ptx)},
        key=lambda name: [int(number) for number in re.findall(r"\d+", name)],
    )
    variables = _list_variables(function)
    words = set(re.findall(r"[\w$%.]+", ptx))
    if len(symbols) != len(variables) or len({*variables}) != len(variables):
        return ptx
    if any(not name.isascii() or name in words or name == function.__name__ for name in variables):
        return ptx
    renamed = dict(zip(symbols, variables, strict=True))
    return re.sub(r"_cudapy_smem\w*", lambda found: renamed.get(found[0], found[0]), ptx)
