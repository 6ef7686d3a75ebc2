"""Errors of the command line."""

import smemkit


class UsageError(smemkit.Error):
    """An invalid command line; exit status 2."""
