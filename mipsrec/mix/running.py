"""A process that runs, seen from outside: its memory, its mappings, its busiest thread, and the guest's state.

Enters: the number of a process. Leaves: bytes and ranges. The host keeps the address of a thread's state in its
thread-local variable `mr_current`, which is found by the symbol table of the host's file; a host without one, and a
native program, have no state here.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..native.host_files import HostFile
from ..state import OFFSETS
from ..target import this_target
from .ptrace import refused, stat_fields

WINDOW_BYTES = 1 << 32
"""Of the guest's window: its whole address space."""


class Mapping(NamedTuple):
    """A range of a process's memory, as proc_pid_maps(5) has it."""

    start: int
    end: int
    writable: bool
    executable: bool
    offset: int
    path: str
    """Empty where it is of no file."""


def parse_mapping(line: str) -> Mapping:
    words = line.split(None, 5)
    start, end = (int(word, 16) for word in words[0].split("-"))
    path = words[5].rstrip("\n") if len(words) > 5 else ""
    return Mapping(start, end, "w" in words[1], "x" in words[1], int(words[2], 16), path)


class Mappings:
    """All mappings of a process at one time."""

    def __init__(self, mappings: list[Mapping]) -> None:
        self.all = mappings
        self._starts = [mapping.start for mapping in mappings]

    def at(self, address: int) -> Mapping | None:
        index = bisect_right(self._starts, address) - 1
        found = self.all[index] if index >= 0 else None
        return found if found is not None and address < found.end else None

    def within(self, start: int, size_bytes: int) -> list[Mapping]:
        """Return those that begin in a range."""
        return [mapping for mapping in self.all if start <= mapping.start < start + size_bytes]


@dataclass(frozen=True)
class GuestState:
    """Where the guest of a host thread is: its state, and what pointers of the state lead to."""

    address: int
    base: int
    translated: int
    code: int

    def holds(self, address: int) -> bool:
        return 0 <= address - self.address < OFFSETS["size"]

    def is_guest_memory(self, address: int) -> bool:
        return 0 <= address - self.base < WINDOW_BYTES


class RunningProcess:
    """A child of this process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._folder = Path(f"/proc/{number}")
        self._memory = -1
        self._current: dict[str, tuple[int, int, int] | None] = {}
        self._used: dict[int, int] = {}
        self.executable = ""

    def open(self) -> None:
        """Look at what it executes now. Raises OSError where it has ended, ProfileError where that is refused."""
        self.close()
        try:
            self._memory = os.open(self._folder / "mem", os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError as error:
            raise refused(error) from error
        self.executable = os.readlink(self._folder / "exe")

    def close(self) -> None:
        if self._memory >= 0:
            os.close(self._memory)
        self._memory = -1

    def _place_of_current(self) -> tuple[int, int, int] | None:
        """Return where `mr_current` is among the thread-local variables of the host."""
        if self.executable not in self._current:
            try:
                found = HostFile(self._folder / "exe").thread_local("mr_current")
            except (OSError, ValueError):
                found = None
            self._current[self.executable] = found
        return self._current[self.executable]

    def read(self, address: int, size_bytes: int) -> bytes:
        """Return memory, as much of it as there is."""
        try:
            return os.pread(self._memory, size_bytes, address)
        except (OSError, OverflowError):
            return b""

    def mappings(self) -> Mappings:
        with (self._folder / "maps").open(errors="surrogateescape") as stream:
            return Mappings([parse_mapping(line) for line in stream])

    def state(self, registers: tuple[int, ...]) -> GuestState | None:
        """Return the guest's state of a thread that has these host registers; None where it runs no guest."""
        current = self._place_of_current()
        if current is None:
            return None
        code = this_target().running_code()
        place = code.thread_local(registers[code.thread_pointer], *current)
        address = int.from_bytes(self.read(place, 8), "little")
        words = self.read(address, OFFSETS["size"]) if address else b""
        if len(words) < OFFSETS["size"]:
            return None
        base, translated, code_start = (
            struct.unpack_from("<Q", words, OFFSETS[name])[0] for name in ("base", "translated", "code")
        )
        return GuestState(address, base, translated, code_start)

    def busiest_thread(self) -> int | None:
        """Return the thread that computes and has done so most since the last time; None where all wait."""
        used, running = {}, []
        for name in os.listdir(self._folder / "task"):
            try:
                fields = stat_fields(self.number, int(name))
            except OSError:
                continue  # it has ended
            used[int(name)] = int(fields[11]) + int(fields[12])
            if fields[0] == "R":
                running.append(int(name))
        before, self._used = self._used, used
        return max(running, key=lambda thread: used[thread] - before.get(thread, 0), default=None)
