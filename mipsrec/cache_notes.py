"""Notes in the cache: which contents a guest's file has, and when a library was used last.

The host makes them as it runs programs (runtime/lifted/store.c), builds make them here. A note spares the reading of a
whole file; nothing is lost without it.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from . import trust
from .cache import own_folder
from .errors import NoCacheError

FOLDER = "identities"
WHOLE = "whole"
"""What is noted of a library whose checksum was right."""
USE_NOTED_SECONDS = 86400
SETTLED_SECONDS = 2
"""What is younger may change, and keep its times."""

_MOST_BYTES = 4096
_NAME = re.compile(r"[0-9a-f]+-[0-9a-f]+")
_NOTE = re.compile(r"1 \d+ -?\d+\.\d{9} -?\d+\.\d{9} ([0-9a-f]{64}|whole)\n")


def name_of(status: os.stat_result) -> str:
    """Return the name of the note on a file."""
    return f"{status.st_dev:x}-{status.st_ino:x}"


def is_name(name: str) -> bool:
    """Return whether a note has such a name; others are of notes that were never finished."""
    return _NAME.fullmatch(name) is not None


def read_note(path: Path) -> str | None:
    """Return what a note says, an identity or WHOLE; None where it is nonsense. Raises OSError."""
    try:
        found = _NOTE.fullmatch(trust.read(path, _MOST_BYTES).decode("ascii", "replace"))
    except trust.Distrusted:
        return None
    return found[1] if found is not None else None


def note_identity(status: os.stat_result, identity: str) -> None:
    """Write what the host would note of a guest's file that it has read (runtime/lifted/store.c)."""
    if max(status.st_mtime, status.st_ctime) + SETTLED_SECONDS > time.time() or status.st_nlink == 0:
        return
    times = [f"{ns // 10**9}.{ns % 10**9:09}" for ns in (status.st_mtime_ns, status.st_ctime_ns)]
    note = f"1 {status.st_size} {times[0]} {times[1]} {identity}\n"
    with suppress(OSError, NoCacheError):
        root = own_folder()
        folder = trust.make_folder(root / FOLDER, root)
        trust.write(folder / name_of(status), note.encode())


def note_use(path: Path) -> None:
    """Note that a library of the cache is used, where the file system has not for a day."""
    with suppress(OSError, NoCacheError):
        if not path.is_relative_to(own_folder()):
            return  # of a layer
        status = path.lstat()
        if status.st_atime + USE_NOTED_SECONDS < time.time():
            os.utime(path, ns=(time.time_ns(), status.st_mtime_ns), follow_symlinks=False)
