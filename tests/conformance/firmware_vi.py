"""busybox's vi at a terminal: the same keys must give the same screens and files as natively.

Enters: a firmware that firmware_root.py built, and a way of running it; the keys are in tests/guests/firmware/vi.keys.
Leaves: Failed, with the first key after which vi draws something else.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.debian_roots import Way
from tests.conformance.firmware_programs import ENVIRONMENT, SCRIPTS, Failed, Firmware

PATIENCE = 60  # seconds until a key has its effect
NAMED = {"Esc": "\33", "CR": "\r", "BS": "\x7f", "lt": "<", "Up": "\33[A", "Down": "\33[B", "Left": "\33[D",
         "Home": "\33[1~", "End": "\33[4~", "C-b": "\2", "C-d": "\4", "C-e": "\5", "C-f": "\6", "C-u": "\25",
         "C-y": "\31"}  # fmt: skip
TEXT = "".join(f"this is line {number}\n" for number in range(1, 61))
FILES = ("text", "part", "other")


def _keys() -> list[bytes]:
    """Return what a terminal sends for each key."""
    lines = [line for line in (SCRIPTS / "vi.keys").read_text().splitlines() if not line.startswith("# ")]
    keys = re.findall(r"<([\w-]+)>|(.)", "".join(lines))
    return [(NAMED[name] if name else letter).encode("latin-1") for name, letter in keys]


@contextlib.contextmanager
def _terminal() -> Iterator[tuple[int, str]]:
    """A terminal of 24 lines and 80 columns: what holds it, and its path."""
    ours, theirs = os.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        yield ours, os.ttyname(theirs)
    finally:
        os.close(ours)
        os.close(theirs)


def _drawn(terminal: int, seconds: float) -> bytes:
    """Return what is drawn next; nothing when that takes longer."""
    return os.read(terminal, 65536) if select.select([terminal], [], [], seconds)[0] else b""


def _files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() if (folder / name).exists() else b"" for name in FILES}


# ---- natively ----


def _has_read(process: subprocess.Popen[bytes]) -> int:
    """Return how many bytes a process has read so far, and -1 while it runs or when it has ended."""
    try:
        counters = dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())
        state = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return -1
    return int(counters["rchar"]) if state == "S" else -1


def _until_waiting(process: subprocess.Popen[bytes], terminal: int, least: int) -> bytes:
    """Return what a process draws until it waits for a key, after it has read as many bytes as that."""
    drawn, deadline = b"", time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        waits = _has_read(process) >= least
        more = _drawn(terminal, 0.002)
        drawn += more
        if waits and not more:
            return drawn
    while more := _drawn(terminal, 0.1):
        drawn += more
    return drawn


@functools.cache
def _natively(busybox: Path, folder: Path) -> tuple[list[bytes], dict[str, bytes]]:
    """Return what is drawn at first and after each key, and the files at the end."""
    folder.mkdir(exist_ok=True)
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    (folder / "text").write_text(TEXT)
    environment = {**ENVIRONMENT, "PATH": str(folder.parent / "native-bin")}
    with (
        _terminal() as (ours, path),
        open(path, "r+b", buffering=0) as theirs,
        subprocess.Popen([busybox, "vi", "text"], cwd=folder, env=environment, stdin=theirs, stdout=theirs) as process,
    ):
        screens = [_until_waiting(process, ours, len(TEXT))]
        for key in _keys():
            least = _has_read(process) + len(key)
            os.write(ours, key)
            time.sleep(0.15 if key == b"\33" else 0)  # it waits for the rest of what an arrow key sends
            screens.append(_until_waiting(process, ours, least))
        process.wait(PATIENCE)
    return screens, _files(folder)


# ---- in a root ----


def vi(firmware: Firmware, way: Way) -> None:
    """vi draws and writes what the native one does."""
    firmware.natively(["true"])  # makes the folder of applets
    screens, files = _natively(firmware.native["busybox"], firmware.state / "native-vi")
    if files["other"].count(b"\n") < 3:
        raise Failed(f"the keys do not end vi natively; its last screen: {screens[-1]!r}")
    work = firmware.root.folder / "tmp/vi"
    work.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (work / name).unlink(missing_ok=True)
    (work / "text").write_text(TEXT)
    with (
        _terminal() as (ours, path),
        firmware.root.started(way, f"cd /tmp/vi; exec vi text < {path} > {path} 2>&1") as process,
    ):
        for key, expected in zip([b"", *_keys()], screens):
            os.write(ours, key)
            drawn, deadline = b"", time.monotonic() + PATIENCE
            while len(drawn) < len(expected) and time.monotonic() < deadline:
                drawn += _drawn(ours, 1)
            if drawn != expected:
                raise Failed(f"after {key!r}: draws {drawn!r} instead of {expected!r}")
        process.wait(PATIENCE)
    if _files(work) != files:
        raise Failed(f"the files are {_files(work)} instead of {files}")
