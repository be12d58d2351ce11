"""`make fuzz-looks`: who looks at registers at random moments of random programs sees what the interpreter has there.

Each seed is a program for one byte order and FPU (looks_maker.py): handlers of faults, traps and signals, a timer,
another thread and a debugger look at it. Interpreted, in the baseline tier, and under qemu-user where it does not use
the FPU, all registers are compared; recompiled, those that docs/limits.md promises (looks_judge.py). In the end
registers and memory must be as when it is interpreted: nobody who looks changes anything. Of some programs `mipsrec
verify` compares recompiled code with the interpreter at each call and return. A program that differs is kept in
build/fuzz/.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from mipsrec import pipeline
from mipsrec.analysis import Program as Analysis
from mipsrec.host_build import host_executable
from mipsrec.isa.effects import masks
from tests.fuzz.flow import FINDINGS, LONGER, SECONDS, End, Trial, Way, recompiled
from tests.fuzz.looks_debugger import debugged_notes
from tests.fuzz.looks_handlers import ALARMS, FAULTS, QUIET, RUN_ENDS, SEGV, THREADS
from tests.fuzz.looks_judge import Judge, Looks
from tests.fuzz.looks_maker import LookMaker, Note, left_at, make_looks, notes_in
from tests.fuzz.looks_trace import Tracer
from tests.support.compiled import QEMU
from tests.support.paths import ROOT
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need, outside_pytest

WAYS = (
    Way("auto"), Way("2"), Way("light"), Way("2", memory="paged"), Way("3"), Way("light", memory="thunk"), Way("0"),
    Way("2", calls="thunked"), Way("1"), Way("2", calls="instrumented"),
)  # fmt: skip
VERIFIED = 4  # each so many-th program is verified, and debugged
MOST_LINES = 12


class Run(NamedTuple):
    """What a process that looks printed; error: how it ended, where that was wrong."""

    notes: list[Note]
    left: bytes
    pid: int
    error: str


class Subject:
    """The program of a seed."""

    def __init__(self, seed: str, folder: Path, host: Path) -> None:
        self.seed, self.folder, self.host = seed, folder, host
        self.trial = Trial(seed, folder, host, make_looks)
        self.trial.options = [option for option in self.trial.options if option != "-Wl,-N"]  # the driver lies apart
        self.order = self.trial.order
        self.looks = Looks()

    def prepare(self, tracer: Tracer) -> bool:
        """Assemble, trace and interpret the program; return whether it is short enough."""
        self.path = self.trial.assemble()
        trace = tracer.trace(self.path, LookMaker(self.seed, self.order).flipped)
        if trace is None:
            return False
        self.guest = pipeline.open_guest(self.path)
        self.judge = Judge(trace, written_in_blocks(self.guest.program, self.guest.image.fr))
        self.expected = self.run([self.host, *INTERPRETED], FAULTS)
        return True

    def run(self, command: Iterable[str | Path], mode: int) -> Run:
        words = [*map(str, command), str(self.path), *["x"] * (mode - 1)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process:
            try:
                output, errors = process.communicate(timeout=LONGER * SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                return Run([], b"", process.pid, "does not end")
        bad = process.returncode != 0 or errors != b""
        error = f"ends with {process.returncode}: {errors[:200].decode(errors='replace')}" if bad else ""
        return Run(*notes_in(output, self.order), process.pid, error)

    def compare(self, name: str, command: list[str | Path], mode: int, way: Way | None = None) -> list[str]:
        """Have a way of running the program looked at; return what differs."""
        run = self.run(command, mode)
        if name == "qemu-user":
            run = run._replace(notes=[self.with_pc_of_branch(note) for note in run.notes])
        looks = self.judge.judge(run.notes, run.pid, way is not None, way is not None and way.memory != "flat")
        found = [run.error] if run.error else self._end_differs(run, mode)
        found += looks.differences
        looks.differences = [f"{name}, mode {mode}: {text}" for text in found]
        self.looks.add(looks)
        return found

    def _end_differs(self, run: Run, mode: int) -> list[str]:
        """Return what a program has left otherwise than interpreted: registers after each run, and memory at last."""
        ends = [note for note in run.notes if note.kind == RUN_ENDS]
        expected = [note for note in self.expected.notes if note.kind == RUN_ENDS]
        for number, note in enumerate(ends):
            if note != expected[number % len(expected)]:
                return [f"registers differ after run {number}"]
        if len(ends) % len(expected) or not ends:
            return [f"{len(ends)} runs have ended"]
        difference = End(0, run.left).difference(End(0, self.expected.left), left_at)
        return [difference] if difference else []

    def compare_below(self) -> None:
        """Compare the interpreter, the baseline tier and qemu."""
        for mode in (FAULTS, ALARMS, THREADS):
            self.compare("interpreted", [self.host, *INTERPRETED], mode)
            for name, tier in BASELINE.items():
                self.compare(name, [self.host, *tier], mode)
        if self.trial.program.in_qemu:
            self.compare("qemu-user", [need(QEMU[self.order], "qemu-user"), "-cpu", "74Kf"], FAULTS)

    def with_pc_of_branch(self, note: Note) -> Note:
        """Return a note with the pc of the branch, where qemu gives that of its slot: swl or swr that faults."""
        trace = self.judge.trace
        before = trace.places.get(note.pc - 4)
        if note.kind == SEGV and before and before.jumps and trace.memory.word(note.pc) >> 26 in (0x2A, 0x2E):
            return note._replace(pc=note.pc - 4)
        return note

    def library(self, way: Way) -> Path:
        """Return the recompiled functions; the driver is interpreted, so nothing is inlined in it."""
        return recompiled(self.path, way, driver=self.guest.image.entry)

    def compare_recompiled(self, way: Way) -> None:
        library = self.library(way)
        for mode in (FAULTS, ALARMS, THREADS):
            self.compare(str(way), [self.host, "--library", library], mode, way)
        for name, tier in AUTO.items():
            self.compare(f"{way}, {name}", [self.host, *tier, "--library", library], FAULTS, way)

    def verify(self) -> None:
        """Count the points at which recompiled code and the interpreter were compared.

        Pages stay open: of lwl and its kin recompiled code gives another address at a fault (docs/limits.md).
        """
        words = [sys.executable, "-m", "mipsrec", "verify", str(self.path), *["x"] * (QUIET - 1)]
        result = subprocess.run(words, capture_output=True, cwd=ROOT, timeout=600)
        found = re.search(rb"agree at ([0-9,]+) points", result.stderr)
        if found and result.returncode == 0:
            self.looks.seen["verify"] += int(found[1].replace(b",", b""))
        else:
            self.looks.differences.append(f"mipsrec verify: {result.stderr[-400:].decode(errors='replace')}")

    def debug(self) -> None:
        """Have a debugger stop the program at breakpoints and signals."""
        notes, pid = debugged_notes(self.host, self.path, self.order, self.judge.trace, self.seed)
        looks = self.judge.judge(notes, pid, is_recompiled=False)
        looks.seen = +Counter(debugger=looks.seen.total())
        looks.differences = [f"debugger: {text}" for text in looks.differences]
        self.looks.add(looks)


def written_in_blocks(program: Analysis, fr: int) -> dict[int, int]:
    """Return the bits of the registers that the block of each instruction writes, by pc."""
    found: dict[int, int] = {}
    for function in program.functions.values():
        for block in function.blocks.values():
            written = 0
            for instruction in block.instructions():
                written |= masks(instruction, fr)[1]
            for pc in block.pcs():
                found[pc] = found.get(pc, 0) | written
    return found


def ways_of(number: int, count: int) -> list[Way]:
    """Return so many ways for a program, all in turn."""
    return [WAYS[(number * count + more) % len(WAYS)] for more in range(count)]


def try_seed(number: int, ways: list[Way], tracer: Tracer, folder: Path, host: Path, more: bool) -> Looks | None:
    """Return what came of all looks at a seed's program; None if it is too long. more: also verify and debug it."""
    subject = Subject(f"looks {number}", folder, host)
    if not subject.prepare(tracer):
        return None
    subject.compare_below()
    for way in ways:
        subject.compare_recompiled(way)
    if more:
        subject.verify()
        subject.debug()
    return subject.looks


def explain(number: int, looks: Looks) -> str:
    """Return the first differences of a seed as text, and keep its program in build/fuzz/."""
    FINDINGS.mkdir(parents=True, exist_ok=True)
    kept = FINDINGS / f"looks-{number}.s"
    with tempfile.TemporaryDirectory() as folder:
        subject = Subject(f"looks {number}", Path(folder), host_executable())
        kept.write_text(subject.trial.program.assembly())
        subject.trial.assemble().replace(kept.with_suffix(""))
    lines = [f"seed {number}, {subject.order}-endian: {len(looks.differences)} differences; {kept}"]
    lines += [f"    {text}" for text in looks.differences[:MOST_LINES]]
    return "\n".join([*lines, f"    make fuzz-looks ARGS='--seeds {number}-{number}'"])


def try_seeds(seeds: Iterable[int], most: int, count: int, goes_on: bool) -> Looks:
    """Try seeds until `most` looks have been seen, or, unless it goes on, one has a difference; print what differs."""
    total = Looks()
    with tempfile.TemporaryDirectory(prefix="mipsrec-looks-") as name, tqdm(total=most, unit=" looks") as progress:
        tracer = Tracer(Path(name))
        for number in seeds:
            more = number % VERIFIED == 0
            looks = try_seed(number, ways_of(number, count), tracer, Path(name), host_executable(), more)
            if looks is None:
                continue
            total.add(looks)
            total.seeds += 1
            progress.update(looks.seen.total())
            if looks.differences:
                tqdm.write(explain(number, looks))
            if total.seen.total() >= most or (looks.differences and not goes_on):
                break
    return total


def summary(total: Looks) -> str:
    """Return what came of all looks as text."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(total.seen.items()))
    carried = sum(total.registers.values())
    share = f"{100 * total.registers['old'] / carried:.2f} % of {carried:,}" if carried else "none"
    return (
        f"{total.seen.total():,} looks at {total.seeds} programs ({kinds}); {len(total.differences)} differ\n"
        f"at faults in recompiled code, {share} carried registers that are used later, and that the block of the fault "
        "does not write, had an old value"
    )


def seed_range(text: str) -> range:
    """Return the seeds of an argument A-B."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main(words: list[str]) -> int:
    """Try seeds; return 1 when there was a difference."""
    parser = argparse.ArgumentParser(prog="make fuzz-looks", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=seed_range, default=seed_range("1-1000000"), metavar="A-B", help="seeds to try")
    parser.add_argument("--looks", type=int, default=100_000, help="end after so many looks (default 100000)")
    parser.add_argument("--ways", type=int, default=2, help=f"ways of building each, of {len(WAYS)} (default 2)")
    parser.add_argument("--go-on", action="store_true", help="do not end at the first program with a difference")
    chosen = parser.parse_args(words)
    total = try_seeds(chosen.seeds, chosen.looks, chosen.ways, chosen.go_on)
    print(summary(total))
    return 1 if total.differences else 0


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
