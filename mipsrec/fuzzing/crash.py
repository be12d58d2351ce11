"""One input that crashes the target: which signal, what the host reports, and in which functions.

Enters: a target and a file. Leaves: a `Crash`, or None where the program does not crash. The functions are of gdb's
backtrace where gdb-multiarch is installed, else of pc and ra alone. The guest runs in the baseline tier, where
registers are exact.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from time import monotonic, sleep

from ..files.trusted_path import check_program
from ..host_build import host_executable
from .afl import Target
from .children import children, run

OUTSIDE = "outside all code"
"""What the key of a crash begins with where pc was in no code."""

TIER = "baseline"
RUN_SECONDS = 30
_DEBUGGER_SECONDS = 60
_MOST_FRAMES = 40
_FUNCTIONS_COMPARED = 5

_DEATH = re.compile(r"the guest dies of signal \d+ \((\S+)\) at pc (0x[0-9a-f]+)")
_PLACE = re.compile(r"(?m)^mipsrec-host: (that pc|ra) is (0x[0-9a-f]+)(?: <(.+?)\+0x[0-9a-f]+>)?")
_STACK_POINTER = re.compile(r"\bsp ([0-9a-f]{8})\b")
_FRAME = re.compile(r"(?m)^#\d+ +(?:(0x[0-9a-f]+) in )?(\S.*?) \(")

_ONLY_ENDS = re.compile(
    r"_*(?:GI_)*_*(?:raise|abort|gsignal|pthread_kill.*|libc_message.*|assert_fail.*|malloc_printerr|fortify_fail|"
    r"stack_chk_fail.*|chk_fail|kill|tgkill|libc_signal_.*|verbose_terminate_handler|terminate)"
)
"""Functions of C libraries by which a program ends itself: its own stand behind them in a backtrace."""


@dataclass(frozen=True)
class Place:
    """Where a crash was: by it, two crashes are known to be one without a backtrace.

    `pc` and `ra` are "" outside all code. Where both are, as behind an overwritten return address, the stack pointer
    tells one function from another; else it is "".
    """

    signal: str
    pc: str
    ra: str
    stack_pointer: str = ""


@dataclass(frozen=True)
class Crash:
    """What a run of the target has shown."""

    place: Place
    functions: tuple[str, ...]
    """From the innermost on, each once; outside all code only those that called, as far as they are known."""
    report: str
    backtrace: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What is the same for crashes of one group."""
        if not self.place.pc:  # where it jumped to decides whether it is SIGSEGV, SIGBUS or SIGILL
            return (OUTSIDE, self.place.stack_pointer, *self.functions[:_FUNCTIONS_COMPARED])
        return (self.place.signal, *self.functions[:_FUNCTIONS_COMPARED])

    @property
    def function(self) -> str:
        """Return the function that is named first: none of those that only end the program."""
        own = (name for name in self.functions if not _ONLY_ENDS.fullmatch(name))
        return next(own, self.functions[0] if self.functions else "outside_code")


def host_words(target: Target) -> list[str]:
    """Return the host's options to show a crash; `mipsrec run` takes the same."""
    words = ["--check-memory"] if target.checks_memory else []
    words += ["--desock", target.desock] if target.desock is not None else []
    words += ["--sysroot", target.sysroot] if target.sysroot is not None else []
    return ["--tier", TIER, "--report", *words]


def seen_again(target: Target, path: Path, folder: Path) -> Crash | None:
    """Run an input; return its crash, or None where it does not crash, or takes longer than RUN_SECONDS.

    `folder` is for files of this function.
    """
    host, log = str(host_executable()), folder / "log"
    check_program(host)
    log.unlink(missing_ok=True)
    with ExitStack() as files:
        given = files.enter_context(path.open("rb")) if not target.reads_file else DEVNULL
        words = [host, "--log", str(log), *host_words(target), *target.words(path)]
        status = run(words, RUN_SECONDS, given=given)
    if status is None or status >= 0:
        return None
    report = log.read_text(errors="replace") if log.exists() else ""
    return _read_report(report, status)


def _read_report(report: str, status: int) -> Crash:
    """Return the crash of a report; where the host was ended before it could write one, the signal is all."""
    deaths = list(_DEATH.finditer(report))
    if not deaths:
        return Crash(Place(signal.Signals(-status).name, "", ""), (), report)
    last = report[deaths[-1].start() :]
    places = {what: (name or address, address) for what, address, name in _PLACE.findall(last)}
    functions = tuple(dict.fromkeys(places[what][0] for what in ("that pc", "ra") if what in places))
    pointer = _STACK_POINTER.search(last)
    pc, ra = (places.get(what, ("", ""))[1] for what in ("that pc", "ra"))
    place = Place(deaths[-1][1], pc, ra, pointer[1] if pointer and not functions else "")
    return Crash(place, functions, report)


def with_backtrace(crash: Crash, target: Target, path: Path, folder: Path) -> Crash:
    """Return the crash with gdb's backtrace of it; as it is where there is no gdb-multiarch, or it finds nothing."""
    gdb = shutil.which("gdb-multiarch")
    if gdb is None or not crash.functions:
        return crash
    text = _backtrace(gdb, target, path, folder)
    found = [(address, name) for address, name in _FRAME.findall(text) if not name.startswith("<")]
    if not crash.place.pc:
        found = found[1:]
    functions = tuple(dict.fromkeys(name if name != "??" else address for address, name in found))
    return Crash(crash.place, functions or crash.functions, crash.report, text)


def _backtrace(gdb: str, target: Target, path: Path, folder: Path) -> str:
    """Return gdb's backtrace where an input ends the program; "" where it is not to be had."""
    socket, said = folder / "socket", folder / "backtrace"
    socket.unlink(missing_ok=True)
    with ExitStack() as files:
        given = files.enter_context(path.open("rb")) if not target.reads_file else DEVNULL
        words = [str(host_executable()), "--log", "/dev/null", "--gdb-on-crash", str(socket), *host_words(target)]
        (process,) = files.enter_context(children([([*words, *target.words(path)], DEVNULL)], given))
        deadline = monotonic() + RUN_SECONDS
        while not socket.exists():
            if process.poll() is not None or monotonic() > deadline:
                return ""
            sleep(0.02)
        output = files.enter_context(said.open("wb"))
        run(_gdb_words(gdb, socket), _DEBUGGER_SECONDS, output)
        with suppress(TimeoutExpired):
            process.wait(1)
    lines = said.read_text(errors="replace").splitlines()
    return "".join(f"{line}\n" for line in lines if re.match(r"#\d+ |Backtrace stopped|\(More stack", line))


def _gdb_words(gdb: str, socket: Path) -> Sequence[str]:
    """Return gdb's command line. It runs no scripts that the program or the folder brings, and asks no server."""
    first = ("set auto-load off", "set debuginfod enabled off", "set sysroot target:", "set width 0", "set height 0")
    then = (f"target remote {os.fspath(socket)}", f"backtrace {_MOST_FRAMES}", "kill")
    words = [gdb, "-nx", "-batch"]
    words += [word for command in first for word in ("-iex", command)]
    return [*words, *(word for command in then for word in ("-ex", command))]
