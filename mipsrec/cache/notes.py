"""Notes in the cache: which contents a guest's file has, and when a library was used last.

The host makes them as it runs programs (runtime/lifted/store.c), the compile server makes them here. A note spares the
reading of a whole file; nothing is lost without it. Builds read files whole, and remove notes that say otherwise.

A file has a note only where its times tell of every change; runtime/lifted/writers.c and notes.c have the rules and
their reasons.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

from ..errors import NoCacheError
from ..files import trust
from .folders import own_folder

FOLDER = "identities"
WHOLE = "whole"
"""What is noted of a library whose checksum was right."""
USE_NOTED_SECONDS = 86400
SETTLED_SECONDS = 2
"""What is younger may change, and keep its times."""
OLD_SECONDS = 3600
"""The same of files whose writers nobody can know of."""

_MOST_BYTES = 4096
_STATFS_BYTES = 1024  # struct statfs is smaller everywhere
_IN_MEMORY = {0x01021994, 0x858458F6, 0x958458F6}  # tmpfs, ramfs, hugetlbfs (linux/magic.h)
_DATED_ELSEWHERE = {0x65735546, 0x01021997}  # FUSE, 9P
_LOOP_MAJOR = 7
_NAME = re.compile(r"[0-9a-f]+-[0-9a-f]+")
_NOTE = re.compile(r"1 \d+ -?\d+\.\d{9} -?\d+\.\d{9} ([0-9a-f]{64}|whole)\n")


def name_of(status: os.stat_result) -> str:
    """Return the name of the note on a file."""
    return f"{status.st_dev:x}-{status.st_ino:x}"


def is_name(name: str) -> bool:
    """Return whether a note has such a name; others are of notes that were never finished."""
    return _NAME.fullmatch(name) is not None


def read_note(path: Path) -> str | None:
    """Return what a note says, an identity or WHOLE; None where it is nonsense. Raises OSError."""
    try:
        found = _NOTE.fullmatch(trust.read(path, _MOST_BYTES).decode("ascii", "replace"))
    except trust.Distrusted:
        return None
    return found[1] if found is not None else None


def _can_have_writers(handle: int) -> bool | None:
    """Return whether an open file can have writers; None where the kernel grants no lease, and does not say.

    SIGURG stands for SIGIO, which would end this process if a writer came meanwhile.
    """
    try:
        own = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.fcntl(own, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(own, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    finally:
        os.close(own)
    return False


def _kind_of_system(handle: int) -> int | None:
    """Return the number of an open file's kind of file system."""
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if ctypes.CDLL(None).fstatfs(handle, found) != 0:
        return None
    return ctypes.c_ulong.from_buffer(found).value & 0xFFFFFFFF


def _has_kernels_dates(handle: int) -> bool:
    """Return whether the kernel of this machine dates an open file; runtime/lifted/notes.c has the rule.

    A file system in memory need not date stores to mappings.
    """
    if os.major(os.fstat(handle).st_dev) == _LOOP_MAJOR or os.fstatvfs(handle).f_flag & os.ST_RDONLY:
        return False
    return _kind_of_system(handle) not in _IN_MEMORY | _DATED_ELSEWHERE


def times_tell(handle: int) -> bool:
    """Return whether what is read from now on are the file's contents for as long as its times stay as they are."""
    status = os.fstat(handle)
    age = time.time() - max(status.st_mtime, status.st_ctime)
    if age < SETTLED_SECONDS or not _has_kernels_dates(handle):
        return False
    writers = _can_have_writers(handle)
    return age >= OLD_SECONDS if writers is None else not writers


def note_identity(status: os.stat_result, identity: str) -> None:
    """Write what the host would note of a guest's file (runtime/lifted/store.c).

    The file had this status, and times that tell, before its contents were read.
    """
    if status.st_nlink == 0:
        return
    times = [f"{ns // 10**9}.{ns % 10**9:09}" for ns in (status.st_mtime_ns, status.st_ctime_ns)]
    note = f"1 {status.st_size} {times[0]} {times[1]} {identity}\n"
    with suppress(OSError, NoCacheError):
        root = own_folder()
        folder = trust.make_folder(root / FOLDER, root)
        trust.write(folder / name_of(status), note.encode())


def forget_wrong(path: Path, identity: str) -> None:
    """Remove what is noted of a file where it was read, and has another identity."""
    with suppress(OSError, NoCacheError):
        note = own_folder() / FOLDER / name_of(path.stat())
        if read_note(note) not in (identity, WHOLE):
            trust.remove(note, own_folder())


def note_use(path: Path) -> None:
    """Note that a library of the cache is used, where the file system has not for a day."""
    with suppress(OSError, NoCacheError):
        if not path.is_relative_to(own_folder()):
            return  # of a layer
        status = path.lstat()
        if status.st_atime + USE_NOTED_SECONDS < time.time():
            os.utime(path, ns=(time.time_ns(), status.st_mtime_ns), follow_symlinks=False)
