"""Runs the host beside this process, for commands that do something after the guest's end."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..errors import BuildError
from ..files.trusted_path import check_program


@contextmanager
def running(
    words: Sequence[str], descriptors: Sequence[int] = (), is_ours: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the host as a process, which has these descriptors; raises BuildError where it cannot be executed.

    It is judged again: it may be in a cache that has been made anew since. A program that is not ours, but that the
    user has named, is not. Interruptions from the terminal are for the program. Where the caller gives up, the host is
    ended.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if is_ours:
        check_program(words[0])
    try:
        process = subprocess.Popen(words, pass_fds=descriptors)
    except OSError as error:
        raise BuildError(f"{words[0]}: cannot be run ({error.strerror})") from error
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_status(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of the guest; return its exit status, 128 + n when signal n killed it."""
    status = process.wait()
    return 128 - status if status < 0 else status


def run_to_end(words: Sequence[str]) -> int:
    """Run the host to its end; return the guest's exit status."""
    with running(words) as process:
        return exit_status(process)
