"""Which words of a command line are the guest's: all behind its program's name, whatever they look like.

Enters: the parser and the words. Leaves: the words for argparse, and the guest's. argparse would take some of the
latter for abbreviated options, and drop a `--`.
"""

from __future__ import annotations

import argparse

_WITH_GUEST = ("run", "verify", "profile")


def split_words(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words up to the program's name, and those behind it; of other commands, all are argparse's."""
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    if not words or words[0] not in _WITH_GUEST:
        return words, []
    end = 1 + _program_place(commands.choices[words[0]], words[1:]) + 1
    return words[:end], words[end:]


def _program_place(command: argparse.ArgumentParser, words: list[str]) -> int:
    """Return the index of the first word that is neither an option nor an option's argument; or behind the last word.

    Where the options are wrong, any index will do: argparse then says what is.
    """
    takes_argument = {name: action.nargs != 0 for action in command._actions for name in action.option_strings}
    index = 0
    while index < len(words):
        word = words[index]
        if word == "--":
            return index + 1
        if not word.startswith("-") or word == "-":
            return index
        names = [word] if word in takes_argument else [name for name in takes_argument if name.startswith(word)]
        index += 2 if len(names) == 1 and takes_argument[names[0]] else 1
    return index
