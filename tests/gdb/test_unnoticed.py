"""Guests notice nothing of a debugger that interrupts them at random, steps, looks, and hands on all their signals."""

from __future__ import annotations

import random
import re
import select
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gdb.debugger import TIMEOUT, Client, DebuggedGuest
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host
from tests.support.paths import GUESTS
from tests.support.sampling import sampled
from tests.support.tools import need

TRAP, INTERRUPT = 5, 2  # how steps and interrupts are told; the guest's own SIGTRAP is not asked about


class Impatient(Client):
    """A client that does not wait long for the guest to stop."""

    def receive_or_interrupt(self, dice: random.Random) -> bytes | None:
        interrupted = False
        while not (found := re.search(rb"\$([^#]*)#[0-9a-f]{2}", self.rest, re.DOTALL)):
            if select.select([self.socket], [], [], dice.choice((0.001, 0.01, 0.05)))[0]:
                data = self.socket.recv(65536)
                if not data:
                    return None
                self.rest += data
            elif not interrupted:
                self.send_raw(b"\x03")
                interrupted = True
        self.rest = self.rest[found.end() :]
        return found[1]


def order_after(reply: bytes, dice: random.Random) -> bytes:
    """Return an order that hands the signal on, and perhaps lets the thread step into its handler."""
    number = int(reply[1:3], 16)
    thread = re.search(rb"thread:([0-9a-f]+)", reply)
    assert thread is not None
    letter = dice.choice(("s", "c", "c"))
    if number in (TRAP, INTERRUPT):
        return b"vCont;%b:%b;c" % (letter.encode(), thread[1])
    return b"vCont;%b%02x:%b;c" % (letter.upper().encode(), number, thread[1])


def disturb(client: Impatient, dice: random.Random) -> int:
    """Let the guest run to its end, with stops; return how many."""
    assert client.ask(b"QStartNoAckMode") == b"OK" and client.ask(b"QPassSignals:%x" % TRAP) == b"OK"
    order = b"vCont;c"
    for stops in range(1_000_000):
        client.send(order)
        reply = client.receive_or_interrupt(dice)
        if reply is None or reply[:1] in b"WX":
            return stops
        if dice.random() < 0.3:
            assert len(client.ask(b"g")) == 80 * 8 and client.ask(b"qfThreadInfo").startswith(b"m")
        order = order_after(reply, dice)
    raise AssertionError("it does not end")


def disturbed(host: Path, guest: Path, folder: Path, *words: str) -> tuple[int, str, str]:
    path, output = folder / "socket", folder / "output"
    with output.open("w") as stream, DebuggedGuest([host, "--gdb", path, guest, *words], path, stream) as debugged:
        debugged.wait_until_it_listens()
        assert debugged.process.stdin is not None
        debugged.process.stdin.close()
        debugged.process.stdin = None
        with Impatient(path) as client:
            disturb(client, random.Random(f"{guest.name} {words}"))
        status, _, errors = debugged.end()
        return status, output.read_text(), errors


def undisturbed(host: Path, guest: Path, folder: Path, *words: str) -> tuple[int, str, str]:
    result = subprocess.run(
        [host, "--tier", "interp", guest, *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, cwd=folder,
    )  # fmt: skip
    return result.returncode, result.stdout, result.stderr


@pytest.fixture(scope="module", params=ORDERS)
def guest_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compile a program of tests/guests."""

    def compile_one(name: str) -> Path:
        triple = ORDERS[request.param]
        program = tmp_path_factory.mktemp(name) / name
        sources = [GUESTS / "threads.c", GUESTS / "threads_ends.c"] if name == "threads" else [GUESTS / f"{name}.c"]
        options = ("-w", "-O1", "-D_GNU_SOURCE", "-static", "-pthread", "-latomic")
        subprocess.run([need(f"{triple}-gcc", f"gcc-{triple}"), *sources, "-o", program, *options], check=True)
        return program

    return compile_one


@pytest.mark.parametrize(
    ("name", "words"),
    sampled([("signals", ""), ("realtime", "threads"), ("realtime", "blocked"), ("threads", "cancels"),
             ("threads", "spawns"), ("threads", "exit"), ("threads", "signals"), ("processes", "")]),
)  # fmt: skip
def test_unnoticed(host: Path, guest_of: Callable[[str], Path], tmp_path: Path, name: str, words: str) -> None:
    guest = guest_of(name)
    assert disturbed(host, guest, tmp_path, *words.split()) == undisturbed(host, guest, tmp_path, *words.split())


def test_unnoticed_under_sanitizers(guest_of: Callable[[str], Path], tmp_path: Path) -> None:
    guest = guest_of("realtime")
    expected = undisturbed(sanitized_host(), guest, tmp_path, "threads")
    assert disturbed(sanitized_host(), guest, tmp_path, "threads") == expected
