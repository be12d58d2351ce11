"""What of the cache can go: what nothing needs any more, what is old, and what is beyond a limit.

Leftovers are notes that are stale, locks that nobody has, and what builds that were killed have left.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..files import trust
from ..files.folder_walk import files_below
from ..files.trust import listed, subfolders
from . import notes
from .entries import CacheEntry, cache_entries, remove, remove_empty_folders, remove_path
from .folders import CODE, HOSTS, LIBRARIES, OBJECTS, RECORDS, own_folder
from .limit import BOUNDED, beyond, limit_bytes

_MOST_LOCK_BYTES = 1 << 16
NOTE_DAYS = 30
"""A note on a file that was not read for so long is stale: to make it again costs milliseconds."""
UNFINISHED_SECONDS = 3600
"""What an unfinished build left is removed when nothing in it has changed for so long."""


@dataclass
class Rules:
    """What `prune` removes beside leftovers and what is beyond the limit."""

    max_bytes: int | None = None
    older_seconds: float | None = None
    other_versions: bool = False
    dry_run: bool = False


LOCK = "lock"


@dataclass(frozen=True)
class Leftover:
    """A file or folder that nothing needs: a note, a lock, or part of an unfinished build."""

    what: str
    path: Path
    size_bytes: int


def remove_leftover(leftover: Leftover) -> bool:
    """Remove it, and folders that are empty now; return whether it is gone."""
    gone = _remove_lock(leftover.path) if leftover.what == LOCK else remove_path(leftover.path)
    if gone:
        remove_empty_folders(leftover.path.parent)
    return gone


def _is_held(lock: Path) -> bool:
    """Return whether some process has this lock."""
    try:
        with open(trust.open_file(lock, _MOST_LOCK_BYTES), "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _remove_lock(lock: Path) -> bool:
    """Remove a lock that nobody has, having it oneself (store.py looks whether its lock is still the file)."""
    try:
        handle = trust.open_file(lock, _MOST_LOCK_BYTES)
    except FileNotFoundError:
        return True
    except OSError:
        return remove_path(lock)  # it is no lock
    with open(handle, "rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.lstat(lock)):
                return remove_path(lock)
        except FileNotFoundError:
            pass
        except OSError:
            return False
    return True


def _size(path: Path) -> int:
    return sum(status.st_size for status in _statuses(path))


def _statuses(path: Path) -> Iterator[os.stat_result]:
    """Yield how a file is, or a folder and each file in it; nothing of those that are gone."""
    with suppress(OSError):
        yield path.lstat()
    yield from (status for _, status in files_below(path))


def _unfinished_in(folder: Path, now: float) -> Iterator[Leftover]:
    """Yield locks that nobody has, and what builds that were killed have left in a folder."""
    held = False
    for entry in sorted(listed(folder), key=lambda entry: not entry.name.endswith(".lock")):
        path = Path(entry.path)
        if entry.name.endswith(".lock"):
            if _is_held(path):
                held = True
            else:
                yield Leftover(LOCK, path, 0)
        elif entry.name.startswith(".") or ".json." in entry.name:
            changed = (status.st_mtime for status in _statuses(path))
            if not held and max(changed, default=now) + UNFINISHED_SECONDS < now:
                yield Leftover("unfinished build", path, _size(path))
        elif entry.name.endswith(".json") and not os.path.lexists(path.with_suffix(".so")):
            yield Leftover("description", path, _size(path))


def leftovers(current_stencils: str) -> Iterator[Leftover]:
    """Yield what nothing needs any more."""
    root, now = own_folder(), time.time()
    variants = [variant for version in subfolders(root / CODE) for variant in subfolders(version)]
    groups = [group for variant in variants for group in subfolders(variant)]
    hosts = subfolders(root / HOSTS)
    kept = [*subfolders(root / OBJECTS), *subfolders(root / RECORDS)]
    for folder in [*groups, root / LIBRARIES, *kept, *hosts]:
        yield from _unfinished_in(folder, now)
    yield from _stale_stencils(root / HOSTS, current_stencils, now)
    yield from _stale_notes(root, now)


def _stale_stencils(folder: Path, current: str, now: float) -> Iterator[Leftover]:
    """Yield tables of stencils that are of another version, or were never finished."""
    for entry in listed(folder):
        if not entry.name.startswith("stencils-") or entry.name == current:
            continue
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if entry.name.endswith(".h") or status.st_mtime + UNFINISHED_SECONDS < now:
                yield Leftover("stencils", Path(entry.path), status.st_size)


def _stale_notes(root: Path, now: float) -> Iterator[Leftover]:
    """Yield notes of the host that are nonsense, of libraries that are gone, or that nobody has read for long."""
    libraries: set[str] = set()
    for library in cache_entries((CODE,)):
        with suppress(OSError):
            status = os.stat(library.path)
            libraries.add(notes.name_of(status))
    for entry in listed(root / notes.FOLDER):
        path = Path(entry.path)
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            age = now - max(status.st_atime, status.st_mtime)
            if not notes.is_name(entry.name):
                if age > UNFINISHED_SECONDS:
                    yield Leftover("note", path, status.st_size)
                continue
            said = notes.read_note(path) if entry.is_file(follow_symlinks=False) else None
            gone = said == notes.WHOLE and entry.name not in libraries
            if said is None or gone or age > NOTE_DAYS * 86400:
                yield Leftover("note", path, status.st_size)


def prune(rules: Rules, current_stencils: str) -> list[CacheEntry | Leftover]:
    """Remove what nothing needs and what the rules say; return what is gone, or with `dry_run` what would be."""
    left = leftovers(current_stencils)
    gone: list[CacheEntry | Leftover] = [one for one in left if rules.dry_run or remove_leftover(one)]
    found, now = list(cache_entries()), time.time()
    going: dict[Path, CacheEntry] = {}
    for one in found:
        foreign = rules.other_versions and not one.is_current
        old = rules.older_seconds is not None and now - one.used > rules.older_seconds
        if foreign or old:
            going[one.path] = one
    limits = [((CODE, LIBRARIES, OBJECTS, RECORDS, HOSTS), rules.max_bytes), (BOUNDED, limit_bytes())]
    for kinds, limit in limits:
        if limit is not None:
            rest = [one for one in found if one.kind in kinds and one.path not in going]
            going |= {one.path: one for one in beyond(rest, limit)}
    gone += [one for one in going.values() if rules.dry_run or remove(one)]
    return gone
