"""The one way to files that others might have put where they are.

Enters: paths in a cache or a layer. Leaves: descriptors of regular files, files written whole, and what trusted_path.py
says of paths.

What is found trusted can be used by its real path afterwards: who could change that path is trusted. So `resolve` comes
first, and nothing below follows a link.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from ..errors import one_line
from ..interrupts import held
from .input_file import open_checked
from .trusted_path import Distrusted, distrust, is_trusted, mount_of, others_write, parts, resolve

__all__ = ("Distrusted", "distrust", "is_trusted", "others_write", "parts", "resolve")
"""What this module has of trusted_path.py."""

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
PARTIAL = ".partial-"
"""Begins the names of files that are being written."""
WAS_OPEN = ".was-open-"
"""Begins the names of folders that others could write: nothing there is used, and no command removes them."""


# ---- reading ----


def open_file(path: str | os.PathLike[str], most_bytes: int) -> int:
    """Return the descriptor of a regular file of root or this user; raises Distrusted, or another OSError.

    No link is followed, nothing waits for the other end of a pipe, and it has no more bytes than that. Reading is no
    use of it, where the file is ours (O_NOATIME).
    """
    check = partial(_check_file, most_bytes=most_bytes)
    try:
        return open_checked(path, _READ | os.O_NOATIME, check)
    except PermissionError:
        return open_checked(path, _READ, check)


def _check_file(status: os.stat_result, most_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Distrusted("it is not a regular file")
    if not is_trusted(status.st_uid):
        raise Distrusted("it belongs to another user")
    if status.st_size > most_bytes:
        raise Distrusted(f"it has {status.st_size} bytes, which is too many")


def read(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Return what a file of a cache has; raises OSError. The path is judged as well."""
    with open(open_file(resolve(path), most_bytes), "rb") as stream:
        return stream.read(most_bytes)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a regular file is there that none but root and this user can have chosen."""
    try:
        return stat.S_ISREG(os.lstat(resolve(path)).st_mode)
    except (OSError, ValueError):
        return False


# ---- folders ----


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder, by name; nothing where it is a link, others can write it, or it cannot be read.

    What was set aside there is not looked for.
    """
    try:
        if stat.S_ISLNK(os.lstat(folder).st_mode):
            return []
        resolve(folder)
        with os.scandir(folder) as found:
            return sorted((one for one in found if not one.name.startswith(WAS_OPEN)), key=lambda entry: entry.name)
    except OSError:
        return []


def subfolders(folder: Path) -> list[Path]:
    """Return the folders in a folder; links are none."""
    return [Path(entry.path) for entry in listed(folder) if entry.is_dir(follow_symlinks=False)]


@contextmanager
def opened_folder(folder: Path) -> Iterator[int]:
    """Yield the descriptor of a trusted folder; raises OSError."""
    handle = os.open(resolve(folder), _FOLDER)
    try:
        yield handle
    finally:
        os.close(handle)


def make_folder(folder: Path, root: Path) -> Path:
    """Return a folder below a trusted root, without links; make it, and make room for it. Raises OSError.

    Whatever has the name of a folder and is none goes. A folder that others could write gets another name: they may
    have exchanged what is there. Only this user may write what is made.
    """
    top = real = resolve(root)
    for name in folder.relative_to(root).parts:
        real = _step(real / name, top)
    return real


def _step(place: Path, root: Path) -> Path:
    try:
        real = resolve(place)
        if real.is_dir():
            return real
    except FileNotFoundError:
        pass
    except Distrusted:
        _set_aside(place, root)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
    with suppress(FileNotFoundError):
        remove(place, place.parent)
    with suppress(FileExistsError):
        place.mkdir(0o755)
        place.chmod(place.stat().st_mode & 0o7755)  # a default ACL
    return resolve(place)


def _set_aside(place: Path, root: Path) -> None:
    """Put a folder of this user that others can write where nothing is looked for (`_put_aside`)."""
    status = place.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
        with opened_folder(place.parent) as above, opened_folder(root) as top:
            _put_aside(above, place.name, top)


def _put_aside(above: int, name: str, top: int) -> None:
    """Give a folder a name where nothing is looked for, close it, and say so.

    Nothing in it is used or removed: others may have moved anything there, also what is this user's.
    """
    aside = WAS_OPEN + secrets.token_hex(8)
    was = os.path.join(os.readlink(f"/proc/self/fd/{above}"), name)
    os.rename(name, aside, src_dir_fd=above, dst_dir_fd=top)
    handle = os.open(aside, _FOLDER | os.O_PATH, dir_fd=top)  # whatever its mode
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)
        now = os.readlink(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
    why = f"others could write it, so nothing in it is used; it is {now} now: look into it, and remove it"
    print(one_line(f"mipsrec: {was}: {why}"), file=sys.stderr)


# ---- writing ----


def write(path: Path, data: bytes, wait_for_disk: bool = False) -> None:
    """Write a file of a trusted folder whole or not at all; raises OSError. What else had the name goes.

    Ctrl-C waits meanwhile: behind the making of the file and before the note of its name it would leave the file there.
    """
    with held(), opened_folder(path.parent) as folder:
        name, handle = new_file(folder, 0o644)
        try:
            with open(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                if wait_for_disk:
                    os.fsync(handle)
            _rename(folder, name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise


def new_file(folder: int, mode: int) -> tuple[str, int]:
    """Make a file in an opened folder; return its name, which nobody can guess, and its descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    name = PARTIAL + secrets.token_hex(8)
    return name, os.open(name, flags, mode, dir_fd=folder)


def _rename(folder: int, name: str, path: Path) -> None:
    try:
        os.rename(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except IsADirectoryError:
        clear(path, path.parent)
        os.rename(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)


def open_lock(path: Path) -> IO[bytes]:
    """Return a file that serves as a lock, made if need be; raises OSError."""
    return os.fdopen(open_own(path), "r+b")


def open_own(path: Path) -> int:
    """Return the descriptor of a file in a trusted folder, to read and write it, made if need be; raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    with opened_folder(path.parent) as folder:
        for attempt in (0, 1):
            try:
                handle = os.open(path.name, flags, 0o600, dir_fd=folder)
            except OSError as error:
                if attempt or error.errno not in (errno.EISDIR, errno.ELOOP, errno.ENXIO):
                    raise
                clear(path, path.parent)
                continue
            if attempt or stat.S_ISREG(os.fstat(handle).st_mode):
                return handle
            os.close(handle)
            clear(path, path.parent)
    raise AssertionError("the second attempt returns or raises")


# ---- removing ----


def clear(path: Path, root: Path) -> None:
    """Make room for a file: remove what is there unless it is a regular file of ours or root's; raises OSError."""
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or not is_trusted(status.st_uid):
            remove(path, root)


def remove(path: Path, root: Path) -> None:
    """Remove a file, a link or a folder with all in it, below a trusted root; raises OSError.

    Nothing follows a link, goes to another file system or mount, or removes what is another user's. A folder that
    others can write is set aside in the root, with all in it; what was set aside before goes there, too.
    """
    with opened_folder(root) as top, opened_folder(path.parent) as folder:
        if not resolve(path.parent).is_relative_to(resolve(root)):
            raise Distrusted("it is not below the folder that is cleared")
        if mount_of(folder) != mount_of(top):
            raise Distrusted("it is on another file system")
        try:
            _remove_in(folder, path.name, top)
        except RecursionError:
            raise OSError(f"{path}: has too many folders in each other") from None


def _remove_in(folder: int, name: str, top: int) -> None:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if status.st_uid != os.geteuid():
        raise Distrusted("it belongs to another user")
    if name.startswith(WAS_OPEN):
        os.rename(name, name, src_dir_fd=folder, dst_dir_fd=top)
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=folder)
        return
    if others_write(status, f"/proc/self/fd/{folder}/{name}"):
        _put_aside(folder, name, top)
        return
    inner = os.open(name, _FOLDER, dir_fd=folder)
    try:
        if os.fstat(inner).st_uid != os.geteuid():  # another folder has come in its place
            raise Distrusted("it belongs to another user")
        if mount_of(inner) != mount_of(folder):
            raise Distrusted("another file system is mounted there")
        for one in os.listdir(inner):
            with suppress(FileNotFoundError):
                _remove_in(inner, one, top)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=folder)
