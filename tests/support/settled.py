"""Waiting until files are old enough for notes of them (mipsrec/cache/notes.py); nobody can set a ctime.

Enters: files and folders. Leaves: when none in them has changed for SETTLED_SECONDS.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mipsrec.cache.notes import SETTLED_SECONDS


def settle(*places: Path) -> None:
    """Return when the host and the command line write notes of all files there."""
    files = [file for place in places for file in (place, *place.rglob("*"))]
    statuses = [file.stat(follow_symlinks=False) for file in files]
    settled = max(max(status.st_mtime, status.st_ctime) for status in statuses) + SETTLED_SECONDS
    while time.time() <= settled:
        time.sleep(0.02)


if __name__ == "__main__":
    settle(*map(Path, sys.argv[1:]))
