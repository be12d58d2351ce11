"""Folders in each other, more than a recursive walk takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DEPTH, _CALLS = 200, 150


@contextmanager
def deep_folder(top: Path) -> Iterator[Path]:
    """Yield the innermost of new folders below one. Meanwhile fewer calls in each other are allowed than these are."""
    inner = top.joinpath(*["d"] * _DEPTH)
    inner.mkdir(parents=True)
    most = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + _CALLS)
    try:
        yield inner
    finally:
        sys.setrecursionlimit(most)
