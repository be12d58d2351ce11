"""Ctrl-C and SIGTERM wait while files, locks and processes change hands, so that none of them is forgotten.

Python raises the exception of a signal between any two instructions: behind the making of a folder and before the note
that it is there; within a destructor, where it is lost. `held` puts it off; `let_in` lets it in for a while, around
what may take long.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _State:
    """Of the main thread, where alone Python runs handlers."""

    def __init__(self) -> None:
        self.depth = 0
        self.is_open = False
        self.pending: list[int] = []
        self.before: dict[int, Callable[[int, FrameType | None], Any] | int] = {}

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.depth and not self.is_open:
            self.pending.append(number)
            return
        self.is_open = False  # what cleans up is not interrupted
        self.pass_on(number, frame)

    def pass_on(self, number: int, frame: FrameType | None) -> None:
        """Do what would have been done without this module; as a rule this raises."""
        before = self.before[number]
        if callable(before):
            before(number, frame)
        elif before == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.is_open = True  # the handler has returned


_state = _State()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def held() -> Iterator[None]:
    """Put off SIGINT and SIGTERM until the end, or the next `let_in`. Outside the main thread, do nothing."""
    if not _is_main():
        yield
        return
    state = _state
    if state.depth == 0:
        state.pending = []
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before is not None and before != state.on_signal:  # None: it is none of Python's
                state.before[number] = before
                signal.signal(number, state.on_signal)
    was_open, state.is_open = state.is_open, False
    state.depth += 1
    try:
        yield
    finally:
        state.depth -= 1
        if state.depth == 0:
            _end(state)
        elif was_open:
            _open(state)


def _end(state: _State) -> None:
    for number, before in state.before.items():
        signal.signal(number, before)
    pending, state.pending = state.pending, []
    for number in pending:
        signal.raise_signal(number)


def _open(state: _State) -> None:
    """Let signals in, first the one that waits."""
    state.is_open = True
    if state.pending:
        state.is_open = False
        state.pass_on(state.pending.pop(0), None)


@contextmanager
def let_in() -> Iterator[None]:
    """Within `held`, let signals in, first of all those that wait; elsewhere do nothing."""
    state = _state
    if not _is_main() or state.depth == 0:
        yield
        return
    _open(state)
    try:
        yield
    finally:
        state.is_open = False
