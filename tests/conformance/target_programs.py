"""Tests that others have for MIPS alone: qemu's of the DSP module, and gcc's that run (gcc.target/mips).

  make conformance ARGS='targets'                    all, in both byte orders
  make conformance ARGS='targets --match dsp_r2'     only some of them

Enters: Debian's sources of qemu and gcc-12-source. Leaves: a line for each test that fails, and exit status 0 when none
did. Each test judges itself. A test that does not pass under qemu-user, either, is counted apart: two of qemu's are for
little-endian machines, and of one of gcc's GCC drops the instructions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from mipsrec import pipeline
from mipsrec.host_build import host_executable
from tests.conformance import gcc_suites
from tests.conformance.debian_roots import unpack_source
from tests.support.compiled import ORDERS, QEMU, library_at
from tests.support.dynamic import compiler, cross_libraries
from tests.support.paths import ROOT
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need

QEMU_TESTS = "tests/tcg/mips/user/ase/dsp"
QEMU_FLAGS = ("-march=mips32r2", "-mdspr2")
GCC_TESTS = (
    "args-2 args-3 atomic-memory-1 branch-14 branch-15 dsp-ctrl dwarfregtable-1 dwarfregtable-2 dwarfregtable-3 "
    "dwarfregtable-4 insn-casesi mips16-attributes mips16-attributes-4 mips32-dsp-run mips32-dspr2 pr51513-2 pr59137 "
    "reg-var-1 va-arg-1"
).split()
"""Those with `dg-do run`, but for other processors: Loongson, Octeon, MIPS-3D, paired singles, microMIPS, 64 bits."""
GCC_ATTRIBUTES = ("mips16", "nomips16", "nomicromips", "nocompression")
GCC_FLAGS = ("-O2", *(f"-D{name.upper()}=__attribute__(({name}))" for name in GCC_ATTRIBUTES))
"""What mips.exp defines for them."""
LIMIT_SECONDS = 120


@dataclass(frozen=True)
class Test:
    """A source, and the options it is compiled with."""

    source: Path
    byte_order: str
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.byte_order}-endian {self.source.stem}"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="make conformance ARGS=targets", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--match", default="", help="only tests with this in their names")
    parser.add_argument("--order", choices=ORDERS, help="only this byte order")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "targets", help="for the sources")
    parser.add_argument("--jobs", type=int, default=2, help="tests at once (default 2)")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run the tests; return 1 if one of them failed."""
    chosen = parse(words)
    host = host_executable()
    orders = [chosen.order] if chosen.order else list(ORDERS)
    tests = [test for order in orders for test in _tests(chosen.folder, order) if chosen.match in test.name]
    with ProcessPoolExecutor(chosen.jobs) as pool:
        found = list(tqdm(pool.map(outcome, tests, [host] * len(tests)), total=len(tests), unit=" tests"))
    failed = [f"{test.name}: {what}" for test, what in zip(tests, found, strict=True) if what not in ("", *_APART)]
    counts = Counter(found)
    apart = "".join(f", {counts[what]} {what}" for what in _APART if counts[what])
    print(*failed, f"{counts['']} of {len(tests)} tests pass in each of {1 + len(_TIERS)} ways{apart}", sep="\n")
    return 1 if failed else 0


def _tests(folder: Path, order: str) -> Iterator[Test]:
    for source in sorted((unpack_source(folder, "qemu") / QEMU_TESTS).glob("*.c")):
        yield Test(source, order, QEMU_FLAGS)
    suite = gcc_suites.sources(ROOT / "build" / "gcc-testsuite") / gcc_suites.TARGET
    for name in GCC_TESTS:
        source = suite / f"{name}.c"
        asked = gcc_suites.own_flags(source, source.read_text(errors="replace"))
        words = (word.strip("()") for word in asked)  # those for mips.exp have no dash, or stand in parentheses
        yield Test(source, order, (*GCC_FLAGS, *(word for word in words if word.startswith("-"))))


_NOT_COMPILED, _NOT_UNDER_QEMU = "do not compile", "fail under qemu-user, too"
_APART = (_NOT_COMPILED, _NOT_UNDER_QEMU)
_TIERS = {"interpreted": INTERPRETED, **BASELINE}


def outcome(test: Test, host: Path) -> str:
    """Return what is wrong with a test: nothing when it passes in each way."""
    root = ["--sysroot", cross_libraries(test.byte_order).parent]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        guest = folder / "guest"
        compilation = [compiler(test.byte_order), "-w", *test.flags, test.source, "-o", guest, "-lm"]
        if subprocess.run(compilation, stderr=subprocess.DEVNULL).returncode != 0:
            return _NOT_COMPILED
        judge = need(QEMU[test.byte_order], "qemu-user")
        if _status(folder, judge, "-cpu", "74Kf", "-L", cross_libraries(test.byte_order).parent, guest) != 0:
            return _NOT_UNDER_QEMU
        ways = {name: (host, *options, *root) for name, options in _TIERS.items()}
        library = library_at(pipeline.open_guest(guest), folder, 2)
        ways["recompiled"] = (host, *AUTO["auto"], *root, "--library", library)
        ends = {way: _status(folder, *command, guest) for way, command in ways.items()}
        return ", ".join(f"{way} ends with {status}" for way, status in ends.items() if status != 0)


def _status(folder: Path, *command: str | Path) -> int:
    """Return a command's exit status; 124, as timeout(1) does, where it does not end."""
    quiet = subprocess.DEVNULL
    try:
        return subprocess.run(command, cwd=folder, stdin=quiet, capture_output=True, timeout=LIMIT_SECONDS).returncode
    except subprocess.TimeoutExpired:
        return 124


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
