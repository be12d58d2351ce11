"""Profiles: where earlier runs of a program spent their time, as `mipsrec run --profile FILE` writes them.

Enters: a text file. Leaves: a `Profile`. A profile looks like this; the first line names the program by the BLAKE2b-256
of its file. A line `file` names one that the program had mapped, in the same way, and what follows is of that file: a
guest pc (hexadecimal, as `mipsrec disasm FILE` shows it), how many samples were taken there, and what executed it.
What is not known is `-`:

    mipsrec profile 2 9f3c...
    # comments, and empty lines, mean nothing
    file - -
    00000000 3 host
    file 9f3c... /usr/bin/prog
    00400a10 412 lifted
    00400a10 3 interp
    file 77aa... /usr/lib/libc.so.6
    00401f24 7 host

Version 1 had no lines `file`: all samples were of the program.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import ProfileError
from .files.input_file import read_text

VERSION = 2
ENGINES = ("lifted", "baseline", "interp", "host")
"""Recompiled code; the baseline tier; the interpreter; the host on behalf of the instruction, as in a system call."""

_HEADER = re.compile(r"mipsrec profile (\d{1,9}) ([0-9a-f]{64})")
_FILE = re.compile(r"file ([0-9a-f]{64}|-) (.+)")
_RATE = re.compile(r"# rate (\d{1,9})")
_SAMPLE = re.compile(r"([0-9a-fA-F]{8})[ \t]+([0-9]{1,18})[ \t]+([a-z]+)")


@dataclass(frozen=True)
class FileSamples:
    """Samples of one file by engine and guest pc; `identity` is None where the file is not known, as the kernel's."""

    identity: str | None
    path: str
    samples: dict[str, dict[int, int]]


def _no_samples() -> dict[str, dict[int, int]]:
    return {engine: {} for engine in ENGINES}


@dataclass(frozen=True)
class Profile:
    """Samples of a program, or of one of its files (see `of`), by engine and guest pc.

    `identity` is the program's, in hexadecimal, or the file's. `files` are all files that the program had mapped.
    """

    path: Path
    identity: str
    samples: dict[str, dict[int, int]]
    files: tuple[FileSamples, ...] = ()
    rate: int | None = None
    """How many samples a second has, if a comment of the file tells."""

    @cached_property
    def counts(self) -> Counter[int]:
        """The samples of each guest pc of the program's own file, of all engines together."""
        counts: Counter[int] = Counter()
        for found in self.samples.values():
            counts.update(found)
        return counts

    @cached_property
    def total(self) -> int:
        """How many samples there are, in all files."""
        return sum(sum(counts.values()) for file in self.files for counts in file.samples.values())

    def names(self, identity: str) -> bool:
        """Return whether the program had mapped the file of an identity."""
        return any(file.identity == identity for file in self.files)

    def of(self, identity: str, path: str | os.PathLike[str]) -> Profile:
        """Return what is of one file; raises ProfileError where the program did not map it."""
        found = next((file for file in self.files if file.identity == identity), None)
        if found is None:
            raise ProfileError(
                f"{self.path}: the profile is of another program than {os.fspath(path)}, and names no such file; take "
                "one of this program, with `mipsrec run --profile FILE`"
            )
        return Profile(self.path, identity, found.samples, (found,), self.rate)

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
        lines = read_text(path, "surrogateescape").split("\n")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ProfileError(f"{path}: cannot be read ({reason})") from error
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if header is None:
        raise ProfileError(f"{path}: not a profile of `mipsrec run --profile FILE` (its first line names no program)")
    if not 1 <= int(header[1]) <= VERSION:
        raise ProfileError(
            f"{path}: of profile version {header[1]}, this mipsrec reads {VERSION}; take the profile again"
        )
    files: dict[str | None, FileSamples] = {header[2]: FileSamples(header[2], "", _no_samples())}
    samples = files[header[2]].samples
    rate = None
    for number, line in enumerate(lines[1:], 2):
        if not line or line.startswith("#"):
            rate = int(said[1]) if (said := _RATE.fullmatch(line)) else rate
            continue
        if (named := _FILE.fullmatch(line)) is not None:
            identity = named[1] if named[1] != "-" else None
            known = files.setdefault(identity, FileSamples(identity, named[2], _no_samples()))
            files[identity] = FileSamples(identity, known.path or named[2], known.samples)
            samples = known.samples
            continue
        sample = _SAMPLE.fullmatch(line)
        if sample is None or sample[3] not in samples:
            raise ProfileError(f"{path}:{number}: damaged (not `PC COUNT {'|'.join(ENGINES)}`); take the profile again")
        found, pc = samples[sample[3]], int(sample[1], 16)
        found[pc] = found.get(pc, 0) + int(sample[2])
    return Profile(path, header[2], files[header[2]].samples, tuple(files.values()), rate)
