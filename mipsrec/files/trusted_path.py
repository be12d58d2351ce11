"""Whom a path is trusted to: the reason why it is not, or the path without links.

The rule: code comes only from what no one but root and this user can choose. A group counts as others, unless it is the
user's alone (private_group.py). The host has the same rule (runtime/lifted/caches.c).
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import BuildError
from . import private_group, this_user

_MOST_LINKS = 40


class Distrusted(OSError):
    """A path, or a file, is not for us; `str()` says why."""


def is_trusted(owner: int) -> bool:
    """Return whether a user is root or this one; a process between two users or groups trusts none with its code."""
    return owner == 0 or this_user.is_this_user(owner)


def others_write(status: os.stat_result, path: str) -> bool:
    """Return whether others than its owner and root can write a file or folder.

    What folders are above it says nothing of that: mounts elsewhere, second names and descriptors that were opened
    earlier lead past them.
    """
    if status.st_mode & stat.S_IWOTH:
        return True
    group_writes = bool(status.st_mode & stat.S_IWGRP)
    return group_writes and (private_group.has_list(path) or not private_group.is_private(status.st_gid))


@dataclass(frozen=True)
class _Place:
    """A file or folder on the way."""

    path: str
    status: os.stat_result

    @property
    def mode(self) -> int:
        return self.status.st_mode

    @property
    def others_write(self) -> bool:
        return others_write(self.status, self.path)


def parts(path: str | os.PathLike[str]) -> list[str]:
    """Return the names in a path, the last one first."""
    return [name for name in reversed(os.fspath(path).split("/")) if name not in ("", ".")]


def resolve(path: str | os.PathLike[str], make: bool = False, mode: int = 0o700) -> Path:
    """Return what a path names, without links, if none but root and this user can change that.

    Raises Distrusted, or another OSError where nothing is there. `make` makes folders that are missing, by default for
    this user alone, and takes no file. In a sticky folder others can make names, but not change those of this user:
    that is enough above a folder, but not for a file or a link, nor for what the path names itself: others can move a
    file or a link of this user's there, out of a folder of theirs.
    """
    waiting = parts(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))
    trail = [_look("/")]
    links = 0
    while waiting:
        name = waiting.pop()
        if name == "..":
            trail = trail[: max(1, len(trail) - 1)]
            continue
        above = trail[-1]
        if above.others_write and not above.mode & stat.S_ISVTX:
            raise Distrusted("others can write it, or a folder above it")
        found = _look_or_make(os.path.join(above.path, name), mode if make else None)
        if not stat.S_ISLNK(found.mode):
            trail.append(found)
            continue
        if above.others_write:
            raise Distrusted("a link on the way to it is in a folder that others can write")
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(found.path)
        trail = trail[:1] if target.startswith("/") else trail
        waiting += parts(target)
    _check_end(trail)
    if make and not stat.S_ISDIR(trail[-1].mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), trail[-1].path)
    return Path(trail[-1].path)


def _look(path: str) -> _Place:
    status = os.lstat(path)
    if not is_trusted(status.st_uid):
        raise Distrusted("it, or a folder above it, belongs to another user")
    return _Place(path, status)


def _look_or_make(path: str, mode: int | None) -> _Place:
    """Return a place; where nothing is there, a new folder. Who makes one there at once is judged as any other."""
    try:
        return _look(path)
    except FileNotFoundError:
        if mode is None:
            raise
    with suppress(FileExistsError):
        os.mkdir(path, mode)
    return _look(path)


def _check_end(trail: list[_Place]) -> None:
    """Judge what a path names itself, and the folder that holds a file."""
    end = trail[-1]
    holders = trail[-2:-1] if not stat.S_ISDIR(end.mode) else []
    if any(place.others_write for place in (end, *holders)):
        raise Distrusted("others can write it, or a folder above it")


def distrust(path: str | os.PathLike[str]) -> str | None:
    """Return who else than root and this user can change what a path names, or None: code is taken from it."""
    try:
        resolve(path)
    except Distrusted as reason:
        return str(reason)
    except (OSError, ValueError):
        return "it is out of reach"
    return None


def check_program(path: str) -> None:
    """Raise BuildError where others can have chosen a program by now: a cache that goes may be made anew by others."""
    reason = distrust(path)
    if reason is not None:
        raise BuildError(f"{path}: {reason}, so it is not executed; run the command again")


def mount_of(handle: int) -> tuple[int, str]:
    """Return which file system, and which mount of it, a folder is of."""
    said = ""
    with suppress(OSError), open(f"/proc/self/fdinfo/{handle}") as stream:
        said = next((line for line in stream if line.startswith("mnt_id")), "")
    return os.fstat(handle).st_dev, said
