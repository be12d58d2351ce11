"""qemu-names: write qemu-user's names for o32 into a folder, so that tools which call these run mipsrec.

Enters: a folder. Leaves: in it, links by these names to the native command `mipsrec`, which becomes the host with all
the words of its command line; the host reads them as qemu-user does (runtime/qemu_names.c). Where there is no native
command, as in a checkout, it is built, with a copy of the host beside it, in a folder below the folder.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path

from ..errors import MipsrecError, WriteError, one_line
from ..files.temporary_folder import move_file, temporary_folder
from ..host_build import HOST, build_launcher, host_executable, shipped_host
from ..native.compiler import find_compiler

DESCRIPTION = """\
Writes the names of qemu-user into a folder: qemu-mips, qemu-mipsel, and both with -static behind. With the folder
first in PATH, tools that call these names run mipsrec, with the options and variables of qemu-user 7.2. Besides, there
is afl-qemu-trace, as which AFL++ (afl-fuzz -Q) calls what runs its target.

  mipsrec qemu-names DIR               write them, or renew them after mipsrec has changed
  PATH=DIR:$PATH qemu-mipsel -L /usr/mipsel-linux-gnu prog.elf
  AFL_PATH=DIR afl-fuzz -Q -i seeds -o out -- prog.elf @@
  mipsrec qemu-names --remove DIR      take them away

Other files of these names stay as they are: then nothing is written.
"""

NAMES = ("qemu-mips", "qemu-mipsel", "qemu-mips-static", "qemu-mipsel-static", "afl-qemu-trace")
_COMMAND, _PYTHON = "mipsrec", "mipsrec-python"
_OWN_FOLDER = ".mipsrec-qemu"
"""In the folder of the names: the commands, where mipsrec was installed without native ones."""
_ELF = b"\x7fELF"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="where the names go; made if it is not there")
    parser.add_argument("--remove", action="store_true", help="remove the names that this command wrote there")


def _is_own(path: Path) -> bool:
    """Return whether a name was written by this command: it is a link to a command `mipsrec`."""
    return path.is_symlink() and os.path.basename(os.readlink(path)) == _COMMAND


def _native_command() -> Path | None:
    """Return the native command that was installed beside the host."""
    host = shipped_host()
    command = host.with_name(_COMMAND) if host is not None else None
    if command is None or not command.is_file():
        return None
    with command.open("rb") as stream:
        return command.absolute() if stream.read(len(_ELF)) == _ELF else None


def _build_commands(folder: Path) -> None:
    """Make the commands in a folder: the launcher, the host, and Python's, which begins the compile server."""
    package = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {package!r}); from mipsrec.cli import main; sys.exit(main())"
    host = host_executable()
    folder.mkdir(exist_ok=True)
    with temporary_folder(".new-", folder) as new:
        build_launcher(find_compiler(), new / _COMMAND, ("-g0",))
        shutil.copy(host, new / HOST)
        (new / _PYTHON).write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-c", program])} "$@"\n')
        (new / _PYTHON).chmod(0o755)
        for name in (HOST, _PYTHON, _COMMAND):
            move_file(new / name, folder / name)


def _link(path: Path, target: str) -> None:
    """Make a link in the place of an earlier one; at each moment there is one of them."""
    if _is_own(path) and os.readlink(path) == target:
        return
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.symlink_to(target)
    os.replace(new, path)


def write_names(folder: Path) -> None:
    """Write the names into a folder; raises MipsrecError where one of them is another file, and OSError."""
    for path in (folder / name for name in NAMES):
        if os.path.lexists(path) and not _is_own(path):
            raise MipsrecError(f"{path}: is there, and not of mipsrec; move it away, or give another folder")
    command = _native_command()
    folder.mkdir(parents=True, exist_ok=True)
    if command is None:
        _build_commands(folder / _OWN_FOLDER)
    for name in NAMES:
        _link(folder / name, str(command) if command is not None else f"{_OWN_FOLDER}/{_COMMAND}")


def _remove(folder: Path) -> list[str]:
    """Remove what is mipsrec's there; return the names that were."""
    found = [name for name in NAMES if _is_own(folder / name)]
    for name in found:
        (folder / name).unlink()
    own = folder / _OWN_FOLDER
    if own.is_dir() and not own.is_symlink():
        for name in (_COMMAND, _PYTHON, HOST):
            (own / name).unlink(missing_ok=True)
        own.rmdir()
    return found


def main(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.folder)
    try:
        if arguments.remove:
            found = _remove(folder)
            said = f"removed {', '.join(found)}" if found else "has no names of this command"
            print(one_line(f"{folder}: {said}"))
            return 0
        write_names(folder)
    except OSError as error:
        raise WriteError(f"{error.filename or folder}: cannot be changed ({error.strerror or error})") from error
    print(one_line(f"{folder}: {', '.join(NAMES)} start mipsrec; put this folder first in PATH"))
    return 0
