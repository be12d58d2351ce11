"""Runs tasks in worker processes, which end with their parent whatever happens to it.

Enters: a function and its tasks, the heaviest first. Leaves: results in the order in which they are ready.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from .errors import BuildError

Task = TypeVar("Task")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1


def _start_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and ask the kernel for SIGKILL when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def results(function: Callable[[Task], Result], tasks: Sequence[Task], workers: int) -> Iterator[tuple[Task, Result]]:
    """Yield (task, result) pairs; raises what `function` raises, and BuildError when a worker dies.

    Workers are forked and inherit this process's memory. When the caller stops early they are killed: one may be amid
    a minute of optimisation.
    """
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(os.getpid(),))
    complete = False
    try:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # until a worker ignores it
        try:
            pending = {pool.submit(function, task): task for task in tasks}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield pending.pop(future), future.result()
        complete = True
    except BrokenProcessPool as error:
        raise BuildError("a compiler process died, perhaps for want of memory; try --jobs 1") from error
    finally:
        if not complete:
            for child in set(multiprocessing.active_children()) - others:
                child.kill()
        pool.shutdown(wait=True, cancel_futures=True)
