"""Windows: runs of single steps of a program's busiest thread, at random times over its whole run.

Enters: a process that runs. Leaves: a `Window` for each time, to be counted at once, since its code may be gone later.
Where there are as many windows as were asked for and the program goes on, every second one is dropped, and those to
come are twice as far apart: so they are spread evenly over a run of any length.
"""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ..target import this_target
from .ptrace import Stopped, stopped
from .running import WINDOW_BYTES, GuestState, Mappings, RunningProcess

_GAP_SECONDS = 0.02
"""Between two windows, at first and on average."""

_Counted = TypeVar("_Counted")


@dataclass
class Window:
    """The registers at each step, and what the instructions there are to be read by."""

    mappings: Mappings
    state: GuestState | None = None
    steps: list[tuple[int, ...]] = field(default_factory=list)
    code: dict[int, bytes] = field(default_factory=dict)
    """What is at each pc."""
    entries: dict[int, list[int]] = field(default_factory=dict)
    """The guest pcs whose code begins at a pc of the baseline tier, in order; without any where that did not run."""


def _entries(process: RunningProcess, mappings: Mappings, state: GuestState) -> dict[int, list[int]]:
    """Return where translated code is entered. The table is made writable where it has anything (code_cache.c)."""
    found: dict[int, list[int]] = {}
    for mapping in mappings.within(state.translated, WINDOW_BYTES):
        if not mapping.writable:
            continue
        words = process.read(mapping.start, min(mapping.end, state.translated + WINDOW_BYTES) - mapping.start)
        pc = mapping.start - state.translated
        for number, displacement in enumerate(struct.unpack(f"<{len(words) // 4}i", words)):
            if displacement != 0:
                found.setdefault(state.code + displacement, []).append(pc + 4 * number)
    return found


def _step_through(thread: Stopped, process: RunningProcess, steps: int) -> Window:
    """Return what a thread does next; fewer steps where it ends."""
    host = this_target().running_code()
    process.open()
    window = Window(process.mappings())
    translated = None
    for _ in range(steps):
        registers = thread.registers()
        pc = registers[host.pc]
        if window.state is None:
            window.state = process.state(registers)
        if pc not in window.code:
            window.code[pc] = process.read(pc, host.longest_bytes)
            if translated is None and window.state is not None:
                translated = window.mappings.at(window.state.code)
            if translated is not None and translated.start <= pc < translated.end and not window.entries:
                assert window.state is not None
                window.entries = _entries(process, window.mappings, window.state)
        window.steps.append(registers)
        if not thread.step():
            break
    return window


def _take(process: RunningProcess, steps: int) -> Window | None:
    """Return a window; None where no thread computes."""
    number = process.busiest_thread()
    if number is None:
        return None
    window = None
    with stopped(process.number, number) as thread:
        if thread is not None:
            window = _step_through(thread, process, steps)
    return window


def counted_windows(
    program: subprocess.Popen[bytes], most: int, steps: int, seed: int,
    count: Callable[[RunningProcess, Window], _Counted],
) -> list[_Counted]:  # fmt: skip
    """Return what `count` makes of windows of a child until it ends: at most so many. Raises ProfileError."""
    chance, gap, found = random.Random(seed), _GAP_SECONDS, list[_Counted]()
    process = RunningProcess(program.pid)
    try:
        while True:
            try:
                program.wait(2 * gap * chance.random())
                return found
            except subprocess.TimeoutExpired:
                pass
            window = _take(process, steps)
            if window is not None and window.steps:
                found.append(count(process, window))
            if len(found) == most:
                del found[::2]
                gap *= 2
    except OSError:  # it ends: /proc has nothing of it
        return found
    finally:
        process.close()
