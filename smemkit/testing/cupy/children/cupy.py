"""cupy in child processes of a test run: this folder is on their PYTHONPATH."""

import importlib
import sys

from smemkit.testing.cupy import install

sys.modules.pop("cupy", None)  # this file
install(replace=True)
importlib.import_module("cupy")
