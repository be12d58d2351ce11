"""The compile server's log: standard error, which is a small file of its own (serve.py)."""

from __future__ import annotations

import sys
import time

from ..errors import one_line


def note(path: str, problem: str) -> None:
    """Note what went wrong with a file, in one line; further lines of the problem begin with blanks."""
    first, *more = problem.rstrip("\n").split("\n")
    lines = [
        f"{time.strftime('%F %T')} {one_line(path)}: {one_line(first)}",
        *(f"    {one_line(line)}" for line in more),
    ]
    sys.stderr.write("\n".join([*lines, ""]))
    sys.stderr.flush()
