"""Locks between processes: for files that several tests make, and for names that a whole machine shares."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time work on something."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def alone_with(what: str) -> Iterator[None]:
    """Let one test at a time use something that the machine has once."""
    with locked(Path(tempfile.gettempdir()) / f"mipsrec-{what}"):
        yield
