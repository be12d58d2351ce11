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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from ..interrupts import held, let_in
from . import trust


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
    with held():
        folder = _made(prefix, parent)
        try:
            with let_in():
                yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _made(prefix: str, parent: str | os.PathLike[str] | None) -> str:
    if parent is not None:
        folder = made_if_ours(prefix, parent)
        if folder is not None:
            return folder
    for place in temporary_places():
        with suppress(OSError, ValueError):
            folder = made_if_ours(prefix, place)
            if folder is not None:
                return folder
    raise OSError(errno.ENOENT, "no folder for temporary files that is not of others; set TMPDIR to one")


def made_if_ours(prefix: str, place: str | os.PathLike[str]) -> str | None:
    """Return a new folder in another one, or None where others could take it away or write it; raises OSError.

    Links of theirs are not followed. It is made and removed by the opened folder, whatever has that name by now.
    """
    if not os.path.isdir(place):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(place))
    with opened_output(place) as handle:
        found = os.readlink(f"/proc/self/fd/{handle}")
        if trust.distrust(found) is not None and not is_for_all(found):
            return None
        name = prefix + secrets.token_hex(8)
        os.mkdir(name, 0o700, dir_fd=handle)
        folder = os.path.join(found, name)
        with suppress(OSError):
            made = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if is_ours(folder) and os.path.samestat(made, os.lstat(folder)):
                return folder
        with suppress(OSError):
            os.rmdir(name, dir_fd=handle)
    return None


# ---- where results go ----

_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40


@contextmanager
def opened_output(folder: str | os.PathLike[str]) -> Iterator[int]:
    """Yield the descriptor of a folder for results, made if need be; raises OSError.

    It may be another user's. But that user does not choose which one it is: links on the way are of root or this user,
    in folders where others can put none, and what is written by the descriptor goes there, whatever has the folder's
    name meanwhile. Folders that were made go where the work fails, if they are empty then.
    """
    with ExitStack() as opened:
        made: list[tuple[int, str, int]] = []
        try:
            yield _open_output(os.fspath(folder), opened, made)
        except BaseException:
            with suppress(OSError):
                for above, name, handle in reversed(made):
                    if os.path.samestat(os.stat(name, dir_fd=above, follow_symlinks=False), os.fstat(handle)):
                        os.rmdir(name, dir_fd=above)
            raise


def _open_output(path: str, opened: ExitStack, made: list[tuple[int, str, int]]) -> int:
    """Return the descriptor; `opened` closes it and those on the way, `made` gets (above, name, descriptor)."""

    def hold(handle: int) -> int:
        opened.callback(os.close, handle)
        return handle

    waiting, links = trust.parts(path), 0
    here = hold(os.open("/" if os.path.isabs(path) else ".", _PLACE))
    while waiting:
        name = waiting.pop()
        handle, is_new = _open_or_make(name, here)
        found = hold(handle)
        if is_new:
            made.append((here, name, found))
        if not stat.S_ISLNK(os.fstat(found).st_mode):
            here = found
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = _target_of(found, here)
        waiting += trust.parts(target)
        here = hold(os.open("/", _PLACE)) if target.startswith("/") else here
    if not stat.S_ISDIR(os.fstat(here).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return here


def _open_or_make(name: str, folder: int) -> tuple[int, bool]:
    """Return a descriptor, and whether it is of a folder that was made now."""
    with suppress(FileNotFoundError):
        return os.open(name, _PLACE, dir_fd=folder), False
    try:
        return _open_made(name, folder, 0o777), True
    except FileExistsError:
        return os.open(name, _PLACE, dir_fd=folder), False


def _open_made(name: str, folder: int, mode: int) -> int:
    """Make a folder in another one and return its descriptor; raises OSError.

    Who can write the other one may have put another folder in its place by now: none with files in it is taken.
    """
    os.mkdir(name, mode, dir_fd=folder)
    made = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    if os.listdir(made):
        os.close(made)
        raise trust.Distrusted("others put another folder in the place of a new one")
    return made


def place_below(root: Path, path: str) -> Path:
    """Return the path, without links, of a file below a folder, which stands for / of its links; raises OSError.

    Links are followed as in opened_output, also on the way to the folder: another user chooses nothing by one.
    """
    with ExitStack() as opened:

        def hold(handle: int) -> int:
            opened.callback(os.close, handle)
            return handle

        trail = [_open_output(os.path.abspath(root), opened, [])]
        waiting, links = trust.parts(path), 0
        while waiting:
            name = waiting.pop()
            if name == "..":
                trail = trail[: max(1, len(trail) - 1)]
                continue
            found = hold(os.open(name, _PLACE, dir_fd=trail[-1]))
            if not stat.S_ISLNK(os.fstat(found).st_mode):
                trail.append(found)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = _target_of(found, trail[-1])
            trail = trail[:1] if target.startswith("/") else trail
            waiting += trust.parts(target)
        if len(trail) < 2:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return Path(os.readlink(f"/proc/self/fd/{trail[-2]}")) / name


def _target_of(link: int, folder: int) -> str:
    """Return where an opened link leads; raises Distrusted where another user made it, or can have put it there.

    Others can move a link of this user's into a folder of theirs. In the root folder, whose owner is root, links may be
    of that owner: where root has a number that means nobody (is_for_all), so has everybody else.
    """
    owner, holder, root = os.fstat(link).st_uid, os.fstat(folder), os.lstat("/")
    in_root = os.path.samestat(holder, root)
    if not trust.is_trusted(owner) and not (in_root and owner == root.st_uid):
        raise trust.Distrusted("a link on the way to it belongs to another user")
    if not in_root and not trust.is_trusted(holder.st_uid):
        raise trust.Distrusted("a link on the way to it is in a folder of another user")
    if trust.others_write(holder, f"/proc/self/fd/{folder}/."):
        raise trust.Distrusted("a link on the way to it is in a folder that others can write")
    return os.readlink("", dir_fd=link)


def move_file(source: Path, target: Path) -> None:
    """Give a finished file its name, also on another file system: it appears whole, and no link there is followed."""
    with opened_output(target.parent) as folder:
        move_in(folder, source, target.name)


def move_in(folder: int, source: Path, name: str) -> None:
    """Do the same with a name in an opened folder."""
    try:
        os.replace(source, name, dst_dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with source.open("rb") as data, _new_file(folder, name, source.stat().st_mode & 0o777) as copy:
            shutil.copyfileobj(data, copy)


def write_result(target: Path, data: bytes) -> None:
    """Write a file that a user named, whole or not at all; a device or a pipe gets the data. Raises OSError.

    A link is followed if it is of root or this user, and else replaced.
    """
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            stream.write(data)
        return
    made = None
    if target.is_symlink() and trust.is_trusted(os.lstat(target).st_uid):
        is_new = not target.exists()
        target = _where_it_leads(target)
        made = target if is_new else None
    try:
        os.stat(target.parent)  # no folder is made for it
        with opened_output(target.parent) as folder:
            write_in(folder, target.name, data)
    except BaseException:
        if made is not None:
            made.unlink(missing_ok=True)
        raise


def _where_it_leads(link: Path) -> Path:
    """Return the file that a link leads to, made if need be. The kernel follows it, and guards shared folders."""
    handle = os.open(link, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK, 0o666)
    try:
        return Path(os.readlink(f"/proc/self/fd/{handle}"))
    finally:
        os.close(handle)


def write_in(folder: int, name: str, data: bytes, mode: int | None = None) -> None:
    """Write a file of an opened folder whole or not at all, with a mode, else by the umask; raises OSError.

    A link that has the name is replaced, not followed.
    """
    with _new_file(folder, name, mode) as file:
        file.write(data)


@contextmanager
def _new_file(folder: int, name: str, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Yield a file of a name that nobody can guess, which gets its own at the end.

    Without a mode the umask holds. With one nobody else opens the file before its end: who has a descriptor can write
    later, too, and a folder may give others rights to what is made there (acl(5)).
    """
    with held():
        new, file = trust.new_file(folder, 0o666 if mode is None else 0o600)
        try:
            with open(file, "wb") as stream, let_in():
                yield stream
                if mode is not None:
                    os.fchmod(stream.fileno(), mode)
            os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(new, dir_fd=folder)
            raise
