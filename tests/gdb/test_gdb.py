"""gdb-multiarch as the debugger of guests: what its users do, in both byte orders."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.gdb.debugger import TIMEOUT, DebuggedGuest, Session, debug, gdb
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest
from tests.support.dynamic_guest import DynamicGuest, dynamic_guest
from tests.support.hosts import sanitized_host
from tests.support.paths import GUESTS
from tests.support.tools import need

SOURCE = (GUESTS / "debugged.c").read_text()


class Guests:
    """The same program static and dynamic, and the folder that has the dynamic one's libc."""

    def __init__(self, order: str, folder: Path) -> None:
        self.order = order
        options = ("-g", "-O1", "-pthread", "-fno-pie", "-no-pie")
        (folder / "static").mkdir()
        (folder / "dynamic").mkdir()
        self.static = compile_guest(folder / "static", order, SOURCE, *options, "-static")
        self.dynamic = compile_guest(folder / "dynamic", order, SOURCE, "-g", "-O1", "-pthread", "-fpie", "-pie")
        self.sysroot = Path("/usr") / ORDERS[order]


@pytest.fixture(scope="module", params=ORDERS)
def guests(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Guests:
    return Guests(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module", params=ORDERS)
def libraries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DynamicGuest:
    return dynamic_guest(request.param, tmp_path_factory.mktemp(request.param))


# ---- one thread ----


def test_breakpoints_frames_and_variables(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = debug(
        tmp_path, [host, guests.static, "sum"],
        "break add if b == 2", "continue", "backtrace", "print cell", "finish", "up", "info locals", "delete",
        "print sum(3)", "continue",
    )  # fmt: skip
    session.has(
        r"^0x\w+ in __start", r"Breakpoint 1, add \(a=1, b=.*2\)", r"^#0  add \(a=1", r"^#1 .* in sum \(count=.*5\)",
        r"^#2 .* in main \(count=", r"count = 3, ratio = 6\}", r"Value returned is \$2 = 3", r"^\$3 = 3$",
        r"exited with code 07",
    )  # fmt: skip
    assert (session.status, session.output) == (7, "sum 10\n"), session


def test_the_debugger_writes_what_the_guest_may_not(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = debug(
        tmp_path, [host, guests.static, "sum"],
        "break sum", "continue", "set var *(char *)greeting = 'J'", "print greeting", "print *(int *)4",
        "set var *(int *)sum = 0", "continue",
    )  # fmt: skip
    session.has(r'^\$1 = "Jello"$', r"Cannot access memory at address 0x4", "exited with code 07")


def test_watchpoints(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = debug(
        tmp_path, [host, guests.static, "sum"],
        "break sum", "continue", "watch turns", "continue", "continue", "delete", "rwatch cell.ratio", "continue",
        "print $_exitcode", "delete", "awatch cell.ratio", "continue", "continue", "delete", "continue",
    )  # fmt: skip
    session.has(
        r"^Hardware watchpoint 2: turns", r"Old value = 0\nNew value = 1\n.*\n.*", r"Old value = 1\nNew value = 4\n",
        r"read watchpoint 3: cell.ratio\n\nValue = 12$", r"Hardware access \(read/write\) watchpoint 4: cell.ratio",
        r"exited with code 07",
    )  # fmt: skip
    assert session.output == "sum 10\n"


STEPS = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    li $t0, 3
    mtc1 $t0, $f2
    cvt.d.w $f4, $f2
    add.d $f6, $f4, $f4
    c.lt.d $f4, $f6
    lui $t1, %hi(data)
    addiu $t1, $t1, %lo(data)
    lui $t8, 0x8000
again:
    sw $t0, 0($t1)
    lwl $t2, 1($t1)
    addiu $t0, $t0, -1
    mult $t0, $t8
    bnez $t0, again
    addiu $t3, $t3, 5
    bal after
    lw $t4, 0($t1)
after:
    bltzl $t0, after
    li $t5, 9
    mfhi $t6
    li $a0, 21
    li $v0, 4001
    syscall
    .end __start
    .data
    .globl data
data: .word 0x11223344
"""


def test_steps_as_qemu(host: Path, tmp_path: Path) -> None:
    """A branch and its delay slot are one step; registers after each are those of qemu's debugger."""
    names = [*(f"$r{number}" for number in range(1, 29)), "$r30", "$r31", "$hi", "$lo", "$pc", "$f2", "$f4", "$f6"]
    look = f'printf "{" ".join(["%x"] * len(names))} %x\\n", {", ".join(names).replace("$f", "(int)$f")}, *(int *)&data'
    commands = ["break *again", "continue", *[look, "stepi"] * 24]
    for order in ORDERS:
        folder = tmp_path / order
        folder.mkdir()
        guest = compile_guest(folder, order, STEPS, *BARE, "-mips32r2", language="assembler")
        session = debug(folder, [host, guest], *commands)
        expected = under_qemu(order, guest, folder, commands)
        assert len(rows_of(session.said)) >= 15 and rows_of(session.said) == rows_of(expected)
        assert session.status == 21


def rows_of(said: str) -> list[str]:
    return re.findall(r"^[0-9a-f]+(?: [0-9a-f]+){20,}$", said, re.MULTILINE)


def under_qemu(order: str, guest: Path, folder: Path, commands: list[str]) -> str:
    """Return what gdb says to the commands when qemu runs the guest."""
    path = folder / "qemu"
    with DebuggedGuest([need(QEMU[order], "qemu-user"), "-g", path, guest], path):
        while not path.exists():
            time.sleep(0.01)
        return gdb([f"file {guest}", f"target remote {path}", *commands])


def test_floating_point_registers_of_64_bits(host: Path, tmp_path: Path) -> None:
    source = """
    .set noreorder
    .text
    .globl __start
    __start: li $t0, -5
    mtc1 $t0, $f3
    cvt.d.w $f3, $f3
    add.d $f5, $f3, $f3
    cvt.w.d $f7, $f5
    mfc1 $a0, $f7
    li $v0, 4001
    syscall
    """
    for order in ORDERS:
        folder = tmp_path / order
        folder.mkdir()
        guest = compile_guest(folder, order, source, *BARE, "-mfp64", "-mips32r2", language="assembler")
        session = debug(
            folder, [host, guest], "stepi 3", "info registers f3", "set $f3 = 3.5", "stepi", "print $f5", "continue"
        )
        session.has(r"f3: +0xc014000000000000 .* dbl: -5", r"^\$1 = 7$")
        assert session.status == 7


# ---- dynamic programs ----


def test_dynamic_program_in_a_sysroot(host: Path, guests: Guests, tmp_path: Path) -> None:
    """The first stop is in ld.so; symbols of libraries come from the guest's files."""
    need(f"{guests.sysroot}/lib/ld.so.1", f"libc6-{ORDERS[guests.order].split('-')[0]}-cross")
    session = debug(
        tmp_path, [host, "-L", guests.sysroot, guests.dynamic, "sum"],
        "break add", "info symbol $pc", "continue", "info sharedlibrary", "info symbol printf", "info auxv",
        "info proc mappings", "delete", "break printf", "continue", "backtrace", "delete", "continue",
    )  # fmt: skip
    session.has(
        r"^\S+ in section .text of target:/lib/ld.so.1|^No symbol matches",
        r"Breakpoint 1(\.1)?, add \(a=0, b=.*0\)", r"Yes .*target:/lib/ld.so.1", r"Yes .*target:/lib/libc.so.6",
        r"printf in section .text of target:/lib/libc.so.6", r"AT_BASE .* 0x7", r"r-xp +/lib/libc.so.6",
        r"Breakpoint 2, .* in printf \(\) from target:/lib/libc.so.6", r" in main \(count=", "exited with code 07",
    )  # fmt: skip
    assert session.output == "sum 10\n"


def test_libraries_that_come_and_go(host: Path, libraries: DynamicGuest, tmp_path: Path) -> None:
    session = debug(
        tmp_path, [host, libraries.program, "plug", libraries.plug],
        "set breakpoint pending on", "break plug_in", "continue", "print plug_key", "backtrace 2",
        "info sharedlibrary plug", "delete", "continue",
    )  # fmt: skip
    session.has(
        r"Breakpoint 1, plug_in \(n=.*0\)", r"^\$1 = 6$", r"^#1 .* in plug_thrice", r"libplug.so", "exited with code 07"
    )
    session = debug(
        tmp_path, [host, libraries.program, "walk"],
        "set breakpoint pending on", "break two_step", "continue", "backtrace 3", "delete", "continue",
    )  # fmt: skip
    session.has(r"^#0  two_step \(n=.*0\)", r"^#1 .* in one_walk \(n=.*20\)", r"^#2 .* in own", "exited with code 07")


# ---- threads ----


@pytest.mark.parametrize("sanitized", [False, True])
def test_threads(host: Path, guests: Guests, tmp_path: Path, sanitized: bool) -> None:
    host = sanitized_host() if sanitized else host
    session = debug(
        tmp_path, [host, guests.static, "threads"],
        "break work", *["continue"] * 6, "info threads", "thread apply all backtrace 1", "set scheduler-locking on",
        "print number", "next", "stepi", "set scheduler-locking off", "thread 1", "delete", "continue",
    )  # fmt: skip
    hits = re.findall(r"^Thread (\d+) hit Breakpoint 1, work \(number=.*([0-2])\)", session.said, re.MULTILINE)
    assert sorted(number for _, number in hits) == ["0", "0", "1", "1", "2", "2"], session.said
    assert len({thread for thread, _ in hits}) == 3
    assert len(re.findall(r"^\*? +\d +Thread \d+\.\d+", session.said, re.MULTILINE)) >= 2
    session.has(r"^Thread 1 \(Thread", r"\[Switching to thread 1 ", "exited with code 07")
    assert (session.status, session.output) == (7, "turns 20202\n"), session


# ---- signals ----


def test_signals_before_the_guest_sees_them(host: Path, guests: Guests, tmp_path: Path) -> None:
    """The first one is suppressed, the second passed on, the third never shown."""
    session = debug(
        tmp_path, [host, guests.static, "signals"],
        "continue", "signal 0", "handle SIGUSR1 nostop noprint pass", "continue",
    )  # fmt: skip
    session.has(r"received signal SIGUSR1", r"received signal SIGUSR2", r"exited with code 07")
    assert session.output == "handled 0\nhandled 17\nhandled 33\n"


def test_signal_that_ends_the_guest(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = debug(
        tmp_path, [host, guests.static, "crash"],
        "continue", "backtrace", "print $_siginfo._sifields._sigfault.si_addr", "print/x $badvaddr", "continue",
    )  # fmt: skip
    session.has(
        r"received signal SIGSEGV", r"^#0  .*crash \(where=.*0x1234\)", r"^#1 .* in main", r"= \(void \*\) 0x1234",
        r"= 0x1234", r"terminated with signal SIGSEGV",
    )  # fmt: skip
    assert session.status == -signal.SIGSEGV
    mended = ("set var $pc = $ra", "set var $v0 = 5", "signal 0")
    session = debug(tmp_path, [host, guests.static, "crash"], "continue", *mended)
    assert session.status == 5


def test_signal_from_the_debugger(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = debug(tmp_path, [host, guests.static, "sum"], "break sum", "continue", "signal SIGTERM")
    session.has(r"terminated with signal SIGTERM")
    assert session.status == -signal.SIGTERM


# ---- interrupts ----

INTERRUPTED = """
import os, signal, threading, time
import gdb

def sleeps(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "S"

def interrupt(path, pid, blocked):
    while not os.path.getsize(path) or (blocked and not sleeps(pid)):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

def continue_until_interrupt(path, pid, blocked):
    threading.Thread(target=interrupt, args=(path, pid, blocked)).start()
    gdb.execute("continue")
"""


def interrupted(folder: Path, command: list[str | Path], text: str, *commands: str) -> Session:
    """Interrupt a guest once it has printed something, and waits if there is text for it to read; then the commands."""
    script, path, output = folder / "interrupt.py", folder / "socket", folder / "output"
    script.write_text(INTERRUPTED)
    with output.open("w") as stream, DebuggedGuest([command[0], "--gdb", path, *command[1:]], path, stream) as guest:
        guest.wait_until_it_listens()
        interrupt = f"python continue_until_interrupt('{output}', {guest.process.pid}, {text != ''})"
        said = gdb([f"target remote {path}", interrupt, *commands], "-x", script)
        status, _, errors = guest.end(text)
        return Session(said, status, output.read_text(), errors)


def test_interrupt_of_a_loop(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = interrupted(
        tmp_path, [host, guests.static, "spin"], "", "backtrace", "set var go_on = 1", "print turns > 0", "detach"
    )
    session.has(r"received signal SIGINT", r"#\d .*main \(count=", r"^\$1 = 1$", r"detached")
    assert (session.status, session.output) == (7, "spinning\ndone\n")


def test_interrupt_of_a_system_call(host: Path, guests: Guests, tmp_path: Path) -> None:
    """The debugger calls a function meanwhile; the system call goes on afterwards."""
    session = interrupted(
        tmp_path, [host, guests.static, "block"], "y", "backtrace", "info threads", "print add(20, 3)", "detach"
    )
    session.has(r"received signal SIGINT", r"^#0 .* read ", r"main \(count=", r"in a system call", r"^\$1 = 23$")
    assert (session.status, session.output) == (7, "reading\nread 1 y, turns 20\n")


# ---- processes ----


def test_children_are_not_debugged(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = debug(tmp_path, [host, guests.static, "forks"], "break sum", "continue")
    session.has("exited with code 07")
    assert session.output == "child 10\n"


def test_the_program_executes_another(host: Path, guests: Guests, tmp_path: Path) -> None:
    session = debug(
        tmp_path, [host, "-L", guests.sysroot, guests.static, "exec", guests.dynamic, "sum"],
        "catch exec", "continue", "info inferiors", "break add", "delete 1", "continue", "print b", "delete",
        "continue",
    )  # fmt: skip
    program = r"\S*/dynamic/guest"
    session.has(
        f"is executing new program: {program}", rf"\(exec'd {program}\)", f"target:{program}", r"add \(a=0, b=.*0\)",
        r"^\$1 = 0", "exited with code 07",
    )  # fmt: skip
    missing = [host, guests.static, "exec", tmp_path / "missing"]
    session = debug(tmp_path, missing, "break execv", "continue", "delete", "continue")
    session.has("exited with code 07")


def test_kill_and_detach(host: Path, guests: Guests, tmp_path: Path) -> None:
    assert debug(tmp_path, [host, guests.static, "sum"], "break add", "continue", "kill").status == -signal.SIGKILL
    session = debug(tmp_path, [host, guests.static, "sum"], "break add", "continue", "detach")
    assert (session.status, session.output) == (7, "sum 10\n")


# ---- crashes ----


@pytest.mark.parametrize("tier", ["interp", "baseline", "auto"])
def test_debugger_of_a_crash(host: Path, guests: Guests, tmp_path: Path, tier: str) -> None:
    command: list[str | Path] = [host, "--tier", tier, "--threshold", "1", guests.static]
    session = debug(
        tmp_path, [*command, "crash"], "backtrace", "print/x $badvaddr", "print/x $a0", "continue",
        option="--gdb-on-crash",
    )  # fmt: skip
    session.has(r"^#0  .*crash \(where=.*0x1234\)", r"^#1 .* in main", r"= 0x1234", r"= 0x1234", "terminated .*SEGV")
    assert session.status == -signal.SIGSEGV
    session = debug(tmp_path, [*command, "abort"], "backtrace", option="--gdb-on-crash")
    session.has(r" in abort \(\)", r" in main \(count=")
    assert session.status == -signal.SIGABRT


@pytest.mark.parametrize("tier", ["interp", "baseline"])
def test_threads_beside_a_crash(host: Path, guests: Guests, tmp_path: Path, tier: str) -> None:
    """They stop wherever they are, also in translated code."""
    command: list[str | Path] = [host, "--tier", tier, "--threshold", "1", guests.static, "busy"]
    session = debug(tmp_path, command, "thread apply all backtrace 2", "continue", option="--gdb-on-crash")
    assert len(re.findall(r"^#0  .*\bturn \(turned=", session.said, re.MULTILINE)) == 2, session.said
    session.has(r"terminated with signal SIGSEGV")
    assert session.status == -signal.SIGSEGV


def test_no_crash_needs_no_debugger(host: Path, guests: Guests, tmp_path: Path) -> None:
    command = [host, "--gdb-on-crash", tmp_path / "socket", guests.static, "signals"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert (result.returncode, result.stderr) == (7, "")
