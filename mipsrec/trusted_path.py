"""Whom a path is trusted to: the reason why it is not, or the path without links.

The rule: code comes only from what no one but root and this user can choose. A group counts as others, unless it is the
user's alone (private_group.py). The host has the same rule (runtime/lifted/caches.c).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from . import private_group, this_user

_OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH
_MOST_LINKS = 40


class Distrusted(OSError):
    """A path, or a file, is not for us; `str()` says why."""


def is_trusted(owner: int) -> bool:
    """Return whether a user is root or this one; a process between two users or groups trusts none with its code."""
    return owner == 0 or this_user.is_this_user(owner)


@dataclass(frozen=True)
class _Place:
    """A file or folder on the way. `closed_by`: the folder above it that only its trusted owner may enter, or none.

    What has several names, by links or by mounts, may be reached elsewhere by another one.
    """

    path: str
    status: os.stat_result
    closed_by: str

    @property
    def mode(self) -> int:
        return self.status.st_mode

    @property
    def others_write(self) -> bool:
        if not self.mode & (stat.S_IWOTH | stat.S_IWGRP) or (self.closed_by and not self._has_other_names):
            return False
        return bool(self.mode & stat.S_IWOTH) or self._group_is_others

    @property
    def _has_other_names(self) -> bool:
        if not stat.S_ISDIR(self.mode) and self.status.st_nlink > 1:
            return True
        with opened_path(self.path) as here, opened_path(self.closed_by) as above:
            return mount_of(here) != mount_of(above)

    @property
    def _group_is_others(self) -> bool:
        return private_group.has_list(self.path) or not private_group.is_private(self.status.st_gid)

    @property
    def closes(self) -> str:
        """The folder that closes what is in this one, or none."""
        return self.path if stat.S_ISDIR(self.mode) and not self.mode & _OTHERS_ENTER else self.closed_by


def others_write(status: os.stat_result, path: str) -> bool:
    """Return whether others than its owner and root can write a file or folder, as far as its own permissions say."""
    return _Place(path, status, "").others_write


def parts(path: str | os.PathLike[str]) -> list[str]:
    """Return the names in a path, the last one first."""
    return [name for name in reversed(os.fspath(path).split("/")) if name not in ("", ".")]


def settle(path: str | os.PathLike[str], make: bool = False, mode: int = 0o700) -> Path:
    """Return what a path names, without links, if none but root and this user can change that.

    Raises Distrusted, or another OSError where nothing is there. `make` makes folders that are missing, by default for
    this user alone, and takes no file. In a sticky folder others can make names, but not change those of this user:
    that is enough above a folder, but not for a file or a link, nor for what the path names itself: others can move a
    file or a link of this user's there, out of a folder of theirs.
    """
    waiting = parts(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))
    trail = [_look("/", "")]
    links = 0
    while waiting:
        name = waiting.pop()
        if name == "..":
            trail = trail[: max(1, len(trail) - 1)]
            continue
        above = trail[-1]
        if above.others_write and not above.mode & stat.S_ISVTX:
            raise Distrusted("others can write it, or a folder above it")
        found = _look_or_make(os.path.join(above.path, name), above.closes, mode if make else None)
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


def _look(path: str, closed_by: str) -> _Place:
    status = os.lstat(path)
    if not is_trusted(status.st_uid):
        raise Distrusted("it, or a folder above it, belongs to another user")
    return _Place(path, status, closed_by)


def _look_or_make(path: str, closed_by: str, mode: int | None) -> _Place:
    """Return a place; where nothing is there, a new folder. Who makes one there at once is judged as any other."""
    try:
        return _look(path, closed_by)
    except FileNotFoundError:
        if mode is None:
            raise
    with suppress(FileExistsError):
        os.mkdir(path, mode)
    return _look(path, closed_by)


def _check_end(trail: list[_Place]) -> None:
    """Judge what a path names itself, and the folder that holds a file."""
    end = trail[-1]
    holders = trail[-2:-1] if not stat.S_ISDIR(end.mode) else []
    if any(place.others_write for place in (end, *holders)):
        raise Distrusted("others can write it, or a folder above it")


def distrust(path: str | os.PathLike[str]) -> str | None:
    """Return who else than root and this user can change what a path names, or None: code is taken from it."""
    try:
        settle(path)
    except Distrusted as reason:
        return str(reason)
    except (OSError, ValueError):
        return "it is out of reach"
    return None


@contextmanager
def opened_path(path: str) -> Iterator[int]:
    """Yield a descriptor that names a file, a folder or a link itself, and reads nothing; raises OSError."""
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def mount_of(handle: int) -> tuple[int, str]:
    """Return which file system, and which mount of it, a folder is of."""
    said = ""
    with suppress(OSError), open(f"/proc/self/fdinfo/{handle}") as stream:
        said = next((line for line in stream if line.startswith("mnt_id")), "")
    return os.fstat(handle).st_dev, said
