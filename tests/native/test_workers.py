"""Processes that work for a build: what becomes of one that dies, and of what it says."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from mipsrec import workers
from mipsrec.errors import BuildError, LiftError


def double(number: int) -> int:
    if number < 0:
        raise LiftError(f"{number}: is negative")
    return 2 * number


def die(number: int) -> int:
    os._exit(number)


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


@pytest.mark.parametrize("function", [die, die_amid_the_answer])
def test_death(function: object) -> None:
    with pytest.raises(BuildError, match="a compiler process died.*--jobs 1"):
        list(workers.results(function, [1], 1))  # type: ignore[arg-type]
    with pytest.raises(BuildError, match="a compiler process died"):
        workers.result_in_child(function, 1)  # type: ignore[arg-type]


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(BuildError, match=r"process \(Resource temporarily unavailable\); try --jobs 1"):
        list(workers.results(double, [1], 1))
    with pytest.raises(BuildError, match="cannot start a compiler process"):
        workers.result_in_child(double, 1)


def test_descriptors_are_closed() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        list(workers.results(double, [1, 2], 2))
        workers.result_in_child(double, 1)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
