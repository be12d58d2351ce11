"""`make fuzz-demo`: programs with one fault each, which `mipsrec fuzz` finds from an input of one byte.

The programs are tests/guests/seeded/*.c, static, in one byte order each. Prints a line for each: how long it took to
find the fault, by which signal the program ends, in which function, and by which signal a native build of the same
source ends with the same input. Exit status 1 where one was not found, or ended in another way.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.compiled import ORDERS
from tests.support.paths import GUESTS
from tests.support.tools import need, outside_pytest

SECONDS = 600
FLAGS = ("-O1", "-g", "-static", "-fno-stack-protector", "-Wall", "-Wextra", "-Wno-format-security")

ADDRESS = ("SIGSEGV", "SIGBUS")
"""Of an address that the input makes, MIPS has SIGBUS for the half of the kernel and for odd ones."""


@dataclass(frozen=True)
class Fault:
    """A program with a fault. `signals` are those that it may end by; natively it is the first of them."""

    name: str
    order: str
    reads_file: bool
    signals: tuple[str, ...] = ("SIGSEGV",)


FAULTS = (
    Fault("stack_overflow", "little", True, ADDRESS),
    Fault("heap_overflow", "big", False, ADDRESS),
    Fault("use_after_free", "little", False, ADDRESS),
    Fault("off_by_one", "big", True, ADDRESS),
    Fault("format_string", "little", True),
    Fault("integer_wrap", "big", True),
    Fault("magic_value", "little", True),
    Fault("checksum", "big", True, ("SIGABRT",)),
    Fault("state_machine", "little", False, ("SIGFPE",)),
    Fault("recursion", "big", False),
)
BY_NAME = {fault.name: fault for fault in FAULTS}


@dataclass(frozen=True)
class Found:
    """How a fault was found: seconds of the whole command, and of fuzzing; how the program ends, and a native build."""

    seconds: float
    fuzzing: str
    group: str
    guest: str
    native: str

    def is_right(self, fault: Fault) -> bool:
        return self.guest in fault.signals and self.native == fault.signals[0]


def ends_by(command: list[str | Path], fault: Fault, path: Path) -> str:
    """Return the signal that ends a program with an input, or its status."""
    with path.open("rb") as stream:
        words = [*command, path] if fault.reads_file else command
        status = subprocess.run(words, stdin=stream, capture_output=True, timeout=300).returncode
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def find(fault: Fault, folder: Path, *options: str) -> Found:
    """Return how a fault is found by one command; raises AssertionError where it is not."""
    source, guest, native = GUESTS / "seeded" / f"{fault.name}.c", folder / fault.name, folder / f"{fault.name}-native"
    triple = ORDERS[fault.order]
    for compiler, program in ((need(f"{triple}-gcc", f"gcc-{triple}"), guest), (need("gcc"), native)):
        subprocess.run([compiler, *FLAGS, source, "-o", program], check=True)
    findings = folder / f"{fault.name}-findings"
    words: list[str | Path] = [
        sys.executable,
        "-m",
        "mipsrec",
        "fuzz",
        guest,
        "-o",
        findings,
        "--until-crash",
        *options,
    ]
    began = time.monotonic()
    ended = subprocess.run([*words, *(("--", "@@") if fault.reads_file else ())], capture_output=True, text=True)
    seconds = time.monotonic() - began
    assert ended.returncode == 3, f"{fault.name}: {ended.stdout}{ended.stderr}"
    fuzzing, *groups = ended.stdout.splitlines()
    path = Path(groups[0].partition(": ")[0]) / "input"
    shown = re.fullmatch(r"fuzz (\S+): (\S+) executions .*", fuzzing)
    assert shown is not None, fuzzing
    run: list[str | Path] = [sys.executable, "-m", "mipsrec", "run", "--no-server", "--tier", "baseline", guest]
    return Found(seconds, f"{shown[1]} {shown[2]}", path.parent.name, ends_by(run, fault, path),
                 ends_by([native], fault, path))  # fmt: skip


def main() -> int:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what runs is ended
    parser = argparse.ArgumentParser(prog="make fuzz-demo", description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=f"some of {', '.join(BY_NAME)} (default: all)")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="time for each (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="fuzzers at a time (default: %(default)s)")
    parser.add_argument("--no-build", action="store_true", help="do not recompile the programs")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.faults if name not in BY_NAME]
    if unknown:
        parser.error(f"no fault {unknown[0]}; there are {', '.join(BY_NAME)}")
    options = ["--seconds", str(arguments.seconds), "--jobs", str(arguments.jobs)]
    options += ["--no-build"] if arguments.no_build else []
    wrong = 0
    print(f"{'fault':16}{'order':8}{'in all':>8}{'fuzzing':>10}{'executions':>12}  {'guest':9}{'native':9}group")
    with tempfile.TemporaryDirectory(prefix="mipsrec-seeded-") as name:
        for fault in [BY_NAME[name] for name in arguments.faults] or FAULTS:
            try:
                found = find(fault, Path(name), *options)
            except AssertionError as error:
                wrong += 1
                print(f"{fault.name:16}{fault.order:8}NOT FOUND: {error}")
                continue
            wrong += not found.is_right(fault)
            duration, executions = found.fuzzing.split()
            print(f"{fault.name:16}{fault.order:8}{found.seconds:7.0f}s{duration:>10}{executions:>12}  "
                  f"{found.guest:9}{found.native:9}{found.group}", flush=True)  # fmt: skip
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(outside_pytest(main))
