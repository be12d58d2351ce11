"""Which file a program's name means: with a sysroot, what the host takes for it when it runs the program."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BuildError
from ..files.temporary_folder import place_below

if TYPE_CHECKING:
    from ..sysroot import Sysroot


def guest_file(name: str, arguments: argparse.Namespace) -> Path:
    """Return the file of a program or library: an absolute path that exists below the sysroot is taken from there.

    Raises BuildError where the sysroot is no folder.
    """
    if _named_root(arguments) is not None and name.startswith("/"):
        found = sysroot_of(arguments).host_path(name)
        if found is not None and found.is_file():
            return found
    return Path(name)


def place_beside(name: str, file: Path, arguments: argparse.Namespace) -> Path:
    """Return the path of a guest's file below the sysroot, for what is to be made beside it.

    `file` is what guest_file has found. No link of another user has a part in the place. Raises Distrusted, or another
    OSError.
    """
    if file == Path(name) or _named_root(arguments) is None:
        return file
    return place_below(sysroot_of(arguments).root, name)


def _named_root(arguments: argparse.Namespace) -> str | None:
    """Return the folder that --sysroot or MIPSREC_SYSROOT names; raises BuildError where it is none."""
    named = arguments.sysroot or os.environ.get("MIPSREC_SYSROOT") or None
    if named is not None and not Path(named).is_dir():
        raise BuildError(f"{named}: is no folder; --sysroot names the one that holds the guest's /lib and /usr")
    return named


def guest_files(name: str, arguments: argparse.Namespace) -> list[Path]:
    """Return the files of a program and of what --with names."""
    return [guest_file(one, arguments) for one in (name, *arguments.with_files)]


def sysroot_of(arguments: argparse.Namespace) -> Sysroot:
    """Return the sysroot that the command line or MIPSREC_SYSROOT names; raises BuildError where it is no folder."""
    from ..sysroot import Sysroot

    named = _named_root(arguments)
    return Sysroot() if named is None else Sysroot(Path(os.path.abspath(named)))
