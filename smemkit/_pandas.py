"""pandas, which only to_dataframe needs."""

from . import _core


def import_pandas():
    """The module; BackendError with the command that installs it where it is missing."""
    try:
        import pandas
    except ImportError as error:
        raise _core.BackendError(
            "to_dataframe needs pandas, which is not installed: pip install pandas"
        ) from error
    return pandas
