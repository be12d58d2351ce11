"""Runs a guest under the host's --gdb, with gdb-multiarch as the debugger, or with single packets of its protocol.

Enters: the host's options and gdb's commands. Leaves: what gdb and the guest print, and how both end.
"""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.support.tools import need

TIMEOUT = 600
BATCH = ("-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set confirm off", "-iex", "set width 0")


class DebuggedGuest:
    """A host that waits for a debugger, or has one."""

    def __init__(
        self, command: Sequence[str | Path], path: Path, output: IO[str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self.path = path
        self.process = subprocess.Popen(
            [*map(str, command)],
            stdin=subprocess.PIPE,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=path.parent,
            preexec_fn=before,
        )

    def __enter__(self) -> DebuggedGuest:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def wait_until_it_listens(self) -> str:
        """Return the line that says where."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "waiting for a debugger at" in line:
                return line
        raise AssertionError(f"the host ended with {self.process.wait()}")

    def end(self, text: str | None = None) -> tuple[int, str, str]:
        """Wait for the guest; return its status, output and errors. text: for its standard input."""
        output, errors = self.process.communicate(text, timeout=TIMEOUT)
        return self.process.returncode, output, errors


@dataclass(frozen=True)
class Session:
    """How gdb and the guest ended."""

    said: str
    status: int
    output: str
    errors: str

    def has(self, *patterns: str) -> None:
        """The patterns are found in what gdb said, one behind the other."""
        at = 0
        for pattern in patterns:
            found = re.compile(pattern, re.MULTILINE).search(self.said, at)
            assert found, f"no {pattern!r} in what is left:\n{self.said[at:]}"
            at = found.end()


def gdb(commands: Sequence[str], *options: str | Path) -> str:
    """Return what gdb says to these commands."""
    words = [need("gdb-multiarch"), *BATCH, *map(str, options)]
    for command in commands:
        words += ["-ex", command]
    result = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT
    )
    return re.sub("^(Reading|warning: File transfers) .*\n", "", result.stdout, flags=re.MULTILINE)


def debug(folder: Path, command: Sequence[str | Path], *commands: str, option: str = "--gdb") -> Session:
    """Run a host's command line (with options of the host) until both sides have ended."""
    need("gdb-multiarch")
    path = folder / "socket"
    with DebuggedGuest([command[0], option, path, *command[1:]], path) as guest:
        guest.wait_until_it_listens()
        said = gdb([f"target remote {path}", *commands])
        return Session(said, *guest.end())


class Client:
    """Speaks packets with a host."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(str(path))
        self.rest = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.socket.close()

    def send_raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send(self, payload: bytes) -> None:
        self.send_raw(b"$" + payload + f"#{sum(payload) & 255:02x}".encode())

    def receive(self) -> bytes | None:
        """Return the next packet's payload, or None at the end; acknowledgements are skipped."""
        while not (found := re.search(rb"\$([^#]*)#[0-9a-f]{2}", self.rest, re.DOTALL)):
            data = self.socket.recv(65536)
            if not data:
                return None
            self.rest += data
        self.rest = self.rest[found.end() :]
        return found[1]

    def ask(self, payload: bytes) -> bytes:
        """Send a packet and return its answer."""
        self.send(payload)
        answer = self.receive()
        assert answer is not None, payload
        with contextlib.suppress(OSError):  # the guest may have ended
            self.send_raw(b"+")
        return answer

    def read_to_the_end(self) -> None:
        """Throw away what comes, until the host closes the connection."""
        with contextlib.suppress(OSError):
            while self.socket.recv(65536):
                pass
