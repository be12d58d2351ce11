"""Programs that generate code: Debian's luajit and nodejs for mipsel, on the scripts of tests/conformance/generated.

  make conformance ARGS='generated'                    beside qemu-user, with their times
  make conformance ARGS='generated --table FILE'       also writes the times there

Each script runs without any recompiled code. It must print what the one of the same name for nodejs prints under
qemu-user: luajit itself prints another sum of words.lua there. Times are seconds of the processor, the least of several
rounds that take turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mipsrec.host_build import host_executable
from mipsrec.timing import geometric_mean
from tests.support.debian import unpacked
from tests.support.paths import TESTS
from tests.support.tools import need

SCRIPTS = TESTS / "conformance" / "generated"
INTERPRETERS = {".lua": ("luajit", "usr/bin/luajit"), ".js": ("nodejs", "usr/bin/node")}
LIMIT_SECONDS = 600


@dataclass(frozen=True)
class End:
    """What a run printed, its exit status, and the processor seconds it took."""

    output: str
    status: int
    seconds: float


def run(command: Sequence[str | Path]) -> End:
    """Run a command."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return End(done.stdout, done.returncode, seconds)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="make conformance ARGS=generated", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--host", type=Path, help="this one, not one built of the sources")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed (default 3; the least counts)")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the times there")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run the scripts; return the exit status."""
    chosen = parse(words)
    root = unpacked([package for package, _ in INTERPRETERS.values()], name="generated")
    host, qemu = (chosen.host or host_executable()).resolve(), need("qemu-mipsel", "qemu-user")
    lines = ["| script | qemu | baseline | times faster |", "|---|---|---|---|"]
    said: dict[str, str] = {}  # by nodejs under qemu-user: each .js comes before its .lua
    ratios, failed = [], 0
    for script in sorted(SCRIPTS.iterdir()):
        program = root / INTERPRETERS[script.suffix][1]
        by_qemu, by_host = [], []
        for _ in range(chosen.rounds):
            by_qemu.append(run([qemu, "-L", root, program, script]))
            by_host.append(run([host, "--tier", "baseline", "-L", root, program, script]))
        expected = said.setdefault(script.stem, by_qemu[0].output)
        wrong = [end for end in by_host if (end.output, end.status) != (expected, 0)]
        if wrong or not expected:
            failed += 1
            print(f"FAILED {script.name}: {by_host[0]}, not {expected!r}", file=sys.stderr, flush=True)
            continue
        theirs, ours = (min(end.seconds for end in ends) for ends in (by_qemu, by_host))
        ratios.append(theirs / ours)
        lines.append(f"| {script.name} | {theirs:.2f} | {ours:.2f} | {ratios[-1]:.2f} |")
        print(lines[-1], flush=True)
    if ratios:
        lines += ["", f"Geometric mean: {geometric_mean(ratios):.2f} times faster (from {min(ratios):.2f} to "
                  f"{max(ratios):.2f})."]  # fmt: skip
        print(lines[-1])
    if chosen.table:
        chosen.table.write_text("\n".join([f"Written by `make conformance ARGS='generated {' '.join(words)}'`.", "",
                                           *lines, ""]))  # fmt: skip
    print(f"{len(ratios)} scripts, {failed} failed")
    return bool(failed)
