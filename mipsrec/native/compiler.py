"""Tools of this machine; above all the C compiler, which links libraries and builds the host."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import BuildError
from ..files.temporary_folder import temporary_folder
from ..files.trust import distrust


def find_tool(name: str) -> str | None:
    """Return the path of a tool of PATH, or None.

    An empty or relative entry of PATH names the working folder, or one below it, which may be another user's. No
    tool is taken from there: nobody typed its name.
    """
    return shutil.which(name, path=_absolute_entries())


def _absolute_entries() -> str:
    return os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)))


def find_compiler() -> str:
    """Return the system's C compiler; raises BuildError when there is none.

    A relative name in CC, set for one folder, may name another user's file in the next one.
    """
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        path = find_tool(name)
        reason = distrust(path) if path and not os.path.isabs(path) else None
        if reason is not None:
            raise BuildError(f"CC={name}: {reason}; give the compiler's whole path")
        if path:
            return os.path.abspath(path)  # it is started elsewhere
    raise BuildError("no C compiler found (tried $CC, cc, gcc, clang); install one, on Debian: apt install gcc")


_LISTS = ("XDG_DATA_DIRS", "XDG_CONFIG_DIRS")
"""Variables that name several folders. All others name one: a colon in it separates nothing."""


def _environment_of_tools(temporary: Path) -> dict[str, str]:
    """Return this process's variables without HOME and XDG_ folders that others can change: tools take files there.

    `sudo` may leave the HOME of another user. A relative path means another folder to a tool that works elsewhere.
    Files on the way go to the folder `temporary`. A guest is no tool: it gets all variables.
    """

    def is_kept(name: str, value: str) -> bool:
        if name != "HOME" and not name.startswith("XDG_"):
            return True
        folders = value.split(":") if name in _LISTS else [value]
        return all(os.path.isabs(folder) and distrust(folder) is None for folder in folders)

    kept = {name: value for name, value in os.environ.items() if is_kept(name, value)}
    return kept | {"PATH": _absolute_entries() or os.defpath, "TMPDIR": str(temporary)}


def run_tool(command: Sequence[str], variables: Mapping[str, str] | None = None, **options: Any) -> Any:
    """Run a tool as subprocess.run does, in _environment_of_tools() with more variables, and without standard input.

    Returns its subprocess.CompletedProcess; raises OSError.
    """
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    with temporary_folder("mipsrec-tool-") as folder:
        return subprocess.run(command, env=_environment_of_tools(folder) | dict(variables or {}), **options)


def run_compiler(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the compiler to its end, or, when this process is to stop, end it and all that it runs. Raises OSError.

    A driver that is killed leaves its linker running, which goes on writing; so both are in a session of their own.
    Paths in the command are absolute: the compiler works in a new folder. GNU ld looks in the working folder first for
    what a linker script names (libgcc_s.so.1), and the compiler's parts hand each other files by names in TMPDIR.
    """
    with temporary_folder("mipsrec-cc-") as folder, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True, cwd=folder, env=_environment_of_tools(folder),
    ) as process:  # fmt: skip
        try:
            output, errors = process.communicate()
        except BaseException:
            with suppress(ProcessLookupError):  # it ended just now
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
