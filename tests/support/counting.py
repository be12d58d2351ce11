"""How much work code does, by counting: times would fail tests on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Yield a list that has, at the end, the number of calls of Python's and C's functions inside."""
    count, found = 0, [0]

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        found[0] = count


@contextmanager
def counted_lines() -> Iterator[list[int]]:
    """Yield a list that has, at the end, the number of lines of Python that ran inside: each turn of a loop is one."""
    count, found = 0, [0]

    def note(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal count
        count += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield found
    finally:
        sys.settrace(before)
        found[0] = count
