"""The options that a command's annotations name are those of its parser."""

import argparse
import sys

import pytest

from smemkit.__main__ import make_parser

COMMANDS = make_parser().commands


def find_class(command):
    """The class of the command line that the command's function takes."""
    function = COMMANDS[command].get_default("run")
    (name,) = function.__annotations__.keys() - {"return"}
    return getattr(sys.modules[function.__module__], function.__annotations__[name])


def list_annotations(kind):
    """From name to annotation, those of base classes too."""
    parts = [vars(base).get("__annotations__", {}) for base in reversed(kind.__mro__)]
    return {name: words for part in parts for name, words in part.items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_annotations_are_the_options(command):
    given = {action.dest for action in COMMANDS[command]._actions} - {"help"}
    more = {name for name in COMMANDS[command]._defaults if name != "run"}
    kind = find_class(command)
    assert issubclass(kind, argparse.Namespace)
    assert list_annotations(kind).keys() - {"command"} == given | more


def evaluate(words):
    """The type of an annotation, or None where it has names of more than builtins."""
    try:
        return eval(words.replace("list[str]", "list"), {})
    except NameError:
        return None


@pytest.mark.parametrize("command", COMMANDS)
def test_defaults_have_the_annotated_types(command):
    annotations = list_annotations(find_class(command))
    options = [action for action in COMMANDS[command]._actions if action.option_strings]
    for action in options:
        if action.dest != "help" and not action.required:
            words = annotations[action.dest]
            assert ("None" in words) == (action.default is None), action.dest
            kind = evaluate(words)
            assert kind is None or isinstance(action.default, kind), action.dest
