"""Profiles: where earlier runs of a program spent their time, as `mipsrec run --profile FILE` writes them.

Enters: a text file. Leaves: a `Profile`. A profile looks like this; the first line names the program by the BLAKE2b-256
of its file, the others give a guest pc (hexadecimal), how many samples were taken there, and what executed it:

    mipsrec profile 1 9f3c...
    # comments, and empty lines, mean nothing
    00400a10 412 lifted
    00400a10 3 interp
    00401f24 7 host
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import ProfileError

VERSION = 1
ENGINES = ("lifted", "interp", "host")
"""Recompiled code; the interpreter; the host on behalf of the instruction, as in a system call."""

_HEADER = re.compile(r"mipsrec profile (\d{1,9}) ([0-9a-f]{64})")
_SAMPLE = re.compile(r"([0-9a-fA-F]{8})[ \t]+([0-9]{1,18})[ \t]+([a-z]+)")


@dataclass(frozen=True)
class Profile:
    """Samples by engine and guest pc; `identity` is the guest's, in hexadecimal."""

    path: Path
    identity: str
    samples: dict[str, dict[int, int]]

    @cached_property
    def counts(self) -> dict[int, int]:
        """The samples of each guest pc, of all engines together."""
        counts: dict[int, int] = {}
        for found in self.samples.values():
            for pc, count in found.items():
                counts[pc] = counts.get(pc, 0) + count
        return counts

    @cached_property
    def total(self) -> int:
        """How many samples there are."""
        return sum(self.counts.values())

    def check_program(self, identity: str, program: str | os.PathLike[str]) -> None:
        """Raise ProfileError when the profile is of another program than the one of this identity."""
        if identity != self.identity:
            raise ProfileError(
                f"{self.path}: the profile is of another program than {os.fspath(program)}; take one of this program, "
                "with `mipsrec run --profile FILE`"
            )


def read(path: str | os.PathLike[str]) -> Profile:
    """Read a profile; raises ProfileError when it cannot be read or is none."""
    path = Path(path)
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise ProfileError(f"{path}: not a profile of `mipsrec run --profile FILE` (it is not text)") from error
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if header is None:
        raise ProfileError(f"{path}: not a profile of `mipsrec run --profile FILE` (its first line names no program)")
    if int(header[1]) != VERSION:
        raise ProfileError(
            f"{path}: of profile version {header[1]}, this mipsrec reads {VERSION}; take the profile again"
        )
    samples: dict[str, dict[int, int]] = {engine: {} for engine in ENGINES}
    for number, line in enumerate(lines[1:], 2):
        if not line or line.startswith("#"):
            continue
        sample = _SAMPLE.fullmatch(line)
        if sample is None or sample[3] not in samples:
            raise ProfileError(f"{path}:{number}: damaged (not `PC COUNT {'|'.join(ENGINES)}`); take the profile again")
        found, pc = samples[sample[3]], int(sample[1], 16)
        found[pc] = found.get(pc, 0) + int(sample[2])
    return Profile(path, header[2], samples)
