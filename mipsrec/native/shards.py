"""Cuts a program, or the files of a dump, into shards: work for one compiler process each.

A shard is one LLVM module, so calls within it can be inlined, and its size bounds LLVM's time and memory. Where it is
cut depends on what is near the cut alone, so that a change of one function leaves the shards elsewhere, whose objects
are kept (cache/objects.py), as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ..analysis import Program
from ..options import LIGHT

LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS = 1500, 4000
"""Of a shard; one beyond is a single function."""
_CUT_BEFORE_ONE_IN = 8
_COSTS = {"0": 1, LIGHT: 2}
Item = TypeVar("Item")


@dataclass(frozen=True)
class Shard:
    """Work for one worker: functions to lift, or IR files to read; `weight` in guest instructions."""

    number: int
    starts: tuple[int, ...]
    files: tuple[Path, ...]
    weight: int
    level: str
    names: tuple[str, ...]
    """What the functions or files are called, for people."""

    @property
    def cost(self) -> int:
        """How long LLVM takes, in no unit: what is compiled last should be small."""
        return self.weight * _COSTS.get(self.level, 5)

    def halves(self) -> list[Shard]:
        """Return the shard cut in two; none where it has one item only. The weights are not looked up."""
        items = len(self.names)
        if items < 2:
            return []
        parts = slice(0, items // 2), slice(items // 2, items)
        return [
            replace(self, starts=self.starts[part], files=self.files[part], names=self.names[part]) for part in parts
        ]


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


def shards_of_program(program: Program, levels: Mapping[int, str]) -> list[Shard]:
    """Cut the functions, given with their levels, in order of address; a shard has one level."""
    found: list[Shard] = []
    for level in sorted(set(levels.values())):
        starts = sorted(start for start in levels if levels[start] == level)
        sized = [(start, program.functions[start].instruction_count(), f"{start:08x}") for start in starts]
        for group, weight in _cut(sized):
            names = tuple(program.functions[start].name for start in group)
            found.append(Shard(len(found), group, (), weight, level, names))
    return found


def shards_of_files(files: Sequence[tuple[Path, int, str]]) -> list[Shard]:
    """Cut IR files, given with their sizes in guest instructions and their levels."""
    found: list[Shard] = []
    for level in sorted({level for _, _, level in files}):
        sized = [(path, size, path.name) for path, size, of in files if of == level]
        for group, weight in _cut(sized):
            found.append(Shard(len(found), (), group, weight, level, tuple(path.name for path in group)))
    return found
