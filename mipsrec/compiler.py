"""The system's C compiler, which links libraries and builds the host."""

from __future__ import annotations

import os
import shutil

from .errors import BuildError


def find_compiler() -> str:
    """Return the system's C compiler; raises BuildError when there is none."""
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        path = shutil.which(name)
        if path:
            return path
    raise BuildError("no C compiler found (tried $CC, cc, gcc, clang); install one, on Debian: apt install gcc")
