"""Objects of earlier builds, kept in the per-user cache, so that code that has not changed is not compiled again.

Enters: a key, which names everything an object is made from. Leaves: the object, or None. An entry is the object with
the footer of `checksum.py`: a damaged one is a miss. Entries appear whole or not at all, and any of them may go at any
time, so builds side by side need no lock. Nothing here fails a build: a cache that cannot be written stores nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .cache import OBJECTS, cache_folder
from .checksum import FOOTER_BYTES, footer, is_whole
from .errors import BuildError

LIMIT_BYTES = 1 << 29
"""Beyond this the entries that were used longest ago go, until a quarter of it is free."""


def objects_folder() -> Path:
    return cache_folder() / OBJECTS


def path_of(key: str) -> Path:
    """Return where the object of a key is, if it is there."""
    return objects_folder() / key[:2] / key[2:]


def find(key: str) -> bytes | None:
    """Return the object of a key, and note that it was used."""
    try:
        path = path_of(key)
        data = path.read_bytes()
    except (OSError, BuildError):
        return None
    if not is_whole(data):
        with suppress(OSError):
            path.unlink()
        return None
    with suppress(OSError):
        os.utime(path)
    return data[:-FOOTER_BYTES]


def keep(key: str, data: bytes) -> None:
    """Store the object of a key, if there is room."""
    partial: str | None = None
    try:
        path = path_of(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=".partial-", dir=path.parent)
        with open(handle, "wb") as stream:
            stream.write(data + footer(data))
        os.replace(partial, path)
    except (OSError, BuildError):
        if partial is not None:
            with suppress(OSError):
                os.unlink(partial)


def _entries() -> Iterator[tuple[float, int, str]]:
    """Yield (time of last use, bytes, path) of all entries, and of what builds that were killed left behind."""
    for group in os.scandir(objects_folder()):
        with suppress(OSError):
            for entry in os.scandir(group.path):
                with suppress(OSError):
                    status = entry.stat()
                    yield status.st_mtime, status.st_size, entry.path


def trim(limit_bytes: int = LIMIT_BYTES) -> None:
    """Remove the entries that were used longest ago where all together take more than `limit_bytes`."""
    with suppress(OSError, BuildError):
        entries = sorted(_entries())
        excess = sum(size for _, size, _ in entries) - limit_bytes
        if excess <= 0:
            return
        excess += limit_bytes // 4
        for _, size, path in entries:
            if excess <= 0:
                break
            with suppress(OSError):
                os.unlink(path)
                excess -= size
