"""pandas, which only to_dataframe needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from typing import Any


def import_pandas() -> Any:
    """The module; BackendError with the command that installs it where it is missing."""
    try:
        import pandas
    except ImportError as error:
        raise _core.BackendError(
            "to_dataframe needs pandas, which is not installed: pip install pandas"
        ) from error
    return pandas
