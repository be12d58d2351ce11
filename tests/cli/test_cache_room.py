"""What a build does for the cache: it makes room, notes that a library was used, and leaves locks in use alone."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from mipsrec.cache import limit, notes, prune


def of_size(path: Path, size_bytes: int, used: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size_bytes))
    os.utime(path, (used, used))
    return path


def test_room_counts_a_library_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that fit together do not drive each other away, though the room was made after the second."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    monkeypatch.setenv("MIPSREC_CACHE_LIMIT", "1000")
    first, second = (of_size(tmp_path / "libraries" / f"{name * 32}.so", 400, time.time() - 9) for name in "ab")
    limit.Room(()).add(second)
    assert first.exists() and second.exists()
    third = of_size(tmp_path / "libraries" / f"{'c' * 32}.so", 400, time.time())
    limit.Room(()).add(third)
    assert third.exists() and not (first.exists() and second.exists())


def test_use_is_noted_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    library = of_size(tmp_path / "a.so", 1, time.time() - 3 * 86400)
    before = library.stat()
    notes.note_use(library)
    noted = library.stat()
    assert noted.st_atime > time.time() - 60 and noted.st_mtime_ns == before.st_mtime_ns
    notes.note_use(library)
    assert library.stat().st_ctime_ns == noted.st_ctime_ns
    notes.note_use(tmp_path / "none.so")
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path / "cache"))
    os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
    notes.note_use(library)
    assert library.stat().st_atime_ns == before.st_atime_ns, "it is of a layer now"


def test_lock_in_use_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have been taken since it was found to be nobody's."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    lock = tmp_path / "a.lock"
    with lock.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert not prune.remove_leftover(prune.Leftover(prune.LOCK, lock, 0)) and lock.exists()
    assert prune.remove_leftover(prune.Leftover(prune.LOCK, lock, 0)) and not lock.exists()
