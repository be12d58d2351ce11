"""Runs commands of mipsrec in processes forked from one that has imported all of it, which saves most of their start.

Enters: words, a folder, an environment. Leaves: output and exit status, as `subprocess.run` returns them. Each command
still is a process of its own, and begins with modules that nothing has used. What Python itself reads at its start,
such as PYTHONPATH or LC_ALL, has no effect here.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.support.paths import ROOT

TIMEOUT_SECONDS = 600
_SIZE = 1 << 20
"""Bytes of the largest request."""


@functools.cache
def _forker(parent: int) -> socket.socket:
    """Return the socket of the forker that this process has: one for each, so that no two share its answers."""
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SIZE)
    words = [sys.executable, "-m", __name__, str(other.fileno())]
    subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[other.fileno()],
                     cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})  # fmt: skip
    other.close()
    return mine


def run(words: Sequence[str], cwd: str, environment: dict[str, str]) -> tuple[int, str, str]:
    """Return a command's exit status, negative for a signal, its standard output and its standard error."""
    pipes = [os.pipe() for _ in range(3)]
    request = json.dumps([list(words), cwd, environment]).encode(errors="surrogateescape")
    socket.send_fds(_forker(os.getpid()), [request], [write for _, write in pipes])
    for _, write in pipes:
        os.close(write)
    output, errors, end = _read_all([read for read, _ in pipes])
    return int(end.split()[1]), output.decode(), errors.decode()


def _read_all(pipes: list[int]) -> list[bytes]:
    """Return what comes out of pipes until all are closed; the last tells the process first, which TIMEOUT ends."""
    read: dict[int, bytes] = {pipe: b"" for pipe in pipes}
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(deadline - time.monotonic())
            if not ready:
                os.kill(int(read[pipes[-1]].split()[0]), signal.SIGKILL)
                raise subprocess.TimeoutExpired("mipsrec", TIMEOUT_SECONDS, *list(read.values())[:2])
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                read[key.fd] += data
                if not data:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return list(read.values())


def _import_all() -> None:
    """Import every module of the package that needs nothing which is installed for the purpose."""
    import mipsrec

    importlib.import_module("llvmlite.binding")
    for module in pkgutil.walk_packages(mipsrec.__path__, "mipsrec."):
        if module.name.split(".")[-1] not in ("__main__", "demo") and ".packaging" not in module.name:
            importlib.import_module(module.name)


def _serve(requests: socket.socket) -> list[str]:
    """Fork a process for each request; return in it, with the words of its command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait
    while True:
        request, pipes, _, _ = socket.recv_fds(requests, _SIZE, 3)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _begin(json.loads(request), pipes)
        for pipe in pipes:
            os.close(pipe)


def _begin(request: tuple[list[str], str, dict[str, str]], pipes: list[int]) -> list[str]:
    """Fork once more: this process waits for the command, and the other one becomes it and returns."""
    words, cwd, environment = request
    command = os.fork()
    if command:
        os.write(pipes[2], f"{command} ".encode())
        os.close(pipes[0])
        os.close(pipes[1])
        _, status = os.waitpid(command, 0)
        os.write(pipes[2], str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    os.dup2(pipes[0], 1)
    os.dup2(pipes[1], 2)
    for pipe in pipes:
        os.close(pipe)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    return words


if __name__ == "__main__":
    _import_all()
    chosen = _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.argv[:] = ["mipsrec", *chosen]
    from mipsrec.cli import main

    sys.exit(main())
