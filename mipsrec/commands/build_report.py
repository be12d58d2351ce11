"""Prints where the time of builds went (`mipsrec build --timings`)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import one_line
from ..native.build_times import IN_WORKERS, BuildTimes, PartTime, Phase, Spent, processor_seconds

if TYPE_CHECKING:
    from ..native.library import BuildReport

_SLOWEST = 5
_NAMED = 3
"""So many parts are shown, and so many functions of each."""


def print_timings(reports: Sequence[BuildReport]) -> None:
    """Print on standard error where the time of some builds of this process went, added up."""
    times = BuildTimes()
    for report in reports:
        times.add(report.times)
    whole = Spent(_seconds_since_start(), processor_seconds())
    for line in timing_lines(times, whole, sum(one.shards for one in reports), sum(one.reused for one in reports)):
        print(f"mipsrec: {line}", file=sys.stderr)


def timing_lines(times: BuildTimes, whole: Spent, parts: int, kept: int) -> Iterator[str]:
    """Yield the lines of a report; `whole` is what this process has taken, of which `times` name the most."""
    yield f"{'seconds':32} {'wall clock':>10} {'processor':>10}"
    rest = Spent(whole.wall, whole.processor)
    for phase in (phase for phase in Phase if phase not in IN_WORKERS):
        spent = times.phases.get(phase, Spent())
        rest.add(Spent(-spent.wall, -spent.processor))
        yield _row(phase.value, spent)
        if phase is Phase.WORKERS:
            yield from (_row(f"  {one.value}", times.phases[one]) for one in IN_WORKERS if one in times.phases)
    yield _row("start of Python, and the rest", rest)
    yield _row("all", whole)
    yield f"{parts} parts, {kept} of them kept from earlier builds"
    yield from map(_part_line, times.slowest(_SLOWEST))


def _row(name: str, spent: Spent) -> str:
    return f"{name:32} {max(spent.wall, 0):10.2f} {max(spent.processor, 0):10.2f}"


def _part_line(part: PartTime) -> str:
    names = [one_line(name) for name in part.names[:_NAMED]]
    more = len(part.names) - len(names)
    rest = f" and {more} more" if more else ""
    return f"{part.wall:8.2f} s, level {part.level}, {part.instructions} instructions: {', '.join(names)}{rest}"


def _seconds_since_start() -> float:
    """Return how long this process has been running (proc_pid_stat(5), starttime: in clock ticks since boot)."""
    from ..mix.ptrace import stat_fields

    start = int(stat_fields(os.getpid(), os.getpid())[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start / os.sysconf("SC_CLK_TCK")
