"""Folders for files on the way to a result: gone when the work is done or given up, by Ctrl-C too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder(prefix: str, parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Yield a new folder, in `parent` where its files are to be moved within one file system; raises OSError."""
    folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
    try:
        yield Path(folder.name)
    finally:
        try:
            folder.cleanup()
        except KeyboardInterrupt:  # it fell into this; what was left goes now
            folder.cleanup()
            raise
