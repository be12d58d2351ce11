"""A campaign: afl-fuzz in several processes that share what they find, from the start to the end.

Enters: the findings' folder, the target, and how long. Leaves: why it ended, with what the fuzzers found in the folder.
The first fuzzer is the main one; the last has CMPLOG, which finds the values that the program compares with.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import BuildError, one_line
from ..host_build import host_executable
from ..long_work import bar_for_people
from . import afl
from .afl import Target
from .children import Child, children
from .crash import host_words
from .findings import MAIN, Figures, Findings

_LOOK_SECONDS = 0.5
_LINE_SECONDS = 60.0
"""Between lines of progress where standard error is no terminal."""

_DOUBT_SECONDS = 15.0
"""After so long, inputs that change nothing are no accident. (AFL++ tells its executions once a minute.)"""

_NEWEST_COMPARED = (4, 9)
"""The last version of AFL++ whose map of comparisons is the host's (runtime/coverage/comparisons.c)."""


@dataclass(frozen=True)
class Plan:
    """How a campaign is run. `seconds` is None for no end; `timeout_ms` bounds one execution, None as AFL++ finds."""

    jobs: int
    seconds: int | None
    timeout_ms: int | None
    until_crash: bool


def _has_comparisons(afl_fuzz: str) -> bool:
    """Return whether this AFL++ takes comparisons in the form that the host has; says so where it does not."""
    said = afl.plain_text(subprocess.run([afl_fuzz, "-h"], capture_output=True, stdin=subprocess.DEVNULL).stdout)
    found = re.search(r"\+\+(\d+)\.(\d+)", said)
    if found is None or tuple(map(int, found.groups())) <= _NEWEST_COMPARED:
        return True
    print(f"mipsrec: AFL++ {found[0][2:]}: without CMPLOG, which works with 4.0", file=sys.stderr)
    return False


def _names(jobs: int) -> list[str]:
    return [MAIN, *(f"secondary{number}" for number in range(1, jobs))]


def _words(findings: Findings, target: Target, plan: Plan, afl_fuzz: str) -> Iterator[list[str]]:
    """Yield the command of each fuzzer."""
    names, compares = _names(plan.jobs), _has_comparisons(afl_fuzz)
    for name in names:
        words = [afl_fuzz, "-Q", "-M" if name == MAIN else "-S", name, "-i", findings.source(name),
                 "-o", str(findings.folder)]  # fmt: skip
        words += ["-t", str(plan.timeout_ms)] if plan.timeout_ms is not None else []
        words += ["-c", "0"] if compares and name == names[-1] else []
        yield [*words, "--", str(target.program), *target.arguments]


@contextmanager
def _fuzzers(
    findings: Findings, target: Target, plan: Plan, variables: Mapping[str, str]
) -> Iterator[dict[str, Child]]:
    afl_fuzz = afl.find("afl-fuzz")
    with ExitStack() as files:
        logs = [files.enter_context(findings.log(name).open("wb")) for name in _names(plan.jobs)]
        commands = zip(_words(findings, target, plan, afl_fuzz), logs, strict=True)
        with children(commands, variables=variables) as started:
            yield dict(zip(_names(plan.jobs), started, strict=True))


@contextmanager
def _shown() -> Iterator[Callable[[Figures, float], None]]:
    """Yield what shows figures and seconds: one line of a terminal, else a line each minute."""
    last = 0.0
    with bar_for_people(bar_format="{desc}", total=1) as bar:

        def show(figures: Figures, seconds: float) -> None:
            nonlocal last
            if not bar.disable:
                bar.set_description_str(line_of(figures, seconds))
            elif seconds - last >= _LINE_SECONDS:
                last = seconds
                print(line_of(figures, seconds), file=sys.stderr, flush=True)

        yield show


def line_of(figures: Figures, seconds: float) -> str:
    """Return figures as one line."""
    time_text = f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"
    return (f"fuzz {time_text}: {figures.executions:,} executions ({figures.per_second:,.0f}/s), corpus "
            f"{figures.corpus:,}, crashes {figures.crashes:,}, hangs {figures.hangs:,}")  # fmt: skip


def run_campaign(findings: Findings, target: Target, plan: Plan, variables: Mapping[str, str]) -> tuple[Figures, float]:
    """Fuzz until the time is over, a new crash is found, or Ctrl-C; return the figures and the seconds that it took.

    Raises BuildError where the main fuzzer gives up, with its reason.
    """
    start, before = time.monotonic(), findings.count("crashes")
    is_doubted = findings.is_old
    with suppress(KeyboardInterrupt), _fuzzers(findings, target, plan, variables) as fuzzers, _shown() as show:
        while plan.seconds is None or time.monotonic() - start < plan.seconds:
            time.sleep(_LOOK_SECONDS)
            if plan.until_crash and findings.count("crashes") > before:
                break
            _check_ends(fuzzers, findings, target)
            figures = findings.figures()
            show(figures, time.monotonic() - start)
            is_doubted = is_doubted or _doubt_input(figures, time.monotonic() - start, findings, target)
    return findings.figures(), time.monotonic() - start


def _check_ends(fuzzers: dict[str, Child], findings: Findings, target: Target) -> None:
    """Raise BuildError where the main fuzzer has ended; of another one say why, once."""
    for name, process in list(fuzzers.items()):
        if process.poll() is None:
            continue
        reason = one_line(_reason(findings.log(name), process.returncode, target))
        if name == MAIN:
            raise BuildError(f"afl-fuzz gave up: {reason}")
        del fuzzers[name]
        print(f"mipsrec: {name} of the fuzzers gave up: {reason}", file=sys.stderr)


def _reason(log: Path, status: int, target: Target) -> str:
    """Return why a fuzzer ended, with what to do where that is known."""
    reason = afl.reason_of(afl.plain_text(log.read_bytes()))
    if not reason:  # afl-fuzz kills itself with a target that ends too soon, before it has written what it says
        reason = "the fork server ended at the start" if status < 0 else "it said nothing"
    if "crash" in reason:
        return f"{reason} (`mipsrec run --report` shows the crash; --seeds names inputs without one)"
    if "fork server" not in reason.lower():
        return reason
    if target.entry is not None:
        return f"{reason} (does the program come to --entry {target.entry:#x}, by a jump or a call?)"
    said = _said_by_host(target)
    return f"{reason}; {said}" if said else reason


def _said_by_host(target: Target) -> str:
    """Return what the host says last of a run of the target without a fuzzer, and without input; "" for nothing."""
    words = [str(host_executable()), *host_words(target)]
    process = subprocess.run(["timeout", "10", *words, *target.words("/dev/null")], stdin=subprocess.DEVNULL,
                             capture_output=True)  # fmt: skip
    lines = [line for line in afl.plain_text(process.stderr).splitlines() if line.startswith("mipsrec-host: ")]
    return lines[-1] if lines else ""


def _doubt_input(figures: Figures, seconds: float, findings: Findings, target: Target) -> bool:
    """Say where no input has changed anything, and return whether that is said, or will never have to be."""
    if figures.crashes or figures.hangs or figures.corpus > _seed_count(findings):
        return True
    if seconds < _DOUBT_SECONDS or not findings.executed():
        return False
    way = (
        "the file that stands for @@"
        if target.reads_file
        else "standard input (or a file? `-- @@` stands for its name)"
    )
    program = one_line(str(target.program))
    print(f"mipsrec: no input has taken a new way through {program}: does it read {way}?", file=sys.stderr)
    return True


def _seed_count(findings: Findings) -> int:
    """Return how many inputs of the main fuzzer are seeds."""
    return sum(1 for path in (findings.folder / MAIN / "queue").glob("id*") if ",orig:" in path.name)
