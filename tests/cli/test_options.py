"""The options that a command's annotations name are those of its parser."""

import argparse
import sys
import types
import typing
from pathlib import Path

import pytest

from smemkit import _types
from smemkit.__main__ import make_parser
from smemkit.bench import types as bench_types
from smemkit.cli import plot

COMMANDS = make_parser().commands
# What the annotations name: types that their modules import for type checkers alone.
NAMES = {**vars(_types), **vars(bench_types), "Kind": plot.Kind, "Path": Path}


def list_parts(command):
    """The parsers of a command: those of its parts, where it has some."""
    every = [a for a in COMMANDS[command]._actions if isinstance(a, argparse._SubParsersAction)]
    return [part for action in every for part in action.choices.values()] or [COMMANDS[command]]


def find_class(command):
    """The class of the command line that the functions of the command take."""
    function = list_parts(command)[0].get_default("run")
    (name,) = function.__annotations__.keys() - {"return"}
    return getattr(sys.modules[function.__module__], function.__annotations__[name])


def list_annotations(kind):
    """From name to annotation, those of base classes too."""
    parts = [vars(base).get("__annotations__", {}) for base in reversed(kind.__mro__)]
    return {name: words for part in parts for name, words in part.items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_annotations_are_the_options(command):
    parts = list_parts(command)
    given = {action.dest for part in parts for action in part._actions} - {"help"}
    more = {name for part in parts for name in part._defaults if name != "run"}
    kind = find_class(command)
    assert issubclass(kind, argparse.Namespace)
    assert list_annotations(kind).keys() - {"command"} == given | more


def is_of(value, kind):
    """Whether a value is of a type, or one of a Literal's."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return any(is_of(value, part) for part in typing.get_args(kind))
    if typing.get_origin(kind) is typing.Literal:
        return value in typing.get_args(kind)
    return isinstance(value, typing.get_origin(kind) or kind)


def list_literals(kind):
    """The values of the Literals that a type is made of."""
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Literal:
        return set(parts)
    return {value for part in parts for value in list_literals(part)}


@pytest.mark.parametrize("command", COMMANDS)
def test_defaults_and_choices_have_the_annotated_types(command):
    annotations = list_annotations(find_class(command))
    for action in [action for part in list_parts(command) for action in part._actions]:
        if not action.option_strings or action.dest == "help":
            continue
        kind = eval(annotations[action.dest], NAMES)
        assert is_of(action.default, kind), action.dest
        assert is_of(None, kind) == (action.default is None), action.dest
        assert set(action.choices or ()) == list_literals(kind), action.dest
