"""Folders for files on the way to a result: gone when the work is done or given up, by Ctrl-C too.

They lie where none but root and this user can put something in the place of what is in them: compilers are given their
files by name. TMPDIR counts as far as that is so; `su` and `sudo` may leave that of another user.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from . import trust
from .interrupts import held, let_in


def temporary_places() -> list[str]:
    """Return the folders where temporary files may go, the best first; what is made there has to be judged."""
    given = os.environ.get("TMPDIR") or "/tmp"
    return list(dict.fromkeys([given, "/tmp", "/var/tmp", "/dev/shm", f"/run/user/{os.geteuid()}"]))


def is_for_all(place: str) -> bool:
    """Return whether this is the system's folder for temporary files, whose owner owns the root folder as well.

    In some containers root has a number that means nobody there.
    """
    status = os.lstat(place)
    sticky = bool(status.st_mode & stat.S_ISVTX)
    return place in ("/tmp", "/var/tmp") and sticky and status.st_uid == os.lstat("/").st_uid


def is_ours(folder: str) -> bool:
    """Return whether a folder that was just made is one that nobody else can take away or write."""
    return trust.distrust(folder) is None or is_for_all(os.path.dirname(folder))


@contextmanager
def temporary_folder(prefix: str, parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Yield a new folder, in `parent` if nobody else can change what is there; raises OSError.

    A parent is good for moving files within one file system; `move_file` moves them from elsewhere, too.
    """
    with held(), _made(prefix, parent) as folder, let_in():
        yield Path(folder)


def _made(prefix: str, parent: str | os.PathLike[str] | None) -> tempfile.TemporaryDirectory[str]:
    if parent is not None:
        made = tempfile.TemporaryDirectory(prefix=prefix, dir=os.path.realpath(parent))
        if is_ours(made.name):
            return made
        made.cleanup()
    for place in temporary_places():
        with suppress(OSError, ValueError):
            made = tempfile.TemporaryDirectory(prefix=prefix, dir=os.path.realpath(place))
            if is_ours(made.name):
                return made
            made.cleanup()
    raise OSError(errno.ENOENT, "no folder for temporary files that is not of others; set TMPDIR to one")


def move_file(source: Path, target: Path) -> None:
    """Give a finished file its name, also on another file system: it appears whole, and no link there is followed."""
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with source.open("rb") as data, _new_file(target) as copy:
            shutil.copyfileobj(data, copy)
            os.fchmod(copy.fileno(), source.stat().st_mode & 0o777)


def write_file(target: Path, data: bytes) -> None:
    """Write a file whole or not at all; a link that has its name is replaced, not followed. Raises OSError."""
    with _new_file(target) as file:
        file.write(data)


@contextmanager
def _new_file(target: Path) -> Iterator[IO[bytes]]:
    """Yield a file of a name that nobody can guess, which gets its own at the end; the umask holds."""
    with held():
        name = f"{target.parent}/{trust.PARTIAL}{secrets.token_hex(8)}"
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            with open(file, "wb") as stream, let_in():
                yield stream
            os.replace(name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
