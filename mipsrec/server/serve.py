"""The process of the compile server: one for each user, cache and version, started by a host, gone when nobody asks.

It only listens, and has others work (files.py): no client waits for it. Whatever is wrong with a message or a file
concerns that one alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..cache import objects
from ..cache.folders import own_folder
from ..errors import BuildError
from ..files import trust
from ..files.this_user import is_this_user
from . import protocol
from .files import Files
from .log import note
from .protocol import FINISH, HOT, STOP, Message, Refused
from .worker import Report, Unreadable

IDLE_SECONDS = 60.0
_BACKLOG = 512
_MOST_WAITING = 256
"""Connections whose message has not come; the oldest go."""
_MESSAGE_SECONDS = 2.0
_REST_SECONDS = 3.0
"""Without a message, before libraries are compacted."""
_WATCH_SECONDS = 0.2
"""From one look at tasks to the next."""


@dataclass
class _Tally:
    """What the server has done, for those who ask."""

    messages: int = 0
    refused: int = 0
    compiled: int = 0
    """Functions."""
    libraries: int = 0
    failed: int = 0


class Server:
    """Listens, and has compiled what is asked for."""

    def __init__(self, listener: socket.socket, jobs: int, idle_seconds: float) -> None:
        self._listener = listener
        self._idle_seconds = idle_seconds
        self._waiting: OrderedDict[int, tuple[socket.socket, float]] = OrderedDict()
        self._files = Files(jobs, self._note_report, self._note_failure)
        self._tally = _Tally()
        self._last = time.monotonic()
        self._stopped = False
        self._finishing = False

    def run(self) -> None:
        """Serve until nobody has asked for long."""
        try:
            while not self._stopped and self._serve():
                pass
        finally:
            self._files.end()

    def _serve(self) -> bool:
        """Do what is to be done now; return False when nobody has asked for long."""
        self._hear(self._rest())
        rest = time.monotonic() - self._last
        self._files.watch()
        self._files.begin_tasks(self._finishing)
        if self._files.is_busy(self._finishing):
            return True
        if (self._finishing or rest > min(_REST_SECONDS, self._idle_seconds)) and self._files.compact(self._finishing):
            return True
        self._finishing = False
        return rest <= self._idle_seconds or bool(self._waiting)

    def _rest(self) -> float:
        """Return for how many seconds there is nothing to do but to listen."""
        if self._files.is_busy(self._finishing):
            rest = self._files.rest(self._finishing)
            return rest if 0 < rest < _WATCH_SECONDS else _WATCH_SECONDS  # what is to begin, but has no room, waits
        return 0 if self._finishing else min(1.0, self._idle_seconds)

    def _note_report(self, report: Report) -> None:
        self._tally.compiled += report.functions
        self._tally.libraries += report.functions > 0

    def _note_failure(self, path: str, problem: str) -> None:
        """Go on whatever has happened."""
        self._tally.failed += 1
        note(path, problem)

    # ---- messages ----

    def _hear(self, seconds: float) -> None:
        """Take all messages that are there; wait for one so long."""
        poll, workers = select.poll(), self._files.connections()
        for number in (self._listener.fileno(), *self._waiting, *workers):
            poll.register(number, select.POLLIN)
        ready = [number for number, _ in poll.poll(seconds * 1000)]
        for number in ready:
            if number in workers:
                self._files.hear(workers[number])
            elif number != self._listener.fileno():
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
            if not is_this_user(protocol.peer_of(connection)):
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
        except (Refused, Unreadable, OSError):
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
        self._files.want(handles[0], message.path, options, message.pcs)

    def _is_busy(self) -> bool:
        return self._finishing or self._files.is_busy(False)


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
    """Let processes that a user waits for go first."""
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


def _listening(path: Path) -> socket.socket:
    """Become a server, whose errors go to its log; return what it listens to."""
    _be_modest()
    listener = _listen(path)
    try:
        _write_log_to(path.with_suffix(".log"))
    except OSError:
        listener.close()
        path.unlink()
        raise
    return listener


def serve(jobs: int, idle_seconds: float) -> int:
    """Be the compile server until nobody has asked for long; return at once where there is one."""
    os.umask(0o077)
    own_folder()
    path = protocol.socket_path()
    protocol.private_folder(path.parent)
    try:
        lock = _only_one(path)
        listener = _listening(path) if lock is not None else None
    except OSError as error:
        why = error.strerror or str(error)
        raise BuildError(f"{path.parent}: no compile server can work there ({why})") from error
    if lock is None or listener is None:
        print("mipsrec: compile-server: another process is it already, for this cache and version")
        return 0
    with lock:
        try:
            Server(listener, jobs, idle_seconds).run()
        finally:
            with suppress(OSError):
                path.unlink()
            listener.close()
            objects.trim()
    return 0
