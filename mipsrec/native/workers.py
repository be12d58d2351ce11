"""Runs each task in a process of its own, some at a time, which end with their parent whatever happens to it.

Enters: a function and its tasks, the heaviest first. Leaves: results in the order in which they are ready. A process
for each task costs milliseconds, and gives LLVM, whose options are per process and which keeps memory, a fresh start.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar

from ..errors import BuildError
from ..interrupts import held, let_in

Task = TypeVar("Task")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1
_forking = threading.Lock()
"""No child has the writing end of another one's pipe: a reader waits for its end where a child dies."""


@dataclass(frozen=True)
class Death:
    """How a process ended without an answer: `exit_code` is minus the signal's number, or an exit status."""

    exit_code: int
    lacks_memory: bool = False
    """It said so."""

    @property
    def cause(self) -> str:
        """The signal's name, or the exit status, in words."""
        try:
            return signal.Signals(-self.exit_code).name
        except ValueError:
            return f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit status {self.exit_code}"

    @property
    def is_kill(self) -> bool:
        """Whether it was killed from outside: by the kernel for want of memory, or by a person."""
        return self.exit_code == -signal.SIGKILL

    def __str__(self) -> str:
        want = ", for want of memory" if self.lacks_memory else ", perhaps for want of memory" if self.is_kill else ""
        return f"a compiler process died ({self.cause}{want})"


class WorkerDied(BuildError):
    """A process died, and with it an answer that was needed."""

    def __init__(self, death: Death) -> None:
        super().__init__(death)
        self.death = death


class _WorkerTraceback(Exception):
    """Where in a worker an exception was raised; the cause of the one that its parent raises."""


def _start_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and ask the kernel for SIGKILL when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _work(function: Callable[[Task], Result], task: Task, parent: int, there: Connection) -> None:
    _start_worker(parent)
    gc.disable()  # it ends before collecting would pay
    try:
        answer: tuple[Result | Death | None, Exception | None, str] = (function(task), None, "")
    except MemoryError:  # LLVM would have aborted
        answer = (Death(1, lacks_memory=True), None, "")
    except Exception as error:
        answer = (None, error, traceback.format_exc())
    there.send(answer)
    there.close()


def _start(function: Callable[[Task], Result], task: Task, advice: str) -> tuple[ForkProcess, Connection]:
    with _cannot_start(advice):
        here, there = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_work, args=(function, task, os.getpid(), there), daemon=True
        )
        process.start()
    there.close()
    return process, here


@contextmanager
def _cannot_start(advice: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BuildError(f"cannot start a compiler process ({error.strerror}){advice}") from error


def _received(here: Connection, exit_code: Callable[[], int]) -> Any:
    """Return what a worker has sent, or its death; raises what it raised. `exit_code` waits for its end."""
    try:
        answer = here.recv()
    except (EOFError, OSError):  # amid its answer, or before
        answer = None
    finally:
        here.close()
    ended = exit_code()
    if answer is None:
        return Death(ended)
    result, error, text = answer
    if error is not None:
        raise error from _WorkerTraceback(f"in a worker:\n{text}")
    return result


def results(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Result], None, None]:
    """Yield (task, result) pairs; raises what `function` raises, and WorkerDied."""
    with closing(outcomes(function, tasks, workers)) as found:
        for task, outcome in found:
            if isinstance(outcome, Death):
                raise WorkerDied(outcome)
            yield task, outcome


def outcomes(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int, advice: str = ""
) -> Generator[tuple[Task, Result | Death], None, None]:
    """Yield each task with its result, or with how its worker died; raises what `function` raises.

    `advice` is added where no process can be started. Workers are forked and inherit this process's memory. When the
    caller stops early they are killed: one may be amid a minute of optimisation.
    """
    with held():
        yield from _outcomes(function, tasks, workers, advice)


def _outcomes(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int, advice: str
) -> Generator[tuple[Task, Result | Death], None, None]:
    gc.freeze()  # a collection in a worker would copy all that it inherits
    waiting = list(reversed(tasks))
    running: dict[Connection, tuple[Task, ForkProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                task = waiting.pop()
                process, here = _start(function, task, advice)
                running[here] = (task, process)
            with let_in():
                ready = set(wait(list(running)))
            for here in [here for here in running if here in ready]:
                task, process = running[here]
                outcome = _received(here, partial(_exit_code, process))
                del running[here]
                with let_in():
                    yield task, outcome
    finally:
        for _, process in running.values():
            process.kill()
            process.join()
        gc.unfreeze()


def _exit_code(process: ForkProcess) -> int:
    process.join()
    return process.exitcode or 0


def result_in_child(function: Callable[[Task], Result], task: Task) -> Result:
    """Return what a function returns in a process of its own, which inherits this one's memory; raises as `results`.

    It is for threads of a process that multiprocessing lets have no children (a daemon, as dask's workers are).
    """
    parent = os.getpid()
    with _forking, _cannot_start():
        here, there = multiprocessing.Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            try:
                _work(function, task, parent, there)
            finally:
                os._exit(0)
        there.close()
    outcome = _received(here, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if isinstance(outcome, Death):
        raise WorkerDied(outcome)
    answer: Result = outcome
    return answer
