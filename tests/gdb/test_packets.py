"""Packets of the remote serial protocol, also such as no debugger sends: the host answers, and never crashes."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gdb.debugger import TIMEOUT, Client, DebuggedGuest
from tests.support.commandline import mipsrec
from tests.support.compiled import BARE, ORDERS, compile_guest
from tests.support.hosts import plain_host, sanitized_host

ASSEMBLY = """
    .set noreorder
    .text
    .globl __start
__start:
    li $t0, 7
    lui $t1, %hi(data)
    addiu $t1, $t1, %lo(data)
again:
    addiu $t0, $t0, -1
    bnez $t0, again
    sw $t0, 0($t1)
    lw $t2, 0($t1)
    li $a0, 9
    li $v0, 4001
    syscall
    .data
    .globl data
data: .word 0x11223344
"""
MIPS16 = """
    .text
    .globl __start
    .set mips16
    .ent __start
__start:
    li $4, 1
    li $4, 2
again:
    li $4, 3
    li $5, 0
    sw $5, 8($29)
    b again
    .end __start
"""
MIPS16_ACCESSES = """
    .text
    .set mips16
    .set noreorder
    .ent leaf
leaf:
    jr $31
    lw $3, 16($29)
    .end leaf
    .globl __start
    .ent __start
__start:
    save $4, 32, $16, $31
    lw $2, 2f
    jal leaf
    sw $2, 20($29)
    lw $6, 1f
    jalr $6
    lw $2, 3f
    restore 32, $16, $31
    b __start
    .align 2
1:  .word leaf
2:  .word 4001
3:  .word 7
    .end __start
"""
PC, T0, F0, FCSR = 37, 8, 38, 70


class Debugged:
    """A guest that has stopped before its first instruction, and a client that it obeys."""

    def __init__(self, host: Path, order: str, folder: Path, source: str = ASSEMBLY) -> None:
        self.order = order
        self.program = compile_guest(folder, order, source, *BARE, language="assembler")
        path = folder / "socket"
        self.guest = DebuggedGuest([host, "--gdb", path, self.program], path)
        self.line = self.guest.wait_until_it_listens()
        self.mode = stat.S_IMODE(path.stat().st_mode)
        self.client = Client(path)

    def number(self, answer: bytes) -> int:
        """Return a register's value, which comes in the guest's byte order."""
        return int.from_bytes(bytes.fromhex(answer.decode()), "little" if self.order == "little" else "big")

    def word(self, value: int) -> bytes:
        return value.to_bytes(4, "little" if self.order == "little" else "big").hex().encode()

    def register(self, number: int) -> int:
        return self.number(self.client.ask(b"p%x" % number))

    def close(self) -> None:
        self.client.__exit__(None, None, None)
        self.guest.__exit__(None, None, None)


@pytest.fixture(params=ORDERS)
def debugged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Debugged]:
    result = Debugged(plain_host(), request.param, tmp_path)
    yield result
    result.close()


def test_steps_and_branches(debugged: Debugged) -> None:
    """By the manual: a branch and its slot are one instruction more for who looks at the pc."""
    ask = debugged.client.ask
    start = debugged.register(PC)
    assert ask(b"?").startswith(b"T05")
    places = []
    for _ in range(6):
        assert ask(b"s").startswith(b"T05")
        places.append(debugged.register(PC) - start)
    assert places == [4, 8, 12, 16, 12, 16]
    assert debugged.register(T0) == 5
    assert ask(b"vCont;s:%x" % debugged.guest.process.pid).startswith(b"T05")
    assert debugged.register(PC) - start == 12


def test_breakpoints_and_watchpoints(debugged: Debugged) -> None:
    """A watchpoint stops before the access, at the branch when that is in the delay slot, and tells the address."""
    ask = debugged.client.ask
    start = debugged.register(PC)
    assert ask(b"s").startswith(b"T05") and ask(b"s") and ask(b"s")
    data = debugged.register(T0 + 1)
    assert ask(b"Z2,%x,1" % (data + 3)) == b"OK"
    answer = ask(b"c")
    assert b"watch:%x;" % (data + 3) in answer and debugged.register(PC) == start + 16
    assert debugged.number(ask(b"m%x,4" % data)) == 0x11223344
    assert b"watch:%x;" % (data + 3) in ask(b"c")
    assert debugged.number(ask(b"m%x,4" % data)) == 6
    assert ask(b"z2,%x,1" % (data + 3)) == b"OK"
    assert ask(b"Z3,%x,4" % data) == b"OK" and ask(b"Z0,%x,4" % (start + 28)) == b"OK"
    assert b"rwatch:%x;" % data in ask(b"c") and debugged.register(PC) == start + 24
    assert ask(b"c").startswith(b"T05") and debugged.register(PC) == start + 28
    assert ask(b"c") == b"W09"


@pytest.mark.parametrize("order", ORDERS)
def test_breakpoints_in_mips16_code(tmp_path: Path, order: str) -> None:
    """gdb sets them at odd addresses and removes them at even ones."""
    debugged = Debugged(plain_host(), order, tmp_path, MIPS16)
    ask, start = debugged.client.ask, debugged.register(PC)
    assert start & 1
    assert ask(b"Z0,%x,2" % (start + 2)) == b"OK" and ask(b"Z0,%x,2" % (start + 3)) == b"OK"
    assert ask(b"c").startswith(b"T05") and debugged.register(PC) == start + 2
    assert ask(b"c").startswith(b"T05") and debugged.register(PC) == start + 4
    assert ask(b"z0,%x,2" % (start + 3)) == b"OK" and ask(b"Z0,%x,2" % (start + 6)) == b"OK"
    assert ask(b"c").startswith(b"T05") and debugged.register(PC) == start + 6
    assert ask(b"c").startswith(b"T05") and debugged.register(PC) == start + 6
    data = debugged.register(29) + 8
    assert ask(b"Z2,%x,4" % data) == b"OK"
    assert b"watch:%x;" % data in ask(b"c") and debugged.register(PC) == start + 8
    debugged.close()


@pytest.mark.parametrize("order", ORDERS)
def test_accesses_of_mips16_code(tmp_path: Path, order: str) -> None:
    """By the manual, volume IV-a: SAVE, RESTORE, LW (PC-relative), and what is in the slots of JAL, JALR and JR."""
    debugged = Debugged(plain_host(), order, tmp_path, MIPS16_ACCESSES)
    ask, start, sp = debugged.client.ask, debugged.register(PC), debugged.register(29)
    leaf, words = start - 4, start - 1 + 24

    def stops(kind: int, address: int, expected_pc: int, size_bytes: int = 4) -> bool:
        """Return whether a watchpoint stops where an access is, and tells where."""
        name = {2: b"watch", 3: b"rwatch", 4: b"awatch"}[kind]
        assert ask(b"Z%d,%x,%x" % (kind, address, size_bytes)) == b"OK"
        answer = ask(b"c")
        assert ask(b"z%d,%x,%x" % (kind, address, size_bytes)) == b"OK"
        return b"%s:%x;" % (name, address) in answer and debugged.register(PC) == expected_pc

    assert stops(2, sp, start) and stops(3, words + 4, start + 4) and stops(2, sp - 12, start + 6)
    assert stops(4, sp - 16, leaf)
    assert stops(3, words, start + 12) and stops(3, words + 8, start + 14) and stops(3, sp - 16, leaf)
    assert stops(3, sp - 8, start + 18) and stops(2, sp - 8, start)
    assert stops(3, sp - 1, start + 18, 1) and stops(4, sp - 4, start)
    debugged.close()


def test_registers_and_memory_are_written(debugged: Debugged) -> None:
    ask, word = debugged.client.ask, debugged.word
    all_registers = ask(b"g")
    assert len(all_registers) == 80 * 8
    assert ask(b"P%x=" % T0 + word(0x12345678)) == b"OK" and debugged.register(T0) == 0x12345678
    assert ask(b"P0=" + word(1)) == b"OK" and debugged.register(0) == 0
    assert ask(b"P%x=" % (F0 + 1) + word(0x40000000)) == b"OK" and debugged.register(F0 + 1) == 0x40000000
    assert ask(b"P%x=" % FCSR + word(0x00800001)) == b"OK" and debugged.register(FCSR) == 0x00800001
    assert ask(b"G" + all_registers) == b"OK" and ask(b"g") == all_registers
    code = debugged.register(PC)
    before = ask(b"m%x,8" % code)
    assert ask(b"X%x,4:" % code + b"}\x03}\x04}\x05}\x0a") == b"OK" and ask(b"m%x,4" % code) == b"2324252a"
    assert ask(b"M%x,8:" % code + before) == b"OK" and ask(b"m%x,8" % code) == before
    assert ask(b"m0,4") == b"E0e" and ask(b"M0,1:00") == b"E0e" and ask(b"mffffffff,4") == b"E0e"


def test_the_socket_is_for_its_owner(debugged: Debugged) -> None:
    assert debugged.mode == 0o600
    assert debugged.client.ask(b"qAttached") == b"0"
    assert not (debugged.guest.path).exists()
    assert "debugger at" in debugged.line


MALFORMED = (
    b"", b"m", b"m,", b"m0", b"m0,", b"mzz,4", b"m0,ffffffffffffffff", b"m11111111111111111,1", b"M", b"M0", b"M0,4",
    b"M0,4:1", b"M0,ffffffff:00", b"X0,1:", b"X0,ffffffffffffffff:}", b"X0,1:}", b"p", b"p50", b"pffffffff", b"P",
    b"P0", b"P49=0", b"P8=1", b"P8=zz", b"G", b"G1", b"Gxx", b"H", b"Hg", b"Hgffffff", b"Hx0", b"Hgp1.1", b"Hg-2", b"T",
    b"T0", b"Tp", b"Tffffffffffffffff", b"Z", b"Z0", b"Z0,", b"Z0,0", b"Z9,0,4", b"Z2,0,0", b"Z2,ffffffff,ffffffff",
    b"Z2,ffffffff,2", b"z0,0,4", b"z2,5,4", b"vCont", b"vCont;", b"vCont;x", b"vCont;c:", b"vCont;c:zz", b"vCont;C",
    b"vCont;s:p1.1", b"vCont;t", b"qXfer", b"qXfer:", b"qXfer:features:read:", b"qXfer:features:read:target.xml:",
    b"qXfer:features:read:target.xml:0", b"qXfer:features:read:none:0,10", b"qXfer:auxv:read::ffffffffffffffff,1",
    b"qXfer:auxv:read::0,ffffffffffffffff", b"qXfer:auxv:write::0:", b"qXfer:siginfo:read::0,80", b"qThreadExtraInfo,",
    b"qThreadExtraInfo,0", b"vFile", b"vFile:", b"vFile:open:", b"vFile:open:zz,0,0", b"vFile:open:2f,1,0",
    b"vFile:open:" + b"41" * 5000 + b",0,0", b"vFile:open:0041,0,0", b"vFile:open:2f00,0,0", b"vFile:pread:0,1,0",
    b"vFile:pread:ffffffffffffffff,1,0", b"vFile:close:-1", b"vFile:fstat:99", b"vFile:readlink:", b"QPassSignals:zz",
    b"QPassSignals:ffffffffffffffff;;", b"qMemoryRegionInfo:", b"qMemoryRegionInfo:100000000",
    b"qSupported:" + b";" * 9000, b"s" * 20000, b"\x00\xff}}}***", b"D1", b"k1", b"?x", b"c" * 3,
)  # fmt: skip
"""None of these lets the guest go on: a thread, an order or a number is wrong."""


def is_error_or_empty(answer: bytes) -> bool:
    return answer == b"" or re.fullmatch(rb"E[0-9a-f]{2}|F-1,[0-9a-f]+|OK|l", answer) is not None


def test_malformed_packets(tmp_path: Path) -> None:
    for order in ORDERS:
        folder = tmp_path / order
        folder.mkdir()
        debugged = Debugged(sanitized_host(), order, folder)
        try:
            start = debugged.register(PC)
            for packet in MALFORMED:
                if packet[:1] not in (b"s", b"c"):
                    answer = debugged.client.ask(packet)
                    assert is_error_or_empty(answer) or packet.startswith((b"q", b"G")), (packet, answer)
            assert debugged.register(PC) == start
            assert debugged.client.ask(b"c") == b"W09"
            assert debugged.guest.end()[0] == 9
        finally:
            debugged.close()


def random_packet(dice: random.Random) -> bytes:
    packet = bytearray(dice.choice([packet for packet in MALFORMED if packet[:1] not in (b"c", b"s")]))
    for _ in range(dice.randrange(4)):
        at = dice.randrange(len(packet) + 1)
        packet[at:at] = dice.choice((b"0", b",", b";", b":", b"=", b"f", b"}", bytes([dice.randrange(256)])))
    return bytes(byte for byte in packet if byte not in b"$#")


@contextlib.contextmanager
def surviving(seed: int, parent: Path) -> Iterator[tuple[Debugged, random.Random]]:
    """Give a guest of the sanitized host, and dice for what it is sent.

    The host then ends as the guest does, perhaps of a signal that the client sent; no sanitizer has found anything.
    """
    dice = random.Random(seed)
    folder = parent / str(seed)
    folder.mkdir()
    debugged = Debugged(sanitized_host(), dice.choice(list(ORDERS)), folder)
    try:
        yield debugged, dice
        debugged.client.socket.close()
        status, _, errors = debugged.guest.end()
        assert status == 9 or status < 0, (status, errors)
        assert "Sanitizer" not in errors and "internal error" not in errors, errors
    finally:
        debugged.close()


def test_random_packets(tmp_path: Path) -> None:
    for seed in range(6):
        with surviving(seed, tmp_path) as (debugged, dice):
            reader = threading.Thread(target=debugged.client.read_to_the_end)
            reader.start()
            with contextlib.suppress(OSError):  # a packet may have ended the guest
                for _ in range(400):
                    debugged.client.send(random_packet(dice))
                debugged.client.socket.shutdown(socket.SHUT_WR)
            reader.join(TIMEOUT)


def test_random_bytes(tmp_path: Path) -> None:
    for seed in range(6):
        with surviving(seed, tmp_path) as (debugged, dice):
            begin = dice.choice((b"", b"$", b"$$#", b"+-+-", b"$m0,4#0"))
            debugged.client.send_raw(begin + dice.randbytes(40000))
            debugged.client.socket.shutdown(socket.SHUT_WR)
            debugged.client.read_to_the_end()


def test_checksums_and_acknowledgements(debugged: Debugged) -> None:
    client = debugged.client
    client.send_raw(b"$?#00")
    assert client.socket.recv(1) == b"-"
    client.send_raw(b"junk$?#3f")
    answer = client.receive()
    assert answer is not None and answer.startswith(b"T05")
    client.send_raw(b"-")
    assert client.receive() == answer
    assert client.ask(b"QStartNoAckMode") == b"OK"
    client.send_raw(b"$?#00")
    assert client.receive() == answer


def test_the_client_goes_away(debugged: Debugged) -> None:
    """The guest runs on alone, as after detaching."""
    debugged.client.socket.close()
    assert debugged.guest.end()[0] == 9


def test_passed_signals_and_interrupts_while_stopped(debugged: Debugged) -> None:
    debugged.client.send_raw(b"\x03\x03")
    assert debugged.client.ask(b"QPassSignals:e;14") == b"OK"
    assert debugged.client.ask(b"qC").startswith(b"QC%x" % debugged.guest.process.pid)
    assert debugged.client.ask(b"vCont?") == b"vCont;c;C;s;S;t"
    assert debugged.client.ask(b"vCont;c") == b"W09"


def test_files_of_the_guest(debugged: Debugged, tmp_path: Path) -> None:
    ask = debugged.client.ask
    text = bytes(range(256)) * 100
    (tmp_path / "file").write_bytes(text)
    (tmp_path / "link").symlink_to("file")

    def name(path: Path) -> bytes:
        return str(path).encode().hex().encode()

    assert ask(b"vFile:setfs:0") == b"F0"
    assert ask(b"vFile:open:%b,0,0" % name(tmp_path / "missing")) == b"F-1,2"
    assert ask(b"vFile:open:%b,601,1b6" % name(tmp_path / "new")) == b"F-1,d"
    assert ask(b"vFile:open:%b,0,0" % name(tmp_path)) == b"F-1,d"
    assert ask(b"vFile:open:%b,0,0" % name(tmp_path / "file")) == b"F0"
    assert ask(b"vFile:readlink:%b" % name(tmp_path / "link")) == b"F4;file"
    got = b""
    while piece := unescape(ask(b"vFile:pread:0,2000,%x" % len(got)).split(b";", 1)[1]):
        got += piece
    assert got == text
    status = unescape(ask(b"vFile:fstat:0").split(b";", 1)[1])
    assert len(status) == 64 and int.from_bytes(status[28:36], "big") == len(text)
    assert ask(b"vFile:close:0") == b"F0" and ask(b"vFile:close:0") == b"F-1,9"


def unescape(text: bytes) -> bytes:
    return re.sub(rb"}(.)", lambda found: bytes([found[1][0] ^ 0x20]), text, flags=re.DOTALL)


# ---- the options ----


def test_contradicting_options(host: Path, tmp_path: Path) -> None:
    guest = compile_guest(tmp_path, "big", ASSEMBLY, *BARE, language="assembler")
    for words in ("--tier auto", "--gdb-on-crash 1", "--call 0"):
        command = [host, "--gdb", "0", *words.split(), guest]
        result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        assert result.returncode == 2 and result.stderr.count("\n") == 1, result
    result = mipsrec("run", "--gdb", "0", "--tier", "baseline", guest)
    assert result.returncode == 2 and "--tier baseline contradicts it" in result.stderr, result
    path = tmp_path / "taken"
    path.touch()
    result = subprocess.run([host, "--gdb", path, guest], capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 1 and "Address already in use" in result.stderr, result


def _listeners(port: int) -> list[str]:
    """Return the addresses at which sockets listen at a port, as the kernel writes them."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return [line[1].partition(":")[0] for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "0A"]


def test_a_port(host: Path, tmp_path: Path) -> None:
    """Port 0 is a free one, which a line names. No other machine can reach it."""
    guest = compile_guest(tmp_path, "little", ASSEMBLY, *BARE, language="assembler")
    with DebuggedGuest([host, "--gdb", "0", guest], tmp_path) as debugged:
        found = re.search(r"at 127\.0\.0\.1:(\d+)$", debugged.wait_until_it_listens())
        assert found
        assert _listeners(int(found[1])) == ["0100007F"]  # 127.0.0.1
        with socket.create_connection(("127.0.0.1", int(found[1])), TIMEOUT) as client:
            client.sendall(b"$c#63")
            answer = b""
            while data := client.recv(1000):
                answer += data
        assert answer.startswith(b"+$W09#") and debugged.end()[0] == 9
