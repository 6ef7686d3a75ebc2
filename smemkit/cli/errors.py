"""Errors of the command line."""

import smemkit


class UsageError(smemkit.Error):
    """What the command line cannot mean; exit status 2."""
