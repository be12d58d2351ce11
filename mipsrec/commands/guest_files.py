"""Which file a program's name means: with a sysroot, what the host takes for it when it runs the program."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BuildError
from ..files.temporary_folder import place_below

if TYPE_CHECKING:
    from ..guest import Guest
    from ..sysroot import Sysroot


def open_program(arguments: argparse.Namespace) -> Guest:
    """Return the program that a command is given, read and analysed; raises what pipeline.open_guest raises."""
    from ..pipeline import open_guest

    return open_guest(guest_file(arguments.program, arguments))


def guest_file(name: str, arguments: argparse.Namespace) -> Path:
    """Return the file of a program or library; what has a name below the sysroot is found by the rules of links there.

    Raises BuildError where the sysroot is no folder, and for a file that is named as a folder.
    """
    below = _below(name, arguments)
    found = Path(name) if below is None or os.path.realpath(below[1]) == os.path.realpath(name) else below[1]
    if name.endswith("/") and found.is_file():
        raise BuildError(f"{name}: is a file, and no folder: leave out the / at the end")
    return found


def place_beside(name: str, file: Path, arguments: argparse.Namespace) -> Path:
    """Return the path of a guest's file below the sysroot, for what is to be made beside it.

    `file` is what guest_file has found. No link of another user has a part in the place. Raises Distrusted, or another
    OSError.
    """
    below = _below(name, arguments) if file != Path(name) else None
    return file if below is None else place_below(sysroot_of(arguments).root, below[0])


def _below(name: str, arguments: argparse.Namespace) -> tuple[str, Path] | None:
    """Return what is below the sysroot under a name of the guest or of this machine: the guest's name, and the file.

    The order is the host's (path_in_guest in runtime/linux/program.c).
    """
    if not name or _named_root(arguments) is None:
        return None
    sysroot = sysroot_of(arguments)
    inside = sysroot.name_below(name) or name
    found = sysroot.host_path(inside) if inside.startswith("/") else None
    return None if found is None else (inside, found)


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
