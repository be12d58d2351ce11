"""Tools of this machine; above all the C compiler, which links libraries and builds the host."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .errors import BuildError
from .temporary_folder import temporary_folder
from .trust import distrust


def find_compiler() -> str:
    """Return the system's C compiler; raises BuildError when there is none."""
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        path = shutil.which(name)
        if path:
            return os.path.abspath(path)  # it is started elsewhere
    raise BuildError("no C compiler found (tried $CC, cc, gcc, clang); install one, on Debian: apt install gcc")


def environment_of_tools() -> dict[str, str]:
    """Return this process's variables without HOME and XDG_ folders that others can change: tools take files there.

    `sudo` may leave the HOME of another user. A guest is no tool: it gets all variables.
    """

    def is_kept(name: str, value: str) -> bool:
        named = name == "HOME" or name.startswith("XDG_")
        return not named or all(distrust(folder) is None for folder in value.split(":"))

    return {name: value for name, value in os.environ.items() if is_kept(name, value)}


def run_tool(command: Sequence[str], variables: Mapping[str, str] | None = None, **options: Any) -> Any:
    """Run a tool as subprocess.run does, in environment_of_tools() with more variables, and without standard input.

    Returns its subprocess.CompletedProcess.
    """
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return subprocess.run(command, env=environment_of_tools() | dict(variables or {}), **options)


def run_compiler(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the compiler to its end, or, when this process is to stop, end it and all that it runs. Raises OSError.

    A driver that is killed leaves its linker running, which goes on writing; so both are in a session of their own.
    Paths in the command are absolute: the compiler works in a new folder. GNU ld looks in the working folder first for
    what a linker script names (libgcc_s.so.1), and the compiler's parts hand each other files by names in TMPDIR.
    """
    with temporary_folder("mipsrec-cc-") as folder, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True, cwd=folder, env={**environment_of_tools(), "TMPDIR": str(folder)},
    ) as process:  # fmt: skip
        try:
            output, errors = process.communicate()
        except BaseException:
            with suppress(ProcessLookupError):  # it ended just now
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
