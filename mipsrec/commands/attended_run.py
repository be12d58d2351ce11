"""Runs the host and waits for its end, for what is to be done then; this process is ended as the program was.

Signals that are sent to this process go on to the program. Those of a terminal, which the kernel sends, it gets itself.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..cache.folders import remove_private_folder
from ..errors import BuildError

_PASSED_ON = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
              signal.SIGALRM}  # fmt: skip
_WATCHED = {*_PASSED_ON, signal.SIGCHLD}


@contextmanager
def attended() -> Iterator[Callable[[list[str]], int]]:
    """Block signals, and give what runs a command to its end and returns the status that wait(2) tells.

    That raises BuildError where the command cannot be run. What is done in the block behind it is not interrupted.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        yield lambda words: _run(words, before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_as(status: int) -> int:
    """Return the exit status of a program that has ended so; does not return where a signal ended it."""
    sys.stderr.flush()
    if os.WIFSIGNALED(status):
        _end_by(os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _run(words: list[str], mask: set[int | signal.Signals]) -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        usual = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores them
        child = os.posix_spawn(words[0], words, os.environ, setsigmask=mask, setsigdef=usual)
    except OSError as error:
        raise BuildError(f"{words[0]}: cannot be run ({error.strerror})") from error
    while True:
        came = signal.sigwaitinfo(_WATCHED)
        if came.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
        elif came.si_code <= 0:  # SI_USER and its like
            os.kill(child, came.si_signo)


def _end_by(number: int) -> None:
    """End this process by a signal, without a core of its own."""
    remove_private_folder()
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(128 + number)
