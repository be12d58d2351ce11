"""`make fuzz-flow`: random functions, loops and calls do the same in all tiers and under qemu-user.

Each seed is a program for one byte order and FPU, with its symbols or without (flow_maker.py). It is recompiled in some
ways of building, in turn, and runs in the baseline tier, and in both together. Its output, all registers, data and
stack, and how it ends must be as when it is interpreted; under qemu-user too, where it does not use the FPU, whose
flags and NaNs qemu has otherwise, and does not jump to an odd address. A program that differs is made small and kept in
build/fuzz/, with the commands that show the difference.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from compiled import ORDERS, QEMU
from flow_maker import Program, place_of
from flow_parts import make
from tiers import AUTO, BASELINE, INTERPRETED
from tools import need, outside_pytest
from tqdm import tqdm

from mipsrec import codegen, pipeline
from mipsrec.host import host_executable

FINDINGS = Path(__file__).resolve().parent.parent / "build" / "fuzz"
SECONDS = 10  # of the interpreter; programs that take longer are left out
LONGER = 3  # times as long is what any other way may take


@dataclass(frozen=True)
class Way:
    """Options of `mipsrec build`; `framed`: all functions leave saved registers to callers, not recursive ones only."""

    opt: str
    memory: str = "flat"
    calls: str = "direct"
    framed: bool = False

    def __str__(self) -> str:
        return f"--opt {self.opt} --memory {self.memory} --calls {self.calls}{' (framed)' if self.framed else ''}"


Judge = Way | str | None
"""What is compared with the interpreter: a way of building, a tier without recompiled code, or qemu-user."""

WAYS = (
    Way("auto"), Way("2", framed=True), Way("light"), Way("3"), Way("0"), Way("2", memory="paged"),
    Way("1", framed=True), Way("2", calls="thunked"), Way("light", memory="thunk"),
)  # fmt: skip


@dataclass(frozen=True)
class End:
    """How a run ended: negative for a signal, as subprocess has it."""

    status: int
    output: bytes

    def difference(self, other: End) -> str:
        """Return what differs first, "" if nothing does."""
        if self.status != other.status or len(self.output) != len(other.output):
            return f"ends with {self.status}, {len(self.output)} bytes, not {other.status}, {len(other.output)} bytes"
        for at in range(0, len(self.output), 4):
            mine, its = self.output[at : at + 4], other.output[at : at + 4]
            if mine != its:
                return f"{place_of(at)}: {mine.hex()}, not {its.hex()} (bytes in memory)"
        return ""


def assemble(text: str, order: str, fr: int, stripped: bool, folder: Path) -> Path:
    """Return the program of an assembly text."""
    triple, source, program = ORDERS[order], folder / "flow.s", folder / "flow"
    source.write_text(text)
    words = [need(f"{triple}-gcc", f"gcc-{triple}"), "-mips32r2", "-mfp64" if fr else "-mfp32", "-mno-abicalls"]
    words += ["-nostdlib", "-static", *(["-s"] if stripped else []), str(source), "-o", str(program)]
    subprocess.run(words, check=True, capture_output=True)
    return program


def run(command: list[str], seconds: float) -> End | None:
    """Return how a command ends; None when it does not."""
    try:
        result = subprocess.run(command, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return End(result.returncode, result.stdout)


@contextmanager
def _frames(everywhere: bool) -> Iterator[None]:
    usual = codegen.recursive_functions
    if everywhere:
        codegen.recursive_functions = lambda program: set(program.functions)
    try:
        yield
    finally:
        codegen.recursive_functions = usual


def recompiled(program: Path, way: Way) -> Path:
    """Return the library of a program."""
    library = program.with_suffix(".so")
    opt = int(way.opt) if way.opt.isdigit() else way.opt
    options = pipeline.Options(opt=opt, memory=way.memory, calls=way.calls, jobs=1, reuse=False)
    with _frames(way.framed):
        pipeline.build(pipeline.open_guest(program), library, options)
    return library


class Trial:
    """A seed's program, and where it is compared."""

    def __init__(self, seed: str, folder: Path, host: Path) -> None:
        self.seed, self.folder, self.host = seed, folder, host
        random = Random(seed)
        self.order = random.choice(list(ORDERS))
        self.stripped = random.random() < 0.3
        self.program: Program = make(seed)

    def assemble(self) -> Path:
        return assemble(self.program.assembly(), self.order, self.program.fr, self.stripped, self.folder)

    def interpreted(self, program: Path) -> End | None:
        return run([str(self.host), *INTERPRETED, str(program)], SECONDS)

    def goes_to_an_odd_address(self, program: Path) -> bool:
        """Return whether a program that SIGBUS ends does so. qemu has MIPS16, of which it then runs code."""
        words = [str(self.host), *INTERPRETED, "--report", str(program)]
        said = subprocess.run(words, capture_output=True, timeout=LONGER * SECONDS).stderr.decode(errors="replace")
        found = re.search(r"\(SIGBUS\) at pc 0x([0-9a-f]+)", said)
        return found is not None and int(found[1], 16) & 1 == 1

    def difference(self, way: Judge) -> str | None:
        """Return how a judge differs from the interpreter; None if the program does not end."""
        program = self.assemble()
        expected = self.interpreted(program)
        if expected is None:
            return None
        if way is None and expected.status == -signal.SIGBUS and self.goes_to_an_odd_address(program):
            return ""
        for name, command in self.commands(program, way):
            found = run(command, LONGER * SECONDS)
            difference = "does not end" if found is None else found.difference(expected)
            if difference:
                return f"{name}{difference}"
        return ""

    def commands(self, program: Path, way: Judge) -> Iterator[tuple[str, list[str]]]:
        """Yield what runs a program for a judge: a name, and the command."""
        if way is None:
            yield "", [need(QEMU[self.order], "qemu-user"), str(program)]
        elif isinstance(way, str):
            yield "", [str(self.host), *BASELINE[way], str(program)]
        else:
            library = str(recompiled(program, way))
            for name, tier in {"": (), **{f"{name}: ": tier for name, tier in AUTO.items()}}.items():
                yield name, [str(self.host), *tier, "--library", library, str(program)]

    def judges(self, ways: list[Way]) -> list[Judge]:
        return [*ways, *BASELINE, *([] if self.program.fpu else [None])]

    def made_small(self, way: Judge) -> str:
        """Leave out of the program what the difference does not need; return the difference."""
        last = self.difference(way) or ""
        for part in self.program.parts():
            part.left_out = True
            found = _or_nothing(lambda: self.difference(way))
            last = found or last
            part.left_out = bool(found)
        return last


def _or_nothing(action: Callable[[], str | None]) -> str | None:
    """Return what an action returns; nothing when the program does not assemble any more."""
    try:
        return action()
    except subprocess.CalledProcessError:
        return None


def explain(trial: Trial, way: Judge) -> str:
    """Return a difference as text, and keep its program, made small."""
    difference = trial.made_small(way)
    FINDINGS.mkdir(parents=True, exist_ok=True)
    kept = FINDINGS / f"flow-{trial.seed.replace(' ', '-')}.s"
    kept.write_text(trial.program.assembly())
    program = kept.with_suffix("")
    assemble(kept.read_text(), trial.order, trial.program.fr, trial.stripped, trial.folder).replace(program)
    lines = [f"seed {trial.seed!r}, {trial.order}-endian, {way or 'qemu-user'}: {difference}", f"    {kept}"]
    if isinstance(way, str):
        lines.append(f"    mipsrec-host {' '.join(BASELINE[way])} {program}")
    elif way:
        library = f"{program}.so"
        lines.append(f"    mipsrec build {way} {program} -o {library}; mipsrec run --static-lib {library} {program}")
    return "\n".join([*lines, f"    mipsrec run --engine interp {program}"])


def try_seed(seed: str, ways: list[Way], folder: Path, host: Path) -> tuple[bool, list[str]]:
    """Return whether a seed's program ended, and a text for each difference."""
    trial, found = Trial(seed, folder, host), []
    for way in trial.judges(ways):
        difference = trial.difference(way)
        if difference is None:
            return False, found
        if difference:
            found.append(explain(trial, way))
            trial = Trial(seed, folder, host)  # whole again
    return True, found


def main(words: list[str]) -> int:
    """Try seeds; return 1 when there was a difference."""
    parser = argparse.ArgumentParser(prog="make fuzz-flow", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--count", type=int, default=100, help="how many programs (default 100)")
    parser.add_argument(
        "--ways", type=int, default=2, help=f"ways of building for each, of {len(WAYS)}, or 0 (default 2)"
    )
    chosen = parser.parse_args(words)
    ended = different = 0
    with tempfile.TemporaryDirectory(prefix="mipsrec-flow-") as name:
        for number in tqdm(range(chosen.seed, chosen.seed + chosen.count), unit=" programs", file=sys.stderr):
            first = number * chosen.ways
            ways = [WAYS[(first + more) % len(WAYS)] for more in range(chosen.ways)]
            ends, found = try_seed(f"flow {number}", ways, Path(name), host_executable())
            ended += ends
            different += bool(found)
            for text in found:
                tqdm.write(text)
    print(f"{ended} programs compared ({chosen.count - ended} did not end in time), {different} with differences")
    return different > 0


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
