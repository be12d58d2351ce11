"""Whatever becomes of the compile server, guests run on, their results are right, and nobody is told more than a line.

No code is taken that another user could have put there.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mipsrec.server import protocol
from tests.server.serving import DEADLINE_SECONDS, ROUNDS, Serving, await_code, begin, compute, serving, stop
from tests.support.compiled import compile_guest
from tests.support.mounts import small
from tests.support.powers import need_to
from tests.support.sampling import ALL, sampled

EXPECTED = "36832b7c 0\n"
"""What ROUNDS prints; test_compile_server.py compares it with a native build."""
NOBODY = 65534
Guest = subprocess.Popen[str]


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("guest"), "little", ROUNDS, "-static")


@pytest.fixture
def server(host: Path, tmp_path: Path) -> Iterator[Serving]:
    with serving(host, tmp_path) as found:
        yield found


def run_beside(server: Serving, guest: Path, fault: Callable[[Guest], None]) -> str:
    """Run a guest while a fault happens; return what it said on standard error, without --stats."""
    process = begin([server.host, *server.words(), guest])
    fault(process)
    ended = stop(process)
    assert ended.output == EXPECTED
    assert ended.statistics.count("\n") <= 1, ended.statistics
    return ended.statistics


def is_served(server: Serving, guest: Path) -> bool:
    """Return whether a guest gets code; waits for it."""
    process = begin([server.host, "--stats", *server.words(), guest])
    await_code(process, guest)
    compute(process, 0.3)
    ended = stop(process)
    assert ended.output == EXPECTED
    return ended.recompiled_samples > 0


def address(server: Serving) -> str:
    return str(server.sockets()[0])


def connect(server: Serving) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(address(server))
    return connection


def test_killed_at_any_moment(server: Serving, guest: Path) -> None:
    """And again: whatever is left of it, the next one goes on, and no library is ever damaged."""
    moments = random.Random(1)

    def kill_often(process: Guest) -> None:
        for _ in range(8 if ALL else 5):
            compute(process, moments.uniform(0.05, 0.8))
            number = server.server()
            if number is not None:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            for path in (server.cache / "server").glob("*.start"):
                path.unlink(missing_ok=True)  # so that the next one begins at once

    run_beside(server, guest, kill_often)
    assert is_served(server, guest)


@pytest.mark.parametrize("limit", sampled(["ulimit -f 1", "ulimit -v 100000", "exit 1", "ulimit -n 8", "kill -9 $$"]))
def test_a_server_that_cannot_work(host: Path, tmp_path: Path, guest: Path, limit: str) -> None:
    """It may write only little, gets no memory, or dies before it listens."""
    begun = tmp_path / "begun"
    with serving(host, tmp_path, wrapper=("/bin/sh", "-c", f'echo >"$0"; {limit}; exec "$@"', str(begun))) as server:

        def let_it_fail(process: Guest) -> None:
            end = time.monotonic() + DEADLINE_SECONDS
            while not begun.exists():
                assert time.monotonic() < end
                time.sleep(0.02)
            compute(process, 0.5)

        run_beside(server, guest, let_it_fail)
        assert server.libraries() == []


def test_full_disk(host: Path, tmp_path: Path, guest: Path) -> None:
    need_to("mount file systems")
    with serving(host, tmp_path) as server:
        script = "\n".join([*small(server.cache, 1 << 18, True, "mode=0700"), 'exec "$@"'])
        words = [str(word) for word in [host, *server.words(), guest]]
        process = begin(["unshare", "-m", "sh", "-ec", script, "sh", *words])
        compute(process, 1)
        ended = stop(process)
        assert (ended.output, ended.statistics) == (EXPECTED, "")


def test_socket_is_gone(server: Serving, guest: Path) -> None:
    def remove(process: Guest) -> None:
        server.await_server()
        for path in server.sockets():
            path.unlink()
        compute(process, 0.5)

    run_beside(server, guest, remove)


def test_no_server_can_be_started(host: Path, tmp_path: Path, guest: Path) -> None:
    with serving(host, tmp_path) as server:
        words = ["--cache", server.cache, "--compile-server", "/nonexistent/server\nwith words"]
        process = begin([host, *words, guest])
        compute(process, 0.5)
        ended = stop(process)
        assert (ended.output, ended.statistics) == (EXPECTED, "")


GARBAGE = [
    b"", b"x", bytes(1172), os.urandom(1172), os.urandom(60_000), protocol.pack(protocol.Message(99, "", "", ())),
    protocol.pack(protocol.Message(protocol.HOT, "flat-direct-auto-native", "/x", ((4, 1),))),
    protocol.pack(protocol.Message(protocol.HOT, "../../x", "/x", ((4, 1),)))[:-3],
]  # fmt: skip


def test_garbage_on_the_socket(server: Serving, guest: Path) -> None:
    """Packets of nonsense, descriptors that are no programs, and many of them, do not stop the server."""
    process = begin([server.host, "--stats", *server.words(), guest])
    number = server.await_server()
    for packet in GARBAGE:
        with connect(server) as connection, suppress(OSError):
            connection.send(packet)
    hot = protocol.pack(protocol.Message(protocol.HOT, "flat-direct-auto-x86-64", "/x", ((0x400000, 1000),)))
    for name in ("/dev/zero", "/", "/proc/self/mem", sys.executable, __file__):
        handle = os.open(name, os.O_RDONLY)
        with connect(server) as connection, suppress(OSError):
            socket.send_fds(connection, [hot], [handle] * 3)
        with connect(server) as connection, suppress(OSError):
            socket.send_fds(connection, [hot], [handle])
        os.close(handle)
    await_code(process, guest)
    compute(process, 0.3)
    assert stop(process).recompiled_samples > 0
    assert server.server() == number
    assert len(os.listdir(f"/proc/{number}/fd")) < 20


def test_hundreds_of_clients(server: Serving, guest: Path) -> None:
    """Some of them connect and say nothing; a guest gets its code all the same."""
    process = begin([server.host, "--stats", *server.words(), guest])
    number = server.await_server()
    silent = []
    for _ in range(400):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.setblocking(False)
        with suppress(BlockingIOError):
            connection.connect(address(server))
        silent.append(connection)
    await_code(process, guest)
    compute(process, 0.3)
    ended = stop(process)
    for connection in silent:
        connection.close()
    assert ended.recompiled_samples > 0 and server.server() == number


def test_a_version_of_its_own(server: Serving, guest: Path) -> None:
    """A message of another version is refused, and the server goes on."""
    process = begin([server.host, *server.words(), guest])
    server.await_server()
    packet = bytearray(protocol.pack(protocol.Message(protocol.STOP, "", "", ())))
    packet[16:20] = b"0000"
    with connect(server) as connection:
        connection.settimeout(DEADLINE_SECONDS)
        connection.send(packet)
        assert connection.recv(100) == b""
    server.await_library()
    assert stop(process).output == EXPECTED


ASKS = """
import os, socket, sys
user, place, packet = sys.argv[1:]
os.setgid(int(user)); os.setuid(int(user))
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    connection.connect(place)
    connection.send(bytes.fromhex(packet))
    print(len(connection.recv(1 << 16)) > 0)
except (BrokenPipeError, ConnectionResetError):
    print(False)
"""


def test_another_user_is_not_heard(host: Path, guest: Path) -> None:
    """Not even where the permissions of the socket are lost."""
    need_to("become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, serving(host, Path(folder)) as server:
        process = begin([server.host, *server.words(), guest])
        server.await_server()
        for path in (Path(folder), server.cache, server.cache / "server", Path(address(server))):
            path.chmod(0o777)
        packet = protocol.pack(protocol.Message(protocol.STATUS, "", "", ())).hex()
        for user, is_heard in ((os.geteuid(), True), (NOBODY, False)):
            words = [sys.executable, "-I", "-c", ASKS, str(user), address(server), packet]
            asked = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=True)
            assert asked.stdout == f"{is_heard}\n"
        assert stop(process).output == EXPECTED


def test_another_users_socket(host: Path, guest: Path) -> None:
    """Who listens at the server's place but is another user is sent nothing."""
    need_to("become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, serving(host, Path(folder)) as server:
        process = begin([server.host, *server.words(), guest])
        server.await_server()
        stop(process)
        server.end()
        for path in (Path(folder), server.cache, server.cache / "server"):
            path.chmod(0o777)
        _run_beside_another_user(server, guest)


def _run_beside_another_user(server: Serving, guest: Path) -> None:
    script = (
        "import os, socket, sys\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "os.path.exists(sys.argv[1]) and os.unlink(sys.argv[1])\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); s.listen(8)\n"
        "print('listening', flush=True)\n"
        "while True:\n    c, _ = s.accept()\n    print(len(c.recv(100)), flush=True)\n"
    )
    words = [sys.executable, "-I", "-c", script, address(server)]
    listener = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert listener.stdout is not None and listener.stdout.readline() == "listening\n"
    for library in server.libraries():
        library.unlink()
    try:
        process = begin([server.host, *server.words(), guest])
        compute(process, 0.5)
        assert stop(process).output == EXPECTED
    finally:
        listener.kill()
    assert set(listener.communicate()[0].split()) <= {"0"}


@pytest.mark.parametrize("which", ["library", "folder", "cache"])
def test_code_that_others_can_write(host: Path, guest: Path, which: str) -> None:
    """In folders that others can enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, serving(host, Path(folder)) as server:
        assert is_served(server, guest)
        server.end()
        library = server.libraries()[0]
        for above in [one for one in library.parents if one.is_relative_to(folder)]:
            above.chmod(0o755)
        path = {"library": library, "folder": library.parent, "cache": server.cache}[which]
        path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o022)
        process = begin([server.host, "--stats", "--cache", server.cache, guest])
        ended = stop(process)
        assert ended.output == EXPECTED and "others can write it" in ended.statistics
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o022)
        process = begin([server.host, "--stats", "--cache", server.cache, guest])
        ended = stop(process)
        assert ended.output == EXPECTED and f"recompiled {guest}" in ended.statistics


def test_damaged_libraries(server: Serving, guest: Path) -> None:
    """They are not used, and made again."""
    assert is_served(server, guest)
    server.end()
    library = server.libraries()[0]
    data = bytearray(library.read_bytes())
    data[len(data) // 2] ^= 1
    library.unlink()
    library.write_bytes(data)
    library.chmod(0o600)
    (server.cache / "server").mkdir(exist_ok=True)
    for path in (server.cache / "server").glob("*.start"):
        path.unlink()
    process = begin([server.host, "--stats", *server.words(), guest])
    end = time.monotonic() + DEADLINE_SECONDS
    while library.read_bytes() == data:
        assert time.monotonic() < end, server.log()
        time.sleep(0.05)
    compute(process, 0.3)
    ended = stop(process)
    assert ended.output == EXPECTED and ended.bound >= 1 and "is damaged" in ended.statistics
