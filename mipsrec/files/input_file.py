"""The one way to read a file that a user names, or that stands in a folder that he names: a regular file, with a bound.

Enters: a path. Leaves: a stream, or the bytes. What no command can read to its end, such as a pipe, a terminal or
/dev/zero, is refused before it is opened, and again once it is open, since another file may have come in its place.
Files of caches are read by trust.py, which asks whose they are as well.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from typing import IO

MOST_BYTES = 256 << 20
"""Of a program or of a text about one; it keeps what one file can make us allocate below 600 MB."""
MOST_ELF_BYTES = 1 << 32
"""No place in a larger file can be named by a 32-bit ELF header."""

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_KINDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip


class Unfit(OSError):
    """What is there is not read; `str()` and `strerror` say what it is, as what follows "is"."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EINVAL, what)

    def __str__(self) -> str:
        return str(self.strerror)


class TooLarge(Unfit):
    """It has more bytes than any such file needs."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"larger than {most_bytes >> 20} MiB")


def _check(status: os.stat_result, most_bytes: int) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "something else")
        raise Unfit(f"not a regular file but {what}: write what comes from it to a file, and give that")
    if status.st_size > most_bytes:
        raise TooLarge(most_bytes)


def open_checked(
    path: str | os.PathLike[str], flags: int, check: Callable[[os.stat_result], None], folder: int | None = None
) -> int:
    """Return the descriptor of a file of which `check` raises nothing; raises what it raises, and OSError."""
    handle = os.open(path, flags, dir_fd=folder)
    try:
        check(os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_input(path: str | os.PathLike[str], most_bytes: int = MOST_BYTES, folder: int | None = None) -> IO[bytes]:
    """Return a regular file that has no more bytes than that, to be read; raises OSError, ValueError for no name.

    In an opened folder, which may be another user's, no link is followed.
    """
    check = partial(_check, most_bytes=most_bytes)
    check(os.stat(path, dir_fd=folder, follow_symlinks=folder is None))
    flags = _READ if folder is None else _READ | os.O_NOFOLLOW
    return open(open_checked(path, flags, check, folder), "rb")


def read_input(path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> bytes:
    """Return what a regular file has; raises as `open_input`, also where the file grows meanwhile."""
    with open_input(path, most_bytes) as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(size + 1)
        if len(content) > size:
            content += stream.read(most_bytes - size)
    if len(content) > most_bytes:
        raise TooLarge(most_bytes)
    return content


def read_text(path: str | os.PathLike[str], errors: str = "strict") -> str:
    """Return the text of a regular file in UTF-8; raises as `read_input`, and ValueError where `errors` says so."""
    return read_input(path).decode("utf-8", errors).replace("\r\n", "\n")
