"""Whether a folder with all in it is trusted (trusted_path.py): one of sources that become programs, or of settings."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .trust import Distrusted, distrust, resolve


def distrust_all(folder: Path) -> str | None:
    """Return who else can change a folder or anything in it, or None.

    What links in it lead to counts as in it. A link that leads nowhere is nothing, unless others can make something
    there.
    """
    seen, waiting = set(), [os.fspath(folder)]
    while waiting:
        above = waiting.pop()
        names, real = [], os.path.realpath(above)
        if real not in seen:
            seen.add(real)
            with suppress(OSError):  # it is no folder
                names = sorted(os.listdir(above))
        reason = _reason(above, real)
        if reason is not None:
            return f"{above}: {reason}"
        waiting += [os.path.join(above, name) for name in reversed(names)]
    return None


def _reason(path: str, real: str) -> str | None:
    """Return who else can change what a path names, or, where nothing is there, can make something there."""
    try:
        resolve(path)
    except Distrusted as reason:
        return str(reason)
    except OSError:
        while not os.path.exists(real):
            real = os.path.dirname(real)
        return distrust(real)
    return None
