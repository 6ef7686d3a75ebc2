"""Types that annotations of the commands share. Type checkers read it; nothing imports it."""

import argparse
from typing import TypeAlias

from .options import Parser

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
