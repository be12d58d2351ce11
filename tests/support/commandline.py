"""Runs `python -m mipsrec ...` as users do, and judges how it refuses what it cannot do."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mipsrec.cli import main
from tests.support import forker
from tests.support.paths import ROOT

_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "ASAN_", "UBSAN_")
"""What Python, the C library and sanitizers read when a process starts."""


def environment(**changes: str | None) -> dict[str, str]:
    """Return this process's environment with changes; None takes a variable away."""
    result = os.environ | {"PYTHONPATH": str(ROOT)}
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "mipsrec", *map(str, words)]


def mipsrec(
    *words: object,
    cwd: Path | None = None,
    before: Callable[[], None] | None = None,
    **changes: str | None,
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end; `before` runs in the new process, `changes` are environment variables."""
    if before is None and not any(name.startswith(_READ_AT_START) for name in changes):
        ended = forker.run([*map(str, words)], str(cwd or Path.cwd()), environment(**changes))
        return subprocess.CompletedProcess(command(*words), *ended)
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL, cwd=cwd,
        preexec_fn=before, env=environment(**changes),
    )  # fmt: skip


def mipsrec_here(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, for what ends before a host or a worker starts."""
    said, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        try:
            status = main(list(map(str, words)))
        except SystemExit as leaves:
            status = leaves.code if isinstance(leaves.code, int) else int(leaves.code is not None)
    return subprocess.CompletedProcess(command(*words), status, said.getvalue(), errors.getvalue())


def heed_interrupts() -> None:
    """Shells start what runs in the background with these ignored, and the tests may be run so. For a new process."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for_processor_time(pid: int, seconds: float) -> None:
    """Return when a process has computed that long, however busy the machine is."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        if (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") >= seconds:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} did not compute for {seconds} s")


def assert_one_line(result: subprocess.CompletedProcess[str], *words: str, status: int = 1) -> None:
    """The exit status, nothing on standard output, one line on standard error, and the words in it."""
    assert (result.returncode, result.stdout) == (status, ""), result
    assert result.stderr.startswith("mipsrec") and result.stderr.endswith("\n"), result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
