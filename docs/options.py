"""The parser of the command line as the site shows it."""

import argparse
import textwrap

from smemkit import __main__


def make_parser():
    """The parser; texts that it prints as they stand, with their line breaks, stay so here."""
    parser = __main__.make_parser()
    keep_layout(parser)
    return parser


def keep_layout(parser):
    if parser.formatter_class is argparse.RawDescriptionHelpFormatter:
        for name in ("description", "epilog"):
            text = getattr(parser, name)
            if text and "\n" in text:
                setattr(parser, name, "::\n\n" + textwrap.indent(text, "   "))
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for other in action.choices.values():
                keep_layout(other)
