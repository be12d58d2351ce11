"""Has every shard worked on in a process of its own, and finds what a compiler process dies of.

Enters: shards, and what is to be done with one. Leaves: the results in the shards' order; or `CompilerDied` with the
shards whose process died (an abort of LLVM, a stack that overflows), and of these the smallest parts that still do.
Not done here: what is built without them (pipeline.py).
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from ..errors import BuildError, one_line
from .shards import Shard
from .workers import Death, Result, outcomes

Progress = Callable[[int, int], None]
"""Called with (functions done, guest instructions done) as shards finish, and with WORK_BEGINS before."""
WORK_BEGINS = (0, 0)

_NAMED = 4
"""So many functions are named; of more, how many there are."""
_MOST_TRIES = 300
"""Processes that look for what they die of: where most parts die, memory is short, or the compiler is no good."""
_FEWER = "; try --jobs 1"
_WANTS_OF_MEMORY = (b"out of memory", b"bad_alloc")
"""What LLVM and the C++ library say before they abort for it; the limit of a process (RLIMIT_AS) comes to that."""


@dataclass(frozen=True)
class DeadShard:
    """A shard, and how its process died."""

    shard: Shard
    death: Death

    def names(self) -> str:
        """Return what it had, the first few by name."""
        names = list(self.shard.names)
        return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")

    def __str__(self) -> str:
        return f"{self.death} at level {self.shard.level} with {self.names()}"


class CompilerDied(BuildError):
    """Compiler processes died, each of them also alone where it was killed."""

    def __init__(self, dead: Sequence[DeadShard]) -> None:
        super().__init__(dead)
        self.dead = tuple(dead)

    def __str__(self) -> str:
        return "; ".join(map(str, self.dead))


def warn(text: str) -> None:
    """Say on standard error what the caller should know, and what stops nothing."""
    print(f"mipsrec: {one_line(text)}", file=sys.stderr, flush=True)


def results_of(
    shards: Sequence[Shard], work: Callable[[Shard], Result], workers: int, progress: Progress | None = None
) -> list[Result]:
    """Return the results in the shards' order; raises CompilerDied when all others are done, or what `work` raises."""
    heaviest_first = sorted(shards, key=lambda shard: -shard.cost)
    workers = max(1, min(workers, len(shards)))
    done, dead = _outcomes_of(heaviest_first, work, workers, progress)
    for killed in [one for one in dead if one.death.is_kill]:
        dead.remove(killed)
        alone, again = _outcomes_of([killed.shard], work, 1, progress)
        done |= alone
        dead += again
        if alone:
            warn(f"{killed}; alone it was done{'; --jobs 1 needs less memory' if workers > 1 else ''}")
    if dead:
        raise CompilerDied(dead)
    return [done[shard.number] for shard in shards]


def _outcomes_of(
    shards: Sequence[Shard], work: Callable[[Shard], Result], workers: int, progress: Progress | None
) -> tuple[dict[int, Result], list[DeadShard]]:
    """Return results by the shards' numbers, and the shards whose process died."""
    done: dict[int, Result] = {}
    dead: list[DeadShard] = []
    with closing(outcomes(work, shards, workers, _FEWER if workers > 1 else "")) as finished:
        for shard, outcome in finished:
            if isinstance(outcome, Death):
                dead.append(DeadShard(shard, outcome))
                continue
            done[shard.number] = outcome
            if progress is not None:
                progress(len(shard.names), shard.weight)
    return done, dead


def smallest_dying(dead: Sequence[DeadShard], work: Callable[[Shard], object], workers: int) -> list[DeadShard]:
    """Return the smallest parts of dead shards whose process dies: of one item, or of some where no half of them dies.

    Parts are halved: a shard that dies of one item of n takes 2 log n processes. After so many tries parts stay large.
    """
    if any(one.death.is_kill for one in dead):
        workers = 1
    found: list[DeadShard] = []
    suspects = list(dead)
    tries = 0
    while suspects:
        halves = [half for suspect in suspects for half in suspect.shard.halves()]
        tries += len(halves)
        if tries > _MOST_TRIES:
            halves = []
        with closing(outcomes(lambda half: _quietly(work, half), halves, workers)) as tried:
            dying = [DeadShard(half, outcome) for half, outcome in tried if isinstance(outcome, Death)]
        parents = [one for one in suspects if not any(_is_part(half.shard, one.shard) for half in dying)]
        found += parents
        suspects = dying
    return sorted(found, key=lambda one: (one.shard.number, one.shard.starts, one.shard.files))


def starts_to_leave_out(
    file: str, died: CompilerDied, work: Callable[[Shard], object], workers: int, copied: Collection[int]
) -> dict[int, Death]:
    """Return the starts of functions of a file that compiler processes die of, with how; name them on standard error.

    Of some that callers copy (`copied`) the callers die as well, and may be compiled without them.
    """
    for one in died.dead:
        if len(one.shard.names) > 1:
            warn(f"{file}: {one}; looking for the function that it dies of")
    parts = smallest_dying(died.dead, work, workers)
    parts = [one for one in parts if set(one.shard.starts) <= set(copied)] or parts
    parts = [_with_cause(part, work) for part in parts]
    for part in parts:
        warn(f"{file}: {part}: left out, slower tiers run it")
    return {start: part.death for part in parts for start in part.shard.starts}


def _with_cause(part: DeadShard, work: Callable[[Shard], object]) -> DeadShard:
    """Return a dead part, with whether it is memory that it wants: it says so when it is tried alone, or is done."""
    said = os.memfd_create("said")
    try:
        with closing(outcomes(lambda shard: _quietly(work, shard, said), [part.shard], 1)) as tried:
            (again,) = (outcome for _, outcome in tried)
        text = os.pread(said, 1 << 16, 0)
    finally:
        os.close(said)
    lacks = again is None or again.lacks_memory or any(words in text for words in _WANTS_OF_MEMORY)
    return replace(part, death=replace(part.death, lacks_memory=lacks))


def _is_part(part: Shard, whole: Shard) -> bool:
    return part.number == whole.number and {*part.starts, *part.files} <= {*whole.starts, *whole.files}


def _quietly(work: Callable[[Shard], object], shard: Shard, to: int | None = None) -> None:
    """Work on a shard in this process, which says nothing and leaves no core of what it dies of: the first one did.

    What it says goes to a file, if one is given.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.dup2(os.open(os.devnull, os.O_WRONLY) if to is None else to, 2)
    work(shard)
