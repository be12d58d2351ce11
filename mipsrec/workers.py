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
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar

from .errors import BuildError
from .interrupts import held, let_in

Task = TypeVar("Task")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1
_forking = threading.Lock()
"""No child has the writing end of another one's pipe: a reader waits for its end where a child dies."""


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
        answer: tuple[Result | None, Exception | None, str] = (function(task), None, "")
    except Exception as error:
        answer = (None, error, traceback.format_exc())
    there.send(answer)
    there.close()


def _start(function: Callable[[Task], Result], task: Task) -> tuple[ForkProcess, Connection]:
    with _cannot_start():
        here, there = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_work, args=(function, task, os.getpid(), there), daemon=True
        )
        process.start()
    there.close()
    return process, here


@contextmanager
def _cannot_start() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BuildError(f"cannot start a compiler process ({error.strerror}); try --jobs 1") from error


def _received(here: Connection, advice: str = "") -> Any:
    """Return what a worker has sent; raises what it raised, and BuildError with the advice when it died."""
    try:
        result, error, text = here.recv()
    except (EOFError, OSError) as gone:  # amid its answer, or before
        raise BuildError(f"a compiler process died, perhaps for want of memory{advice}") from gone
    finally:
        here.close()
    if error is not None:
        raise error from _WorkerTraceback(f"in a worker:\n{text}")
    return result


def results(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Result], None, None]:
    """Yield (task, result) pairs; raises what `function` raises, and BuildError when a worker dies.

    Workers are forked and inherit this process's memory. When the caller stops early they are killed: one may be amid
    a minute of optimisation.
    """
    with held():
        yield from _results(function, tasks, workers)


def _results(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Result], None, None]:
    gc.freeze()  # a collection in a worker would copy all that it inherits
    waiting = list(reversed(tasks))
    running: dict[Connection, tuple[Task, ForkProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                task = waiting.pop()
                process, here = _start(function, task)
                running[here] = (task, process)
            with let_in():
                ready = set(wait(list(running)))
            for here in [here for here in running if here in ready]:
                task, process = running[here]
                result: Result = _received(here, "; try --jobs 1")
                process.join()
                del running[here]
                with let_in():
                    yield task, result
    finally:
        for _, process in running.values():
            process.kill()
            process.join()
        gc.unfreeze()


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
    try:
        answer: Result = _received(here)
        return answer
    finally:
        os.waitpid(pid, 0)
