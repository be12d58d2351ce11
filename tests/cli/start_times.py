"""Times how long guests take to start: python -m tests.cli.start_times FOLDER; FOLDER has the installed commands.

For each way to start, prints medians in milliseconds: from the call that starts the process to the guest's first
instruction, and to the end of a dynamic hello whose files nobody recompiled; and the processor time of both programs.
The ways take turns, so that all see the same load. Needs the cross compiler; rows of qemu need qemu-user.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.compiled import ORDERS
from tests.support.dynamic import compiler, cross_libraries
from tests.support.tools import outside_pytest

FIRST = """
#define SYS_exit 4001
#define SYS_write 4004
#define SYS_clock_gettime 4263
static long call(long number, long a, long b, long c)
{
    register long v0 __asm__("$2") = number;
    register long a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = c;
    register long a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo",
                       "memory");
    return v0;
}
void __start(void)
{
    unsigned now[2];
    call(SYS_clock_gettime, 1, (long)now, 0);
    call(SYS_write, 1, (long)now, sizeof now);
    call(SYS_exit, 0, 0, 0);
}
"""
HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'


def compile_guests(folder: Path, order: str) -> dict[str, Path]:
    """Make a static guest that tells when it ran first, and a dynamic one."""
    bare = ["-nostdlib", "-static", "-ffreestanding", "-mno-abicalls", "-fno-pic", "-G0"]
    loader = cross_libraries(order) / "ld.so.1"
    dynamic = [f"-Wl,--dynamic-linker={loader}", f"-Wl,-rpath,{loader.parent}"]
    guests = {}
    for name, source, options in (("static", FIRST, bare), ("dynamic", HELLO, dynamic)):
        (folder / f"{name}.c").write_text(source)
        guests[name] = folder / name
        command = [compiler(order), "-O1", str(folder / f"{name}.c"), *options, "-o", str(guests[name])]
        subprocess.run(command, check=True)
    return guests


def ways(commands: Path, order: str, cache: str) -> dict[str, list[str]]:
    """Return the words before a program's name for each way to start it."""
    found = {
        "mipsrec-host --cache CACHE": [str(commands / "mipsrec-host"), "--cache", cache],
        "mipsrec-run": [str(commands / "mipsrec-run")],
        "mipsrec run": [str(commands / "mipsrec"), "run"],
        "mipsrec-python run": [str(commands / "mipsrec-python"), "run"],
    }
    qemu = shutil.which("qemu-mips" if order == "big" else "qemu-mipsel")
    return found | ({"qemu-user": [qemu]} if qemu else {})


def run(words: list[str]) -> tuple[float, float, float, bytes]:
    """Run a command; return when it was started, how long it took, its processor time, and what it printed."""
    reader, writer = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_CLOSE, reader), (os.POSIX_SPAWN_CLOSE, writer)]
    start = time.clock_gettime(time.CLOCK_MONOTONIC)
    child = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
    os.close(writer)
    _, status, usage = os.wait4(child, 0)
    end = time.clock_gettime(time.CLOCK_MONOTONIC)
    with open(reader, "rb") as stream:
        output = stream.read()
    if status != 0:
        raise SystemExit(f"{' '.join(words)}: ended with wait status {status}")
    return start, end - start, usage.ru_utime + usage.ru_stime, output


def measure(guests: dict[str, Path], how: dict[str, list[str]], order: str, rounds: int) -> dict[str, list[float]]:
    """Return the medians of each way in milliseconds."""
    samples: dict[str, list[list[float]]] = {way: [] for way in how}
    for _ in range(rounds):
        for way, words in how.items():
            start, _, processor, output = run([*words, str(guests["static"])])
            seconds, nanoseconds = (int.from_bytes(output[at : at + 4], order) for at in (0, 4))  # type: ignore[arg-type]
            row = [seconds + nanoseconds / 1e9 - start, processor]
            row += run([*words, str(guests["dynamic"])])[1:3]
            samples[way].append([1e3 * value for value in row])
    return {way: [statistics.median(column) for column in zip(*rows)] for way, rows in samples.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", type=Path, help="the folder that has mipsrec, mipsrec-run and mipsrec-host")
    parser.add_argument("--order", choices=ORDERS, default="little")
    parser.add_argument("--rounds", type=int, default=31)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        guests = compile_guests(Path(name), chosen.order)
        os.environ["MIPSREC_CACHE"] = f"{name}/cache"
        how = ways(chosen.commands.resolve(), chosen.order, f"{name}/cache")
        for wait in (2.2, 0):  # what is younger than two seconds is not noted
            for guest in guests.values():
                subprocess.run([*how["mipsrec run"], guest], check=True, stdout=subprocess.DEVNULL)
            time.sleep(wait)
        found = measure(guests, how, chosen.order, chosen.rounds)
    print("| started by | static: first instruction | processor | dynamic: end | processor |\n|---|---|---|---|---|")
    for way, row in found.items():
        print(f"| `{way}` | " + " | ".join(f"{value:.1f}" for value in row) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(outside_pytest(main))
