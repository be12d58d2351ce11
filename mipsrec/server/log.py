"""The compile server's log: standard error, which is a small file of its own (serve.py)."""

from __future__ import annotations

import sys
import time


def printable(text: str) -> str:
    """Return text in one line, in which nothing but letters and signs stands as it is: names are chosen by anybody."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def note(path: str, problem: str) -> None:
    """Note what went wrong with a file, in one line; further lines of the problem begin with blanks."""
    first, *more = problem.rstrip("\n").split("\n")
    lines = [
        f"{time.strftime('%F %T')} {printable(path)}: {printable(first)}",
        *(f"    {printable(line)}" for line in more),
    ]
    sys.stderr.write("\n".join([*lines, ""]))
    sys.stderr.flush()
