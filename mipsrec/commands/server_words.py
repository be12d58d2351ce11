"""How a compile server is started: by the host, which is told what to execute, or here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from ..cache.folders import own_folder
from ..cache.limit import limit_bytes
from ..errors import BuildError, UsageError

_COMMAND = "mipsrec-python"
"""This package as a command, which the launcher starts; then that is what the host is told to start, too."""
_HANDED_ON = ("PATH", "HOME", "CC", "MIPSREC_CACHE_LIMIT")
"""Variables that the server heeds. The program's own are none of its business."""
_BEGINS_SECONDS = 30.0


def _environment() -> dict[str, str]:
    limit_bytes()  # of no sense, it would end each build of the server, where nobody reads why
    found = {name: os.environ[name] for name in _HANDED_ON if os.environ.get(name)}
    return found | {"MIPSREC_CACHE": str(own_folder())}


def _command(jobs: int) -> list[str]:
    start = [sys.executable, "-I", str(Path(__file__).resolve().with_name("start_server.py"))]
    if Path(sys.argv[0]).name == _COMMAND:
        start = [str(Path(sys.argv[0]).absolute()), "compile-server"]
    return [*start, "--jobs", str(jobs), *_idle_words()]


def idle_seconds(text: str) -> float:
    """Return the seconds that a word means; raises ValueError. The launcher knows the same ones."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError(f"{text!r} is no time; write a number of seconds")
    return float(text)


def _idle_words() -> list[str]:
    """Return the server's option for how long it waits, as the environment says."""
    text = os.environ.get("MIPSREC_SERVER_IDLE")
    if not text:
        return []
    try:
        idle_seconds(text)
    except ValueError as error:
        raise UsageError(f"MIPSREC_SERVER_IDLE: {error}") from error
    return ["--idle", text]


def server_words(jobs: int) -> list[str]:
    """Return the host's option for the compile server; nothing where a name in it cannot be given so.

    The launcher does the same (runtime/launcher/server_words.c).
    """
    words = [f"{name}={value}" for name, value in _environment().items()] + _command(jobs)
    if any("\n" in word or not word for word in words):
        return []
    return ["--compile-server", "\n".join(words)]


def is_wanted(chosen: bool | None) -> bool:
    """Return whether programs have a compile server: as --server or --no-server chose, else as the environment says.

    Raises UsageError where that says neither yes nor no.
    """
    if chosen is not None:
        return chosen
    said = os.environ.get("MIPSREC_SERVER") or "1"
    if said not in ("0", "1"):
        raise UsageError(f"MIPSREC_SERVER is {said!r}; set it to 0 or 1")
    return said == "1"


def start_server(jobs: int) -> None:
    """Start a compile server if there is none, and wait until it listens; raises BuildError where it does not."""
    from ..server import protocol

    if protocol.ask(protocol.STATUS, _BEGINS_SECONDS) is not None:
        return
    quiet = subprocess.DEVNULL
    subprocess.Popen(
        _command(jobs), env=_environment(), stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/"
    )
    end = time.monotonic() + _BEGINS_SECONDS
    while protocol.ask(protocol.STATUS, _BEGINS_SECONDS) is None:
        if time.monotonic() > end:
            log = protocol.socket_path().with_suffix(".log")
            raise BuildError(f"the compile server does not start; {log} may say why")
        time.sleep(0.05)
