"""Times guest programs beside native ones: paired runs, median of ratios, outputs compared.

Enters: commands. Leaves: `Comparison`s. A run's time is the processor time of the whole process (user + system), start
included; the programs of one comparison run in turn, so that a machine whose speed drifts does not favour any.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .errors import BuildError


@dataclass(frozen=True)
class Contender:
    """One way to run the program; the first of a comparison is the reference."""

    label: str
    command: tuple[str, ...]


@dataclass
class Comparison:
    """Seconds of each round by label, and which labels printed something else than the reference."""

    name: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    reference: str = "native"

    def ratio(self, label: str) -> float | None:
        """Return the median of the ratios to the reference, round by round; None without runs."""
        pairs = list(zip(self.seconds.get(label, ()), self.seconds[self.reference], strict=False))
        return statistics.median(a / b for a, b in pairs) if pairs else None

    def spread(self, label: str) -> tuple[float, float]:
        """Return the least and greatest of those ratios."""
        ratios = [a / b for a, b in zip(self.seconds[label], self.seconds[self.reference], strict=False)]
        return min(ratios), max(ratios)


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """Return the geometric mean, None of nothing."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def _run(contender: Contender, folder: Path) -> tuple[float, int, bytes]:
    """Return (processor seconds, wait status, standard output)."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(contender.command, stdout=output, stdin=subprocess.DEVNULL, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return usage.ru_utime + usage.ru_stime, status, output.read()


def compare(name: str, contenders: Sequence[Contender], rounds: int, check_output: bool = True) -> Comparison:
    """Run all contenders `rounds` times in turn, after one round that does not count when it is quick."""
    result = Comparison(name, reference=contenders[0].label)
    with tempfile.TemporaryDirectory() as folder:
        expected: tuple[int, bytes] | None = None
        for _ in range(rounds):
            for contender in contenders:
                try:
                    seconds, status, output = _run(contender, Path(folder))
                except OSError as error:
                    raise BuildError(f"{contender.command[0]}: cannot be run ({error.strerror})") from error
                if expected is None:
                    expected = (status, output)
                elif check_output and (status, output) != expected:
                    result.wrong.add(contender.label)
                result.seconds.setdefault(contender.label, []).append(max(seconds, 1e-4))
    return result
