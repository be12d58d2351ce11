"""AFL++ on this machine: its programs, the environment that they get, and why one of them gave up.

Enters: a target, and the folder of qemu-user's names. Leaves: words and variables for AFL++'s programs.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import MipsrecError

INPUT = "@@"
"""Stands for the file that the program reads, as in AFL++."""

_FIXED = {
    "MIPSREC_SERVER": "0",
    "AFL_SKIP_CPUFREQ": "1", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_NO_UI": "1", "AFL_NO_AFFINITY": "1",
    "AFL_FORKSRV_INIT_TMOUT": "60000",
}  # fmt: skip
"""No compile server, whose code would not count; nothing that the machine's administrator would have to set; and time
for a long way up to the entry (in ms)."""

_COLOURS = re.compile(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][0-9A-Z])|[\x0e\x0f]")
_REASON = re.compile(r"(?:PROGRAM ABORT|SYSTEM ERROR) : *(.+)")


@dataclass(frozen=True)
class Target:
    """What is fuzzed. `arguments` have `@@` where the input is a file; `entry` is where each input begins.

    `checks_memory`: a wrong access to the heap is a crash. `desock`: the port of a service, which gets the input from a
    client.
    """

    program: Path
    arguments: tuple[str, ...] = ()
    sysroot: str | None = None
    entry: int | None = None
    checks_memory: bool = False
    desock: str | None = None

    @property
    def reads_file(self) -> bool:
        return any(INPUT in word for word in self.arguments)

    def words(self, path: str | os.PathLike[str]) -> list[str]:
        """Return the program and its arguments for an input in a file; of standard input the file is no part."""
        return [str(self.program), *(word.replace(INPUT, os.fspath(path)) for word in self.arguments)]


def find(tool: str) -> str:
    """Return the path of a program of AFL++; raises MipsrecError where it is not installed."""
    found = shutil.which(tool)
    if found is None:
        raise MipsrecError(f"{tool}: is not installed; mipsrec fuzz runs AFL++ (Debian, Ubuntu: apt-get install afl++)")
    return found


def environment(target: Target, names: Path) -> dict[str, str]:
    """Return the environment for AFL++'s programs. `names`: where `mipsrec qemu-names` has written.

    AFL++'s variables that the user has set count, so far as they do not change who runs the target.
    """
    variables = _FIXED | os.environ | {"AFL_PATH": str(names)}
    if target.sysroot is not None:
        variables["QEMU_LD_PREFIX"] = os.path.abspath(target.sysroot)
    if target.checks_memory:
        variables["AFL_USE_QASAN"] = "1"
    if target.desock is not None:
        variables["MIPSREC_DESOCK"] = target.desock
    if target.entry is not None:
        variables["AFL_ENTRYPOINT"] = f"{target.entry:#x}"
    return variables


def plain_text(said: bytes) -> str:
    """Return what a program of AFL++ has printed, without colours."""
    return _COLOURS.sub(b"", said).decode(errors="replace")


def reason_of(said: str) -> str:
    """Return why a program of AFL++ gave up, from what it has printed: its last error, else its last line, else ""."""
    reasons = _REASON.findall(said)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return str(reasons[-1]).strip() if reasons else lines[-1] if lines else ""
