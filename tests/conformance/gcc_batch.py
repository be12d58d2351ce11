"""Builds many programs as one static guest, lifts their own functions, and runs each in a process of its own.

Enters: tests of one level and byte order, and the ways to build the guest's library. Leaves: how each ended in each
way, interpreted, and in each tier. The libraries of the guest
are never recompiled: what is tested is the code of the tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.gcc_suites import LEVELS, Case
from tests.conformance.relocatable import Relocatable, isolate
from tests.support.compiled import ORDERS
from tests.support.paths import GUESTS, ROOT
from tests.support.tiers import AUTO, BASELINE
from tests.support.tiers import INTERPRETED as INTERPRETER
from tests.support.tools import need

DRIVER = GUESTS / "many.c"
LIBRARIES = ("-lm", "-latomic", "-lgcov", "-pthread")
INTERPRETED = "interpreted"
OPERATORS = ("_Znw", "_Zna", "_Zdl", "_Zda")  # operators new and delete, which libstdc++ calls too

BESIDE = {f", {name}": options for name, options in AUTO.items()}

UNBUILT = "does not build"
NO_BUILD_HELP = "recompile nothing: only the interpreter and the baseline tier run"
BUILD_HELP = "options of `mipsrec build`, such as --build='--opt 3 --memory paged' (repeatable: each is one more way)"


@dataclass
class Batch:
    """Tests that share one program; `keep` leaves their symbols as they are, which allows only one of them."""

    level: str
    order: str
    tests: list[Case]
    keep: bool = False
    results: dict[tuple[str, Case], str] = field(default_factory=dict)  # by way and test; "" is a pass

    def compiler(self, language: str = "") -> str:
        """Return the compiler of a language, by default the one that links the tests."""
        suffix = language or ("g++" if any(test.files[0].suffix != ".c" for test in self.tests) else "gcc")
        return need(f"{ORDERS[self.order]}-{suffix}", f"{suffix}-{ORDERS[self.order]}")


def _succeed(words: list[str]) -> None:
    """Run a command that must succeed; only then are its warnings of no interest."""
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, f"{' '.join(words)}\n{result.stderr}"


def _compile(batch: Batch, test: Case, folder: Path) -> list[bytes] | None:
    """Return the objects of a test, or None when it does not compile."""
    objects = []
    output = folder / "test.o"
    for file in test.files:
        words = [batch.compiler(), "-w", *LEVELS[batch.level].split(), *test.flags, "-c", str(file), "-o", str(output)]
        if subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder).returncode != 0:
            return None
        objects.append(output.read_bytes())
    return objects


def replaces_operators(objects: list[bytes]) -> bool:
    """Return whether a program has functions that the C++ library is to call instead of its own."""
    return any(name.startswith(OPERATORS) for data in objects for name in Relocatable(data).defined())


def compile_batch(batch: Batch, folder: Path) -> tuple[list[Case], list[Batch]]:
    """Compile all tests into `folder`; return those that are in the program, and batches for those that cannot be.

    Tests that are in neither do not build.
    """
    inside: list[Case] = []
    alone: list[Batch] = []
    for test in batch.tests:
        objects = _compile(batch, test, folder)
        if objects is None:
            continue
        if not batch.keep and replaces_operators(objects):
            alone.append(Batch(batch.level, batch.order, [test], keep=True))
        else:
            for number, data in enumerate(isolate(objects, f"t{len(inside)}", batch.keep)):
                (folder / f"t{len(inside)}.{number}.o").write_bytes(data)
            inside.append(test)
    return inside, alone


def link_batch(batch: Batch, count: int, folder: Path) -> Path:
    """Return the program of the compiled tests and the driver."""
    (folder / "many.h").write_text("".join(f"TEST({number})\n" for number in range(count)))
    driver = folder / "driver.o"
    words = [batch.compiler("gcc"), "-O1", "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-c", str(DRIVER)]
    _succeed([*words, "-o", str(driver)])
    objects = [path for number in range(count) for path in sorted(folder.glob(f"t{number}.*.o"))]
    (folder / "objects").write_text("\n".join(map(str, [driver, *objects])))
    program = folder / "many"
    flags = [word for word in LEVELS[batch.level].split() if word.startswith("-m") or "pie" in word]
    _succeed([batch.compiler(), *flags, "-static", f"@{folder}/objects", *LIBRARIES, "-o", str(program)])
    for path in (driver, *objects):
        path.unlink()
    return program


def lift(program: Path, options: Sequence[str]) -> Path:
    """Return a library, built with options, of the tests' own functions; the rest of the program is interpreted."""
    library = program.with_name("library.so")
    library.unlink(missing_ok=True)
    words = [sys.executable, "-m", "mipsrec", "build", str(program), "-o", str(library), "--function", "t[0-9]*.*"]
    _succeed([*words, "--jobs", "1", *options])
    return library


def ways(builds: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the ways to run a guest."""
    recompiled = [" ".join(["recompiled", *options]) for options in builds]
    return [*(f"{way}{tier}" for way in recompiled for tier in ("", *BESIDE)), INTERPRETED, *BASELINE]


def commands(host: Path, program: Path, builds: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each way to run a guest with its command, whose library is there until the next one is asked for."""
    names = iter(ways(builds))
    for options in builds:
        library = str(lift(program, options))
        for tier in ((), *BESIDE.values()):
            yield next(names), [str(host), *tier, "--library", library, str(program)]
    for tier in (INTERPRETER, *BASELINE.values()):
        yield next(names), [str(host), *tier, str(program)]


def _ended(status: int) -> str:
    """Return what waitpid's status says of a test, "" when it passed."""
    number = status & 127
    return f"signal {number}" if number else f"exit status {status >> 8}" if status else ""


def run(command: list[str], tests: list[Case], folder: Path, output: Path | None = None) -> dict[Case, str]:
    """Return how each test ended when `command` runs the program of all; what they print goes to files in `output`."""
    ends: dict[Case, str] = {}
    while len(ends) < len(tests):
        words = [*command, str(len(ends)), *([str(output)] if output else [])]
        result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=folder)
        for line in result.stdout.splitlines():
            number, status = map(int, line.split())
            ends[tests[number]] = _ended(status)
        if len(ends) < len(tests):  # the driver itself is gone: the test it was at is to blame
            ends[tests[len(ends)]] = f"ended the driver with {result.returncode}"
    return ends


def run_batch(batch: Batch, folder: Path, host: Path, builds: Sequence[Sequence[str]]) -> list[Batch]:
    """Build the tests of a batch and run them in each way; return batches of those that need one alone."""
    folder.mkdir(parents=True)
    inside, alone = compile_batch(batch, folder)
    if inside:
        program = link_batch(batch, len(inside), folder)
        for way, command in commands(host, program, builds):
            batch.results |= {(way, test): end for test, end in run(command, inside, folder).items()}
    outside = set(batch.tests) - {*inside, *(test for other in alone for test in other.tests)}
    batch.results |= {(way, test): UNBUILT for way in ways(builds) for test in outside}
    shutil.rmtree(folder)
    return alone
