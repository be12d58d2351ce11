"""Which words of a command line are options, operands, and the guest's; and which option is misspelt.

Enters: the parser and the words. Leaves: the words for argparse, and the guest's. Behind the name of a guest's program
all words are the guest's, whatever they look like; those of `bench` and `fuzz` stand behind `--`. argparse would take
some of them for abbreviated options, and drop a `--`. Of a misspelt option, it would take the argument for an operand.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_WITH_GUEST = ("run", "verify", "profile")
_WITH_PAIR = ("bench", "fuzz")
"""Their options may stand before, between and behind their operands; what follows `--` is the guest's."""
_MAY_BE_EMPTY = ("--flags",)
"""Options whose argument is a set, which may have nothing in it."""


@dataclass(frozen=True)
class _Part:
    """An option with its argument, if that is a word of its own; or one operand, and then `names` is None.

    `names` are those of the options that the word may mean: of several, it is an abbreviation of all.
    """

    words: list[str]
    names: list[str] | None


def split_words(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words for argparse and those of the guest, of which other commands have none.

    The options of bench and fuzz may stand before, between and behind their operands; argparse gets them first.
    """
    command = _commands_of(parser)[words[0]] if words and words[0] in (*_WITH_GUEST, *_WITH_PAIR) else None
    if command is None:
        return words, []
    parts = list(_parts(command, words[1:]))
    if words[0] in _WITH_GUEST:
        parts = parts[: next((index for index, part in enumerate(parts) if part.names is None), len(parts))]
        end = 1 + sum(len(part.words) for part in parts)
        end += words[end : end + 1] == ["--"]
        return words[: end + 1], words[end + 1 :]
    end = 1 + sum(len(part.words) for part in parts)
    ordered = sorted(parts, key=lambda part: part.names is None)
    return [words[0], *(word for part in ordered for word in _for_argparse(command, part))], words[end + 1 :]


def check_words(parser: argparse.ArgumentParser, words: list[str]) -> None:
    """End with a usage error that names the first word that is no option, no command, empty, or one too many."""
    commands = _commands_of(parser)
    operands, rest = _operands_of(parser)
    for part in _parts(parser, words):
        if operands == 0 and rest:
            return
        if part.names == []:
            name = part.words[0].partition("=")[0]
            parser.error(f"no option {name}{_nearest(name, _options_shown(parser))}")
        if part.names is not None:
            _check_argument(parser, part)
        else:
            name = part.words[0]
            if operands == 0:
                parser.error(f"{name} is one too many")
            if not name:
                parser.error("an empty word is no name of anything")
            operands -= 1
            if commands and name not in commands:
                parser.error(f"no command {name!r}{_nearest(name, list(commands))}")
            if commands:
                return check_words(commands[name], words[words.index(name) + 1 :])


def _check_argument(parser: argparse.ArgumentParser, part: _Part) -> None:
    """End with a usage error where an option's argument is empty: it is no name, no file and no number."""
    name, is_attached, argument = part.words[0].partition("=")
    if name not in _MAY_BE_EMPTY and (part.words[1:] == [""] or (name[:2] == "--" and is_attached and not argument)):
        parser.error(f"{name}: its argument is empty")


def _options_shown(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options that the help shows; old names are not among them."""
    actions = (action for action in parser._actions if action.help != argparse.SUPPRESS)
    return [name for action in actions for name in action.option_strings]


def _nearest(word: str, known: list[str]) -> str:
    """Return a question after the known word that is most like one; "" where none is."""
    from difflib import get_close_matches  # only after a mistake

    found = get_close_matches(word, known, n=1)
    return f"; did you mean {found[0]}?" if found else ""


def _commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next(found, {})


def _operands_of(parser: argparse.ArgumentParser) -> tuple[float, bool]:
    """Return how many operands there may be, and whether words that argparse leaves alone may follow."""
    operands = [action.nargs for action in parser._actions if not action.option_strings]
    rest = argparse.REMAINDER in operands
    return math.inf if argparse.ZERO_OR_MORE in operands else len(operands) - rest, rest


def _parts(command: argparse.ArgumentParser, words: list[str]) -> Iterator[_Part]:
    """Yield the options and operands up to `--`."""
    actions = {name: action for action in command._actions for name in action.option_strings}
    index = 0
    while index < len(words) and words[index] != "--":
        word = words[index]
        names = _names_meant(word, actions) if word.startswith("-") and word != "-" else None
        length = 1
        if names and len({id(actions[name]) for name in names}) == 1 and not _has_argument(word, names[0]):
            length += _takes_next(actions[names[0]], words[index + 1 : index + 2])
        yield _Part(words[index : index + length], names)
        index += length


def _names_meant(word: str, actions: dict[str, Any]) -> list[str]:
    if word in actions:
        return [word]
    if not word.startswith("--"):
        return [word[:2]] if word[:2] in actions else []
    written = word.partition("=")[0]
    return [written] if written in actions else [name for name in actions if name.startswith(written)]


def _has_argument(word: str, name: str) -> bool:
    """Return whether the word of an option has its argument in it."""
    return "=" in word if name.startswith("--") else len(word) > 2


def _takes_next(action: argparse.Action, following: list[str]) -> bool:
    """Return whether the next word is an option's argument. One that may be left out is of the type of the option."""
    if action.nargs != argparse.OPTIONAL:
        return action.nargs != 0
    if not following or following[0].startswith("-"):
        return False
    if not following[0]:
        return True  # no operand is empty either
    try:
        assert callable(action.type)
        action.type(following[0])
    except argparse.ArgumentTypeError:
        return False
    return True


def _for_argparse(command: argparse.ArgumentParser, part: _Part) -> list[str]:
    """Return the words of a part; argparse would take an operand for the argument that was left out."""
    name = part.names[0] if part.names else ""
    left_out = [action for action in command._actions if name in action.option_strings and action.nargs == "?"]
    if not left_out or len(part.words) == 2 or _has_argument(part.words[0], name):
        return part.words
    return [f"{name}={left_out[0].const}"]
