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
_INPUT_BYTES = 4 + (1 << 20)
_SHARES_INPUTS = 0x80000001 | 0x01000000
"""What a server says that wants inputs in shared memory (FS_OPT_ of AFL++'s types.h)."""

_COMPARES = 0x80000001 | 0x02000000
"""What a server says that fills a map of comparisons."""


class Shared:
    """System V shared memory, as long as a `with` lasts."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.shmat.restype = ctypes.c_void_p
        self.number = self._libc.shmget(_IPC_PRIVATE, size_bytes, _OWN)
        assert self.number >= 0, os.strerror(ctypes.get_errno())
        self.address = self._libc.shmat(self.number, None, 0)

    def __enter__(self) -> Shared:
        return self

    def content(self) -> bytes:
        """Return the bytes that it has."""
        return ctypes.string_at(self.address, self.size_bytes)

    def __exit__(self, *_: object) -> None:
        self._libc.shmdt(ctypes.c_void_p(self.address))
        self._libc.shmctl(self.number, _IPC_RMID, None)


class ForkServer:
    """A fork server that runs, and its map."""

    def __init__(
        self, process: subprocess.Popen[bytes], words: int, answers: int, counters: Shared, inputs: Shared
    ) -> None:
        self.process = process
        self.made: list[int] = []
        """The processes that were asked for inputs, one after another."""
        self._words = words
        self._answers = answers
        self._counters = counters
        self._inputs = inputs

    def greet(self, shares_inputs: bool, compares: bool) -> None:
        """Hear what the server is, and answer if it wants an answer."""
        assert self.hear() == (_SHARES_INPUTS if shares_inputs else 0) | (_COMPARES if compares else 0)
        if shares_inputs:
            os.write(self._words, struct.pack("I", _SHARES_INPUTS))

    def hear(self) -> int:
        """Return the next word; raises EOFError where the server has ended."""
        word = os.read(self._answers, 4)
        if len(word) != 4:
            raise EOFError(f"the fork server ended: {self.process.communicate(timeout=60)[1].decode()}")
        return int(struct.unpack("I", word)[0])

    def run(self, given: bytes = b"") -> tuple[int, bytes]:
        """Return the wait status of a process, a new one or one that has stopped itself, and what it has counted."""
        ctypes.memset(self._counters.address, 0, MAP_BYTES)
        text = struct.pack("I", len(given)) + given
        ctypes.memmove(self._inputs.address, text, len(text))
        os.write(self._words, struct.pack("I", 0))
        self.made.append(self.hear())
        assert self.made[-1] > 0
        status = self.hear()
        return status, ctypes.string_at(self._counters.address, MAP_BYTES)

    def kill(self) -> None:
        """End the process that has stopped itself, as AFL++ does after too long a time; say so with the next input."""
        os.kill(self.made[-1], signal.SIGKILL)
        os.write(self._words, struct.pack("I", 1))
        self.made.append(self.hear())
        self.hear()


@contextmanager
def fork_server(
    *command: str | Path, ignores_children: bool = False, shares_inputs: bool = False, stdin: int = subprocess.DEVNULL,
    **variables: str,
) -> Iterator[ForkServer]:  # fmt: skip
    """Start a command as AFL++ does, with more variables in its environment; ends it afterwards.

    `ignores_children`: the command begins with SIGCHLD ignored. `shares_inputs`: it is to ask for inputs in shared
    memory.
    """
    words, answers = os.pipe(), os.pipe()

    def take_descriptors() -> None:
        os.dup2(words[0], WORDS_FD)
        os.dup2(answers[1], ANSWERS_FD)
        if ignores_children:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    with Shared(MAP_BYTES) as counters, Shared(_INPUT_BYTES) as inputs:
        numbers = {"__AFL_SHM_ID": str(counters.number), "__AFL_SHM_FUZZ_ID": str(inputs.number)}
        with subprocess.Popen(
            [*map(str, command)], env=os.environ | numbers | variables, preexec_fn=take_descriptors, close_fds=False,
            stdin=stdin, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            os.close(words[0])
            os.close(answers[1])
            server = ForkServer(process, words[1], answers[0], counters, inputs)
            try:
                server.greet(shares_inputs, "__AFL_CMPLOG_SHM_ID" in variables)
                yield server
            finally:
                os.close(words[1])
                os.close(answers[0])
                process.kill()
