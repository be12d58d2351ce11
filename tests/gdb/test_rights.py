"""The debugger's thread has no more rights than the guest, which may give them up for a moment or for good."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.others import open_to_others
from tests.gdb.debugger import Client, DebuggedGuest
from tests.runtime.twins import compile_guest
from tests.support.compiled import compile_guest as compiled_guest
from tests.support.powers import NOBODY, only_who_may

pytestmark = [pytest.mark.sampled, only_who_may("become another user")]

USER = NOBODY - 10
ALL_SIGNALS = b"QPassSignals:" + b";".join(b"%x" % number for number in range(1, 150))
"""The guest's libc tells its other threads by a signal; the debugger is not to stop there."""
STAGES = ("for a moment", "as another", "back", "for good")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("rights"), "little", "rights_by_stages")


@pytest.fixture(params=["64", "0"])
def debugged(
    request: pytest.FixtureRequest, host: Path, program: Path, tmp_path: Path
) -> Iterator[tuple[DebuggedGuest, Client]]:
    """A guest that waits at its start, with few open files (none, as in a sandbox), and a client that it obeys."""
    path = tmp_path / "socket"
    with DebuggedGuest([host, "--gdb", path, program, str(USER), request.param], path) as guest:
        guest.wait_until_it_listens()
        with Client(path) as client:
            yield guest, client


def rights_of_threads(process: int) -> list[str]:
    """Return what each thread may, of the kernel."""
    found = []
    for status in sorted(Path(f"/proc/{process}/task").glob("*/status")):
        found.append("\n".join(re.findall(r"(?m)^(?:[UG]id|Groups|CapPrm|CapEff):.*$", status.read_text())))
    return found


def open_file(client: Client, path: Path) -> bytes:
    return client.ask(b"vFile:open:" + str(path).encode().hex().encode() + b",0,0")


def test_the_debugger_has_the_rights_of_the_guest(debugged: tuple[DebuggedGuest, Client], tmp_path: Path) -> None:
    guest, client = debugged
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    assert guest.process.stdin is not None and guest.process.stdout is not None
    assert re.fullmatch(rb"F[0-9a-f]+", open_file(client, secret))
    assert client.ask(ALL_SIGNALS) == b"OK"
    client.send(b"c")
    for stage in STAGES:
        assert guest.process.stdout.readline() == f"{stage}\n"
        threads = rights_of_threads(guest.process.pid)
        assert len(threads) >= 3 and len(set(threads)) == 1, (stage, threads)
        assert (str(USER) in threads[0]) == (stage in ("for a moment", "for good"))
        if stage != STAGES[-1]:
            guest.process.stdin.write("\n")
            guest.process.stdin.flush()
    client.send_raw(b"\x03")
    assert (client.receive() or b"").startswith(b"T02")
    assert open_file(client, secret) in (b"F-1,d", b"F-1,18")  # EACCES, or EMFILE
    client.send(b"D")
    assert client.receive() == b"OK"
    guest.process.stdin.write("\n")
    assert guest.end()[0] == 0


EXECUTES = r"""
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words)
{
    int user = count < 2 ? 0 : atoi(words[1]);
    if (count < 2)
        return 3;
    if (setresgid(user, user, user) || setresuid(user, user, user))
        return 1;
    execl(words[0], words[0], (char *)0);
    return 2;
}
"""


def test_a_program_of_another_user_gets_no_debugger(host: Path) -> None:
    """He could take the connection from it, and ask the debugger, which is the first user's, to write files."""
    with open_to_others() as folder:
        program, path = compiled_guest(folder, "little", EXECUTES, "-static"), folder / "socket"
        with DebuggedGuest([host, "--gdb", path, program, str(USER)], path) as guest:
            guest.wait_until_it_listens()
            with Client(path) as client:
                assert client.ask(ALL_SIGNALS) == b"OK"
                client.send(b"c")
                assert client.receive() is None
            assert guest.process.wait() == 3 and guest.process.stderr is not None
            assert "the program goes on without the debugger: it has another user now" in guest.process.stderr.read()
