"""Which file a program's name means: with a sysroot, what the host takes for it when it runs the program."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def guest_file(name: str, arguments: argparse.Namespace) -> Path:
    """Return the file of a program or library: an absolute path that exists below the sysroot is taken from there."""
    root = arguments.sysroot or os.environ.get("MIPSREC_SYSROOT")
    if root and name.startswith("/"):
        from ..sysroot import Sysroot

        found = Sysroot(Path(os.path.abspath(root))).host_path(name)
        if found is not None and found.is_file():
            return found
    return Path(name)


def guest_files(name: str, arguments: argparse.Namespace) -> list[Path]:
    """Return the files of a program and of what --with names."""
    return [guest_file(one, arguments) for one in (name, *arguments.with_files)]
