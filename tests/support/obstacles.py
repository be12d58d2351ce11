"""What may stand in the place of a file that is looked for: none of it may be waited for, or read to its end."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from tests.support.powers import may


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "file").write_text("in a folder")


def _huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 42)


def _nested(path: Path) -> None:
    path.write_text("[" * 100_000)


OBSTACLES: dict[str, Callable[[Path], None]] = {
    "fifo": os.mkfifo,
    "folder": _folder,
    "link to itself": lambda path: path.symlink_to(path),
    "link to nothing": lambda path: path.symlink_to("/absent"),
    "endless link": lambda path: path.symlink_to("/dev/zero"),
    "huge": _huge,
    "nested": _nested,
    "nonsense": lambda path: path.write_bytes(os.urandom(5000)) and None,
}
if may("make devices"):
    OBSTACLES["device"] = lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero


def put(kind: str, path: Path) -> None:
    """Put an obstacle in the place of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    OBSTACLES[kind](path)
