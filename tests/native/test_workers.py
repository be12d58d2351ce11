"""Processes that work for a build: what becomes of one that dies, and of what it says."""

from __future__ import annotations

import errno
import faulthandler
import os
import re
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from mipsrec.errors import BuildError, LiftError
from mipsrec.native import workers


def double(number: int) -> int:
    if number < 0:
        raise LiftError(f"{number}: is negative")
    return 2 * number


def die(number: int) -> int:
    os._exit(number)


def full(number: int) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def die_amid_the_answer(number: int) -> int:
    def send_half(connection: Connection, data: bytes) -> None:
        os.write(connection.fileno(), data[: len(data) // 2])
        os._exit(number)

    Connection._send = send_half  # type: ignore[attr-defined]
    return number


def test_results() -> None:
    assert sorted(workers.results(double, [1, 2, 3], 2)) == [(1, 2), (2, 4), (3, 6)]
    assert workers.result_in_child(double, 4) == 8


def test_what_is_raised_is_raised_here() -> None:
    with pytest.raises(LiftError, match="-1: is negative"):
        list(workers.results(double, [-1], 1))
    with pytest.raises(LiftError, match="-1: is negative"):
        workers.result_in_child(double, -1)


def kill(number: int) -> int:
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)  # pytest's faulthandler reports some
    faulthandler.disable()  # it reports what is meant
    os.kill(os.getpid(), number)
    return number


@pytest.mark.parametrize(
    ("function", "number", "cause"),
    [
        (die, 3, "exit status 3"),
        (die_amid_the_answer, 1, "exit status 1"),
        (kill, signal.SIGABRT, "SIGABRT"),
        (kill, signal.SIGKILL, "SIGKILL, perhaps for want of memory"),
        (kill, signal.SIGRTMIN + 2, f"signal {signal.SIGRTMIN + 2}"),
    ],
)
def test_death(function: Callable[[int], int], number: int, cause: str) -> None:
    """How a process died is told, and nothing is advised: the caller knows what helps."""
    said = re.escape(f"a compiler process died ({cause})") + "$"
    with pytest.raises(workers.WorkerDied, match=said):
        list(workers.results(function, [number], 2))
    with pytest.raises(workers.WorkerDied, match=said):
        workers.result_in_child(function, number)
    (found,) = workers.outcomes(function, [number], 1)
    assert isinstance(found[1], workers.Death) and found[0] == number


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    said = r"cannot start a compiler process \(Resource temporarily unavailable\)"
    for attempt in (lambda: list(workers.results(double, [1], 1)), lambda: [workers.result_in_child(double, 1)]):
        with pytest.raises(BuildError, match=f"{said}$"):
            attempt()
    with pytest.raises(BuildError, match=f"{said}; try --jobs 1$"):
        list(workers.outcomes(double, [1], 2, "; try --jobs 1"))


def test_an_error_of_the_system_is_no_death() -> None:
    """A worker that cannot write its object is not one that died."""
    with pytest.raises(OSError, match="No space left"):
        list(workers.results(full, [1], 1))
    with pytest.raises(OSError, match="No space left"):
        workers.result_in_child(full, 1)


def test_descriptors_are_closed() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        list(workers.results(double, [1, 2], 2))
        workers.result_in_child(double, 1)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
