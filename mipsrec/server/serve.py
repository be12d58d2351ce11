"""The process of the compile server: one for each user, cache and version, started by a host, gone when nobody asks.

It does one thing at a time: while it compiles, messages wait in the socket, and no client waits for it. Whatever is
wrong with a message or a file concerns that one alone.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import select
import signal
import socket
import stat
import sys
import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from .. import object_cache, trust
from ..cache import code_path, own_folder
from ..cache_notes import note_identity, times_tell
from ..checksum import identity_of
from ..elf import parse_elf
from ..errors import MipsrecError
from ..options import Options
from ..pipeline import Guest
from . import growth, protocol
from .choice import FileIndex, choose, unknown_starts
from .protocol import FINISH, HOT, STOP, Message, Refused

IDLE_SECONDS = 60.0
_BACKLOG = 512
_MOST_WAITING = 256
"""Connections whose message has not come; the oldest go."""
_MESSAGE_SECONDS = 2.0
_MOST_QUEUED, _MOST_QUEUED_BYTES = 128, 1 << 29
"""Files that wait for a job; a message about one more is forgotten."""
_MOST_FILES_KEPT = 6
"""Analysed files in memory."""
_MOST_FILE_BYTES = 1 << 28
_LEAST_SAMPLES = 3
"""Of a file, from processes that are too short to have so many: then it is worth a job."""
_GATHER_SECONDS = 0.4
"""From the first message about a file to its job: what is compiled together is better chosen, and fits together."""
_JOB_SECONDS = 300
_REST_SECONDS = 3.0
"""Without a message, before libraries are compacted."""


class _TooLong(Exception):
    """A job takes longer than any should."""


@dataclass
class _Wanted:
    """What hosts want of one file."""

    content: bytes
    path: str
    options: Options
    counts: Counter[int] = field(default_factory=Counter)
    since: float = field(default_factory=time.monotonic)


@dataclass
class _Tally:
    """What the server has done, for those who ask."""

    messages: int = 0
    refused: int = 0
    compiled: int = 0
    """Functions."""
    libraries: int = 0
    failed: int = 0


Key = tuple[str, Options]


class Server:
    """Listens, and compiles what is asked for."""

    def __init__(self, listener: socket.socket, jobs: int, idle_seconds: float) -> None:
        self._listener = listener
        self._jobs = jobs
        self._idle_seconds = idle_seconds
        self._waiting: OrderedDict[int, tuple[socket.socket, float]] = OrderedDict()
        self._wanted: OrderedDict[Key, _Wanted] = OrderedDict()
        self._indices: OrderedDict[str, FileIndex] = OrderedDict()
        self._libraries: dict[Key, growth.Library] = {}
        self._hopeless: set[str] = set()
        self._tally = _Tally()
        self._last = time.monotonic()
        self._stopped = False
        self._finishing = False

    def run(self) -> None:
        """Serve until nobody has asked for long."""
        while not self._stopped:
            self._hear(self._rest())
            rest = time.monotonic() - self._last
            ready, crowded = self._ready(), self._to_compact(rest)
            if ready is not None:
                self._guarded(ready, self._wanted.pop(ready))
            elif crowded is not None:
                self._compact(crowded)
            else:
                self._finishing = False
                if rest > self._idle_seconds and not self._waiting:
                    return

    def _ready(self) -> Key | None:
        """Return a file that is worth a job."""
        return next((key for key, wanted in self._wanted.items() if self._rest_for(wanted) == 0), None)

    def _rest_for(self, wanted: _Wanted) -> float:
        """Return in how many seconds a file gets its job, infinity for one that is not worth any yet."""
        if self._finishing and wanted.counts.total() > 0:
            return 0
        gathers = max(0.0, wanted.since + _GATHER_SECONDS - time.monotonic())
        return gathers if wanted.counts.total() >= _LEAST_SAMPLES else math.inf

    def _rest(self) -> float:
        """Return for how many seconds there is nothing to do but to listen."""
        if self._finishing:
            return 0
        return min(1.0, self._idle_seconds, *map(self._rest_for, self._wanted.values()))

    def _to_compact(self, rest: float) -> Key | None:
        """Return a library of many groups, if there has been so much rest."""
        if not self._finishing and rest <= min(_REST_SECONDS, self._idle_seconds):
            return None
        return next((key for key, library in self._libraries.items() if library.is_crowded(self._finishing)), None)

    def _is_busy(self) -> bool:
        return self._finishing or any(self._rest_for(wanted) < math.inf for wanted in self._wanted.values())

    # ---- messages ----

    def _hear(self, seconds: float) -> None:
        """Take all messages that are there; wait for one so long."""
        poll = select.poll()
        for number in (self._listener.fileno(), *self._waiting):
            poll.register(number, select.POLLIN)
        ready = [number for number, _ in poll.poll(seconds * 1000)]
        for number in ready:
            if number != self._listener.fileno():
                self._take(self._waiting.pop(number)[0])
        if self._listener.fileno() in ready:
            self._accept()
        now = time.monotonic()
        for number in [n for n, (_, since) in self._waiting.items() if now - since > _MESSAGE_SECONDS]:
            self._drop(number)

    def _accept(self) -> None:
        for _ in range(_BACKLOG):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setblocking(False)
            if protocol.peer_of(connection) != os.geteuid():
                connection.close()
            elif not self._take(connection):
                while len(self._waiting) > _MOST_WAITING:
                    self._drop(next(iter(self._waiting)))

    def _drop(self, number: int) -> None:
        self._waiting.pop(number)[0].close()
        self._tally.refused += 1

    def _take(self, connection: socket.socket) -> bool:
        """Take the message of a connection; return whether it was there, for good or ill."""
        handles: list[int] = []
        try:
            message, handles = protocol.receive(connection)
            self._heed(message, handles, connection)
            self._last = time.monotonic()
        except BlockingIOError:
            self._waiting[connection.fileno()] = (connection, time.monotonic())
            return False
        except (Refused, OSError):
            self._tally.refused += 1
        finally:
            protocol.close_all(handles)
        connection.close()
        return True

    def _heed(self, message: Message, handles: list[int], connection: socket.socket) -> None:
        self._tally.messages += 1
        if message.kind == HOT:
            self._want(message, handles)
            return
        self._finishing |= message.kind == FINISH
        self._stopped |= message.kind == STOP
        with suppress(OSError):
            connection.send(json.dumps({"pid": os.getpid(), "busy": self._is_busy(), **vars(self._tally)}).encode())

    def _want(self, message: Message, handles: list[int]) -> None:
        options = protocol.options_of(message.variant)
        if len(handles) != 1 or not message.pcs:
            raise Refused("it asks for nothing")
        status, tells = os.fstat(handles[0]), times_tell(handles[0])
        content = _content_of(handles[0])
        key = (identity_of(content), options)
        if tells:
            note_identity(status, key[0])
        queued = sum(len(wanted.content) for wanted in self._wanted.values())
        full = len(self._wanted) >= _MOST_QUEUED or queued >= _MOST_QUEUED_BYTES
        if key[0] in self._hopeless or (key not in self._wanted and full):
            return
        wanted = self._wanted.setdefault(key, _Wanted(content, message.path, options))
        for pc, count in message.pcs:
            wanted.counts[pc] += count

    # ---- jobs ----

    def _guarded(self, key: Key, wanted: _Wanted) -> None:
        """Do what is wanted of a file; one that cannot be compiled is not tried again."""
        try:
            with _time_limit(_JOB_SECONDS):
                self._grow(key, wanted)
        except Exception as error:
            if not isinstance(error, OSError):
                self._hopeless.add(key[0])
            self._note_failure(key, wanted.path, error)

    def _note_failure(self, key: Key, path: str, error: Exception) -> None:
        """Go on whatever has happened; a bug of ours leaves its traceback in the log."""
        self._tally.failed += 1
        self._libraries.pop(key, None)
        _say(f"{path}: {error or type(error).__name__}")
        if not isinstance(error, (MipsrecError, OSError, _TooLong)):
            traceback.print_exception(error)

    def _grow(self, key: Key, wanted: _Wanted) -> None:
        identity, options = key
        if code_path(identity, options).exists():
            return  # the store has all of the file
        library = self._library(key)
        library.begin_job()
        index = self._index(identity, wanted, frozenset(library.functions))
        if unknown := unknown_starts(index, wanted.counts):
            index = self._index(identity, wanted, index.guest.known_starts | unknown)
        chosen = choose(index, wanted.counts, library.functions)
        if not chosen:
            return
        growth.grow(index, options, library, chosen, self._jobs)
        self._tally.compiled += len(chosen)
        self._tally.libraries += 1
        if len(library.groups) >= growth.MOST_GROUPS:
            growth.compact(index, options, library, self._jobs)

    def _library(self, key: Key) -> growth.Library:
        """Return the library of a file; read anew where somebody has removed it."""
        known = self._libraries.get(key)
        if known is None or not known.path.exists():
            known = self._libraries[key] = growth.read_state(*key)
        return known

    def _index(self, identity: str, wanted: _Wanted, starts: frozenset[int]) -> FileIndex:
        """Return an analysed file in which functions begin at these places as well."""
        index = self._indices.get(identity)
        if index is None or not starts <= index.guest.starts.keys() | index.guest.known_starts:
            known = starts | (index.guest.known_starts if index is not None else frozenset())
            index = FileIndex(Guest(parse_elf(Path(wanted.path), wanted.content), known))
            self._indices[identity] = index
            while len(self._indices) > _MOST_FILES_KEPT:
                self._indices.popitem(last=False)
        self._indices.move_to_end(identity)
        return index

    def _compact(self, key: Key) -> None:
        index, library = self._indices.get(key[0]), self._libraries[key]
        try:
            if index is None or not library.path.exists():
                raise OSError("there is nothing to compact any more")
            library.begin_job()
            with _time_limit(_JOB_SECONDS):
                growth.compact(index, key[1], library, self._jobs)
        except Exception as error:
            self._note_failure(key, str(library.path), error)


def _content_of(handle: int) -> bytes:
    """Return what a file has; raises Refused where that is no program's."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= _MOST_FILE_BYTES:
        raise Refused("its file is no program")
    parts, at = [], 0
    while at < status.st_size:
        part = os.pread(handle, min(1 << 20, status.st_size - at), at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    return b"".join(parts)


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def expire(number: int, frame: object) -> None:
        raise _TooLong(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _say(text: str) -> None:
    """Note what went wrong, for people who look; standard error is a small file (see serve)."""
    print(time.strftime("%F %T"), text, file=sys.stderr, flush=True)


# ---- the process ----


def _only_one(path: Path) -> IO[bytes] | None:
    """Return the lock that makes this process the only server of a socket, None where another has it."""
    stream = trust.open_lock(path.with_suffix(".lock"))
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return None
    return stream


def _listen(path: Path) -> socket.socket:
    with suppress(FileNotFoundError):
        trust.remove(path, path.parent)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    listener.setblocking(False)
    listener.bind(os.fspath(path))
    listener.listen(_BACKLOG)
    return listener


def _be_modest() -> None:
    """Let all who work for somebody go first."""
    with suppress(OSError):
        os.nice(19)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _write_log_to(path: Path) -> None:
    """Let standard error be a file that begins anew with each server."""
    handle = trust.open_own(path)
    os.ftruncate(handle, 0)
    fcntl.fcntl(handle, fcntl.F_SETFL, os.O_APPEND)
    os.dup2(handle, 2)
    os.close(handle)


def serve(jobs: int, idle_seconds: float) -> int:
    """Be the compile server until nobody has asked for long; return at once where there is one."""
    os.umask(0o077)
    own_folder()
    path = protocol.socket_path()
    protocol.private_folder(path.parent)
    lock = _only_one(path)
    if lock is None:
        return 0
    with lock:
        _be_modest()
        _write_log_to(path.with_suffix(".log"))
        listener = _listen(path)
        try:
            Server(listener, jobs, idle_seconds).run()
        finally:
            with suppress(OSError):
                path.unlink()
            listener.close()
            object_cache.trim()
    return 0
