"""What lies below a folder, however deep folders lie in each other there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def files_below(top: Path, device: int | None = None) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield what is no folder, with how it is: a folder's files by name, then those of the folders in it.

    No link is followed. Where a device is given, what is on others is left out, and what cannot be read always is.
    """
    waiting = [top]
    while waiting:
        folder, inner = waiting.pop(), []
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                path = folder / name
                with suppress(OSError):
                    status = path.lstat()
                    if device not in (None, status.st_dev):
                        continue
                    if stat.S_ISDIR(status.st_mode):
                        inner.append(path)
                    else:
                        yield path, status
        waiting += reversed(inner)
