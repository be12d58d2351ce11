"""Commands on Debian programs with their known exit status and output, and the ways to run them.

Enters: rows of tests/guests/debian/programs.json and a sysroot. Leaves: what became of each. The sums of the
outputs are those of native runs and of qemu-user; where both differ, in the last digit of long doubles, of MIPS.

Rows write below /tmp, and each gets a /tmp of its own: in a chroot it is mounted there, with --sysroot the words name
the folder that stands for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.debian_inputs import DATA
from tests.support.debian import CODE, chroot_words, outside_libraries
from tests.support.tiers import BASELINE, CHECKED
from tests.support.tools import need

PACKAGES = (
    "busybox-static", "bash", "bash-static", "dash", "coreutils", "grep", "sed", "gawk", "mawk", "findutils",
    "diffutils", "patch", "tar", "gzip", "bzip2", "xz-utils", "zstd", "lz4", "sqlite3", "jq", "bc", "dc", "file", "m4",
    "make", "lua5.4", "perl", "python3", "spirv-cross", "spirv-tools", "libjpeg-turbo-progs", "stress-ng", "nasm",
    "cpp-12",
)  # fmt: skip
"""What the rows need."""

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/tmp", "TERM": "dumb"}

JUDGED_NATIVELY = ("find", "diff", "coreutils-stat")
"""Rows that print what each machine has otherwise: the order and size of folders, the times of files. This machine's
own programs of these names, given the same files, say what is right."""

_STATS = re.compile(r"^mipsrec-host: (\d+) instructions interpreted", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A command, and what it must do."""

    name: str
    argv: tuple[str, ...]
    stdin: str | None
    status: int
    sha256: str
    tags: tuple[str, ...]
    note: str = ""


def load_rows(only: Sequence[str] = ()) -> list[Row]:
    """Return all rows, or those of some names."""
    rows = [Row(**record) for record in json.loads((DATA / "programs.json").read_text())]
    unknown = set(only) - {row.name for row in rows}
    if unknown:
        raise SystemExit(f"no row is named {', '.join(sorted(unknown))}")
    return [row for row in rows if not only or row.name in only]


@dataclass
class End:
    """How a command ended. Times are of it and all of its children."""

    status: int | None
    """None: it was stopped after its time."""
    stdout: bytes
    stderr: str
    seconds: float
    processor_seconds: float = 0.0

    @property
    def interpreted(self) -> int | None:
        """How many instructions its processes interpreted; None where none of them said so."""
        found = [int(number) for number in _STATS.findall(self.stderr)]
        return sum(found) if found else None


def _end_session(session: int) -> None:
    """Kill what a command has left behind, also process groups of their own."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                try:
                    os.kill(int(entry.name), signal.SIGKILL)
                except ProcessLookupError:
                    continue


def run_command(command: Sequence[str], stdin: Path | None, folder: Path, limit: float, **more: str) -> End:
    """Run a command in a folder until it ends, or for `limit` seconds; processes that it leaves are killed."""
    new_file = tempfile.TemporaryFile
    with new_file() as output, new_file() as errors, open(stdin or os.devnull, "rb") as given:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=given, stdout=output, stderr=errors, cwd=folder,
                                   env={**ENVIRONMENT, **more}, start_new_session=True)  # fmt: skip
        descriptor = os.pidfd_open(process.pid)
        try:
            in_time = bool(select.select([descriptor], [], [], limit)[0])
        finally:
            seconds = time.monotonic() - start
            os.close(descriptor)
            _end_session(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        return End(process.returncode if in_time else None, output.read(), errors.read().decode(errors="replace"),
                   seconds, used.ru_utime + used.ru_stime)  # fmt: skip


@dataclass(frozen=True)
class Way:
    """How to run rows: `words` are options of the host, or what enters a chroot."""

    name: str
    root: Path
    host: Path | None = None
    words: tuple[str, ...] = ()
    binds: tuple[tuple[Path, str], ...] = ()
    chroot: bool = False

    def run(self, row: Row, limit: float) -> End:
        """Run a row in a /tmp and an empty folder of its own."""
        scratch = Path(tempfile.mkdtemp(prefix="debian-"))
        try:
            (scratch / "empty").mkdir()
            (scratch / "mk").mkdir()  # of the row `make`
            stdin = self.root / row.stdin.lstrip("/") if row.stdin else None
            if self.chroot:
                enter = chroot_words(self.root, "/tmp/empty", self.host, [(scratch, "tmp"), *self.binds])
                return run_command([*enter, *row.argv], stdin, scratch / "empty", limit)
            argv = [word.replace("/tmp", str(scratch)) for word in row.argv]
            command = [str(self.host), *self.words, "--sysroot", str(self.root), *argv]
            return run_command(command, stdin, scratch / "empty", limit, HOME=str(scratch))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def interpreted(root: Path, host: Path) -> Way:
    """By the interpreter, from a sysroot."""
    return Way("interpreted", root, host, ("--stats", "--engine", "interp"))


def in_tier(root: Path, host: Path, name: str) -> Way:
    """In the baseline tier, in one of the ways of support/tiers.py, from a sysroot."""
    return Way(name, root, host, ("--stats", *{**BASELINE, **CHECKED}[name]))


def recompiled(root: Path, host: Path, cache: Path, variant: str) -> Way:
    """With the code that a cache has, from a sysroot."""
    return Way("recompiled", root, host, ("--stats", "--tier", "aot", "--cache", str(cache), "--variant", variant))


def in_chroot(root: Path, host: Path, cache: Path | None = None) -> Way:
    """In a chroot, started by the kernel, with the code of a cache if one is given."""
    return Way("chroot", root, host, binds=((cache, CODE),) if cache else (), chroot=True)


def by_qemu(root: Path) -> Way:
    """In the same chroot, by qemu-user."""
    qemu = Path(need("qemu-mipsel", "qemu-user"))
    return Way("qemu", root, qemu.resolve(), binds=tuple(outside_libraries()), chroot=True)


def native(root: Path) -> Way:
    """In a chroot of this machine's own kind."""
    return Way("native", root, chroot=True)


# ---- judging ----


@dataclass
class Judge:
    """Says what is wrong with the end of a row; remembers what this machine's own programs say."""

    root: Path
    answers: dict[str, str] = field(default_factory=dict)

    def expected(self, row: Row) -> str:
        """Return the sum of the right output."""
        if row.name not in JUDGED_NATIVELY:
            return row.sha256
        if row.name not in self.answers:
            words = [word.replace("/w", f"{self.root}/w") for word in row.argv[1:]]
            command = [need(Path(row.argv[0]).name), *words]
            result = subprocess.run(command, capture_output=True, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
            self.answers[row.name] = _sum(result.stdout.replace(f"{self.root}/w".encode(), b"/w"))
        return self.answers[row.name]

    def wrong(self, row: Row, end: End) -> str:
        """Return what is wrong in a few words; nothing where all is right."""
        last = end.stderr.strip().splitlines()[-1:]
        said = f": {last[0][:200]}" if last else ""
        if end.status is None:
            return f"not ended after {end.seconds:.0f} s{said}"
        if end.status != row.status:
            return f"exit status {end.status}, not {row.status}{said}"
        if _sum(end.stdout) != self.expected(row):
            return f"another output, of {len(end.stdout)} bytes, beginning {end.stdout[:60]!r}{said}"
        return ""


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
