"""Stands in for AFL++: a map in shared memory, and the words by which a fork server is asked for processes.

Enters: a command. Leaves: for each process that it is asked for, the wait status and the map. The protocol is that of
AFL++'s docs, "Tutorial: building a fork server".
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mipsrec.counters import MAP_BYTES

WORDS_FD, ANSWERS_FD = 198, 199
_IPC_PRIVATE, _IPC_RMID, _OWN = 0, 0, 0o600


class ForkServer:
    """A fork server that runs, and its map."""

    def __init__(self, process: subprocess.Popen[bytes], words: int, answers: int, address: int) -> None:
        self.process = process
        self._words = words
        self._answers = answers
        self._address = address

    def hear(self) -> int:
        """Return the next word; raises EOFError where the server has ended."""
        word = os.read(self._answers, 4)
        if len(word) != 4:
            raise EOFError(f"the fork server ended: {self.process.communicate(timeout=60)[1].decode()}")
        return int(struct.unpack("I", word)[0])

    def run(self) -> tuple[int, bytes]:
        """Return the wait status of a new process, and what it has counted."""
        ctypes.memset(self._address, 0, MAP_BYTES)
        os.write(self._words, struct.pack("I", 0))
        assert self.hear() > 0  # its number
        status = self.hear()
        return status, ctypes.string_at(self._address, MAP_BYTES)


@contextmanager
def fork_server(*command: str | Path, ignores_children: bool = False, **variables: str) -> Iterator[ForkServer]:
    """Start a command as AFL++ does, with more variables in its environment; ends it afterwards.

    `ignores_children`: the command begins with SIGCHLD ignored.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    shared = libc.shmget(_IPC_PRIVATE, MAP_BYTES, _OWN)
    assert shared >= 0, os.strerror(ctypes.get_errno())
    address = libc.shmat(shared, None, 0)
    words, answers = os.pipe(), os.pipe()

    def take_descriptors() -> None:
        os.dup2(words[0], WORDS_FD)
        os.dup2(answers[1], ANSWERS_FD)
        if ignores_children:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    environment = os.environ | {"__AFL_SHM_ID": str(shared)} | variables
    try:
        with subprocess.Popen(
            [*map(str, command)], env=environment, preexec_fn=take_descriptors, close_fds=False,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            os.close(words[0])
            os.close(answers[1])
            server = ForkServer(process, words[1], answers[0], address)
            try:
                assert server.hear() == 0
                yield server
            finally:
                os.close(words[1])
                os.close(answers[0])
                process.kill()
    finally:
        libc.shmdt(ctypes.c_void_p(address))
        libc.shmctl(shared, _IPC_RMID, None)
