"""Processes that end with this one: AFL++'s, the host, a debugger.

Enters: commands. Leaves: processes. Where this process is killed, the kernel ends them by SIGTERM, at which AFL++ ends
its own. Each has a process group of its own: afl-fuzz may end all of the group that its target is in.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from ..errors import BuildError
from ..interrupts import held, let_in

_PR_SET_PDEATHSIG = 1
_GRACE_SECONDS = 10.0

Child = subprocess.Popen[bytes]


def _end_with_parent() -> None:
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _start(
    words: Sequence[str], output: int | IO[bytes], given: int | IO[bytes], variables: Mapping[str, str] | None
) -> Child:
    try:
        return subprocess.Popen(words, stdin=given, stdout=output, stderr=subprocess.STDOUT, env=variables,
                                preexec_fn=_end_with_parent)  # fmt: skip
    except OSError as error:
        raise BuildError(f"{words[0]}: cannot be run ({error.strerror})") from error


@contextmanager
def children(
    commands: Iterable[tuple[Sequence[str], int | IO[bytes]]],
    given: int | IO[bytes] = subprocess.DEVNULL,
    variables: Mapping[str, str] | None = None,
) -> Iterator[list[Child]]:
    """Start commands, each with its output; yield them as processes, of which none is left afterwards.

    `given`: their standard input. Raises BuildError where one cannot be executed.
    """
    started: list[Child] = []
    with held():
        try:
            started += (_start(words, output, given, variables) for words, output in commands)
            with let_in():
                yield started
        finally:
            end(started)


def run(
    words: Sequence[str],
    seconds: float,
    output: int | IO[bytes] = subprocess.DEVNULL,
    given: int | IO[bytes] = subprocess.DEVNULL,
    variables: Mapping[str, str] | None = None,
) -> int | None:
    """Return how a command ends (its status, or -n for signal n); None where it takes longer, and is ended."""
    with children([(words, output)], given, variables) as (process,):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


def end(processes: Sequence[Child]) -> None:
    """End processes and all that they have started: first by SIGTERM, at which AFL++ writes its figures."""
    living = [process for process in processes if process.poll() is None]
    for process in living:
        process.terminate()
    for process in living:
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            for number in (*_descendants(process.pid), process.pid):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            process.wait()


def _descendants(number: int) -> list[int]:
    """Return the processes that one has started, and those that these have."""
    started: dict[int, list[int]] = defaultdict(list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stream:
            started[int(stream.read().rpartition(b")")[2].split()[1])].append(int(name))
    found, waiting = list[int](), [number]
    while waiting:
        below = started[waiting.pop()]
        found += below
        waiting += below
    return found
