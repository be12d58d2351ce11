"""The process that works for one file: hashes, analyses and compiles it, within bounds of time and memory.

Enters: the file's descriptor, and requests on a connection. Leaves: the library in the store, and a report for each
request. All that is read of a file is read here; so whatever it is like, it costs its own process and no other one.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import stat
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from ..cache.folders import cache_folder, code_path
from ..cache.notes import note_identity, times_tell
from ..cache.store import locked
from ..elf import parse_elf
from ..errors import MipsrecError
from ..files import trust
from ..files.checksum import identity_of
from ..options import Options
from ..pipeline import Guest
from . import growth
from .choice import FileIndex, choose, unknown_starts
from .log import note
from .windows import MOST_COMPACTED_BYTES, WINDOW_BYTES, inside, is_huge, ranges_of, windows_around, windows_of

MOST_FILE_BYTES = 1 << 28
MOST_MEMORY_BYTES = 4 << 30
"""Of address space: of this process, and of each that compiles for it."""
MOST_SECONDS = 300
"""Of processor time for one request; likewise."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Request:
    """Samples by guest pc, or none: then the groups of the library are to be made one. `jobs` processes may compile."""

    counts: Mapping[int, int]
    jobs: int


@dataclass(frozen=True)
class Report:
    """What came of a request."""

    functions: int = 0
    """So many were compiled."""
    is_crowded: bool = False
    has_groups: bool = False
    """More than one."""
    problem: str = ""
    is_hopeless: bool = False
    """Nothing will ever come of this file."""


class Unreadable(MipsrecError):
    """A file is no program's, or changes while it is read."""


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file, as it is, from all others."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def check_kind(status: os.stat_result) -> None:
    """Raise Unreadable for what is no program's file, before anything of it is read."""
    if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= MOST_FILE_BYTES:
        raise Unreadable("its file is no program")


def content_of(handle: int) -> bytes:
    """Return what a file has; raises Unreadable where it is no program's, or changes meanwhile."""
    status = os.fstat(handle)
    check_kind(status)
    parts, at = [], 0
    while at < status.st_size:
        part = os.pread(handle, min(1 << 20, status.st_size - at), at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    if at != status.st_size or stamp_of(os.fstat(handle)) != stamp_of(status):
        raise Unreadable("it changes while it is read")
    return b"".join(parts)


class Worker:
    """Knows one file."""

    def __init__(self, handle: int, path: str, options: Options) -> None:
        self._path = Path(path)
        self._options = options
        status, tells = os.fstat(handle), times_tell(handle)
        self._content = content_of(handle)
        self._identity = identity_of(self._content)
        self._index: FileIndex | None = None
        self._windows: frozenset[int] = frozenset()
        self._library: growth.Library | None = None
        self._library_stamp: tuple[int, ...] | None = None
        if tells:
            note_identity(status, self._identity)

    def heed(self, request: Request) -> Report:
        """Do what is asked; raises MipsrecError, OSError, MemoryError, or whatever a bug of ours raises."""
        with locked(
            growth.hot_path(self._identity, self._options), cache_folder()
        ):  # other files may have the same content
            library = self._read_library()
            library.begin_job()
            try:
                functions = self._grow(library, request) if request.counts else self._compact(library, request.jobs)
            except BaseException:
                self._library = None
                raise
            self._library_stamp = self._stamp()
        may = self._may_compact(library)
        return Report(functions, may and library.is_crowded(False), may and library.is_crowded(True))

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            return stamp_of(growth.hot_path(self._identity, self._options).stat())
        except OSError:
            return None

    def _read_library(self) -> growth.Library:
        """Return the file's library; read anew where another process has changed or removed it."""
        if self._library is None or self._stamp() != self._library_stamp:
            self._library = growth.read_state(self._identity, self._options)
        return self._library

    def _grow(self, library: growth.Library, request: Request) -> int:
        if trust.is_file(code_path(self._identity, self._options)) or self._is_full(library):
            return 0  # the store has all of the file, or all that it is to have
        known = frozenset(library.functions)
        index = self._analysed(known, request.counts)
        if unknown := unknown_starts(index, request.counts):
            index = self._analysed(index.guest.known_starts | unknown, request.counts)
        chosen = choose(index, request.counts, library.functions)
        if not chosen:
            return 0
        growth.grow(index, self._options, library, chosen, request.jobs)
        if len(library.groups) >= growth.MOST_GROUPS:
            self._compact(library, request.jobs)
        return len(chosen)

    def _is_full(self, library: growth.Library) -> bool:
        """Return whether a library is too large to be made anew, and has all the groups that one may have."""
        return len(library.groups) >= growth.MOST_GROUPS and not self._may_compact(library)

    @staticmethod
    def _may_compact(library: growth.Library) -> bool:
        return len(windows_of(library.functions)) * WINDOW_BYTES <= MOST_COMPACTED_BYTES

    def _compact(self, library: growth.Library, jobs: int) -> int:
        if library.is_crowded(True) and self._may_compact(library):
            growth.compact(self._analysed(frozenset(library.functions), {}), self._options, library, jobs)
        return 0

    def _analysed(self, starts: frozenset[int], counts: Mapping[int, int]) -> FileIndex:
        """Return the file, in which functions begin at these places as well; of a huge one what is around them."""
        before = self._index.guest if self._index is not None else None
        image = before.image if before is not None else parse_elf(self._path, self._content)
        ranges = None
        if is_huge(image):
            self._windows = windows_around(counts, self._windows) if counts else windows_of(starts)
            starts, ranges = inside(starts, self._windows), ranges_of(image, self._windows)
        has_all = before is not None and starts <= before.starts.keys() | before.known_starts
        if self._index is not None and has_all and ranges == self._index.guest.ranges:
            return self._index
        known = starts | (before.known_starts if before is not None else frozenset())
        self._index = FileIndex(Guest(image, known, ranges))
        return self._index


# ---- the process ----


def start(handle: int, path: str, options: Options) -> tuple[int, Connection]:
    """Start a worker for a file; return its process, which leads a group of its own, and the connection to it."""
    from multiprocessing import Pipe

    here, there = Pipe()
    parent = os.getpid()
    process = os.fork()
    if process != 0:
        there.close()
        with suppress(OSError):
            os.setpgid(process, process)
        return process, here
    try:
        _keep_only(handle, there.fileno())
        _bound(parent)
        _serve(handle, path, options, there)
    except BaseException:
        note(path, traceback.format_exc())
    finally:
        os._exit(0)


def _keep_only(*handles: int) -> None:
    """Close what is the server's: its socket, its lock, the files and workers of others."""
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number not in handles:
            with suppress(OSError):
                os.close(number)


def _bound(parent: int) -> None:
    """End with the server, and with no core; leave to others most of the memory."""
    with suppress(OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    _limit(resource.RLIMIT_AS, min(MOST_MEMORY_BYTES, max(memory // 2, 1 << 30)))
    _limit(resource.RLIMIT_CORE, 0)


def _limit(kind: int, wanted: int) -> None:
    """Lower a limit, not below what was asked nor above what there was."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (wanted, hard))


def _serve(handle: int, path: str, options: Options, there: Connection) -> None:
    worker: Worker | None = None
    while True:
        try:
            request = there.recv()
        except EOFError:
            return
        _limit(resource.RLIMIT_CPU, int(sum(os.times()[:2])) + MOST_SECONDS)
        try:
            worker = worker or Worker(handle, path, options)
            report = worker.heed(request)
        except Exception as error:
            report = failure(error)
        there.send(report)


def failure(error: Exception) -> Report:
    """Return what to say of a request that failed; a bug of ours says where."""
    if isinstance(error, MemoryError):
        return Report(problem="takes more memory than a worker has", is_hopeless=True)
    text = str(error) or type(error).__name__
    if not isinstance(error, (MipsrecError, OSError)):
        text += "\n" + traceback.format_exc()
    return Report(problem=text, is_hopeless=not isinstance(error, OSError))
