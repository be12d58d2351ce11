"""Folders for files on the way to a result: gone when the work is done or given up, by Ctrl-C too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .interrupts import held, let_in


@contextmanager
def temporary_folder(prefix: str, parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Yield a new folder, in `parent` where its files are to be moved within one file system; raises OSError."""
    with held(), tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as folder, let_in():
        yield Path(folder)
