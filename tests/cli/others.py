"""Folders and files in which another user has a hand, and what a folder has."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.powers import only_who_may

GIVES_AWAY = only_who_may("give files away")
MALLORY = 12345


@contextmanager
def open_to_others() -> Iterator[Path]:
    """Yield a folder that others may enter, in a sticky one that all may write: those of pytest are closed."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="mipsrec-others-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return all that a folder has, and when it was changed."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, content)
    return found


def give(folder: Path) -> Path:
    """Give a folder with all in it to another user."""
    for path in [folder, *folder.rglob("*")]:
        os.lchown(path, MALLORY, MALLORY)
    return folder


def change(path: Path, mode: int | None = None, owner: int | None = None) -> None:
    if mode is not None:
        path.chmod(mode)
    if owner is not None:
        os.lchown(path, owner, owner)
