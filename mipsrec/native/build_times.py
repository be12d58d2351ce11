"""Where the time of a build goes: wall clock and processor time of each phase.

Enters: phases as they begin and end, in the build's own process and in its workers. Leaves: `BuildTimes`, which are
cheap enough to be always there. Not done here: the report for people (commands/build_report.py).
"""

from __future__ import annotations

import enum
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


class Phase(enum.Enum):
    """A stage of a build, by what the report calls it; in the report's order."""

    READING = "reading"
    ANALYSIS = "analysis"
    FACTS = "policy and facts"
    KEPT = "kept parts"  # the keys of parts, and what earlier builds have kept under them
    WORKERS = "worker processes"  # until all have ended
    TABLE = "table of entries"
    LINKING = "linking"
    LIFTING = "lifting to IR text"  # from here on: in a worker
    PARSING = "LLVM: parsing"
    PASSES = "LLVM: passes"
    CODE = "LLVM: code generation"
    TABLES = "debug information"
    OBJECTS = "object cache"


IN_WORKERS = (Phase.LIFTING, Phase.PARSING, Phase.PASSES, Phase.CODE, Phase.TABLES, Phase.OBJECTS)
"""Phases of one part each; their times are summed over the workers."""


@dataclass
class Spent:
    """Seconds. Processor time is of all threads, and of child processes that have ended."""

    wall: float = 0.0
    processor: float = 0.0

    def add(self, other: Spent) -> None:
        self.wall += other.wall
        self.processor += other.processor


@dataclass(frozen=True)
class PartTime:
    """How long a worker took for one part: with what it had, for people."""

    names: tuple[str, ...]
    level: str
    instructions: int
    wall: float


@dataclass
class BuildTimes:
    """What was spent on each phase so far, and by the workers on each part."""

    phases: dict[Phase, Spent] = field(default_factory=dict)
    parts: list[PartTime] = field(default_factory=list)

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Count what is spent until the end of a `with` statement as of a phase."""
        wall, processor = time.perf_counter(), processor_seconds()
        try:
            yield
        finally:
            spent = Spent(time.perf_counter() - wall, processor_seconds() - processor)
            self.phases.setdefault(phase, Spent()).add(spent)

    def add(self, other: BuildTimes) -> None:
        """Count what was spent elsewhere as well."""
        for phase, spent in other.phases.items():
            self.phases.setdefault(phase, Spent()).add(spent)
        self.parts += other.parts

    def slowest(self, count: int) -> list[PartTime]:
        """Return the parts that took longest, the slowest first."""
        return sorted(self.parts, key=lambda part: -part.wall)[:count]


def processor_seconds() -> float:
    """Return what this process has taken, with its child processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
