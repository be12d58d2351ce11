"""`make fuzz-flow`: random functions, loops and calls do the same in all tiers and under qemu-user.

Each seed is a program for one byte order and FPU, with its symbols or without, its code writable, beside its data, or
not (flow_maker.py). It is recompiled in some ways of building, in turn, and runs in the baseline tier, and in both
together. Its output, all registers, data and stack, and how it ends must be as when it is interpreted; under qemu-user
too, where it does not use the FPU, whose flags and NaNs qemu has otherwise, and does not jump to an odd address. A
program that differs is made small and kept in build/fuzz/, with the commands that show the difference.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from tqdm import tqdm

from mipsrec import pipeline
from mipsrec.host_build import host_executable
from tests.fuzz.flow_maker import Part, place_of
from tests.fuzz.flow_parts import make
from tests.support.compiled import ORDERS, QEMU
from tests.support.paths import ROOT
from tests.support.processor_time import run_for
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need, outside_pytest

FINDINGS = ROOT / "build" / "fuzz"
SECONDS = 10  # of processor time of the interpreter; programs that take longer are left out
LONGER = 3  # times as long is what any other way may take


@dataclass(frozen=True)
class Way:
    """Options of `mipsrec build`."""

    opt: str
    memory: str = "flat"
    calls: str = "direct"

    def __str__(self) -> str:
        return f"--opt {self.opt} --memory {self.memory} --calls {self.calls}"


def some_ways(number: int, count: int) -> list[Way]:
    """Return so many ways for a program, all in turn."""
    return [WAYS[(number * count + more) % len(WAYS)] for more in range(count)]


Judge = Way | str | None
"""What is compared with the interpreter: a way of building, a tier without recompiled code, or qemu-user."""

WAYS = (
    Way("auto"), Way("2"), Way("light"), Way("3"), Way("0"), Way("2", memory="paged"),
    Way("1"), Way("2", calls="thunked"), Way("light", memory="thunk"),
)  # fmt: skip


@dataclass(frozen=True)
class End:
    """How a run ended: negative for a signal, as subprocess has it."""

    status: int
    output: bytes

    def difference(self, other: End, place_of: Callable[[int], str] = place_of) -> str:
        """Return what differs first, "" if nothing does; place_of says what a part of the output is."""
        if self.status != other.status or len(self.output) != len(other.output):
            return f"ends with {self.status}, {len(self.output)} bytes, not {other.status}, {len(other.output)} bytes"
        for at in range(0, len(self.output), 4):
            mine, its = self.output[at : at + 4], other.output[at : at + 4]
            if mine != its:
                return f"{place_of(at)}: {mine.hex()}, not {its.hex()} (bytes in memory)"
        return ""


def assemble(program: TestProgram, order: str, options: list[str], folder: Path) -> Path:
    """Return the executable file of a program."""
    triple, source, executable = ORDERS[order], folder / "flow.s", folder / "flow"
    source.write_text(program.assembly())
    words = [need(f"{triple}-gcc", f"gcc-{triple}"), "-mips32r2", "-mfp64" if program.fr else "-mfp32", "-mno-abicalls"]
    words += ["-nostdlib", "-static", *program.link_options, *options]
    subprocess.run([*words, str(source), "-o", str(executable)], check=True, capture_output=True)
    return executable


def run(command: list[str], seconds: float) -> End | None:
    """Return how a command ends; None when it does not."""
    try:
        result = run_for(command, seconds, capture_output=True)
    except subprocess.TimeoutExpired:
        return None
    return End(result.returncode, result.stdout)


def recompiled(program: Path, way: Way, driver: int | None = None) -> Path:
    """Return the library of a program, or of all its functions but the one that begins at `driver`."""
    library = program.with_suffix(".so")
    opt = int(way.opt) if way.opt.isdigit() else way.opt
    options = pipeline.Options(opt=opt, memory=way.memory, calls=way.calls, jobs=1, reuse=False)
    guest = pipeline.open_guest(program)
    functions = None
    if driver is not None:
        functions = [guest.program.functions[start] for start in sorted(guest.starts) if start != driver]
    pipeline.build(guest, library, options, functions=functions)
    return library


class TestProgram(Protocol):
    """What Trial wants of a program."""

    fr: int

    @property
    def link_options(self) -> tuple[str, ...]: ...

    @property
    def in_qemu(self) -> bool: ...

    def assembly(self) -> str: ...

    def parts(self) -> list[Part]: ...

    def place_of(self, offset: int) -> str: ...


ACCESS_BYTES = {
    **dict.fromkeys("lh lhu sh".split(), 2), **dict.fromkeys("lw sw ll sc lwc1 swc1".split(), 4), "ldc1": 8, "sdc1": 8,
}  # fmt: skip

Maker = Callable[[str, str], TestProgram]
"""Makes the program of a seed for a byte order."""


def make_flow(seed: str, order: str) -> TestProgram:
    """Return a program of functions, loops and calls, the same for both byte orders."""
    return make(seed)


class Trial:
    """A seed's program, and where it is compared."""

    def __init__(self, seed: str, folder: Path, host: Path, maker: Maker = make_flow) -> None:
        self.seed, self.folder, self.host = seed, folder, host
        random = Random(seed)
        self.order = random.choice(list(ORDERS))
        self.options = ["-s"] if random.random() < 0.3 else []
        self.options += ["-Wl,-N"] if random.random() < 0.3 else []
        self.program = maker(seed, self.order)

    def assemble(self) -> Path:
        return assemble(self.program, self.order, self.options, self.folder)

    def interpreted(self, program: Path) -> End | None:
        return run([str(self.host), *INTERPRETED, str(program)], SECONDS)

    def ends_otherwise_in_qemu(self, program: Path) -> bool:
        """Return whether a program that a signal ends goes to an odd address, or misses memory at a misaligned one.

        qemu has MIPS16, of which it then runs code. Of a misaligned access it looks at the alignment first (SIGBUS);
        Linux performs it in parts, and so finds that there is no memory (SIGSEGV; arch/mips/kernel/unaligned.c).
        """
        words = [str(self.host), *INTERPRETED, "--report", str(program)]
        said = run_for(words, LONGER * SECONDS, capture_output=True).stderr.decode(errors="replace")
        if odd := re.search(r"\(SIGBUS\) at pc 0x([0-9a-f]+)", said):
            return int(odd[1], 16) & 1 == 1
        missing = re.search(r"\(SIGSEGV\) at pc 0x([0-9a-f]+), address 0x([0-9a-f]+)", said)
        access = missing and re.search(rf"^{missing[1]}: [0-9a-f]+  (\w+)", said, re.MULTILINE)
        return bool(missing and access) and int(missing[2], 16) % ACCESS_BYTES.get(access[1], 1) != 0

    def difference(self, way: Judge) -> str | None:
        """Return how a judge differs from the interpreter; None if the program does not end."""
        program = self.assemble()
        expected = self.interpreted(program)
        if expected is None:
            return None
        ended = expected.status in (-signal.SIGBUS, -signal.SIGSEGV)
        if way is None and ended and self.ends_otherwise_in_qemu(program):
            return ""
        for name, command in self.commands(program, way):
            found = run(command, LONGER * SECONDS)
            difference = "does not end" if found is None else found.difference(expected, self.program.place_of)
            if difference:
                return f"{name}{difference}"
        return ""

    def commands(self, program: Path, way: Judge) -> Iterator[tuple[str, list[str]]]:
        """Yield what runs a program for a judge: a name, and the command."""
        if way is None:
            yield "", [need(QEMU[self.order], "qemu-user"), "-cpu", "74Kf", str(program)]
        elif isinstance(way, str):
            yield "", [str(self.host), *BASELINE[way], str(program)]
        else:
            library = str(recompiled(program, way))
            for name, tier in {"": (), **{f"{name}: ": tier for name, tier in AUTO.items()}}.items():
                yield name, [str(self.host), *tier, "--library", library, str(program)]

    def judges(self, ways: list[Way]) -> list[Judge]:
        return [*ways, *BASELINE, *([None] if self.program.in_qemu else [])]

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
    kept = FINDINGS / f"{trial.seed.replace(' ', '-')}.s"
    kept.write_text(trial.program.assembly())
    program = kept.with_suffix("")
    trial.assemble().replace(program)
    lines = [f"seed {trial.seed!r}, {trial.order}-endian, {way or 'qemu-user'}: {difference}", f"    {kept}"]
    if isinstance(way, str):
        lines.append(f"    mipsrec-host {' '.join(BASELINE[way])} {program}")
    elif way:
        library = f"{program}.so"
        lines.append(f"    mipsrec build {way} {program} -o {library}; mipsrec run --library {library} {program}")
    return "\n".join([*lines, f"    mipsrec run --tier interp {program}"])


def try_seed(seed: str, ways: list[Way], folder: Path, host: Path, maker: Maker = make_flow) -> tuple[bool, list[str]]:
    """Return whether a seed's program ended, and a text for each difference."""
    trial, found = Trial(seed, folder, host, maker), []
    for way in trial.judges(ways):
        difference = trial.difference(way)
        if difference is None:
            return False, found
        if difference:
            found.append(explain(trial, way))
            trial = Trial(seed, folder, host, maker)  # whole again
    return True, found


def try_seeds(seeds: Iterable[str], ways: Callable[[int], list[Way]], maker: Maker = make_flow) -> bool:
    """Try seeds, each in the ways that its number gets; print what differs, and return whether anything did."""
    total = ended = different = 0
    with tempfile.TemporaryDirectory(prefix="mipsrec-flow-") as name:
        for seed in tqdm(seeds, unit=" programs", file=sys.stderr):
            ends, found = try_seed(seed, ways(int(seed.split()[-1])), Path(name), host_executable(), maker)
            total += 1
            ended += ends
            different += bool(found)
            for text in found:
                tqdm.write(text)
    print(f"{ended} programs compared ({total - ended} did not end in time), {different} with differences")
    return different > 0


def main(words: list[str]) -> int:
    """Try seeds; return 1 when there was a difference."""
    parser = argparse.ArgumentParser(prog="make fuzz-flow", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--count", type=int, default=100, help="how many programs (default 100)")
    parser.add_argument(
        "--ways", type=int, default=2, help=f"ways of building each, of {len(WAYS)}; 0: none (default 2)"
    )
    chosen = parser.parse_args(words)
    seeds = [f"flow {number}" for number in range(chosen.seed, chosen.seed + chosen.count)]
    return try_seeds(seeds, lambda number: some_ways(number, chosen.ways))


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
