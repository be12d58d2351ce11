"""Objects of earlier builds, kept in the per-user cache, so that code that has not changed is not compiled again.

Enters: a key, which names everything an object is made from. Leaves: the object, or None. An entry is the object, its
key, and the footer of `files/checksum.py`: one that is damaged or has the name of another is a miss. Entries appear
whole or not at all, and any of them may go at any time, so builds side by side need no lock. Nothing here fails a
build: a cache that cannot be written stores nothing. Records of earlier builds (native/kept_parts.py) are entries of
the same form, of the kind RECORDS, in a folder of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import NoCacheError
from ..files import trust
from ..files.checksum import FOOTER_BYTES, footer, is_whole
from ..files.trust import listed, subfolders
from .folders import OBJECTS, RECORDS, has_folder, own_folder

LIMIT_BYTES = 1 << 29
"""Beyond this the entries that were used longest ago go, until a quarter of it is free."""
RECORDS_LIMIT_BYTES = 1 << 25
"""The same for records, which are small: of twice as many, to look for the oldest would take a tenth of a second."""


_MOST_BYTES = 1 << 28
"""Of an object; none is nearly so large."""


def begin() -> None:
    """Say, before there are worker processes to say it, where nothing is kept."""
    has_folder()


def objects_folder(kind: str = OBJECTS) -> Path:
    """Return the folder of objects, or of another kind of entries; raises NoCacheError."""
    return own_folder() / kind


def path_of(key: str, kind: str = OBJECTS) -> Path:
    """Return where the entry of a key is, if it is there."""
    return objects_folder(kind) / key[:2] / key[2:]


def find(key: str, kind: str = OBJECTS) -> bytes | None:
    """Return the entry of a key, and note that it was used.

    Who could once write the folder could give an object the name of another, so the key is part of it.
    """
    try:
        path = path_of(key, kind)
        data = trust.read(path, _MOST_BYTES)
    except (OSError, NoCacheError):
        return None
    end = len(data) - FOOTER_BYTES - len(key)
    if not is_whole(data) or data[max(end, 0) : -FOOTER_BYTES] != key.encode():
        with suppress(OSError):
            trust.remove(path, own_folder())
        return None
    with suppress(OSError):
        os.utime(path, follow_symlinks=False)
    return data[:end]


def keep(key: str, data: bytes, kind: str = OBJECTS) -> None:
    """Store the entry of a key, if there is room."""
    with suppress(OSError, NoCacheError):
        path = path_of(key, kind)
        folder = trust.make_folder(path.parent, own_folder())
        entry = data + key.encode()
        trust.write(folder / path.name, entry + footer(entry))


def _entries(kind: str) -> Iterator[tuple[float, int, Path]]:
    """Yield (time of last use, bytes, path) of all entries, and of what builds that were killed left behind."""
    for group in subfolders(objects_folder(kind)):
        for entry in listed(group):
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                yield status.st_mtime, status.st_size, Path(entry.path)


def trim(limit_bytes: int = LIMIT_BYTES, records_limit_bytes: int = RECORDS_LIMIT_BYTES) -> None:
    """Remove the objects that were used longest ago where all together take more than a limit, and such records."""
    _trim(OBJECTS, limit_bytes)
    _trim(RECORDS, records_limit_bytes)


def _trim(kind: str, limit_bytes: int) -> None:
    with suppress(OSError, NoCacheError):
        entries = sorted(_entries(kind))
        excess = sum(size for _, size, _ in entries) - limit_bytes
        if excess <= 0:
            return
        excess += limit_bytes // 4
        for _, size, path in entries:
            if excess <= 0:
                break
            with suppress(OSError):
                trust.remove(path, own_folder())
                excess -= size
