"""What processes ask the kernel: guests print the same for MIPS, in both byte orders, and for this machine.

ipc: System V IPC by the old call and by its own ("direct"). mqueues: POSIX message queues. timers: POSIX timers,
interval timers, sleeping. clones: clone, clone3, waiting, job control. siginfo: what signals tell. scheduling: classes,
barriers, prctl, who a process is, advice about memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.runtime import twins
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host
from tests.support.locks import alone_with

pytestmark = pytest.mark.sampled

WAYS = {
    "ipc": (
        "queues", "queues direct", "waiting", "waiting direct", "semaphores", "semaphores direct", "memory",
        "memory direct",
    ),
    "mqueues": ("",),
    "timers": ("signals", "storms", "others", "threads", "intervals", "sleeping"),
    "clones": ("clones", "namespaces", "threes", "waiting", "jobs"),
    "siginfo": ("exits", "death", "descriptors", "forged", "imitated", "waits"),
    "scheduling": ("classes", "barriers", "options", "death", "identities", "advice"),
}  # fmt: skip
SHARED = ("ipc", "mqueues")
"""Guests that use keys and names which all processes of the machine see."""
CASES = [(name, way) for name, ways in WAYS.items() for way in ways]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """What a guest of this name prints in one of its ways when it is compiled for this machine."""
    printers: dict[str, Callable[[str], str]] = {}

    def output(name: str, way: str) -> str:
        if name not in printers:
            printers[name] = twins.natives(tmp_path_factory, name)
        return printers[name](way)

    return output


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The program of a name for MIPS, compiled once in each byte order."""
    programs: dict[str, Path] = {}

    def compiled(name: str) -> Path:
        if name not in programs:
            programs[name] = twins.compile_guest(
                tmp_path_factory.mktemp(f"{name}-{request.param}"), request.param, name, options=twins.THREADS
            )
        return programs[name]

    return compiled


@pytest.fixture(autouse=True)
def alone(name: str) -> Iterator[None]:
    """One test at a time uses what the machine has once."""
    with alone_with(name) if name in SHARED else nullcontext():
        yield


@pytest.mark.parametrize(("name", "way"), CASES)
def test_answers_like_native(
    host: Path, tmp_path: Path, native: Callable[[str, str], str], guest: Callable[[str], Path], name: str, way: str
) -> None:
    assert twins.output(host, "--engine", "interp", guest(name), *way.split(), cwd=tmp_path) == native(name, way)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_under_sanitizers(
    tmp_path: Path, native: Callable[[str, str], str], guest: Callable[[str], Path], name: str, way: str
) -> None:
    command = [sanitized_host(), "--engine", "interp", guest(name), *way.split()]
    assert twins.output(*command, cwd=tmp_path) == native(name, way)
