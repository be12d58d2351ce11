"""The exceptions a user can meet; the message of each is one line that says what failed, where, and what to do.

Enters: nothing. Leaves: `MipsrecError` and its children. Not done here: printing; only `cli` catches `MipsrecError`,
writes its message to standard error and ends with status 1, or 2 for a `UsageError`. Whatever is not a `MipsrecError`
is a bug of ours and keeps its traceback.
"""

from __future__ import annotations


class MipsrecError(Exception):
    """Something outside mipsrec is wrong; `str()` of it is the one line to show."""


class UsageError(MipsrecError):
    """A command cannot be meant as it was written; the command line adds where its help is."""


class ElfError(MipsrecError):
    """The guest program cannot be read, or is of a kind that mipsrec does not run."""


class LiftError(MipsrecError):
    """Guest code cannot be turned into IR where nothing can take its place."""


class BuildError(MipsrecError):
    """A tool, a library or the disk failed while native code was made."""


class WriteError(BuildError):
    """What was made cannot be kept: there is no room, or no right to write."""


class NoCacheError(WriteError):
    """There is no cache folder that may be used."""


class ProfileError(MipsrecError):
    """A profile of an earlier run cannot be read, or is of another program."""


class CoverageError(MipsrecError):
    """A coverage file of an earlier run cannot be read, or is of another program."""


class OutputError(MipsrecError):
    """Standard output cannot be written; `is_unread`: since its reader has left."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(f"standard output cannot be written ({reason.strerror or reason})")
        self.is_unread = isinstance(reason, BrokenPipeError)


def one_line(text: str) -> str:
    """Return text whose control characters are written out: a name with a line break makes no line of its own."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
