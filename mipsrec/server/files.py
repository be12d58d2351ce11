"""The files that hosts want code of, and who works for each: no file keeps another waiting.

Enters: requests with descriptors. Leaves: tasks for workers (worker.py), one process for each file, which stays to
know its file. Workers share the processors as the kernel divides them. A task that takes long rests while others are
younger. Where there are more files than workers, the one that has computed longest gives its place up.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from ..options import Options
from . import worker
from .worker import Report, Request

MOST_FILES = 128
"""That wait for a task; a message about one more is forgotten."""
MOST_WORKERS = 6
_LEAST_SAMPLES = 3
"""Of a file, from processes that are too short to have so many: then it is worth a task."""
_GATHER_SECONDS = 0.4
"""From the first message about a file to its task: what is compiled together is better chosen, and fits together."""
_LONG_SECONDS = 2.0
"""Of processor time for a task, after which it rests while others have had less."""
_TURN_SECONDS = 20.0
"""Of processor time, after which a task is given up for a file that has no worker."""
_MOST_TURNS = 3
"""That a file may begin a task in vain."""
_WALL_SECONDS = 1800.0
"""For a task, whatever it waits for."""
_MOST_HOPELESS = 1024
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
"""Signals that no code of a worker gets itself: from a person, or from the kernel when it is short of memory."""

Key = tuple[tuple[int, ...], Options]
"""A file as it is (worker.stamp_of), and how to translate it."""


@dataclass
class Work:
    """A worker, and what it is at."""

    process: int
    connection: Connection
    since: float = 0.0
    """When its task began; 0 where it has none."""
    spent: float = 0.0
    """Its processor time when the task began."""
    rests: bool = False
    """Its processes are stopped."""


@dataclass
class File:
    """What hosts want of one file."""

    handle: int
    path: str
    options: Options
    counts: Counter[int] = field(default_factory=Counter)
    wanted_since: float = 0.0
    work: Work | None = None
    doing: Counter[int] | None = None
    """The samples that the present task is about."""
    last: Report = field(default_factory=Report)
    turns: int = 0


def processor_seconds(process: int) -> float:
    """Return what a process and its children have computed; 0 for one that is gone."""
    folder = Path(f"/proc/{process}")
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
    try:
        children = (folder / "task" / str(process) / "children").read_text().split()
    except OSError:  # a kernel without this file tells of children when they have ended
        children = []
    return own + sum(map(processor_seconds, map(int, children)))


class Files:
    """Gives tasks to workers; `finished` is told of each that has ended, `failed` what went wrong with a file."""

    def __init__(self, jobs: int, finished: Callable[[Report], None], failed: Callable[[str, str], None]) -> None:
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._finished = finished
        self._failed = failed
        self._files: OrderedDict[Key, File] = OrderedDict()
        """The least recently served first."""
        self._hopeless: OrderedDict[Key, None] = OrderedDict()

    # ---- what is wanted ----

    def want(self, handle: int, path: str, options: Options, pcs: tuple[tuple[int, int], ...]) -> None:
        """Note samples of a file; raises Unreadable where it is no program's. The descriptor stays the caller's."""
        status = os.fstat(handle)
        worker.check_kind(status)
        key = (worker.stamp_of(status), options)
        if key in self._hopeless:
            return
        file = self._files.get(key)
        if file is None:
            if sum(1 for other in self._files.values() if other.counts) >= MOST_FILES or not self._forget_idle():
                return
            file = self._files[key] = File(os.dup(handle), path, options)
        if not file.counts:
            file.wanted_since = time.monotonic()
        for pc, count in pcs:
            file.counts[pc] += count

    def _forget_idle(self) -> bool:
        """Make room for one more file; return whether there is any."""
        while len(self._files) >= MOST_FILES:
            idle = next((key for key, file in self._files.items() if not file.counts and not self._is_busy(file)), None)
            if idle is None:
                return False
            self._forget(idle)
        return True

    def _forget(self, key: Key) -> None:
        file = self._files.pop(key)
        self._end_worker(file)
        os.close(file.handle)

    @staticmethod
    def _is_busy(file: File) -> bool:
        return file.work is not None and file.work.since > 0

    def _busy(self) -> Iterator[File]:
        return (file for file in self._files.values() if self._is_busy(file))

    def rest_for(self, file: File, at_once: bool) -> float:
        """Return in how many seconds a file is to have a task, infinity for one that is not worth any yet."""
        if self._is_busy(file) or file.counts.total() == 0:
            return math.inf
        if at_once:
            return 0
        gathers = max(0.0, file.wanted_since + _GATHER_SECONDS - time.monotonic())
        return gathers if file.counts.total() >= _LEAST_SAMPLES else math.inf

    def rest(self, at_once: bool) -> float:
        """Return for how many seconds no task is to begin."""
        return min((self.rest_for(file, at_once) for file in self._files.values()), default=math.inf)

    def is_busy(self, at_once: bool) -> bool:
        """Return whether there is work, now or soon."""
        return any(True for _ in self._busy()) or self.rest(at_once) < math.inf

    # ---- tasks ----

    def begin_tasks(self, at_once: bool) -> None:
        """Give tasks to the files that are to have one, those first that had none for longest."""
        for key, file in list(self._files.items()):
            if self._files.get(key) is file and self.rest_for(file, at_once) == 0:  # another's task may end it
                self._begin(key, file, file.counts)

    def compact(self, any_more_than_one: bool) -> bool:
        """Have a library of many groups made anew; return whether there was one."""
        for key, file in list(self._files.items()):
            crowded = file.last.has_groups if any_more_than_one else file.last.is_crowded
            if file.work is not None and crowded and not self._is_busy(file):
                file.last = Report()
                return self._begin(key, file, Counter())
        return False

    def _begin(self, key: Key, file: File, counts: Counter[int]) -> bool:
        """Have a task done; return False where there is no room for one more worker."""
        if file.work is not None and _is_dead(file.work.process):
            self._lose(file)
        if file.work is None and not self._start_worker(file):
            return False
        assert file.work is not None
        busy = 1 + sum(1 for _ in self._busy())
        work = file.work
        work.since, work.spent = time.monotonic(), processor_seconds(work.process)
        file.doing, file.counts = counts, Counter()
        self._files.move_to_end(key)
        with suppress(OSError):  # one that is dead shows in `hear`
            work.connection.send(Request(dict(counts), max(1, self._jobs // busy)))
        return True

    def _start_worker(self, file: File) -> bool:
        working = [other for other in self._files.values() if other.work is not None]
        if len(working) >= MOST_WORKERS:
            idle = next((other for other in working if not self._is_busy(other)), None)
            if idle is not None:
                self._end_worker(idle)
            elif not self._give_way(working):
                return False
        try:
            file.work = Work(*worker.start(file.handle, file.path, file.options))
        except OSError as error:
            self._failed(file.path, f"cannot start a process ({error.strerror})")
            file.counts.clear()
            return False
        return True

    def _give_way(self, working: list[File]) -> bool:
        """End the task that has taken most processor time, if that is much; it is begun again later."""
        longest = max(working, key=self._spent)
        if self._spent(longest) < _TURN_SECONDS:
            return False
        longest.turns += 1
        if longest.turns >= _MOST_TURNS:
            self._fail(longest, f"takes more than {_TURN_SECONDS:g} s while other files wait", hopeless=True)
        else:
            longest.counts.update(longest.doing or {})
            longest.wanted_since = time.monotonic()
            self._end_worker(longest)
        return True

    @staticmethod
    def _spent(file: File) -> float:
        return processor_seconds(file.work.process) - file.work.spent if file.work is not None else 0.0

    def watch(self) -> None:
        """Have long tasks rest while there are others, end those that take too long, and notice dead workers."""
        spent = {key: self._spent(file) for key, file in self._files.items() if self._is_busy(file)}
        others_first = any(seconds <= _LONG_SECONDS for seconds in spent.values())
        for key, seconds in spent.items():
            file = self._files[key]
            work = file.work
            assert work is not None
            if _is_dead(work.process):
                self._lose(file)  # its children may have the connection still
            elif seconds > worker.MOST_SECONDS or time.monotonic() - work.since > _WALL_SECONDS:
                self._fail(file, f"took more than {worker.MOST_SECONDS} s", hopeless=True)
            elif work.rests != (others_first and seconds > _LONG_SECONDS):
                self._let_rest(work, not work.rests)

    @staticmethod
    def _let_rest(work: Work, rests: bool) -> None:
        work.rests = rests
        with suppress(OSError):
            os.killpg(work.process, signal.SIGSTOP if rests else signal.SIGCONT)

    # ---- what comes of them ----

    def connections(self) -> dict[int, File]:
        """Return the files with workers by the descriptors that tell of reports."""
        return {file.work.connection.fileno(): file for file in self._files.values() if file.work is not None}

    def hear(self, file: File) -> None:
        """Take a report of a worker, or its end; nothing where the file was forgotten meanwhile."""
        if file.work is None:
            return
        try:
            report = file.work.connection.recv()
        except Exception:  # a worker that dies may leave half an answer
            self._lose(file)
            return
        if file.work.rests:  # it was stopped when it had just answered
            self._let_rest(file.work, False)
        file.work.since, file.doing, file.turns = 0.0, None, 0
        if report.problem:
            self._fail(file, report.problem, report.is_hopeless)
            return
        file.last = report
        self._finished(report)

    def _lose(self, file: File) -> None:
        """Do without a worker that has died; what it did when it was killed from outside is tried once more."""
        doing = file.doing
        end = self._end_worker(file)
        if doing is None:
            return  # nothing was lost: the next task starts another one
        is_kill = os.WIFSIGNALED(end) and os.WTERMSIG(end) in _FROM_OUTSIDE
        if is_kill and not file.turns:
            file.turns += 1
            file.counts.update(doing)
            file.wanted_since = time.monotonic()
        else:
            self._fail(file, _end_of(end), hopeless=not is_kill or bool(doing))

    def _fail(self, file: File, problem: str, hopeless: bool) -> None:
        self._end_worker(file)
        key = next(key for key, other in self._files.items() if other is file)
        path = file.path
        self._forget(key)
        if hopeless:
            self._hopeless[key] = None
            while len(self._hopeless) > _MOST_HOPELESS:
                self._hopeless.popitem(last=False)
        self._failed(path, problem)

    @staticmethod
    def _end_worker(file: File) -> int:
        """End a worker with all that it has started; return how it ended, as `waitpid` tells."""
        work, file.work, file.doing, file.last = file.work, None, None, Report()
        if work is None:
            return 0
        if _is_dead(work.process):
            _, end = os.waitpid(work.process, 0)
            with suppress(OSError):
                os.killpg(work.process, signal.SIGKILL)
        else:
            for kill in (os.killpg, os.kill):  # it may have no group yet
                with suppress(OSError):
                    kill(work.process, signal.SIGKILL)
            _, end = os.waitpid(work.process, 0)
        work.connection.close()
        return end

    def end(self) -> None:
        """End all workers."""
        for file in self._files.values():
            self._end_worker(file)


def _is_dead(process: int) -> bool:
    """Return whether a child has ended; it stays to be waited for."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_of(status: int) -> str:
    """Return how a worker has ended that should not have."""
    if not os.WIFSIGNALED(status):
        return f"its worker ended with status {os.waitstatus_to_exitcode(status)}"
    if os.WTERMSIG(status) == signal.SIGXCPU:
        return f"took more than {worker.MOST_SECONDS} s"
    return f"its worker was killed by signal {os.WTERMSIG(status)}, perhaps for want of memory"
