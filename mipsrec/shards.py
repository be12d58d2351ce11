"""Cuts a program, or the files of a dump, into shards: work for one compiler process each.

A shard is one LLVM module, so calls within it can be inlined, and its size bounds LLVM's time and memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .analysis import Program

SHARD_INSTRUCTIONS = 2500
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


def _cut(sized: Sequence[tuple[Item, int]]) -> list[tuple[tuple[Item, ...], int]]:
    """Return runs of items, and what they weigh, of about SHARD_INSTRUCTIONS each."""
    groups: list[tuple[tuple[Item, ...], int]] = []
    current: list[Item] = []
    weight = 0
    for item, size in sized:
        if current and weight + size > SHARD_INSTRUCTIONS:
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
    groups = _cut([(start, program.functions[start].instruction_count()) for start in sorted(starts)])
    return [Shard(n, group, (), weight, _opt(weight, opt)) for n, (group, weight) in enumerate(groups)]


def shards_of_files(files: list[tuple[Path, int]], opt: int) -> list[Shard]:
    """Cut IR files, given with their sizes in guest instructions."""
    return [Shard(n, (), group, weight, _opt(weight, opt)) for n, (group, weight) in enumerate(_cut(files))]
