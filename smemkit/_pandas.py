"""pandas, which only to_dataframe needs."""

from . import _core


def import_pandas():
    """The module, or a BackendError that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise _core.BackendError(
            "to_dataframe needs pandas, which is not here: pip install pandas"
        ) from error
    return pandas
