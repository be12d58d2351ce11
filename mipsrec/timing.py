"""Times guest programs beside native ones: paired runs, median of ratios, outputs compared.

Enters: commands. Leaves: `Comparison`s. A run's time is the processor time of the whole process (user + system), start
included; the programs of one comparison run in turn, every second round in the other order, so that a machine whose
speed drifts does not favour any.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .errors import BuildError
from .files.temporary_folder import temporary_folder
from .files.trusted_path import check_program
from .interrupts import held, let_in

LIMIT_SECONDS = 60  # a run may take that long, and LIMIT_TIMES as long as the reference, before it is stopped
LIMIT_TIMES = 300
LEAST_SECONDS = 1e-4  # of a run, lest a ratio be of nothing


@dataclass(frozen=True)
class Contender:
    """One way to run the program; the first of a comparison is the reference."""

    label: str
    command: tuple[str, ...]
    is_host: bool = False
    """Then it is from the cache, and is judged before each run."""


@dataclass
class Comparison:
    """Seconds of each round by label, and what was wrong with those that did not do what the reference did.

    Labels in `references` ran once only, with less work: the values are the reference's seconds with as little.
    """

    name: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    reference: str = "native"
    references: dict[str, list[float]] = field(default_factory=dict)

    def ratios(self, label: str) -> list[float]:
        """Return the ratios to the reference, round by round."""
        beside = self.references.get(label) or self.seconds.get(self.reference, [])
        return [a / b for a, b in zip(self.seconds.get(label, ()), beside, strict=False)]

    def ratio(self, label: str) -> float | None:
        """Return the median of the ratios to the reference; None without runs."""
        ratios = self.ratios(label)
        return statistics.median(ratios) if ratios else None

    def spread(self, label: str) -> tuple[float, float] | None:
        """Return the least and greatest of those ratios; None without runs."""
        ratios = self.ratios(label)
        return (min(ratios), max(ratios)) if ratios else None


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """Return the geometric mean, None of nothing."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def mean_ratio(comparisons: Iterable[Comparison], label: str) -> float | None:
    """Return the geometric mean of a label's ratios, over the comparisons that have one; None without any."""
    ratios = (comparison.ratio(label) for comparison in comparisons)
    return geometric_mean([ratio for ratio in ratios if ratio is not None])


@dataclass(frozen=True)
class _Run:
    """What became of one run; `stopped` when it took longer than it may."""

    seconds: float
    wall_seconds: float
    status: int
    output: bytes
    stopped: bool


def _run(contender: Contender, folder: Path, limit_seconds: float | None) -> _Run:
    """Run to the end; whatever ends the wait for it ends the program as well."""
    if contender.is_host:
        check_program(contender.command[0])
    with tempfile.TemporaryFile(dir=folder) as output, held():
        start = time.monotonic()
        try:
            process = subprocess.Popen(contender.command, stdout=output, stdin=subprocess.DEVNULL, cwd=folder)
        except OSError as error:
            raise BuildError(f"{contender.command[0]}: cannot be run ({error.strerror})") from error
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            process.kill()

        timer = threading.Timer(limit_seconds or 0, stop)
        if limit_seconds:
            timer.start()
        try:
            with let_in():
                _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        seconds = max(usage.ru_utime + usage.ru_stime, LEAST_SECONDS)
        return _Run(seconds, time.monotonic() - start, process.returncode, output.read(), stopped.is_set())


def _complaint(run: _Run, expected: _Run, reference: str) -> str:
    """Return what a run did otherwise than that of the label `reference`; "" when it did the same."""
    if run.stopped:
        return f"stopped after {run.wall_seconds:.0f} s"
    if run.status != expected.status:
        return f"ended with {_end(run.status)}, {reference} with {_end(expected.status)}"
    return "" if run.output == expected.output else "other output"


def _end(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def compare(
    name: str,
    contenders: Sequence[Contender],
    rounds: int,
    brief: Sequence[Contender] = (),
    running: Callable[[str], None] = lambda label: None,
) -> Comparison:
    """Run all contenders `rounds` times in turn; `running` is told the label of each run as it begins.

    `brief` are a reference and slow contenders, with less work than the others: they run once, after them. One that
    fails is not run again.
    """
    result = Comparison(name, reference=contenders[0].label)
    with temporary_folder("mipsrec-timing-") as folder:
        series = _Series(folder, result, running)
        for number in range(rounds):
            for label, seconds in series.round(contenders, backwards=number % 2 == 1).items():
                result.seconds.setdefault(label, []).append(seconds)
        times = series.round(brief)
        for contender in brief[1:]:
            if contender.label in times:
                result.seconds[contender.label] = [times[contender.label]]
                result.references[contender.label] = [times[brief[0].label]]
    return result


@dataclass
class _Series:
    """Rounds of one comparison."""

    folder: Path
    result: Comparison
    running: Callable[[str], None]
    limit_seconds: float | None = None

    def round(self, contenders: Sequence[Contender], backwards: bool = False) -> dict[str, float]:
        """Run each once, but for those known to be wrong; note which are; return the others' seconds by label."""
        runs: dict[str, _Run] = {}
        todo = [contender for contender in contenders if contender.label not in self.result.wrong]
        for contender in reversed(todo) if backwards else todo:
            self.running(contender.label)
            run = runs[contender.label] = _run(contender, self.folder, self.limit_seconds)
            if self.limit_seconds is None:
                self.limit_seconds = LIMIT_SECONDS + LIMIT_TIMES * run.wall_seconds
        reference = contenders[0].label if contenders else ""
        complaints = {label: _complaint(run, runs[reference], reference) for label, run in runs.items()}
        self.result.wrong |= {label: complaint for label, complaint in complaints.items() if complaint}
        return {label: run.seconds for label, run in runs.items() if not complaints[label]}
