"""Whether a folder with all in it is trusted (trust.py): one of sources that become programs, or of settings."""

from __future__ import annotations

import os
from pathlib import Path

from .trust import distrust


def distrust_all(folder: Path) -> str | None:
    """Return who else can change a folder or anything in it, or None.

    What links in it lead to counts as in it. A link that leads nowhere is nothing.
    """
    seen = set()
    for above, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(above)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        for path in (above, *(os.path.join(above, name) for name in files)):
            reason = distrust(path) if os.path.exists(path) else None
            if reason is not None:
                return f"{path}: {reason}"
    return None
