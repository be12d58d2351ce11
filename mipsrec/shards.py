"""Cuts a program, or the files of a dump, into shards: work for one compiler process each.

A shard is one LLVM module, so calls within it can be inlined, and its size bounds LLVM's time and memory. Where it is
cut depends on what is near the cut alone, so that a change of one function leaves the shards elsewhere, whose objects
are kept (objects.py), as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .analysis import Program

LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS = 1500, 4000
"""Of a shard; one beyond is a single function."""
_CUT_BEFORE_ONE_IN = 8
HUGE_FUNCTION_INSTRUCTIONS = 20_000
"""Functions beyond this are optimised lightly: LLVM's time grows faster than their size."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Shard:
    """Work for one worker: functions to lift, or IR files to read; `weight` in guest instructions."""

    number: int
    starts: tuple[int, ...]
    files: tuple[Path, ...]
    weight: int
    opt: int


def _begins_shard(name: str) -> bool:
    """Return whether a shard that is large enough ends before the item of this name."""
    return hashlib.blake2b(name.encode(), digest_size=1).digest()[0] % _CUT_BEFORE_ONE_IN == 0


def _cut(sized: Sequence[tuple[Item, int, str]]) -> list[tuple[tuple[Item, ...], int]]:
    """Return runs of items, given with their weights and names, and what each run weighs."""
    groups: list[tuple[tuple[Item, ...], int]] = []
    current: list[Item] = []
    weight = 0
    for item, size, name in sized:
        full = weight + size > MOST_INSTRUCTIONS or (weight >= LEAST_INSTRUCTIONS and _begins_shard(name))
        if current and full:
            groups.append((tuple(current), weight))
            current, weight = [], 0
        current.append(item)
        weight += size
    if current:
        groups.append((tuple(current), weight))
    return groups


def _opt(weight: int, opt: int) -> int:
    return min(opt, 1) if weight > HUGE_FUNCTION_INSTRUCTIONS else opt


def shards_of_program(program: Program, starts: Iterable[int], opt: int) -> list[Shard]:
    """Cut the functions, in order of address."""
    sized = [(start, program.functions[start].instruction_count(), f"{start:08x}") for start in sorted(starts)]
    return [Shard(n, group, (), weight, _opt(weight, opt)) for n, (group, weight) in enumerate(_cut(sized))]


def shards_of_files(files: list[tuple[Path, int]], opt: int) -> list[Shard]:
    """Cut IR files, given with their sizes in guest instructions."""
    groups = _cut([(path, size, path.name) for path, size in files])
    return [Shard(n, (), group, weight, _opt(weight, opt)) for n, (group, weight) in enumerate(groups)]
